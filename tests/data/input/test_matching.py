"""New data on the schema of old data."""

from math import nan

import numpy as np
import polars as pl
import pytest
from few_rows import OUTCOME, PATIENTS, X, Y
from numpy.testing import assert_array_equal

from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataWarning, SchemaMismatch

OLD = Table.from_frame(pl.DataFrame({**PATIENTS, "outcome": OUTCOME})).schema


def test_new_data_is_matched_by_name_and_value(as_frame):
    schema = Table.from_frame(as_frame({**PATIENTS, "outcome": OUTCOME})).schema
    new = {
        "stage": ["IV", "II"],
        "bmi": [50.0, 18.0],
        "smoker": [False, True],
        "ward": ["icu", None],
        "age": [9, 70],
    }
    with pytest.warns(DataWarning, match="one class"):
        table = Table.from_frame(as_frame({"outcome": ["lived", "lived"], **new}), schema=schema)
    assert table.schema is schema
    expected = [[9, 70], [1, nan], [0, 1], [50, 18], [2, 0]]
    for column, values in zip(table.columns, expected, strict=True):
        assert_array_equal(column, values)
    assert_array_equal(table.target, [1, 1])


def test_new_data_may_be_an_array_in_the_schema_s_order():
    rows = [[41, "icu", True, 22.5, "I"], [50, "er", False, 30.0, "IV"]]
    table = Table.from_arrays(rows, ["died", "lived"], schema=OLD)
    assert_array_equal(table.columns[4], [0, 2])
    assert_array_equal(table.target, [0, 1])


def test_a_column_that_is_all_missing_in_the_new_data_fits_any_kind():
    rows = [[41, None, None, 22.5, None], [50, None, None, 30.0, None]]
    with pytest.warns(DataWarning, match="'ward', 'smoker', 'stage'"):
        table = Table.from_arrays(rows, ["died", "lived"], schema=OLD)
    assert np.isnan(table.columns[1]).all()


def test_all_that_differs_from_the_schema_is_shown_at_once():
    new = pl.DataFrame(
        {
            "age": ["old", "young"],
            "ward": ["icu", "ccu"],
            "smoker": [True, False],
            "bmi": [20.0, 21.0],
            "id": [1, 2],
            "outcome": ["moved", "died"],
        }
    )
    with pytest.raises(SchemaMismatch) as caught:
        Table.from_frame(new, schema=OLD)
    assert str(caught.value).splitlines() == [
        "The data does not fit the schema:",
        "  columns missing            'stage'",
        "  columns not in the schema  'id'",
        "  kind differs               column 'age': numeric in the schema, and here the text 'old', "
        "first at row 0",
        "  new categories             column 'ward': 'ccu'",
        "  new classes                'moved'",
        "Give the data exactly the columns of the schema, in any order.",
        "Give these columns the type they had in the data that the schema was read from.",
        "To accept them, read the data without a schema and measure both on a wider one: "
        "old.schema.widened(new.schema).",
    ]


@pytest.mark.parametrize("ward", [[1, 2], [1.5, 2.5]])
def test_numbers_where_the_schema_has_text_are_no_new_categories(ward):
    schema = Schema((Feature("ward", "nominal", categories=("1", "2")),), Target("y", (0, 1)))
    with pytest.raises(SchemaMismatch, match=f"nominal of text in the schema, and here the number {ward[0]}"):
        Table.from_arrays(pl.DataFrame({"ward": ward}), [0, 1], schema=schema)


def test_a_wider_schema_takes_the_new_categories_in():
    old = Table.from_frame(pl.DataFrame({"ward": ["er", "icu"], "outcome": [0, 1]}))
    new = pl.DataFrame({"ward": ["ccu", "er"], "outcome": [2, 0]})
    wide = old.schema.widened(Table.from_frame(new).schema)
    table = Table.from_frame(new, schema=wide)
    assert wide.features[0].categories == ("ccu", "er", "icu")
    assert_array_equal(table.columns[0], [0, 1])
    assert_array_equal(table.target, [2, 0])


def test_an_array_with_another_number_of_columns_raises_an_error():
    with pytest.raises(SchemaMismatch, match="X has 2 features, but Tree is expecting 5 features as input"):
        Table.from_arrays(X, OUTCOME, schema=OLD)


def test_a_target_of_the_other_task_does_not_fit_the_schema():
    quantity = Table.from_arrays(X, [0.5, 1.5, 2.5, 3.5]).schema
    assert_array_equal(Table.from_arrays(X, [9, 8, 7, 6], schema=quantity).target, [9.0, 8.0, 7.0, 6.0])
    with pytest.raises(SchemaMismatch, match="numeric in the schema, and here the text 'a'"):
        Table.from_arrays(X, ["a", "b", "a", "b"], schema=quantity)
    with pytest.raises(SchemaMismatch, match="holds numbers, and the task is classification"):
        Table.from_arrays(X, Y, schema=quantity, task="classification")


def test_ranges_are_those_of_the_schema():
    schema = Table.from_arrays(X, Y).schema
    assert Table.from_arrays(X * 100, Y, schema=schema).schema.features[0].high == 4.0
