"""Rows without weight are no rows: they keep their place, and define nothing.

Kinds, ranges, categories and classes come from the rows that count. All rows are checked, so that an error
names the row that the user sees. What a row without weight holds beyond the schema counts as missing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.columns import Reading, read_column
from holdfast.data.differences import Differences
from holdfast.data.matching import Match, labels_matched, matched
from holdfast.data.schema import Feature, Target
from holdfast.data.target import Task, known_target, new_target


def defined_column(
    raw: Any, name: str, reading: Reading, rows: BoolArray | None
) -> tuple[Feature, FloatArray]:
    """The feature that the rows with a flag define, or all rows if there is None, and the values of all."""
    what = f"column {name!r}"
    column = read_column(raw, what, reading)
    if rows is None:
        return column.feature(name), column.values
    own = read_column(taken_line(raw, rows), what, reading)
    if own.kind == column.kind == "numeric":
        return own.feature(name), column.values
    if "numeric" in (own.kind, column.kind):  # text that only rows without weight hold
        return own.feature(name), _spread(own.values, rows)
    return own.feature(name), labels_matched(column, own.kind, own.labels).values


def matched_column(raw: Any, feature: Feature, rows: BoolArray | None) -> Match:
    """The column in the codes of the feature, with what does not fit of the rows with a flag."""
    what = f"column {feature.name!r}"
    match = matched(raw, feature, what)
    if rows is None or not (match.unknown or match.clash):
        return match
    own = matched(taken_line(raw, rows), feature, what)
    if own.clash:
        return Match(match.values, clash=match.clash or own.clash)
    return Match(_spread(own.values, rows) if match.clash else match.values, own.unknown)


def defined_target(
    line: Any, name: str, task: Task | None, rows: BoolArray | None
) -> tuple[NDArray[Any], Target]:
    """The target that the rows with a flag define, or all rows if there is None, and the values of all.

    A class that no row with a flag has stands as the first one.
    """
    if rows is None:
        return new_target(line, name, task)
    _, target = new_target(taken_line(line, rows), name, task)
    values, whole = new_target(line, name, "classification" if target.is_classes else "regression")
    if not target.is_classes:
        return values, target
    place = {label: index for index, label in enumerate(target.classes)}
    places = np.array([place.get(label, 0) for label in whole.classes], np.int32)
    return places[values], target


def matched_target(
    line: Any, target: Target, task: Task | None, rows: BoolArray | None, differences: Differences
) -> NDArray[Any]:
    """The target's values as a schema encodes them; what does not fit of the rows with a flag is added."""
    if rows is None:
        return known_target(line, target, task, differences)
    of_all = Differences()
    values = known_target(line, target, task, of_all)
    if of_all.classes or of_all.kinds:
        own = known_target(taken_line(line, rows), target, task, differences)
        values = np.zeros(len(rows), own.dtype)
        values[rows] = own
    return values


def taken_line(line: Any, rows: BoolArray) -> Any:
    """The entries with a flag, of a numpy array or a narwhals Series."""
    return line[rows] if isinstance(line, np.ndarray) else line.filter(rows.tolist())


def _spread(values: FloatArray, rows: BoolArray) -> FloatArray:
    every = np.full(len(rows), np.nan)
    every[rows] = values
    return every
