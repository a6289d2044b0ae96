"""The cells of one column of a CSV file: which of them are missing, and whether the others are numbers."""

import re
import warnings
from array import array
from collections import defaultdict
from itertools import count
from math import isinf, nan
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import LongArray
from holdfast.data.columns import infinity_error
from holdfast.data.wording import listed
from holdfast.errors import DataError, DataWarning

# In a column of numbers these words, in any case, can only mean a gap. In a column of text "None" or "?" may
# well be a category ("None" of these tests was done), so that only the plainest marks are gaps there.
GAPS_AMONG_NUMBERS = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))
GAPS_IN_TEXT = frozenset(("", "NA", "N/A", "NaN", "null", "NULL"))

# No digit separators, no hexadecimal, and no leading zeros: 01234 is a postcode.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_POSTCODE = re.compile(r"[0-9]+")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_DATE = re.compile(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


MOST_ODD = 0.2  # of the different cells; with more that are no numbers, the column is text by rights


class Cells:
    """The cells of one column, each distinct text kept once: most columns repeat a few."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._index: defaultdict[str, int] = defaultdict(count().__next__)
        self._codes = array("q")  # of each row, the position of its cell among the distinct ones

    def extend(self, cells: tuple[str, ...]) -> None:
        """Add the cells of some more rows."""
        self._codes.extend(map(self._index.__getitem__, cells))

    def as_text(self) -> NDArray[Any]:
        """The cells as they are written, None where missing."""
        texts = [None if cell.strip() in GAPS_IN_TEXT else cell for cell in self._index]
        return self._spread(np.array(texts, object))

    def as_column(self, lines: LongArray) -> NDArray[Any]:
        """The cells as float64 with NaN for gaps if they are numbers, else as text with None for gaps.

        `lines` has the line of the file on which each row begins. A DataError refuses infinity among
        numbers, and dates.
        """
        cells = [cell.strip() for cell in self._index]
        known = [cell for cell in cells if cell.lower() not in GAPS_AMONG_NUMBERS]
        if _are_numbers(known) or GAPS_IN_TEXT.issuperset(cells):
            return self._numbers(cells, lines)
        if known and all(map(_DATE.fullmatch, known)):
            raise date_error(self.name)
        self._warn_of_numbers(known)
        return self.as_text()

    def _warn_of_numbers(self, known: list[str]) -> None:
        """Say so if a few cells make a column of numbers one of text: a tree would ask about each of them."""
        others = [cell for cell in known if not _NUMBER.fullmatch(cell)]
        if all(map(_POSTCODE.fullmatch, others)):
            return
        if all(map(_DECIMAL_COMMA.fullmatch, others)):
            problem = f"its cells look like numbers with a decimal comma, as {others[0]!r}: write a point"
        elif len(others) < MOST_ODD * len(known):
            problem = f"most of its cells are numbers, but not {listed(others, 3)}: empty such cells"
        else:
            return
        warnings.warn(
            f"column {self.name!r} is read as text: {problem}, or name it as categorical.",
            DataWarning,
            stacklevel=2,
        )

    def _numbers(self, cells: list[str], lines: LongArray) -> NDArray[Any]:
        numbers = [nan if cell.lower() in GAPS_AMONG_NUMBERS else float(cell) for cell in cells]
        for code, number in enumerate(numbers):
            if isinf(number):
                row = self._codes.index(code)
                raise infinity_error(f"column {self.name!r}", f"first at line {lines[row]} ({cells[code]!r})")
        return self._spread(np.array(numbers, np.float64))

    def _spread(self, distinct: NDArray[Any]) -> NDArray[Any]:
        return distinct[np.frombuffer(self._codes, np.int64)]


def date_error(name: str, noun: str = "date") -> DataError:
    """The error that refuses a column of dates."""
    return DataError(
        f"column {name!r} is a {noun}: derive a number of days, or leave it out with --drop {quote(name)}"
    )


def _are_numbers(known: list[str]) -> bool:
    """True if there are numbers and, infinity apart, nothing else."""
    others = [cell for cell in known if not _NUMBER.fullmatch(cell)]
    return len(others) < len(known) and all(map(_INFINITY.fullmatch, others))
