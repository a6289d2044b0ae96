"""The columns of a Parquet file: in their own types, or as what the user says that they are."""

from collections.abc import Collection, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import FloatArray
from holdfast.data.files.cells import DATES_WAY_OUT, Cells
from holdfast.data.files.dates import DateColumn, parse_moment
from holdfast.data.files.filetype import is_parquet
from holdfast.data.files.problems import Problem, UnreadableColumn
from holdfast.data.files.reading_options import ReadingOptions
from holdfast.data.input.columns import to_label
from holdfast.data.input.frame import Frame, make_frame
from holdfast.files import check_is_file
from holdfast.text.lists import RowLabels


def has_typed_columns(path: Path) -> bool:
    """Return True for Parquet files and folders, False for CSV; a DataError for anything else."""
    return path.is_dir() or is_parquet(path)


def read_parquet_columns(path: Path) -> Frame:
    """Read the columns of a Parquet file or folder with their types."""
    from holdfast.data.files.parquet import read_parquet_frame

    if path.is_dir():
        return _folder_columns(path)
    check_is_file(path)
    with path.open("rb") as file:
        return make_frame(read_parquet_frame(file))


def _folder_columns(folder: Path) -> Frame:
    """Concatenate the Parquet files of a folder, ordered by name."""
    from holdfast.data.files.parquet import read_parquet_frame
    from holdfast.data.files.parquet_folder import (
        check_fits_in_memory,
        check_same_columns,
        concat_frames,
        list_parquet_files,
        read_parquet_schema,
    )

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
        self.notes: list[str] = []  # what the user would want to know of how they were read
        self._rules = rules
        self._series = series

    def as_text(self, known: Collection[Any] = ()) -> NDArray[Any]:
        """Return the values as text, None where missing; a `known` category is never missing."""
        return np.array([self._text(value, known) for value in self._values()], object)

    def as_column(self, names: RowLabels | None) -> Any:
        """Return the values with their type, gaps in place of missing-value markers."""
        import narwhals as nw

        kind = self._series.dtype
        if kind in (nw.Date, nw.Datetime):
            raise UnreadableColumn(Problem(self.name, "dates", self._first_date(), DATES_WAY_OUT))
        if kind.is_temporal() or kind.is_nested() or kind == nw.Binary:
            content = f"values of the type {kind.base_type().__name__}, no numbers or text"
            way_out = "derive columns from them, or leave them out with drop={}"
            raise UnreadableColumn(Problem(self.name, content, "", way_out))
        return self._without_markers()

    def as_numbers(self, names: RowLabels | None) -> Any:
        """Return the values with their type, which is checked when they are matched to a schema."""
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

    def _without_markers(self) -> Any:
        """Replace markers for missing values by gaps."""
        import narwhals as nw

        if self._series.dtype == nw.String or self._series.dtype == nw.Object:
            values = self._values()
            gaps = [isinstance(value, str) and self._rules.is_missing(value) for value in values]
        elif self._series.dtype.is_numeric() and self._rules.missing:
            values = self._values()
            gaps = [value is not None and self._text(value) is None for value in values]
        else:
            return self._series
        return _with_gaps(values, gaps) if any(gaps) else self._series

    def _first_date(self) -> str:
        place, value = next(
            ((place, value) for place, value in enumerate(self._values()) if value is not None), (0, None)
        )
        return "" if value is None else f", as {str(value)!r} at row {place}"


def _with_gaps(values: Sequence[Any], gaps: Sequence[bool]) -> NDArray[Any]:
    kept = np.empty(len(values), object)
    kept[:] = [None if gap else value for value, gap in zip(values, gaps, strict=True)]
    return kept
