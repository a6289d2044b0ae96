"""New rows to update a deployed model with, read in the types of its schema."""

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import columns_text, quoted
from holdfast.data.columns import read_column
from holdfast.data.dates import find_date_source
from holdfast.data.frame import Frame, OrderedText, stack_vectors
from holdfast.data.read import ColumnChoices, open_source
from holdfast.data.schema import Feature, Schema
from holdfast.data.target import read_weight
from holdfast.errors import DataError, DataWarning
from holdfast.runs.dataset import flag_targets
from holdfast.runs.new_rows import read_columns
from holdfast.runs.settings import UpdateRunSettings

_NEEDS = (
    "Cannot update: {} has no column {}, which the model was trained with. Add {}, with empty cells if need "
    "be."
)


@dataclass(frozen=True, eq=False)
class UpdateRows:
    """Rows with their target, weights and groups."""

    source: str  # the path, or "a frame"
    X: Frame
    y: Any
    weight: FloatArray | None
    groups: Any  # as text; None if there are none
    others: Mapping[str, Any] = field(default_factory=dict)  # columns that are no features, by name
    text: Mapping[str, float] = field(default_factory=dict)  # columns whose text counts as missing: the
    # fraction of rows without any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.n_rows


def read_update_rows(
    data: Any,
    schema: Schema,
    settings: UpdateRunSettings,
    left_out: Sequence[str] = (),
    others: Sequence[str] = (),
) -> UpdateRows:
    """Read the rows of a path or a frame: the columns of the model and, to widen it, all others.

    Columns of `left_out` were left out in training, and stay out. Columns of `others` are kept beside the
    features.
    """
    is_path = isinstance(data, str | os.PathLike)
    rules = settings.reading_options
    targets = settings.target_columns(schema.target)
    with open_source(data, rules.encoding) as source:
        name = source.name
        roles = _check_roles(name, source.names, schema, settings)
        known_names = {*_known_names(schema), *roles}
        beside = [
            each
            for each in others
            if each in source.names and each not in known_names and not _joins(each, settings, left_out)
        ]
        roles += beside
        _warn_of_new_columns(source.names, {*_known_names(schema), *roles, *left_out}, settings)
        without = [each.name for each in schema.columns if _is_constant(each)]
        known = [each for each in schema.columns if each.name not in without]
        known += targets.features(schema.target)
        absent = [*settings.drop, *(each for each in left_out if each in source.names)]
        choices = ColumnChoices(
            categorical=[settings.groups] if settings.groups else [],
            drop=[each for each in absent if each not in roles],
            roles=[*roles, *without],
        )
        frame = read_columns(
            source, known, rules, others=choices, rest=settings.allow_new_values, needs=_NEEDS
        )
    frame = targets.read_event(frame)
    roles += targets.names
    has_target = flag_targets(frame, targets, name, drop_missing=settings.drop_missing_target)
    if has_target is not None:
        frame = frame.subset(has_target)
    frame, text = _replace_text(frame, without)
    weight = None
    if settings.weight:
        weight = read_weight(frame.column(settings.weight), frame.n_rows, frame.rows)
    return UpdateRows(
        source=os.fspath(data) if is_path else "a frame",
        X=_restore_orders(frame.without(roles), schema)
        if settings.allow_new_values
        else frame.without(roles),
        y=targets.read(frame),
        weight=weight,
        groups=frame.column(settings.groups) if settings.groups else None,
        others={each: frame.column(each) for each in beside},
        text=text,
    )


def _joins(name: str, settings: UpdateRunSettings, left_out: Sequence[str]) -> bool:
    """True if a column that is new to the model becomes a feature."""
    return settings.allow_new_values and name not in (*settings.drop, *left_out)


def join_weights(old: UpdateRows | None, new: UpdateRows) -> FloatArray | None:
    """Join the weights of the old rows, if there are any, and of the new ones."""
    if new.weight is None and (old is None or old.weight is None):
        return None
    both = [rows for rows in (old, new) if rows is not None]
    parts = [np.ones(rows.n_rows) if rows.weight is None else rows.weight for rows in both]
    return np.concatenate(parts)


def join_groups(old: UpdateRows | None, new: UpdateRows) -> Any:
    """Join the groups of the old rows, if there are any, and of the new ones."""
    if old is None or new.groups is None:
        return new.groups
    return stack_vectors(old.groups, new.groups)


def align_columns(old: UpdateRows, new: UpdateRows) -> UpdateRows:
    """Give the old rows the columns of the new ones; those that they lack are missing values."""
    names = tuple(name for name in new.X.names if name not in old.X.names)
    kept = old.X.without([name for name in old.X.names if name not in new.X.names])
    empty = [_missing(new.X.column(name), old.n_rows) for name in names]
    frame = replace(kept, names=(*kept.names, *names), columns=[*kept.columns, *empty])
    return replace(old, X=frame)


def _missing(like: Any, n_rows: int) -> Any:
    if isinstance(like, np.ndarray) and like.dtype == np.float64:
        return np.full(n_rows, np.nan)
    return np.full(n_rows, None, object)


# -- columns ----------------------------------------------------------------------------------------------


def _check_roles(source: str, names: Sequence[str], schema: Schema, settings: UpdateRunSettings) -> list[str]:
    """Return the columns that are not features; a DataError if one is absent, or is a feature."""
    of_target = settings.target_columns(schema.target).roles(names)
    for role, name in of_target.items():
        if name not in names:
            raise DataError(
                f"Cannot update: the model predicts {schema.target.name!r}, and {source} has no column "
                f"{name!r}. Name its column with {role}. {columns_text([name], names)}"
            )
    roles = {**of_target, "groups": settings.groups, "weight": settings.weight}
    used = {role: name for role, name in roles.items() if name is not None}
    for role, name in used.items():
        if name not in names:
            raise DataError(
                f"There is no column {name!r} in {source} ({role}). {columns_text([name], names)}"
            )
        if name in _known_names(schema):
            raise DataError(
                f"Cannot update: column {name!r} is a feature of the model, which predicts "
                f"{schema.target.name!r}, and cannot be its {role} too. Name another one with {role}."
            )
    if len(set(used.values())) < len(used):
        raise DataError(f"One column is given for several of {', '.join(used)}: choose one.")
    return list(used.values())


def _known_names(schema: Schema) -> set[str]:
    """The columns of the data that the features were read from, date columns included."""
    names = {column.name for column in schema.columns}
    sources = map(find_date_source, names)
    return names | {source.name for source in sources if source is not None}


def _is_constant(feature: Feature) -> bool:
    """True if no split on the feature is possible, since it was constant or missing in training."""
    return (
        feature.kind == "numeric" and feature.low == feature.high and find_date_source(feature.name) is None
    )


def _replace_text(frame: Frame, names: Sequence[str]) -> tuple[Frame, dict[str, float]]:
    """Replace text by missing values in columns that were constant in training.

    Return the frame and, for each column of text, the fraction of its rows that are truly missing.
    """
    read = {name: read_column(frame.column(name), f"column {name!r}") for name in names}
    texts = {name: _missing_share(each.values) for name, each in read.items() if each.kind != "numeric"}
    if not texts:
        return frame, {}
    warnings.warn(
        f"the text in {quoted(list(texts))} counts as missing: the model has no split on it, "
        "since it was constant or missing in training. To use it, train a new model.",
        DataWarning,
        stacklevel=4,
    )
    gap = np.full(frame.n_rows, np.nan)
    columns = [
        gap if name in texts else column for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns), texts


def _missing_share(values: FloatArray) -> float:
    return float(np.isnan(values).mean()) if len(values) else 0.0


def _warn_of_new_columns(names: Sequence[str], known: Collection[str], settings: UpdateRunSettings) -> None:
    new = [name for name in names if name not in known]
    if settings.allow_new_values or not new:
        return
    are = "column is" if len(new) == 1 else "columns are"
    warnings.warn(
        f"{len(new)} {are} unknown to the model and left out: {quoted(new, 5)}. "
        "allow_new_values=True accepts them.",
        DataWarning,
        stacklevel=4,
    )


def _restore_orders(frame: Frame, schema: Schema) -> Frame:
    """Give columns of text the order of categories that the model has, unless they have others."""
    orders = {
        each.name: tuple(map(str, each.categories))
        for each in schema.columns
        if each.kind == "ordered" and all(isinstance(label, str) for label in each.categories)
    }
    columns = [
        OrderedText(column, orders[name]) if name in orders and _is_among(column, orders[name]) else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns)


def _is_among(column: Any, categories: Sequence[str]) -> bool:
    return (
        isinstance(column, np.ndarray)
        and column.dtype == object
        and all(text is None or text in categories for text in column.tolist())
    )
