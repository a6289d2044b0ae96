"""Numbers as text: nothing is rounded to what it is not."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast._text import (
    count_text,
    decimals_of_errors,
    decimals_of_values,
    distinct_texts,
    estimate_text,
    estimate_texts,
    fixed_text,
    number_text,
    percent_text,
    pluralize,
    probability_text,
    rounded_percent,
    rows_text,
)

FINITE = st.floats(-1e12, 1e12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (50.0, "50"),
        (0.1 + 0.2, "0.3"),
        (23.35, "23.35"),
        (0.123456789, "0.123457"),
        (-0.0, "0"),
        (1e6, "1000000"),
        (123457.5, "123457.5"),  # never rounded onto an integer that a row may have
        (20000001.5, "20000001.5"),
        (1e-7, "1e-07"),
        (1e20, "1e+20"),
        (-2.5, "-2.5"),
    ],
)
def test_numbers_are_short_and_faithful(value: float, text: str) -> None:
    assert number_text(value) == text


def test_nearly_certain_is_not_shown_as_certain() -> None:
    assert [probability_text(share) for share in (1.0, 0.0, 0.5, 0.996, 0.9996, 0.004)] == [
        "1.00",
        "0.00",
        "0.50",
        "0.996",
        "0.9996",
        "0.004",
    ]
    assert [percent_text(share) for share in (1.0, 0.0544, 0.0001, 0.0)] == [
        "100.0 %",
        "5.4 %",
        "< 0.1 %",
        "0.0 %",
    ]


def test_percentages_are_never_rounded_to_none_or_all() -> None:
    shares = (0.0, 0.001, 0.006, 0.994, 0.999, 1.0)
    assert [rounded_percent(share) for share in shares] == ["0 %", "< 1 %", "1 %", "99 %", "> 99 %", "100 %"]


def test_huge_numbers_take_no_more_room_than_others() -> None:
    assert estimate_texts([1006389294018.7, 2.6e12], [570408797467.8, 4.1e11]) == [
        "1.006e+12 ± 5.7e+11",
        "2.6e+12 ± 4.1e+11",
    ]
    assert estimate_texts([123456.78], [234.5]) == ["123457 ± 234"]


@given(FINITE)
def test_a_threshold_between_two_integers_is_never_shown_as_one(value: float) -> None:
    half = round(value) + 0.5
    assert float(number_text(half)) == half
    assert number_text(inf) == "inf"
    assert number_text(nan) == "nan"


@given(FINITE, FINITE)
def test_numbers_are_told_apart_by_no_more_digits_than_it_takes(first: float, second: float) -> None:
    texts = distinct_texts(first, second)
    if texts[0] == texts[1]:
        assert number_text(first, 12) == number_text(second, 12)
    elif number_text(first, 4) != number_text(second, 4):
        assert texts == (number_text(first, 4), number_text(second, 4))


@given(FINITE, st.integers(0, 6))
def test_fixed_decimals_are_right_to_half_a_unit_and_never_minus_nothing(value: float, decimals: int) -> None:
    text = fixed_text(value, decimals, huge=inf)
    assert abs(float(text) - value) <= 0.5 * 10.0**-decimals * (1 + 1e-9) + 1e-12 * abs(value)
    assert len(text.partition(".")[2]) == decimals
    assert not (text.startswith("-") and float(text) == 0)


def test_a_sign_is_shown_where_it_is_asked_for() -> None:
    assert [fixed_text(value, 2, "+") for value in (0.126, -0.126, -0.001)] == ["+0.13", "-0.13", "+0.00"]


@given(st.lists(st.floats(1e-4, 1e4), min_size=1))
def test_the_greatest_value_has_as_many_digits_as_asked_for(values: list[float]) -> None:
    decimals = decimals_of_values(values, digits=3)
    shown = f"{max(values):.{decimals}f}"
    digits = len(shown.replace(".", "").lstrip("0"))
    # Rounding can carry 9.999 to 10.00; decimals are at least none and at most six.
    assert digits in (3, 4) or decimals in (0, 6)
    assert decimals_of_values([0.0, nan], digits=3, of_zero=2) == 2


def test_errors_have_two_digits() -> None:
    assert decimals_of_errors([0.012, 0.0, 3e-9, 0.014]) == 3
    assert decimals_of_errors([12.0]) == 0
    assert decimals_of_errors([1e-9]) == 6
    assert decimals_of_errors([0.0, nan]) is None
    assert estimate_texts([0.5, 0.25], [0.0, 0.0]) == ["0.500 ± 0.000", "0.250 ± 0.000"]
    assert estimate_texts([-1e-9], [0.01]) == ["0.000 ± 0.010"]
    assert estimate_texts([], []) == []
    assert estimate_text(1234.5678, 12.3456, room=7) == "1235 ± 12     "


def test_counts_have_their_noun_in_the_right_number() -> None:
    assert [pluralize(n, "leaf", "leaves") for n in (0, 1, 1234)] == ["0 leaves", "1 leaf", "1,234 leaves"]
    assert [rows_text(n) for n in (1.0, 2.0, 2.5)] == ["1 row", "2 rows", "2.5 rows"]
    assert count_text(1e6) == "1,000,000"
