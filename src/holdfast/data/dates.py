"""Dates as numbers: days since 2000-01-01, or year, month and weekday."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import nan
from typing import Any, Literal

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.errors import DataError, ParameterError

Form = Literal["days", "parts"]
Order = Literal["dmy", "mdy"]

FIRST_DAY = datetime(2000, 1, 1)
DAYS = f"days since {FIRST_DAY:%Y-%m-%d}"
PARTS = ("year", "month", "weekday")  # Monday is 1, Sunday is 7
FORMS: tuple[Form, ...] = ("days", "parts")
ORDERS: tuple[Order, ...] = ("dmy", "mdy")

_TIME = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})" + _TIME, re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})" + _TIME, re.ASCII)


@dataclass(frozen=True)
class DateColumn:
    """A column of dates and the form of the numbers derived from it."""

    name: str
    form: Form = "days"
    order: Order | None = None  # of day and month if the year comes last; None: guessed from the cells

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of the numeric columns derived from the dates."""
        return tuple(f"{self.name} ({part})" for part in ((DAYS,) if self.form == "days" else PARTS))

    def numbers(self, moments: Sequence[datetime | None]) -> dict[str, FloatArray]:
        """Derive the numeric columns from these moments, NaN for None."""
        rows = [self._row(moment) for moment in moments]
        columns = np.array(rows, np.float64).reshape(-1, len(self.derived)).T
        return dict(zip(self.derived, columns, strict=True))

    def _row(self, moment: datetime | None) -> tuple[float, ...]:
        if moment is None:
            return (nan,) * len(self.derived)
        if self.form == "days":
            return ((moment - FIRST_DAY) / timedelta(days=1),)
        return moment.year, moment.month, moment.isoweekday()


def parse_date_columns(texts: Iterable[str], names: Sequence[str]) -> tuple[DateColumn, ...]:
    """Parse texts such as admitted, admitted:parts, admitted:mdy or admitted:parts:mdy.

    >>> parse_date_columns(["admitted:parts"], ["admitted", "age"])
    (DateColumn(name='admitted', form='parts', order=None),)
    """
    return tuple(_date_column(text, names) for text in texts)


def _date_column(text: str, names: Sequence[str]) -> DateColumn:
    name, form, order = text, "days", None
    while name not in names and ":" in name:
        name, _, word = name.rpartition(":")
        if word in FORMS:
            form = word
        elif word in ORDERS:
            order = word
        else:
            raise ParameterError(
                f"date={text!r} ends in {word!r}: it must be a column, or a column and :days, :parts, :dmy "
                "or :mdy."
            )
    return DateColumn(name, form, order)  # type: ignore[arg-type]


def find_date_source(feature: str) -> DateColumn | None:
    """Find the date column that a derived feature comes from, or None.

    >>> find_date_source("admitted (month)")
    DateColumn(name='admitted', form='parts', order=None)
    """
    for form in FORMS:
        for part in (DAYS,) if form == "days" else PARTS:
            if feature.endswith(f" ({part})"):
                return DateColumn(feature.removesuffix(f" ({part})"), form)
    return None


def parse_moment(value: Any, order: Order = "dmy") -> datetime | None:
    """Parse a text or date, converted to UTC if it names a zone; None if it is not a date."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    text = str(value).strip()
    if match := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, *clock = match.groups()
    elif match := _YEAR_LAST.fullmatch(text):
        day, _, month, year, *clock = match.groups()
        if order == "mdy":
            day, month = month, day
    else:
        return None
    try:
        return _add_time(datetime(int(year), int(month), int(day)), clock)
    except (ValueError, OverflowError):  # the 31st of February, or 25 o'clock
        return None


def list_possible_orders(cells: Iterable[str]) -> tuple[Order, ...]:
    """List the orders of day and month in which all cells are dates; points mean day, month, year.

    >>> list_possible_orders(["03/04/2020", "31/01/2020"]), list_possible_orders(["03/04/2020"])
    (('dmy',), ('dmy', 'mdy'))
    """
    cells = list(cells)
    has_points = any((match := _YEAR_LAST.fullmatch(cell)) and match[2] == "." for cell in cells)
    return tuple(
        order
        for order in (ORDERS[:1] if has_points else ORDERS)
        if all(parse_moment(cell, order) is not None for cell in cells)
    )


def is_date(cell: str) -> bool:
    """Return True if the cell is a date in either order of day and month."""
    return any(parse_moment(cell, order) is not None for order in ORDERS)


def is_ambiguous(cells: Iterable[str]) -> bool:
    """Return True if swapping day and month gives other valid dates in every cell."""
    cells = list(cells)
    if len(list_possible_orders(cells)) < 2:
        return False
    return any(parse_moment(cell, "dmy") != parse_moment(cell, "mdy") for cell in cells)


def make_ambiguity_error(column: DateColumn, cell: str, where: str) -> DataError:
    """Make the error that asks for the order of day and month."""
    stem = column.name if column.form == "days" else f"{column.name}:{column.form}"
    ways = " or ".join(f"date={f'{stem}:{order}'!r}" for order in ORDERS)
    return DataError(
        f"column {column.name!r} has dates such as {cell!r} ({where}), and no cell shows which is the day "
        f"and which the month: use {ways}."
    )


def make_no_date_error(column: DateColumn, cell: str, where: str) -> DataError:
    """Make the error that names a cell that is not a date."""
    return DataError(
        f"column {column.name!r} is read as dates, but {cell!r} ({where}) is not one: write it as "
        "2011-01-31 or 31.01.2011, or read such cells as missing with coerce=True."
    )


def _add_time(day: datetime, clock: Sequence[str | None]) -> datetime:
    hour, minute, second, fraction, zone = clock
    if hour is None or minute is None:
        return day
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    moment = day.replace(hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=micro)
    if zone is None or zone == "Z":
        return moment
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return moment + offset if zone[0] == "-" else moment - offset
