"""The population stability index, worked out by hand."""

import math

import numpy as np
import pytest

from holdfast import Feature
from holdfast.scoring.calibration import column_index, compute_index_parts, stability_index

NAN = math.nan


def test_the_same_fractions_have_the_index_0() -> None:
    assert stability_index(np.array([10.0, 30.0]), np.array([10.0, 30.0])) == 0.0


def test_an_index_by_hand() -> None:
    # With half a row for each part: 50, 50 of 100 against 70, 30 of 100.
    by_hand = (0.7 - 0.5) * math.log(0.7 / 0.5) + (0.3 - 0.5) * math.log(0.3 / 0.5)
    assert stability_index(np.array([49.5, 49.5]), np.array([69.5, 29.5])) == pytest.approx(by_hand)
    assert compute_index_parts(np.array([49.5, 49.5]), np.array([69.5, 29.5])).sum() == pytest.approx(by_hand)


def test_a_part_that_is_new_has_a_finite_index() -> None:
    assert 0 < stability_index(np.array([100.0, 0.0]), np.array([50.0, 50.0])) < math.inf


def test_a_column_by_category_and_by_tenths() -> None:
    ward = Feature("ward", "nominal", categories=("A", "B"))
    by_category = column_index(ward, np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 0, 1]))
    assert by_category == stability_index(np.array([2.0, 2.0]), np.array([3.0, 1.0]))
    age, years = Feature("age"), np.arange(100.0)
    assert column_index(age, years, years) == 0.0
    tenths = stability_index(np.full(10, 10.0), np.array([20.0] * 5 + [0.0] * 5))
    assert column_index(age, years, np.tile(years[:50], 2)) == pytest.approx(tenths)


def test_missing_values_are_a_part_and_a_constant_is_one() -> None:
    age = Feature("age")
    before, after = np.array([7.0, 7, 7, NAN]), np.array([7.0, 7, NAN, NAN])
    # 7 is a bin, above it there is none: an empty part adds nothing.
    assert column_index(age, before, after) == pytest.approx(
        stability_index(np.array([3.0, 0.0, 1.0]), np.array([2.0, 0.0, 2.0]))
    )
    assert column_index(age, np.full(3, NAN), np.full(5, NAN)) == pytest.approx(0.0, abs=0.03)
