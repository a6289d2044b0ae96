"""Round thresholds: how round they are, and that no row moves."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast import GrowthRules, ParameterError, Table, grow
from holdfast.growth import round_thresholds
from holdfast.growth.rounding import find_roundest, round_exactly
from holdfast.tree.check import check_tree
from holdfast.tree.edit import find_unreachable
from holdfast.tree.tree import LEAF

numbers = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)


@given(numbers, numbers)
def test_the_roundest_number_lies_between(low: float, high: float) -> None:
    assume(np.nextafter(low, high) < high)
    assert low < find_roundest(low, high) < high


@given(st.integers(-9999, 9999), st.integers(1, 500), st.integers(-4, 3))
def test_no_number_with_fewer_digits_lies_between(start: int, width: int, power: int) -> None:
    low, high = float(f"{start}e{power}"), float(f"{start + width}e{power}")
    found = find_roundest(low, high)
    digits = len(f"{abs(found):.12e}".split("e")[0].replace(".", "").rstrip("0"))
    for fewer in range(1, digits):
        # All numbers of so few digits near the interval: its ends, rounded, and their neighbours.
        for value in (low, high):
            nearest = float(f"{value:.{fewer - 1}e}")
            assert not low < nearest < high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(14.1, 16.9, 15.0), (99.0, 101.0, 100.0), (-3.0, 4.0, 0.0), (2.0, 2.0, 2.0), (1.0, 2.0, 1.5)],
)
def test_round_numbers_by_hand(low: float, high: float, expected: float) -> None:
    assert find_roundest(low, high) == expected


def test_an_interval_of_neighbouring_floats_keeps_its_low_end() -> None:
    low = 0.1
    assert find_roundest(low, float(np.nextafter(low, 1.0))) == low


@given(st.integers(0, 10_000), st.integers(2, 60), st.sampled_from([1, 3, 15]))
def test_rounding_moves_no_row(seed: int, n_rows: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 2)) * 10.0 ** rng.integers(-5, 6, 2), digits)
    X[rng.random(X.shape) < 0.1] = np.nan
    table = Table.from_arrays(X, rng.normal(size=n_rows))
    tree = grow(table, GrowthRules(criterion="squared_error"))
    rounded = round_exactly(tree, table)
    assert np.array_equal(rounded.apply(table), tree.apply(table))
    assert np.array_equal(rounded.feature, tree.feature)


# -- with a tolerance -------------------------------------------------------------------------------------


def test_without_a_tolerance_no_row_moves_and_nothing_is_on_record() -> None:
    table = Table.from_arrays([[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"])
    rounded = round_thresholds(grow(table), table)
    assert (rounded.threshold[0], rounded.edits) == (40.0, ())


def test_a_tolerance_is_a_fraction_of_the_rows_at_the_node() -> None:
    """Of ten rows at 42.1, 43.1, ..., 51.1, cut at 46.6: at 45 two have moved, at 50 three."""
    table = Table.from_arrays([[age + 0.1] for age in range(42, 52)], ["no"] * 5 + ["yes"] * 5)
    tree = grow(table)
    found = [round_thresholds(tree, table, each).threshold[0] for each in (0, 0.1, 0.2, 0.3, 0.4)]
    assert found == [47.0, 47.0, 45.0, 50.0, 50.0]
    moved = round_thresholds(tree, table, 0.2, by="Ada", why="round")
    assert [str(edit) for edit in moved.edits] == ["x0 <= 46.6 became x0 <= 45 (Ada: round)"]
    assert moved.count.tolist() == [10, 3, 7]
    assert moved.value[2].tolist() == pytest.approx([2 / 7, 5 / 7])


def test_a_person_s_threshold_is_not_rounded() -> None:
    table = Table.from_arrays([[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"])
    tree = grow(table).with_threshold(0, 44.7)
    assert round_thresholds(tree, table).threshold[0] == 44.7
    assert round_thresholds(tree, table, 0.5).threshold[0] == 44.7


@pytest.mark.parametrize("tolerance", [-0.1, 1, 2.0, "0.1", None, float("nan"), True])
def test_a_tolerance_out_of_range_is_refused(tolerance: object) -> None:
    table = Table.from_arrays([[20.0], [30.0]], ["no", "yes"])
    with pytest.raises(ParameterError, match="tolerance"):
        round_thresholds(grow(table), table, tolerance)  # type: ignore[arg-type]


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.05, 0.2]), st.booleans())
def test_no_threshold_moves_more_rows_than_the_tolerance(seed: int, tolerance: float, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(120, 2)) * [1.0, 50.0], 3)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.random(120) + 0.1 if weighted else None
    table = Table.from_arrays(X, rng.random(120) < 0.5 + 0.3 * np.sign(np.nan_to_num(X[:, 0])), weight)
    tree = grow(table, GrowthRules(max_depth=4, min_samples_leaf=5))
    rounded = round_thresholds(tree, table, tolerance)
    check_tree(rounded)
    leaf, w = rounded.apply(table), np.ones(120) if weight is None else weight
    for node in np.flatnonzero(tree.feature != LEAF):
        rows = (leaf >= node) & (leaf < rounded.subtree_end[node])
        values = table.columns[tree.feature[node]][rows]
        moved = (values <= tree.threshold[node]) != (values <= rounded.threshold[node])
        assert w[rows][moved].sum() <= tolerance * w[rows].sum() + 1e-9
    # Those on record are those that move rows.
    assert {edit.kind for edit in rounded.edits} <= {"threshold"}
    assert bool(rounded.edits) == (not np.array_equal(leaf, tree.apply(table)))


def test_a_tolerance_leaves_answers_for_every_question_below() -> None:
    """50.4 must not pass 52.1, which a node below asks for."""
    rng = np.random.default_rng(3)
    X = np.sort(np.round(rng.uniform(30, 70, 200), 1))[:, None]
    table = Table.from_arrays(X, np.digitize(X[:, 0], [45.3, 50.4, 52.1]) % 2)
    tree = grow(table)
    rounded = round_thresholds(tree, table, 0.2)
    assert find_unreachable(rounded) == set()
    assert len(np.unique(rounded.threshold[~np.isnan(rounded.threshold)])) == 3
