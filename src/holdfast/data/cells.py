"""Cells of one CSV column: missing values, numbers, dates and categories."""

import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import compress, count, filterfalse
from math import nan
from operator import not_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray, LongArray
from holdfast._text import RowLabels, first_rows, pluralize, quoted, row_name
from holdfast.data.columns import infinity_error, note_merged_integers
from holdfast.data.dates import (
    DAYS,
    ORDERS,
    DateColumn,
    ambiguity_error,
    is_ambiguous,
    is_date,
    no_date_error,
    parse_moment,
    possible_orders,
)
from holdfast.data.read_options import Numerals, Problem, ReadingOptions, UnreadableColumn, guess_numerals

_DIGITS = re.compile(r"[0-9]+")  # with a leading zero, a postcode
_WHOLE = re.compile(r"[+-]?[0-9]+")
_INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)

# A column is numeric with some wrong cells if these are at most this fraction of its distinct cells, or of
# its rows.
MOST_ODD = 0.2
MOST_ODD_ROWS = 0.05
MOST_DIGITS = 15  # of integers that are distinct as floats
DATES_WAY_OUT = (
    f"date={{}} reads them as {DAYS}, date={{}}:parts as year, month and weekday, categorical={{}} as text, "
    "and drop={} leaves them out"
)


class Cells:
    """Cells of one column, each distinct text stored once."""

    def __init__(self, name: str, rules: ReadingOptions | None = None) -> None:
        self.name = name
        self.notes: list[str] = []  # warnings about how they were read
        self._rules = ReadingOptions() if rules is None else rules
        self._index: defaultdict[str, int] = defaultdict(count().__next__)
        self._codes = array("q")  # position of each row's cell among the distinct ones

    def extend(self, cells: Iterable[str], rows: LongArray | None = None) -> None:
        """Append rows: one per cell, or the cells at these positions."""
        codes = map(self._index.__getitem__, cells)
        if rows is None:
            self._codes.extend(codes)
        else:
            self._codes.frombytes(np.fromiter(codes, np.int64)[rows].tobytes())

    # -- reading ---------------------------------------------------------------------------------------------

    def as_text(self, known: Collection[Any] = ()) -> NDArray[Any]:
        """Return the cells as text, None where missing; a `known` category is never missing."""
        texts = np.array(list(self._index), object)
        gaps = compress(enumerate(self._index), self._are_missing)
        texts[[code for code, cell in gaps if cell not in known]] = None
        return self._spread(texts)

    def as_column(self, names: RowLabels | None) -> NDArray[Any]:
        """Return float64 with NaN for gaps if the cells are numbers, else text with None for gaps.

        `names` are the rows in messages. Infinity among numbers, dates, numbers in another format, and a few
        words among many numbers raise a DataError.
        """
        odd = self._rules.numerals.find_unreadable(self._known)
        is_plain = not odd or (len(odd) < len(self._known) and all(map(_INFINITY.fullmatch, odd)))
        if is_plain:
            return self._numbers(names)
        if all(map(_DIGITS.fullmatch, odd)):
            return self.as_text()
        self._raise_for_other_numerals(odd, names, ", categorical={} as text")
        self._raise_for_dates(names)
        if not self._are_few(odd):
            words = [cell for cell in dict.fromkeys(self._cells) if cell.lower() == "none"]
            if words:
                rows = pluralize(int(self._rows(words).sum()), "row")
                self.notes.append(
                    f"column {self.name!r}: the word {words[0]!r}, in {rows}, is read as missing. If it is a "
                    "category, give it another name in the file, such as 'no'."
                )
            return self.as_text()
        if not self._rules.coerce:
            n_numbers = int(self._rows(self._known).sum() - self._rows(odd).sum())
            way_out = (
                "coerce=True reads such cells as missing, categorical={} all as categories; or correct them"
            )
            content = f"{n_numbers} numbers, but also "
            raise UnreadableColumn(Problem(self.name, content, self._describe_odd(odd, names), way_out))
        return self._coerce(odd, names)

    def as_numbers(self, names: RowLabels | None) -> FloatArray:
        """Return the cells as numbers; a DataError names the first that is not one."""
        odd = list(filterfalse(_INFINITY.fullmatch, self._rules.numerals.find_unreadable(self._known)))
        if not odd:
            return self._numbers(names)
        self._raise_for_other_numerals(odd, names, "")
        if self._rules.coerce:
            return self._coerce(odd, names)
        example = f"and here {self._describe_odd(odd, names)}"
        raise UnreadableColumn(
            Problem(self.name, "numbers in the model, ", example, "coerce=True reads such cells as missing")
        )

    def as_dates(self, column: DateColumn, names: RowLabels | None) -> dict[str, FloatArray]:
        """Return the numeric columns derived from dates; a DataError names the first cell that is not one."""
        dates = list(filter(is_date, self._known))
        order = column.order or (*possible_orders(dates), ORDERS[0])[0]
        odd = [cell for cell in self._known if parse_moment(cell, order) is None]
        if odd and not self._rules.coerce:
            raise no_date_error(column, *self._find_first(odd, names))
        if column.order is None and is_ambiguous(dates):
            raise ambiguity_error(column, *self._find_first(dates, names))
        if odd:
            self._note_coerced(odd, names, "date")
        cells = zip(self._cells, self._are_missing, strict=True)
        moments = [None if is_gap else parse_moment(cell, order) for cell, is_gap in cells]
        return {name: self._spread(values) for name, values in column.numbers(moments).items()}

    # -- properties ------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """True if all cells are missing."""
        return not self._known

    @property
    def n_distinct(self) -> int:
        """Number of distinct cells that are not missing."""
        return len(self._known)

    @property
    def merged_note(self) -> str:
        """A note if distinct integers become equal as floats, else an empty text."""
        long = [cell for cell in self._known if len(cell) > MOST_DIGITS and _WHOLE.fullmatch(cell)]
        way_out = f"categorical={self.name!r} keeps them apart"
        return note_merged_integers(map(int, long), f"column {self.name!r}", way_out)

    @cached_property
    def _cells(self) -> list[str]:
        return list(map(str.strip, self._index))

    @cached_property
    def _are_missing(self) -> list[bool]:
        return self._rules.are_missing(self._cells)

    @cached_property
    def _known(self) -> list[str]:
        """Distinct cells that are not missing, in the order of the file."""
        return list(dict.fromkeys(compress(self._cells, map(not_, self._are_missing))))

    def _rows(self, cells: Collection[str]) -> NDArray[np.bool_]:
        """Flag the rows that have one of these cells."""
        chosen = set(cells)
        return self._spread(np.array([cell in chosen for cell in self._cells]))

    def _find_first(self, cells: Sequence[str], names: RowLabels | None) -> tuple[str, str]:
        """Return the first of these cells in the file, and its row."""
        row = int(self._rows(cells).argmax())
        return self._cells[self._codes[row]], row_name(row, names)

    def _describe_odd(self, cells: Sequence[str], names: RowLabels | None) -> str:
        cell, where = self._find_first(cells, names)
        rest = int(self._rows(cells).sum()) - 1
        return f"{cell!r} at {where}" + (f" and {rest} more such cells" if rest > 1 else "")

    def _are_few(self, odd: Sequence[str]) -> bool:
        if len(odd) == len(self._known):
            return False
        n_odd, n_known = int(self._rows(odd).sum()), int(self._rows(self._known).sum())
        return len(odd) < MOST_ODD * len(self._known) or n_odd <= MOST_ODD_ROWS * n_known

    # -- errors and notes ------------------------------------------------------------------------------------

    def _raise_for_other_numerals(self, odd: Sequence[str], names: RowLabels | None, other_way: str) -> None:
        formats = guess_numerals(self._known, self._rules.numerals, 1 - MOST_ODD)
        readable = [cell for cell in odd if any(each.matches_number(cell) for each in formats)]
        if not readable:
            return
        cell, where = self._find_first(readable, names)
        way_out = _suggest_formats(formats, cell) + other_way
        raise UnreadableColumn(
            Problem(self.name, _describe_formats(formats), f", as {cell!r} at {where}", way_out)
        )

    def _raise_for_dates(self, names: RowLabels | None) -> None:
        dates = list(filter(is_date, self._known))
        others = len(self._known) - len(dates)
        if not dates or others >= max(MOST_ODD * len(self._known), 1):
            return
        cell, where = self._find_first(dates, names)
        raise UnreadableColumn(Problem(self.name, "dates", f", as {cell!r} at {where}", DATES_WAY_OUT))

    def _coerce(self, odd: Sequence[str], names: RowLabels | None) -> FloatArray:
        """Return the cells as numbers, with odd cells as missing."""
        self._note_coerced(odd, names, "number")
        return self._numbers(names, frozenset(odd))

    def _note_coerced(self, odd: Sequence[str], names: RowLabels | None, noun: str) -> None:
        rows = self._rows(odd)
        n_cells = int(rows.sum())
        cells = (
            f"{n_cells} cells that are not a {noun} are" if n_cells > 1 else f"1 cell that is not a {noun} is"
        )
        self.notes.append(
            f"column {self.name!r}: {cells} read as missing, {quoted(odd, 3)}, {first_rows(rows, names)}."
        )

    def _numbers(self, names: RowLabels | None, gaps: Collection[str] = ()) -> FloatArray:
        are_known = np.logical_not(self._are_missing)
        if gaps:
            are_known &= [cell not in gaps for cell in self._cells]
        numbers = np.full(len(self._cells), nan)
        numbers[are_known] = self._rules.numerals.numbers(compress(self._cells, are_known))
        if np.isinf(numbers).any():
            code = int(np.isinf(numbers).argmax())
            where = f"first at {row_name(self._codes.index(code), names)} ({self._cells[code]!r})"
            raise infinity_error(f"column {self.name!r}", where)
        return self._spread(numbers)

    def _spread(self, distinct: NDArray[Any]) -> NDArray[Any]:
        return distinct[np.frombuffer(self._codes, np.int64)]


def _describe_formats(formats: Sequence[Numerals]) -> str:
    if len(formats) > 1:
        return "numbers with a comma"
    marks = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
    if formats[0].thousands:
        return f"numbers with {marks[formats[0].thousands]} between thousands"
    return f"numbers with a decimal {'comma' if formats[0].decimal == ',' else 'point'}"


def _suggest_formats(formats: Sequence[Numerals], cell: str) -> str:
    if len(formats) > 1:
        return ", ".join(f"{each.parameters} reads it as {each.number(cell):.15g}" for each in formats)
    if not formats[0].parameters:
        return "write all numbers of the file with one decimal mark; without decimal=',' these are read"
    return f"{formats[0].parameters} reads them as numbers"
