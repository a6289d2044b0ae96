"""Growth rules of a wrong type are refused by name, and numpy's numbers are as good as Python's."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.growth.size_search import choose_size

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
NO_NUMBERS = ["a lot", [1], (2,), {3}, {"of": 1}, np.array([1, 2]), 1j, True, np.True_, float("nan")]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_under_the_name_of_the_rule(name: str, value: Any):
    with pytest.raises(ParameterError, match=f"^{name}="):
        GrowthRules(**{name: value})


@pytest.mark.parametrize("criterion", [["x"], None, 3, {"gini": 1}, np.array(["gini", "entropy"])], ids=repr)
def test_a_criterion_is_a_name(criterion: Any):
    with pytest.raises(ParameterError, match=r"^criterion=.* must be a name such as 'gini'"):
        GrowthRules(criterion=criterion)


@pytest.mark.parametrize("class_weight", [[1, 2], 3, "heavy", {0, 1}, np.ones(2)], ids=repr)
def test_weights_of_classes_come_as_a_mapping(class_weight: Any):
    with pytest.raises(
        ParameterError, match=r"^class_weight=.* is unknown: give a mapping from labels to weights"
    ):
        GrowthRules(class_weight=class_weight)


@pytest.mark.parametrize("factor", ["a", None, [1.0], 0, -1.0, float("nan"), float("inf"), True], ids=repr)
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


def test_rows_that_are_no_table_are_refused():
    for work in (grow, choose_size):
        with pytest.raises(TypeError, match=r"The rows are a list: make a table of them, Table.from_arrays"):
            work([[1.0], [2.0]], ["a", "b"])
