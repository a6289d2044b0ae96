"""The columns that are predicted: a target, or the time, the event and perhaps the entry of each row."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import label_text, number_text, quoted
from holdfast.data.columns import Column, read_column
from holdfast.data.frame import Frame
from holdfast.data.schema import Feature, Target
from holdfast.data.survival import read_survival
from holdfast.data.target import attach_name
from holdfast.errors import DataError, ParameterError

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "1"), ("false", "no", "0")
EVENT_STARTS = ("dea", "die", "dec", "ev", "rec", "rel", "fail", "prog")  # of words for events, in examples
MOST_CODES = 20  # of an event column: with more it is none


class TargetColumns(NamedTuple):
    """The columns that are predicted: a target, or the event, the time and the entry of survival data.

    The event is a column of 0 and 1 or of words such as yes and no; or COLUMN=VALUE, where a row has an event
    if the column has this value.

    >>> TargetColumns("status=dead", "days").roles(["age", "days", "status"])
    {'event': 'status', 'time': 'days'}
    """

    name: str  # the target, or the event
    time: str | None = None
    entry: str | None = None

    @classmethod
    def of(cls, target: Target, **names: str | None) -> "TargetColumns":
        """Return the columns of a model's target; `names` replaces some of them."""
        hazard = target.hazard
        own = cls(target.name) if hazard is None else cls(target.name, hazard.time, hazard.entry)
        return own._replace(**{role: name for role, name in names.items() if name is not None})

    @property
    def is_survival(self) -> bool:
        """True if they are times to an event."""
        return self.time is not None

    @property
    def names(self) -> list[str]:
        """Names of the columns once the event has been read."""
        return [name for name in self if name is not None]

    def roles(self, known: Sequence[str]) -> dict[str, str]:
        """Return the column of each role; `known` tells a column from COLUMN=VALUE."""
        if not self.is_survival:
            return {"target": self.name}
        found = {"event": _split_event(self.name, known)[0], "time": self.time, "entry": self.entry}
        return {role: name for role, name in found.items() if name is not None}

    def features(self, target: Target) -> list[Feature]:
        """Return the features by whose types a target is read; events and times are read as they are."""
        if self.is_survival:
            return []
        return [Feature(self.name, "nominal" if target.classes else "numeric", categories=target.classes)]

    def read_event(self, frame: Frame) -> Frame:
        """Replace the column of the event by 0 and 1, under the name of the event."""
        if not self.is_survival:
            return frame
        column, value = _split_event(self.name, frame.names)
        read = read_column(frame.column(column), f"the event {column!r}", rows=frame.rows)
        event = _flag_words(read, column) if value is None else _flag_value(read, column, value)
        place = frame.names.index(column)
        names = (*frame.names[:place], self.name, *frame.names[place + 1 :])
        columns = [*frame.columns[:place], event, *frame.columns[place + 1 :]]
        return replace(frame, names=names, columns=columns)

    def read(self, frame: Frame) -> Any:
        """Return y of a frame whose event has been read."""
        if not self.is_survival:
            values = frame.column(self.name)
            return attach_name(values, self.name) if isinstance(values, np.ndarray) else values
        lines = []
        for name in (self.time, self.name, self.entry):
            if name is not None:
                values = frame.column(name)
                lines.append(attach_name(np.array(values), name))
        return read_survival(tuple(lines), rows=frame.rows)


def choose_target_columns(
    target: str | None,
    time: str | None,
    event: str | None,
    entry: str | None,
    known: Target | None = None,
) -> TargetColumns:
    """Choose the columns that are predicted; without a target or an event, those of the known target."""
    if target is not None and (time, event, entry) != (None, None, None):
        given = next(name for name, each in (("time", time), ("event", event), ("entry", entry)) if each)
        raise ParameterError(
            f"{given} is for times to an event, and target={target!r} is a class or a number: give either "
            "target, or time and event."
        )
    if known is not None:
        if not known.is_survival and (named := time or event or entry):
            raise ParameterError(
                f"time, event and entry are for a model of times to an event, and this one predicts "
                f"{known.name!r}: leave {named!r} out."
            )
        return TargetColumns.of(known, name=target or event, time=time, entry=entry)
    if time is None and event is None:
        if entry is not None:
            raise ParameterError(f"entry={entry!r} goes with time and event: give all three.")
        return TargetColumns(target or "outcome")
    if time is None or event is None:
        given, other = ("time", "event") if event is None else ("event", "time")
        what = (
            "the column that says whether the event was observed (1) or the row is censored (0)"
            if event is None
            else "the column of the times to the event, or to the end of observation"
        )
        raise ParameterError(f"{given}={time or event!r} needs {other}, {what}.")
    return TargetColumns(event, time, entry)


def _split_event(text: str, known: Sequence[str]) -> tuple[str, str | None]:
    """Split COLUMN=VALUE, unless a column has this name."""
    column, sign, value = text.partition("=")
    return (text, None) if text in known or not sign else (column.strip(), value.strip())


def _flag_words(column: Column, name: str) -> FloatArray:
    """Flag the events of a column of 0 and 1, true and false, or yes and no; NaN where missing."""
    if column.kind == "numeric":
        found = np.unique(column.values[~np.isnan(column.values)])
        if set(found.tolist()) <= {0.0, 1.0}:
            return column.values
        texts = [number_text(value) for value in found.tolist()]
    else:
        texts = [label_text(label) for label in column.labels]
        words = [text.strip().lower() for text in texts]
        if set(words) <= {*TRUE_WORDS, *FALSE_WORDS}:
            return _spread(column, [word in TRUE_WORDS for word in words])
    likely = [text for text in texts if text.lower().startswith(EVENT_STARTS)]
    example = f"event={f'{name}={(likely or texts)[0 if likely else -1]}'!r}"
    several = (
        " Rows with another value then count as censored: competing risks are not supported."
        if len(texts) > 2
        else ""
    )
    way_out = f"Name the value that is the event, such as {example}.{several}"
    if len(texts) > MOST_CODES:
        way_out = "Name the column that says whether the event was observed."
    raise DataError(
        f"event={name!r} must be a column of 1 where the event was observed and 0 where the row is censored, "
        f"or of yes and no, and it holds {quoted(texts, 4)}. {way_out}"
    )


def _flag_value(column: Column, name: str, value: str) -> FloatArray:
    """Flag the rows whose column has this value; NaN where missing."""
    known = np.unique(column.values[~np.isnan(column.values)]).tolist()
    labels = [number_text(each) if column.kind == "numeric" else column.labels[int(each)] for each in known]
    texts = [label_text(label).strip().lower() for label in labels]
    wanted = value.lower()
    if column.kind == "numeric":
        with suppress(ValueError):
            wanted = number_text(float(value))
    if wanted not in texts:
        raise DataError(
            f"event={f'{name}={value}'!r} names a value that the column {name!r} does not have: it holds "
            f"{quoted([label_text(label) for label in labels], 6)}."
        )
    if column.kind == "numeric":
        return np.where(np.isnan(column.values), np.nan, column.values == known[texts.index(wanted)])
    return _spread(column, [label_text(label).strip().lower() == wanted for label in column.labels])


def _spread(column: Column, flags: Sequence[bool]) -> FloatArray:
    """Return the flag of each row's label; NaN where missing."""
    places = np.where(np.isnan(column.values), len(flags), column.values).astype(np.int64)
    return np.array([*map(float, flags), np.nan])[places]
