"""Rounding where values compete: those equal by their meaning are equal, and no others. Sums and orders."""

import numpy as np
import pytest

from holdfast._arrays import max_rows, round_last_digits, stable_argsort, sum_rows


@pytest.mark.parametrize("scale", [1e-9, 0.01, 1.0, 0.3, 999.0, 1e9])
def test_values_that_differ_in_their_last_bits_become_equal(scale: float) -> None:
    value = np.array([0.7, 0.8, 1.0]) * scale
    beside = np.nextafter(np.nextafter(value, np.inf), np.inf)
    assert round_last_digits(value).tolist() == round_last_digits(beside).tolist()
    assert round_last_digits(value) == pytest.approx(value, rel=1e-11)


def test_values_that_differ_by_more_stay_apart_and_short_decimals_stay_as_they_are() -> None:
    values = np.array([0.8, 0.8 + 1e-10, -0.25, 0.0])
    assert round_last_digits(values).tolist() == values.tolist()


def test_what_is_unknown_or_without_a_scale_stays_as_it_is() -> None:
    rounded = round_last_digits(np.array([np.nan, 0.1 + 0.2, -np.inf]))
    assert np.array_equal(rounded, [np.nan, 0.3, -np.inf], equal_nan=True)
    for values in ([], [0.0, -0.0], [1e300, -1e-300], [5e-324]):
        assert round_last_digits(np.array(values)).tolist() == values


@pytest.mark.parametrize("n_columns", [1, 2, 3, 9])
def test_the_sums_of_rows_are_those_of_numpy_to_the_last_bit_and_so_are_the_greatest(n_columns: int) -> None:
    matrix = np.random.default_rng(0).random((500, n_columns)) ** 9
    assert sum_rows(matrix).tobytes() == matrix.sum(axis=1).tobytes()
    assert max_rows(matrix).tolist() == list(map(max, matrix.tolist()))


@pytest.mark.parametrize("n_values", [3, 500, 2**60])
def test_of_equal_keys_the_first_comes_first(n_values: int) -> None:
    keys = np.random.default_rng(0).integers(0, n_values, 500)
    assert stable_argsort(keys).tolist() == sorted(range(500), key=keys.tolist().__getitem__)
