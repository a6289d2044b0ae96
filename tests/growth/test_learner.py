"""The grid, and trees by our own rules: each sample is a table of repeated rows."""

from typing import Any

import numpy as np
import pytest

from holdfast.data.resampling import Units
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.collections import list_combinations, make_learner, paper_grid
from holdfast.growth.grow import grow
from holdfast.growth.rules import CART, GrowthRules
from holdfast.tree.tree import Tree
from reference.resampling import draw_counts

ONE = ({},)
random = np.random.default_rng(3)
X = random.integers(0, 12, (80, 3)).astype(float)  # small integers: exact in float32 too
LABELS = np.array(["low", "mid", "top"])[np.clip((X[:, 0] + X[:, 1]) // 8, 0, 2).astype(int)]
NUMBERS = X[:, 0] * 2 + X[:, 1] + random.normal(size=80)
WEIGHT = random.random(80) * 3 + 0.01
TABLE = Table.from_arrays(X, LABELS)
NUMBER_TABLE = Table.from_arrays(X, NUMBERS)


def samples_of(learner: Any, n_samples: int) -> list[Any]:
    return [draw_counts(learner.repeats, Units.of(TABLE), (5, number)) for number in range(n_samples)]


def drawing(tree: Tree) -> tuple[Any, ...]:
    """Everything that decides about predictions."""
    return tuple(
        getattr(tree, name).tobytes() for name in ("feature", "threshold", "left", "right", "in_set", "value")
    )


# -- grids ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_depth", "n_rows", "depths", "leaves"),
    [
        (5, 100, [3, 4, 5], [3, 5, 10, 30, 50]),
        (None, 1000, list(range(3, 13)), [3, 5, 10, 30, 50]),
        (20, 1000, list(range(3, 21)), [3, 5, 10, 30, 50]),
        (3, 99, [3], [3, 5, 10, 30]),
        (2, 20, [2], [3, 5, 10]),
        (1, 6, [1], [3]),
        (4, 5, [3, 4], [1]),
        (4, 1, [3, 4], [1]),
    ],
)
def test_the_grid_of_the_paper_goes_as_far_as_depth_and_rows_allow(
    max_depth: int | None, n_rows: int, depths: list[int], leaves: list[int]
):
    assert paper_grid(max_depth, n_rows) == {"max_depth": depths, "min_samples_leaf": leaves}


def test_every_combination_is_there_with_the_last_parameter_running_fastest():
    found = list_combinations({"max_depth": [3, 4], "criterion": ("gini", "entropy")})
    assert [tuple(each.values()) for each in found] == [
        (3, "gini"),
        (3, "entropy"),
        (4, "gini"),
        (4, "entropy"),
    ]


def test_a_grid_may_be_made_of_arrays_and_generators():
    found = list_combinations(
        {"max_depth": np.array([2, 3]), "min_impurity_decrease": (gain / 10 for gain in range(2))}
    )
    assert [dict(each) for each in found] == [
        {"max_depth": depth, "min_impurity_decrease": gain} for depth in (2, 3) for gain in (0.0, 0.1)
    ]


def test_an_empty_grid_is_one_combination_of_nothing():
    assert list_combinations({}) == ({},)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"max_depth": 3}, "grid has 3 for max_depth"),
        ({"criterion": "gini"}, "grid has 'gini' for criterion"),
        ({"max_depth": None}, "grid has None for max_depth"),
        ({"max_depth": [], "min_impurity_decrease": [0.0]}, "grid has no value for max_depth"),
    ],
)
def test_a_grid_without_lists_of_values_is_refused(grid: Any, message: str):
    with pytest.raises(ParameterError, match=message):
        list_combinations(grid)


# -- our own rules ----------------------------------------------------------------------------------------


def test_each_combination_changes_the_rules():
    combinations = list_combinations({"max_depth": [1, 3], "criterion": ["gini", "entropy"]})
    learner = make_learner(TABLE, GrowthRules(min_samples_leaf=2), combinations)
    for place, combination in enumerate(combinations):
        (tree,) = learner.trees(place, [learner.repeats], [0])
        expected = grow(TABLE, GrowthRules(min_samples_leaf=2, **combination))
        assert drawing(tree) == drawing(expected)
        assert tree.criterion == combination["criterion"]
        assert tree.impurity.tolist() == expected.impurity.tolist()


def test_class_weights_can_be_part_of_a_grid():
    combinations = list_combinations({"class_weight": [None, "balanced", {"low": 5.0}]})
    learner = make_learner(TABLE, CART, combinations)
    for place, combination in enumerate(combinations):
        (tree,) = learner.trees(place, [learner.repeats], [0])
        assert tree.value.tolist() == grow(TABLE, GrowthRules(**combination)).value.tolist()


def test_a_sample_is_a_table_with_its_rows_repeated():
    learner = make_learner(TABLE, GrowthRules(max_depth=4), ONE)
    samples = samples_of(learner, 6)
    for tree, counts in zip(learner.trees(0, samples, [0] * 6), samples, strict=True):
        repeated = TABLE.subset(np.repeat(np.arange(80), counts))
        assert drawing(tree) == drawing(grow(repeated, GrowthRules(max_depth=4)))


def test_a_parameter_that_is_no_rule_is_refused_with_the_rules_there_are():
    with pytest.raises(ParameterError, match=r"grid has 'depth'.*'max_depth'"):
        make_learner(TABLE, CART, list_combinations({"depth": [3]}))


def test_a_value_out_of_range_is_refused_by_name():
    with pytest.raises(ParameterError, match="max_depth=0 is out of range"):
        make_learner(TABLE, CART, list_combinations({"max_depth": [3, 0]}))
