"""Folders of Parquet files, which are the parts of one table."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.data.files.filetype import PARQUET_ENDINGS
from holdfast.data.files.parquet import find_parquet_library
from holdfast.errors import DataError
from holdfast.text.lists import listed

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
            f"The names of folders in '{path}' hold values, {listed(keys)}, which are in no file. Give "
            f"pyarrow.dataset.dataset({str(path)!r}, partitioning='hive'), which reads them."
        )
    return files


def check_same_columns(files: Sequence[Path], names: Sequence[Sequence[str]]) -> None:
    """Raise a DataError unless all files have the columns of the first."""
    for file, own in zip(files, names, strict=True):
        if set(own) != set(names[0]):
            raise DataError(
                f"All parts must have the same columns: '{files[0]}' has {listed(names[0], 30)}, and "
                f"'{file}' has {listed(own, 30)}."
            )


def read_parquet_schema(file: Path) -> tuple[tuple[str, ...], int]:
    """Read the columns of a Parquet file and its number of rows, without the data."""
    try:
        if find_parquet_library() == "pyarrow":
            from pyarrow.parquet import ParquetFile

            found = ParquetFile(file)
            return tuple(found.schema_arrow.names), int(found.metadata.num_rows)
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
    known = _memory_of_machine() if memory is None else memory
    needed = n_rows * n_columns * BYTES_OF_VALUE
    if known is not None and needed > known:
        raise DataError(
            f"Cannot read '{folder}' into memory: {n_rows:,} rows of {n_columns} columns take at least "
            f"{needed / 2**30:.1f} GiB, and the machine has {known / 2**30:.1f}. In Python, "
            f"store_table({str(folder)!r}, 'table', target=...) leaves them on disk, where "
            "TreeClassifier().fit(table) grows a tree, and grow_subsamples trees on few rows each; or give "
            "fewer of the files."
        )


def _memory_of_machine() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows knows no such names
        return None
