"""Plots of performance: ROC and calibration curves, net benefit, out-of-bag error, loss by rounds."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast._arrays import FloatArray, LongArray
from holdfast._text import label_text, number_text, pluralize
from holdfast.data.schema import Label
from holdfast.ensembles.boosting import Boosting
from holdfast.ensembles.out_of_bag import Curve, make_oob_metric
from holdfast.errors import DataError, ModelError
from holdfast.explain.decision_curve import DecisionCurve, decision_curve
from holdfast.plots.display import (
    MARKERS,
    Display,
    classes_of,
    is_class,
    label,
    label_with_note,
    leaves_of_rows,
    legend_below,
    positive_index,
    probabilities,
)
from holdfast.scoring.intervals import wilson_interval
from holdfast.scoring.metric import Metric
from holdfast.tree.svg import BLUE, GREY, INK, PAPER, RED, lighten, nth_colour


@dataclass(eq=False)
class RocDisplay(Display):
    """ROC curve: true against false positive rate at every threshold of a probability.

    Examples
    --------
    >>> from holdfast import RocDisplay, TreeClassifier
    >>> X, y = [[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"]
    >>> RocDisplay.from_estimator(TreeClassifier().fit(X, y), X, y).roc_auc
    1.0
    """

    fpr: FloatArray
    tpr: FloatArray
    roc_auc: float
    positive: str  # class of the probability
    by_leaf: bool = True  # each point adds a leaf of a tree, the most probable first

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Label | None = None, ax: Any = None
    ) -> Self:
        """Show the curve of a fitted model or a tree on new rows.

        Parameters
        ----------
        model : fitted classifier or Tree
        X, y : array-like
            Rows and classes that the model was not trained on.
        positive : label, optional
            Class of the probability, required for more than two classes. Default: that of the model.
        ax : matplotlib Axes, optional
        """
        place = positive_index(model, y, positive)
        name = classes_of(model)[place]
        return cls.from_predictions(
            probabilities(model, X, place),
            is_class(y, name),
            positive=label_text(name),
            by_leaf=leaves_of_rows(model, X) is not None,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls, predicted: FloatArray, truth: Any, *, positive: str, by_leaf: bool = False, ax: Any = None
    ) -> Self:
        """Show the curve of predicted probabilities; `truth` flags the rows of the class."""
        from sklearn.metrics import auc, roc_curve

        fpr, tpr, _ = roc_curve(truth, predicted, drop_intermediate=not by_leaf)
        return cls(fpr, tpr, float(auc(fpr, tpr)), positive, by_leaf)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve, with a mark for each leaf of a tree."""
        from sklearn.metrics import RocCurveDisplay

        with self._drawing(ax, (5.4, 5.4)) as ax:
            drawn = RocCurveDisplay(fpr=self.fpr, tpr=self.tpr, roc_auc=self.roc_auc)
            drawn.plot(ax=ax, plot_chance_level=True)
            drawn.line_.set(color=BLUE, linewidth=1.6, label=f"AUC {self.roc_auc:.3f}")
            if self.by_leaf:
                drawn.line_.set(marker="o", markersize=4.5)
            drawn.chance_level_.set(color=GREY, linewidth=1.0, label="chance")
            ax.legend(loc="lower right")
            ax.set_title(f"ROC curve: probability of {label(self.positive, 20)}", parse_math=False)
            ax.set_xlabel("false positive rate")
            ax.set_ylabel("true positive rate")
            ax.grid()
        return self


# -- calibration ---------------------------------------------------------------------------------------


N_BINS = 10  # of a model with many different predictions
MOST_SPREAD_ROWS = 250  # drawn, evenly spread
SMALLEST, LARGEST = 25.0, 500.0  # areas of marks, in square points


class CalibrationPoint(NamedTuple):
    """Rows with the same prediction, or a bin of similar predictions."""

    predicted: float  # mean probability, or mean predicted number
    observed: float  # fraction of the class, or mean of the rows
    low: float  # ends of the interval of `observed`
    high: float
    n_rows: int


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """Calibration: observed frequencies against predictions, a point for each leaf or bin.

    Examples
    --------
    >>> from holdfast import CalibrationDisplay, TreeClassifier
    >>> X, y = [[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"]
    >>> display = CalibrationDisplay.from_estimator(TreeClassifier().fit(X, y), X, y)
    >>> [(point.predicted, point.observed) for point in display.points]
    [(0.0, 0.0), (1.0, 1.0)]
    """

    points: tuple[CalibrationPoint, ...]
    positive: str  # class of the probability; "" for numbers
    level: float = 0.95  # of the intervals
    by_leaf: bool = True
    target: str = ""  # name of a numeric target

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Label | None = None, level: float = 0.95, ax: Any = None
    ) -> Self:
        """Show the calibration on new rows, by leaf for a tree, else in ten bins of equal size.

        Parameters
        ----------
        model : fitted classifier or Tree
        X, y : array-like
            Rows and classes that the model was not trained on.
        positive : label, optional
            Class of the probability. Default: that of the model.
        level : float
            Of Wilson's intervals.
        ax : matplotlib Axes, optional
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

    @classmethod
    def from_predictions(
        cls, predicted: FloatArray, truth: FloatArray, *, positive: str = "", target: str = "", ax: Any = None
    ) -> Self:
        """Show the calibration of probabilities with 0 and 1 as truth, or of numbers without `positive`.

        Few distinct predictions have a point each; many are divided into ten bins.
        """
        by_leaf = len(np.unique(predicted)) <= 4 * N_BINS
        parts = np.unique(predicted, return_inverse=True)[1] if by_leaf else _bins(predicted)
        point = _point if positive else _mean_point
        points = [point(predicted[parts == part], truth[parts == part], 0.95) for part in np.unique(parts)]
        return cls(tuple(sorted(points)), positive, 0.95, by_leaf, target)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the points with their intervals, and the diagonal of perfect calibration."""
        with self._drawing(ax, (5.4, 5.4)) as ax:
            points = np.array(self.points)
            ends = (0.0, 1.0) if self.positive else (points[:, :4].min(), points[:, :4].max())
            ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.0, zorder=1)
            ax.vlines(points[:, 0], points[:, 2], points[:, 3], color=INK, linewidth=1.1, zorder=2)
            areas = SMALLEST + (LARGEST - SMALLEST) * points[:, 4] / points[:, 4].max()
            ax.scatter(points[:, 0], points[:, 1], s=areas, color=BLUE, alpha=0.75, edgecolor=PAPER, zorder=3)
            margin = 0.03 * ((ends[1] - ends[0]) or 1.0)
            ax.set_xlim(ends[0] - margin, ends[1] + margin)
            ax.set_ylim(ends[0] - margin, ends[1] + margin)
            ax.set_aspect("equal")
            ax.grid()
            what = f"probability of {label(self.positive, 20)}" if self.positive else label(self.target, 28)
            ax.set_title(f"Calibration: {what}", parse_math=False)
            ax.set_ylabel("observed frequency" if self.positive else "observed mean")
            label_with_note(ax, "predicted probability" if self.positive else "prediction", self._note())
        return self

    def _note(self) -> str:
        n_rows = [point.n_rows for point in self.points]
        what = "leaf" if self.by_leaf else "bin"
        rows = f"{min(n_rows):,} to {max(n_rows):,} rows" if len(n_rows) > 1 else f"{n_rows[0]:,} rows"
        return f"A point for each {what} ({rows}, its area by rows), with {100 * self.level:g} % intervals."


def _point(predicted: FloatArray, truth: Any, level: float) -> CalibrationPoint:
    n, count = len(truth), int(np.count_nonzero(truth))
    return CalibrationPoint(float(predicted.mean()), count / n, *wilson_interval(count, n, level), n)


def _mean_point(predicted: FloatArray, truth: FloatArray, level: float) -> CalibrationPoint:
    n, mean = len(truth), float(truth.mean())
    half = 1.96 * float(truth.std(ddof=1)) / np.sqrt(n) if n > 1 else 0.0
    return CalibrationPoint(float(predicted.mean()), mean, mean - half, mean + half, n)


def _bins(predicted: FloatArray) -> LongArray:
    """Return the bin of every row, ten of about equal size; equal predictions share a bin."""
    edges = np.unique(np.quantile(predicted, np.linspace(0.0, 1.0, N_BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, predicted, side="left"), np.int64)


# -- spread ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class SpreadDisplay(Display):
    """Prediction of one tree for every row, and the range of nine in ten predictions of other trees."""

    predicted: FloatArray  # of the rows that are drawn, in ascending order
    bands: dict[str, tuple[FloatArray, FloatArray]]  # of groups of trees: 5 % and 95 % quantiles
    target: str
    is_risk: bool

    @classmethod
    def from_predictions(
        cls, own: FloatArray, others: dict[str, FloatArray], *, target: str, is_risk: bool, ax: Any = None
    ) -> Self:
        """Show predictions of a tree, and of groups of other trees, each of shape (trees, rows)."""
        # Ties are broken by the other predictions, so that the order of the rows does not matter.
        order = np.lexsort([*(np.round(each.mean(axis=0), 12) for each in others.values()), own])
        if len(order) > MOST_SPREAD_ROWS:
            order = order[np.linspace(0, len(order) - 1, MOST_SPREAD_ROWS).round().astype(int)]
        quantiles = {name: np.quantile(each[:, order], (0.05, 0.95), axis=0) for name, each in others.items()}
        bands = {name: (each[0], each[1]) for name, each in quantiles.items()}
        return cls(own[order], bands, target, is_risk)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a line for every row and group, and the prediction of the tree on it."""
        with self._drawing(ax, (7.4, 3.8)) as ax:
            rows = np.arange(len(self.predicted)) + 0.5
            colours = {"reference": lighten(GREY, 0.35), "near-best": lighten(BLUE, 0.6)}
            for name in sorted(self.bands, reverse=True):
                text = f"nine of ten {name} trees"
                ax.vlines(rows, *self.bands[name], color=colours.get(name, GREY), linewidth=1.6, label=text)
            ax.plot(rows, self.predicted, ".", color=RED, markersize=3.5, label="chosen tree")
            ax.set_xlim(0, len(rows))
            if self.is_risk:
                ax.set_ylim(-0.02, 1.02)
            ax.set_title("Predictions of the chosen tree and of other trees", parse_math=False)
            ax.set_xlabel("rows, by the prediction of the chosen tree")
            ax.set_ylabel(f"{'probability of ' if self.is_risk else ''}{label(self.target, 24)}")
            ax.grid(axis="y")
            legend_below(ax, 3)
        return self


# -- decision curve ------------------------------------------------------------------------------------


LOWEST = -0.25  # lower end of the picture, as a fraction of its height
EVERY = 10  # points of a curve between two marks


@dataclass(eq=False)
class DecisionCurveDisplay(Display):
    """Net benefit of models by decision threshold, compared with acting on all or on none."""

    thresholds: FloatArray
    names: tuple[str, ...]
    benefit: FloatArray  # (models, thresholds)
    error: FloatArray
    act_on_all: FloatArray
    positive: str
    n_rows: int

    @classmethod
    def from_result(cls, result: DecisionCurve, *, ax: Any = None) -> Self:
        """Show a result of `decision_curve`."""
        return cls(
            result.thresholds,
            result.names,
            result.benefit,
            result.error,
            result.act_on_all,
            label_text(result.positive),
            result.n_rows,
        )._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Label | None = None, ax: Any = None
    ) -> Self:
        """Show the curves of a model, or of a mapping of names to models, on new rows."""
        return cls.from_result(decision_curve(model, X, y, positive=positive), ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a curve for each model, with its standard error, and those of acting on all or none."""
        with self._drawing(ax, (7.0, 4.8)) as ax:
            ax.axhline(0.0, color=GREY, linewidth=1.2, label="act on none")
            ax.plot(
                self.thresholds, self.act_on_all, color=INK, linestyle="--", linewidth=1.2, label="act on all"
            )
            for number, name in enumerate(self.names):
                self._curve(ax, number, name)
            highest = max(float(self.benefit.max()), float(self.act_on_all.max()), 1e-9)
            ax.set_ylim(LOWEST * highest, 1.1 * highest)
            ax.set_xlim(0.0, 1.0)
            ax.grid()
            ax.set_title(f"Decision curve: acting on {label(self.positive, 20)}", parse_math=False)
            ax.set_ylabel("net benefit per row")
            note = f"{self.n_rows:,} rows. Bands are one standard error wide on each side."
            label_with_note(ax, "decision threshold (probability from which on one acts)", note)
            legend_below(ax, columns=2, points=58)
        return self

    def _curve(self, ax: Axes, number: int, name: str) -> None:
        colour, benefit, error = nth_colour(number), self.benefit[number], self.error[number]
        ax.fill_between(
            self.thresholds, benefit - error, benefit + error, color=colour, alpha=0.18, linewidth=0
        )
        marked = np.arange(len(self.thresholds)) % EVERY == min(EVERY, len(self.thresholds)) // 2
        ax.plot(
            self.thresholds,
            benefit,
            color=colour,
            linewidth=1.8,
            marker=MARKERS[number % len(MARKERS)],
            markevery=marked.tolist(),
            markersize=5.5,
            label=label(name),
        )


# -- out of bag ----------------------------------------------------------------------------------------


FEW = 30  # points, up to which each has a mark


@dataclass(eq=False)
class OutOfBagDisplay(Display):
    """Out-of-bag score of an ensemble by its number of trees."""

    n_estimators: LongArray
    values: FloatArray  # NaN without a score
    measure: str = "out-of-bag score"
    name: str = ""  # of the model, if a plot shows several

    @classmethod
    def from_estimator(cls, model: Any, *, name: str = "", ax: Any = None) -> Self:
        """Show the curve of a forest or bagging that was fitted with `oob_score`.

        Accuracy is shown as error, 1 - accuracy; losses and other scores are shown as they are.
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
        """Show the scores of a curve, higher being better: a curve does not know its metric."""
        return cls(curve.n_estimators, curve.scores, name=name)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve, with its last value in the legend."""
        with self._drawing(ax, (7.0, 4.0)) as ax:
            known = np.flatnonzero(~np.isnan(self.values))
            x, y = self.n_estimators[known], self.values[known]
            marker = "o" if len(x) <= FEW else ""
            colour = nth_colour(len(ax.lines) // 2)  # each curve has a second line at its last value
            (line,) = ax.plot(x, y, color=colour, marker=marker, markersize=4)
            last = f"{number_text(float(y[-1]), 3)} with {pluralize(int(x[-1]), 'tree')}"
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
    """Return the scores as shown, and their name."""
    if metric.name == "accuracy":
        return 1.0 - scores, "out-of-bag error"
    return (-scores if metric.is_loss else scores), f"out-of-bag {metric.title}"


# -- boosting ------------------------------------------------------------------------------------------


_NONE = np.empty(0)
LINES = ("-", "--", ":")


@dataclass(eq=False)
class BoostingDisplay(Display):
    """Mean losses after each round of boosting; those without rows are empty."""

    train_loss: FloatArray
    validation_loss: FloatArray = field(default_factory=lambda: _NONE)
    oob_loss: FloatArray = field(default_factory=lambda: _NONE)  # of the rows outside the subsample
    n_estimators: int = 0  # rounds kept
    measure: str = "loss"

    @classmethod
    def from_result(cls, result: Boosting, *, measure: str = "loss", ax: Any = None) -> Self:
        """Show the losses of a boosting result."""
        return cls(
            result.train_loss, result.validation_loss, result.oob_scores, result.n_estimators, measure
        )._drawn_on(ax)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Show the losses of a fitted `BoostingClassifier` or `BoostingRegressor`.

        With early stopping there are also losses of the held-out rows, or their mean over the folds; with
        `subsample` below 1, those of the rows outside the subsample.
        """
        if not hasattr(model, "train_loss_"):
            raise ModelError(
                f"{type(model).__name__} keeps no losses by round: give a fitted BoostingClassifier or "
                "BoostingRegressor."
            )
        measure = f"mean {model.loss.replace('_', ' ')}"
        return cls(
            model.train_loss_, model.validation_loss_, model.oob_scores_, model.n_estimators_, measure
        )._drawn_on(ax)

    @property
    def n_tried(self) -> int:
        """Number of rounds, including those that were not kept."""
        return max(len(self.train_loss), len(self.validation_loss))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the losses, and a line at the last round that was kept."""
        losses = {
            "training": self.train_loss,
            "validation": self.validation_loss,
            "left out of the round": self.oob_loss,
        }
        with self._drawing(ax, (7.0, 4.2)) as ax:
            for place, (name, loss) in enumerate(losses.items()):
                if len(loss):
                    rounds = np.arange(1, len(loss) + 1)
                    ax.plot(rounds, loss, LINES[place], color=nth_colour((0, 5, 2)[place]), label=name)
            if self.n_estimators < self.n_tried:
                self._mark_end(ax)
            ax.set_title("Loss by rounds of boosting")
            ax.set_xlabel("rounds")
            ax.set_ylabel(self.measure)
            ax.grid(axis="y")
            ax.legend(loc="best")
        return self

    def _mark_end(self, ax: Axes) -> None:
        kept = self.n_estimators
        ax.axvline(kept, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
        if len(self.validation_loss) >= kept:
            ax.plot([kept], [self.validation_loss[kept - 1]], "o", color=nth_colour(5), markersize=6)
        is_left = kept <= self.n_tried / 2
        ax.annotate(
            f"{pluralize(kept, 'round')} kept",
            (kept, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(5 if is_left else -5, -3),
            textcoords="offset points",
            va="top",
            ha="left" if is_left else "right",
            color=INK,
        )
