"""Baselines of stable trees: CART chosen by cross-validation, a random forest, an updated tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from holdfast._arrays import IntArray, LongArray
from holdfast._random import Branch
from holdfast.data.folds import assign_folds, assign_strata, draw_positions, read_groups
from holdfast.data.frame import make_frame
from holdfast.data.row_keys import unit_keys
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Sampling, grow_bagging
from holdfast.estimators.base import make_seed
from holdfast.estimators.stable import StableTreeClassifier, StableTreeEstimator, StableTreeRegressor
from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.growth.collections import Combination, RulesLearner, list_combinations, make_learner, paper_grid
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import split_weight
from holdfast.parallel.tasks import run_all
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_for_metric
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

CART_GRID: Mapping[str, Sequence[int]] = {"max_depth": (3, 4, 5, 6, 8), "min_samples_leaf": (5, 10, 30)}


class CartClassifier(TreeClassifier):
    """A tree of the depth and leaf size that score best on five folds, by AUC; groups are never divided."""

    takes_tables = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose and grow the tree."""
        X = make_frame(X)
        table = self._table(X, y, sample_weight, self._task)
        tree = _fit_cart(table, self._rules(), self.random_state, groups)
        self._set_classes(y, table)
        return self._set_fitted(X, tree)


class CartRegressor(TreeRegressor):
    """A tree of the depth and leaf size that score best on five folds, by R²; groups are never divided."""

    takes_tables = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose and grow the tree."""
        X = make_frame(X)
        table = self._table(X, y, sample_weight, self._task)
        return self._set_fitted(X, _fit_cart(table, self._rules(), self.random_state, groups))


def _fit_cart(table: Table, rules: GrowthRules, random_state: Any, groups: Any) -> Tree:
    seed = 0 if random_state is None else make_seed(random_state)
    settings = StabilitySettings(rules=rules, grid=CART_GRID, seed=seed, n_jobs=1)
    numbers = None if groups is None else read_groups(groups, table.n_rows)
    return cart_by_cross_validation(table, settings, groups=numbers)


def cart_by_cross_validation(
    table: Table, settings: StabilitySettings, *, groups: LongArray | None = None, n_folds: int = 5
) -> Tree:
    """Grow a tree on all rows by the combination of the grid that scores best in cross-validation.

    The rules, the grid, the metric and the seed are those of the settings; folds keep
    groups together and are stratified by class. Of combinations with equal scores the one with the shallowest
    tree is chosen, then the one with the largest leaves.
    """
    metric = make_metric(settings.scoring, table.schema.target)
    folds = _folds(table, groups, n_folds, settings.seed)
    learner = make_learner(table, settings.rules, _combinations(table, folds, settings))
    counts = [np.where(np.isin(np.arange(table.n_rows), fold), 0, learner.repeats) for fold in folds]
    parts = [(table.subset(fold), None if groups is None else groups[fold]) for fold in folds]
    held_out = [(rows, TrueValues.of(rows, own_groups)) for rows, own_groups in parts]
    score = partial(_mean_score, learner, counts, held_out, metric)
    scores = run_all(score, range(len(learner.combinations)), settings.n_jobs, cache_name="Baselines")
    best = min(
        range(len(scores)), key=lambda place: (-scores[place], *_size(learner.combinations[place]), place)
    )
    return learner.trees(best, [learner.repeats], [settings.seed])[0]


def _mean_score(
    learner: RulesLearner,
    counts: Sequence[IntArray],
    held_out: Sequence[tuple[Table, TrueValues]],
    metric: Metric,
    combination: int,
) -> float:
    """Score a combination on held-out folds; 0 without folds."""
    trees = learner.trees(combination, counts, [0] * len(counts))
    scores = [
        metric.value(predict_for_metric(metric, tree, rows), true_values)
        for tree, (rows, true_values) in zip(trees, held_out, strict=True)
    ]
    return float(np.mean(scores)) if scores else 0.0


def _folds(table: Table, groups: LongArray | None, n_folds: int, seed: int) -> list[LongArray]:
    """Draw the rows of each fold; none if they cannot be divided."""
    place = draw_positions(assign_strata(table), unit_keys(table, groups), (seed, Branch.BASELINE_FOLDS))
    fold = assign_folds(place, n_folds)
    numbers = np.unique(fold)
    return [np.flatnonzero(fold == number) for number in numbers] if len(numbers) > 1 else []


def _combinations(
    table: Table, folds: Sequence[LongArray], settings: StabilitySettings
) -> tuple[Combination, ...]:
    if settings.grid is not None and settings.learner is None:
        return list_combinations(settings.grid)
    repeats, _ = split_weight(table.weight, table.n_rows)
    n_learnt = int(repeats.sum(dtype=np.int64)) - max([0, *(int(repeats[fold].sum()) for fold in folds)])
    return list_combinations(paper_grid(settings.rules.max_depth, n_learnt))


def _size(combination: Combination) -> tuple[float, float]:
    """Sort key: smaller trees first."""
    return combination.get("max_depth") or np.inf, -combination.get("min_samples_leaf", 1)


# -- a random forest --------------------------------------------------------------------------------------


def grow_forest(
    table: Table, settings: StabilitySettings, *, groups: LongArray | None = None, n_estimators: int = 200
) -> Ensemble:
    """Grow a random forest with the criterion, the class weights and the seed of the settings.

    Its trees are as deep as the rows allow: down to single rows for classes, to five rows for numbers.
    """
    rules = _forest_rules(table, settings.rules)
    sampling = Sampling(settings.seed, groups=groups, branch=Branch.BASELINE_FOREST)
    return grow_bagging(table, rules, n_estimators, sampling=sampling, n_jobs=settings.n_jobs).ensemble


def _forest_rules(table: Table, rules: GrowthRules) -> GrowthRules:
    own = GrowthRules(criterion=rules.criterion_name, class_weight=rules.class_weight)
    if table.schema.target.is_classes:
        return replace(own, max_features="sqrt")
    return replace(own, max_features="third", min_samples_leaf=5)


# -- a tree that is updated -------------------------------------------------------------------------------


class _Updated(StableTreeEstimator):
    def fit_again(
        self, previous: "_Updated", X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Update the previous tree with all rows, in place of retraining."""
        parameters = self.get_params(deep=False)
        self.__dict__ |= vars(previous)
        self.set_params(**parameters)
        self.update(X, y, sample_weight, groups=groups, allow_new_values=True, validation=None)
        return self


class UpdatedTreeClassifier(_Updated, StableTreeClassifier):
    """A consensus tree of classes that is updated where others are retrained."""


class UpdatedTreeRegressor(_Updated, StableTreeRegressor):
    """A consensus tree of numbers that is updated where others are retrained."""
