"""The weight of every row."""

import math
from numbers import Number
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.input.columns import read_column
from holdfast.data.input.frame import as_vector
from holdfast.errors import DataError
from holdfast.text.lists import RowLabels, first_rows

MOST_REPEATS = 2**31  # whole weights that add up to more are importances, not repetitions


def read_weight(sample_weight: Any, n_rows: int, rows: RowLabels | None = None) -> FloatArray | None:
    """Read finite weights of at least 0, one per row; None if all rows count once.

    A single number is the weight of every row.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    vector = as_vector(sample_weight, "sample_weight")
    if len(vector) != n_rows:
        raise DataError(
            f"sample_weight has {len(vector)} values, and the data has {n_rows} rows: give one per row."
        )
    rows = RowLabels.of(vector) or rows
    column = read_column(vector, "sample_weight", "numbers", rows)
    if column.kind != "numeric":
        raise DataError(f"sample_weight must be numbers, and holds the text {column.labels[0]!r}.")
    if (missing := np.isnan(column.values)).any():
        raise DataError(f"sample_weight has {missing.sum()} missing values, {first_rows(missing, rows)}.")
    if (negative := column.values < 0.0).any():
        raise DataError(
            f"sample_weight has {negative.sum()} negative values, {first_rows(negative, rows)}. "
            "Weights must be at least 0: drop a row by the weight 0."
        )
    if not column.values.any():
        raise DataError("sample_weight is zero for every row: at least one weight must be above zero.")
    check_weight_sum(column.values)
    return None if (column.values == 1.0).all() else column.values


def are_repetitions(weight: FloatArray) -> bool:
    """Return True if the weights are row counts: integers with a moderate sum."""
    return bool(np.all(weight == np.rint(weight)) and weight.sum() < MOST_REPEATS)


def count_effective_rows(weight: FloatArray | None, n_rows: int) -> float:
    """Return the effective number of rows; integer weights count as copies.

    Otherwise it is Kish's effective size, the square of the sum over the sum of squares: ten rows of the
    weight 1 and a thousand of nearly none are worth ten.

    >>> count_effective_rows(np.array([2.0, 1.0]), 2), count_effective_rows(np.array([0.5, 0.5]), 2)
    (3.0, 2.0)
    """
    if weight is None:
        return float(n_rows)
    if are_repetitions(weight):
        return float(weight.sum())
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share**2).sum())


def find_weighted_rows(weight: FloatArray | None) -> BoolArray | None:
    """Flag the rows of positive weight; None if all are."""
    if weight is None or (weight > 0.0).all():
        return None
    return np.asarray(weight > 0.0, np.bool_)


def check_weight_sum(weight: FloatArray) -> None:
    """Raise a DataError unless the sum of the weights is finite."""
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not math.isfinite(total):
        raise DataError(
            f"sample_weight adds up to {total:g}, and the greatest weight is {weight.max():g}: the sum must "
            "be a finite number. Divide all weights by one number: only their ratios matter."
        )
