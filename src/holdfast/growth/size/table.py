"""What rows held out say of every size of a tree."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.growth.pruning.path import SizeParameter
from holdfast.scoring.metric import Metric
from holdfast.text.numbers import counted
from holdfast.text.view import View, ViewMixin

TIED = 1e-12  # mean scores that differ by less, as a fraction of the best, are equal


@dataclass(frozen=True, eq=False, repr=False)
class SizeTable(ViewMixin):
    """One entry for every size that was scored, the whole tree first and the root alone last.

    Scores are the greater the better: losses are negated.
    """

    parameter: SizeParameter
    values: FloatArray  # of the parameter
    n_leaves: LongArray  # of the tree grown on all rows
    risks: FloatArray  # impurity of its leaves, per row, on the rows that it was grown on
    scores: FloatArray  # (sizes, folds) on the rows held out
    error: FloatArray  # standard error of the mean score
    selection_rule: str  # "cv" or "cv-1se"
    metric: Metric

    def __post_init__(self) -> None:
        for name in ("values", "n_leaves", "risks", "scores", "error"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def score(self) -> FloatArray:
        """Mean score over the folds."""
        return frozen(self.scores.mean(axis=1))

    @cached_property
    def best(self) -> int:
        """Index of the best mean score; the smallest size if several are best."""
        highest = float(self.score.max())
        return int(np.flatnonzero(self.score >= highest - TIED * abs(highest))[-1])

    @cached_property
    def within_error(self) -> int:
        """Index of the smallest size within one standard error of the best."""
        best = float(self.score[self.best])
        least = best - float(self.error[self.best])
        return int(np.flatnonzero(self.score >= least - TIED * max(abs(best), abs(least)))[-1])

    @property
    def chosen(self) -> int:
        """Index of the chosen size."""
        return self.best if self.selection_rule == "cv" else self.within_error

    @property
    def chosen_value(self) -> float:
        """Parameter value of the chosen size."""
        return float(self.values[self.chosen])

    @property
    def typical_value(self) -> float | int:
        """Parameter value for other samples: the middle of those that give the same subtree."""
        value, place = self.chosen_value, self.chosen + 1
        if self.parameter != "ccp_alpha":
            return int(value)
        return value if place == len(self) else float(np.sqrt(value) * np.sqrt(self.values[place]))

    @property
    def reason(self) -> str:
        """Why this size was chosen, in words."""
        best, title = self.best, self.metric.title.removeprefix("mean ")
        score = f"{self.metric.shown(float(self.score[best])):.4g}"
        error = f"{error_of(self, best):.2g}"
        if self.selection_rule == "cv":
            return f"It has the best mean {title} of all {len(self)} sizes: {score} ± {error}."
        return (
            f"Of {len(self)} sizes it is the smallest whose mean {title} is within one standard error, "
            f"{error}, of the best, {score} with {counted(int(self.n_leaves[best]), 'leaf', 'leaves')}."
        )

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per size."""
        root = float(self.risks[-1]) or 1.0
        folds = {f"fold_{number + 1}": scores.tolist() for number, scores in enumerate(self.scores.T)}
        return {
            self.parameter: self.values.tolist(),
            "n_leaves": self.n_leaves.tolist(),
            "risk": self.risks.tolist(),
            "relative_error": (self.risks / root).tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
            **folds,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed) with one row per size."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"n_leaves": nw.Int64, "chosen": nw.Boolean}, backend)

    def to_svg(self) -> str:
        """A picture: the score of every size with its standard error, and which size was taken."""
        from holdfast.show.plots.display import LATER
        from holdfast.show.plots.pruning import PruningDisplay

        return PruningDisplay.from_result(self, ax=LATER).to_svg()

    def plot(self, ax: Any = None, *, by: Literal["n_leaves", "parameter"] = "n_leaves") -> Any:
        """A `PruningDisplay`, drawn: the score by the number of leaves, or by="parameter"."""
        from holdfast.show.plots.pruning import PruningDisplay

        return PruningDisplay.from_result(self, ax=ax, by=by)

    def _view(self) -> View:
        from holdfast.show.size_table import size_table_view

        return size_table_view(self)


def error_of(sizes: SizeTable, place: int) -> float:
    """Return the standard error of a size, with rounding errors set to 0."""
    error = float(sizes.error[place])
    return error if error > TIED * abs(float(sizes.score[place])) else 0.0
