"""Options for reading data files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import filterfalse
from pathlib import PurePath

from holdfast._text import join_parts, quoted
from holdfast.errors import DataError, ParameterError

CSV_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")


def is_parquet(path: PurePath) -> bool:
    """Return True for the name of a Parquet file, False for CSV; a DataError for anything else.

    >>> is_parquet(PurePath("patients.csv.gz")), is_parquet(PurePath("patients.pq"))
    (False, True)
    """
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        return True
    if name.removesuffix(".gz").endswith(CSV_ENDINGS):
        return False
    raise DataError(
        f"The name '{path}' has no known ending: it must end in {join_parts(list(CSV_ENDINGS))}, "
        "or "
        f"one of these and .gz, for CSV; in {join_parts(list(PARQUET_ENDINGS))} for Parquet."
    )


def is_zipped(path: PurePath) -> bool:
    """Return True if the name ends as a gzip file's."""
    return path.name.lower().endswith(".gz")


# -- Columns that cannot be read, collected into one message -------------------------------------------------

MOST_PROBLEMS = 4  # in one message
MOST_NAMES = 3  # in one parameter
_PARAMETER = re.compile(r"([a-z]+)=\{\}(:[a-z]+)?")


@dataclass(frozen=True)
class Problem:
    """A column whose cells can only be read with another parameter."""

    column: str
    content: str  # description of its cells
    example: str  # a cell and its row
    way_out: str  # {} is replaced by the name, or the list of names, of the columns


class UnreadableColumn(DataError):  # noqa: N818 (the name says what is wrong)
    """A column can only be read with another parameter."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(format_problems([problem]))
        self.problem = problem


def format_problems(problems: Sequence[Problem]) -> str:
    """Format the problems; columns with the same problem share a sentence."""
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.content, problem.way_out), []).append(problem)
    texts = list(map(_format_kind, kinds.values()))
    rest = len(texts) - MOST_PROBLEMS
    return " Also, ".join(texts[:MOST_PROBLEMS]) + (f" There are {rest} more problems." if rest > 0 else "")


def _format_kind(problems: Sequence[Problem]) -> str:
    first = problems[0]
    names = [problem.column for problem in problems]
    if len(names) == 1:
        return f"column {names[0]!r} holds {first.content}{first.example}: {_fill(first.way_out, names)}."
    example = f"{first.example} of column {names[0]!r}"
    return f"columns {quoted(names, 5)} hold {first.content}{example}: {_fill(first.way_out, names)}."


def _fill(way_out: str, names: Sequence[str]) -> str:
    def parameter(match: re.Match[str]) -> str:
        values = [repr(name + (match[2] or "")) for name in names[:MOST_NAMES]]
        rest = ["..."] if len(names) > MOST_NAMES else []
        return f"{match[1]}=" + (values[0] if len(names) == 1 else f"[{', '.join(values + rest)}]")

    return _PARAMETER.sub(parameter, way_out)


# -- Number formats ------------------------------------------------------------------------------------------

# Characters that look alike: a plain, a hard and a narrow blank; two apostrophes.
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
    thousands: str = ""  # the separator of thousands

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


def guess_numerals(cells: Sequence[str], numerals: Numerals, fraction: float) -> list[Numerals]:
    """List the number formats that read most of the cells, at least this fraction of them.

    There are several if cells are ambiguous: '1,234' is more than a thousand, or more than one. A decimal
    comma that the user has set is kept if possible.
    """
    if not any(map(_MARK.search, cells)):
        return []
    if numerals.decimal == "," and (formats := _find_best(cells, (",",), fraction)):
        return formats
    return _find_best(cells, DECIMALS, fraction)


def _find_best(cells: Sequence[str], decimals: Sequence[str], fraction: float) -> list[Numerals]:
    formats = [
        Numerals(decimal, thousands)
        for decimal in decimals
        for thousands in ("", *THOUSANDS)
        if decimal != thousands
    ]
    counts = [sum(map(each.matches_number, cells)) for each in formats]
    most = max(counts)
    best: list[Numerals] = []
    for each, count in zip(formats, counts, strict=True):
        # The simplest formats come first: one that shares a mark with them adds nothing.
        is_new = all(each.decimal != other.decimal and each.thousands != other.thousands for other in best)
        if count == most and is_new:
            best.append(each)
    return best if most >= fraction * len(cells) else []


# -- Options for reading data files --------------------------------------------------------------------------

# In any case and with surrounding blanks, among numbers and text.
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "."))


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a file, the same for all columns."""

    encoding: str | None = None  # None: UTF-8, or UTF-16 if its first bytes say so
    numerals: Numerals = field(default_factory=Numerals)
    missing: tuple[str, ...] = ()  # further markers of missing values
    dates: tuple[str, ...] = ()  # names of columns, perhaps with :parts, :dmy or :mdy
    coerce: bool = False  # read odd cells among numbers or dates as missing
    keep_ids: bool = True  # keep columns that are identifiers

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)  # some codecs, such as base64, are not for text
            except (LookupError, UnicodeError) as error:
                raise ParameterError(
                    f"encoding={self.encoding!r} is unknown: try utf-8, latin-1, cp1252 or utf-16."
                ) from error

    def is_missing(self, cell: str) -> bool:
        """Return True if the cell is a marker for a missing value."""
        return cell.strip().lower() in self._gaps

    def are_missing(self, cells: Iterable[str]) -> list[bool]:
        """Flag missing cells; cells must be stripped of blanks."""
        return list(map(self._gaps.__contains__, map(str.lower, cells)))

    @cached_property
    def _gaps(self) -> frozenset[str]:
        return MISSING.union(marker.strip().lower() for marker in self.missing)
