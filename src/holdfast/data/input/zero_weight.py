"""Rows of weight 0: they stay in the table but define nothing.

Kinds, ranges, categories and classes come from the rows of positive weight, which `weighted` flags (None: all
of them). All rows are checked, so that an error names the row that the user sees. What a row of weight 0
holds beyond the schema counts as missing.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.input.columns import Column, Reading, read_column
from holdfast.data.input.frame import subset_vector
from holdfast.data.input.matching import ColumnMatch, match_column, match_labels
from holdfast.data.input.target import Task, define_target, match_target
from holdfast.data.schema import Feature, Target
from holdfast.data.schema_differences import SchemaDifferences
from holdfast.text.lists import RowLabels


def define_weighted_column(
    raw: Any, name: str, reading: Reading, weighted: BoolArray | None, rows: RowLabels | None = None
) -> tuple[Feature, FloatArray]:
    """Define the feature from weighted rows, and read the values of all rows."""
    what = f"column {name!r}"
    column = read_column(raw, what, reading, rows)
    if weighted is None:
        return column.feature(name), column.values
    own = _read_part(raw, what, reading, weighted)
    if own.kind == column.kind == "numeric":
        return own.feature(name), column.values
    if "numeric" in (own.kind, column.kind):  # text that only rows of weight 0 hold
        return own.feature(name), _spread(own.values, weighted)
    return own.feature(name), match_labels(column, own.kind, own.labels).values


def match_weighted_column(
    raw: Any, feature: Feature, weighted: BoolArray | None, rows: RowLabels | None = None
) -> ColumnMatch:
    """Encode a column; only mismatches of weighted rows count."""
    what = f"column {feature.name!r}"
    match = match_column(raw, feature, what, rows)
    if weighted is None or not (match.unknown or match.clash):
        return match
    own = match_column(subset_vector(raw, weighted), feature, what, _taken(rows, weighted))
    if own.clash:
        return ColumnMatch(match.values, clash=match.clash or own.clash)
    return ColumnMatch(_spread(own.values, weighted) if match.clash else match.values, own.unknown)


def define_weighted_target(
    vector: Any, name: str, task: Task | None, weighted: BoolArray | None, rows: RowLabels | None = None
) -> tuple[NDArray[Any], Target]:
    """Define the target from weighted rows, and read the values of all rows.

    A class that no weighted row has stands as the first one.
    """
    values, whole = define_target(vector, name, task, rows)
    if weighted is None:
        return values, whole
    _, target = define_target(subset_vector(vector, weighted), name, task, _taken(rows, weighted))
    if whole.is_classes != target.is_classes:
        kind: Task = "classification" if target.is_classes else "regression"
        values, whole = define_target(vector, name, kind, rows)
    if not target.is_classes:
        return values, target
    position = {label: index for index, label in enumerate(target.classes)}
    recoded = np.array([position.get(label, 0) for label in whole.classes], np.int32)
    return recoded[values], target


def match_weighted_target(
    vector: Any,
    target: Target,
    task: Task | None,
    weighted: BoolArray | None,
    differences: SchemaDifferences,
    rows: RowLabels | None = None,
) -> NDArray[Any]:
    """Encode the target; only mismatches of weighted rows are added to the differences."""
    if weighted is None:
        return match_target(vector, target, task, differences, rows)
    of_all = SchemaDifferences()
    values = match_target(vector, target, task, of_all, rows)
    if of_all.classes or of_all.kinds:
        own = match_target(subset_vector(vector, weighted), target, task, differences, _taken(rows, weighted))
        values = np.zeros(len(weighted), own.dtype)
        values[weighted] = own
    return values


def _taken(rows: RowLabels | None, flags: BoolArray) -> RowLabels | None:
    return None if rows is None else rows.subset(flags)


def _read_part(raw: Any, what: str, reading: Reading, rows: BoolArray) -> Column:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said of all rows
        return read_column(subset_vector(raw, rows), what, reading)


def _spread(values: FloatArray, rows: BoolArray) -> FloatArray:
    every = np.full(len(rows), np.nan)
    every[rows] = values
    return every
