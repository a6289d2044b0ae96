"""Does a probability mean what it says: what each leaf predicts, and what came true there."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.schema import Label
from holdfast.errors import DataError
from holdfast.scoring.intervals import wilson_interval
from holdfast.show.palette import BLUE, GREY, INK, PAPER
from holdfast.show.plots.display import Display, label
from holdfast.show.plots.labels import label_with_note
from holdfast.show.plots.models import classes_of, is_class, leaves_of_rows, positive_index, probabilities
from holdfast.text.lines import label_text

N_BINS = 10  # of a model that says more different things than a tree
SMALLEST, LARGEST = 25.0, 500.0  # areas of marks, in square points


class CalibrationPoint(NamedTuple):
    """Rows that are told the same or, where a model tells many things, nearly the same."""

    predicted: float  # mean probability
    observed: float  # fraction of the rows that are of the class
    low: float  # interval of the observed fraction
    high: float
    n_rows: int


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """What was predicted and what came true, a point for each leaf, or bin of probabilities."""

    points: tuple[CalibrationPoint, ...]
    positive: str  # the class whose probability it is
    level: float = 0.95  # of the intervals
    by_leaf: bool = True

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Label | None = None, level: float = 0.95, ax: Any = None
    ) -> Self:
        """The calibration on rows X, of classes y, that the model has not seen.

        A tree has a point for each of its leaves that some row reaches. Another model has ten bins of equally
        many rows. `positive` is by default that of the model. Intervals are Wilson's.
        """
        place = positive_index(model, y, positive)
        name = classes_of(model)[place]
        predicted, truth = probabilities(model, X, place), is_class(y, name)
        if len(predicted) != len(truth) or not len(truth):
            raise DataError(f"X has {len(predicted)} rows and y has {len(truth)}: give a class for each row.")
        leaves = leaves_of_rows(model, X)
        parts = _bins(predicted) if leaves is None else np.unique(leaves, return_inverse=True)[1]
        points = [_point(predicted[parts == part], truth[parts == part], level) for part in np.unique(parts)]
        return cls(tuple(sorted(points)), label_text(name), level, leaves is not None)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the points with their intervals, and the diagonal, on which predictions come true."""
        with self._drawing(ax, (5.4, 5.4)) as ax:
            ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.0, zorder=1)
            points = np.array(self.points)
            ax.vlines(points[:, 0], points[:, 2], points[:, 3], color=INK, linewidth=1.1, zorder=2)
            areas = SMALLEST + (LARGEST - SMALLEST) * points[:, 4] / points[:, 4].max()
            ax.scatter(points[:, 0], points[:, 1], s=areas, color=BLUE, alpha=0.75, edgecolor=PAPER, zorder=3)
            ax.set_xlim(-0.03, 1.03)
            ax.set_ylim(-0.03, 1.03)
            ax.set_aspect("equal")
            ax.grid()
            ax.set_title(f"Calibration: probability of {label(self.positive, 20)}", parse_math=False)
            ax.set_ylabel("fraction that came true")
            label_with_note(ax, "predicted probability", self._note())
        return self

    def _note(self) -> str:
        n_rows = [point.n_rows for point in self.points]
        what = "leaf" if self.by_leaf else "bin"
        rows = f"{min(n_rows):,} to {max(n_rows):,} rows" if len(n_rows) > 1 else f"{n_rows[0]:,} rows"
        return f"A point for each {what} ({rows}, its area by rows), with {100 * self.level:g} % intervals."


def _point(predicted: FloatArray, truth: Any, level: float) -> CalibrationPoint:
    n, count = len(truth), int(np.count_nonzero(truth))
    return CalibrationPoint(float(predicted.mean()), count / n, *wilson_interval(count, n, level), n)


def _bins(predicted: FloatArray) -> LongArray:
    """The bin of every row, ten of about equally many rows; rows that are told the same share one."""
    edges = np.unique(np.quantile(predicted, np.linspace(0.0, 1.0, N_BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, predicted, side="left"), np.int64)
