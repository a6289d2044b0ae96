"""How good a pair of models is, and how far they differ. To add a measure: a function, and its line below."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray
from holdfast.data.schema import Schema
from holdfast.distance.distances import tree_distance
from holdfast.errors import SchemaMismatch
from holdfast.scoring.metric import TrueValues, metric_of
from holdfast.tree.tree import Tree


class TrainedModel(NamedTuple):
    """What is kept of a fitted model."""

    values: FloatArray  # of the test rows: (rows, classes) probabilities, or (rows, 1) numbers
    classes: IntArray | None  # the index of the predicted class; None for numbers
    tree: Tree | None  # None if the model is no single tree
    seconds: float  # of the fit
    model: Any = None  # itself, if it is needed to train it again


@dataclass(frozen=True, eq=False)
class Retraining:
    """A method trained twice: both models on the same test rows, and what is true of these."""

    before: TrainedModel
    after: TrainedModel
    truth: TrueValues
    label_weight: float
    spread: float  # standard deviation of a numeric target

    @cached_property
    def weight(self) -> FloatArray:
        """The weights of the test rows."""
        return np.ones(len(self.truth.values)) if self.truth.weight is None else self.truth.weight

    @cached_property
    def trees(self) -> tuple[Tree, Tree] | None:
        """Both trees on one schema; None if a model is no single tree, or their columns cannot be joined."""
        if self.before.tree is None or self.after.tree is None:
            return None
        try:
            schema = joined_schema(self.before.tree.schema, self.after.tree.schema)
            return self.before.tree.with_schema(schema), self.after.tree.with_schema(schema)
        except SchemaMismatch:
            return None

    @cached_property
    def distance(self) -> float:
        """The distance between the trees; NaN if there are none."""
        if self.trees is None:
            return np.nan
        return tree_distance(*self.trees, label_weight=self.label_weight).total

    @cached_property
    def moved(self) -> FloatArray:
        """How far the prediction of every row changed: as total variation, or in standard deviations of y."""
        difference = np.abs(self.before.values - self.after.values)
        if self.truth.target.is_classes:
            return np.asarray(difference.sum(axis=1) / 2, np.float64)
        return np.asarray(difference[:, 0] / (self.spread or 1.0), np.float64)

    @cached_property
    def flipped(self) -> BoolArray:
        """The rows that get another class; none, where there are no classes."""
        if self.before.classes is None or self.after.classes is None:
            return np.zeros(len(self.moved), np.bool_)
        return np.asarray(self.before.classes != self.after.classes, np.bool_)

    def mean(self, of_rows: FloatArray | BoolArray) -> float:
        """The weighted mean over the test rows."""
        return float(np.average(of_rows, weights=self.weight))

    def scored(self, metric_name: str) -> float:
        """The mean score of both models, as people say it; NaN where the test rows cannot tell."""
        metric = metric_of(metric_name, self.truth.target)
        if len(np.unique(self.truth.values)) < metric.least_values:
            return np.nan
        both = [metric.value(each.values, self.truth) for each in (self.before, self.after)]
        return metric.shown(float(np.mean(both)))


def joined_schema(first: Schema, second: Schema) -> Schema:
    """A schema that has the features of both, each as wide as it is in either."""
    if first == second:
        return first
    others = {feature.name: feature for feature in second.features}
    shared = [
        feature
        if feature.name not in others
        else Schema((feature,), first.target)
        .widened(Schema((others[feature.name],), first.target))
        .features[0]
        for feature in first.features
    ]
    extra = [feature for feature in second.features if feature.name not in first.names]
    every = sorted([*shared, *extra], key=lambda feature: feature.kind == "question")
    return Schema(tuple(every), first.target)


# -- the measures -----------------------------------------------------------------------------------------


def distance(pair: Retraining) -> float:
    """The distance between the trees, with the label weight of the audit."""
    return pair.distance


def distance_per_leaf(pair: Retraining) -> float:
    """The distance for each leaf of the larger tree."""
    if pair.trees is None:
        return np.nan
    return pair.distance / max(tree.n_leaves for tree in pair.trees)


def churn(pair: Retraining) -> float:
    """The mean change of the predictions."""
    return pair.mean(pair.moved)


def flips(pair: Retraining) -> float:
    """The fraction of rows that get another class."""
    return pair.mean(pair.flipped)


def negative_flips(pair: Retraining) -> float:
    """The fraction of rows that were right and are now wrong."""
    assert pair.before.classes is not None
    assert pair.after.classes is not None
    true = pair.truth.values
    return pair.mean((pair.before.classes == true) & (pair.after.classes != true))


def rank_agreement(pair: Retraining) -> float:
    """Kendall's tau of the predictions, the mean over several classes; NaN if a model's are constant."""
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


def identical(pair: Retraining) -> float:
    """1 if nothing changed: no rule and no prediction. Of models that are no tree, no prediction."""
    same_answers = bool(np.allclose(pair.before.values, pair.after.values))
    return float(same_answers and (pair.trees is None or pair.distance == 0))


def same_rules(pair: Retraining) -> float:
    """1 if the distance is 0."""
    return np.nan if pair.trees is None else float(pair.distance == 0)


def leaves(pair: Retraining) -> float:
    """The mean number of leaves."""
    return np.nan if pair.trees is None else float(np.mean([tree.n_leaves for tree in pair.trees]))


def same_root(pair: Retraining) -> float:
    """1 if both trees split on the same feature first, or have no split."""
    if pair.trees is None:
        return np.nan
    return float(_first_feature(pair.trees[0]) == _first_feature(pair.trees[1]))


def _first_feature(tree: Tree) -> str | None:
    return None if tree.n_leaves == 1 else tree.schema.features[int(tree.feature[0])].name


def seconds(pair: Retraining) -> float:
    """The mean time of a fit."""
    return (pair.before.seconds + pair.after.seconds) / 2


@dataclass(frozen=True)
class Measure:
    """One figure of a pair."""

    name: str
    title: str  # short: it heads a column
    formula: Callable[[Retraining], float]
    task: str = "both"  # or "classes", or "numbers"
    is_fraction: bool = False  # shown in percent


def _scored(metric_name: str) -> Callable[[Retraining], float]:
    def score(pair: Retraining) -> float:
        return pair.scored(metric_name)

    return score


_EVERY = (
    Measure("auc", "AUC", _scored("auc"), "classes"),
    Measure("log_loss", "log loss", _scored("log_loss"), "classes"),
    Measure("brier", "Brier", _scored("brier"), "classes"),
    Measure("r2", "R²", _scored("r2"), "numbers"),
    Measure("distance", "distance", distance),
    Measure("distance_per_leaf", "per leaf", distance_per_leaf),
    Measure("churn", "churn", churn),
    Measure("flips", "flips", flips, "classes", is_fraction=True),
    Measure("negative_flips", "negative", negative_flips, "classes", is_fraction=True),
    Measure("rank_agreement", "rank", rank_agreement),
    Measure("identical", "identical", identical, is_fraction=True),
    Measure("same_rules", "same rules", same_rules, is_fraction=True),
    Measure("leaves", "leaves", leaves),
    Measure("same_root", "same root", same_root, is_fraction=True),
    Measure("seconds", "seconds", seconds),
)


def measures_for(is_classes: bool) -> tuple[Measure, ...]:
    """The measures that such a target has: the score comes first."""
    task = "classes" if is_classes else "numbers"
    return tuple(each for each in _EVERY if each.task in ("both", task))
