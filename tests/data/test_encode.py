"""New rows and new tables, encoded on an old schema."""

import datetime as dt
import warnings
from math import inf, nan

import few_rows
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from holdfast.data.encode import encode_rows
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, SchemaMismatch

NUMBERS = Schema((Feature("a"), Feature("b"), Feature("c")))
X = np.array([[1.0, 2.0, 3.0], [4.0, nan, 6.0]])
PATIENTS = Schema(
    (
        Feature("age", low=18.0, high=90.0),
        Feature("ward", "nominal", categories=("er", "icu")),
        Feature("smoker", "nominal", categories=(False, True)),
        Feature("stage", "ordered", 0.0, 3.0, ("II", "I", "IV", "III")),
        Feature("age > 50 or ward == 'icu'", "question", categories=(False, True)),
    )
)
NEW = {"stage": ["I", None], "age": [60, 30], "smoker": [True, None], "ward": ["er", "icu"]}
CODES = [[60, 0, 1, 1, 1], [30, 1, nan, nan, 1]]


# -- arrays --------------------------------------------------------------------------------------------------


def test_a_whole_float_array_is_returned_as_it_is():
    assert encode_rows(X, NUMBERS, [0, 1, 2]) is X


@pytest.mark.parametrize("make", [np.asfortranarray, lambda array: array.astype("f4"), np.ndarray.tolist])
@pytest.mark.parametrize("features", [[0, 1, 2], [2, 0], [1], []])
def test_features_are_taken_in_the_asked_for_order(make, features):
    matrix = encode_rows(make(X), NUMBERS, features)
    assert matrix.flags.c_contiguous
    assert matrix.dtype == np.float64
    assert_array_equal(matrix, X[:, features])


def test_integers_are_numbers():
    assert_array_equal(encode_rows(np.array([[1, 2, 3]]), NUMBERS, [2, 1]), [[3.0, 2.0]])


@pytest.mark.parametrize("width", [2, 4])
def test_an_array_must_have_as_many_columns_as_the_schema(width):
    message = f"X has {width} features, but Tree is expecting 3 features as input."
    with pytest.raises(ValueError, match=message):
        encode_rows(np.zeros((1, width)), NUMBERS, [0])


def test_infinity_in_an_asked_for_column_raises_an_error_by_name():
    rows = np.array([[1.0, 2.0, 3.0], [inf, -inf, 6.0]])
    with pytest.raises(ValueError, match="column 'b' contains infinity, first at row 1"):
        encode_rows(rows, NUMBERS, [2, 1])
    assert_array_equal(encode_rows(rows, NUMBERS, [2]), [[3.0], [6.0]])


def test_an_array_of_objects_may_hold_text():
    rows = np.array([[60, "er", True, "I"], [30, "icu", None, None]], dtype=object)
    assert_array_equal(encode_rows(rows, PATIENTS, range(5)), CODES)


# -- frames --------------------------------------------------------------------------------------------------


def test_columns_of_a_frame_are_matched_by_name_in_any_order(as_frame):
    matrix = encode_rows(as_frame(NEW), PATIENTS, range(5))
    assert matrix.flags.c_contiguous
    assert_array_equal(matrix, CODES)


@pytest.mark.parametrize("features", [[4], [3, 1], [0, 4, 2], []])
def test_only_the_asked_for_features_of_a_frame_are_encoded(as_frame, features):
    assert_array_equal(encode_rows(as_frame(NEW), PATIENTS, features), np.array(CODES)[:, features])


@pytest.mark.parametrize("asked", [2, 4])
def test_missing_columns_that_are_asked_for_are_listed_with_those_that_are_extra(as_frame, asked):
    frame = as_frame({"bed": [1], "ward": ["er"], "stage": ["I"]})
    missing = "'smoker'" if asked == 2 else "'age'"
    with pytest.raises(
        SchemaMismatch, match=rf"(?s)columns missing +{missing}\n +columns not in the schema +'bed'"
    ):
        encode_rows(frame, PATIENTS, [1, asked])


def test_only_columns_that_are_asked_for_are_needed(as_frame):
    frame = as_frame({"bed": [1], "ward": ["er"], "age": [60]})
    assert_array_equal(encode_rows(frame, PATIENTS, [1, 4]), [[0, 1]])
    assert encode_rows(as_frame({"bed": [1]}), PATIENTS, []).shape == (1, 0)


def test_rows_of_pandas_are_known_by_their_labels():
    frame = pd.DataFrame({"a": [1.0, inf], "b": [None, 2.0], "c": [3, "?"]}, index=["ann", "bob"])
    with pytest.raises(DataError, match="column 'a' contains infinity, first at row 'bob'"):
        encode_rows(frame, NUMBERS, [0])
    with pytest.raises(DataError, match="column 'b' has 1 missing values, first at row 'ann'"):
        encode_rows(frame, NUMBERS, [1], handle_missing="error")
    with pytest.raises(SchemaMismatch, match=r"text '\?', first at row 'bob'"):
        encode_rows(frame, NUMBERS, [2])


@pytest.mark.parametrize("age", [["60", "30"], ["old", None]])
def test_text_is_never_read_as_a_number(age):
    with pytest.raises(
        SchemaMismatch, match=f"column 'age': numeric in the schema, and here the text '{age[0]}'"
    ):
        encode_rows(pl.DataFrame({**NEW, "age": age}), PATIENTS, [0])


def test_numbers_are_never_read_as_text():
    with pytest.raises(
        SchemaMismatch, match="column 'ward': nominal of text in the schema, and here the number 3"
    ):
        encode_rows(pl.DataFrame({**NEW, "ward": [3, 4]}), PATIENTS, [1])


def test_a_column_that_is_not_asked_for_may_hold_anything():
    frame = pl.DataFrame({**NEW, "smoker": [dt.date(2020, 1, 1)] * 2})
    assert_array_equal(encode_rows(frame, PATIENTS, [0]), [[60], [30]])


def test_flags_may_come_as_zeros_and_ones():
    assert_array_equal(encode_rows(pl.DataFrame({**NEW, "smoker": [1.0, 0.0]}), PATIENTS, [2]), [[1], [0]])


def test_flags_are_numbers_where_the_schema_has_numbers():
    assert_array_equal(encode_rows(pl.DataFrame({**NEW, "age": [True, False]}), PATIENTS, [0]), [[1], [0]])


def test_numeric_categories_are_matched_by_value():
    schema = Schema((Feature("zone", "nominal", categories=(1, 2, 2.5)),))
    assert_array_equal(encode_rows(np.array([[2.0], [2.5], [1.0]]), schema, [0]), [[1], [2], [0]])
    assert_array_equal(encode_rows(pl.DataFrame({"zone": [2, None, 1]}), schema, [0]), [[1], [nan], [0]])


def test_a_column_without_any_value_fits_every_kind():
    frame = pl.DataFrame({name: [None] for name in NEW})
    assert np.isnan(encode_rows(frame, PATIENTS, range(5))).all()


# -- unknown categories --------------------------------------------------------------------------------------


def test_unknown_categories_count_as_missing_with_one_warning(as_frame):
    frame = as_frame(
        {"age": [1, 2, 3], "smoker": [True] * 3, "stage": ["I"] * 3, "ward": ["ccu", "er", "ccu"]}
    )
    with pytest.warns(DataWarning, match=r"count as missing: column 'ward': 'ccu' \(2 rows\)") as caught:
        matrix = encode_rows(frame, PATIENTS, [1])
    assert len(caught) == 1
    assert_array_equal(matrix, [[nan], [0], [nan]])


def test_unknown_categories_raise_an_error_on_request():
    frame = pl.DataFrame({**NEW, "ward": ["ccu", "er"]})
    with pytest.raises(SchemaMismatch, match=r"new categories +column 'ward': 'ccu'"):
        encode_rows(frame, PATIENTS, [1], handle_unknown="error")


def test_unknown_categories_elsewhere_do_not_matter():
    frame = pl.DataFrame({**NEW, "ward": ["ccu", "er"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_rows(frame, PATIENTS, [0, 2], handle_unknown="error")


def test_an_unknown_category_leaves_a_custom_features_open():
    frame = pl.DataFrame({**NEW, "ward": ["ccu", "ccu"]})
    with pytest.warns(DataWarning, match="'ccu'"):
        assert_array_equal(encode_rows(frame, PATIENTS, [4]), [[1], [nan]])


# -- missing values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [X, pl.DataFrame(X, schema=["a", "b", "c"])])
def test_missing_values_raise_an_error_on_request_where_asked_for(rows):
    with pytest.raises(DataError, match="column 'b' has 1 missing values, first at row 1"):
        encode_rows(rows, NUMBERS, [0, 1], handle_missing="error")
    assert_array_equal(encode_rows(rows, NUMBERS, [0, 2], handle_missing="error"), X[:, [0, 2]])


def test_missing_values_behind_a_custom_features_raise_an_error_too():
    with pytest.raises(DataError, match="column 'age' has 1 missing values"):
        encode_rows(pl.DataFrame({**NEW, "age": [None, 30]}), PATIENTS, [4], handle_missing="error")


@pytest.mark.parametrize("policy", [{"handle_unknown": "ignore"}, {"handle_missing": "drop"}])
def test_a_policy_that_does_not_exist_raises_an_error(policy):
    with pytest.raises(DataError, match="is unknown: choose one of"):
        encode_rows(X, NUMBERS, [0], **policy)


# -- agreement with the table --------------------------------------------------------------------------------

cells = st.tuples(
    st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    st.one_of(st.none(), st.sampled_from("abc")),
    st.one_of(st.none(), st.booleans()),
)


@given(rows=st.lists(cells, min_size=1, max_size=6))
@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_the_rows_a_table_was_read_from_are_encoded_as_its_columns(as_frame, rows):
    columns = dict(zip(["number", "text", "flag"], map(list, zip(*rows, strict=True)), strict=True))
    table = Table.from_arrays(as_frame(columns), [0] * len(rows), custom_features=["number > 1"])
    assert_array_equal(encode_rows(as_frame(columns), table.schema, range(4)), table.rows(range(4)))


# -- tables on a schema --------------------------------------------------------------------------------------


OLD = Table.from_frame(pl.DataFrame({**few_rows.PATIENTS, "outcome": few_rows.OUTCOME})).schema


def test_new_data_is_matched_by_name_and_value(as_frame):
    schema = Table.from_frame(as_frame({**few_rows.PATIENTS, "outcome": few_rows.OUTCOME})).schema
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


def test_a_target_of_the_other_task_does_not_fit_the_schema():
    quantity = Table.from_arrays(few_rows.X, [0.5, 1.5, 2.5, 3.5]).schema
    assert_array_equal(
        Table.from_arrays(few_rows.X, [9, 8, 7, 6], schema=quantity).target, [9.0, 8.0, 7.0, 6.0]
    )
    with pytest.raises(SchemaMismatch, match="numeric in the schema, and here the text 'a'"):
        Table.from_arrays(few_rows.X, ["a", "b", "a", "b"], schema=quantity)
    with pytest.raises(SchemaMismatch, match="holds numbers, and the task is classification"):
        Table.from_arrays(few_rows.X, few_rows.Y, schema=quantity, task="classification")


def test_ranges_are_those_of_the_schema():
    schema = Table.from_arrays(few_rows.X, few_rows.Y).schema
    assert Table.from_arrays(few_rows.X * 100, few_rows.Y, schema=schema).schema.features[0].high == 4.0
