"""New rows as a matrix of the features that a tree uses, encoded on its schema."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray
from holdfast._text import RowLabels, first_rows, join_parts, pluralize, quoted, row_name
from holdfast.data.columns import Column, infinity_error, read_column
from holdfast.data.custom_features import CustomFeature, parse_custom_features
from holdfast.data.frame import Frame, make_frame, subset_vector
from holdfast.data.schema import Feature, Label, Schema, SchemaDifferences
from holdfast.errors import DataError, DataWarning, SchemaMismatch


def encode_rows(
    X: Any,
    schema: Schema,
    features: Sequence[int],
    *,
    handle_unknown: str = "missing",
    handle_missing: str = "learned",
) -> FloatArray:
    """Encode X as a C-contiguous matrix with one column per requested feature.

    A frame is matched by name and needs only the columns that the features read; an array has all columns in
    the order of the schema. Unknown categories count as missing, with a warning, unless
    `handle_unknown="error"`; with `handle_missing="error"` missing values are an error. The result may be X
    itself: do not write to it.
    """
    for name, value, choices in (
        ("handle_unknown", handle_unknown, ("missing", "error")),
        ("handle_missing", handle_missing, ("learned", "error")),
    ):
        if value not in choices:
            raise DataError(f"{name}={value!r} is unknown: choose one of {quoted(choices)}.")
    frame = name_columns(schema, make_frame(X))
    matrix = _select_numbers(frame, schema, features)
    if matrix is not None:
        if handle_missing == "error":
            _raise_for_missing(schema, dict(zip(features, matrix.T, strict=True)), frame)
        return matrix
    return _encode_by_column(frame, schema, features, handle_unknown, handle_missing)


def required_columns(schema: Schema, features: Sequence[int]) -> tuple[str, ...]:
    """List the columns that these features read."""
    read = _list_columns(features, _parse_custom(schema, features))
    return tuple(schema.features[index].name for index in read)


def _list_columns(features: Sequence[int], custom: Mapping[int, CustomFeature]) -> list[int]:
    """List the columns that features or custom features read."""
    read = {index for index in features if index not in custom}
    return sorted(read.union(*(feature.columns for feature in custom.values())))


def _raise_for_absent(schema: Schema, read: Sequence[int], frame: Frame) -> None:
    """Raise a SchemaMismatch if a column is absent; it lists extra columns, too."""
    absent = {schema.features[index].name for index in read}.difference(frame.names)
    if absent:
        known = {feature.name for feature in schema.columns}
        SchemaDifferences(
            missing=[feature.name for feature in schema.columns if feature.name in absent],
            extra=[name for name in frame.names if name not in known],
        ).raise_if_any()


def _parse_custom(schema: Schema, features: Sequence[int]) -> dict[int, CustomFeature]:
    custom = [index for index in features if schema.features[index].kind == "question"]
    texts = [schema.features[index].name for index in custom]
    return dict(zip(custom, parse_custom_features(texts, schema.columns), strict=True))


# -- an array of numbers -------------------------------------------------------------------------------------


def _select_numbers(frame: Frame, schema: Schema, features: Sequence[int]) -> FloatArray | None:
    """Select the columns of a numeric array if all features are numeric; else None."""
    array = frame.matrix
    if array is None or array.dtype.kind not in "fiu":
        return None
    if any(schema.features[index].kind != "numeric" for index in features):
        return None
    matrix = _select_columns(array, features)
    infinite = np.isinf(matrix)
    if infinite.any():
        position = int(infinite.any(axis=0).argmax())
        name = schema.features[features[position]].name
        raise infinity_error(f"column {name!r}", first_rows(infinite[:, position]))
    return matrix


def _select_columns(array: NDArray[Any], features: Sequence[int]) -> FloatArray:
    if array.flags.c_contiguous:
        if list(features) != list(range(array.shape[1])):
            array = array.take(np.asarray(features, np.intp), axis=1)
        return array.astype(np.float64, copy=False)
    # numpy's take would first copy an array that is not C-contiguous.
    matrix = np.empty((len(array), len(features)))
    for position, index in enumerate(features):
        matrix[:, position] = array[:, index]
    return matrix


# -- column by column ----------------------------------------------------------------------------------------


def _encode_by_column(
    frame: Frame, schema: Schema, features: Sequence[int], handle_unknown: str, handle_missing: str
) -> FloatArray:
    custom = _parse_custom(schema, features)
    read = _list_columns(features, custom)
    _raise_for_absent(schema, read, frame)
    columns = _match_columns(frame, schema, read, handle_unknown)
    if handle_missing == "error":
        _raise_for_missing(schema, columns, frame)
    matrix = np.empty((frame.n_rows, len(features)))
    for position, index in enumerate(features):
        feature = custom.get(index)
        matrix[:, position] = (
            feature.evaluate([columns[read] for read in feature.columns]) if feature else columns[index]
        )
    return matrix


def _match_columns(
    frame: Frame, schema: Schema, read: Sequence[int], handle_unknown: str
) -> dict[int, FloatArray]:
    """Encode these columns on the schema."""
    differences = SchemaDifferences()
    columns, unseen = match_features(
        frame, [schema.features[index] for index in read], differences, handle_unknown
    )
    differences.raise_if_any()
    warn_unknown_categories(unseen)
    return dict(zip(read, columns, strict=True))


def _raise_for_missing(schema: Schema, columns: Mapping[int, FloatArray], frame: Frame) -> None:
    for index, values in columns.items():
        missing = np.isnan(values)
        if missing.any():
            raise DataError(
                f"column {schema.features[index].name!r} has {missing.sum()} missing values, "
                f"{first_rows(missing, frame.rows)}. "
                'Fill them in, or let them follow the learned side with handle_missing="learned".'
            )


# -- Matching columns with the features of a schema ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnMatch:
    """Values encoded on a schema; NaN where missing or where the category is unknown."""

    values: FloatArray
    unknown: dict[Label, int] = field(default_factory=dict)  # numbers of rows by label not in the schema
    clash: str = ""  # why the column cannot be of the feature's kind; empty if it can


def match_features(
    frame: Frame,
    features: Sequence[Feature],
    differences: SchemaDifferences,
    handle_unknown: str,
    weighted: BoolArray | None = None,
) -> tuple[list[FloatArray], dict[str, dict[Label, int]]]:
    """Encode the columns of these features; mismatches are added to the differences.

    Also return the unknown categories of each column, which are differences with `handle_unknown="error"`.
    """
    columns = []
    unseen: dict[str, dict[Label, int]] = {}
    for feature in features:
        match = match_weighted_column(frame.column(feature.name), feature, weighted, frame.rows)
        columns.append(match.values)
        if match.clash:
            differences.kinds[feature.name] = match.clash
        elif match.unknown:
            unseen[feature.name] = match.unknown
    if handle_unknown == "error":
        differences.categories = {name: list(counts) for name, counts in unseen.items()}
    return columns, unseen


def match_weighted_column(
    raw: Any, feature: Feature, weighted: BoolArray | None, rows: RowLabels | None = None
) -> ColumnMatch:
    """Encode a column; only mismatches of weighted rows count."""
    what = f"column {feature.name!r}"
    match = match_column(raw, feature, what, rows)
    if weighted is None or not (match.unknown or match.clash):
        return match
    own = match_column(subset_vector(raw, weighted), feature, what, rows and rows.subset(weighted))
    if own.clash:
        return ColumnMatch(match.values, clash=match.clash or own.clash)
    return ColumnMatch(spread_rows(own.values, weighted) if match.clash else match.values, own.unknown)


def spread_rows(values: FloatArray, rows: BoolArray) -> FloatArray:
    """Expand the values of some rows to all; the others are missing."""
    every = np.full(len(rows), np.nan)
    every[rows] = values
    return every


def match_column(raw: Any, feature: Feature, what: str, rows: RowLabels | None = None) -> ColumnMatch:
    """Read a column as the kind of the feature and match categories by value.

    A column without any value fits every kind. Text is never converted to numbers, nor numbers to text.
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
        return ColumnMatch(column.values, clash=_describe_clash(column, "numeric", text, rows))
    return ColumnMatch(_recode(column, [float(label) for label in column.labels]))


def name_columns(schema: Schema, frame: Frame) -> Frame:
    """Name the columns of an array after the schema; a frame keeps its names."""
    if frame.matrix is None:
        return frame
    names = tuple(feature.name for feature in schema.columns)
    if len(frame.names) != len(names):
        raise SchemaMismatch(
            f"X has {len(frame.names)} features, but Tree is expecting {len(names)} features as input. "
            f"They are {quoted(names)}."
        )
    return replace(frame, names=names)


def warn_unknown_categories(unseen: Mapping[str, Mapping[Label, int]], way_out: str = "") -> None:
    """Warn about unknown categories, which count as missing."""
    if not unseen:
        return
    columns = [
        f"column {name!r}: "
        + join_parts([f"{label!r} ({pluralize(count, 'row')})" for label, count in counts.items()])
        for name, counts in unseen.items()
    ]
    warnings.warn(
        f"categories that the model has not seen count as missing: {join_parts(columns)}.{way_out}",
        DataWarning,
        stacklevel=4,
    )


def match_labels(
    column: Column, kind: str, labels: tuple[Label, ...], rows: RowLabels | None = None
) -> ColumnMatch:
    """Encode the column by these labels; `kind` is for messages."""
    counts = np.bincount(
        column.values[~np.isnan(column.values)].astype(np.intp), minlength=len(column.labels)
    )
    present = {label: int(count) for label, count in zip(column.labels, counts, strict=True) if count}
    is_text = [{isinstance(label, str) for label in each} for each in (present, labels)]
    if present and labels and is_text[0].isdisjoint(is_text[1]):
        expected = f"{kind} of {'text' if isinstance(labels[0], str) else 'numbers'}"
        clash = _describe_clash(column, expected, [True] * len(column.labels), rows)
        return ColumnMatch(column.values, clash=clash)
    position = {label: float(index) for index, label in enumerate(labels)}
    values = _recode(column, [position.get(label, nan) for label in column.labels])
    return ColumnMatch(values, {label: count for label, count in present.items() if label not in position})


def _recode(column: Column, codes: Sequence[float]) -> FloatArray:
    """Replace the positions of labels by these codes."""
    known = ~np.isnan(column.values)
    values = np.full(len(known), nan)
    values[known] = np.array(codes, np.float64)[column.values[known].astype(np.intp)]
    return values


def _describe_clash(column: Column, expected: str, wrong: Sequence[bool], rows: RowLabels | None) -> str:
    """Describe what the schema expects and the first value that contradicts it."""
    wrong_rows = np.flatnonzero(np.isin(column.values, np.flatnonzero(wrong)))
    if not len(wrong_rows):
        return f"{expected} in the schema, and categories of text here"
    value = column.labels[int(column.values[wrong_rows[0]])]
    noun = "text" if isinstance(value, str) else "number"
    where = row_name(int(wrong_rows[0]), rows)
    return f"{expected} in the schema, and here the {noun} {value!r}, first at {where}"
