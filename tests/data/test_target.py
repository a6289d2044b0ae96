"""Targets and weights."""

from math import inf, nan

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from few_rows import X, Y
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.errors import DataError


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a", "b", "a"], ("a", "b")),
        ([True, False, True, False], (False, True)),
        (np.array([2.0, 1.0, 2.0, 1.0]), (1, 2)),
        (np.array([2, -1, 2, -1], dtype=object), (-1, 2)),
        (pd.Categorical(["b", "a", "b", "a"], categories=["z", "b", "a"], ordered=True), ("a", "b")),
        (pl.Series([20, 10, 20, 10], dtype=pl.UInt8), (10, 20)),
    ],
)
def test_labels_become_classes_in_sorted_order(y, classes):
    table = Table.from_arrays(X, y)
    assert table.schema.target.classes == classes
    assert [type(label) for label in table.schema.target.classes] == [type(label) for label in classes]
    assert_array_equal(table.target, [1, 0, 1, 0])


@pytest.mark.parametrize("y", [[1.5, 2.0, 3.0, 1.0], np.array([0.1, 0.2, 0.3, 0.4], np.float32)])
def test_numbers_with_fractions_are_a_quantity(y):
    table = Table.from_arrays(X, y)
    assert table.schema.target == Target("y", low=float(min(y)), high=float(max(y)))
    assert table.target.dtype == np.float64


def test_more_than_twenty_integers_are_a_quantity():
    column = np.arange(21.0)[:, None]
    assert not Table.from_arrays(column, np.arange(21)).schema.target.is_classes
    assert Table.from_arrays(column[:20], np.arange(20)).schema.target.is_classes
    assert Table.from_arrays(column, np.arange(21), task="classification").schema.target.is_classes


def test_integers_are_a_quantity_if_the_task_says_so():
    table = Table.from_arrays(X, Y, task="regression")
    assert table.schema.target == Target("y", low=0.0, high=1.0)
    assert_array_equal(table.target, [0.0, 1.0, 1.0, 0.0])


def test_a_continuous_target_is_no_label():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        Table.from_arrays(X, [0.5, 1, 2, 3], task="classification")


def test_text_is_no_quantity():
    with pytest.raises(
        DataError, match="Regression needs numbers, and the target 'y' holds the labels 'a', 'b'"
    ):
        Table.from_arrays(X, ["a", "b", "a", "b"], task="regression")


@pytest.mark.parametrize("task", ["classification", "regression", None])
@pytest.mark.parametrize("y", [[1, None, 0, None], [1.0, nan, 0.0, nan], pl.Series([1, None, 0, None])])
def test_missing_labels_are_counted(y, task):
    with pytest.raises(DataError, match="2 missing labels, first at rows 1, 3"):
        Table.from_arrays(X, y, task=task)


def test_missing_text_labels_are_counted():
    with pytest.raises(DataError, match="'outcome' has 1 missing label, first at row 2"):
        Table.from_frame(pl.DataFrame({"age": [1, 2, 3], "outcome": ["a", "b", None]}))


@pytest.mark.parametrize("task", ["classification", "regression", None])
def test_an_infinite_target_raises_an_error(task):
    with pytest.raises(ValueError, match="the target 'y' contains infinity"):
        Table.from_arrays(X, [1.0, inf, 2.0, 3.0], task=task)


@pytest.mark.parametrize("y", [Y[:, None], pd.DataFrame({"y": Y}), Y[:, None].tolist()])
def test_a_column_vector_target_is_taken_with_a_warning(y):
    with pytest.warns(
        DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"
    ):
        table = Table.from_arrays(X, y)
    assert_array_equal(table.target, Y)


@pytest.mark.parametrize("y", [np.zeros((4, 2)), 3, pd.DataFrame({"a": Y, "b": Y})])
def test_a_target_of_another_shape_raises_an_error(y):
    with pytest.raises(ValueError, match="y should be a 1d array"):
        Table.from_arrays(X, y)


def test_no_target_raises_an_error_as_in_scikit_learn():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        Table.from_arrays(X, None)


def test_an_unknown_task_raises_an_error():
    with pytest.raises(DataError, match=r"task='ranking' is unknown"):
        Table.from_arrays(X, Y, task="ranking")


# -- weight --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weight", [[1, 2, 0, 1], np.array([1, 2, 0, 1], "f4"), pd.Series([1, 2, 0, 1]), pa.array([1, 2, 0, 1])]
)
def test_weights_come_in_any_container(weight):
    assert_array_equal(Table.from_arrays(X, Y, weight).weight, [1.0, 2.0, 0.0, 1.0])


@pytest.mark.parametrize("weight", [None, 1, 1.0, np.ones(4), [1, 1, 1, 1]])
def test_weights_of_one_are_no_weights(weight):
    assert Table.from_arrays(X, Y, weight).weight is None


def test_one_number_is_the_weight_of_every_row():
    assert_array_equal(Table.from_arrays(X, Y, 2.5).weight, [2.5] * 4)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -2, 1, -1], "sample_weight has 2 negative values, first at rows 1, 3"),
        ([1, nan, 1, 1], "sample_weight has 1 missing values, first at row 1"),
        ([1, inf, 1, 1], "sample_weight contains infinity"),
        ([0, 0, 0, 0], "sample_weight is zero for every row"),
        (0, "sample_weight is zero for every row"),
        ([1, 2], "sample_weight has 2 values, and the data has 4 rows"),
        (np.ones((4, 1)), "sample_weight should be a 1d array"),
        (["a", "b", "c", "d"], "sample_weight must be numbers"),
    ],
)
def test_bad_weights_raise_an_error(weight, message):
    with pytest.raises(DataError, match=message):
        Table.from_arrays(X, Y, weight)


def test_weights_may_be_a_column_of_the_frame(as_frame):
    table = Table.from_frame(as_frame({"age": [1, 2], "w": [1.0, 3.0], "outcome": [0, 1]}), sample_weight="w")
    assert table.schema.names == ("age",)
    assert_array_equal(table.weight, [1.0, 3.0])
