"""Which columns only tell rows apart."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from holdfast.data.read import explain_identifier

COUNT = np.arange(1.0, 41.0)


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "patient_id",
        "PassengerId",
        "patientID",
        "id_of_case",
        "case no",
        "Kunden-Nr",
        "Unnamed: 0",
    ],
)
def test_integers_are_known_by_their_name(name: str) -> None:
    assert explain_identifier(name, COUNT * 17, 40)


@pytest.mark.parametrize("name", ["age", "income", "number of beds", "width", "paid", "idle", "year", "x0"])
def test_other_integers_are_measurements_though_all_different(name: str) -> None:
    assert not explain_identifier(name, COUNT * 17, 40)


@pytest.mark.parametrize(
    "numbers", [COUNT + 0.5, COUNT // 2, np.append(COUNT[:-1], np.nan), COUNT[:10]],
    ids=["fractions", "repeated", "gaps", "few"],
)  # fmt: skip
def test_even_under_such_a_name_numbers_may_be_measurements(numbers: np.ndarray) -> None:
    known = numbers[~np.isnan(numbers)]
    assert not explain_identifier("id", numbers, len(np.unique(known)))


def test_long_numbers_are_identifiers_under_any_name() -> None:
    assert explain_identifier("account", COUNT + 1e16, 40)


def test_text_is_one_if_nearly_every_row_has_its_own() -> None:
    texts = np.array([f"Ms {number}" for number in range(40)] + [None] * 30, object)
    assert explain_identifier("name", texts, 40)
    texts[:5] = "Ms 7"
    assert not explain_identifier("name", texts, 35)


def test_columns_of_frames_are_read_too() -> None:
    for values in (range(40), [f"P{number}" for number in range(40)]):
        series = nw.from_native(pl.Series(list(values)), series_only=True)
        assert explain_identifier("id", series, 40)
