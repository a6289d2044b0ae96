"""Rows of weight 0 keep their place, are checked, and define nothing."""

import numpy as np
import pandas as pd
import pytest

from holdfast.data.table import Table
from holdfast.errors import DataError, SchemaMismatch

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
