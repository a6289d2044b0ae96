"""Rows as integers: weights and targets keep their meaning, whatever their size."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.growth.grow import grow, midpoint
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import class_importance, fixed_point_sample, integer_multiples, split_weight
from holdfast.tree.check import check_tree

SQUARES = GrowthRules("squared_error")


def numbers(*columns: list[float], y: list[Any], weight: list[float] | None = None, **options: Any) -> Table:
    """A table of numeric columns."""
    return Table.from_arrays(np.array(columns, float).T, y, weight, **options)


# -- units ----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20), st.integers(20, 10**6))
def test_units_are_fine_and_leave_room_for_every_sum(values: list[int], n_repeats: int) -> None:
    given_values = np.array(values) / 7
    whole, unit = integer_multiples(given_values, float(n_repeats), 62)
    largest = np.abs(given_values).max()
    assert int(np.abs(whole).max()) * n_repeats < 2**62
    assert np.all(np.abs(whole * unit - given_values) <= largest * n_repeats * 2.0**-59)


@pytest.mark.parametrize(
    ("weight", "repeats", "importance"),
    [
        (None, [1, 1, 1], [1.0, 1.0, 1.0]),
        ([2.0, 0.0, 3.0], [2, 0, 3], [1.0, 1.0, 1.0]),
        ([0.5, 0.0, 3.0], [1, 0, 1], [0.5, 1.0, 3.0]),
    ],
)
def test_whole_weights_are_repetitions_and_all_others_are_importances(
    weight: list[float] | None, repeats: list[int], importance: list[float]
) -> None:
    found = split_weight(None if weight is None else np.array(weight), 3)
    counted = np.array(repeats) > 0
    assert found[0].tolist() == repeats
    assert found[1][counted].tolist() == np.array(importance)[counted].tolist()


def test_weights_too_large_to_be_repetitions_are_importances() -> None:
    repeats, importance = split_weight(np.array([2.0**31, 1.0]), 2)
    assert (repeats.tolist(), importance.tolist()) == ([1, 1], [2.0**31, 1.0])


def test_balanced_classes_weigh_the_same_and_as_much_as_all_rows() -> None:
    table = numbers([1, 2, 3, 4], y=list("abbb"))
    factors = class_importance(table, GrowthRules(class_weight="balanced"), np.ones(4))
    assert factors.tolist() == pytest.approx([2.0, 2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("rules", [{"class_weight": "balanced"}, {"priors": {"a": 0.5, "b": 0.5}}], ids=str)
def test_the_order_of_the_rows_changes_no_bit_of_what_classes_weigh(rules: Any) -> None:
    weight, y = np.array([1.0, 0.7, 3.2360742, 0.1]), np.array(list("baaa"))
    found = set()
    for order in map(list, permutations(range(4))):
        table = numbers(np.zeros(4), y=y[order], weight=weight[order])
        importance = class_importance(table, GrowthRules(**rules), weight[order])
        found.add((importance[y[order] == "a"][0], importance[y[order] == "b"][0]))
    assert len(found) == 1


def test_class_weight_is_for_classes() -> None:
    with pytest.raises(ParameterError, match="class_weight"):
        fixed_point_sample(
            numbers([1, 2], y=[0.5, 1.5]), GrowthRules("squared_error", class_weight="balanced")
        )


def test_a_class_weight_for_a_label_that_is_no_class_is_refused() -> None:
    with pytest.raises(ParameterError, match="typo"):
        fixed_point_sample(numbers([1, 2], y=["a", "b"]), GrowthRules(class_weight={"typo": 5.0}))


# -- columns at the edges -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "above"),
    [(1.0, np.nextafter(1.0, 2.0)), (1e308, 1.7e308), (-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 0.0)],
)
def test_a_threshold_never_leaves_the_gap_between_its_values(below: float, above: float) -> None:
    assert below <= midpoint(below, above) < above
    tree = grow(numbers([below, above], y=["a", "b"]))
    assert tree.n_leaves == 2
    assert below <= tree.threshold[0] < above


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_the_middle_of_any_two_numbers_is_below_the_upper_one(one: float, other: float) -> None:
    below, above = min(one, other), max(one, other)
    assert below == above or below <= midpoint(below, above) < above


def test_negative_zero_is_zero() -> None:
    assert grow(numbers([-0.0, 0.0, 1.0], y=["a", "b", "b"])).threshold[0] == 0.5


# -- targets at the edges -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-20, 1.0, 1e20, 1e150, 1e300])
def test_the_size_of_the_target_changes_no_split(scale: float) -> None:
    y = np.array([1.0, 2.0, 5.0, 7.0, 11.0, 12.0]) * scale
    tree = grow(numbers([1, 2, 3, 4, 5, 6], y=list(y), task="regression"), SQUARES)
    assert tree.threshold[0] == 3.5
    assert tree.n_leaves == 6


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_least_gain_is_measured_on_the_scale_of_the_target(scale: float) -> None:
    y = list(np.array([0.0, 0.0, 3.0, 4.0]) * scale)
    # The first split takes the variance from 3.1875 to 0.125, the second one to 0.
    for gain, n_leaves in ((0.1, 3), (0.2, 2), (3.2, 1)):
        limit = GrowthRules("squared_error", min_impurity_decrease=gain * scale * scale)
        assert grow(numbers([1, 2, 3, 4], y=y, task="regression"), limit).n_leaves == n_leaves


@pytest.mark.parametrize("largest", [1e160, 1.7e308])
def test_huge_targets_make_a_sound_tree(largest: float) -> None:
    table = numbers([1, 2, 3, 4], y=[-largest, -largest, largest, largest], task="regression")
    tree = grow(table, SQUARES)
    assert tree.n_leaves == 2
    check_tree(tree)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_equal_targets_of_different_weight_are_not_split(criterion: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = 1.0 + 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0)
    table = Table.from_arrays(X, y, random.random(200), task="regression")
    assert grow(table, GrowthRules(criterion)).n_leaves == 4


def test_poisson_refuses_negative_targets_and_targets_without_an_event() -> None:
    with pytest.raises(DataError, match="at least 0"):
        grow(numbers([1, 2], y=[-1.0, 2.5], task="regression"), GrowthRules("poisson"))
    with pytest.raises(DataError, match="above 0"):
        grow(numbers([1, 2], y=[0.0, 0.0], task="regression"), GrowthRules("poisson"))


# -- weights at the edges -------------------------------------------------------------------------------


@pytest.mark.parametrize("ignored", [1e12, 1e20, 1e300])
def test_the_target_of_a_row_without_weight_does_not_matter(ignored: float) -> None:
    y = [ignored, *(step / 7 for step in range(9))]
    table = numbers(list(range(10)), y=y, weight=[0, *[1] * 9], task="regression")
    assert grow(table, SQUARES).n_leaves == 9


def test_a_row_without_weight_does_not_make_the_others_coarse() -> None:
    weight = [0, 1e-20, 5e-20, 2e-20, 3e-20]
    whole = grow(numbers([0, 1, 2, 3, 4], y=list("aabab"), weight=weight))
    without = grow(numbers([1, 2, 3, 4], y=list("abab"), weight=weight[1:]))
    assert whole.threshold.tolist()[0] == without.threshold.tolist()[0]
    assert np.allclose(whole.value, without.value, rtol=1e-12)


def test_a_row_that_weighs_almost_nothing_does_not_decide_the_gain_ratio() -> None:
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(100, 2)), np.full(100, 0.5)
    y = (X[:, 0] > 0).astype(int)
    weight[X[:, 1].argmax()] = 1e-17
    assert grow(Table.from_arrays(X, y, weight), GrowthRules("gain_ratio")).n_leaves == 2
