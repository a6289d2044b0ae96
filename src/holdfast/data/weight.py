"""The weight of every row."""

from numbers import Number
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.columns import read_column
from holdfast.data.frame import line_of
from holdfast.data.wording import RowNames, first_rows
from holdfast.errors import DataError


def read_weight(sample_weight: Any, n_rows: int, rows: RowNames | None = None) -> FloatArray | None:
    """Finite weights of at least 0, one per row; None if every row counts once.

    A single number is the weight of every row.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    line = line_of(sample_weight, "sample_weight")
    if len(line) != n_rows:
        raise DataError(
            f"sample_weight has {len(line)} values, and the data has {n_rows} rows: give one per row."
        )
    rows = RowNames.of(line) or rows
    column = read_column(line, "sample_weight", "numbers", rows)
    if column.kind != "numeric":
        raise DataError(f"sample_weight must be numbers, and holds the text {column.labels[0]!r}.")
    _check(column.values, rows)
    return None if (column.values == 1.0).all() else column.values


def _check(weight: FloatArray, rows: RowNames | None) -> None:
    if (missing := np.isnan(weight)).any():
        raise DataError(f"sample_weight has {missing.sum()} missing values, {first_rows(missing, rows)}.")
    if (negative := weight < 0.0).any():
        raise DataError(
            f"sample_weight has {negative.sum()} negative values, {first_rows(negative, rows)}. "
            "Weights must be at least 0: drop a row by the weight 0."
        )
    if not weight.any():
        raise DataError("sample_weight is zero for every row: at least one weight must be above zero.")
