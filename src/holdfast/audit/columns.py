"""The columns in another order, with a column of noise, or with their last digits moved."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.audit.rows import AuditRows
from holdfast.data.input.frame import Frame
from holdfast.data.schema import Feature, Schema
from holdfast.random_streams import Stream, generator

MOST_DECIMALS = 15  # more of them no float has


class Columns(NamedTuple):
    """All rows with their columns as a change leaves them."""

    X: Any  # to learn from
    X_test: Any  # to predict
    schema: Schema  # in the order of the columns, on which trees are measured


ColumnChange = Callable[[AuditRows, Schema], Columns]


def as_given(rows: AuditRows, schema: Schema) -> Columns:
    """The columns as they are."""
    return Columns(rows.X, rows.X, schema)


def permuted(stream: Stream, rows: AuditRows, schema: Schema) -> Columns:
    """The columns in a random order."""
    by_name = np.array(schema.name_order)
    order = by_name[generator(*stream).permutation(len(by_name))].tolist()
    X = reordered(rows.X, order)
    return Columns(X, X, Schema(tuple(schema.features[place] for place in order), schema.target))


def with_noise(stream: Stream, rows: AuditRows, schema: Schema) -> Columns:
    """A further column of random numbers, normally distributed."""
    name = "noise"
    while name in schema.names:
        name += "_"
    noise = generator(*stream).normal(size=rows.n_rows)
    feature = Feature(name, low=float(noise.min()), high=float(noise.max()))
    X = with_column(rows.X, name, noise)
    return Columns(X, X, Schema((*schema.features, feature), schema.target))


def with_last_digits_moved(stream: Stream, rows: AuditRows, schema: Schema) -> Columns:
    """Every number moved at random by at most half of the last digit that its column has.

    Only in the rows to learn from: those to predict stay as they are. A column of two values is left alone.
    """
    moved = {}
    for rank, place in enumerate(schema.name_order):
        values = rows.table.columns[place]
        if schema.features[place].kind == "numeric" and len(np.unique(values[~np.isnan(values)])) > 2:
            shift = generator(*stream, rank).uniform(-0.5, 0.5, rows.n_rows)
            moved[place] = values + shift * last_digit(values)
    return Columns(with_numbers(rows.X, moved), rows.X, schema)


def last_digit(values: FloatArray) -> float:
    """The unit of the last digit that it takes to write all of the numbers down.

    >>> last_digit(np.array([1.5, 2.25, np.nan])), last_digit(np.array([30.0, 41.0]))
    (0.01, 1.0)
    """
    known = values[~np.isnan(values)]
    for decimals in range(MOST_DECIMALS):
        if (np.abs(known) < 1e15).all() and (np.round(known, decimals) == known).all():
            return float(f"1e-{decimals}")
    return float(f"1e-{MOST_DECIMALS}")


# -- arrays and frames of any library ---------------------------------------------------------------------


def reordered(X: Any, order: list[int]) -> Any:
    """The columns of X in this order, in the type of X."""
    if isinstance(X, np.ndarray):
        return X[:, order]
    if isinstance(X, Frame):
        names, columns = (tuple(each[place] for place in order) for each in (X.names, X.columns))
        return Frame(names, columns, X.n_rows, is_named=X.is_named, rows=X.rows)
    import narwhals as nw

    frame = _narwhals(X)
    return frame.select([nw.col(frame.columns[place]) for place in order]).to_native()


def with_column(X: Any, name: str, values: FloatArray) -> Any:
    """X with one column more, the last."""
    if isinstance(X, np.ndarray):
        return np.column_stack([X, values])
    if isinstance(X, Frame):
        columns = (*X.columns, values)
        return Frame((*X.names, name), columns, X.n_rows, is_named=X.is_named, rows=X.rows)
    frame = _narwhals(X)
    label: Any = name if all(isinstance(each, str) for each in frame.columns) else len(frame.columns)
    return frame.with_columns(_series(frame, label, values)).to_native()


def with_numbers(X: Any, changed: Mapping[int, FloatArray]) -> Any:
    """X with other numbers in the columns at these places."""
    if isinstance(X, np.ndarray):
        copy = X.astype(object if X.dtype == object else np.float64)
        for place, values in changed.items():
            copy[:, place] = values
        return copy
    if isinstance(X, Frame):
        columns = [changed.get(place, column) for place, column in enumerate(X.columns)]
        return Frame(X.names, columns, X.n_rows, is_named=X.is_named, rows=X.rows)
    frame = _narwhals(X)
    columns = [_series(frame, frame.columns[place], values) for place, values in changed.items()]
    return frame.with_columns(*columns).to_native() if columns else X


def _narwhals(X: Any) -> Any:
    import narwhals as nw

    return nw.from_native(X, eager_only=True)


def _series(frame: Any, name: Any, values: FloatArray) -> Any:
    """A column of these numbers in the library of the frame, and with its row labels."""
    import narwhals as nw

    series = nw.new_series(name, values, nw.Float64, backend=frame.implementation)
    native = frame.to_native()
    if hasattr(native, "index"):  # of pandas: otherwise rows are matched by their labels
        labelled = series.to_native()
        labelled.index = native.index
        return nw.from_native(labelled, series_only=True)
    return series
