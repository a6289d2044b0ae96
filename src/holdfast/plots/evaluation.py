"""Plots of audits, comparisons and replications."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import pluralize
from holdfast.evaluate.audit import RetrainAudit
from holdfast.evaluate.compare import ModelComparison
from holdfast.evaluate.replications import MODELS, Replications
from holdfast.plots.display import MARKERS, MOST_ROWS, Display, label, legend_below, named_rows, rows_height
from holdfast.tree.svg import BLUE, GREY, OUTLINE, RED, nth_colour


@dataclass(eq=False)
class AuditDisplay(Display):
    """Score against change on retraining: one point for each method, with bars of one standard error.

    Methods without the measure are named in a note, such as a forest, which has no tree distance.
    """

    methods: tuple[str, ...]
    x: FloatArray  # change of each method; NaN if unknown
    x_error: FloatArray
    y: FloatArray  # score of each method
    y_error: FloatArray
    x_title: str
    y_title: str
    change: str

    @classmethod
    def from_result(
        cls, audit: RetrainAudit, *, against: str = "churn", change: str | None = None, ax: Any = None
    ) -> Self:
        """Show an audit.

        Parameters
        ----------
        audit : RetrainAudit
        against : str
            Measure of change on the horizontal axis: "churn", "distance" or another one of the audit.
        change : str, optional
            Kind of new data. Default: the first of the audit.
        ax : matplotlib Axes, optional
        """
        change = audit.changes[0] if change is None else change
        titles = {measure.name: measure.title for measure in audit.measures}
        score = audit.measures[0]
        x, x_error, y, y_error = (
            np.array([figure(method, name, change) for method in audit.methods])
            for name in (against, score.name)
            for figure in (audit.mean, audit.error)
        )
        return cls(
            methods=audit.methods,
            x=x,
            x_error=np.nan_to_num(x_error),
            y=y,
            y_error=np.nan_to_num(y_error),
            x_title=titles[against],
            y_title=score.title,
            change=change,
        )._drawn_on(ax)

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return f"{self.y_title} and {self.x_title} of each method on retraining: {label(self.change)}"

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        known = ~(np.isnan(self.x) | np.isnan(self.y))
        rows = (len(self.methods) + 1) // 2
        with self._drawing(ax, (7.0, 4.4 + 0.22 * rows)) as ax:
            for place in np.flatnonzero(known).tolist():
                colour, marker = nth_colour(place), MARKERS[place % len(MARKERS)]
                ax.errorbar(
                    *([self.x[place]], [self.y[place]], [self.y_error[place]], [self.x_error[place]]),
                    fmt=marker,
                    ms=8,
                    color=colour,
                    mec="white",
                    mew=0.7,
                    ecolor=colour,
                    elinewidth=1.2,
                    label=f"{label(self.methods[place])}: {self.y[place]:.3f}, {self.x[place]:.3g}",
                )
            ax.margins(0.12)
            if known.any():
                ax.set_xlim(left=-0.04 * ax.get_xlim()[1])
            unknown = [label(name, 20) for name, there in zip(self.methods, known, strict=True) if not there]
            note = f"\nno {self.x_title}: {', '.join(unknown)}" if unknown else ""
            ax.set_xlabel(f"{self.x_title} (lower is more stable){note}")
            ax.set_ylabel(f"{self.y_title}, higher is better")
            ax.grid(True)
            ax.set_title(self.heading)
            if known.any():
                legend_below(ax, 2, 54 if note else 40)
        return self


@dataclass(eq=False)
class ComparisonDisplay(Display):
    """Score of each model, the best on top: the mean with bars of one standard error, and every fold.

    A dashed line marks the baseline, or else the best model. Models within noise of it have an empty mark.
    """

    names: tuple[str, ...]  # the best first
    mean: FloatArray  # losses positive; NaN for a model that failed
    error: FloatArray
    folds: FloatArray  # (models, folds)
    within_noise: tuple[bool, ...]
    baseline: str
    title: str
    is_loss: bool

    @classmethod
    def from_result(cls, comparison: ModelComparison, *, ax: Any = None) -> Self:
        """Show a comparison by its first metric; `comparison.by("log_loss")` puts another one first."""
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
        """Title of the picture."""
        return f"{self.title} of {pluralize(len(self.names), 'model')} on the same folds"

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
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
            for own, marker, face, edge, text in groups:
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
                        label=f"{text}, ± one standard error",
                    )
            for place in np.flatnonzero(np.isnan(self.mean[: len(names)])).tolist():
                ax.text(0.02, place, "failed", transform=ax.get_yaxis_transform(), color=RED, va="center")
            note = named_rows(ax, names, len(self.names), "models")
            better = "lower" if self.is_loss else "higher"
            ax.set_xlabel(f"{self.title}, {better} is better" + (f"\n{note}" if note else ""))
            ax.grid(True, axis="x")
            ax.set_title(self.heading)
            legend_below(ax, points=54 if note else 40)
        return self

    @property
    def _base_place(self) -> int:
        return self.names.index(self.baseline)


@dataclass(eq=False)
class ReplicationsDisplay(Display):
    """Score against instability of every replication, and their mean with bars of one standard deviation.

    The forest, which has no instability, is a line at its mean score.
    """

    models: tuple[str, ...]
    instability: dict[str, FloatArray]  # of every replication; of models that are trees
    score: dict[str, FloatArray]  # on test rows, losses positive
    title: str
    is_loss: bool

    @classmethod
    def from_result(cls, replications: Replications, *, ax: Any = None) -> Self:
        """Show the results of all replications."""
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
        """Title of the picture."""
        n_replications = len(self.score[self.models[0]])
        return f"{self.title} on test rows and instability in {pluralize(n_replications, 'replication')}"

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        with self._drawing(ax, (7.0, 5.0)) as ax:
            for place, model in enumerate(self.models):
                y, colour, marker = self.score[model], nth_colour(place), MARKERS[place]
                text = f"{model}: {self.title} {y.mean():.3f}"
                if model not in self.instability:
                    ax.axhline(y.mean(), ls="--", lw=1.2, color=GREY, label=text)
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
                    label=f"{text}, instability {x.mean():.3g}",
                )
            ax.set_xlabel("instability: mean distance to the reference trees (lower is more stable)")
            ax.set_ylabel(f"{self.title}, {'lower' if self.is_loss else 'higher'} is better")
            ax.grid(True)
            ax.margins(0.08)
            ax.set_title(self.heading)
            legend_below(ax)
        return self


def _deviation(values: FloatArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
