"""Read CSV text: detect encoding and separator, then split the header and the rows."""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Self, cast

import numpy as np

from holdfast.arrays import LongArray
from holdfast.data.files.csv_block import CsvBlock, find_end_of_rows, parse_block
from holdfast.data.files.filetype import is_zipped
from holdfast.errors import DataError
from holdfast.files import check_is_file
from holdfast.text.lists import listed

# Where two occur equally often in the header, the one that occurs less often inside a name.
SEPARATORS = ("\t", ";", "|", ",")
UNZIPPING = (gzip.BadGzipFile, EOFError, zlib.error)  # what a broken gzip file raises
LETTERS_AT_ONCE = 2**21
ROWS_AT_ONCE = 200  # one by one: so few that their cells stay in the cache of the processor

# What people give as CSV by mistake, known by its first bytes.
_FOREIGN = (
    (re.compile(rb"PK\x03\x04"), "it is a zip archive or a spreadsheet: unpack it, or save it as CSV"),
    (re.compile(rb"PAR1"), "it is a Parquet file: let its name end in .parquet"),
    (re.compile(rb"\x1f\x8b"), "it is compressed with gzip: let its name end in .gz"),
    (re.compile(rb"\x80[\x02-\x05]"), "it looks like a pickle, which can run code: it is never loaded"),
)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
_MARK = "\ufeff"  # one of them, decoded
_PRINTED = re.compile(rb"[\x80-\x9f]")  # Latin-1 has no letters there, Windows has quotation marks

Row = tuple[int, list[str]]  # the line on which it begins, and its cells


@dataclass(frozen=True)
class RowList:
    """Rows that were parsed one by one."""

    rows: list[Row]

    @property
    def lines(self) -> LongArray:
        """The lines on which the rows begin."""
        return np.array([line for line, _ in self.rows], np.int64)

    def column(self, index: int) -> tuple[list[str], None]:
        """Return the cells of a column, one per row."""
        return [row[index] for _, row in self.rows], None


@dataclass(frozen=True)
class CsvText:
    """Column names and the rows that follow, which can be read once."""

    names: tuple[str, ...]
    nameless: frozenset[str]  # the names that were made up
    separator: str
    rows: Iterator[Row]  # one by one
    _begun: str  # what was looked at of the text behind the header
    _rest: io.TextIOWrapper
    _line: int  # on which that text begins

    def blocks(self) -> Iterator[CsvBlock | RowList]:
        """Iterate over blocks of rows, parsed together until an irregular row, then one by one."""
        text, line, is_over = self._begun, self._line, False
        while not is_over:
            piece = self._read()
            text, is_over = text + piece, not piece
            end = len(text) if is_over else find_end_of_rows(text)
            block = parse_block(text[:end], self.separator, len(self.names), line)
            if block is None:
                lines = chain(io.StringIO(text + self._rest.readline(), newline=""), self._rest)
                yield from self._lists(_rows(_Lines(lines, line), self.separator))
                return
            yield block
            text, line = text[end:], line + block.n_lines

    def _read(self) -> str:
        try:
            return self._rest.read(LETTERS_AT_ONCE)
        except (UnicodeError, *UNZIPPING):
            encoding, content = self._rest.encoding, cast(BinaryIO, self._rest.detach())
            content.seek(0)
            text = io.TextIOWrapper(content, encoding, newline="")
            try:
                for _ in self._lists(_csv_text(text).rows):
                    pass
            finally:
                text.detach()  # or it would close the file
            raise

    def _lists(self, rows: Iterable[Row]) -> Iterator[RowList]:
        some = []
        for line, row in rows:
            if len(row) != len(self.names):
                raise self._width_error(line, len(row))
            some.append((line, row))
            if len(some) == ROWS_AT_ONCE:
                yield RowList(some)
                some = []
        if some:
            yield RowList(some)

    def _width_error(self, line: int, n_cells: int) -> DataError:
        cells = f"{n_cells} cell" + ("s" if n_cells > 1 else "")
        return DataError(
            f"line {line} has {cells} and the header has {len(self.names)}, separated by {self.separator!r}. "
            "Put text that contains the separator in double quotes."
        )


@contextmanager
def open_csv(path: Path, encoding: str | None = None) -> Iterator[CsvText]:
    """Open a CSV file; a DataError if it is not one, even if found later."""
    with _opened(path) as content:
        try:
            start = content.read(8)
            for pattern, reason in _FOREIGN:
                if pattern.match(start):
                    raise DataError(f"{reason}.")
            content.seek(0)
            text = io.TextIOWrapper(content, encoding or _encoding(start), newline="")
            yield _csv_text(text)
        except UnicodeError as error:
            content.seek(0)
            raise _encoding_error(content, start, encoding) from error
        except UNZIPPING as error:
            raise DataError(f"it is not a valid gzip file ({error}).") from error


def _opened(path: Path) -> BinaryIO:
    check_is_file(path)
    return cast(BinaryIO, gzip.open(path)) if is_zipped(path) else path.open("rb")


def _csv_text(text: io.TextIOWrapper) -> CsvText:
    opening = _opening(text)
    separator = _separator(opening[-1])
    lines = _Lines(chain(opening, text))
    rows = _rows(lines, separator)
    header = next(rows)[1]
    names = tuple(name if name.strip() else f"column {place}" for place, name in enumerate(header, start=1))
    _raise_for_repeated(names)
    nameless = frozenset(names).difference(header)
    begun = "".join(opening[lines.next_number - 1 :])
    return CsvText(names, nameless, separator, rows, begun, text, lines.next_number)


def _raise_for_repeated(names: Sequence[str]) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"several columns have the same name: {listed(repeated)}. Rename or delete all but one."
        )


# -- the encoding -----------------------------------------------------------------------------------------


def _encoding(start: bytes) -> str:
    """Return UTF-16 if the file begins with its byte order mark, else UTF-8."""
    return "utf-16" if start.startswith(UTF_16) else "utf-8-sig"


def _encoding_error(content: Iterable[bytes], start: bytes, encoding: str | None) -> DataError:
    """Make the error that locates the undecodable byte and suggests an encoding."""
    if encoding is not None:
        return DataError(f"it is not {encoding}: leave out encoding={encoding!r}, or give another.")
    if start.startswith(UTF_16):
        return DataError("it begins as UTF-16, and is broken further on: save it again, as UTF-8.")
    for number, line in enumerate(content, start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            guess = _likely_encoding(b"".join(chain([line], content)))
            word = _word_at(line, error.start).decode(guess, "replace")
            return DataError(
                f"it is not UTF-8 at line {number} (byte {line[error.start]:#04x}). With encoding={guess!r} "
                f"the place reads {word!r}; or save the file as UTF-8."
            )
    return DataError("it is broken off in the middle of a letter.")


def _likely_encoding(text: bytes) -> str:
    """Guess Windows-1252 if letters that only it prints occur, else Latin-1."""
    try:
        text.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252" if _PRINTED.search(text) else "latin-1"


def _word_at(line: bytes, place: int) -> bytes:
    """Return the word around a position."""
    marks = b' \t\r\n;|,"'
    begin = max((line.rfind(bytes([mark]), 0, place) for mark in marks), default=-1) + 1
    ends = [end for mark in marks if (end := line.find(bytes([mark]), place)) >= 0]
    return line[begin : min(ends, default=len(line))][:60]


# -- lines and cells --------------------------------------------------------------------------------------


def _opening(text: Iterator[str]) -> list[str]:
    """Return the lines up to the first that is not empty."""
    opening = []
    for line in text:
        opening.append(line.removeprefix(_MARK))
        if opening[-1].strip():
            return opening
    raise DataError("it is empty.")


def _separator(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count) if any(mark in bare for mark in SEPARATORS) else ","


def _rows(lines: "_Lines", separator: str) -> Iterator[Row]:
    """Iterate over rows that are not empty, with the line on which each begins."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = lines.next_number
    try:
        for row in reader:
            if row:
                yield line, row
            line = lines.next_number
    except csv.Error as error:
        raise DataError(
            f"the row that begins at line {line} is not valid CSV ({error}). Is a quotation mark missing, or "
            "one too many?"
        ) from error


class _Lines:
    """Lines of a text, counted; a DataError at a NUL byte."""

    def __init__(self, text: Iterable[str], first: int = 1) -> None:
        self.next_number = first
        self._text = iter(text)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = next(self._text)
        if "\0" in line:
            raise _nul_error(line, self.next_number)
        self.next_number += 1
        return line


def _nul_error(line: str, number: int) -> DataError:
    wide = next((name for name, gap in _WIDE if line.find("\0") % 2 == gap and number == 1), None)
    way_out = f" If it is UTF-16, read it with encoding={wide!r}." if wide else ""
    return DataError(f"it is not text: there is a NUL byte at line {number}.{way_out}")


_WIDE = (("utf-16-le", 1), ("utf-16-be", 0))  # on which side of a letter the NUL byte stands
