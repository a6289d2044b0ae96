"""The group of every row, such as a patient: rows of one group always stay together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.input.columns import Reading, read_column
from holdfast.data.input.frame import as_vector
from holdfast.data.schema import Label
from holdfast.data.split.row_keys import label_keys
from holdfast.errors import DataError
from holdfast.text.lists import RowLabels, first_rows


def read_groups(groups: Any, n_rows: int, rows: RowLabels | None = None) -> LongArray:
    """Return the key of every row's group, which depends on its label alone."""
    check_not_name(groups, "groups")
    vector = as_vector(groups, "groups")
    _check_length(vector, "groups", n_rows)
    if _is_integer(vector):
        return np.asarray(vector.astype(np.uint64).view(np.int64), np.int64)
    # As categories: long numbers of patients would run together as floats.
    rows = RowLabels.of(vector) or rows
    column = read_column(vector, "groups", "categories", rows)
    _check_known(column.values, "groups", rows)
    keys = label_keys(column.labels).view(np.int64)
    return np.asarray(keys[column.values.astype(np.int64)], np.int64)


def subset_groups(groups: LongArray | None, rows: NDArray[Any]) -> LongArray | None:
    """Select the groups of some rows, by flags or numbers."""
    return None if groups is None else groups[rows]


def renumber_groups(numbers: LongArray | None, rows: NDArray[Any]) -> LongArray | None:
    """Number the stages or groups of some rows from 0 without gaps."""
    return None if numbers is None else np.asarray(np.unique(numbers[rows], return_inverse=True)[1], np.int64)


def find_known_groups(groups: LongArray, learnt: BoolArray, held_out: BoolArray) -> BoolArray:
    """Flag the held-out rows whose group is among the training rows.

    >>> learnt, held_out = np.array([True, True, False, False]), np.array([False, False, True, True])
    >>> find_known_groups(np.array([7, 8, 7, 9]), learnt, held_out)
    array([False, False,  True, False])
    """
    return np.asarray(held_out & np.isin(groups, groups[learnt]), np.bool_)


def rank_labels(vector: Any, what: str, reading: Reading, n_rows: int, rows: RowLabels | None) -> LongArray:
    """Number equal values alike, in their order; missing values are an error."""
    _check_length(vector, what, n_rows)
    if _is_integer(vector):  # exact, however long
        return np.asarray(np.unique(vector, return_inverse=True)[1], np.int64)
    column = read_column(vector, what, reading, rows)
    values: NDArray[Any] = column.values
    if column.kind == "nominal" and (numbers := _as_numbers(column.labels)) is not None:
        values = np.append(numbers, np.nan)[np.where(np.isnan(values), -1, values).astype(np.int64)]
    _check_known(values, what, rows)
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def _is_integer(vector: Any) -> bool:
    return isinstance(vector, np.ndarray) and vector.dtype.kind in "iu"


def _check_length(vector: Any, what: str, n_rows: int) -> None:
    if len(vector) != n_rows:
        raise DataError(f"{what} has {len(vector)} values, and the data has {n_rows} rows: give one per row.")


def _check_known(values: NDArray[Any], what: str, rows: RowLabels | None) -> None:
    if (missing := np.isnan(values)).any():
        raise DataError(
            f"{what} has {missing.sum()} missing values, {first_rows(missing, rows)}. Fill them in, or leave "
            "the rows out."
        )


def _as_numbers(labels: Sequence[Label]) -> FloatArray | None:
    """Convert texts to numbers if all are, so that stage 10 follows stage 9; else None."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() and len(set(numbers.tolist())) == len(labels) else None


def check_not_name(values: Any, what: str) -> None:
    """Raise a DataError if a column is given by name instead of by its values."""
    if isinstance(values, str):
        raise DataError(
            f"{what} is {values!r}: give one value for each row, such as X[{values!r}], not a name."
        )
