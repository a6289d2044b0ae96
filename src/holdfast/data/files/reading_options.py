"""How the cells of a data file are to be understood: what the options of the terminal say of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from holdfast.data.files.numerals import Numerals
from holdfast.errors import DataError

# In any case, and with blanks around them; the same in columns of numbers and of text.
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "."))


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is read; the same rules hold for all of its columns."""

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
                raise DataError(
                    f"--encoding {self.encoding!r} is unknown: try utf-8, latin-1, cp1252 or utf-16."
                ) from error

    def is_missing(self, cell: str) -> bool:
        """True if the cell says that there is no value."""
        return cell.strip().lower() in self._gaps

    def are_missing(self, cells: Iterable[str]) -> list[bool]:
        """The same of many cells that have no blanks around them."""
        return list(map(self._gaps.__contains__, map(str.lower, cells)))

    @cached_property
    def _gaps(self) -> frozenset[str]:
        return MISSING.union(marker.strip().lower() for marker in self.missing)
