"""The whole procedure again and again on other rows: scores and instability of every replication."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.evidence.replication_table import MODELS, Replications
from holdfast.show.palette import GREY, nth_colour
from holdfast.show.plots.display import MARKERS, Display, label, legend_below
from holdfast.text.numbers import counted


@dataclass(eq=False)
class ReplicationsDisplay(Display):
    """Small marks for every replication, and a large one with bars of one standard deviation at the mean.

    A model without instability, the forest, is a line at its mean score.
    """

    models: tuple[str, ...]
    instability: dict[str, FloatArray]  # of every replication; of models that are trees
    score: dict[str, FloatArray]  # on test rows, with the sign that people expect
    title: str
    is_loss: bool

    @classmethod
    def from_result(cls, replications: Replications, *, ax: Any = None) -> Self:
        """The results of all replications."""
        metric = replications.metric
        own = {model: replications.of(model) for model in MODELS}
        return cls(
            models=MODELS,
            instability={
                model: np.array([result.instability for result in results], np.float64)
                for model, results in own.items()
                if all(result.instability is not None for result in results)
            },
            score={
                model: np.array([metric.shown(result.score) for result in results])
                for model, results in own.items()
            },
            title=label(metric.title),
            is_loss=metric.is_loss,
        )._drawn_on(ax)

    @property
    def heading(self) -> str:
        """What the picture shows, in words."""
        n_replications = len(self.score[self.models[0]])
        return f"{self.title} on test rows and instability in {counted(n_replications, 'replication')}"

    def plot(self, ax: Any = None) -> Self:
        """Draw it on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        with self._drawing(ax, (7.0, 5.0)) as ax:
            for place, model in enumerate(self.models):
                y, colour, marker = self.score[model], nth_colour(place), MARKERS[place]
                told = f"{model}: {self.title} {y.mean():.3f}"
                if model not in self.instability:
                    ax.axhline(y.mean(), ls="--", lw=1.2, color=GREY, label=told)
                    continue
                x = self.instability[model]
                ax.plot(x, y, marker, ms=4, color=colour, alpha=0.4, mew=0, ls="none")
                ax.errorbar(
                    *([x.mean()], [y.mean()], [_deviation(y)], [_deviation(x)]),
                    fmt=marker,
                    ms=13 - 1.5 * place,  # two models may be the same tree
                    color=colour,
                    mec="white",
                    ecolor=colour,
                    elinewidth=1.3,
                    zorder=4,
                    label=f"{told}, instability {x.mean():.3g}",
                )
            ax.set_xlabel("instability: mean distance to the reference trees (less is steadier)")
            ax.set_ylabel(f"{self.title}, {'less' if self.is_loss else 'more'} is better")
            ax.grid(True)
            ax.margins(0.08)
            ax.set_title(self.heading)
            legend_below(ax)
        return self


def _deviation(values: FloatArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
