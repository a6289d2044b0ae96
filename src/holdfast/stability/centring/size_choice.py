"""What folds say of the size of a centred tree: the usual one is kept unless another clearly wins."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.scoring.metric import Metric
from holdfast.shown import shown
from holdfast.stability.centring.names import MOST_LEAVES
from holdfast.text.numbers import number_text

TIED = 1e-12  # mean scores that differ by less, as a fraction of the greater, are equal


@dataclass(frozen=True, eq=False, repr=False)
class SizeChoice:
    """One entry for every size that was tried, the smallest first, and which of them was taken.

    Twelve leaves are usual. Another size is taken only if its mean score is better by more than one standard
    error of the difference: the size of a tree should not change with every sample. Scores are those of
    students that had not seen the rows, the greater the better: losses are negated.
    """

    sizes: LongArray  # the most leaves
    scores: FloatArray  # (sizes, folds) of the rows held out
    error: FloatArray  # standard error of the mean score
    difference: FloatArray  # of the mean score to that of the usual size
    difference_error: FloatArray  # its standard error: the same rows are scored, and chance is shared
    metric: Metric

    def __post_init__(self) -> None:
        for name in ("sizes", "scores", "error", "difference", "difference_error"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def score(self) -> FloatArray:
        """The mean over the folds."""
        return frozen(self.scores.mean(axis=1))

    @property
    def usual(self) -> int:
        """Where the usual size stands."""
        return int(np.abs(self.sizes - MOST_LEAVES).argmin())

    @cached_property
    def chosen(self) -> int:
        """Where the size stands that was taken: of those that clearly win, the best; the smaller if tied."""
        clear = self.difference > np.maximum(self.difference_error, self._rounding)
        if not clear.any():
            return self.usual
        best = self.difference[clear].max()
        return int(np.flatnonzero(clear & (self.difference >= best - self._rounding))[0])

    @property
    def _rounding(self) -> float:
        """Differences of mean scores up to it are none."""
        return TIED * abs(float(self.score[self.usual]))

    @property
    def max_leaf_nodes(self) -> int:
        """The most leaves that were taken."""
        return int(self.sizes[self.chosen])

    @property
    def reason(self) -> str:
        """Why this size was taken, in words."""
        title = self.metric.title.removeprefix("mean ")
        best = self.chosen if self.chosen != self.usual else int(self.difference.argmax())
        gain, error = (number_text(float(each[best]), 2) for each in (self.difference, self.difference_error))
        if self.chosen != self.usual:
            return (
                f"{self.max_leaf_nodes} leaves instead of the usual {MOST_LEAVES}: their mean {title} is "
                f"better by {gain}, more than one standard error of the difference, {error}."
            )
        kept = f"{MOST_LEAVES} leaves, as usual"
        if not self.difference[best] > self._rounding:
            return f"{kept}: no other size has a better mean {title}."
        return (
            f"{kept}: the mean {title} of {self.sizes[best]} leaves is better by {gain}, which is no more "
            f"than one standard error of the difference, {error}."
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table: names of columns, and one entry per size."""
        folds = {f"fold_{number + 1}": scores.tolist() for number, scores in enumerate(self.scores.T)}
        return {
            "max_leaf_nodes": self.sizes.tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "difference": self.difference.tolist(),
            "difference_error": self.difference_error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
            **folds,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per size, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"max_leaf_nodes": nw.Int64, "chosen": nw.Boolean}, backend)

    def __repr__(self) -> str:
        return shown("size_choice_text", self)

    def _repr_html_(self) -> str:
        return shown("size_choice_html", self)
