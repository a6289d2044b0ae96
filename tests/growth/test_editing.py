"""Edited trees and rows: values as a fit of the whole tree gives them, and subtrees that grow back."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes

from holdfast import GrowthRules, Table, Tree, grow
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.tree.check import check_tree
from holdfast.tree.tree import LEAF
from reference.tables import class_tables, fractional_weights, number_tables

RULES = GrowthRules(max_depth=4, min_samples_leaf=5)


@pytest.fixture(scope="module")
def cancer() -> Table:
    return Table.from_arrays(*load_breast_cancer(return_X_y=True, as_frame=True))


@pytest.fixture(scope="module")
def diabetes() -> Table:
    return Table.from_arrays(*load_diabetes(return_X_y=True, as_frame=True))


def inner_nodes(tree: Tree) -> list[int]:
    return np.flatnonzero(tree.feature != LEAF).tolist()


def assert_same_nodes(found: Tree, expected: Tree) -> None:
    for name in ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set", "count"):
        assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name
    for name in ("value", "weight", "impurity"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name)), name


def test_an_edit_with_the_rows_of_the_tree_is_a_fit_of_the_whole_tree(cancer: Table) -> None:
    tree = grow(cancer, RULES)
    for node in inner_nodes(tree):
        feature = tree.feature[node]
        reaching = cancer.columns[feature][(leaf := tree.apply(cancer)) >= node]
        reaching = reaching[leaf[leaf >= node] < tree.subtree_end[node]]
        middle = float(np.median(reaching))
        try:
            edited = tree.with_threshold(node, middle, cancer)
        except ValueError:  # a question below would have no answer
            continue
        check_tree(edited)
        moved = tree.replace(threshold=edited.threshold)
        assert_same_nodes(edited, refit_leaf_values(moved, cancer, RULES))


def test_class_weights_count_where_the_rules_say_so(cancer: Table) -> None:
    rules = GrowthRules(max_depth=2, class_weight="balanced")
    tree = grow(cancer, rules)
    edited = tree.edit(cancer, rules=rules).with_threshold(0, float(tree.threshold[0]) + 1).tree
    assert_same_nodes(edited, refit_leaf_values(tree.replace(threshold=edited.threshold), cancer, rules))


def test_a_pruned_node_grows_back_with_the_same_rules(cancer: Table) -> None:
    """Where no rule speaks of all rows, or of the depth."""
    rules = GrowthRules(min_samples_leaf=5)
    tree = grow(cancer, rules)
    for node in inner_nodes(tree):
        again = tree.prune_at(node).grow_at(node, cancer, rules)
        check_tree(again)
        assert_same_nodes(again, tree)
        assert [edit.kind for edit in again.edits] == ["pruned", "grown"]


def test_numbers_grow_back_too(diabetes: Table) -> None:
    rules = GrowthRules("squared_error", min_samples_leaf=20)
    tree = grow(diabetes, rules)
    for node in inner_nodes(tree):
        assert_same_nodes(tree.prune_at(node).grow_at(node, diabetes, rules), tree)


@given(class_tables(of_a_row=fractional_weights) | number_tables(), st.data())
def test_a_pruned_node_of_any_tree_grows_back(table: Table, data: st.DataObject) -> None:
    rules = GrowthRules("gini" if table.schema.target.is_classes else "squared_error")
    tree = grow(table, rules)
    assume(tree.n_leaves > 1)
    node = data.draw(st.sampled_from(inner_nodes(tree)))
    again = tree.prune_at(node).grow_at(node, table, rules)
    check_tree(again)
    for name in ("feature", "left", "right", "count"):
        assert np.array_equal(getattr(again, name), getattr(tree, name)), name
    assert np.array_equal(again.apply(table), tree.apply(table))


def test_growth_in_place_of_a_leaf_speaks_of_the_subtree(cancer: Table) -> None:
    tree = grow(cancer, GrowthRules(max_depth=1))
    deeper = tree.grow_at(1, cancer, GrowthRules(max_depth=1))
    check_tree(deeper)
    assert (deeper.depth, deeper.n_leaves) == (2, 3)
    assert deeper.feature[0] == tree.feature[0]


def test_the_criterion_of_the_tree_measures_impurity(cancer: Table) -> None:
    tree = grow(cancer, GrowthRules("entropy", max_depth=2))
    edited = tree.with_threshold(0, float(tree.threshold[0]), cancer)
    assert edited.impurity == pytest.approx(tree.impurity)
    foreign = tree.replace(criterion="friedman")  # of another library: as gini
    fraction = tree.value[1, 1]
    refitted = foreign.with_threshold(0, float(tree.threshold[0]), cancer)
    assert refitted.impurity[1] == pytest.approx(2 * fraction * (1 - fraction))
