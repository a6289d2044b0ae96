"""Frames: names, shapes and ordered text."""

from dataclasses import replace
from math import nan

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from few_rows import X, Y
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from holdfast import (
    AdaBoostClassifier,
    BoostingClassifier,
    DensityTree,
    ForestClassifier,
    StableTreeClassifier,
    Table,
    TreeClassifier,
)
from holdfast._text import row_name
from holdfast.data.frame import Frame, OrderedText, make_frame, stack_frames
from holdfast.errors import DataError


def test_columns_of_an_array_are_named_as_in_scikit_learn():
    assert Table.from_arrays(X, Y).schema.names == ("x0", "x1")


def test_integer_names_become_text():
    assert Table.from_arrays(pd.DataFrame(X), Y).schema.names == ("0", "1")


def test_mixed_names_raise_an_error():
    with pytest.raises(TypeError, match=r"Column names must be text.*'int'"):
        Table.from_arrays(pd.DataFrame(X, columns=["a", 1]), Y)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(X, columns=["a", "a"]), pa.table([X[:, 0], X[:, 1]], names=["a", "a"])]
)
def test_duplicate_column_names_are_listed(frame):
    with pytest.raises(DataError, match="same name: 'a'"):
        Table.from_arrays(frame, Y)


def test_a_missing_target_column_lists_the_columns():
    with pytest.raises(DataError, match=r"no column 'died' in the data. The columns are 'age', 'sex'"):
        Table.from_frame(pl.DataFrame({"age": [1], "sex": ["f"]}), target="died")


def test_an_array_has_no_named_target():
    with pytest.raises(TypeError, match="from_arrays"):
        Table.from_frame(X, target="x1")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            np.empty((0, 3)),
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required.",
        ),
        (pl.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.empty((4, 0)), r"0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1 is required."),
        (pd.DataFrame(index=range(4)), r"0 feature\(s\) \(shape=\(4, 0\)\)"),
        (np.arange(4.0), "(?s)Expected 2D array, got 1D array instead.*Reshape your data"),
        (pd.Series(np.arange(4.0)), "(?s)Expected 2D array, got 1D array instead.*Reshape your data"),
        (3.0, "Expected 2D array, got scalar array instead"),
        (np.zeros((4, 2, 2)), "Found array with dim 3"),
        (X + 1j, "Complex data not supported"),
        ([[1, 2], [3]], "X cannot be read as an array"),
    ],
)
def test_data_of_another_shape_gets_the_standard_message(data, message):
    with pytest.raises(ValueError, match=message):
        Table.from_arrays(data, Y)


def test_sparse_data_raises_an_error_with_the_way_out():
    with pytest.raises(TypeError, match=r"Sparse data was passed.*use X.toarray\(\)"):
        Table.from_arrays(csr_array(X), Y)


def test_a_frame_of_nothing_but_the_target_has_no_features():
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        Table.from_frame(pl.DataFrame({"outcome": [1, 2]}))


def test_rows_and_labels_must_be_as_many():
    with pytest.raises(ValueError, match="inconsistent numbers of rows: 4 in X and 3 in y"):
        Table.from_arrays(X, Y[:3])


def test_what_a_mask_hides_is_missing():
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    table = Table.from_arrays(masked, [0, 1])
    assert_array_equal(table.columns[1], [nan, 4.0])


def test_rows_that_are_taken_keep_their_names():
    frame = make_frame(pd.DataFrame({"a": [1, 2, 3]}, index=["x", "y", "z"]))
    taken = frame.without([]).subset(np.array([False, True, True]))
    assert [row_name(place, taken.rows) for place in range(2)] == ["row 'y'", "row 'z'"]
    assert make_frame(np.ones((2, 2))).rows is None
    for frame in (pl.DataFrame({"a": [1]}), pa.table({"a": [1]})):
        assert make_frame(frame).rows is None


@pytest.mark.parametrize(
    "data", [pd.DataFrame({"x0": [1, 2, 3]}), pl.DataFrame({"x0": [1, 2, 3]}), np.array([[1], [2], [3]])]
)
def test_rows_are_taken_by_flags_or_in_the_order_of_their_numbers(data):
    frame = replace(make_frame(data), names=("a",))
    for rows, values in ((np.array([2, 0, 2]), [3, 1, 3]), (np.array([True, False, True]), [1, 3])):
        taken = frame.subset(rows)
        assert (taken.names, taken.n_rows) == (("a",), len(values))
        assert list(taken.column("a")) == values
        if frame.rows is not None:  # the labels of pandas
            assert [row_name(place, taken.rows) for place in range(len(values))] == [
                f"row {value - 1}" for value in values
            ]


def test_names_that_are_only_positions_are_no_names():
    named = [pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}).lazy(), pa.table({"a": [1, 2]})]
    unnamed = [np.ones((2, 1)), [[1.0], [2.0]], pd.DataFrame([[1.0], [2.0]])]
    for data, is_named in [*((each, True) for each in named), *((each, False) for each in unnamed)]:
        frame = make_frame(data)
        assert frame.is_named is is_named
        assert frame.subset(np.array([0])).is_named is is_named
        assert make_frame(frame) is frame
    both = make_frame(pd.DataFrame({"a": [1], "b": [2]}))
    assert both.without(["b"]).is_named
    assert stack_frames(both, both, ("X_early", "X")).is_named


def test_a_fit_and_a_prediction_read_a_lazy_frame_once():
    reads = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        reads.append(frame.height)
        return frame

    lazy = pl.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 7}).lazy().map_batches(seen)
    y = np.arange(40) % 3 > 0
    models = [
        TreeClassifier(),
        ForestClassifier(2),
        BoostingClassifier(n_estimators=2),
        AdaBoostClassifier(n_estimators=2),
        DensityTree(),
        StableTreeClassifier(method="bootstrap", n_estimators=2),
    ]
    for model in models:
        reads.clear()
        model.fit(lazy, y)
        assert reads == [40], model
        assert model.feature_names_in_.tolist() == ["a", "b"]
        model.predict(lazy)
        assert reads == [40, 40], model


# -- ordered -------------------------------------------------------------------------------------------------


ORDER = ("low", "middle", "high")


def frame(*texts: str | None) -> Frame:
    return Frame(("grade",), [OrderedText(np.array(texts, object), ORDER)], len(texts))


def test_a_column_with_an_order_keeps_it_and_all_its_categories() -> None:
    table = Table.from_arrays(frame("high", "low", None, "low"), ["a", "b", "a", "b"])
    feature = table.schema.features[0]
    assert (feature.kind, feature.categories) == ("ordered", ORDER)
    assert table.columns[0].tolist() == pytest.approx([2.0, 0.0, np.nan, 0.0], nan_ok=True)


def test_some_of_its_rows_have_the_same_order() -> None:
    taken = frame("high", "low", None, "low").subset(np.array([True, False, True, False]))
    assert taken.n_rows == 2
    assert Table.from_arrays(taken, ["a", "b"]).schema.features[0].categories == ORDER


def test_it_is_read_on_a_schema_by_its_words() -> None:
    schema = Table.from_arrays(frame("high", "low"), ["a", "b"]).schema
    plain = Frame(("grade",), [np.array(["middle", "high"], object)], 2)
    for rows in (frame("middle", "high"), plain):
        assert Table.from_arrays(rows, ["a", "b"], schema=schema).columns[0].tolist() == [1.0, 2.0]
