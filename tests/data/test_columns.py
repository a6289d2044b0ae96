"""Columns of any dtype, read as float64."""

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from math import inf, isnan, nan

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from holdfast.data.columns import encode_series, read_column
from holdfast.data.frame import as_vector
from holdfast.errors import DataError, DataWarning


def read(values, reading="by dtype"):
    raw = values if isinstance(values, np.ndarray) else nw.from_native(values, series_only=True)
    return read_column(raw, "column 'c'", reading)


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u8", ">f8", "longdouble"])
def test_numbers_of_any_width_are_numeric(dtype):
    column = read(np.array([2, 1, 3], dtype))
    assert column.kind == "numeric"
    assert column.values.dtype == np.float64
    assert_array_equal(column.values, [2.0, 1.0, 3.0])


def test_a_float64_column_is_not_copied():
    matrix = np.random.default_rng(0).random((5, 3))
    assert np.shares_memory(read(matrix[:, 1]).values, matrix)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, lambda values: pa.chunked_array([values])])
def test_a_float64_series_without_gaps_is_not_copied(make):
    series = make(np.arange(5.0))
    assert np.shares_memory(read(series).values, nw.from_native(series, series_only=True).to_numpy())


def test_extreme_but_finite_numbers_are_kept_to_the_bit():
    extremes = np.array([1e308, -1e308, 5e-324, -0.0, np.nextafter(1.0, 2.0)])
    assert read(extremes).values.tobytes() == extremes.tobytes()


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], np.dtypes.StringDType()),
        objects("b", "a", "b"),
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="string[pyarrow]"),
        pd.Series(pd.Categorical(["b", "a", "b"], categories=["z", "b", "a"])),
        pl.Series(["b", "a", "b"]),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pa.chunked_array([["b", "a"], ["b"]]),
        pa.chunked_array([pa.array(["b", "a", "b"]).dictionary_encode()]),
    ],
)
def test_text_is_nominal_with_the_labels_present_in_sorted_order(values):
    column = read(values)
    assert (column.kind, column.labels) == ("nominal", ("a", "b"))
    assert_array_equal(column.values, [1.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "values",
    [
        objects("b", None, "a"),
        objects("b", nan, "a"),
        objects("b", pd.NA, "a"),
        objects("b", pd.NaT, "a"),
        pd.Series(["b", None, "a"]),
        pd.Series(["b", None, "a"], dtype="string"),
        pd.Series(pd.Categorical(["b", None, "a"])),
        pl.Series(["b", None, "a"]),
        pl.Series(["b", None, "a"], dtype=pl.Categorical),
        pa.chunked_array([pa.array(["b", None, "a"])]),
        pa.chunked_array([pa.array(["b", None, "a"]).dictionary_encode()]),
    ],
)
def test_every_library_s_missing_text_is_missing(values):
    assert_array_equal(read(values).values, [1.0, nan, 0.0])


def test_empty_text_is_a_category_like_any_other():
    assert read(objects("", "a")).labels == ("", "a")


@pytest.mark.parametrize(
    "values",
    [
        objects(2, None, 1.5),
        objects(2, pd.NA, Decimal("1.5")),
        objects(np.int8(2), nan, Fraction(3, 2)),
        pd.Series([2.0, None, 1.5]),
        pd.Series([2.0, None, 1.5], dtype="Float64"),
        pd.Series([2.0, None, 1.5], dtype="double[pyarrow]"),
        pd.Series(pd.arrays.SparseArray([2.0, nan, 1.5])),
        pl.Series([2.0, None, 1.5]),
        pl.Series([2.0, nan, 1.5]),
        pl.Series([Decimal("2"), None, Decimal("1.5")]),
        pa.chunked_array([pa.array([2.0, None, 1.5])]),
        pa.chunked_array([pa.array([Decimal("2.0"), None, Decimal("1.5")])]),
    ],
)
def test_null_and_nan_are_both_missing_numbers(values):
    column = read(values)
    assert column.kind == "numeric"
    assert_array_equal(column.values, [2.0, nan, 1.5])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pl.Series([1, None, 3]),
        pl.Series([1, None, 3], dtype=pl.Int128),
        pa.chunked_array([pa.array([1, None, 3], pa.uint8())]),
    ],
)
def test_integers_may_have_gaps(values):
    assert_array_equal(read(values).values, [1.0, nan, 3.0])


@pytest.mark.parametrize(
    "values",
    [
        objects(True, None, True),
        objects(np.True_, nan, True),
        pd.Series([True, None, True], dtype="boolean"),
        pd.Series([True, None, True], dtype=object),
        pd.Series([True, None, True], dtype="bool[pyarrow]"),
        pl.Series([True, None, True]),
        pa.chunked_array([pa.array([True, None, True])]),
    ],
)
def test_flags_are_nominal_and_always_have_both_values(values):
    column = read(values)
    assert (column.kind, column.labels) == ("nominal", (False, True))
    assert all(isinstance(label, bool) for label in column.labels)
    assert_array_equal(column.values, [1.0, nan, 1.0])


def test_flags_can_be_read_as_numbers():
    column = read(np.array([True, False]), "numbers")
    assert column.kind == "numeric"
    assert_array_equal(column.values, [1.0, 0.0])


def test_flags_among_numbers_are_numbers():
    assert_array_equal(read(objects(True, 2, None)).values, [1.0, 2.0, nan])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(pd.Categorical(["hi", None, "lo"], categories=["lo", "mid", "hi"], ordered=True)),
        pl.Series(["hi", None, "lo"], dtype=pl.Enum(["lo", "mid", "hi"])),
        pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(
                    pa.array([2, None, 0]), pa.array(["lo", "mid", "hi"]), ordered=True
                )
            ]
        ),
    ],
)
def test_an_ordered_categorical_keeps_its_order_and_all_its_labels(values):
    column = read(values)
    assert (column.kind, column.labels) == ("ordered", ("lo", "mid", "hi"))
    assert_array_equal(column.values, [2.0, nan, 0.0])


def test_an_ordered_categorical_can_be_read_as_plain_categories():
    column = read(pl.Series(["hi", "lo"], dtype=pl.Enum(["lo", "mid", "hi"])), "categories")
    assert (column.kind, column.labels) == ("nominal", ("hi", "lo"))


def test_age_bands_cut_by_pandas_are_ordered():
    column = read(pd.Series(pd.cut([15, 35, 75], [0, 30, 60, 90])))
    assert (column.kind, column.labels) == ("ordered", ("(0, 30]", "(30, 60]", "(60, 90]"))


def test_the_dictionary_of_a_later_arrow_chunk_does_not_shift_the_codes():
    chunks = pa.chunked_array(
        [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    )
    column = read(chunks)
    assert column.labels == ("a", "b", "c")
    assert_array_equal(column.values, [1.0, 0.0, 2.0, 0.0])


@pytest.mark.parametrize(
    "values",
    [np.array([3.0, nan, 3.5]), objects(3, None, 3.5), pl.Series([3.0, None, 3.5]), objects(3.0, nan, 3.5)],
)
def test_numbers_read_as_categories_make_whole_floats_integers(values):
    column = read(values, "categories")
    assert column.labels == (3, 3.5)
    assert [type(label) for label in column.labels] == [int, float]
    assert_array_equal(column.values, [0.0, nan, 1.0])


@pytest.mark.parametrize("make", [np.array, pl.Series, lambda values: pl.Series([*values, None])])
def test_large_identifiers_stay_apart_as_categories(make):
    labels = [2**60, 2**60 + 1]
    assert read(make(labels), "categories").labels == tuple(labels)


def test_numbers_stand_before_text_in_a_mixed_column():
    assert read(objects("b", 10, "a", 2.5)).labels == (2.5, 10, "a", "b")


@pytest.mark.parametrize(
    "values",
    [
        np.array([nan, nan]),
        objects(None, nan),
        pd.Series([None, None]),
        pl.Series([None, None], dtype=pl.Enum([])),
        pl.Series([None, None]),
        pl.Series([None, None], dtype=pl.String),
    ],
)
@pytest.mark.parametrize("reading", ["by dtype", "numbers", "categories"])
def test_a_column_without_any_value_is_numeric(values, reading):
    column = read(values, reading)
    assert column.kind == "numeric"
    assert all(map(isnan, column.values))
    assert (column.feature("c").low, column.feature("c").high) == (0.0, 0.0)


@pytest.mark.parametrize(
    "values",
    [
        np.array(["2020-01-01", "2020-01-02"], "M8[ns]"),
        objects(dt.date(2020, 1, 1), None),
        objects(pd.Timestamp("2020"), None),
        objects(np.datetime64("2020"), None),
        pd.Series(pd.to_datetime(["2020-01-01"])),
        pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")),
        pl.Series([dt.date(2020, 1, 1)]),
        pl.Series([dt.datetime(2020, 1, 1)]),
        pa.chunked_array([[dt.date(2020, 1, 1)]]),
    ],
)
def test_a_date_says_what_to_derive_from_it(values):
    with pytest.raises(TypeError, match="column 'c' is a date: derive a number of days"):
        read(values)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2], "m8[s]"),
        objects(dt.timedelta(1)),
        objects(np.timedelta64(1, "D")),
        pl.Series([dt.timedelta(1)]),
    ],
)
def test_a_duration_says_what_to_derive_from_it(values):
    with pytest.raises(TypeError, match="column 'c' is a duration: derive a number"):
        read(values)


def test_a_time_of_day_says_what_to_derive_from_it():
    with pytest.raises(TypeError, match="column 'c' is a time: derive a number"):
        read(pl.Series([dt.time(12)]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (objects(1.0, {"foo": "bar"}), "dict at row 1"),
        (objects([1], [2]), "list at row 0"),
        (np.array([b"a"]), "bytes at row 0"),
        (pl.Series([[1], [2]]), "list at row 0"),
        (pl.Series([{"a": 1}]), "dict at row 0"),
        (pl.Series([b"a"]), "bytes at row 0"),
        (pa.chunked_array([[b"a"]]), "bytes at row 0"),
    ],
)
def test_anything_that_is_neither_text_nor_number_raises_an_error(values, kind):
    with pytest.raises(TypeError, match=f"column 'c' holds a {kind}: argument must be a string or a number"):
        read(values)


@pytest.mark.parametrize("values", [objects(1j, 2), pd.Series([1j])])
def test_complex_numbers_raise_an_error(values):
    with pytest.raises(DataError, match="Complex data not supported"):
        read(values)


@pytest.mark.parametrize(
    "values", [np.array([1.0, inf]), np.array([1.0, -inf]), objects(1, inf), pl.Series([1.0, inf])]
)
@pytest.mark.parametrize("reading", ["by dtype", "numbers", "categories"])
def test_infinity_raises_an_error_by_name(values, reading):
    with pytest.raises(DataError, match="column 'c' contains infinity"):
        read(values, reading)


def test_infinity_raises_an_error_with_the_row():
    with pytest.raises(DataError, match="contains infinity, first at rows 1, 3"):
        read(np.array([1.0, inf, nan, -inf]))


def test_a_number_too_large_for_float64_counts_as_infinity():
    with pytest.raises(DataError, match="contains infinity"):
        read(objects(10**400, 1))


def test_an_ordered_column_ranges_over_the_positions_of_its_labels():
    feature = read(pl.Series(["lo"], dtype=pl.Enum(["lo", "mid", "hi"]))).feature("dose")
    assert (feature.kind, feature.low, feature.high) == ("ordered", 0.0, 2.0)


def test_a_numeric_column_ranges_over_its_known_values():
    feature = read(np.array([3.0, nan, -1.0])).feature("c")
    assert (feature.low, feature.high, feature.categories) == (-1.0, 3.0, ())


# -- integers beyond 2**53 -----------------------------------------------------------------------------------

LONG = [2**53, 2**53 + 1, 5]  # the first two are one float


@pytest.mark.parametrize(
    "column",
    [
        np.array(LONG),
        np.array(LONG, np.uint64),
        -np.array(LONG),
        np.array(LONG, object),
        np.array([*LONG, None], object),
        np.array([np.int64(number) for number in LONG], object),
        pd.Series(LONG),
        pd.Series([*LONG, None], dtype="Int64"),
        pd.Series(LONG, dtype="uint64[pyarrow]"),
        pd.Series(LONG, dtype=object),
        pl.Series(LONG),
        pl.Series([*LONG, None]),
        pl.Series(LONG, dtype=pl.UInt64),
        pl.Series(LONG, dtype=pl.Int128),
        pa.chunked_array([LONG]),
        pa.chunked_array([[*LONG, None]]),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', '')} {len(column)}",
)
def test_integers_that_run_together_are_told_of(column):
    line = as_vector(column, "x")
    with pytest.warns(DataWarning, match=r"column 'x' has integers beyond 2\*\*53 .* -?\d+ and -?\d+: "):
        read_column(line, "column 'x'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_column(line, "column 'x'", "categories").labels) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "column", [np.array([2**53, 2**54, 2**60]), np.array([1e300, 2e300]), np.array([2**53 - 1, 2**53 - 2])]
)
def test_large_numbers_that_stay_apart_are_no_surprise(column):
    assert read_column(column, "x").kind == "numeric"


def test_a_categorical_of_numbers_is_nominal_as_it_says():
    for values in (pd.Categorical([20, 10, 20]), pd.Categorical([20.0, 10.0, 20.0])):
        column = read(pd.Series(values))
        assert (column.kind, column.labels) == ("nominal", (10, 20))
    assert read(pd.Series(pd.Categorical([20, 10, 20])), "numbers").kind == "numeric"


# -- encoded -------------------------------------------------------------------------------------------------


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
