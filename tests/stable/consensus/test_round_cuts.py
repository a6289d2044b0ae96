"""Round thresholds: few for every feature, with enough rows between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holdfast import StableTreeClassifier, Table, grow
from holdfast.stable.consensus.distil import choose_round_cuts, coarsen_table, move_to_cuts
from holdfast.stable.settings import StabilityRules


def cuts(values: object, least_share: float = 1 / 32) -> list[float]:
    column = np.asarray(values, np.float64)
    return choose_round_cuts(column, np.ones(len(column), np.int32), least_share).tolist()


def test_cuts_are_round_numbers_in_the_middle_of_the_values():
    assert cuts(np.arange(20.0, 80.0), 1 / 3) == [50.0]
    assert cuts(np.arange(20.0, 80.0), 1 / 8) == [30.0, 40.0, 50.0, 60.0, 70.0]
    assert cuts(np.arange(0.0, 1.0, 0.01), 1 / 5) == [0.2, 0.5, 0.75]


def test_of_two_values_the_cut_lies_between_them():
    assert cuts([0.0, 1.0, 1.0]) == [0.5]


@pytest.mark.parametrize("column", [[], [3.0] * 9, [np.nan] * 4])
def test_what_does_not_vary_has_no_cut(column: list[float]):
    assert cuts(column) == []


def test_a_value_that_most_rows_have_is_a_cut():
    assert cuts([0.0] * 90 + list(range(1, 11)), 1 / 32) == [0.0, 5.0]


@given(
    arrays(np.float64, st.integers(3, 60), elements=st.floats(-1e6, 1e6, width=32)),
    st.sampled_from([1 / 4, 1 / 8, 1 / 32]),
)
def test_enough_values_lie_below_between_and_above_the_cuts(column: np.ndarray, share: float):
    found = cuts(column, share)
    if len(np.unique(column)) < 3:
        return
    need = max(2, np.ceil(share * len(column)))
    counts = np.bincount(np.searchsorted(found, column, "left"), minlength=len(found) + 1)
    assert not found or counts.min() >= need
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    "column",
    [
        np.linspace(-1.7, 1.7, 64) * 1e308,
        np.arange(1, 65) * 5e-324,
        1.0 + np.arange(64) * np.finfo(float).eps,
    ],
    ids=["infinite range", "subnormal", "neighbouring floats"],
)
def test_where_no_number_is_round_values_are_the_cuts(column: np.ndarray):
    found = cuts(column, 1 / 8)
    assert len(found) >= 3
    counts = np.bincount(np.searchsorted(found, column, "left"), minlength=len(found) + 1)
    assert counts.min() >= 8


def test_a_row_of_weight_two_counts_as_two_rows():
    column = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 31.0])
    repeats = np.array([1, 2, 3, 1, 2, 1], np.int32)
    twice = np.repeat(column, repeats)
    assert choose_round_cuts(column, repeats, 1 / 4).tolist() == cuts(twice, 1 / 4)


def test_trees_of_coarse_rows_send_the_rows_the_same_way():
    rng = np.random.default_rng(0)
    X = rng.normal(50, 20, (300, 3))
    X[::7, 1] = np.nan
    table = Table.from_arrays(X, X[:, 0] + np.nan_to_num(X[:, 1]) > 90)
    coarse, found = coarsen_table(table, np.ones(300, np.int32))
    tree = grow(coarse)
    moved = move_to_cuts(tree, found)
    assert np.array_equal(moved.apply(table), tree.apply(coarse))
    assert all(
        moved.threshold[node] in found[moved.feature[node]]
        for node in np.flatnonzero((moved.feature >= 0) & (moved.threshold < 1e300))
    )


def test_a_stable_tree_has_round_thresholds_unless_exact_ones_are_asked_for():
    rng = np.random.default_rng(1)
    X = rng.normal(120.0, 30.0, (400, 1)).round(2)
    y = X[:, 0] > 113.37
    quick = {"teacher": "boosting", "n_estimators": 10, "max_leaf_nodes": 2}
    rounded = StableTreeClassifier(**quick).fit(X, y).tree_.threshold[0]
    exact = (
        StableTreeClassifier(**quick, stability_rules=StabilityRules(thresholds="exact"))
        .fit(X, y)
        .tree_.threshold[0]
    )
    assert rounded in cuts(X[:, 0])
    assert abs(exact - 113.37) < abs(rounded - 113.37)
