"""Trees small enough to check by hand, and small random ones against the oracle that tries every split."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.check import check_tree
from holdfast.tree.tree import KNOWN
from reference.disagreement import disagreements
from reference.grower import Node, Oracle, reference_tree
from reference.tables import (
    class_tables,
    far_numbers,
    fractional_weights,
    number_tables,
    real_numbers,
    rules,
    whole_weights,
)

CRITERIA = ("gini", "entropy", "misclassification", "gain_ratio", "mutual_information")
FREE: dict[str, Any] = {"min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}


def numbers(*columns: list[float], y: list[Any], weight: list[float] | None = None, **options: Any) -> Table:
    """A table of numeric columns."""
    return Table.from_arrays(np.array(columns, float).T, y, weight, **options)


def nominal(*values: str | bool | None, y: list[Any]) -> Table:
    """A table of one nominal column, 'site'."""
    labels: tuple[Any, ...] = tuple(sorted({value for value in values if value is not None}))
    codes = np.array([np.nan if value is None else labels.index(value) for value in values])
    classes = tuple(sorted(set(y)))
    schema = Schema((Feature("site", "nominal", categories=labels),), Target("y", classes))
    return Table(schema, (codes,), np.array([classes.index(label) for label in y], np.int32))


# -- by hand --------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_the_threshold_lies_half_way_between_the_values_on_either_side() -> None:
    tree = grow(numbers([20, 30, 50, 60], y=["no", "no", "yes", "yes"]))
    assert tree.feature.tolist() == [0, -1, -1]
    assert tree.threshold[0] == 40.0
    assert tree.value.tolist() == [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    assert tree.count.tolist() == tree.weight.tolist() == [4.0, 2.0, 2.0]
    assert tree.impurity.tolist() == [0.5, 0.0, 0.0]


@pytest.mark.kernel
def test_one_row_is_a_leaf() -> None:
    tree = grow(numbers([20], y=[3.5]), GrowthRules("squared_error"))
    assert (tree.n_nodes, tree.value[0, 0], tree.impurity[0]) == (1, 3.5, 0.0)


@pytest.mark.kernel
@pytest.mark.parametrize("criterion", CRITERIA)
def test_exclusive_or_is_split_although_no_split_gains_anything(criterion: str) -> None:
    tree = grow(numbers([0, 0, 1, 1], [0, 1, 0, 1], y=["a", "b", "b", "a"]), GrowthRules(criterion))
    assert tree.feature.tolist() == [0, 1, -1, -1, 1, -1, -1]


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (3.0, 10.0), (1000.0, 1001.0), (0.1, 0.7)])
def test_exclusive_or_of_numbers_is_split_too(criterion: str, low: float, high: float) -> None:
    table = numbers([0, 0, 1, 1], [0, 1, 0, 1], y=[low, high, high, low], task="regression")
    assert grow(table, GrowthRules(criterion)).n_leaves == 4


@pytest.mark.parametrize("criterion", CRITERIA[:2])
@pytest.mark.parametrize("others", [17, 12_345, 99_999, 1_000_003])
def test_rare_classes_do_not_hide_a_split_that_gains_nothing(criterion: str, others: int) -> None:
    # The rare class has the same fraction on both sides, 3 in 3 * (1 + others) and 7 in 7 * (1 + others).
    table = numbers([0, 0, 1, 1], y=["a", "b", "a", "b"], weight=[3, 3 * others, 7, 7 * others])
    assert grow(table, GrowthRules(criterion)).n_leaves == 2


@pytest.mark.kernel
def test_equal_splits_go_to_the_lowest_feature_and_then_to_the_lowest_threshold() -> None:
    tree = grow(numbers([1, 2, 3, 4], [1, 2, 3, 4], y=["a", "b", "a", "b"]), GrowthRules(max_depth=1))
    assert (tree.feature[0], tree.threshold[0]) == (0, 1.5)


@pytest.mark.kernel
def test_missing_values_go_to_the_side_they_resemble() -> None:
    table = numbers([1, 2, 3, 4, np.nan, np.nan], y=list("aabbbb"))
    tree = grow(table)
    assert (tree.threshold[0], tree.missing_left[0], tree.n_leaves) == (2.5, False, 2)
    assert grow(numbers([1, 2, 3, 4, np.nan, np.nan], y=list("bbaabb"))).missing_left[0]


@pytest.mark.kernel
def test_missing_values_can_be_set_against_all_known_ones() -> None:
    tree = grow(numbers([1, 2, 3, np.nan], y=list("aaab")))
    assert (tree.threshold[0], tree.missing_left[0], tree.n_leaves) == (KNOWN, False, 2)


@pytest.mark.kernel
def test_missing_values_that_growth_never_saw_follow_the_heavier_side() -> None:
    assert grow(numbers([1, 2, 3], y=list("aab"))).missing_left[0]
    assert not grow(numbers([1, 2, 3], y=list("abb"))).missing_left[0]


@pytest.mark.kernel
@pytest.mark.parametrize("classes", ["abab", "baba", "abcb"])
def test_the_first_category_of_a_node_goes_left(classes: str) -> None:
    tree = grow(nominal("colon", "lung", "colon", "skin", y=list(classes)))
    assert tree.left_categories(0)[0]


@pytest.mark.kernel
def test_the_answer_yes_goes_left() -> None:
    ages = numbers([20, 30, 50, 60], y=list("aabb"), custom_features=["x0 > 40"]).columns[1]
    table = Table(
        Schema((Feature("x0 > 40", "custom", categories=(False, True)),), Target("y", ("a", "b"))),
        (ages,),
        np.array([0, 0, 1, 1], np.int32),
    )
    assert grow(table).left_categories(0).tolist() == [False, True]


@pytest.mark.kernel
def test_categories_that_a_node_did_not_see_go_where_missing_values_go() -> None:
    labels = ("colon", "lung", "skin")
    schema = Schema((Feature("site", "nominal", categories=labels),), Target("y", ("a", "b")))
    tree = grow(Table(schema, (np.array([0.0, 0.0, 1.0]),), np.array([0, 0, 1], np.int32)))
    assert tree.missing_left[0]
    assert tree.left_categories(0).tolist() == [True, False, True]


@pytest.mark.kernel
def test_ordered_categories_are_cut_half_way_between_two_positions() -> None:
    schema = Schema(
        (Feature("stage", "ordered", high=3.0, categories=(1, 2, 3, 4)),), Target("y", ("a", "b"))
    )
    tree = grow(Table(schema, (np.array([0.0, 0.0, 3.0]),), np.array([0, 0, 1], np.int32)))
    assert tree.threshold[0] in (0.5, 1.5, 2.5)


@pytest.mark.kernel
def test_a_minimum_of_rows_allows_sets_that_are_no_prefix_of_the_means() -> None:
    table = nominal(True, False, None, True, y=[1, 1, 0, 0])
    tree = grow(table, GrowthRules(min_samples_leaf=2))
    assert tree.count.tolist() == [4.0, 2.0, 2.0]


def test_poisson_takes_sets_that_are_no_prefix_of_the_means_where_both_sides_need_an_event() -> None:
    schema = Schema((Feature("site", "nominal", categories=("colon", "lung")),), Target("y", high=4.0))
    codes = np.array([0, np.nan, np.nan, 1, np.nan, np.nan])
    table = Table(schema, (codes,), np.array([3.0, 4.0, 4.0, 0.0, 1.0, 1.0]))
    assert grow(table, GrowthRules("poisson", max_depth=1)).count.tolist() == [6.0, 2.0, 4.0]


def test_a_criterion_must_fit_the_target() -> None:
    with pytest.raises(ParameterError, match="squared_error"):
        grow(numbers([1, 2], y=[0.5, 1.5]), GrowthRules("gini"))


# -- against the oracle ---------------------------------------------------------------------------------


def assert_best(table: Table, growth: GrowthRules) -> None:
    """Every split is the best there is, and every leaf has a reason."""
    if growth.criterion == "poisson":
        counted = table.target if table.weight is None else table.target[table.weight > 0]
        assume(counted.max() > 0)
    tree = grow(table, growth)
    check_tree(tree)
    assert disagreements(table, growth, tree) == []


@given(class_tables(), rules(**FREE))
def test_the_best_split_of_classes_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(class_tables(of_a_row=whole_weights), rules())
def test_the_best_split_that_the_limits_allow_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(class_tables(of_a_row=fractional_weights), rules(**FREE))
def test_the_best_split_of_weighted_rows_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(class_tables(of_a_row=whole_weights), rules(class_weight="balanced", **FREE))
def test_the_best_split_of_balanced_classes_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(class_tables(of_a_row=fractional_weights), rules(class_weight={"a": 2.0, "b": 0.3}, **FREE))
def test_the_best_split_of_weighted_classes_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(number_tables(of_a_row=whole_weights), rules(("squared_error", "poisson")))
def test_the_best_split_of_counts_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(number_tables(of_a_row=fractional_weights), rules(("squared_error", "poisson"), **FREE))
def test_the_best_split_of_weighted_counts_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(number_tables(real_numbers, of_a_row=whole_weights), rules(("squared_error",), **FREE))
def test_the_best_split_of_real_numbers_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(number_tables(far_numbers, of_a_row=whole_weights), rules(("squared_error",), **FREE))
def test_the_best_split_of_numbers_far_from_zero_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@pytest.mark.kernel
@settings(max_examples=15)
@given(class_tables(most_rows=12), rules(**FREE))
def test_the_best_split_of_a_handful_of_rows_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@pytest.mark.kernel
@settings(max_examples=15)
@given(number_tables(most_rows=12, of_a_row=whole_weights), rules(("squared_error", "poisson")))
def test_the_best_split_of_a_handful_of_counts_is_taken(table: Table, growth: GrowthRules) -> None:
    assert_best(table, growth)


@given(class_tables(of_a_row=whole_weights), rules(("gini", "misclassification"), **FREE))
def test_without_ties_the_whole_tree_is_that_of_the_oracle(table: Table, growth: GrowthRules) -> None:
    reference = reference_tree(table, growth)
    assume(not any(len(node.tied) > 1 for node in nodes_of(reference)))
    tree = grow(table, growth)
    assert sorted(tree.count[tree.left < 0]) == sorted(
        Oracle(table, growth).count(node.rows) for node in nodes_of(reference) if node.split is None
    )


def nodes_of(node: Node) -> list[Node]:
    """The node and everything below it."""
    below = [each for child in (node.left, node.right) if child is not None for each in nodes_of(child)]
    return [node, *below]


def test_sets_of_categories_that_need_more_memory_than_was_made_ready_give_the_same_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    X = np.column_stack([random.integers(0, 40, 3000), random.integers(0, 7, 3000)]).astype(str)
    table = Table.from_arrays(X, random.integers(0, 2, 3000))
    expected = grow(table)
    assert len(expected.in_set) > 16 * 40  # so that the memory for four sets is made larger more than once
    monkeypatch.setattr("holdfast.growth.grow.SET_BYTES", 1)
    found = grow(table)
    for name in ("feature", "left", "right", "set_start", "in_set", "missing_left", "value", "count"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
