"""Leaves of one node that predict the same class become one: nothing that is predicted changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from holdfast.data.schema import Feature, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.pruning import merge_leaves
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_to_json
from holdfast.tree.check import check_tree
from holdfast.tree.tree import LEAF, Tree
from reference.pruning import all_subtrees, ends_of, rows_at_nodes
from reference.tables import class_tables, fractional_weights, rules, whole_weights
from reference.trees import LONE_LEAF, PRICE, SPECIES, SUBSET, leaf, split, tree_of

X = Feature("x", low=0.0, high=10.0)
SIDES = Target("side", classes=("a", "b"))
any_table = class_tables(of_a_row=whole_weights) | class_tables(of_a_row=fractional_weights)


def twins_of(tree: Tree) -> list[int]:
    """The nodes whose two children are leaves of one class."""
    return [
        node
        for node in np.flatnonzero(tree.feature != LEAF).tolist()
        if (tree.feature[[tree.left[node], tree.right[node]]] == LEAF).all()
        and tree.outcome[tree.left[node]] == tree.outcome[tree.right[node]]
    ]


# -- by hand ----------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_two_leaves_of_one_class_become_one_and_then_perhaps_meet_another() -> None:
    # x <= 6 ? (x <= 3 ? (x <= 1 ? a : a) : a) : b
    deep = split("x", 3.0, split("x", 1.0, leaf(5, 0.9, 0.1), leaf(5, 0.6, 0.4)), leaf(5, 0.7, 0.3))
    tree = merge_leaves(tree_of(split("x", 6.0, deep, leaf(5, 0.0, 1.0)), (X,), SIDES))
    assert tree.n_leaves == 2
    assert tree.threshold[0] == 6.0
    assert tree.value[1] == pytest.approx([2.2 / 3, 0.8 / 3])  # of 15 rows


def test_leaves_of_one_class_that_are_not_siblings_stay_apart() -> None:
    # x <= 6 ? (x <= 3 ? a : b) : a
    tree = tree_of(
        split("x", 6.0, split("x", 3.0, leaf(5, 0.9, 0.1), leaf(5, 0.2, 0.8)), leaf(5, 0.7, 0.3)), (X,), SIDES
    )
    assert model_to_json(merge_leaves(tree)) == model_to_json(tree)


def test_where_two_classes_are_as_frequent_the_first_counts_as_predicted() -> None:
    tree = tree_of(split("x", 6.0, leaf(4, 0.5, 0.5), leaf(4, 1.0, 0.0)), (X,), SIDES)
    assert merge_leaves(tree).n_leaves == 1


def test_one_leaf_that_takes_the_place_of_two_predicts_what_both_did() -> None:
    tree = tree_of(split("x", 6.0, leaf(1, 0.51, 0.49), leaf(99, 0.6, 0.4)), (X,), SIDES)
    assert merge_leaves(tree).predict([[1.0], [9.0]]).tolist() == ["a", "a"]


@pytest.mark.parametrize("tree", [LONE_LEAF, SUBSET, SPECIES])
def test_a_tree_whose_siblings_differ_is_left_alone(tree: Tree) -> None:
    assert model_to_json(merge_leaves(tree)) == model_to_json(tree)


# -- numbers ----------------------------------------------------------------------------------------------


def test_a_tree_of_numbers_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^merge_leaves compares classes, and the target 'price'"):
        merge_leaves(PRICE)


def test_the_rule_is_refused_for_numbers_too() -> None:
    table = Table.from_arrays([[1.0], [2.0]], [0.5, 1.5], task="regression")
    with pytest.raises(ParameterError, match=r"merge_leaves=True .*'y' is numeric"):
        grow(table, GrowthRules("squared_error", merge_leaves=True))


def test_the_rule_is_a_flag() -> None:
    with pytest.raises(ParameterError, match=r"^merge_leaves='yes' "):
        GrowthRules(merge_leaves="yes")  # type: ignore[arg-type]


# -- any tree ---------------------------------------------------------------------------------------------


@given(any_table, rules())
def test_no_predicted_class_changes_and_no_two_siblings_agree(table: Table, growth: GrowthRules) -> None:
    tree = grow(table, growth)
    merged = merge_leaves(tree)
    check_tree(merged)
    ends_of(merged, tree)
    assert twins_of(merged) == []
    assert np.array_equal(tree.predict(table), merged.predict(table))
    assert model_to_json(merge_leaves(merged)) == model_to_json(merged)


@given(any_table, rules(max_depth=4, min_samples_leaf=1, min_weight_fraction_leaf=0.0))
def test_it_is_the_smallest_subtree_that_predicts_the_same_at_every_leaf(
    table: Table, growth: GrowthRules
) -> None:
    tree = grow(table, growth)
    rows = rows_at_nodes(tree, table)
    leaf_of = np.empty(table.n_rows, int)
    for node in np.flatnonzero(tree.feature == LEAF):
        leaf_of[rows[node]] = node
    same = [
        ends
        for ends in all_subtrees(tree)
        if all((tree.outcome[leaf_of[rows[end]]] == tree.outcome[end]).all() for end in ends)
    ]
    assert len(ends_of(merge_leaves(tree), tree)) == min(map(len, same))


@given(any_table, rules())
def test_growing_by_the_rule_is_growing_pruning_and_then_merging(table: Table, growth: GrowthRules) -> None:
    pruned = replace(growth, ccp_alpha=0.02)
    one, other = merge_leaves(grow(table, pruned)), grow(table, replace(pruned, merge_leaves=True))
    assert model_to_json(one) == model_to_json(other)
    assert twins_of(other) == []
