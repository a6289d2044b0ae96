"""Measures of a pair of models: their score, and how much they differ.

To add a measure, add a function and its entry in _EVERY.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast.data.schema import Schema
from holdfast.data.target import Task
from holdfast.distance.distance import tree_distance
from holdfast.errors import SchemaMismatch
from holdfast.evaluate.fit import FittedModel
from holdfast.scoring.metric import TrueValues, make_metric
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Retraining:
    """Two models of a method on the same test rows, with the true values."""

    before: FittedModel
    after: FittedModel
    truth: TrueValues
    label_weight: float
    spread: float  # standard deviation of a numeric target

    @cached_property
    def weight(self) -> FloatArray:
        """The weights of the test rows."""
        return np.ones(len(self.truth.values)) if self.truth.weight is None else self.truth.weight

    @cached_property
    def trees(self) -> tuple[Tree, Tree] | None:
        """Both trees on one schema; None if a model is not a single tree, or the columns do not match."""
        if self.before.tree is None or self.after.tree is None:
            return None
        try:
            schema = join_schemas(self.before.tree.schema, self.after.tree.schema)
            return self.before.tree.with_schema(schema), self.after.tree.with_schema(schema)
        except SchemaMismatch:
            return None

    @cached_property
    def distance(self) -> float:
        """The tree distance; NaN without trees."""
        if self.trees is None:
            return np.nan
        return tree_distance(*self.trees, label_weight=self.label_weight).total

    @cached_property
    def moved(self) -> FloatArray:
        """The change of every prediction: total variation, or in standard deviations of y.

        Of times to an event it is that of survival to the horizon; NaN if a model does not predict it.
        """
        if self.truth.target.is_survival:
            if self.before.survival is None or self.after.survival is None:
                return np.full(len(self.truth.values), np.nan)
            return np.asarray(np.abs(self.before.survival - self.after.survival)[:, -1], np.float64)
        difference = np.abs(self.before.values - self.after.values)
        if self.truth.target.is_classes:
            return np.asarray(difference.sum(axis=1) / 2, np.float64)
        return np.asarray(difference[:, 0] / (self.spread or 1.0), np.float64)

    @cached_property
    def flipped(self) -> BoolArray:
        """The rows whose class changes; none for numbers."""
        if self.before.classes is None or self.after.classes is None:
            return np.zeros(len(self.moved), np.bool_)
        return np.asarray(self.before.classes != self.after.classes, np.bool_)

    def mean(self, of_rows: FloatArray | BoolArray) -> float:
        """Compute the weighted mean over the test rows."""
        return float(np.average(of_rows, weights=self.weight))

    def mean_score(self, metric_name: str) -> float:
        """Compute the mean score of both models, with its usual sign; NaN if it is undefined."""
        metric = make_metric(metric_name, self.truth.target)
        if len(np.unique(self.truth.values)) < metric.least_values:
            return np.nan
        both = [metric.value(each.values, self.truth) for each in (self.before, self.after)]
        return metric.shown(float(np.mean(both)))


def join_schemas(first: Schema, second: Schema) -> Schema:
    """Join two schemas: the features of both, each with the wider range."""
    if first == second:
        return first
    others = {feature.name: feature for feature in second.features}
    shared = [
        feature
        if feature.name not in others
        else Schema((feature,), first.target).widen(Schema((others[feature.name],), first.target)).features[0]
        for feature in first.features
    ]
    extra = [feature for feature in second.features if feature.name not in first.names]
    every = sorted([*shared, *extra], key=lambda feature: feature.kind == "custom")
    return Schema(tuple(every), first.target)


# -- the measures -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """One measure of a pair."""

    name: str
    title: str  # short: it heads a column
    formula: Callable[[Retraining], float]
    task: str = "all"  # or "classification", "regression", "survival"
    is_fraction: bool = False  # shown in percent


def _negative_flips(pair: Retraining) -> float:
    """Compute the fraction of rows that were right and are now wrong."""
    before, after, true = pair.before.classes, pair.after.classes, pair.truth.values
    return pair.mean(np.asarray((before == true) & (after != true), np.bool_))


def _rank_agreement(pair: Retraining) -> float:
    """Compute Kendall's tau-b of the predictions, averaged over classes; NaN if predictions are constant."""
    from scipy.stats import kendalltau

    n_classes = pair.before.values.shape[1]
    columns = [1] if n_classes == 2 else range(n_classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [
            1.0
            if np.array_equal(pair.before.values[:, place], pair.after.values[:, place])
            else float(kendalltau(pair.before.values[:, place], pair.after.values[:, place]).statistic)
            for place in columns
        ]
    return float(np.mean(found))


def _identical(pair: Retraining) -> float:
    """Return 1 if neither rules nor predictions changed; without trees, if predictions did not."""
    is_same = bool(np.allclose(pair.before.values, pair.after.values))
    return float(is_same and (pair.trees is None or pair.distance == 0))


def _compare_trees(formula: Callable[[Tree, Tree], float]) -> Callable[[Retraining], float]:
    """Make a measure of both trees; NaN without trees."""
    return lambda pair: np.nan if pair.trees is None else float(formula(*pair.trees))


def _first_feature(tree: Tree) -> str | None:
    return None if tree.n_leaves == 1 else tree.schema.features[int(tree.feature[0])].name


_EVERY = (
    Measure("auc", "AUC", lambda pair: pair.mean_score("auc"), "classification"),
    Measure("log_loss", "log loss", lambda pair: pair.mean_score("log_loss"), "classification"),
    Measure("brier", "Brier", lambda pair: pair.mean_score("brier"), "classification"),
    Measure("r2", "R²", lambda pair: pair.mean_score("r2"), "regression"),
    Measure("concordance", "concordance", lambda pair: pair.mean_score("concordance"), "survival"),
    Measure("distance", "distance", lambda pair: pair.distance),
    Measure(
        "distance_per_leaf",  # of the larger tree
        "per leaf",
        lambda pair: pair.distance / _compare_trees(lambda a, b: max(a.n_leaves, b.n_leaves))(pair),
    ),
    Measure("churn", "churn", lambda pair: pair.mean(pair.moved)),
    Measure("flips", "flips", lambda pair: pair.mean(pair.flipped), "classification", is_fraction=True),
    Measure("negative_flips", "negative", _negative_flips, "classification", is_fraction=True),
    Measure("rank_agreement", "rank", _rank_agreement),
    Measure("identical", "identical", _identical, is_fraction=True),
    Measure(
        "same_rules",
        "same rules",
        lambda pair: np.nan if pair.trees is None else float(pair.distance == 0),
        is_fraction=True,
    ),
    Measure("leaves", "leaves", _compare_trees(lambda a, b: (a.n_leaves + b.n_leaves) / 2)),
    Measure(
        "same_root",
        "same root",
        _compare_trees(lambda a, b: _first_feature(a) == _first_feature(b)),
        is_fraction=True,
    ),
    Measure("seconds", "seconds", lambda pair: (pair.before.fit_seconds + pair.after.fit_seconds) / 2),
)


def measures_for(task: Task) -> tuple[Measure, ...]:
    """Return the measures for such a target; the score comes first."""
    return tuple(each for each in _EVERY if each.task in ("all", task))
