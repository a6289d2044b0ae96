"""The price of an edit: by hand on four rows, and against plain formulas on many."""

from math import sqrt

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from holdfast import GrowthRules, SchemaMismatch, Table, as_tree, grow, tree_distance
from holdfast.explain import price_of_edit

AGES, LIVED = [[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"]


def test_a_price_by_hand() -> None:
    """The row of 48 moves: to 2/3 no with rows, to no altogether without."""
    table = Table.from_arrays(AGES, LIVED)
    tree = grow(table)
    price = price_of_edit(tree, tree.with_threshold(0, 50), AGES, LIVED, scoring="accuracy")
    assert (price.old.value, price.new.value, price.difference.value) == (1.0, 0.75, -0.25)
    assert price.difference.error == pytest.approx(sqrt(0.25 * 0.75 / 3))  # of 0, 0, -1, 0
    assert (price.flips.value, price.negative_flips.value, price.churn.value) == (0.25, 0.25, 0.25)
    assert price.n_rows == 4
    with_rows = price_of_edit(tree, tree.with_threshold(0, 50, table), table)
    assert with_rows.churn.value == pytest.approx((3 * 1 / 3 + 1 / 3) / 4)
    assert with_rows.distance == tree_distance(tree, tree.with_threshold(0, 50, table)).total > 0


def test_an_edit_that_changes_nothing_costs_nothing() -> None:
    tree = grow(Table.from_arrays(AGES, LIVED))
    price = price_of_edit(tree, tree, AGES, LIVED)
    assert (price.difference.value, price.difference.error, price.interval) == (0.0, 0.0, (0.0, 0.0))
    assert (price.churn.value, price.flips.value, price.distance) == (0.0, 0.0, 0.0)


def test_an_edit_back_costs_the_opposite() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    tree = grow(Table.from_arrays(X[:300], y[:300]), GrowthRules(max_depth=3))
    edited = tree.prune_at(1)
    there, back = price_of_edit(tree, edited, X[300:], y[300:]), price_of_edit(edited, tree, X[300:], y[300:])
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert there.difference.error == pytest.approx(back.difference.error)
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))


def test_the_error_of_a_difference_is_that_of_samples_drawn_again() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    tree = grow(Table.from_arrays(X[:200], y[:200]), GrowthRules(max_depth=3))
    edited, rng = tree.prune_at(int(tree.right[0])), np.random.default_rng(0)
    X, y = X[200:], y[200:]
    price = price_of_edit(tree, edited, X, y)
    old, new = (each.predict_proba(X)[:, 1] for each in (tree, edited))
    samples = (rng.integers(0, len(y), len(y)) for _ in range(150))
    drawn = [roc_auc_score(y[rows], new[rows]) - roc_auc_score(y[rows], old[rows]) for rows in samples]
    assert price.difference.value == pytest.approx(roc_auc_score(y, new) - roc_auc_score(y, old))
    assert price.difference.error == pytest.approx(np.std(drawn), rel=0.2)
    # On the same rows, it is known better than the two scores.
    assert price.difference.error < np.hypot(price.old.error, price.new.error)


def test_numbers_move_in_standard_deviations() -> None:
    X, y = load_diabetes(return_X_y=True)
    tree = grow(Table.from_arrays(X, y), GrowthRules("squared_error", max_depth=2))
    edited = tree.with_leaf_value(2, float(tree.value[2, 0]) + y.std())
    price = price_of_edit(tree, edited, X, y)
    assert price.churn.value == pytest.approx(tree.count[2] / len(y))
    assert (price.flips, price.negative_flips) == (None, None)
    assert price.difference.value < 0


def test_weights_count_as_rows() -> None:
    tree = grow(Table.from_arrays(AGES, LIVED))
    edited = tree.with_threshold(0, 50)
    weighted = price_of_edit(tree, edited, AGES, LIVED, [1, 1, 3, 0])
    repeated = price_of_edit(tree, edited, AGES[:2] + AGES[2:3] * 3, LIVED[:2] + LIVED[2:3] * 3)
    assert weighted.flips.value == repeated.flips.value == 0.6
    assert weighted.difference.value == repeated.difference.value
    assert weighted.n_rows == 3


def test_rows_of_a_group_are_not_independent() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    tree = grow(Table.from_arrays(X, y), GrowthRules(max_depth=3))
    edited = tree.prune_at(1)
    single = price_of_edit(tree, edited, X, y)
    doubled = price_of_edit(
        tree, edited, np.repeat(X, 2, axis=0), np.repeat(y, 2), groups=np.repeat(np.arange(len(y)), 2)
    )
    assert doubled.difference.error == pytest.approx(single.difference.error)


def test_models_of_other_libraries_have_a_price_too() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    tree = grow(Table.from_arrays(X, y), GrowthRules(max_depth=2))
    other = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    price = price_of_edit(tree, as_tree(other, schema=tree.schema), X, y)
    assert price.new.value == pytest.approx(roc_auc_score(y, other.predict_proba(X)[:, 1]))
    with pytest.raises(SchemaMismatch):  # whose ranges are others: distances have no common unit
        price_of_edit(tree, other, X, y)


def test_a_scorer_of_another_library_prices_an_edit_too() -> None:
    tree = grow(Table.from_arrays(AGES, LIVED))
    price = price_of_edit(tree, tree.with_threshold(0, 50), AGES, LIVED, scoring="f1_macro")
    assert price.difference.value == pytest.approx(price.new.value - price.old.value)


def test_rows_of_other_classes_are_refused() -> None:
    tree = grow(Table.from_arrays(AGES, LIVED))
    with pytest.raises(SchemaMismatch, match="maybe"):
        price_of_edit(tree, tree, AGES, ["no", "no", "yes", "maybe"])
    with pytest.raises(SchemaMismatch, match="the classes"):
        price_of_edit(tree, tree, Table.from_arrays(AGES, ["a", "b", "a", "b"]))
