"""Reading data files: CSV by one rule, whatever is installed, and Parquet."""

import csv
import gzip
import io
import os
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, cast

import numpy as np

from holdfast.data.cells import Cells, date_error
from holdfast.data.columns import as_label
from holdfast.data.filetype import is_parquet, is_zipped
from holdfast.data.frame import Frame, frame_of
from holdfast.data.wording import listed
from holdfast.errors import DataError
from holdfast.files import check_is_file

# Where two occur equally often in the header, the one that occurs less often inside a name.
SEPARATORS = ("\t", ";", "|", ",")
_UNZIPPING = (gzip.BadGzipFile, EOFError, zlib.error)  # what a broken gzip file raises
ROWS_AT_ONCE = 200  # so few that their cells stay in the cache of the processor: 1.6 s instead of 3.0 s

# What people give as CSV by mistake, known by its first bytes.
_FOREIGN = (
    (re.compile(rb"PK\x03\x04"), "it is a zip archive or a spreadsheet: unpack it, or save it as CSV"),
    (re.compile(rb"PAR1"), "it is a Parquet file: let its name end in .parquet"),
    (re.compile(rb"\x1f\x8b"), "it is compressed with gzip: let its name end in .gz"),
    (re.compile(rb"\x80[\x02-\x05]"), "it looks like a pickle, which can run code: it is never loaded"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "it is UTF-16: save it as UTF-8"),
)


def read_file(
    path: str | os.PathLike[str], *, categorical: Sequence[str] = (), drop: Sequence[str] = ()
) -> Frame:
    """The columns of a CSV file (.csv, .tsv or .txt, perhaps with .gz) or a Parquet file (.parquet or .pq).

    A column of CSV is numeric, float64 with NaN for gaps, if all cells that are not missing are numbers:
    digits with perhaps a sign, a point, an exponent and blanks around them, but no leading zeros (01234 is a
    postcode). Missing are empty cells and, in any case, na, n/a, nan, null, none and ?. All other columns are
    text as it is written, None for gaps: there only empty cells, NA, N/A, NaN, null and NULL are missing,
    since None or ? may be a category; so a column in which no cell is a number is text if it has those.
    `categorical` names columns that are text whatever they look like, `drop` those that are left out unread.

    The first line has the names, separated by commas, semicolons, tabs or bars; empty lines are skipped. What
    is no such file, infinity among numbers, and dates are refused with a DataError. Parquet keeps its types.
    """
    source = Path(path)
    if source.is_dir():
        raise DataError(f"Cannot read '{source}': it is a folder. Give the path of the file in it.")
    read = _parquet if is_parquet(source) else _csv
    try:
        return read(source, tuple(categorical), tuple(drop))
    except DataError as error:
        raise DataError(f"Cannot read '{source}': {error}") from error.__cause__


def column_names(path: Path) -> tuple[str, ...]:
    """The names of the columns of a file, so that it can be read knowing them; empty if nobody can tell."""
    if path.is_dir():
        return ()
    if is_parquet(path):
        return parquet_columns(path).names
    try:
        return tuple(next(csv_records(path), ()))
    except (DataError, UnicodeDecodeError, *_UNZIPPING):
        return ()  # `read_file` says what is wrong with it


def csv_records(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV file with every cell as it is written, the names of the columns first."""
    with _opened(path) as content:
        text = io.TextIOWrapper(content, "utf-8-sig", newline="")
        opening = _opening(text)
        for _, row in _rows(chain(opening, text), _separator(opening[-1])):
            yield row


def parquet_columns(path: Path) -> Frame:
    """The columns of a Parquet file in the types that it gives them."""
    from holdfast.data.parquet import parquet_frame

    check_is_file(path)
    with path.open("rb") as file:
        return frame_of(parquet_frame(file))


def _check_choices(categorical: Sequence[str], drop: Sequence[str], names: Sequence[str]) -> None:
    for choice, chosen in (("categorical", categorical), ("drop", drop)):
        absent = [name for name in chosen if name not in names]
        if absent:
            raise DataError(
                f"{choice} names {listed(absent)}, and there is no such column. "
                f"The columns are {listed(names, 30)}."
            )
    if set(names) <= set(drop):
        raise DataError(f"drop names all {len(names)} columns: none is left.")


# -- CSV ----------------------------------------------------------------------------------------------------


def _csv(path: Path, categorical: tuple[str, ...], drop: tuple[str, ...]) -> Frame:
    with _opened(path) as content:
        text = io.TextIOWrapper(content, "utf-8-sig", newline="")  # which skips a byte order mark
        try:
            _refuse_foreign(content.read(8))
            content.seek(0)
            return _csv_frame(text, categorical, drop)
        except UnicodeDecodeError as error:
            content.seek(0)
            raise DataError(f"it is not UTF-8 {_first_bad_line(content)}: save it as UTF-8.") from error
        except _UNZIPPING as error:
            raise DataError(f"it is no gzip file, or a broken one ({error}).") from error


def _opened(path: Path) -> BinaryIO:
    check_is_file(path)
    return cast(BinaryIO, gzip.open(path)) if is_zipped(path) else path.open("rb")


def _refuse_foreign(start: bytes) -> None:
    for pattern, reason in _FOREIGN:
        if pattern.match(start):
            raise DataError(f"{reason}.")


def _first_bad_line(content: Iterable[bytes]) -> str:
    for number, line in enumerate(content, start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            return f"at line {number} (byte {line[error.start]:#04x})"
    return "at its end"


def _csv_frame(text: Iterator[str], categorical: tuple[str, ...], drop: tuple[str, ...]) -> Frame:
    opening = _opening(text)
    separator = _separator(opening[-1])
    rows = _rows(chain(opening, text), separator)
    names = tuple(next(rows)[1])
    _check_names(names)
    _check_choices(categorical, drop, names)
    columns = {index: Cells(name) for index, name in enumerate(names) if name not in drop}
    starts = array("q")
    for chunk in _chunks(rows, len(names), separator):
        starts.extend(line for line, _ in chunk)
        for index, cells in enumerate(zip(*(row for _, row in chunk), strict=True)):
            if index in columns:
                columns[index].extend(cells)
    if not starts:
        raise DataError("it has a line of column names and no rows.")
    lines = np.frombuffer(starts, np.int64)
    kept = columns.values()
    values = [each.as_text() if each.name in categorical else each.as_column(lines) for each in kept]
    return Frame(tuple(each.name for each in kept), values, len(lines))


def _opening(text: Iterator[str]) -> list[str]:
    """The lines up to the first that is not empty."""
    opening = []
    for line in text:
        opening.append(line)
        if line.strip():
            return opening
    raise DataError("it is empty.")


def _separator(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count) if any(mark in bare for mark in SEPARATORS) else ","


def _rows(text: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not empty, with the line on which it begins: a quoted cell can hold line breaks."""
    reader = csv.reader(_lines(text), delimiter=separator, strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"the row that begins at line {line} is no CSV ({error}). Is a quotation mark missing, or one "
            "too many?"
        ) from error


def _lines(text: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(text, start=1):
        if "\0" in line:
            raise DataError(f"it is no text: there is a NUL byte at line {number}.")
        yield line


def _chunks(
    rows: Iterator[tuple[int, list[str]]], width: int, separator: str
) -> Iterator[list[tuple[int, list[str]]]]:
    """The rows, some at a time, all as wide as the header."""
    chunk = []
    for line, row in rows:
        if len(row) != width:
            cells = f"{len(row)} cell" + ("s" if len(row) > 1 else "")
            raise DataError(
                f"line {line} has {cells} and the header has {width}, separated by {separator!r}. "
                "Put text that contains the separator in double quotes."
            )
        chunk.append((line, row))
        if len(chunk) == ROWS_AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _check_names(names: Sequence[str]) -> None:
    nameless = [str(position) for position, name in enumerate(names, start=1) if not name.strip()]
    if nameless:
        raise DataError(
            f"its header has no name for column {', '.join(nameless[:10])}. Name every column; an index that "
            "pandas has added is left out with to_csv(path, index=False)."
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"several columns have the same name: {listed(repeated)}. Rename or delete all but one."
        )


# -- Parquet ------------------------------------------------------------------------------------------------


def _parquet(path: Path, categorical: tuple[str, ...], drop: tuple[str, ...]) -> Frame:
    frame = parquet_columns(path)
    _check_choices(categorical, drop, frame.names)
    kept = frame.without(drop)
    columns = [
        _text_of(column) if name in categorical else _checked(column, name)
        for name, column in zip(kept.names, kept.columns, strict=True)
    ]
    return Frame(kept.names, columns, kept.n_rows)


def _text_of(column: Any) -> Any:
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    texts = [None if is_null or value != value else str(as_label(value)) for value, is_null in pairs]
    return np.array(texts, object)


def _checked(column: Any, name: str) -> Any:
    import narwhals as nw

    kind = column.dtype
    if kind.is_temporal():
        noun = kind.base_type().__name__.lower()
        raise date_error(name, "date" if noun == "datetime" else noun)
    if kind.is_nested() or kind == nw.Binary:
        raise DataError(
            f"column {name!r} holds values of the type {kind.base_type().__name__}, and numbers or text are "
            f"needed: derive columns from it, or leave it out with --drop {quote(name)}"
        )
    return column
