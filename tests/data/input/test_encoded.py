"""Text and categories read once per distinct value: the same column as value by value."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from holdfast.data.columns import encode_series, read_column

TOWNS = ["Ulm", "Bonn", None, "", "Ulm", "Köln", None, "Bonn"]


CONTAINERS = {
    "pandas objects": lambda towns: pd.Series(towns, dtype=object),
    "pandas text": lambda towns: pd.Series(towns, dtype="string"),
    "pandas text of Python": lambda towns: pd.Series(towns, dtype=pd.StringDtype("python")),
    "pandas text of Arrow": lambda towns: pd.Series(towns, dtype=pd.ArrowDtype(pa.string())),
    "pandas dictionary of Arrow": lambda towns: pd.Series(
        towns, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "pandas categories": lambda towns: pd.Series(
        pd.Categorical(towns, ["Aachen", "Ulm", "Köln", "Bonn", ""])
    ),
    "polars text": pl.Series,
    "polars categories": lambda towns: pl.Series(towns, dtype=pl.Categorical),
    "arrow text": lambda towns: pa.chunked_array([towns[:3], towns[3:]]),
    "arrow dictionary": lambda towns: pa.chunked_array(
        [pa.array(part).dictionary_encode() for part in (towns[:3], towns[3:])]
    ),
}


def series_of(make, values):
    return nw.from_native(make(values), series_only=True)


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("values", [TOWNS, [None, None, None, None], ["Ulm"] * 5])
def test_a_column_is_the_same_in_every_container(make, values):
    values = [*values]
    one_by_one = read_column(np.array([*values, "Ulm"], object)[:-1], "column 'town'")
    column = read_column(series_of(make, values), "column 'town'")
    assert (column.kind, column.labels) == (one_by_one.kind, one_by_one.labels)
    assert_array_equal(column.values, one_by_one.values)


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_a_category_that_no_row_has_is_not_there(make):
    own = encode_series(series_of(make, TOWNS))
    assert own is not None
    assert sorted(own.values) == ["", "Bonn", "Köln", "Ulm"]
    assert [None if code < 0 else own.values[code] for code in own.codes] == TOWNS


def test_objects_of_several_kinds_are_read_one_by_one():
    mixed = nw.from_native(pd.Series([True, 1, "1", None], dtype=object), series_only=True)
    assert encode_series(mixed) is None


def test_a_strange_category_is_named_with_its_row():
    pairs = pd.Series(pd.Categorical([("a", 1), ("b", 2), ("a", 1)]), index=["ann", "bob", "eve"])
    with pytest.raises(TypeError, match="holds a tuple at row 'ann'"):
        read_column(nw.from_native(pairs, series_only=True), "column 'pair'")


def test_an_order_and_its_unused_categories_are_kept():
    size = pd.Series(pd.Categorical(["L", None, "S"], ["S", "M", "L"], ordered=True))
    column = read_column(nw.from_native(size, series_only=True), "column 'size'")
    assert (column.kind, column.labels) == ("ordered", ("S", "M", "L"))
    assert_array_equal(column.values, [2.0, np.nan, 0.0])


def test_numbers_that_are_categories_stay_categories():
    years = pd.Series(pd.Categorical([2019, None, 2021, 2019], [2018, 2019, 2021]))
    column = read_column(nw.from_native(years, series_only=True), "column 'year'")
    assert (column.kind, column.labels) == ("nominal", (2019, 2021))
    assert_array_equal(column.values, [0.0, np.nan, 1.0, 0.0])
