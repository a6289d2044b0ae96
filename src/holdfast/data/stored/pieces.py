"""Columns of text and categories, read piece by piece: as Python objects they take ten times their memory."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.input.columns import Column, Reading, read_column
from holdfast.data.input.target import Task, define_target
from holdfast.data.schema import Target, sorted_labels

PIECE = 2**18  # rows that are Python objects at a time


def read_column_in_pieces(series: Any, what: str, reading: Reading = "by dtype") -> Column:
    """Apply `read_column` to the whole series in pieces."""
    if len(series) <= PIECE or not _is_of_labels(series):
        return read_column(series, what, reading)
    pieces = [read_column(series[at : at + PIECE], what, reading) for at in range(0, len(series), PIECE)]
    told = [piece for piece in pieces if piece.labels]  # a piece without any value has none
    if not told:
        return Column("numeric", np.full(len(series), np.nan))
    kind, labels = told[0].kind, told[0].labels
    if kind == "nominal":
        labels = sorted_labels({label for piece in told for label in piece.labels})
    position = {label: float(place) for place, label in enumerate(labels)}
    values = np.empty(len(series))
    for at, piece in zip(range(0, len(series), PIECE), pieces, strict=True):
        of_code = np.array([*(position[label] for label in piece.labels), np.nan])
        codes = np.where(np.isnan(piece.values), -1.0, piece.values).astype(np.int64)
        values[at : at + PIECE] = of_code[codes]
    return Column(kind, values, labels)


def define_target_in_pieces(series: Any, name: str, task: Task | None) -> tuple[NDArray[Any], Target]:
    """Apply `define_target` to the whole series in pieces."""
    if len(series) <= PIECE or not _is_of_labels(series):
        return define_target(series, name, task)
    column = read_column_in_pieces(series, f"the target {name!r}")
    if column.kind != "nominal" or task == "regression" or np.isnan(column.values).any():
        return define_target(series, name, task)  # which says what is wrong
    codes, target = define_target(column.values.astype(np.int64), name, "classification")
    return codes, replace(target, classes=tuple(column.labels[int(code)] for code in target.classes))


def _is_of_labels(series: Any) -> bool:
    import narwhals as nw

    return isinstance(series, nw.Series) and series.dtype in (nw.String, nw.Categorical, nw.Enum)
