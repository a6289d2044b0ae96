"""Columns of any dtype read as float64: numbers, or positions in a list of labels."""

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import repeat
from math import isinf, nan
from numbers import Complex, Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray, LongArray
from holdfast._text import RowLabels, first_rows, quoted, row_name
from holdfast.data.frame import OrderedText
from holdfast.data.schema import Feature, Label, sort_labels
from holdfast.errors import DataError, DataWarning

# How to read a column: by its dtype; numbers too as categories; True and False too as numbers.
Reading = Literal["by dtype", "categories", "numbers"]
ValueType = Literal["missing", "text", "flag", "number", "date", "complex", "other"]

FLAGS: tuple[Label, ...] = (False, True)
EXACT = 2.0**63  # below it, integral floats fit into 64 bits
MERGING = 2**53  # beyond it, different integers become equal floats


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one column: numbers, or positions in `labels`; NaN where missing."""

    kind: Literal["numeric", "ordered", "nominal"]
    values: FloatArray
    labels: tuple[Label, ...] = ()

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Smallest and greatest value; NaN if all are missing."""
        return float(np.fmin.reduce(self.values)), float(np.fmax.reduce(self.values))

    def feature(self, name: str) -> Feature:
        """Make the feature of this column, with its range or categories."""
        if self.kind == "nominal":
            return Feature(name, "nominal", categories=self.labels)
        if self.kind == "ordered":
            return Feature(name, "ordered", 0.0, float(max(len(self.labels) - 1, 0)), self.labels)
        low, high = self.extent
        return Feature(name, "numeric", 0.0, 0.0) if np.isnan(low) else Feature(name, "numeric", low, high)


def read_column(raw: Any, what: str, reading: Reading = "by dtype", rows: RowLabels | None = None) -> Column:
    """Read a numpy array or narwhals Series; `what` and `rows` name it and its rows in messages.

    Text, categoricals and True/False are nominal, with the labels that occur in sorted order (True/False
    always has both); ordered categoricals keep their order and all labels; numbers are numeric, and so is a
    column without any value. A warning lists integers that become equal as float64.
    """
    if isinstance(raw, OrderedText):
        return _read_ordered(raw.texts.tolist(), list(raw.order), what)
    rows = rows or RowLabels.of(raw)
    if isinstance(raw, np.ndarray):
        column = _read_array(raw, what, reading, rows)
    else:
        column = _read_series(raw, what, reading, rows)
    if column.kind == "numeric" and any(map(isinf, column.extent)):
        raise make_infinity_error(what, first_rows(np.isinf(column.values), rows))
    if any(isinstance(label, float) and isinf(label) for label in column.labels):
        raise make_infinity_error(what, "as a category")
    if column.kind == "numeric" and max(map(abs, column.extent)) >= MERGING:
        way_out = "read it as categories to keep them apart"
        if note := note_merged_integers(_list_merging_integers(raw), what, way_out):
            warnings.warn(note, DataWarning, stacklevel=4)
    return column if column.labels else Column("numeric", column.values)


def to_label(value: Any) -> Label:
    """Convert a value to a Python label: whole floats become ints, so that 3.0 and 3 are one category."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        number = float(value)
        return int(number) if number.is_integer() and abs(number) < EXACT else number
    return str(value)


def make_infinity_error(what: str, where: str) -> DataError:
    """Make the error about an infinite value."""
    return DataError(
        f"{what} contains infinity, {where}. Use a large number instead, or mark it as missing (NaN)."
    )


def note_merged_integers(numbers: Iterable[int], what: str, way_out: str) -> str:
    """Note which integers become equal as floats; an empty text if none do."""
    merged: dict[float, int] = {}
    for number in dict.fromkeys(numbers):
        other = merged.setdefault(float(number), number)
        if other != number:
            return (
                f"{what} has integers beyond 2**53 that become equal as floats, such as {other} and "
                f"{number}: {way_out}."
            )
    return ""


# -- by container --------------------------------------------------------------------------------------------


def _read_array(array: NDArray[Any], what: str, reading: Reading, rows: RowLabels | None) -> Column:
    kind = array.dtype.kind
    if kind in "Mm":
        raise _date_error(what, "date" if kind == "M" else "duration")
    if kind == "b" and reading != "numbers":
        return Column("nominal", array.astype(np.float64), FLAGS)
    if kind in "biuf":
        return _read_as_categories(array) if reading == "categories" else _numeric(array)
    return _read_objects(array.tolist(), what, reading, rows)


def _read_series(series: Any, what: str, reading: Reading, rows: RowLabels | None) -> Column:
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_temporal():
        raise _date_error(what, dtype.base_type().__name__.lower())
    order = _declared_order(series, dtype)
    if order is not None and reading != "categories":
        return _read_distinct(series, partial(_read_ordered, order=order, what=what))
    if dtype == nw.Categorical and reading == "by dtype":
        reading = "categories"  # of numbers too, such as zip codes
    # Integers with missing values come as floats, which merge large ones.
    gaps = reading == "categories" and dtype.is_integer() and series.null_count() > 0
    in_numpy = dtype == nw.Boolean or (
        dtype.is_numeric() and dtype not in (nw.Int128, nw.UInt128, nw.Decimal)
    )
    if in_numpy and not gaps:
        return _read_array(series.to_numpy(), what, reading, rows)
    return _read_distinct(series, partial(_read_objects, what=what, reading=reading, rows=rows))


def _read_distinct(series: Any, read: Callable[[list[Any]], Column]) -> Column:
    """Apply `read` to each distinct value once if the series has codes."""
    own = encode_series(series)
    if own is None or any(_value_type(type(value)) == "other" for value in own.values):
        return read(series.to_list())  # an error names the row
    column = read(own.values)
    return Column(column.kind, np.append(column.values, nan)[own.codes], column.labels)


def _read_objects(values: list[Any], what: str, reading: Reading, rows: RowLabels | None) -> Column:
    types = _value_types(values, what, rows)
    if types <= {"missing", "number"} and reading != "categories":
        return _numeric(_to_floats(values, what))
    known = {value for value in set(values) if not _is_missing(value)}
    present = {_value_type(type(value)) for value in known}
    if "text" not in present and reading != "categories" and (present != {"flag"} or reading == "numbers"):
        return _numeric(_to_floats(values, what))
    labels = FLAGS if present == {"flag"} else sort_labels({to_label(value) for value in known})
    return Column("nominal", _encode_labels(values, known, labels), labels)


# -- by kind -------------------------------------------------------------------------------------------------


def _numeric(array: NDArray[Any]) -> Column:
    return Column("numeric", array.astype(np.float64, copy=False))


def _read_as_categories(numbers: NDArray[Any]) -> Column:
    distinct = np.unique(numbers)
    distinct = distinct[~np.isnan(distinct)]
    values = np.searchsorted(distinct, numbers).astype(np.float64)
    values[np.isnan(numbers)] = nan
    return Column("nominal", values, tuple(map(to_label, distinct.tolist())))


def _read_ordered(values: list[Any], order: list[Any], what: str) -> Column:
    declared = [label for label in order if not _is_missing(label)]
    _value_types(declared, what)
    labels = tuple(map(to_label, declared))
    return Column("ordered", _encode_labels(values, declared, labels), labels)


def _encode_labels(values: list[Any], known: Collection[Any], labels: tuple[Label, ...]) -> FloatArray:
    """Return the position of each label; NaN for an unknown one."""
    position = {label: float(index) for index, label in enumerate(labels)}
    code = {value: position[to_label(value)] for value in known}
    return np.fromiter(map(code.get, values, repeat(nan)), np.float64, len(values))


def _to_floats(values: list[Any], what: str) -> FloatArray:
    # numpy converts None to NaN, but not the missing values of pandas.
    missing = {kind for kind in set(map(type, values)) if _value_type(kind) == "missing"}
    try:
        return np.array([None if type(value) in missing else value for value in values], dtype=np.float64)
    except OverflowError as error:
        raise make_infinity_error(what, "or a number too large for float64") from error


def _declared_order(series: Any, dtype: Any) -> list[Any] | None:
    """Return the categories of an ordered categorical in order; None for any other column."""
    import narwhals as nw

    if dtype == nw.Enum:
        return list(dtype.categories)
    if dtype != nw.Categorical:
        return None
    native = series.to_native()
    arrow = getattr(getattr(native, "array", None), "__arrow_array__", lambda: native)()
    if not getattr(getattr(arrow, "type", None), "ordered", False):
        return None
    chunks = arrow.unify_dictionaries().chunks
    return list(chunks[0].dictionary.to_pylist()) if chunks else []


def _list_merging_integers(raw: Any) -> list[int]:
    """List the integers beyond 2**53 that the data held before conversion to float."""
    if not isinstance(raw, np.ndarray):
        raw = np.array([] if raw.dtype.is_float() else raw.drop_nulls().unique().to_list(), object)
    if raw.dtype.kind in "iu":
        return [number for number in np.unique(raw).tolist() if abs(number) >= MERGING]
    if raw.dtype.kind != "O":
        return []
    whole = [value for value in raw.tolist() if isinstance(value, Integral | Decimal) and value == value]
    return [number for number in map(int, whole) if abs(number) >= MERGING]


# -- Python values -------------------------------------------------------------------------------------------


def _value_type(kind: type) -> ValueType:
    """Return the column type that holds values of this Python type."""
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, str) or kind.__name__ == "Interval":  # what pandas.cut returns
        return "text"
    if issubclass(kind, bool | np.bool_):
        return "flag"
    if issubclass(kind, np.timedelta64):  # an integer, to numpy
        return "date"
    if issubclass(kind, Real | Decimal):
        return "number"
    if issubclass(kind, Complex):
        return "complex"
    return "date" if issubclass(kind, date | time | timedelta | np.datetime64) else "other"


def _value_types(values: Iterable[Any], what: str, rows: RowLabels | None = None) -> set[ValueType]:
    """Return the column types of the values; a TypeError for a type that no column can hold."""
    kinds = {kind: _value_type(kind) for kind in set(map(type, values))}
    for kind, value_type in kinds.items():
        if value_type == "date":
            raise _date_error(what, "duration" if issubclass(kind, timedelta | np.timedelta64) else "date")
        if value_type == "complex":
            raise DataError(f"Complex data not supported: {what} holds complex numbers.")
        if value_type == "other":
            row = next(row for row, value in enumerate(values) if type(value) is kind)
            raise TypeError(
                f"{what} holds a {kind.__name__} at {row_name(row, rows)}: argument must be a string or a "
                "number. Derive columns of numbers or text from it."
            )
    return set(kinds.values())


def _is_missing(value: Any) -> bool:
    # Only a number can be unequal to itself; the truth of pandas.NA is undefined.
    return _value_type(type(value)) == "missing" or (not isinstance(value, str) and bool(value != value))


def _date_error(what: str, noun: str) -> TypeError:
    noun = "date" if noun == "datetime" else noun
    return TypeError(f"{what} is a {noun}: derive a number of days (or months, years) from it.")


# -- Text and categories encoded by their library ------------------------------------------------------------


class EncodedColumn(NamedTuple):
    """Distinct values of a column, and the position of each row's value; -1 where missing."""

    codes: LongArray
    values: list[Any]


def encode_series(series: Any) -> EncodedColumn | None:
    """Encode a text or categorical Series; None if its values must be read one by one.

    >>> import narwhals, pandas
    >>> towns = pandas.Series(["Ulm", "Bonn", None, "Ulm"])
    >>> encode_series(narwhals.from_native(towns, series_only=True))
    EncodedColumn(codes=array([ 0,  1, -1,  0]), values=['Ulm', 'Bonn'])
    """
    import narwhals as nw

    dtype = series.dtype  # slow to access
    if dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return None
    if series.implementation.is_pandas():
        return _encode_pandas(series.to_native())
    if dtype == nw.Object or not find_spec("pyarrow"):
        return None
    if series.implementation.is_polars():
        return _encode_arrow(series.to_native().to_arrow())
    return _encode_arrow(series.to_native()) if series.implementation.is_pyarrow() else None


def _encode_pandas(series: Any) -> EncodedColumn | None:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _drop_unused(series.cat.codes.to_numpy(), series.cat.categories.tolist())
    is_text = isinstance(dtype, pd.StringDtype)
    if isinstance(dtype, pd.ArrowDtype) or (is_text and dtype.storage != "python"):
        return _encode_arrow(series.array.__arrow_array__())
    # Objects of one type only: factorize would merge 1 and True, which are equal.
    if is_text or (series.dtype == object and pd.api.types.infer_dtype(series) == "string"):
        codes, values = pd.factorize(series)
        return EncodedColumn(codes.astype(np.int64, copy=False), values.tolist())
    return None


def _encode_arrow(array: Any) -> EncodedColumn:
    import pyarrow as pa

    is_encoded = pa.types.is_dictionary(array.type)
    if not is_encoded:
        array = array.dictionary_encode()
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = array.dictionary.to_pylist()
    return _drop_unused(codes, values) if is_encoded else EncodedColumn(codes, values)


def _drop_unused(codes: Any, values: list[Any]) -> EncodedColumn:
    """Drop the values that no row has."""
    codes = codes.astype(np.int64)
    is_used = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0
    if is_used.all():
        return EncodedColumn(codes, values)
    positions = np.append(np.cumsum(is_used) - 1, -1)  # the last for the missing ones
    return EncodedColumn(
        positions[codes], [value for value, some in zip(values, is_used, strict=True) if some]
    )


# -- The parameter categorical_features ----------------------------------------------------------------------


def choose_readings(categorical_features: Any, names: Sequence[str]) -> list[Reading]:
    """Choose how each column is read.

    `categorical_features` is "from_dtype"; None to read everything as numbers where possible; or a list of
    names, a list of indices, or one flag per column.

    >>> choose_readings(["ward"], ["age", "ward"])
    ['by dtype', 'categories']
    """
    if categorical_features is None:
        return ["numbers"] * len(names)
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return ["by dtype"] * len(names)
    choices: list[Any] | None = None
    if not isinstance(categorical_features, str):  # its letters are no choices
        with suppress(TypeError):
            choices = list(categorical_features)
    if choices is None:
        raise DataError(
            f"categorical_features is {categorical_features!r}, not 'from_dtype', None or a list. "
            f"For one column, write [{categorical_features!r}]."
        )
    chosen = _find_chosen(choices, names)
    return ["categories" if index in chosen else "by dtype" for index in range(len(names))]


def _find_chosen(choices: list[Any], names: Sequence[str]) -> set[int]:
    if choices and all(isinstance(choice, bool | np.bool_) for choice in choices):
        if len(choices) != len(names):
            raise DataError(f"categorical_features has {len(choices)} flags for {len(names)} columns.")
        return {index for index, choice in enumerate(choices) if choice}
    absent = [choice for choice in choices if not _exists(choice, names)]
    if absent:
        raise DataError(
            f"categorical_features names {quoted(absent)}, which is not in the data. "
            f"Its {len(names)} columns are {quoted(names, 30)}."
        )
    return {names.index(choice) if isinstance(choice, str) else int(choice) for choice in choices}


def _exists(choice: Any, names: Sequence[str]) -> bool:
    if isinstance(choice, int | np.integer):
        return int(choice) in range(len(names))
    return isinstance(choice, str) and choice in names
