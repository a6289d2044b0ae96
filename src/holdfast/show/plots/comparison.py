"""Models on the same folds: their scores with intervals."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.comparison.table import ModelComparison
from holdfast.show.palette import BLUE, GREY, OUTLINE, RED
from holdfast.show.plots.display import MOST_ROWS, Display, label, legend_below, named_rows, rows_height
from holdfast.text.numbers import counted


@dataclass(eq=False)
class ComparisonDisplay(Display):
    """One line per model, the best on top: the mean score with bars of one standard error, and every fold.

    A dashed line stands at the baseline, or else the best. What is within noise of it has an empty mark.
    """

    names: tuple[str, ...]  # the best first
    mean: FloatArray  # with the sign that people expect; NaN for a model that failed
    error: FloatArray
    folds: FloatArray  # (models, folds)
    within_noise: tuple[bool, ...]
    baseline: str
    title: str
    is_loss: bool

    @classmethod
    def from_result(cls, comparison: ModelComparison, *, ax: Any = None) -> Self:
        """The scores by the metric that decides; `comparison.by("log_loss")` puts another first."""
        order, metric = comparison.order, comparison.metric
        sign = -1.0 if metric.is_loss else 1.0
        return cls(
            names=tuple(comparison.names[place] for place in order),
            mean=sign * comparison.mean[order],
            error=comparison.error[order],
            folds=sign * comparison.scores[order],
            within_noise=tuple(comparison.differences().within_noise[order].tolist()),
            baseline=comparison.baseline,
            title=label(metric.title),
            is_loss=metric.is_loss,
        )._drawn_on(ax)

    @property
    def heading(self) -> str:
        """What the picture shows, in words."""
        return f"{self.title} of {counted(len(self.names), 'model')} on the same folds"

    def plot(self, ax: Any = None) -> Self:
        """Draw it on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        names = self.names[:MOST_ROWS]
        with self._drawing(ax, (7.0, rows_height(len(names)) + 1.1)) as ax:
            places, n_folds = np.arange(len(names)), self.folds.shape[1]
            folds = self.folds[: len(names)]
            ax.plot(
                folds.ravel(),
                np.repeat(places, n_folds),
                "|",
                ms=8,
                mew=1,
                color=OUTLINE,
                alpha=0.7,
                label="one fold" if n_folds > 1 else "rows held out",
            )
            base = self.mean[self.names.index(self.baseline)]
            ax.axvline(base, ls="--", lw=1, color=GREY, label=f"mean of {label(self.baseline, 24)}")
            is_near = np.array([name != self.baseline for name in names]) & np.array(
                self.within_noise[: len(names)]
            )
            errors = np.nan_to_num(self.error[: len(names)])
            groups = (
                (is_near, "o", "white", BLUE, f"within noise of {label(self.baseline, 24)}"),
                (~is_near & (places != self._base_place), "o", BLUE, BLUE, "another score"),
                (places == self._base_place, "D", RED, RED, f"{label(self.baseline, 24)}"),
            )
            for own, marker, face, edge, told in groups:
                if own.any():
                    ax.errorbar(
                        self.mean[: len(names)][own],
                        places[own],
                        xerr=errors[own],
                        fmt=marker,
                        ms=6.5,
                        mfc=face,
                        mec=edge,
                        ecolor=edge,
                        elinewidth=1.4,
                        label=f"{told}, ± one standard error",
                    )
            for place in np.flatnonzero(np.isnan(self.mean[: len(names)])).tolist():
                ax.text(0.02, place, "failed", transform=ax.get_yaxis_transform(), color=RED, va="center")
            note = named_rows(ax, names, len(self.names), "models")
            better = "less" if self.is_loss else "more"
            ax.set_xlabel(f"{self.title}, {better} is better" + (f"\n{note}" if note else ""))
            ax.grid(True, axis="x")
            ax.set_title(self.heading)
            legend_below(ax, points=54 if note else 40)
        return self

    @property
    def _base_place(self) -> int:
        return self.names.index(self.baseline)
