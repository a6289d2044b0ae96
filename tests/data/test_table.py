"""Tables: the same from every library, with clear errors for invalid data."""

import tracemalloc
import warnings
from math import nan
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from few_rows import OUTCOME, PATIENTS, X, Y
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, SchemaMismatch


def assert_same_table(left: Table, right: Table) -> None:
    assert left.schema == right.schema
    assert repr(left.schema) == repr(right.schema)  # 1, 1.0 and True are equal, and print differently
    assert_array_equal(left.target, right.target)
    for left_column, right_column in zip(left.columns, right.columns, strict=True):
        assert_array_equal(left_column, right_column)


# -- one table from every library ----------------------------------------------------------------------------


def test_a_frame_becomes_numbers_and_positions_of_categories(as_frame):
    table = Table.from_frame(as_frame({**PATIENTS, "outcome": OUTCOME}))
    assert table.schema == Schema(
        (
            Feature("age", low=41.0, high=63.0),
            Feature("ward", "nominal", categories=("er", "icu")),
            Feature("smoker", "nominal", categories=(False, True)),
            Feature("bmi", low=22.5, high=31.0),
            Feature("stage", "ordered", 0.0, 3.0, ("II", "I", "IV", "III")),
        ),
        Target("outcome", ("died", "lived")),
    )
    expected = [[41, nan, 63, 55], [1, 0, nan, 1], [1, nan, 0, 1], [22.5, 31, 27.25, nan], [1, 2, nan, 0]]
    for column, values in zip(table.columns, expected, strict=True):
        assert column.dtype == np.float64
        assert_array_equal(column, values)
    assert_array_equal(table.target, [1, 0, 0, 1])
    assert table.target.dtype == np.int32
    assert (table.n_rows, table.n_features, table.weight) == (4, 5, None)


def column_of(values):
    return st.lists(st.one_of(st.none(), values), min_size=3, max_size=3)


whole = st.integers(-(2**53), 2**53)
real = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
frames = st.fixed_dictionaries(
    {
        "whole": column_of(whole),
        "real": column_of(real),
        "text": column_of(words),
        "flag": column_of(st.booleans()),
    }
)
stages = column_of(st.sampled_from(["I", "II", "III", "IV"]))
targets = st.one_of(
    *(st.lists(values, min_size=3, max_size=3) for values in (st.booleans(), words, st.integers(0, 9), real))
)


@given(columns=frames, order=stages, y=targets)
@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_every_library_gives_the_same_table(every_frame, columns, order, y):
    first, *others = [
        Table.from_frame(as_frame({**columns, "stage": order, "outcome": y})) for as_frame in every_frame
    ]
    for other in others:
        assert_same_table(other, first)


@given(columns=frames, y=targets)
@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_an_array_of_objects_gives_the_same_table_as_a_frame(every_frame, objects, columns, y):
    named = {f"x{index}": values for index, values in enumerate(columns.values())}
    from_array = Table.from_arrays(objects(named), y)
    for as_frame in every_frame:
        assert_same_table(Table.from_arrays(as_frame(named), np.array(y, dtype=object)), from_array)


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", "b", "a"],
        ("a", "b", "b", "a"),
        np.array(["a", "b", "b", "a"]),
        np.array(["a", "b", "b", "a"], dtype=object),
        pd.Series(["a", "b", "b", "a"], index=[9, 8, 7, 6]),
        pd.Series(["a", "b", "b", "a"], dtype="category"),
        pl.Series(["a", "b", "b", "a"]),
        nw.from_native(pl.Series(["a", "b", "b", "a"]), series_only=True),
        pa.array(["a", "b", "b", "a"]),
        pa.chunked_array([["a", "b"], ["b", "a"]]),
    ],
)
def test_the_target_comes_in_any_container(y):
    table = Table.from_arrays(X, y)
    assert table.schema.target == Target("y", ("a", "b"))
    assert_array_equal(table.target, [0, 1, 1, 0])


@pytest.mark.parametrize(
    "frame", [nw.from_native(pl.DataFrame(PATIENTS)), pa.RecordBatch.from_pydict(PATIENTS)]
)
def test_narwhals_frames_and_record_batches_are_frames_too(frame):
    assert Table.from_arrays(frame, Y).schema.names == tuple(PATIENTS)


def test_a_list_of_rows_keeps_its_numbers_next_to_text():
    table = Table.from_arrays([[1, "a"], [2.5, "b"]], [0, 1])
    assert table.schema.features == (
        Feature("x0", low=1.0, high=2.5),
        Feature("x1", "nominal", categories=("a", "b")),
    )


# -- memory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_of_a_float_array_are_views_that_cannot_be_written(order):
    matrix = np.asarray(X, order=order)
    table = Table.from_arrays(matrix, Y)
    assert all(np.shares_memory(column, matrix) for column in table.columns)
    assert not any(column.flags.writeable for column in table.columns)
    assert matrix.flags.writeable


def test_columns_of_a_frame_of_floats_are_views():
    frame = pd.DataFrame(X, columns=["a", "b"])
    table = Table.from_arrays(frame, Y)
    assert all(np.shares_memory(column, frame.to_numpy()) for column in table.columns)


def test_reading_a_large_array_needs_little_memory_besides_it():
    matrix = np.random.default_rng(0).random((20_000, 60))
    y = np.arange(20_000) % 3
    Table.from_arrays(X, Y)  # whatever is imported or cached is not at stake
    tracemalloc.start()
    Table.from_arrays(matrix, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * matrix.nbytes


def test_rows_are_the_asked_for_columns_side_by_side():
    table = Table.from_arrays(X, Y, custom_features=["x0 > 2"])
    matrix = table.rows([2, 0])
    assert matrix.flags.c_contiguous
    assert_array_equal(matrix, [[0, 1], [0, 2], [1, 3], [1, 4]])


# -- kinds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [["x1"], [1], [False, True], np.array([1]), np.array([False, True])])
def test_numbers_become_categories_on_request(choice):
    table = Table.from_arrays(X, Y, categorical_features=choice)
    assert table.schema.features[0].kind == "numeric"
    assert table.schema.features[1] == Feature("x1", "nominal", categories=(5, 6, 7))
    assert_array_equal(table.columns[1], [0, 1, 0, 2])


def test_without_categorical_features_only_text_is_nominal():
    frame = pl.DataFrame({"flag": [True, False], "text": ["a", "b"]})
    table = Table.from_arrays(frame, [0, 1], categorical_features=None)
    assert [feature.kind for feature in table.schema.features] == ["numeric", "nominal"]


def test_flags_of_categorical_features_are_one_per_column():
    with pytest.raises(DataError, match="1 flags for 2 columns"):
        Table.from_arrays(X, Y, categorical_features=[True])


# -- warnings ------------------------------------------------------------------------------------------------


def test_a_single_class_is_fine_with_a_warning():
    with pytest.warns(DataWarning, match="the target has one class, 'a'"):
        table = Table.from_arrays(X, ["a"] * 4)
    assert table.schema.target.classes == ("a",)


def test_one_row_gives_one_warning():
    with pytest.warns(DataWarning) as caught:
        Table.from_arrays([[1.0, 2.0]], [0])
    assert len(caught) == 1


def test_constant_and_empty_columns_are_named_in_one_warning():
    frame = pl.DataFrame({"a": [1.0, 1.0], "b": [None, None], "c": ["x", "x"], "d": [1, 2], "e": [1.0, None]})
    with pytest.warns(DataWarning, match="single value, or without any: 'a', 'b', 'c'.") as caught:
        Table.from_arrays(frame, [0, 1])
    assert len(caught) == 1


def test_a_flood_of_constant_columns_is_cut_short():
    with pytest.warns(DataWarning, match="'x9' and 32 more"):
        Table.from_arrays(np.zeros((2, 42)), [0, 1])


def test_good_data_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Table.from_arrays(X, Y)


# -- custom features -----------------------------------------------------------------------------------------


def test_a_custom_features_is_a_feature_after_the_columns():
    frame = pl.DataFrame({"bmi": [20.0, 40.0, None], "sex": ["f", "m", "f"], "outcome": [0, 1, 1]})
    table = Table.from_frame(frame, custom_features=["bmi ** 2 < 900", "sex == 'm'"])
    assert table.schema.names == ("bmi", "sex", "bmi ** 2 < 900", "sex == 'm'")
    assert table.schema.features[2] == Feature("bmi ** 2 < 900", "question", categories=(False, True))
    assert_array_equal(table.columns[2], [1.0, 0.0, nan])
    assert_array_equal(table.columns[3], [0.0, 1.0, 0.0])
    assert table.n_features == 4


def test_a_custom_features_asked_twice_raises_an_error():
    with pytest.raises(DataError, match="same text: 'x0 > 2'"):
        Table.from_arrays(X, Y, custom_features=["x0 > 2", "x0 > 2"])


def test_the_schema_s_custom_features_are_asked_of_new_data():
    schema = Table.from_arrays(X, Y, custom_features=["x0 > 2"]).schema
    table = Table.from_arrays(X[::-1], Y, schema=schema)
    assert_array_equal(table.columns[2], [1, 1, 0, 0])
    with pytest.raises(SchemaMismatch, match="x1 > 2"):
        Table.from_arrays(X, Y, schema=schema, custom_features=["x1 > 2"])


# -- argument errors -----------------------------------------------------------------------------------------


ASKED = Table.from_arrays(X, Y, custom_features=["x0 > 2"]).schema


@pytest.mark.parametrize("schema", [None, ASKED], ids=["new data", "on a schema"])
@pytest.mark.parametrize("feature", [3, None, ["x0 > 2"], b"x0 > 2"], ids=repr)
def test_a_custom_feature_is_a_text(feature: Any, schema: Any):
    with pytest.raises(TypeError, match=r"custom_features\[1\] is .*: it must be a text, such as"):
        Table.from_arrays(X, Y, custom_features=["x0 > 2", feature], schema=schema)


@pytest.mark.parametrize("schema", [None, ASKED], ids=["new data", "on a schema"])
def test_a_text_is_no_list_of_custom_features(schema: Any):
    with pytest.raises(DataError, match=r"custom_features must be a list of texts: write \['x0 > 2'\]"):
        Table.from_arrays(X, Y, custom_features="x0 > 2", schema=schema)


@pytest.mark.parametrize("features", [3, None, 0.5])
def test_custom_features_are_a_list(features: Any):
    with pytest.raises(TypeError, match=f"custom_features is {features}: it must be a list of texts"):
        Table.from_arrays(X, Y, custom_features=features)


@pytest.mark.parametrize("listed", [list, tuple, iter, np.array])
def test_custom_features_may_come_in_anything_that_lists_them(listed: Any):
    table = Table.from_arrays(X, Y, custom_features=listed(["x0 > 2"]))
    assert table.schema == ASKED
    assert type(table.schema.names[2]) is str
    assert Table.from_arrays(X, Y, custom_features=listed(["x0 > 2"]), schema=ASKED).schema is ASKED


@pytest.mark.parametrize("choice", [3, 0.5, True, np.int64(1), np.array(1), "x1"], ids=repr)
def test_categorical_features_are_a_list(choice: Any):
    with pytest.raises(DataError, match=r"categorical_features is .*, not 'from_dtype', None or a list"):
        Table.from_arrays(X, Y, categorical_features=choice)


@pytest.mark.parametrize("choice", [[[0, 1]], [0.5], [None], [2], ["x2"]], ids=repr)
def test_categorical_features_are_names_or_indices_of_columns(choice: Any):
    with pytest.raises(DataError, match=r"categorical_features names .*, which is not in the data"):
        Table.from_arrays(X, Y, categorical_features=choice)


# -- zero weight ---------------------------------------------------------------------------------------------


LAST = [1.0, 1.0, 0.0]  # the last row has no weight


def test_it_widens_no_range_and_adds_no_category_or_class() -> None:
    frame = pd.DataFrame({"age": [20.0, 30.0, 99.0], "ward": ["a", "b", "c"]})
    table = Table.from_arrays(frame, ["home", "died", "moved"], LAST)
    age, ward = table.schema.features
    assert (age.low, age.high) == (20.0, 30.0)
    assert ward.categories == ("a", "b")
    assert table.schema.target.classes == ("died", "home")
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.columns[1], [0.0, 1.0, np.nan])


def test_its_text_does_not_make_a_column_of_numbers_nominal() -> None:
    frame = pd.DataFrame({"age": pd.Series([20.0, 30.0, "old"], dtype=object)})
    table = Table.from_arrays(frame, [0, 1, 1], LAST)
    assert table.schema.features[0].kind == "numeric"
    np.testing.assert_array_equal(table.columns[0], [20.0, 30.0, np.nan])


def test_its_numbers_do_not_make_classes_a_quantity() -> None:
    n_rows = 30  # as many integers would be a quantity
    weight = [1.0, 1.0] + [0.0] * (n_rows - 2)
    table = Table.from_arrays(np.arange(float(n_rows))[:, np.newaxis], np.arange(n_rows), weight)
    assert table.schema.target.classes == (0, 1)


def test_it_is_checked_all_the_same_and_named_as_the_user_sees_it() -> None:
    with pytest.raises(DataError, match="infinity, first at row 2"):
        Table.from_arrays([[1.0], [2.0], [np.inf]], ["a", "b", "a"], LAST)
    with pytest.raises(DataError, match="1 missing label, first at row 2"):
        Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", None], LAST)


def test_on_a_schema_only_what_rows_of_positive_weight_hold_must_fit() -> None:
    frame = pd.DataFrame({"ward": ["a", "b", "c"]})
    schema = Table.from_arrays(frame[:2], ["home", "died"]).schema
    table = Table.from_arrays(frame, ["home", "died", "moved"], LAST, schema=schema)
    np.testing.assert_array_equal(table.columns[0], [0.0, 1.0, np.nan])
    with pytest.raises(SchemaMismatch, match="'c'"):
        Table.from_arrays(frame, ["home", "died", "home"], [1.0, 0.0, 1.0], schema=schema)
