"""Read CSV text: detect encoding and separator, then split the header and the rows."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import numpy as np

from holdfast._arrays import BoolArray, ByteArray, KeyArray, LongArray
from holdfast._files import check_is_file
from holdfast._text import pluralize, quoted
from holdfast.data.read_options import is_zipped
from holdfast.errors import DataError

# In order of preference if several occur equally often in the header.
SEPARATORS = ("\t", ";", "|", ",")
UNZIPPING = (gzip.BadGzipFile, EOFError, zlib.error)  # errors of a broken gzip file
LETTERS_AT_ONCE = 2**21
ROWS_AT_ONCE = 200  # parsed one by one, within the processor's cache

# Other formats, recognised by their first bytes.
_FOREIGN = (
    (re.compile(rb"PK\x03\x04"), "it is a zip archive or a spreadsheet: unpack it, or save it as CSV"),
    (re.compile(rb"PAR1"), "it is a Parquet file: let its name end in .parquet"),
    (re.compile(rb"\x1f\x8b"), "it is compressed with gzip: let its name end in .gz"),
    (re.compile(rb"\x80[\x02-\x05]"), "it looks like a pickle, which is never loaded, since it can run code"),
)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
_MARK = "\ufeff"  # a decoded byte order mark
_PRINTED = re.compile(rb"[\x80-\x9f]")  # quotation marks in Windows-1252, no letters in Latin-1

Row = tuple[int, list[str]]  # the line on which a row begins, and its cells


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
    """Column names and rows, which can be read once."""

    names: tuple[str, ...]
    nameless: frozenset[str]  # generated names
    separator: str
    rows: Iterator[Row]  # one by one
    _begun: str  # text after the header that has been read
    _rest: io.TextIOWrapper
    _line: int  # the line on which that text begins

    def blocks(self) -> Iterator[CsvBlock | RowList]:
        """Iterate over blocks of rows, parsed together until an irregular row, then one by one."""
        text, line, is_last = self._begun, self._line, False
        while not is_last:
            piece = self._read()
            text, is_last = text + piece, not piece
            end = len(text) if is_last else find_end_of_rows(text)
            block = parse_block(text[:end], self.separator, len(self.names), line)
            if block is None:
                lines = chain(io.StringIO(text + self._rest.readline(), newline=""), self._rest)
                yield from self._group_rows(_parse_rows(_Lines(lines, line), self.separator))
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
                for _ in self._group_rows(_parse_header(text).rows):
                    pass
            finally:
                text.detach()  # or it would close the file
            raise

    def _group_rows(self, rows: Iterable[Row]) -> Iterator[RowList]:
        group = []
        for line, row in rows:
            if len(row) != len(self.names):
                raise DataError(
                    f"line {line} has {pluralize(len(row), 'cell')} and the header has {len(self.names)}, "
                    f"separated by {self.separator!r}. Put text that contains the separator in double quotes."
                )
            group.append((line, row))
            if len(group) == ROWS_AT_ONCE:
                yield RowList(group)
                group = []
        if group:
            yield RowList(group)


@contextmanager
def open_csv(path: Path, encoding: str | None = None) -> Iterator[CsvText]:
    """Open a CSV file; a DataError if it is not one, even if found later."""
    check_is_file(path)
    with cast(BinaryIO, gzip.open(path)) if is_zipped(path) else path.open("rb") as content:
        try:
            start = content.read(8)
            for pattern, reason in _FOREIGN:
                if pattern.match(start):
                    raise DataError(f"{reason}.")
            content.seek(0)
            text = io.TextIOWrapper(
                content, encoding or ("utf-16" if start.startswith(UTF_16) else "utf-8-sig"), newline=""
            )
            yield _parse_header(text)
        except UnicodeError as error:
            content.seek(0)
            raise _encoding_error(content, start, encoding) from error
        except UNZIPPING as error:
            raise DataError(f"it is not a valid gzip file ({error}).") from error


def _parse_header(text: io.TextIOWrapper) -> CsvText:
    opening = _read_opening(text)
    separator = _detect_separator(opening[-1])
    lines = _Lines(chain(opening, text))
    rows = _parse_rows(lines, separator)
    header = next(rows)[1]
    names = tuple(name if name.strip() else f"column {place}" for place, name in enumerate(header, start=1))
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"several columns have the same name: {quoted(repeated)}. Rename or delete all but one."
        )
    nameless = frozenset(names).difference(header)
    begun = "".join(opening[lines.next_number - 1 :])
    return CsvText(names, nameless, separator, rows, begun, text, lines.next_number)


# -- the encoding --------------------------------------------------------------------------------------------


def _encoding_error(content: Iterable[bytes], start: bytes, encoding: str | None) -> DataError:
    """Make the error that locates the undecodable byte and suggests an encoding."""
    if encoding is not None:
        return DataError(f"it is not {encoding}: leave out encoding={encoding!r}, or give another.")
    if start.startswith(UTF_16):
        return DataError("it begins as UTF-16, but is not valid: save it again as UTF-8.")
    for number, line in enumerate(content, start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            guess = _guess_encoding(b"".join(chain([line], content)))
            word = _find_word(line, error.start).decode(guess, "replace")
            return DataError(
                f"it is not UTF-8 at line {number} (byte {line[error.start]:#04x}). With encoding={guess!r} "
                f"the place reads {word!r}; or save the file as UTF-8."
            )
    return DataError("it ends within a character.")


def _guess_encoding(text: bytes) -> str:
    """Guess Windows-1252 if letters that only it prints occur, else Latin-1."""
    try:
        text.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252" if _PRINTED.search(text) else "latin-1"


def _find_word(line: bytes, place: int) -> bytes:
    """Return the word around a position."""
    marks = b' \t\r\n;|,"'
    begin = max((line.rfind(bytes([mark]), 0, place) for mark in marks), default=-1) + 1
    ends = [end for mark in marks if (end := line.find(bytes([mark]), place)) >= 0]
    return line[begin : min(ends, default=len(line))][:60]


# -- lines and cells -----------------------------------------------------------------------------------------


def _read_opening(text: Iterator[str]) -> list[str]:
    """Return the lines up to the first that is not empty."""
    opening = []
    for line in text:
        opening.append(line.removeprefix(_MARK))
        if opening[-1].strip():
            return opening
    raise DataError("it is empty.")


def _detect_separator(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count) if any(mark in bare for mark in SEPARATORS) else ","


def _parse_rows(lines: _Lines, separator: str) -> Iterator[Row]:
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


_WIDE = (("utf-16-le", 1), ("utf-16-be", 0))  # the position of the NUL byte of a Latin letter

# -- Blocks of regular rows, parsed by array operations on bytes ---------------------------------------------

_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")


@dataclass(frozen=True, eq=False)
class CsvBlock:
    """A block of rows, its cells stored as positions in the text."""

    lines: LongArray  # on which each row begins
    n_lines: int  # in all
    _data: bytes  # the text as UTF-8, and zeros after it
    _starts: LongArray  # (columns, rows)
    _ends: LongArray

    def column(self, index: int) -> tuple[list[str], LongArray | None]:
        """Return the distinct cells of a column and the number of each row's cell; None: one cell per row.

        A cell may occur twice, with and without quotes.
        """
        starts, ends = self._starts[index], self._ends[index]
        if int((ends - starts).max()) > WIDEST:
            return self._texts(starts, ends), None
        first = find_first_equal(pack_words(self._data, starts, ends))
        rows = np.flatnonzero(first == np.arange(len(first)))
        codes = np.empty(len(first), np.int64)
        codes[rows] = np.arange(len(rows))
        return self._texts(starts[rows], ends[rows]), codes[first]

    def _texts(self, starts: LongArray, ends: LongArray) -> list[str]:
        places = zip(starts.tolist(), ends.tolist(), strict=True)
        # Decoded at once, since no cell contains a NUL.
        joined = b"\0".join([self._data[start:end] for start, end in places]).decode()
        texts = joined.split("\0")
        return list(map(_unquote, texts)) if '"' in joined else texts


def parse_block(text: str, separator: str, n_columns: int, line: int) -> CsvBlock | None:
    """Split the text into rows, the first of which begins at this line; None if anything is irregular.

    The text ends where a row ends.
    """
    if "\0" in text or ("\r" in text and text.count("\r") != text.count("\r\n")):
        return None
    content = (text if text.endswith("\n") else text + "\n").encode()
    padded = content + bytes(WIDEST)
    data = np.frombuffer(padded, np.uint8, len(content))
    ends = _find_ends(data, separator, has_quotes='"' in text)
    cells = None if ends is None else _find_cells(data, ends, n_columns)
    if cells is None:
        return None
    starts, ends = cells
    newlines = np.flatnonzero(data == _NEWLINE)
    return CsvBlock(line + np.searchsorted(newlines, starts[0]), len(newlines), padded, starts, ends)


def find_end_of_rows(text: str) -> int:
    """Find where the last complete row of the text ends, or 0."""
    end = text.rfind("\n")
    while '"' in text and end >= 0 and text.count('"', 0, end) % 2:  # a line break inside quotes
        end = text.rfind("\n", 0, text.rfind('"', 0, end))
    return end + 1


def _find_ends(data: ByteArray, separator: str, *, has_quotes: bool) -> LongArray | None:
    """Find where cells end; None if a quotation mark is misplaced."""
    is_mark = (data == ord(separator)) | (data == _NEWLINE)
    if not has_quotes:
        return np.flatnonzero(is_mark)
    marks = np.flatnonzero(is_mark | (data == _QUOTE))
    is_quote = data[marks] == _QUOTE
    if not _is_quoted_well(data, marks[is_quote], separator):
        return None
    is_inside = np.add.accumulate(is_quote, dtype=np.uint8) & 1  # after an odd number of quotation marks
    return cast(LongArray, marks[~is_quote & (is_inside == 0)])


def _is_quoted_well(data: ByteArray, quotes: LongArray, separator: str) -> bool:
    """Check that quoted cells begin and end with a quotation mark, and that marks within are doubled.

    Every second mark closes; a doubled mark within a cell closes and reopens it.
    """
    if len(quotes) % 2:
        return False
    # Index -1 before the first character is the last one, a line break.
    before, after = data[quotes[::2] - 1], data[quotes[1::2] + 1]
    edges = [ord(separator), _NEWLINE, _QUOTE]
    return bool(np.isin(before, edges).all() and np.isin(after, [*edges, _RETURN]).all())


def _find_cells(data: ByteArray, ends: LongArray, n_columns: int) -> tuple[LongArray, LongArray] | None:
    """Return begin and end of each cell, column by column; None unless all rows are as wide as the header."""
    starts = np.append(0, ends[:-1] + 1)
    is_last = data[ends] == _NEWLINE
    empty = _flag_empty_lines(data, starts, ends, is_last)
    if empty.any():
        starts, ends, is_last = starts[~empty], ends[~empty], is_last[~empty]
    if len(ends) % n_columns or np.count_nonzero(is_last) * n_columns != len(ends):
        return None
    if not is_last[n_columns - 1 :: n_columns].all() or not len(ends):
        return None
    if int((ends - starts).max()) > csv.field_size_limit():
        return None
    by_column: Any = [np.ascontiguousarray(each.reshape(-1, n_columns).T) for each in (starts, ends)]
    by_column[1][-1] -= data[by_column[1][-1] - 1] == _RETURN
    return by_column[0], by_column[1]


def _flag_empty_lines(data: ByteArray, starts: LongArray, ends: LongArray, is_last: BoolArray) -> BoolArray:
    alone = np.flatnonzero(is_last & np.append(True, is_last[:-1]))  # few, unless there is one column
    lengths = ends[alone] - starts[alone]
    is_bare = (lengths == 0) | ((lengths == 1) & (data[starts[alone]] == _RETURN))
    empty = np.zeros(len(ends), np.bool_)
    empty[alone[is_bare]] = True
    return empty


def _unquote(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


# -- Equal cells, found by array operations ------------------------------------------------------------------

_BYTES = 8  # of a word
WIDEST = 16 * _BYTES  # bytes of the cells that are compared in this way

_KEPT = np.array([2 ** (8 * n) - 1 for n in range(_BYTES + 1)], np.uint64)  # the first n bytes of a word
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, with random-looking bits: 2**64 / golden ratio
_FURTHER = np.uint64(2**32)  # to the next factor
_HALF = np.uint64(32)


def pack_words(data: bytes, starts: LongArray, ends: LongArray) -> KeyArray:
    """Pack the bytes of each cell into machine words, (words, cells), padded with zeros.

    The bytes must not be zeros, and be followed by at least `WIDEST` more after the last start.
    """
    at_each_byte = np.ndarray((len(data) - _BYTES + 1,), "<u8", data, strides=(1,))
    lengths = ends - starts
    n_words = max(-(-int(lengths.max()) // _BYTES), 1)
    words = np.empty((n_words, len(starts)), np.uint64)
    for place, word in enumerate(words):
        kept = np.clip(lengths - _BYTES * place, 0, _BYTES)
        np.bitwise_and(at_each_byte[starts + _BYTES * place], _KEPT[kept], out=word)
    return words


def find_first_equal(words: KeyArray) -> LongArray:
    """For each cell, find the first equal cell.

    >>> find_first_equal(np.array([[7, 5, 7, 5, 9]], np.uint64)).tolist()
    [0, 1, 0, 1, 4]
    """
    n_bits = words.shape[1].bit_length() + 1
    first = np.empty(words.shape[1], np.int64)
    left, its_words, factor = np.arange(words.shape[1]), words, _FACTOR
    while len(left):
        candidates = _first_in_slot(_hash_cells(its_words, factor, n_bits), left, n_bits)
        same = (words[:, candidates] == its_words).all(axis=0)
        if len(left) == len(first) and same.all():
            return candidates  # few distinct cells: the usual case
        first[left[same]] = candidates[same]
        left = left[~same]  # hash collisions with other cells: repeat without those
        its_words, factor = words[:, left], factor + _FURTHER
    return first


def _first_in_slot(slots: LongArray, cells: LongArray, n_bits: int) -> LongArray:
    """For each cell, find the first with the same slot."""
    table = np.empty(2**n_bits, np.int64)
    table[slots[::-1]] = cells[::-1]  # the last of several writes stays
    return table[slots]


def _hash_cells(words: KeyArray, factor: np.uint64, n_bits: int) -> LongArray:
    """Hash each cell to a slot."""
    mixed = words[0] * factor
    for word in words[1:]:
        mixed = (mixed ^ (mixed >> _HALF) ^ word) * factor
    return np.asarray(mixed >> np.uint64(64 - n_bits), np.int64)
