"""Data in parts, of which one column at a time is read into memory."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from holdfast.data.files.parquet import find_parquet_library
from holdfast.data.files.parquet_folder import (
    check_same_columns,
    concat_frames,
    list_parquet_files,
    read_parquet_schema,
)
from holdfast.data.input.frame import make_frame
from holdfast.errors import DataError


class Parts(Protocol):
    """Data in parts; one column at a time is in memory."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each part."""

    def column(self, name: str) -> Any:
        """Return a whole column as a series."""


def make_parts(data: Any, folder: Path) -> Parts:
    """Make the parts of any source; frames from an iterator are first written to the folder."""
    if isinstance(data, str | os.PathLike):
        return ParquetParts(list_parquet_files(Path(data)))
    if _is_instance(data, "polars", "LazyFrame"):
        return LazyParts(data)
    if _is_instance(data, "pyarrow.dataset", "Dataset"):
        return DatasetParts(data)
    frames = (
        (data.get_partition(number).compute() for number in range(data.npartitions))
        if hasattr(data, "get_partition")
        else data
    )
    if not isinstance(frames, Iterable) or hasattr(frames, "columns") or hasattr(frames, "shape"):
        raise DataError(
            f"The data is a {type(data).__name__}: give a folder of Parquet files, a lazy frame, an Arrow "
            "dataset or a list of frames. Of a frame in memory, Table.from_frame makes a table."
        )
    return ParquetParts(_written(frames, folder))


def _is_instance(data: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)  # a library that is not imported has made nothing
    return loaded is not None and isinstance(data, getattr(loaded, name))


def _written(frames: Iterable[Any], folder: Path) -> list[Path]:
    """Write each frame as a Parquet file; one at a time is in memory."""
    import narwhals as nw

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, frame in enumerate(frames):
        native = nw.from_native(frame, eager_only=True)
        files.append(folder / f"part-{number:06d}.parquet")
        native.write_parquet(files[-1])
    if not files:
        raise DataError("The data has no part: there is not a single frame in it.")
    return files


class ParquetParts:
    """Parquet files, one part each."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._library = find_parquet_library()
        heads = [read_parquet_schema(file) for file in files]
        self.names, self.sizes = heads[0][0], tuple(n_rows for _, n_rows in heads)
        check_same_columns(files, [names for names, _ in heads])

    def column(self, name: str) -> Any:
        """The column of all files, one below the other; whole numbers give way to others."""
        if self._library == "pyarrow":
            from pyarrow.parquet import ParquetFile

            tables = [ParquetFile(file).read(columns=[name], use_threads=False) for file in self._files]
        else:
            import polars

            tables = [polars.read_parquet(file, columns=[name]) for file in self._files]
        return make_frame(concat_frames(tables)).columns[0]


class LazyParts:
    """A lazy frame of polars, read on demand."""

    def __init__(self, frame: Any) -> None:
        import polars

        self._frame = frame
        self.names = tuple(frame.collect_schema().names())
        self.sizes = (int(frame.select(polars.len()).collect().item()),)

    def column(self, name: str) -> Any:
        """The column."""
        return make_frame(self._frame.select(name).collect()).columns[0]


class DatasetParts:
    """An Arrow dataset, one part per fragment."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.names = tuple(dataset.schema.names)
        self.sizes = tuple(int(fragment.count_rows()) for fragment in dataset.get_fragments())

    def column(self, name: str) -> Any:
        """The column."""
        return make_frame(self._dataset.to_table(columns=[name])).columns[0]
