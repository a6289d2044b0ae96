"""Metrics: scores of predictions with standard errors."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import isfunction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, scale_to_unit
from holdfast._text import RowLabels, first_rows, label_text, pluralize, quoted
from holdfast.data.columns import read_column
from holdfast.data.frame import as_vector
from holdfast.data.schema import Target
from holdfast.data.survival import SurvivalTimes
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.scoring import formulas, survival
from holdfast.scoring.formulas import Estimate, ScoredRows, standard_error
from holdfast.scoring.scorers import compare_by_scorer, get_scorer_name, is_negated_loss, score_by_scorer
from holdfast.scoring.thresholds import NET_BENEFIT, ExpectedLoss, make_net_benefit
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.stats import ABSOLUTE_ERROR, format_quantile_name, parse_quantile
from holdfast.tree.tree import Tree

_GREATEST = 1e300  # so that the sum of many scores is finite too


class Score(NamedTuple):
    """A score and its standard error."""

    value: float  # greater is better: losses are negated
    error: float  # standard error of the value


@dataclass(frozen=True, eq=False)
class TrueValues:
    """Targets, weights and groups of the rows that predictions are scored on."""

    target: Target
    values: NDArray[Any]  # int32 index of the class, or float64: as Table.target
    weight: FloatArray | None = None  # None: every row counts once
    groups: IntArray | None = None  # rows of one group (a patient) are not independent
    survival: SurvivalTimes | None = None  # of a time to an event

    def __post_init__(self) -> None:
        for what, line in (("weight", self.weight), ("groups", self.groups)):
            if line is not None and len(line) != len(self.values):
                raise DataError(
                    f"{what} has {len(line)} values, and there are {len(self.values)} rows: give one per row."
                )

    @classmethod
    def of(cls, table: Table, groups: Any = None) -> "TrueValues":
        """Make them from a table; `groups` has one value of any kind per row.

        >>> table = Table.from_arrays([[41.0], [63.0], [64.0]], ["lived", "died", "died"])
        >>> TrueValues.of(table, groups=["Ann", "Bob", "Bob"]).groups
        array([0, 1, 1], dtype=int32)
        """
        numbers = None if groups is None else _group_numbers(groups)
        return cls(table.schema.target, table.target, table.weight, numbers, table.survival)

    def subset(self, rows: NDArray[Any]) -> "TrueValues":
        """Select rows."""
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        survival = None if self.survival is None else self.survival.subset(rows)
        return TrueValues(self.target, self.values[rows], weight, groups, survival)

    @cached_property
    def counted(self) -> BoolArray:
        """Flags of rows with positive weight."""
        return np.ones(len(self.values), bool) if self.weight is None else self.weight > 0

    @cached_property
    def rows(self) -> ScoredRows:
        """Rows with positive weight, as the formulas need them."""
        values = self.values[self.counted]
        if len(values) == 0:
            raise DataError(
                f"There is nothing to score on: {len(self.values)} rows, and none has a weight above 0."
            )
        weight = np.ones(len(values)) if self.weight is None else _summable(self.weight[self.counted])
        unit = np.arange(len(values))
        if self.groups is not None:
            unit = np.unique(self.groups[self.counted], return_inverse=True)[1]
        survival = None if self.survival is None else self.survival.subset(self.counted)
        return ScoredRows(values, weight, unit, survival, self.target.hazard)


def _group_numbers(groups: Any) -> IntArray:
    line = as_vector(groups, "groups")
    if isinstance(line, np.ndarray) and line.dtype.kind in "iu":
        return np.unique(line, return_inverse=True)[1].astype(np.int32)
    column = read_column(line, "groups", "categories")
    if (missing := np.isnan(column.values)).any():
        where = first_rows(missing, RowLabels.of(line))
        raise DataError(
            f"groups has {missing.sum()} missing values, {where}. Give each of these rows a "
            "group of its own if it has no other."
        )
    return column.values.astype(np.int32)


def _summable(weight: FloatArray) -> FloatArray:
    """Scale weights by a power of two if their sum would overflow or lose precision."""
    if 1e-100 < weight.max() < 1e100:
        return weight
    return np.maximum(scale_to_unit(weight)[0], np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Metric:
    """A metric: one of our formulas, or a scorer of the user's."""

    name: str  # "auc"
    title: str  # "AUC", as it is printed
    is_loss: bool
    formula: Callable[[FloatArray, ScoredRows], Estimate] | None = field(default=None, repr=False)
    scorer: Any = field(default=None, repr=False)  # called as scorer(estimator, X, y) if there is no formula

    @property
    def default_tolerance_unit(self) -> Literal["absolute", "relative"]:
        """Unit of tolerances: points of score, or a fraction for losses without a scale."""
        return "relative" if self.is_loss and self.formula is not None else "absolute"

    @property
    def by_labels(self) -> bool:
        """True if it needs predicted classes rather than probabilities."""
        if self.formula is not None:
            named = self.formula in (formulas.accuracy, formulas.balanced_accuracy)
            return named or isinstance(self.formula, ExpectedLoss)
        return bool(getattr(self.scorer, "_response_method", None) == "predict")

    @property
    def least_values(self) -> int:
        """Number of distinct targets that it needs: an AUC needs two classes, a concordance an event."""
        return 2 if self.name in ("auc", "r2", "concordance", "uno") else 1

    @property
    def by_survival(self) -> bool:
        """True if it needs probabilities to survive, or risks of a known scale, rather than any ranking."""
        return self.formula in (survival.integrated_brier, survival.deviance)

    def score(self, predicted: FloatArray, true_values: TrueValues) -> Score:
        """Score predictions, with the standard error; both are finite.

        `predicted` is (rows, classes) probabilities, or (rows, 1) numbers: `tree.value[tree.apply(X)]`. The
        error is 0 where it is undefined: for a single row or group, an AUC of one class, the R² of a
        constant.

        >>> true_values = TrueValues(Target(classes=("died", "lived")), np.array([0, 1, 1, 0]))
        >>> probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
        >>> value, error = make_metric("accuracy", true_values.target).score(probabilities, true_values)
        >>> value, round(error, 6)
        (0.75, 0.25)
        """
        needed = (len(true_values.values), max(len(true_values.target.classes), 1))
        if self.by_survival and predicted.shape[1] > 1:
            needed = (needed[0], survival.N_TIMES)
        if predicted.shape != needed:
            raise DataError(
                f"Predictions have shape {predicted.shape}; target {true_values.target.name!r} needs "
                f"{needed}: one row per row of the data, one column per class or a single one."
            )
        counted = predicted if true_values.counted.all() else predicted[true_values.counted]
        if self.formula is None:
            return Score(*score_by_scorer(self.scorer, counted, true_values.target, true_values.rows))
        with np.errstate(all="ignore"):  # squares of numbers such as 1e200
            measured = self.formula(counted, true_values.rows)
            error = standard_error(measured, true_values.rows)
        return Score(_finite(measured.value, -_GREATEST), _finite(error, _GREATEST))

    def value(self, predicted: FloatArray, true_values: TrueValues) -> float:
        """Return the score without its error."""
        counted = predicted if true_values.counted.all() else predicted[true_values.counted]
        if self.formula is None:
            return score_by_scorer(
                self.scorer, counted, true_values.target, true_values.rows, with_error=False
            )[0]
        with np.errstate(all="ignore"):
            return _finite(self.formula(counted, true_values.rows).value, -_GREATEST)

    def shown(self, value: float) -> float:
        """Return the value with its usual sign: a log loss of 0.32, not -0.32.

        >>> make_metric("log_loss", Target(classes=("died", "lived"))).shown(-0.32)
        0.32
        """
        return 0.0 - value if self.is_loss else value


def _finite(number: float, unknown: float) -> float:
    """Clip infinite numbers to the greatest float; NaN becomes `unknown`."""
    if number != number:
        return unknown
    return min(max(float(number), -_GREATEST), _GREATEST) + 0.0  # never -0.0


# -- by name ----------------------------------------------------------------------------------------------

_OF_CLASSES = (
    Metric("accuracy", "accuracy", False, formulas.accuracy),
    Metric("auc", "AUC", False, formulas.auc),
    Metric("balanced_accuracy", "balanced accuracy", False, formulas.balanced_accuracy),
    Metric("brier", "Brier score", True, formulas.brier),
    Metric("log_loss", "log loss", True, formulas.log_loss),
)
_OF_NUMBERS = (
    Metric("absolute_error", "mean absolute error", True, formulas.absolute_error),
    Metric("poisson", "mean Poisson deviance", True, formulas.poisson),
    Metric("r2", "R²", False, formulas.r2),
    Metric("squared_error", "mean squared error", True, formulas.squared_error),
)
_OF_TIMES = (
    Metric("concordance", "concordance", False, survival.concordance),
    Metric("uno", "Uno's concordance", False, survival.uno_concordance),
    Metric("auc", "AUC at the horizon", False, survival.auc_at_horizon),
    Metric("brier", "integrated Brier score", True, survival.integrated_brier),
    Metric("deviance", "mean deviance", True, survival.deviance),
)
_ALIASES = {
    "roc_auc": "auc",
    "roc_auc_ovr": "auc",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "neg_mean_squared_error": "squared_error",
    "neg_mean_absolute_error": "absolute_error",
    "neg_mean_poisson_deviance": "poisson",
}
# Parts of the names of scikit-learn's scorers for numbers, and of no others.
_NUMBER_WORDS = ("error", "deviance", "explained_variance")


def make_metric(scoring: Any, target: Target) -> Metric:
    """Make the metric for `scoring`; by default "auc" for classes and "r2" for numbers.

    Of times to an event they are "concordance" (Harrell's, the default), "uno" (Uno's concordance up to the
    horizon), "auc" (at the horizon), "brier" (integrated up to the horizon) and "deviance".

    Ours are "accuracy", "auc", "balanced_accuracy", "brier", "log_loss" and "net_benefit@0.2", for any
    threshold, for classes; "absolute_error", "poisson", "r2", "squared_error" and pinball losses such as
    "quantile 0.9" for numbers. Any other name of a scorer of scikit-learn's, or any `scorer(estimator, X, y)`
    for which greater is better, works too, but slowly: it is called 21 times.
    """
    if target.is_survival:
        return _metric_of_times(scoring, target)
    if scoring is None:
        scoring = "auc" if target.is_classes else "r2"
    if not isinstance(scoring, str):
        return _metric_of_scorer(scoring, get_scorer_name(scoring), target)
    if (fraction := parse_quantile(scoring)) is not None and scoring != ABSOLUTE_ERROR:
        if target.is_classes:
            raise _unfit(scoring, target)
        formula = partial(formulas.pinball, quantile=fraction)
        return Metric(format_quantile_name(fraction), f"mean pinball loss at {fraction!r}", True, formula)
    own, others = (_OF_CLASSES, _OF_NUMBERS) if target.is_classes else (_OF_NUMBERS, _OF_CLASSES)
    if scoring.partition("@")[0] == NET_BENEFIT:
        benefit = make_net_benefit(scoring, target)
        return Metric(scoring, benefit.title(target), False, benefit)
    name = _ALIASES.get(scoring, scoring)
    for metric in own:
        if metric.name == name:
            return metric
    if any(metric.name == name for metric in others):
        raise _unfit(scoring, target)
    return _metric_of_name(scoring, target)


def _metric_of_times(scoring: Any, target: Target) -> Metric:
    """Make a metric of predicted risks; "poisson" is the deviance, by which trees are pruned."""
    name = {None: "concordance", "poisson": "deviance", "c-index": "concordance"}.get(scoring, scoring)
    entry = None if target.hazard is None else target.hazard.entry
    if entry is not None and name in ("uno", "auc", "brier"):
        raise ParameterError(
            f"scoring={scoring!r} weights rows by their chance to be censored, which is not defined for rows "
            f"that enter late, by {entry!r}: score by 'concordance' or 'deviance'."
        )
    for metric in _OF_TIMES:
        if metric.name == name:
            return metric
    known = quoted([metric.name for metric in _OF_TIMES])
    raise ParameterError(
        f"scoring={scoring!r} is not for times to an event such as {target.name!r}: choose one of {known}."
    )


def choose_scoring(criterion: str) -> str | None:
    """Return the scoring that suits trees of the criterion; None for the default.

    >>> choose_scoring("quantile 0.9"), choose_scoring("squared_error")
    ('quantile 0.9', None)
    """
    return criterion if criterion == "poisson" or parse_quantile(criterion) is not None else None


def loss_metric(losses: FloatArray) -> Metric:
    """Make the metric of mean loss by a loss matrix."""
    formula = ExpectedLoss(tuple(map(tuple, losses.tolist())))
    return Metric("expected_loss", "expected loss", True, formula)


def _metric_of_name(name: str, target: Target) -> Metric:
    from sklearn.metrics import get_scorer, get_scorer_names

    if name not in get_scorer_names():
        raise ParameterError(f"scoring={name!r} is unknown: {_way_out(target)}")
    if target.is_classes == any(word in name for word in _NUMBER_WORDS):
        raise _unfit(name, target)
    return _metric_of_scorer(get_scorer(name), name, target)


def _metric_of_scorer(scorer: Any, name: str, target: Target) -> Metric:
    if not callable(scorer):
        raise ParameterError(f"scoring={scorer!r} must be a name or a callable: {_way_out(target)}")
    if isfunction(scorer) and scorer.__module__.startswith("sklearn.metrics."):
        raise ParameterError(
            f"scoring={name} takes predictions, not a model: write scoring=make_scorer({name}), with "
            "sklearn.metrics.make_scorer, with greater_is_better=False for a loss."
        )
    title = name.removeprefix("neg_").replace("_", " ")
    return Metric(name, title, is_negated_loss(scorer), scorer=scorer)


def _unfit(name: str, target: Target) -> ParameterError:
    kinds = ("numbers", "classes") if target.is_classes else ("classes", "numbers")
    return ParameterError(
        f"scoring={name!r} is for {kinds[0]}, and the target {target.name!r} holds {kinds[1]}: "
        f"{_way_out(target)}"
    )


def _way_out(target: Target) -> str:
    names = [metric.name for metric in (_OF_CLASSES if target.is_classes else _OF_NUMBERS)]
    if not target.is_classes:
        names.append("quantile 0.9")
    return f"choose one of {quoted(names)}, the name of a scorer of scikit-learn's, or a scorer."


# -- Sufficient numbers of rows for scores and trees ------------------

MIN_ROWS = 20  # or half as many groups
MIN_EVENTS = 5  # rows of a class, in at least two classes
LEAST_ROWS, LEAST_CASES = 30, 10  # with fewer, a note warns


def has_enough_rows(target: Target, values: NDArray[Any]) -> bool:
    """Return True if there are enough rows, and enough events or rows of at least two classes."""
    if target.is_survival and int((values > 0).sum()) < MIN_EVENTS:
        return False
    if len(values) < MIN_ROWS or not target.is_classes:
        return len(values) >= MIN_ROWS
    counts = np.sort(np.bincount(values, minlength=max(2, len(target.classes))))
    return int(counts[-2]) >= MIN_EVENTS


def describe_too_few(true_values: TrueValues) -> str:
    """Describe rows and cases if they are too few to judge a model; else an empty text.

    >>> describe_too_few(TrueValues(Target(classes=("no", "yes")), np.array([0] * 9 + [1])))
    '10 rows, 1 case'
    >>> describe_too_few(TrueValues(Target(classes=("no", "yes")), np.array([0, 1] * 10)))
    ''
    """
    target, values, groups = true_values.target, true_values.rows.values, true_values.groups
    n_rows = pluralize(len(values), "row")
    n_groups = None if groups is None else len(np.unique(groups[true_values.counted]))
    if n_groups is not None and n_groups < MIN_ROWS // 2:
        return f"{n_rows} of {pluralize(n_groups, 'group')}"
    if has_enough_rows(target, values):
        return ""
    if target.is_survival:
        return f"{n_rows}, {pluralize(int((values > 0).sum()), 'event')}"
    if not target.is_classes:
        return n_rows
    counts = np.bincount(values, minlength=len(target.classes))
    if (counts > 0).sum() < 2:
        return f"{n_rows}, all of class {label_text(target.classes[int(counts.argmax())])}"
    n_rare = len(values) - int(counts.max())
    return (
        f"{n_rows}, {pluralize(n_rare, 'case')}"
        if len(counts) == 2
        else f"{n_rows}, {n_rare} outside the largest class"
    )


def describe_few_to_learn(target: Target, values: NDArray[Any]) -> str:
    """Describe rows or cases if they are too few to compare trees; else an empty text.

    >>> describe_few_to_learn(Target(classes=("no", "yes")), np.array([0] * 86 + [1] * 6))
    '92 rows with 6 cases of the rarer classes: too few to tell one tree from another. Read the model as a \
description of these rows, and trust no score.'
    """
    few, what = len(values) < LEAST_ROWS, pluralize(len(values), "row")
    if target.is_survival:
        n_events = int((values > 0).sum())
        few, what = few or n_events < LEAST_CASES, f"{what} with {pluralize(n_events, 'event')}"
    if target.is_classes:
        n_cases = len(values) - int(np.bincount(values, minlength=2).max())
        if n_cases == 0:
            return ""  # a single class has its own note
        few = few or n_cases < LEAST_CASES
        what = f"{what} with {pluralize(n_cases, 'case')} of the rarer classes"
    return (
        f"{what}: too few to tell one tree from another. Read the model as a description of these rows, and "
        "trust no score."
        if few
        else ""
    )


# -- Predictions for a metric --------------------------------------------------------------------------


def predict_for_metric(metric: Metric, model: Tree | Ensemble, X: Any) -> FloatArray:
    """Predict rows as the metric needs: class fractions, labels or numbers."""
    if isinstance(model, Tree):
        return predict_at_nodes(metric, model, model.apply(X))
    values = model.values(X)
    if metric.by_labels and model.loss_matrix is not None:
        return np.asarray(np.eye(values.shape[1])[model.predict_indices(values)], np.float64)
    return values


def predict_at_nodes(metric: Metric, tree: Tree, nodes: IntArray) -> FloatArray:
    """Return the same predictions for rows at these nodes of a tree.

    A metric of labels gets a 1 for the class that the node predicts, which is ambiguous by fractions in a
    tie.
    """
    if metric.by_labels and tree.schema.target.is_classes:
        return np.asarray(np.eye(tree.value.shape[1])[tree.outcome[nodes]], np.float64)
    return np.asarray(tree.value[nodes], np.float64)


# -- Folds on which a metric is undefined --------------------------------------------------------------------


def check_unscored_folds(metric: Metric, n_scored: int, n_folds: int) -> None:
    """Warn that some folds have no score; raise a DataError if none has."""
    need, few = (
        "rows of several classes" if metric.name == "auc" else "several values of the target",
        "but one",
    )
    if metric in _OF_TIMES:
        need, few = "events", "none"
    start = f"The {metric.title} needs {need}, and {n_folds - n_scored} of {n_folds} folds hold out {few}"
    way_out = "Hold out more rows at a time, or score by another metric."
    if n_scored == 0:
        raise DataError(f"{start}. {way_out}")
    warnings.warn(f"{start}: these folds do not count. {way_out}", DataWarning, stacklevel=3)


# -- Differences of scores on the same rows ------------------------------------------------------------------


def score_difference(metric: Metric, old: FloatArray, new: FloatArray, true_values: TrueValues) -> Score:
    """Compute the score of new predictions minus that of old ones, with its standard error.

    The error is that of the paired difference, which is smaller than the errors of the scores where both
    models err on the same rows.

    >>> from holdfast import Target
    >>> from holdfast.scoring.metric import make_metric
    >>> true_values = TrueValues(Target(classes=("died", "lived")), np.array([0, 1, 1, 0]))
    >>> old = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.6, 0.4]])
    >>> new = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.6, 0.4]])
    >>> value, error = score_difference(make_metric("accuracy", true_values.target), old, new, true_values)
    >>> value, round(error, 6)
    (0.25, 0.25)
    """
    old, new = old[true_values.counted], new[true_values.counted]
    rows = true_values.rows
    if metric.formula is None:
        return Score(*compare_by_scorer(metric.scorer, old, new, true_values.target, rows))
    with np.errstate(all="ignore"):  # squares of numbers such as 1e200
        before, after = metric.formula(old, rows), metric.formula(new, rows)
        both = Estimate(after.value - before.value, after.influence - before.influence, after.by_class)
        error = standard_error(both, rows)
    return Score(*(float(np.nan_to_num(each)) for each in (both.value, error)))
