"""The same questions with values from other rows: exact on the tree's own rows, a plain recount on others."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import Table
from holdfast.growth.collections import grow_bootstraps
from holdfast.growth.grow import grow
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.rules import CART, CLASS_CRITERIA, GrowthRules
from holdfast.tree.check import check_tree
from holdfast.tree.tree import LEAF, Tree
from reference.tables import class_tables, fractional_weights, number_tables, real_numbers, whole_weights

STRUCTURE = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set")
WEIGHTS = st.sampled_from((None, whole_weights, fractional_weights))
CLASS_WEIGHT = st.sampled_from((None, "balanced", {"a": 0.3, "b": 7.0}))


def same_structure(one: Tree, other: Tree) -> bool:
    names = (*STRUCTURE, "schema")
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "threshold")
        if name != "schema"
        else one.schema is other.schema
        for name in names
    )


def assert_same_bits(one: Tree, other: Tree) -> None:
    assert same_structure(one, other)
    for name in ("value", "count", "weight", "impurity"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one.criterion == other.criterion


# -- on the rows that the tree was grown on ---------------------------------------------------------------


@given(st.data(), WEIGHTS, st.sampled_from(tuple(CLASS_CRITERIA)), st.none() | st.integers(1, 3))
def test_classes_come_out_as_they_were_grown(data: Any, weights: Any, criterion: str, depth: int | None):
    table = data.draw(class_tables(of_a_row=weights))
    class_weight = data.draw(CLASS_WEIGHT) if len(table.schema.target.classes) > 1 else None
    rules = GrowthRules(criterion, max_depth=depth, class_weight=class_weight)
    tree = grow(table, rules)
    assert_same_bits(refit_leaf_values(tree, table, rules), tree)


@given(number_tables(target=real_numbers) | number_tables(of_a_row=fractional_weights))
def test_numbers_come_out_as_they_were_grown(table: Table):
    rules = GrowthRules("squared_error", max_depth=3)
    tree = grow(table, rules)
    assert_same_bits(refit_leaf_values(tree, table, rules), tree)


@given(number_tables(of_a_row=whole_weights))
def test_counts_come_out_as_they_were_grown_by_poisson(table: Table):
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if not table.target[weight > 0].any():
        return
    rules = GrowthRules("poisson", max_depth=3)
    tree = grow(table, rules)
    assert_same_bits(refit_leaf_values(tree, table, rules), tree)


# -- on other rows ----------------------------------------------------------------------------------------


def recounted(tree: Tree, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Weight and value of every node, row by row: each row adds to its leaf and to all nodes above."""
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    total, value = np.zeros(tree.n_nodes), np.zeros_like(tree.value)
    for row, leaf in enumerate(tree.apply(table).tolist()):
        node = leaf
        while node != -1:
            total[node] += weight[row]
            if tree.schema.target.is_classes:
                value[node, table.target[row]] += weight[row]
            else:
                value[node, 0] += weight[row] * table.target[row]
            node = int(tree.parent[node])
    there = total > 0
    value[there] /= total[there, np.newaxis]
    value[~there] = tree.value[~there]
    return total, value


@given(class_tables(of_a_row=whole_weights) | number_tables(of_a_row=fractional_weights), st.data())
def test_values_on_other_rows_are_a_plain_recount(table: Table, data: Any):
    split = data.draw(st.integers(1, table.n_rows))
    early, late = table.subset(np.arange(split)), table.subset(np.arange(table.n_rows))
    if early.weight is not None and not early.weight.any():
        return
    rules = CART if table.schema.target.is_classes else GrowthRules("squared_error")
    tree = grow(early, rules)
    again = refit_leaf_values(tree, late, rules)
    total, value = recounted(tree, late)
    assert same_structure(tree, again)
    assert again.weight == pytest.approx(total)
    assert again.value == pytest.approx(value, abs=1e-9)
    check_tree(again)


def two_leaves() -> tuple[Tree, Table]:
    table = Table.from_arrays([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"])
    return grow(table), table


def test_an_empty_leaf_keeps_its_value_without_weight():
    tree, table = two_leaves()
    only_left = Table.from_arrays([[1.0], [2.0]], ["a", "b"], schema=table.schema)
    again = refit_leaf_values(tree, only_left, CART)
    assert again.value.tolist() == [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    assert again.weight.tolist() == again.count.tolist() == [2.0, 2.0, 0.0]
    assert again.impurity.tolist() == [0.5, 0.5, 0.0]
    check_tree(again)


def test_an_empty_leaf_of_a_regression_keeps_its_mean():
    table = Table.from_arrays([[1.0], [2.0], [8.0], [9.0]], [1.5, 2.5, 7.5, 8.5])
    rules = GrowthRules("squared_error", max_depth=1)
    tree = grow(table, rules)
    again = refit_leaf_values(tree, Table.from_arrays([[8.0]], [3.25], schema=table.schema), rules)
    assert again.value.ravel().tolist() == [3.25, 2.0, 3.25]
    assert again.count.tolist() == [1.0, 0.0, 1.0]
    check_tree(again)


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_an_empty_branch_of_several_nodes_keeps_all_its_values():
    table = Table.from_arrays([[1.0], [2.0], [8.0], [9.0]], ["a", "b", "c", "d"])
    tree = grow(table)
    again = refit_leaf_values(tree, Table.from_arrays([[1.0], [1.0]], ["d", "a"], schema=table.schema), CART)
    empty = again.weight == 0
    assert empty.sum() == 5  # all but the root and its first leaf
    assert np.array_equal(again.value[empty], tree.value[empty])
    check_tree(again)


def test_rows_without_weight_do_not_count():
    tree, table = two_leaves()
    more = Table.from_arrays([[1.0], [1.5], [9.0]], ["a", "b", "b"], [1.0, 0.0, 2.0], schema=table.schema)
    again = refit_leaf_values(tree, more, CART)
    assert again.value.tolist() == [[1 / 3, 2 / 3], [1.0, 0.0], [0.0, 1.0]]
    assert again.count.tolist() == [3.0, 1.0, 2.0]


def test_weights_of_classes_count_in_the_values():
    tree, table = two_leaves()
    mixed = Table.from_arrays([[1.0], [2.0], [9.0]], ["a", "b", "b"], schema=table.schema)
    again = refit_leaf_values(tree, mixed, GrowthRules(class_weight={"a": 3.0, "b": 1.0}))
    assert again.value[1].tolist() == [0.75, 0.25]
    assert again.count.tolist() == [3.0, 2.0, 1.0]
    assert again.weight.tolist() == [5.0, 4.0, 1.0]


def test_a_bootstrap_tree_gets_the_values_of_all_rows():
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 3))
    X[random.random(X.shape) < 0.1] = np.nan
    table = Table.from_arrays(X, np.where(np.nan_to_num(X[:, 0]) + random.normal(size=200) > 0, "a", "b"))
    for tree in grow_bootstraps(table, GrowthRules(max_depth=4), n_estimators=5):
        again = refit_leaf_values(tree, table, CART)
        total, value = recounted(tree, table)
        assert again.weight.tolist() == total.tolist()
        assert again.value == pytest.approx(value)
        assert again.weight[0] == 200
        assert same_structure(tree, again)
        leaves = again.feature == LEAF
        assert again.weight[leaves].sum() == 200
        check_tree(again)


@pytest.mark.parametrize("criterion", ["misclassification", "entropy", "gini"])
def test_questions_that_gain_nothing_on_other_rows_have_no_importance_at_all(criterion: str) -> None:
    rules = GrowthRules(criterion)
    for seed in range(20):
        random = np.random.default_rng(seed)
        X, y, weight = (
            random.integers(0, 3, (25, 6)),
            random.integers(0, 3, 25),
            random.integers(1, 9, 25) / 7,
        )
        table = Table.from_arrays(X, y, weight)
        other = Table.from_arrays(X, random.permutation(y), weight, schema=table.schema)
        importances = refit_leaf_values(grow(table, rules), other, rules).importances
        assert importances.min() >= 0.0
        assert importances.max() <= 1.0
        assert not ((importances > 0) & (importances < 1e-12)).any()
