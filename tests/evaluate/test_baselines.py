"""The baselines against loops that anyone can read, and against scikit-learn."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import r2_score, roc_auc_score

from holdfast._arrays import LongArray
from holdfast.data.table import Table
from holdfast.evaluate import baselines
from holdfast.evaluate.baselines import (
    CART_GRID,
    CartClassifier,
    CartRegressor,
    cart_by_cross_validation,
    grow_forest,
)
from holdfast.growth.collections import LEAF_SIZES
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.tree import LEAF, Tree

BREAST = Table.from_arrays(*load_breast_cancer(return_X_y=True))
DEPTH_4 = StabilitySettings(method="bootstrap", rules=GrowthRules(max_depth=4))
NUMBERS = StabilitySettings(method="bootstrap", rules=GrowthRules("squared_error", max_depth=4))


def hills(n_rows: int = 200, seed: int = 3) -> Table:
    """A number that depends on two of three columns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return Table.from_arrays(X, X[:, 0] ** 2 + X[:, 1] + random.normal(0, 0.3, n_rows))


def same_tree(one: Tree, other: Tree) -> bool:
    names = ("feature", "threshold", "left", "right", "value", "count")
    return all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in names)


# -- CART -------------------------------------------------------------------------------------------------


def folds_of(table: Table, settings: StabilitySettings, groups: LongArray | None = None) -> list[LongArray]:
    return baselines._folds(table, groups, 5, settings.seed)


def slow_cart(table: Table, settings: StabilitySettings, groups: LongArray | None = None) -> Tree:
    """Every combination on every fold, each tree grown on a table of its own, scored by scikit-learn."""
    best, best_score = None, -np.inf
    for depth, size in product((3, 4), sorted(LEAF_SIZES, reverse=True)):  # the smallest trees first
        rules = GrowthRules(settings.rules.criterion, max_depth=depth, min_samples_leaf=size)
        scores = []
        for fold in folds_of(table, settings, groups):
            tree = grow(table.subset(np.setdiff1d(np.arange(table.n_rows), fold)), rules)
            held_out = table.subset(fold)
            value = tree.value[tree.apply(held_out), -1]
            score = roc_auc_score if table.schema.target.is_classes else r2_score
            scores.append(score(held_out.target, value))
        if np.mean(scores) > best_score + 1e-12:
            best, best_score = rules, float(np.mean(scores))
    assert best is not None
    return grow(table, best)


@pytest.mark.parametrize(("table", "settings"), [(BREAST, DEPTH_4), (hills(), NUMBERS)], ids=["AUC", "R²"])
def test_cart_is_the_combination_that_a_slow_loop_over_all_folds_finds(
    table: Table, settings: StabilitySettings
) -> None:
    assert same_tree(cart_by_cross_validation(table, settings), slow_cart(table, settings))


def test_cart_of_groups_is_the_one_that_a_slow_loop_finds() -> None:
    groups = np.arange(BREAST.n_rows) // 7
    found = cart_by_cross_validation(BREAST, DEPTH_4, groups=groups)
    assert same_tree(found, slow_cart(BREAST, DEPTH_4, groups))


def test_folds_are_a_partition_with_the_same_share_of_every_class() -> None:
    folds = folds_of(BREAST, DEPTH_4)
    assert sorted(np.concatenate(folds)) == list(range(BREAST.n_rows))
    shares = [BREAST.target[fold].mean() for fold in folds]
    assert np.ptp(shares) < 0.02


def test_no_group_is_in_two_folds() -> None:
    groups = np.random.default_rng(1).permutation(np.arange(BREAST.n_rows) // 7)
    folds = folds_of(BREAST, DEPTH_4, groups)
    assert sum(len(np.unique(groups[fold])) for fold in folds) == groups.max() + 1


def test_of_combinations_that_score_alike_the_smallest_tree_is_taken() -> None:
    # One split tells the classes apart, so that every depth and every leaf size gives an AUC of 1.
    table = Table.from_arrays([[float(i)] for i in range(200)], ["no"] * 100 + ["yes"] * 100)
    assert min(baselines._size({"max_depth": d, "min_samples_leaf": s}) for d in (3, 4) for s in (5, 30)) == (
        3,
        -30,
    )
    assert cart_by_cross_validation(table, DEPTH_4).n_leaves == 2


def test_a_grid_of_the_user_is_the_one_that_is_searched() -> None:
    settings = StabilitySettings(method="bootstrap", grid={"max_leaf_nodes": [2]})
    assert cart_by_cross_validation(BREAST, settings).n_leaves == 2


def test_rows_that_cannot_be_divided_still_give_a_tree() -> None:
    one_group = np.zeros(BREAST.n_rows, np.int64)
    assert cart_by_cross_validation(BREAST, DEPTH_4, groups=one_group).depth <= 3  # the smallest of the grid


def test_cart_does_not_depend_on_the_number_of_jobs() -> None:
    one, two = (cart_by_cross_validation(hills(), StabilitySettings(NUMBERS.rules, n_jobs=n)) for n in (1, 2))
    assert same_tree(one, two)


# -- the forest -------------------------------------------------------------------------------------------


def test_trees_of_a_forest_of_classes_grow_until_every_leaf_is_pure() -> None:
    forest = grow_forest(BREAST, DEPTH_4, n_estimators=5)
    assert all(tree.value[tree.feature == LEAF].max(axis=1).min() == 1.0 for tree in forest.trees)
    assert len({tree.feature[0] for tree in forest.trees}) > 1  # not all features are tried at the root


def test_leaves_of_a_forest_of_numbers_have_five_rows() -> None:
    forest = grow_forest(hills(), NUMBERS, n_estimators=5)
    smallest = min(tree.count[tree.feature == LEAF].min() for tree in forest.trees)
    assert smallest == 5


def test_cart_takes_the_cell_of_the_grid_that_scores_best_on_folds() -> None:
    chance = np.random.default_rng(0)
    X = chance.normal(size=(150, 3))
    y = np.where(X[:, 0] + 0.5 * chance.normal(size=150) > 0, "yes", "no")
    model = CartClassifier(random_state=3).fit(X, y, groups=np.arange(150) // 2)
    assert model.get_depth() <= max(CART_GRID["max_depth"])
    assert model.tree_.count[model.tree_.left == -1].min() >= min(CART_GRID["min_samples_leaf"])
    assert model.score(X, y) > 0.8
    again = CartClassifier(random_state=3).fit(X[::-1], y[::-1], groups=np.arange(150)[::-1] // 2)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    number = CartRegressor().fit(X, X[:, 0])
    assert number.score(X, X[:, 0]) > 0.8
