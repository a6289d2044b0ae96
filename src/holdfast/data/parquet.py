"""Read and write Parquet files with pyarrow, polars or pandas."""

import json
import os
import warnings
from collections.abc import Collection, Sequence
from datetime import date
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast._files import check_is_file
from holdfast._text import RowLabels, quoted
from holdfast._version import install_command
from holdfast.data.cells import DATES_WAY_OUT, Cells
from holdfast.data.columns import to_label
from holdfast.data.dates import DateColumn, parse_moment
from holdfast.data.frame import Frame, make_frame
from holdfast.data.read_options import PARQUET_ENDINGS, Problem, ReadingOptions, UnreadableColumn, is_parquet
from holdfast.errors import DataError, DataWarning

# In order of preference: only pyarrow keeps the order of categories written by pandas or by polars.
LIBRARIES = ("pyarrow", "polars", "pandas")


def read_parquet_frame(file: BinaryIO) -> Any:
    """Read a Parquet file with the first library that is installed."""
    library = find_parquet_library()
    try:
        if library == "pyarrow":
            from pyarrow.parquet import read_table

            return read_table(file)
        if library == "polars":
            import polars

            _warn_of_lost_order(file)
            return polars.read_parquet(file)
        import pandas

        return pandas.read_parquet(file)
    except ImportError as error:  # pandas alone cannot
        raise _no_library_error() from error
    except Exception as error:
        raise DataError(f"it is not a valid Parquet file ({_first_line(error)}).") from error


def encode_parquet(columns: dict[str, list[Any]]) -> bytes:
    """Encode columns as a Parquet file; a column of mixed text and numbers becomes text."""
    import narwhals as nw

    frame = nw.from_dict(
        {name: _unify_types(values) for name, values in columns.items()}, backend=find_parquet_library()
    )
    content = BytesIO()
    try:
        frame.write_parquet(content)
    except ImportError as error:
        raise _no_library_error() from error
    return content.getvalue()


def find_parquet_library() -> Any:
    """Name the installed library that reads Parquet, or raise a DataError."""
    for library in LIBRARIES:
        if find_spec(library) is not None:
            return library
    raise _no_library_error()


def _no_library_error() -> DataError:
    return DataError(
        f"Parquet needs a library that is not installed: {install_command('io')}. Or use a CSV file."
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _warn_of_lost_order(file: BinaryIO) -> None:
    """Warn that polars drops the order of an ordered categorical written by pandas."""
    import polars

    notes = polars.read_parquet_metadata(file).get("pandas", "{}")
    file.seek(0)
    columns = json.loads(notes).get("columns", [])
    ordered = [each["name"] for each in columns if (each.get("metadata") or {}).get("ordered")]
    if ordered:
        warnings.warn(
            f"polars drops the order of the categories in {quoted(ordered)}: they are read as unordered. "
            "Install pyarrow to keep it.",
            DataWarning,
            stacklevel=5,
        )


def _unify_types(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 or kinds == {int, float}:
        return values
    return [None if value is None else str(value) for value in values]


# -- The columns of a Parquet file ---------------------------------------------------------------------------


def has_typed_columns(path: Path) -> bool:
    """Return True for Parquet files and folders, False for CSV; a DataError for anything else."""
    return path.is_dir() or is_parquet(path)


def read_parquet_columns(path: Path) -> Frame:
    """Read the columns of a Parquet file, or of the files of a folder in the order of their names."""
    if path.is_dir():
        return _read_folder(path)
    check_is_file(path)
    with path.open("rb") as file:
        return make_frame(read_parquet_frame(file))


def _read_folder(folder: Path) -> Frame:
    files = list_parquet_files(folder)
    heads = [read_parquet_schema(file) for file in files]
    check_same_columns(files, [names for names, _ in heads])
    check_fits_in_memory(folder, sum(n_rows for _, n_rows in heads), len(heads[0][0]))
    frames = []
    for path in files:
        with path.open("rb") as file:
            frames.append(read_parquet_frame(file))
    return make_frame(concat_frames(frames))


class ParquetColumn:
    """One typed column, with the interface of `Cells`."""

    def __init__(self, name: str, series: Any, rules: ReadingOptions) -> None:
        self.name = name
        self.notes: list[str] = []  # warnings about how it was read
        self._rules = rules
        self._series = series

    def as_text(self, known: Collection[Any] = ()) -> NDArray[Any]:
        """Return the values as text, None where missing; a `known` category is never missing."""
        return np.array([self._text(value, known) for value in self._values()], object)

    def as_column(self, names: RowLabels | None) -> Any:
        """Return the values with their type; markers of missing values become missing."""
        import narwhals as nw

        kind = self._series.dtype
        if kind in (nw.Date, nw.Datetime):
            raise UnreadableColumn(Problem(self.name, "dates", self._first_date(), DATES_WAY_OUT))
        if kind.is_temporal() or kind.is_nested() or kind == nw.Binary:
            content = f"values of the type {kind.base_type().__name__}, no numbers or text"
            way_out = "derive columns from them, or leave them out with drop={}"
            raise UnreadableColumn(Problem(self.name, content, "", way_out))
        if kind in (nw.String, nw.Object):
            values = self._values()
            gaps = [isinstance(value, str) and self._rules.is_missing(value) for value in values]
        elif kind.is_numeric() and self._rules.missing:
            values = self._values()
            gaps = [value is not None and self._text(value) is None for value in values]
        else:
            return self._series
        return _with_gaps(values, gaps) if any(gaps) else self._series

    def as_numbers(self, names: RowLabels | None) -> Any:
        """Return the values with their type, which is checked against the schema later."""
        return self.as_column(names)

    def as_dates(self, column: DateColumn, names: RowLabels | None) -> dict[str, FloatArray]:
        """Return the numeric columns derived from dates, or from texts with dates."""
        values = self._values()
        if all(value is None or isinstance(value, date) for value in values):
            return column.numbers([None if value is None else parse_moment(value) for value in values])
        cells = Cells(self.name, self._rules)
        cells.extend(tuple("" if value is None else str(value) for value in values))
        derived = cells.as_dates(column, names)
        self.notes += cells.notes
        return derived

    @property
    def n_distinct(self) -> int:
        """Number of distinct values that are not missing."""
        return int(self._series.drop_nulls().n_unique())

    @property
    def merged_note(self) -> str:
        """Always empty: integers are checked when they become floats."""
        return ""

    def _values(self) -> list[Any]:
        """Return the values, None where missing."""
        pairs = zip(self._series.to_list(), self._series.is_null().to_list(), strict=True)
        return [
            None if is_null or (isinstance(value, float) and value != value) else value
            for value, is_null in pairs
        ]

    def _text(self, value: Any, known: Collection[Any] = ()) -> str | None:
        if value is None or (isinstance(value, str) and value in known):
            return value
        text = str(to_label(value))
        return None if self._rules.is_missing(text) else text

    def _first_date(self) -> str:
        place, value = next(
            ((place, value) for place, value in enumerate(self._values()) if value is not None), (0, None)
        )
        return "" if value is None else f", as {str(value)!r} at row {place}"


def _with_gaps(values: Sequence[Any], gaps: Sequence[bool]) -> NDArray[Any]:
    kept = np.empty(len(values), object)
    kept[:] = [None if gap else value for value, gap in zip(values, gaps, strict=True)]
    return kept


# -- Folders of Parquet files --------------------------------------------------------------------------------

BYTES_OF_VALUE = 8  # of a column in memory, at least


def list_parquet_files(path: Path) -> list[Path]:
    """List the Parquet files in a folder and below it by name; or the file itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"There is no file or folder '{path}'.")
    files = sorted(
        each
        for each in path.rglob("*")
        if each.suffix.lower() in PARQUET_ENDINGS
        and not any(part.startswith((".", "_")) for part in each.relative_to(path).parts)
    )
    if not files:
        raise DataError(f"'{path}' is a folder with no Parquet file in it ({' or '.join(PARQUET_ENDINGS)}).")
    keys = [part for part in files[0].relative_to(path).parts[:-1] if "=" in part]
    if keys:
        raise DataError(
            f"The folders in '{path}' are named by values, {quoted(keys)}, which the files lack. Give "
            f"pyarrow.dataset.dataset({str(path)!r}, partitioning='hive'), which reads them."
        )
    return files


def check_same_columns(files: Sequence[Path], names: Sequence[Sequence[str]]) -> None:
    """Raise a DataError unless all files have the columns of the first."""
    for file, own in zip(files, names, strict=True):
        if set(own) != set(names[0]):
            raise DataError(
                f"All parts must have the same columns: '{files[0]}' has {quoted(names[0], 30)}, and "
                f"'{file}' has {quoted(own, 30)}."
            )


def read_parquet_schema(file: Path) -> tuple[tuple[str, ...], int]:
    """Read the columns of a Parquet file and its number of rows, without the data."""
    try:
        if find_parquet_library() == "pyarrow":
            from pyarrow.parquet import ParquetFile

            opened = ParquetFile(file)
            return tuple(opened.schema_arrow.names), int(opened.metadata.num_rows)
        import polars

        lazy = polars.scan_parquet(file)
        return tuple(lazy.collect_schema().names()), int(lazy.select(polars.len()).collect().item())
    except Exception as error:
        raise DataError(f"Cannot read '{file}': it is not a valid Parquet file.") from error


def concat_frames(frames: Sequence[Any]) -> Any:
    """Concatenate frames; integer columns give way to other types."""
    if find_parquet_library() == "pyarrow":
        import pyarrow

        return pyarrow.concat_tables(frames, promote_options="permissive")
    import polars

    in_order = [frame.select(frames[0].columns) for frame in frames]
    return polars.concat(in_order, how="vertical_relaxed", rechunk=False)


def check_fits_in_memory(folder: Path, n_rows: int, n_columns: int, memory: int | None = None) -> None:
    """Raise a DataError if the columns alone exceed the memory of the machine.

    `memory` is its size in bytes; None asks the system.
    """
    available = _memory_of_machine() if memory is None else memory
    needed = n_rows * n_columns * BYTES_OF_VALUE
    if available is not None and needed > available:
        raise DataError(
            f"Cannot read '{folder}' into memory: {n_rows:,} rows of {n_columns} columns take at least "
            f"{needed / 2**30:.1f} GiB, and the machine has {available / 2**30:.1f}. In Python, "
            f"store_table({str(folder)!r}, 'table', target=...) leaves them on disk, where "
            "TreeClassifier().fit(table) grows a tree, and grow_subsamples trees on subsamples; or give "
            "fewer files."
        )


def _memory_of_machine() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows knows no such names
        return None
