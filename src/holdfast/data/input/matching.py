"""A column of new data in the codes of the schema, and what of it the schema does not hold."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.input.columns import Column, read_column
from holdfast.data.input.frame import Frame
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import DataWarning, SchemaMismatch
from holdfast.text.lists import RowLabels, joined, listed, row_name
from holdfast.text.numbers import counted


@dataclass(frozen=True, eq=False)
class ColumnMatch:
    """Values encoded by a schema; NaN where missing or where the category is unknown."""

    values: FloatArray
    unknown: dict[Label, int] = field(default_factory=dict)  # labels not in the schema, and their rows
    clash: str = ""  # why the column cannot be of the feature's kind; empty if it can


def match_column(raw: Any, feature: Feature, what: str, rows: RowLabels | None = None) -> ColumnMatch:
    """Read the column as the feature's kind, with categories matched by value.

    A column without any value fits every kind. Text is never read as numbers, nor numbers as text.
    """
    rows = rows or RowLabels.of(raw)
    if feature.kind != "numeric":
        column = read_column(raw, what, "categories", rows)
        return match_labels(column, feature.kind, feature.categories, rows)
    column = read_column(raw, what, "numbers", rows)
    if column.kind == "numeric":
        return ColumnMatch(column.values)
    text = [isinstance(label, str) for label in column.labels]
    if any(text):
        return ColumnMatch(column.values, clash=_clash(column, "numeric", text, rows))
    return ColumnMatch(_recoded(column, [float(label) for label in column.labels]))


def name_columns(schema: Schema, frame: Frame) -> Frame:
    """Name the columns of an array after the schema; a frame keeps its names."""
    if frame.matrix is None:
        return frame
    names = tuple(feature.name for feature in schema.columns)
    if len(frame.names) != len(names):
        raise SchemaMismatch(
            f"X has {len(frame.names)} features, but Tree is expecting {len(names)} features as input. "
            f"They are {listed(names)}."
        )
    return replace(frame, names=names)


def warn_unknown_categories(unseen: Mapping[str, Mapping[Label, int]], way_out: str = "") -> None:
    """Warn about categories that count as missing, by column, with their rows."""
    if not unseen:
        return
    columns = [
        f"column {name!r}: "
        + joined([f"{label!r} ({counted(count, 'row')})" for label, count in counts.items()])
        for name, counts in unseen.items()
    ]
    warnings.warn(
        f"categories that the model has not seen count as missing: {joined(columns)}.{way_out}",
        DataWarning,
        stacklevel=4,
    )


def match_labels(
    column: Column, kind: str, labels: tuple[Label, ...], rows: RowLabels | None = None
) -> ColumnMatch:
    """Encode the column by these labels; `kind` is for the reader."""
    counts = np.bincount(
        column.values[~np.isnan(column.values)].astype(np.intp), minlength=len(column.labels)
    )
    present = {label: int(count) for label, count in zip(column.labels, counts, strict=True) if count}
    if present and labels and _are_text(present).isdisjoint(_are_text(labels)):
        expected = f"{kind} of {'text' if isinstance(labels[0], str) else 'numbers'}"
        return ColumnMatch(column.values, clash=_clash(column, expected, [True] * len(column.labels), rows))
    position = {label: float(index) for index, label in enumerate(labels)}
    values = _recoded(column, [position.get(label, nan) for label in column.labels])
    return ColumnMatch(values, {label: count for label, count in present.items() if label not in position})


def _recoded(column: Column, codes: Sequence[float]) -> FloatArray:
    """Replace the positions of labels by these codes."""
    known = ~np.isnan(column.values)
    values = np.full(len(known), nan)
    values[known] = np.array(codes, np.float64)[column.values[known].astype(np.intp)]
    return values


def _are_text(labels: Iterable[Label]) -> set[bool]:
    return {isinstance(label, str) for label in labels}


def _clash(column: Column, expected: str, wrong: Sequence[bool], rows: RowLabels | None) -> str:
    """Describe what the schema expects and the first value that contradicts it."""
    wrong_rows = np.flatnonzero(np.isin(column.values, np.flatnonzero(wrong)))
    if not len(wrong_rows):
        return f"{expected} in the schema, and categories of text here"
    value = column.labels[int(column.values[wrong_rows[0]])]
    noun = "text" if isinstance(value, str) else "number"
    where = row_name(int(wrong_rows[0]), rows)
    return f"{expected} in the schema, and here the {noun} {value!r}, first at {where}"
