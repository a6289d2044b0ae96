"""Some rows of a CSV file at once, found in its bytes by whole arrays instead of letter by letter.

A block is only made of text that cannot be read in two ways. Whatever is odd, such as a quotation mark inside
a word, a line that is too long or a carriage return alone, is left to the reader that goes row by row: it
decides, and words the errors.
"""

import csv
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from holdfast.arrays import BoolArray, ByteArray, LongArray
from holdfast.data.files.distinct import WIDEST, find_first_equal, pack_words

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

        A cell may come twice, as one that is written with quotes and without does.
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
        # Decoded in one piece: no cell holds a NUL.
        joined = b"\0".join([self._data[start:end] for start, end in places]).decode()
        texts = joined.split("\0")
        return list(map(_unquoted, texts)) if '"' in joined else texts


def parse_block(text: str, separator: str, n_columns: int, line: int) -> CsvBlock | None:
    """Split the text into rows, the first of which begins at this line; None if anything is irregular.

    The text ends where a row ends.
    """
    if "\0" in text or ("\r" in text and text.count("\r") != text.count("\r\n")):
        return None
    content = (text if text.endswith("\n") else text + "\n").encode()
    padded = content + bytes(WIDEST)
    data = np.frombuffer(padded, np.uint8, len(content))
    ends = _ends(data, separator, has_quotes='"' in text)
    places = None if ends is None else _places(data, ends, n_columns)
    if places is None:
        return None
    starts, ends = places
    newlines = np.flatnonzero(data == _NEWLINE)
    return CsvBlock(line + np.searchsorted(newlines, starts[0]), len(newlines), padded, starts, ends)


def find_end_of_rows(text: str) -> int:
    """Find where the last complete row of the text ends; 0 if there is none."""
    end = text.rfind("\n")
    while '"' in text and end >= 0 and text.count('"', 0, end) % 2:  # a line break inside quotes
        end = text.rfind("\n", 0, text.rfind('"', 0, end))
    return end + 1


def _ends(data: ByteArray, separator: str, *, has_quotes: bool) -> LongArray | None:
    """Find where cells end; None if a quotation mark is misplaced."""
    is_mark = (data == ord(separator)) | (data == _NEWLINE)
    if not has_quotes:
        return np.flatnonzero(is_mark)
    marks = np.flatnonzero(is_mark | (data == _QUOTE))
    is_quote = data[marks] == _QUOTE
    if not _is_quoted_well(data, marks[is_quote], separator):
        return None
    is_inside = np.add.accumulate(is_quote, dtype=np.uint8) & 1  # behind an odd number of quotation marks
    return cast(LongArray, marks[~is_quote & (is_inside == 0)])


def _is_quoted_well(data: ByteArray, quotes: LongArray, separator: str) -> bool:
    """Check that quoted cells begin and end with a mark and that marks within are doubled.

    Every second mark closes. Two side by side inside a cell close it and open it again at once.
    """
    if len(quotes) % 2:
        return False
    # In front of the first letter is the last one, a line break.
    before, after = data[quotes[::2] - 1], data[quotes[1::2] + 1]
    edges = [ord(separator), _NEWLINE, _QUOTE]
    return bool(np.isin(before, edges).all() and np.isin(after, [*edges, _RETURN]).all())


def _places(data: ByteArray, ends: LongArray, n_columns: int) -> tuple[LongArray, LongArray] | None:
    """Return begin and end of each cell, column by column; None unless all rows are as wide as the header."""
    starts = np.append(0, ends[:-1] + 1)
    is_last = data[ends] == _NEWLINE
    empty = _are_empty_lines(data, starts, ends, is_last)
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


def _are_empty_lines(data: ByteArray, starts: LongArray, ends: LongArray, is_last: BoolArray) -> BoolArray:
    alone = np.flatnonzero(is_last & np.append(True, is_last[:-1]))  # few, unless there is one column
    lengths = ends[alone] - starts[alone]
    is_bare = (lengths == 0) | ((lengths == 1) & (data[starts[alone]] == _RETURN))
    empty = np.zeros(len(ends), np.bool_)
    empty[alone[is_bare]] = True
    return empty


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell
