"""Frames: named columns made from numpy arrays, pandas, polars or Arrow data."""

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, LongArray
from holdfast._text import RowLabels, columns_text, quoted
from holdfast.errors import DataError

RESHAPE = (
    "Reshape your data with X.reshape(-1, 1) if it is a single feature, or with X.reshape(1, -1) if it is a "
    "single row."
)


@dataclass(frozen=True, eq=False)
class Frame:
    """Named columns of one length, each with its own dtype."""

    names: tuple[str, ...]
    columns: Sequence[Any]  # 1-D numpy arrays, narwhals Series, or OrderedText
    n_rows: int
    matrix: NDArray[Any] | None = None  # the numpy array that the columns are views of; None for a frame
    is_named: bool = True  # False if the names are mere positions
    rows: RowLabels | None = None  # names of the rows in messages; None: their positions

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def column(self, name: str) -> Any:
        """Return the column of that name; a DataError lists the names if it is absent."""
        if name not in self._positions:
            raise DataError(f"There is no column {name!r} in the data. {columns_text([name], self.names)}")
        return self.columns[self._positions[name]]

    def without(self, names: Iterable[str]) -> "Frame":
        """Drop the columns of these names."""
        dropped = set(names)
        kept = [index for index, name in enumerate(self.names) if name not in dropped]
        _check_shape((self.n_rows, len(kept)))
        columns = [self.columns[i] for i in kept]
        names = tuple(self.names[i] for i in kept)
        return Frame(names, columns, self.n_rows, is_named=self.is_named, rows=self.rows)

    def subset(self, rows: BoolArray | LongArray) -> "Frame":
        """Select rows by a mask or row numbers."""
        if self.matrix is not None:
            return replace(_frame_of_matrix(self.matrix[rows]), names=self.names)
        n_rows = int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)
        columns = [subset_vector(column, rows) for column in self.columns]
        labels = None if self.rows is None else self.rows.subset(rows)
        return Frame(self.names, columns, n_rows, is_named=self.is_named, rows=labels)


def subset_vector(vector: Any, rows: BoolArray | LongArray) -> Any:
    """Select entries of a column by a mask or row numbers."""
    if isinstance(vector, np.ndarray | OrderedText):
        return vector[rows]
    return vector.filter(rows.tolist()) if rows.dtype == np.bool_ else vector[rows]


def stack_frames(first: Frame, second: Frame, names: tuple[str, str]) -> Frame:
    """Concatenate two frames; columns are matched by name."""
    missing = [name for name in second.names if name not in first.names]
    extra = [name for name in first.names if name not in second.names]
    if missing or extra:
        raise DataError(
            f"{names[0]} and {names[1]} must have the same columns: {quoted(missing) or 'none'} only in "
            f"{names[1]}, {quoted(extra) or 'none'} only in {names[0]}."
        )
    columns = [stack_vectors(first.column(name), second.column(name)) for name in second.names]
    return Frame(second.names, columns, first.n_rows + second.n_rows, is_named=second.is_named)


def stack_vectors(first: Any, second: Any) -> Any:
    """Concatenate two columns, numpy arrays or narwhals Series."""
    if isinstance(first, OrderedText) and isinstance(second, OrderedText) and first.order == second.order:
        return OrderedText(np.concatenate([first.texts, second.texts]), first.order)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        is_mixed = len({array.dtype.kind in "biufc" for array in (first, second)}) > 1
        kind = object if is_mixed else None  # else numpy would convert the numbers to text
        return np.concatenate([np.asarray(first, kind), np.asarray(second, kind)])
    if not isinstance(first, np.ndarray) and not isinstance(second, np.ndarray):
        import narwhals as nw

        if first.dtype == second.dtype and first.implementation == second.implementation:
            frames = [series.rename("column").to_frame() for series in (first, second)]
            return nw.concat(frames, how="vertical")["column"]
    entries = [
        vector.tolist() if isinstance(vector, np.ndarray) else vector.to_list() for vector in (first, second)
    ]
    both = np.empty(len(first) + len(second), object)
    both[:] = [*entries[0], *entries[1]]
    return both


def make_frame(X: Any) -> Frame:
    """Make a frame of a 2-D array or list of rows (names x0, x1, ...) or of a data frame, without copying.

    Lazy frames are collected; integer column names become text.
    """
    if isinstance(X, Frame):
        return X
    _raise_for_sparse(X)
    native = _as_narwhals(X)
    if native is None:
        return _frame_of_matrix(_as_array(X, "X"))
    if not hasattr(native, "iter_columns"):
        raise DataError(
            f"Expected 2D array, got 1D array instead: X is a series of {len(native)} values. {RESHAPE}"
        )
    _check_shape(native.shape)
    names, columns = _check_names(native.columns), list(native.iter_columns())
    is_named = isinstance(native.columns[0], str)
    return Frame(names, columns, native.shape[0], is_named=is_named, rows=RowLabels.of(native))


def as_vector(y: Any, what: str, *, allow_column: bool = False) -> Any:
    """Return one-dimensional data as a numpy array or a narwhals Series.

    With `allow_column`, data of shape (n, 1) is accepted with scikit-learn's warning.
    """
    _raise_for_sparse(y)
    native = _as_narwhals(y)
    vector: Any = _as_array(y, what) if native is None else native
    shape = vector.shape
    if len(shape) == 1:
        return vector
    if not (allow_column and len(shape) == 2 and shape[1] == 1):
        raise DataError(f"{what} should be a 1d array, got an array of shape {shape} instead.")
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        f"A column-vector {what} was passed when a 1d array was expected: use {what}.ravel().",
        DataConversionWarning,
        stacklevel=4,
    )
    return vector.ravel() if native is None else next(vector.iter_columns())


def _as_narwhals(X: Any) -> Any:
    """Return X as a narwhals DataFrame or Series; None if it is not a frame."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.Array):
        X = pyarrow.chunked_array([X])
    elif pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        X = pyarrow.Table.from_batches([X])
    if not isinstance(X, nw.DataFrame | nw.LazyFrame | nw.Series):
        _raise_for_repeated_names(X)
    native = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        return native.collect()
    return native if isinstance(native, nw.DataFrame | nw.Series) else None


def _as_array(X: Any, what: str) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):  # numpy would expose the masked values
        mask, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[mask] = None
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US" and isinstance(X, list | tuple):
            # numpy has converted the numbers of a mixed list to text.
            array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise DataError(f"{what} cannot be read as an array: {error}") from error
    return array


def _frame_of_matrix(matrix: NDArray[Any]) -> Frame:
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported: give the real and the imaginary part as two columns.")
    if matrix.ndim < 2:
        shape = "1D" if matrix.ndim == 1 else "scalar"
        raise DataError(
            f"Expected 2D array, got {shape} array instead: X has the shape {matrix.shape}. {RESHAPE}"
        )
    if matrix.ndim > 2:
        raise DataError(f"Found array with dim {matrix.ndim}, while dim <= 2 is required.")
    n_rows, n_columns = matrix.shape
    _check_shape((n_rows, n_columns))
    names = tuple(f"x{index}" for index in range(n_columns))
    return Frame(names, [matrix[:, index] for index in range(n_columns)], n_rows, matrix, is_named=False)


def _check_shape(shape: tuple[int, int]) -> None:
    for size, noun in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise DataError(f"Found array with 0 {noun}(s) (shape={shape}) while a minimum of 1 is required.")


def _check_names(names: Sequence[Any]) -> tuple[str, ...]:
    whole = all(isinstance(name, int | np.integer) for name in names)
    other = sorted({type(name).__name__ for name in names if not isinstance(name, str)})
    if other and not whole:
        raise TypeError(
            f"Column names must be text, and some here are of type {quoted(other)}. "
            "Rename the columns, for example with X.columns = X.columns.astype(str)."
        )
    return tuple(map(str, names))


def _raise_for_repeated_names(X: Any) -> None:
    import narwhals as nw

    names: list[Any] = []
    if nw.dependencies.is_pandas_like_dataframe(X):
        names = list(X.columns)
    elif nw.dependencies.is_pyarrow_table(X):
        names = X.column_names
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(
            f"Several columns have the same name: {quoted(repeated)}. Rename or drop all but one."
        )


def _raise_for_sparse(X: Any) -> None:
    sparse = sys.modules.get("scipy.sparse")  # if not imported, X cannot be sparse
    if sparse is not None and sparse.issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required: use X.toarray().")


# -- Text with ordered categories ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OrderedText:
    """Text with ordered categories, None where missing."""

    texts: NDArray[Any]
    order: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: NDArray[Any]) -> "OrderedText":
        """Select rows by a mask or row numbers."""
        return OrderedText(self.texts[rows], self.order)
