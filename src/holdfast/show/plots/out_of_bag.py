"""The out-of-bag error by the number of trees: are there enough of them?"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast.arrays import FloatArray, LongArray
from holdfast.ensembles.out_of_bag import Curve, make_oob_metric
from holdfast.errors import ModelError
from holdfast.scoring.metric import Metric
from holdfast.show.palette import GREY, nth_colour
from holdfast.show.plots.display import Display, label
from holdfast.text.numbers import counted, number_text

FEW = 30  # points, up to which each has a mark


@dataclass(eq=False)
class OutOfBagDisplay(Display):
    """How well the first trees of an ensemble predict the rows outside their bags, by their number."""

    n_estimators: LongArray
    values: FloatArray  # NaN where there is no score
    measure: str = "out-of-bag score"
    name: str = ""  # of the model, where several stand on one plot

    @classmethod
    def from_estimator(cls, model: Any, *, name: str = "", ax: Any = None) -> Self:
        """The curve that a fitted forest or bagging keeps where `oob_score` asks for it.

        Accuracy is shown as error, 1 - accuracy, and losses as they are: lower is better. Other scores are
        shown as they are: higher is better.
        """
        curve = getattr(model, "oob_curve_", None)
        if not isinstance(curve, Curve):
            raise ModelError(
                f"{type(model).__name__} has no out-of-bag curve: fit a forest or bagging with "
                "oob_score=True, or the metric to score by."
            )
        metric = make_oob_metric(model.oob_score, model.schema_.target)
        return cls(curve.n_estimators, *_shown(curve.scores, metric), name)._drawn_on(ax)

    @classmethod
    def from_result(cls, curve: Curve, *, name: str = "", ax: Any = None) -> Self:
        """The scores of a curve as they are, higher being better: it does not know its metric."""
        return cls(curve.n_estimators, curve.scores, name=name)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve, with its last value in words."""
        with self._drawing(ax, (7.0, 4.0)) as ax:
            known = np.flatnonzero(~np.isnan(self.values))
            x, y = self.n_estimators[known], self.values[known]
            marker = "o" if len(x) <= FEW else ""
            colour = nth_colour(len(ax.lines) // 2)  # each curve comes with the line of its last value
            (line,) = ax.plot(x, y, color=colour, marker=marker, markersize=4)
            last = f"{number_text(float(y[-1]), 3)} with {counted(int(x[-1]), 'tree')}"
            line.set_label(f"{label(self.name)}: {last}" if self.name else last)
            ax.axhline(y[-1], color=GREY, linewidth=0.8, linestyle=":", zorder=0)
            ax.set_title(f"{self.measure[0].upper()}{self.measure[1:]} by number of trees")
            ax.set_xlabel("trees")
            ax.set_ylabel(self.measure)
            ax.grid(axis="y")
            for text in ax.legend(loc="best").get_texts():
                text.set_parse_math(False)
        return self


def _shown(scores: FloatArray, metric: Metric) -> tuple[FloatArray, str]:
    """The scores as they are shown, and what they are called."""
    if metric.name == "accuracy":
        return 1.0 - scores, "out-of-bag error"
    return (-scores if metric.is_loss else scores), f"out-of-bag {metric.title}"
