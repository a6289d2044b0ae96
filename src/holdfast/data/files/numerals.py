"""Number formats: decimal mark and thousands separator."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse

from holdfast.errors import ParameterError

# Marks that look alike in print: a plain, a hard and a narrow blank; two apostrophes.
_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
DECIMALS = (".", ",")
THOUSANDS = (",", ".", " ", "'")
_MARK = re.compile(rf"[{''.join(''.join(_ALIKE.get(mark, mark)) for mark in THOUSANDS)}]")


@dataclass(frozen=True)
class Numerals:
    """A number format.

    >>> german = Numerals(decimal=",", thousands=".")
    >>> german.matches_number("1.234,5"), german.number("1.234,5"), german.matches_number("1,234.5")
    (True, 1234.5, False)
    """

    decimal: str = "."
    thousands: str = ""  # empty: nothing stands between thousands

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise ParameterError(f"decimal={self.decimal!r} must be a point or a comma.")
        if self.thousands not in ("", *THOUSANDS, *"".join(_ALIKE.values())):
            raise ParameterError(
                f"thousands={self.thousands!r} must be a comma, a point, a blank or an apostrophe."
            )
        if self.decimal == self.thousands:
            other = "," if self.decimal == "." else "."
            raise ParameterError(
                f"decimal={self.decimal!r} and thousands={self.thousands!r} are equal: set decimal={other!r}."
            )

    def matches_number(self, cell: str) -> bool:
        """Return True if the cell is a number without leading zeros: 01234 is a postcode."""
        return self._pattern.fullmatch(cell) is not None

    def number(self, cell: str) -> float:
        """Parse a number or an infinity."""
        if self.thousands:
            cell = re.sub(f"[{self._between}]", "", cell)
        return float(cell.replace(self.decimal, "."))

    def find_unreadable(self, cells: Iterable[str]) -> list[str]:
        """Return the cells that are not numbers."""
        return list(filterfalse(self._pattern.fullmatch, cells))

    def numbers(self, cells: Iterable[str]) -> list[float]:
        """Parse numbers or infinities."""
        return list(map(float if self == Numerals() else self.number, cells))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        whole = r"0|[1-9][0-9]*"
        if self.thousands:
            whole += rf"|[1-9][0-9]{{0,2}}(?:[{self._between}][0-9]{{3}})+"
        mark = re.escape(self.decimal)
        return re.compile(rf"[+-]?(?:(?:{whole})(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    @property
    def _between(self) -> str:
        alike = next((marks for marks in _ALIKE.values() if self.thousands in marks), self.thousands)
        return re.escape(alike)

    @property
    def parameters(self) -> str:
        """The parameters to set for this format."""
        decimal = f"decimal={self.decimal!r}" if self.decimal != "." else ""
        thousands = f"thousands={self.thousands!r}" if self.thousands else ""
        return " and ".join(filter(None, (decimal, thousands)))


def guess_numerals(cells: Sequence[str], given: Numerals, fraction: float) -> list[Numerals]:
    """List the number formats that read most of the cells, at least this fraction of them.

    Several, where a cell can be read in several ways: '1,234' is more than a thousand, or more than one. A
    decimal comma that is `given` stays.
    """
    if not any(map(_MARK.search, cells)):
        return []
    if given.decimal == "," and (found := _best(cells, _ways((",",)), fraction)):
        return found
    return _best(cells, _ways(DECIMALS), fraction)


def _ways(decimals: Sequence[str]) -> list[Numerals]:
    return [
        Numerals(decimal, thousands)
        for decimal in decimals
        for thousands in ("", *THOUSANDS)
        if decimal != thousands
    ]


def _best(cells: Sequence[str], ways: Sequence[Numerals], fraction: float) -> list[Numerals]:
    read = [sum(map(way.matches_number, cells)) for way in ways]
    most = max(read)
    best: list[Numerals] = []
    for way, count in zip(ways, read, strict=True):
        # In the order of `ways` the simplest comes first: one with the same mark adds nothing to it.
        is_new = all(way.decimal != other.decimal and way.thousands != other.thousands for other in best)
        if count == most and is_new:
            best.append(way)
    return best if most >= fraction * len(cells) else []
