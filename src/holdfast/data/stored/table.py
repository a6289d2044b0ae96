"""A table whose columns, ranks and codes are files that memory only looks at."""

import math
import os
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import KeyArray, LongArray
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.errors import DataError
from holdfast.files import new_file
from holdfast.kernels.growth.histogram import Coded

FORMAT = "holdfast table"
VERSION = 1
DESCRIPTION = "table.json"  # written last: a folder without it is unfinished
LARGE = ("codes", "ranks")  # arrays of the coded table with a file each


class Description(msgspec.Struct, forbid_unknown_fields=True):
    """Contents of the files of the folder."""

    format: str
    version: int
    schema: Schema
    n_rows: int
    part_starts: tuple[int, ...]  # the first row of every part
    has_weight: bool


@dataclass(frozen=True, eq=False)
class StoredTable(Table):
    """A table on disk with the interface of `Table`, never read into memory as a whole.

    To another process only the name of the folder is sent.
    """

    # Wherever the table lies, it is the same: no result depends on it.
    folder: Path | None = field(default=None, init=False, metadata={"without_effect": True})
    part_starts: tuple[int, ...] = field(default=(0,), init=False)

    def __reduce__(self) -> Any:
        if self.folder is None:  # made of a stored one, by other columns or another target
            return Table, (self.schema, self.columns, self.target, self.weight, self.identity)
        return open_table, (self.folder,)

    def part_rows(self, number: int) -> LongArray:
        """Return the rows of one part of the source data."""
        until = (*self.part_starts, self.n_rows)
        return np.arange(until[number], until[number + 1])


def open_table(folder: str | os.PathLike[str]) -> StoredTable:
    """Open the table that `store_table` wrote to the folder.

    Parameters
    ----------
    folder : path-like
        Its files are trusted: open no folder from others.

    Returns
    -------
    StoredTable
    """
    folder = Path(folder).absolute()
    known = _description(folder)
    n_features, n_rows = len(known.schema.features), known.n_rows
    columns = map_array(folder, "columns", (n_features, n_rows))
    weight = map_array(folder, "weight", (n_rows,)) if known.has_weight else None
    table = StoredTable(known.schema, tuple(columns), map_array(folder, "target", (n_rows,)), weight)
    shapes = {"codes": (-(-n_features // 4), n_rows), "ranks": (n_features, n_rows)}
    with np.load(folder / "coded.npz", allow_pickle=False) as small:
        arrays = {name: _read_only(small[name]) for name in small.files}
    arrays |= {name: map_array(folder, name, shape) for name, shape in shapes.items()}
    keys: KeyArray = map_array(folder, "keys", (n_rows,))
    made = {"coded": Coded(**arrays), "known_keys": keys}
    table.__dict__.update(made, folder=folder, part_starts=known.part_starts)
    return table


def _description(folder: Path) -> Description:
    try:
        content = (folder / DESCRIPTION).read_bytes()
    except OSError as error:
        raise DataError(
            f"There is no finished table in '{folder}': make one with store_table(data, folder, target)."
        ) from error
    try:
        known = msgspec.json.decode(content, type=Description)
    except msgspec.DecodeError as error:
        raise DataError(f"'{folder / DESCRIPTION}' does not describe a table: {error}.") from error
    if (known.format, known.version) != (FORMAT, VERSION):
        raise DataError(
            f"'{folder}' holds a {known.format!r} of version {known.version}, and this program reads a "
            f"{FORMAT!r} of version {VERSION}: make it anew with store_table."
        )
    return known


def map_array(folder: Path, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Memory-map the array in the file of that name."""
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"'{path}' is missing or broken ({error}): make the table anew.") from error
    if array.shape != shape:
        raise DataError(f"'{path}' has the shape {array.shape} instead of {shape}: make the table anew.")
    return np.asarray(array)


def new_array(folder: Path, name: str, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """Create an array of zeros in a new file as a memory map."""
    path, head = folder / f"{name}.npy", BytesIO()
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, header)
    new_file(path, head.getvalue(), math.prod(shape) * np.dtype(dtype).itemsize)
    return np.asarray(np.load(path, mmap_mode="r+", allow_pickle=False))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
