"""Options for reading data files."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from holdfast.data.files.numerals import Numerals
from holdfast.errors import ParameterError

# In any case, and with blanks around them; the same in columns of numbers and of text.
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "."))


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a file, the same for all columns."""

    encoding: str | None = None  # None: UTF-8, or UTF-16 if its first bytes say so
    numerals: Numerals = field(default_factory=Numerals)
    missing: tuple[str, ...] = ()  # what is missing besides `MISSING`
    dates: tuple[str, ...] = ()  # columns, each perhaps with :parts, :dmy or :mdy
    coerce: bool = False  # cells that are no number, or no date, where the others are: missing
    keep_ids: bool = True  # columns that only tell rows apart

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
        """Flag missing cells; the cells must be stripped of blanks."""
        return list(map(self._gaps.__contains__, map(str.lower, cells)))

    @cached_property
    def _gaps(self) -> frozenset[str]:
        return MISSING.union(marker.strip().lower() for marker in self.missing)
