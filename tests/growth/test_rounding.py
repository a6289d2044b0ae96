"""Round thresholds: how round they are, and that no row moves."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast import GrowthRules, Table, grow
from holdfast.growth.rounding import roundest, with_round_thresholds

numbers = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)


@given(numbers, numbers)
def test_the_roundest_number_lies_between(low: float, high: float) -> None:
    assume(np.nextafter(low, high) < high)
    assert low < roundest(low, high) < high


@given(st.integers(-9999, 9999), st.integers(1, 500), st.integers(-4, 3))
def test_no_number_with_fewer_digits_lies_between(start: int, width: int, power: int) -> None:
    low, high = float(f"{start}e{power}"), float(f"{start + width}e{power}")
    found = roundest(low, high)
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
    assert roundest(low, high) == expected


def test_an_interval_of_neighbouring_floats_keeps_its_low_end() -> None:
    low = 0.1
    assert roundest(low, float(np.nextafter(low, 1.0))) == low


@given(st.integers(0, 10_000), st.integers(2, 60), st.sampled_from([1, 3, 15]))
def test_rounding_moves_no_row(seed: int, n_rows: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 2)) * 10.0 ** rng.integers(-5, 6, 2), digits)
    X[rng.random(X.shape) < 0.1] = np.nan
    table = Table.from_arrays(X, rng.normal(size=n_rows))
    tree = grow(table, GrowthRules(criterion="squared_error"))
    rounded = with_round_thresholds(tree, table)
    assert np.array_equal(rounded.apply(table), tree.apply(table))
    assert np.array_equal(rounded.feature, tree.feature)
