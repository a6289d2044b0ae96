"""Limits and budgets: what each rule stops, and what it leaves."""

import math
import threading
import time
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from holdfast.data.table import Table
from holdfast.errors import GrowthWarning, ParameterError
from holdfast.growth.grow import _deadline, grow
from holdfast.growth.rules import GrowthRules, count_drawn_features, resolve_min_rows
from holdfast.growth.size_search import choose_size
from holdfast.tree.check import check_tree
from holdfast.tree.tree import Tree


def noise(n_rows: int = 200, n_classes: int = 2, seed: int = 0) -> Table:
    """Rows that tell nothing about their class, so that only limits end growth."""
    random = np.random.default_rng(seed)
    return Table.from_arrays(random.normal(size=(n_rows, 3)), random.integers(0, n_classes, n_rows))


def is_leaf(tree: Tree) -> Any:
    return tree.left < 0


# -- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.5),
        ("max_leaf_nodes", 1),
        ("max_nodes", 0),
        ("min_samples_split", 1),
        ("min_samples_split", 1.5),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", 1.0),
        ("min_weight_fraction_leaf", 0.6),
        ("min_impurity_decrease", -0.1),
        ("min_relative_gain", 1.1),
        ("max_seconds", -1.0),
        ("max_features", 0),
        ("max_features", -0.5),
        ("max_features", 1.5),
        ("max_features", "many"),
    ],
)
def test_a_value_outside_its_range_is_refused_with_the_rule_and_the_value(rule: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"^{rule}={value!r} "):
        GrowthRules(**{rule: value})


@pytest.mark.parametrize(
    ("given_as", "n_features", "drawn"),
    [
        (None, 9, 0),
        ("sqrt", 9, 3),
        ("sqrt", 10, 3),
        ("log2", 9, 3),
        ("third", 9, 3),
        ("third", 2, 1),
        (4, 9, 4),
        (9, 9, 0),
        (20, 9, 0),
        (0.5, 9, 4),
        (1.0, 9, 0),
        (0.01, 9, 1),
        (1, 1, 1),
    ],
)
def test_the_number_of_features_drawn(given_as: Any, n_features: int, drawn: int) -> None:
    assert count_drawn_features(given_as, n_features) == drawn


@pytest.mark.parametrize(
    ("value", "n_rows", "rows"), [(5, 100, 5), (0.1, 100, 10), (0.101, 100, 11), (0.5, 1, 1)]
)
def test_a_share_of_the_rows_is_rounded_up(value: float, n_rows: int, rows: int) -> None:
    assert resolve_min_rows(value, n_rows) == rows


# -- limits ---------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_row_is_asked_more_questions_than_the_depth_allows(depth: int) -> None:
    assert grow(noise(60), GrowthRules(max_depth=depth)).depth == depth


@pytest.mark.parametrize("least", [2, 7, 0.1])
def test_every_leaf_holds_the_least_number_of_rows(least: Any) -> None:
    tree = grow(noise(), GrowthRules(min_samples_leaf=least))
    assert tree.count[is_leaf(tree)].min() >= resolve_min_rows(least, 200)
    assert tree.n_leaves > 2


def test_repetitions_count_as_rows() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"], [3, 1, 2])
    tree = grow(table, GrowthRules(min_samples_leaf=3))
    assert tree.count.tolist() == [6.0, 3.0, 3.0]
    assert grow(table, GrowthRules(min_samples_leaf=4)).n_leaves == 1


def test_importances_do_not_count_as_rows() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"], [3.5, 1.5, 2.5])
    assert grow(table, GrowthRules(min_samples_leaf=2)).n_leaves == 1


def test_every_leaf_holds_the_least_share_of_the_weight() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"], [0.5, 1.5, 2.0])
    assert grow(table, GrowthRules(min_weight_fraction_leaf=0.125)).threshold[0] == 1.5
    assert grow(table, GrowthRules(min_weight_fraction_leaf=0.13)).threshold[0] == 2.5


def test_nodes_of_too_few_rows_are_not_split() -> None:
    tree = grow(noise(), GrowthRules(min_samples_split=20))
    assert tree.count[~is_leaf(tree)].min() >= 20
    assert tree.count[is_leaf(tree)].min() < 20


@pytest.mark.parametrize(
    ("criterion", "y", "gain"),
    [
        ("gini", list("aaab"), 0.375),
        ("entropy", list("aabb"), 1.0),
        ("squared_error", [0.5, 0.5, 2.5, 2.5], 1.0),
    ],
)
def test_a_split_needs_the_least_gain(criterion: str, y: list[Any], gain: float) -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], y)
    assert grow(table, GrowthRules(criterion, min_impurity_decrease=gain)).n_leaves == 2
    assert grow(table, GrowthRules(criterion, min_impurity_decrease=gain + 1e-6)).n_leaves == 1


def test_the_least_gain_of_poisson_is_that_of_half_the_deviance() -> None:
    table = Table.from_arrays([[1.0], [2.0]], [1.0, 3.0], task="regression")
    gain = (1.0 * math.log(0.5) + 3.0 * math.log(1.5)) / 2
    assert grow(table, GrowthRules("poisson", min_impurity_decrease=gain - 1e-6)).n_leaves == 2
    assert grow(table, GrowthRules("poisson", min_impurity_decrease=gain + 1e-6)).n_leaves == 1


def test_a_split_needs_the_least_share_of_the_impurity_of_its_own_node() -> None:
    table = Table.from_arrays([[0.0], [0.0], [1.0], [1.0]], ["a", "b", "b", "b"])
    # 0.375 before, half of 0.5 after: a third is gained.
    assert grow(table, GrowthRules(min_relative_gain=0.333)).n_leaves == 2
    assert grow(table, GrowthRules(min_relative_gain=0.334)).n_leaves == 1


# -- budgets --------------------------------------------------------------------------------------------


def test_a_limit_on_leaves_is_no_budget_and_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = grow(noise(), GrowthRules(max_leaf_nodes=5))
    assert (tree.n_leaves, tree.notes) == (5, ())


@pytest.mark.kernel
@pytest.mark.parametrize(("budget", "n_nodes"), [(1, 1), (2, 1), (3, 3), (8, 7)])
def test_a_budget_of_nodes_is_kept_and_spoken_of(budget: int, n_nodes: int) -> None:
    with pytest.warns(GrowthWarning, match="max_nodes"):
        tree = grow(noise(60), GrowthRules(max_nodes=budget))
    assert tree.n_nodes == n_nodes
    assert len(tree.notes) == 1
    assert f"{budget} nodes" in tree.notes[0]
    check_tree(tree)


def test_a_budget_that_is_not_used_up_is_not_spoken_of() -> None:
    table = Table.from_arrays([[1.0], [2.0]], ["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grow(table, GrowthRules(max_nodes=3, max_seconds=600)).notes == ()


@pytest.mark.parametrize("seconds", [0, 0.0])
def test_no_time_at_all_leaves_a_sound_tree_and_a_note(seconds: float) -> None:
    with pytest.warns(GrowthWarning, match="max_seconds"):
        tree = grow(noise(20_000), GrowthRules(max_seconds=seconds))
    assert "max_seconds" in tree.notes[0]
    check_tree(tree)


def test_time_that_runs_out_leaves_a_part_of_the_tree() -> None:
    table = noise(20_000)
    whole = grow(table)
    with pytest.warns(GrowthWarning, match="could still be split"):
        tree = grow(table, GrowthRules(max_seconds=0.001))
    assert tree.n_nodes < whole.n_nodes
    check_tree(tree)


@pytest.mark.parametrize("seconds", [1e10, math.inf])
def test_any_amount_of_time_may_be_given(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    stop = np.zeros(1, np.uint8)
    with _deadline(seconds, stop):
        time.sleep(0.05)
        assert stop[0] == 0
    assert raised == []


def test_leaves_that_a_budget_left_open_look_like_any_other_leaf() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    X[random.random(X.shape) < 0.3] = np.nan
    tree = grow(Table.from_arrays(X, random.integers(0, 2, 200)), GrowthRules(max_leaf_nodes=5))
    assert not tree.missing_left[is_leaf(tree)].any()


# -- values of a wrong type -----------------------------------------------------------------------------

NUMBERS = {
    "max_depth": 3,
    "max_leaf_nodes": 4,
    "min_samples_split": 0.5,
    "min_samples_leaf": 2,
    "min_weight_fraction_leaf": 0.25,
    "min_impurity_decrease": 0.5,
    "min_relative_gain": 0.5,
    "max_features": 0.5,
    "max_seconds": 60.0,
    "max_nodes": 7,
}
NO_NUMBERS = ["a lot", [1], np.array([1, 2]), 1j, np.True_, float("nan")]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_under_the_name_of_the_rule(name: str, value: Any):
    with pytest.raises(ParameterError, match=f"^{name}="):
        GrowthRules(**{name: value})


@pytest.mark.parametrize("criterion", [["x"], None, np.array(["gini", "entropy"])], ids=repr)
def test_a_criterion_is_a_name(criterion: Any):
    with pytest.raises(ParameterError, match=r"^criterion=.* must be a name such as 'gini'"):
        GrowthRules(criterion=criterion)


@pytest.mark.parametrize("class_weight", [[1, 2], "heavy"], ids=repr)
def test_weights_of_classes_come_as_a_mapping(class_weight: Any):
    with pytest.raises(
        ParameterError, match=r"^class_weight=.* is unknown: give a mapping from labels to weights"
    ):
        GrowthRules(class_weight=class_weight)


@pytest.mark.parametrize("factor", ["a", 0, float("nan"), float("inf"), True], ids=repr)
def test_the_weight_of_a_class_is_a_positive_number(factor: Any):
    with pytest.raises(ParameterError, match=r"^class_weight of 0 is .*: it must be a positive number"):
        GrowthRules(class_weight={1: 2.0, 0: factor})


def test_the_numbers_of_numpy_become_python_s():
    of_numpy = {
        name: np.float32(value) if isinstance(value, float) else np.int8(value)
        for name, value in NUMBERS.items()
    }
    rules = GrowthRules(criterion=np.str_("gini"), **of_numpy)
    assert rules == GrowthRules(**NUMBERS)
    kinds = {type(getattr(rules, field.name)) for field in fields(rules)}
    assert kinds == {int, float, bool, str, type(None)}


def test_the_numbers_of_numpy_may_weigh_classes():
    table = Table.from_arrays([[1.0], [1.0], [2.0], [2.0]], [0, 1, 1, 1])
    tree = grow(table, GrowthRules(max_depth=1, class_weight={np.int64(0): np.float32(3), 1: np.int8(1)}))
    assert tree.value[0].tolist() == [0.5, 0.5]


def test_all_rows_may_be_asked_for_to_split_and_not_in_a_leaf():
    assert GrowthRules(min_samples_split=1.0).min_samples_split == 1.0
    with pytest.raises(ParameterError, match=r"min_samples_leaf=1\.0 is out of range"):
        GrowthRules(min_samples_leaf=1.0)


@pytest.mark.parametrize("work", [grow, choose_size])
def test_rows_that_are_no_table_are_refused(work: Any) -> None:
    with pytest.raises(TypeError, match=r"The rows are a list: make a table of them, Table.from_arrays"):
        work([[1.0], [2.0]], ["a", "b"])
