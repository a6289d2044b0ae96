"""What rows held out say of every size of a tree."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.growth.path import SizeParameter
from holdfast.scoring.metric import Metric

TIED = 1e-12  # mean scores that differ by less, as a share of the best, are equal
MOST_LINES = 20  # of the table as text


@dataclass(frozen=True, eq=False, repr=False)
class SizeTable:
    """One entry for every size that was scored, the whole tree first and the root alone last.

    Scores are the greater the better: losses are negated.
    """

    parameter: SizeParameter
    values: FloatArray  # of the parameter
    n_leaves: LongArray  # of the tree grown on all rows
    risks: FloatArray  # impurity of its leaves, per row, on the rows that it was grown on
    scores: FloatArray  # (sizes, folds) on the rows held out
    error: FloatArray  # standard error of the mean score
    rule: str  # "cv" or "cv-1se"
    metric: Metric

    def __post_init__(self) -> None:
        for name in ("values", "n_leaves", "risks", "scores", "error"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def score(self) -> FloatArray:
        """The mean over the folds."""
        return frozen(self.scores.mean(axis=1))

    @cached_property
    def best(self) -> int:
        """Which size has the best mean score; the smallest of several."""
        highest = float(self.score.max())
        return int(np.flatnonzero(self.score >= highest - TIED * abs(highest))[-1])

    @cached_property
    def within_error(self) -> int:
        """The smallest size whose mean score is within one standard error of the best."""
        return int(np.flatnonzero(self.score >= self.score[self.best] - self.error[self.best])[-1])

    @property
    def chosen(self) -> int:
        """The size that was taken."""
        return self.best if self.rule == "cv" else self.within_error

    @property
    def chosen_value(self) -> float:
        """The value of the parameter that was taken."""
        return float(self.values[self.chosen])

    @property
    def reason(self) -> str:
        """Why this size was taken, in words."""
        best, title = self.best, self.metric.title
        shown = f"{self.metric.shown(float(self.score[best])):.4g}"
        spread = f"{self.error[best]:.2g}"
        if self.rule == "cv":
            return f"It has the best mean {title} of {len(self)} sizes: {shown} ± {spread}."
        return (
            f"It is the smallest of {len(self)} sizes whose mean {title} is within one standard error, "
            f"{spread}, of the best, {shown} with {self.n_leaves[best]} leaves."
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table: names of columns, and one entry per size."""
        root = float(self.risks[-1]) or 1.0
        folds = {f"fold_{number + 1}": scores.tolist() for number, scores in enumerate(self.scores.T)}
        return {
            self.parameter: self.values.tolist(),
            "n_leaves": self.n_leaves.tolist(),
            "risk": self.risks.tolist(),
            "relative_risk": (self.risks / root).tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
            **folds,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per size, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"n_leaves": nw.Int64, "chosen": nw.Boolean}, backend)

    def __repr__(self) -> str:
        """The sizes as lines of a table, thinned if they are many."""
        title = self.metric.title
        heading = f"{self.parameter:>14}  leaves  relative risk  {title:>19}"
        lines = [self._line(place) for place in self._places_shown()]
        return "\n".join([heading, *lines, self.reason])

    def _places_shown(self) -> list[int]:
        if len(self) <= MOST_LINES:
            return list(range(len(self)))
        spread = np.linspace(0, len(self) - 1, MOST_LINES - 2).round().astype(int)
        return sorted({*spread.tolist(), self.best, self.chosen})

    def _line(self, place: int) -> str:
        relative = self.risks[place] / (float(self.risks[-1]) or 1.0)
        marks = ["chosen"] * (place == self.chosen) + ["best"] * (place == self.best != self.chosen)
        score = f"{self.metric.shown(float(self.score[place])):.4g} ± {self.error[place]:<7.2g}"
        line = f"{self.values[place]:14.4g}  {self.n_leaves[place]:6}  {relative:13.3f}  {score:>19}"
        return f"{line}  {', '.join(marks)}".rstrip()

    def to_svg(self) -> str:
        """A picture: the score of every size with its standard error, and which size was taken."""
        from holdfast.growth.size_picture import size_svg

        return size_svg(self)

    def _repr_html_(self) -> str:
        return self.to_svg()
