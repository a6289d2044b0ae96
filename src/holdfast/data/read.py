"""Read CSV files, Parquet files and data frames."""

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, LongArray
from holdfast._text import RowLabels, columns_text, quoted
from holdfast.data.cells import Cells
from holdfast.data.dates import DateColumn, parse_date_columns
from holdfast.data.frame import Frame, make_frame
from holdfast.data.parquet import ParquetColumn, read_parquet_columns
from holdfast.data.read_csv import CsvText, open_csv
from holdfast.data.read_options import Problem, ReadingOptions, UnreadableColumn, format_problems, is_parquet
from holdfast.errors import DataError, DataWarning


@dataclass(frozen=True)
class ColumnChoices:
    """How columns are read, by name."""

    categorical: Sequence[str] = ()  # read as text
    numeric: Sequence[str] = ()  # read as numbers
    drop: Sequence[str] = ()  # not read
    roles: Sequence[str] = ()  # not features, so that they may be identifiers
    known: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # categories, never missing


@contextmanager
def open_source(data: Any, encoding: str | None = None) -> "Iterator[CsvSource | FrameSource]":
    """Open a CSV file, a Parquet file or folder, or a frame; then its columns have names, and can be read.

    Names end in .csv, .tsv or .txt, perhaps with .gz, or in .parquet or .pq. The files of a folder of Parquet
    files are read in the order of their names.
    """
    if not isinstance(data, str | os.PathLike):
        yield FrameSource(make_frame(data), "the frame")
        return
    path = Path(data)
    if path.is_dir():
        yield FrameSource(read_parquet_columns(path), f"'{path}'")
        return
    if is_parquet(path):
        with _named(f"'{path}'"):
            frame = read_parquet_columns(path)
        yield FrameSource(frame, f"'{path}'")
        return
    with ExitStack() as stack:
        yield CsvSource(path, encoding, stack)


def read_csv_records(path: Path, encoding: str | None = None) -> Iterator[list[str]]:
    """Iterate over the rows of a CSV file as text, the header first."""
    with open_csv(path, encoding) as text:
        yield list(text.names)
        for _, row in text.rows:
            yield row


def _check_choices(choices: ColumnChoices, dates: Sequence[DateColumn], names: Sequence[str]) -> None:
    named = {
        "categorical": choices.categorical,
        "drop": choices.drop,
        "date": [column.name for column in dates],
    }
    for choice, chosen in named.items():
        absent = [name for name in chosen if name not in names]
        if absent:
            raise DataError(
                f"{choice} names {quoted(absent)}, which is no column. {columns_text(absent, names)}"
            )
    if set(names) <= set(choices.drop):
        raise DataError(f"drop names all {len(names)} columns: keep at least one.")


# -- columns, one by one -------------------------------------------------------------------------------------


class _ColumnReader:
    """Collects the columns of a frame, and the problems of those that cannot be read."""

    def __init__(self, choices: ColumnChoices, dates: Sequence[DateColumn], rules: ReadingOptions) -> None:
        self._choices, self._rules = choices, rules
        self._dates = dates
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._left_out: dict[str, str] = {}  # by column: the reason
        self._columns: dict[str, Any] = {}

    def add(self, column: Cells | ParquetColumn, names: RowLabels | None) -> None:
        """Read a column."""
        try:
            self._add(column, column.name, names)
        except UnreadableColumn as error:
            self._problems.append(error.problem)
        self._notes += column.notes

    def frame(self, n_rows: int, rows: RowLabels | None) -> Frame:
        """Return the frame of all columns; a DataError lists all problems."""
        if self._problems:
            raise DataError(format_problems(self._problems))
        for note in (*self._notes, *self._left_out_notes()):
            warnings.warn(note, DataWarning, stacklevel=5)
        return Frame(tuple(self._columns), list(self._columns.values()), n_rows, rows=rows)

    def _left_out_notes(self) -> Iterator[str]:
        for reason in dict.fromkeys(self._left_out.values()):
            names = [name for name, its_reason in self._left_out.items() if its_reason == reason]
            columns = f"column {quoted(names)} is" if len(names) == 1 else f"columns {quoted(names)} are"
            yield (
                f"{columns} left out, since {reason}, as in an identifier. keep_ids=True keeps such columns."
            )

    def _add(self, column: Cells | ParquetColumn, name: str, names: RowLabels | None) -> None:
        dates = [date for date in self._dates if date.name == name]
        for date in dates:
            self._keep(column.as_dates(date, names))
        if dates:
            return
        if name in self._choices.categorical:
            self._keep({name: column.as_text(self._choices.known.get(name, ()))})
        elif name in self._choices.numeric:
            self._keep({name: column.as_numbers(names)})
        else:
            values = column.as_column(names)
            is_kept = self._rules.keep_ids or name in self._choices.roles
            if not is_kept and (reason := explain_identifier(name, values, column.n_distinct)):
                self._left_out[name] = reason
                return
            self._keep({name: values})
            if values.dtype == np.float64:
                self._notes += filter(None, [column.merged_note])

    def _keep(self, columns: Mapping[str, Any]) -> None:
        """Add the columns; those derived from dates must not have the name of another."""
        repeated = [name for name in columns if name in self._columns]
        if repeated:
            raise DataError(f"there are two columns {repeated[0]!r}: rename one of them, or leave it out.")
        self._columns.update(columns)


# -- CSV -----------------------------------------------------------------------------------------------------


class CsvSource:
    """An open CSV file, whose columns can be read once.

    The first line has the names, separated by commas, semicolons, tabs or bars; empty lines are skipped. A
    column is numeric (float64, NaN where missing) if all cells that are not missing are numbers: digits with
    perhaps a sign, a point, an exponent and blanks around them, but no leading zeros (01234 is a postcode).
    Other columns are text, None where missing. In any case, empty cells, na, n/a, #n/a, nan, null, none, ?
    and a point are missing. Infinity among numbers, dates that are not declared, and a few words among many
    numbers raise a DataError.
    """

    is_typed = False

    def __init__(self, path: Path, encoding: str | None, stack: ExitStack) -> None:
        self.name = f"'{path}'"  # what messages call it
        self._stack = stack
        with _named(self.name):
            self._text = stack.enter_context(open_csv(path, encoding))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._text.names

    def read(self, choices: ColumnChoices, rules: ReadingOptions) -> Frame:
        """Read the columns."""
        text = self._text
        with _named(self.name):
            with self._stack:
                dates = parse_date_columns(rules.dates, text.names)
                _check_choices(choices, dates, text.names)
                columns = [(index, name) for index, name in enumerate(text.names) if name not in choices.drop]
                kept = {index: Cells(name, rules) for index, name in columns}
                names = RowLabels(_fill(kept, text), "line")
            reader = _ColumnReader(choices, dates, rules)
            for cells in kept.values():
                # Spreadsheets leave empty columns without a name behind.
                if not (cells.is_empty and cells.name in text.nameless):
                    reader.add(cells, names)
            frame = reader.frame(len(names.labels), names)
        for name in frame.names:
            if name in text.nameless:
                warnings.warn(
                    f"the header has no name for one of its columns: it is called {name!r}.",
                    DataWarning,
                    stacklevel=4,
                )
        return frame


def _fill(columns: Mapping[int, Cells], text: CsvText) -> LongArray:
    """Fill the columns; return the line on which each row begins."""
    lines = []
    for block in text.blocks():
        lines.append(block.lines)
        for index, cells in columns.items():
            cells.extend(*block.column(index))
    if not lines:
        raise DataError("it has column names but no rows.")
    return np.concatenate(lines)


# -- Parquet and frames --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FrameSource:
    """Typed columns of a Parquet file or a frame."""

    frame: Frame
    name: str  # what messages call it

    is_typed = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.frame.names

    def read(self, choices: ColumnChoices, rules: ReadingOptions) -> Frame:
        """Read the columns."""
        with _named(self.name):
            if self.frame.matrix is not None:
                raise DataError("its columns have no names: give a frame of pandas or polars, or a path.")
            dates = parse_date_columns(rules.dates, self.names)
            _check_choices(choices, dates, self.names)
            kept = self.frame.without(choices.drop)
            reader = _ColumnReader(choices, dates, rules)
            for name, column in zip(kept.names, kept.columns, strict=True):
                reader.add(ParquetColumn(name, column, rules), kept.rows)
            return reader.frame(kept.n_rows, kept.rows)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Prefix the name of the data to any DataError."""
    try:
        yield
    except DataError as error:
        raise DataError(f"Cannot read {name}: {error}") from error.__cause__


# -- Detect identifier columns -------------------------------------------------------------------------------

NEARLY_ALL = 0.9  # of the rows with distinct texts: they are names, not properties
LEAST_ROWS = 20  # with fewer rows, distinct values are expected
LONGEST = 10**15  # greater integers are no measurements
# Names of identifiers: by a word anywhere, by the last word ("case no", but not "number of beds"), or by the
# first word of generated names.
_ANYWHERE = frozenset(("id", "ids", "uid", "uuid", "guid", "mrn"))
_AT_THE_END = frozenset(
    (
        "no",
        "nr",
        "number",
        "key",
        "index",
        "row",
        "record",
        "case",
        "patient",
        "person",
        "subject",
        "customer",
    )
)
_GENERATED = frozenset(("unnamed", "column"))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def explain_identifier(name: str, column: Any, n_distinct: int) -> str:
    """Explain why the column is an identifier; an empty text if it is not.

    Text is, if nearly all rows have distinct texts. Integers are, if they are all distinct and have more than
    15 digits or a name such as "patient_id" or "case no".

    >>> explain_identifier("case no", np.arange(1.0, 31.0), 30)
    'all rows have distinct numbers'
    """
    if not isinstance(column, np.ndarray):
        column = _as_array(column)
    known = int(np.count_nonzero(~_missing(column)))
    if known < LEAST_ROWS:
        return ""
    if column.dtype == object:
        if n_distinct <= NEARLY_ALL * known:
            return ""
        is_text = all(isinstance(value, str) for value in column[~_missing(column)].tolist())
        return "nearly all rows have distinct texts" if is_text else ""
    if n_distinct < len(column) or (column != np.floor(column)).any():
        return ""
    if np.abs(column).max() >= LONGEST:
        return "all rows have distinct long numbers"
    if _is_called_identifier(name):
        return "all rows have distinct numbers"
    return ""


def _is_called_identifier(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)] or [""]
    return words[-1] in _AT_THE_END or words[0] in _GENERATED or not _ANYWHERE.isdisjoint(words)


def _missing(column: NDArray[Any]) -> BoolArray:
    if column.dtype == object:
        return np.array([value is None for value in column.tolist()], np.bool_)
    return np.asarray(np.isnan(column), np.bool_)


def _as_array(series: Any) -> NDArray[Any]:
    """Convert a narwhals Series to numbers, or to objects with None for gaps."""
    if series.dtype.is_numeric():
        return np.asarray(series.to_numpy(), np.float64)
    values = np.empty(len(series), object)
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    values[:] = [None if is_null else value for value, is_null in pairs]
    return values
