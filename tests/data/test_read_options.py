"""Numbers as people write them, and how to tell which way it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.read_options import DECIMALS, THOUSANDS, Numerals, guess_numerals
from holdfast.errors import ParameterError


@pytest.mark.parametrize(
    ("decimal", "thousands", "cell", "number"),
    [
        (".", ",", "1,234,567.5", 1234567.5),
        (".", ",", "-1,234", -1234),
        (",", ".", "1.234,5", 1234.5),
        (",", "", "0,25", 0.25),
        (",", "", ",5e-3", 0.0005),
        (",", " ", "12 345,5", 12345.5),
        (",", " ", "12\u202f345,5", 12345.5),
        (",", "\u00a0", "12 345", 12345),
        (".", "'", "1'234\u2019567", 1234567),
        (".", ",", "1234.5", 1234.5),
    ],
)
def test_numbers_are_read_as_they_are_written(decimal: str, thousands: str, cell: str, number: float) -> None:
    way = Numerals(decimal, thousands)
    assert way.matches_number(cell)
    assert way.number(cell) == number


@pytest.mark.parametrize("cell", ["1,23", "12,34,567", "1234,567", ",123", "0,123", "1,234,56", "01,234"])
def test_thousands_come_in_threes(cell: str) -> None:
    assert not Numerals(".", ",").matches_number(cell)


@given(
    number=st.integers(-(10**12), 10**12),
    digits=st.integers(0, 99),
    decimal=st.sampled_from(DECIMALS),
    thousands=st.sampled_from(("", *THOUSANDS)),
)
def test_what_is_written_one_way_is_read_that_way(
    number: int, digits: int, decimal: str, thousands: str
) -> None:
    if decimal == thousands:
        return
    whole = f"{number:,}".replace(",", thousands)
    way = Numerals(decimal, thousands)
    assert way.matches_number(f"{whole}{decimal}{digits:02}")
    assert way.number(f"{whole}{decimal}{digits:02}") == float(f"{number}.{digits:02}")


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["1,5", "2", "0,25"], ["decimal=','"]),
        (["1,234", "12"], ["thousands=','", "decimal=','"]),
        (["1,234", "1,234,567"], ["thousands=','"]),
        (["1,234.5", "7"], ["thousands=','"]),
        (["1.234,5", "7,5"], ["decimal=',' and thousands='.'"]),
        (["1.234.567", "5"], ["decimal=',' and thousands='.'"]),
        (["1 234", "5"], ["thousands=' '"]),
        (["1'234.5", "5"], ["""thousands="'\""""]),
        (["a,b", "c"], []),
        (["yes", "no"], []),
    ],
)
def test_the_parameters_that_read_the_cells_are_found(cells: list[str], options: list[str]) -> None:
    assert [way.parameters for way in guess_numerals(cells, Numerals(), 0.8)] == options


def test_a_decimal_comma_that_is_given_stays() -> None:
    ways = guess_numerals(["1.234", "5"], Numerals(","), 0.8)
    assert [way.parameters for way in ways] == ["decimal=',' and thousands='.'"]
    assert guess_numerals(["1.5", "5"], Numerals(","), 0.8) == [Numerals(".")]


@pytest.mark.parametrize(("decimal", "thousands"), [(";", ""), (".", "."), (",", ","), (".", "_"), ("", "")])
def test_marks_that_cannot_be_raise_an_error(decimal: str, thousands: str) -> None:
    with pytest.raises(ParameterError, match=r"decimal=|thousands="):
        Numerals(decimal, thousands)
