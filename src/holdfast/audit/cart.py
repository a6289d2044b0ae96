"""CART whose depth and leaf size are chosen by cross-validation: what most people train."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from holdfast.data.input.frame import make_frame
from holdfast.data.split.groups import read_groups
from holdfast.data.table import Table
from holdfast.estimators.base import make_seed
from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.evidence.baselines import cart_by_cross_validation
from holdfast.growth.rules import GrowthRules
from holdfast.stability.settings import StabilitySettings
from holdfast.tree.tree import Tree

GRID: Mapping[str, Sequence[int]] = {"max_depth": (3, 4, 5, 6, 8), "min_samples_leaf": (5, 10, 30)}


class CartClassifier(TreeClassifier):
    """A tree of the depth and leaf size that score best on five folds, by AUC; groups are never divided."""

    takes_tables = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose and grow the tree."""
        X = make_frame(X)
        table = self._table(X, y, sample_weight, self._task)
        tree = _chosen(table, self._rules(), self.random_state, groups)
        self._set_classes(y, table)
        return self._set_fitted(X, tree)


class CartRegressor(TreeRegressor):
    """A tree of the depth and leaf size that score best on five folds, by R²; groups are never divided."""

    takes_tables = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose and grow the tree."""
        X = make_frame(X)
        table = self._table(X, y, sample_weight, self._task)
        return self._set_fitted(X, _chosen(table, self._rules(), self.random_state, groups))


def _chosen(table: Table, rules: GrowthRules, random_state: Any, groups: Any) -> Tree:
    seed = 0 if random_state is None else make_seed(random_state)
    settings = StabilitySettings(rules=rules, grid=GRID, seed=seed, n_jobs=1)
    numbers = None if groups is None else read_groups(groups, table.n_rows)
    return cart_by_cross_validation(table, settings, groups=numbers)
