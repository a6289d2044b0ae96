"""The weight of every row."""

from math import inf, nan

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from few_rows import X, Y
from numpy.testing import assert_array_equal

from holdfast.data.table import Table
from holdfast.errors import DataError


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
