"""Rows without weight are no rows: they keep their place, and define nothing.

Kinds, ranges, categories and classes come from the rows that count. All rows are checked, so that an error
names the row that the user sees. What a row without weight holds beyond the schema counts as missing.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.differences import Differences
from holdfast.data.input.columns import Column, Reading, read_column
from holdfast.data.input.frame import taken_line
from holdfast.data.input.matching import Match, labels_matched, matched
from holdfast.data.input.target import Task, known_target, new_target
from holdfast.data.schema import Feature, Target
from holdfast.text.lists import RowNames


def defined_column(
    raw: Any, name: str, reading: Reading, counted: BoolArray | None, rows: RowNames | None = None
) -> tuple[Feature, FloatArray]:
    """The feature that the rows that count define, or all rows if there is None, and the values of all."""
    what = f"column {name!r}"
    column = read_column(raw, what, reading, rows)
    if counted is None:
        return column.feature(name), column.values
    own = _read_part(raw, what, reading, counted)
    if own.kind == column.kind == "numeric":
        return own.feature(name), column.values
    if "numeric" in (own.kind, column.kind):  # text that only rows without weight hold
        return own.feature(name), _spread(own.values, counted)
    return own.feature(name), labels_matched(column, own.kind, own.labels).values


def matched_column(
    raw: Any, feature: Feature, counted: BoolArray | None, rows: RowNames | None = None
) -> Match:
    """The column in the codes of the feature, with what does not fit of the rows that count."""
    what = f"column {feature.name!r}"
    match = matched(raw, feature, what, rows)
    if counted is None or not (match.unknown or match.clash):
        return match
    own = matched(taken_line(raw, counted), feature, what, _taken(rows, counted))
    if own.clash:
        return Match(match.values, clash=match.clash or own.clash)
    return Match(_spread(own.values, counted) if match.clash else match.values, own.unknown)


def defined_target(
    line: Any, name: str, task: Task | None, counted: BoolArray | None, rows: RowNames | None = None
) -> tuple[NDArray[Any], Target]:
    """The target that the rows that count define, or all rows if there is None, and the values of all.

    A class that no row that counts has stands as the first one.
    """
    values, whole = new_target(line, name, task, rows)
    if counted is None:
        return values, whole
    _, target = new_target(taken_line(line, counted), name, task, _taken(rows, counted))
    if whole.is_classes != target.is_classes:
        kind: Task = "classification" if target.is_classes else "regression"
        values, whole = new_target(line, name, kind, rows)
    if not target.is_classes:
        return values, target
    place = {label: index for index, label in enumerate(target.classes)}
    places = np.array([place.get(label, 0) for label in whole.classes], np.int32)
    return places[values], target


def matched_target(
    line: Any,
    target: Target,
    task: Task | None,
    counted: BoolArray | None,
    differences: Differences,
    rows: RowNames | None = None,
) -> NDArray[Any]:
    """The target's values as a schema encodes them; what does not fit of the rows that count is added."""
    if counted is None:
        return known_target(line, target, task, differences, rows)
    of_all = Differences()
    values = known_target(line, target, task, of_all, rows)
    if of_all.classes or of_all.kinds:
        own = known_target(taken_line(line, counted), target, task, differences, _taken(rows, counted))
        values = np.zeros(len(counted), own.dtype)
        values[counted] = own
    return values


def _taken(rows: RowNames | None, flags: BoolArray) -> RowNames | None:
    return None if rows is None else rows.taken(flags)


def _read_part(raw: Any, what: str, reading: Reading, rows: BoolArray) -> Column:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said of all rows
        return read_column(taken_line(raw, rows), what, reading)


def _spread(values: FloatArray, rows: BoolArray) -> FloatArray:
    every = np.full(len(rows), np.nan)
    every[rows] = values
    return every
