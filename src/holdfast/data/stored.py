"""Tables on disk: columns, ranks and codes are memory-mapped files."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray, freeze
from holdfast._files import create_file, replace_file
from holdfast._text import columns_text, quoted
from holdfast.data.binning import CodeBuffers
from holdfast.data.columns import Column, Reading, choose_readings, read_column
from holdfast.data.custom_features import (
    check_same_custom_features,
    evaluate_custom_features,
    make_custom_features,
    read_custom_features,
)
from holdfast.data.encode import match_weighted_column
from holdfast.data.frame import make_frame
from holdfast.data.parquet import (
    check_same_columns,
    concat_frames,
    find_parquet_library,
    list_parquet_files,
    read_parquet_schema,
)
from holdfast.data.row_keys import row_keys
from holdfast.data.schema import Feature, Schema, SchemaDifferences, Target, sort_labels
from holdfast.data.table import (
    Table,
    define_weighted_column,
    define_weighted_target,
    match_weighted_target,
    warn_uninformative_data,
)
from holdfast.data.target import Task, check_task, define_target, find_weighted_rows, read_weight
from holdfast.errors import DataError, ParameterError
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

    Make one with `store_table` or `open_table`. Pickling it sends the name of the folder only.
    """

    # No result depends on where the table lies.
    folder: Path | None = field(default=None, init=False, metadata={"without_effect": True})
    part_starts: tuple[int, ...] = field(default=(0,), init=False)

    def __reduce__(self) -> Any:
        if self.folder is None:  # derived from a stored table, with other columns or another target
            return Table, (self.schema, self.columns, self.target, self.weight, self.identity)
        return open_table, (self.folder,)

    def part_rows(self, number: int) -> LongArray:
        """Return the row numbers of one part of the source data."""
        until = (*self.part_starts, self.n_rows)
        return np.arange(until[number], until[number + 1])


def open_table(folder: str | os.PathLike[str]) -> StoredTable:
    """Open the table that `store_table` wrote to the folder.

    Parameters
    ----------
    folder : path-like
        Its files are trusted: do not open folders from sources that you do not trust.

    Returns
    -------
    StoredTable

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": [41, 63, 58], "outcome": ["lived", "died", "lived"]})
    >>> with TemporaryDirectory() as folder:
    ...     _ = store_table([frame], folder)
    ...     open_table(folder).n_rows
    3
    """
    folder = Path(folder).absolute()
    description = _read_description(folder)
    n_features, n_rows = len(description.schema.features), description.n_rows
    columns = map_array(folder, "columns", (n_features, n_rows))
    weight = map_array(folder, "weight", (n_rows,)) if description.has_weight else None
    table = StoredTable(description.schema, tuple(columns), map_array(folder, "target", (n_rows,)), weight)
    shapes = {"codes": (-(-n_features // 4), n_rows), "ranks": (n_features, n_rows)}
    with np.load(folder / "coded.npz", allow_pickle=False) as small:
        arrays = {name: freeze(small[name]) for name in small.files}
    arrays |= {name: map_array(folder, name, shape) for name, shape in shapes.items()}
    keys: KeyArray = map_array(folder, "keys", (n_rows,))
    made = {"coded": Coded(**arrays), "known_keys": keys}
    table.__dict__.update(made, folder=folder, part_starts=description.part_starts)
    return table


def _read_description(folder: Path) -> Description:
    try:
        content = (folder / DESCRIPTION).read_bytes()
    except OSError as error:
        raise DataError(
            f"There is no finished table in '{folder}': make one with store_table(data, folder, target)."
        ) from error
    try:
        description = msgspec.json.decode(content, type=Description)
    except msgspec.DecodeError as error:
        raise DataError(f"'{folder / DESCRIPTION}' does not describe a table: {error}.") from error
    if (description.format, description.version) != (FORMAT, VERSION):
        raise DataError(
            f"'{folder}' holds a {description.format!r} of version {description.version}, but this program "
            f"reads a {FORMAT!r} of version {VERSION}: make it again with store_table."
        )
    return description


def map_array(folder: Path, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Memory-map the array in the file of that name."""
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"'{path}' is missing or broken ({error}): make the table again.") from error
    if array.shape != shape:
        raise DataError(f"'{path}' has the shape {array.shape} instead of {shape}: make the table again.")
    return np.asarray(array)


def new_array(folder: Path, name: str, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """Create an array of zeros in a new file as a memory map."""
    path, head = folder / f"{name}.npy", BytesIO()
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, header)
    create_file(path, head.getvalue(), math.prod(shape) * np.dtype(dtype).itemsize)
    return np.asarray(np.load(path, mmap_mode="r+", allow_pickle=False))


# -- Writing a table to disk, one column at a time ----

BYTES_OF_ROW = 64  # of memory, while a column is coded and while keys are computed
SPILLED = "parts"  # the folder for frames from an iterator


def store_table(
    data: Any,
    folder: str | os.PathLike[str],
    target: str | None = None,
    *,
    sample_weight: str | None = None,
    task: Task | None = None,
    categorical_features: Any = "from_dtype",
    custom_features: Sequence[str] = (),
    schema: Schema | None = None,
    positive: Any = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
) -> StoredTable:
    """Write a table of data larger than memory to a folder.

    One column at a time is in memory. Trees grown on the stored table are the same, to the last bit, as on
    the table in memory.

    Parameters
    ----------
    data : path-like, polars.LazyFrame, pyarrow Dataset, dask DataFrame or iterable of frames
        A path names a Parquet file or a folder of them.
    folder : path-like
        New or empty. A value takes 13 bytes on disk.
    target : str, optional
        Name of the target. Default: that of the schema, or "outcome".
    sample_weight : str, optional
        Name of a column of weights.
    task, categorical_features, custom_features, schema, positive
        As in `Table.from_arrays`.
    memory_limit : int, optional
        Raise an error if the rows need more bytes of memory, 64 each, whatever the number of columns.
    n_jobs : int, optional
        Number of threads that code the columns.

    Returns
    -------
    StoredTable

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": [41, 63, 58], "outcome": ["lived", "died", "lived"]})
    >>> with TemporaryDirectory() as folder:
    ...     store_table([frame, frame], folder).part_rows(1)
    array([3, 4, 5])
    """
    check_task(task)
    if task == "survival" or (schema is not None and schema.target.is_survival):
        raise DataError(
            "store_table has no times to an event: use Table.from_frame(frame, time=..., event=...)."
        )
    custom_features = read_custom_features(custom_features)
    target = target or ("outcome" if schema is None else schema.target.name)
    place = _new_folder(folder)
    try:
        parts = make_parts(data, place / SPILLED)
        _check_size(sum(parts.sizes), memory_limit)
        names = _list_features(parts.names, [target, *([] if sample_weight is None else [sample_weight])])
        weight = None if sample_weight is None else read_weight(parts.column(sample_weight), sum(parts.sizes))
        weighted = find_weighted_rows(weight)
        n_features = len(names) + len(custom_features) if schema is None else len(schema.features)
        columns = new_array(place, "columns", np.float64, (n_features, sum(parts.sizes)))
        if schema is None:
            custom = make_custom_features(custom_features, names)
            readings = choose_readings(categorical_features, names)
            features = _write_columns(parts, names, readings, weighted, columns)
            _write_custom_features(custom_features, features, columns)
            values, defined = _define_target(parts.column(target), target, task, weighted)
            schema = Schema(features + custom, defined)
        else:
            check_same_custom_features(custom_features, schema)
            differences = _write_matched_columns(parts, schema, names, weighted, columns)
            values = match_weighted_target(parts.column(target), schema.target, task, weighted, differences)
            differences.raise_if_any()
            _write_custom_features(schema.custom_features, schema.columns, columns)
        schema = replace(schema, target=schema.target.with_positive(positive))
        _write_rest(place, Table(schema, tuple(columns), values, weight), parts.sizes, n_jobs)
        shutil.rmtree(place / SPILLED, ignore_errors=True)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    table = open_table(place)
    warn_uninformative_data(table)
    return table


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder).absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise DataError(
            f"Cannot make a table in '{folder}': it is no empty folder. Open it with open_table, remove it, "
            "or give another folder."
        )
    place.mkdir(parents=True, exist_ok=True)
    return place


def _check_size(n_rows: int, memory_limit: int | None) -> None:
    if n_rows == 0:
        raise DataError("The data has no rows: all of its parts are empty.")
    if memory_limit is not None and n_rows * BYTES_OF_ROW > memory_limit:
        raise ParameterError(
            f"memory_limit={memory_limit} is too small: {n_rows} rows need {n_rows * BYTES_OF_ROW} bytes, "
            f"{BYTES_OF_ROW} each, to become a table. Raise it, or take fewer rows."
        )


def _list_features(columns: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """List the columns that are features: all but the target and the weights."""
    if absent := [name for name in others if name not in columns]:
        raise DataError(f"There is no column {quoted(absent)} in the data. {columns_text(absent, columns)}")
    names = tuple(name for name in columns if name not in others)
    if not names:
        raise DataError("The data has no column besides the target: there is nothing to split by.")
    return names


# -- columns -------------------------------------------------------------------------------------------------


def _write_columns(
    parts: Parts,
    names: Sequence[str],
    readings: Sequence[Reading],
    weighted: BoolArray | None,
    out: FloatArray,
) -> tuple[Feature, ...]:
    """Define the features, and write their values to the rows of `out`."""
    features = []
    for name, reading, own in zip(names, readings, out, strict=False):
        raw = parts.column(name)
        if weighted is None:
            column = read_column_in_pieces(raw, f"column {name!r}", reading)
            feature, own[:] = column.feature(name), column.values
        else:
            feature, own[:] = define_weighted_column(raw, name, reading, weighted)
        features.append(feature)
    return tuple(features)


def _write_matched_columns(
    parts: Parts, schema: Schema, names: Sequence[str], weighted: BoolArray | None, out: FloatArray
) -> SchemaDifferences:
    """Write the columns of the schema to the rows of `out`; return the mismatches."""
    differences = SchemaDifferences.compare_names((feature.name for feature in schema.columns), names)
    for feature, own in zip(schema.columns, out, strict=False):
        if feature.name not in differences.missing:
            _write_matched(parts.column(feature.name), feature, weighted, own, differences)
    return differences


def _write_matched(
    raw: Any, feature: Feature, weighted: BoolArray | None, out: FloatArray, differences: SchemaDifferences
) -> None:
    unknown: dict[Any, None] = {}
    for begin in range(0, len(raw), PIECE):
        part = slice(begin, begin + PIECE)
        match = match_weighted_column(raw[part], feature, None if weighted is None else weighted[part])
        out[part] = match.values
        if match.clash:
            differences.kinds[feature.name] = match.clash
            return
        unknown |= dict.fromkeys(match.unknown)
    if unknown:
        differences.categories[feature.name] = list(unknown)


def _write_custom_features(texts: Sequence[str], features: Sequence[Feature], columns: FloatArray) -> None:
    """Write the custom features to the last columns, one at a time."""
    values = evaluate_custom_features(texts, features, list(columns))
    for own, out in zip(values, columns[len(features) :], strict=True):
        out[:] = own


# -- the other files -----------------------------------------------------------------------------------------


def _write_rest(place: Path, rows: Table, sizes: Sequence[int], n_jobs: int | None) -> None:
    """Write target, weights, codes, ranks and keys, and last the description of the folder."""
    n_features, n_rows = rows.n_features, rows.n_rows
    _write_array(place, "target", rows.target)
    if rows.weight is not None:
        _write_array(place, "weight", rows.weight)
    codes = new_array(place, "codes", np.uint32, (-(-n_features // 4), n_rows))
    ranks = new_array(place, "ranks", np.int32, (n_features, n_rows))
    coded = rows.code(n_jobs, CodeBuffers(codes.view(np.uint8).reshape(len(codes), n_rows, 4), ranks))
    small = {name: array for name, array in coded._asdict().items() if name not in LARGE}
    packed = BytesIO()
    np.savez(packed, **small)
    replace_file(place / "coded.npz", packed.getvalue())
    _write_array(place, "keys", row_keys(rows))
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    description = Description(FORMAT, VERSION, rows.schema, n_rows, tuple(starts), rows.weight is not None)
    replace_file(place / DESCRIPTION, msgspec.json.encode(description))


def _write_array(place: Path, name: str, values: NDArray[Any]) -> None:
    new_array(place, name, values.dtype.type, values.shape)[:] = values


# -- Data in parts, read one column at a time ----------------------------------------------------------------


class Parts(NamedTuple):
    """Data in parts, whose columns are read one at a time."""

    names: tuple[str, ...]  # of the columns
    sizes: tuple[int, ...]  # number of rows of each part
    column: Callable[[str], Any]  # reads a whole column as a series


def make_parts(data: Any, folder: Path) -> Parts:
    """Make the parts of any source; frames from an iterator are first written to the folder."""
    if isinstance(data, str | os.PathLike):
        return _read_parquet_parts(list_parquet_files(Path(data)))
    if _is_instance(data, "polars", "LazyFrame"):
        import polars

        n_rows = int(data.select(polars.len()).collect().item())
        names = tuple(data.collect_schema().names())
        return Parts(names, (n_rows,), lambda name: make_frame(data.select(name).collect()).columns[0])
    if _is_instance(data, "pyarrow.dataset", "Dataset"):
        sizes = tuple(int(fragment.count_rows()) for fragment in data.get_fragments())
        names = tuple(data.schema.names)
        return Parts(names, sizes, lambda name: make_frame(data.to_table(columns=[name])).columns[0])
    frames = (
        (data.get_partition(number).compute() for number in range(data.npartitions))
        if hasattr(data, "get_partition")
        else data
    )
    if not isinstance(frames, Iterable) or hasattr(frames, "columns") or hasattr(frames, "shape"):
        raise DataError(
            f"The data is a {type(data).__name__}: give a folder of Parquet files, a lazy frame, an Arrow "
            "dataset or a list of frames. For a frame in memory, use Table.from_frame."
        )
    return _read_parquet_parts(_write_frames(frames, folder))


def _is_instance(data: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)  # if not imported, it cannot have made the data
    return loaded is not None and isinstance(data, getattr(loaded, name))


def _write_frames(frames: Iterable[Any], folder: Path) -> list[Path]:
    """Write each frame as a Parquet file; one at a time is in memory."""
    import narwhals as nw

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, frame in enumerate(frames):
        native = nw.from_native(frame, eager_only=True)
        files.append(folder / f"part-{number:06d}.parquet")
        native.write_parquet(files[-1])
    if not files:
        raise DataError("The data has no parts: give at least one frame.")
    return files


def _read_parquet_parts(files: Sequence[Path]) -> Parts:
    """Read the columns and sizes of Parquet files, one part each; integers give way to other types."""
    library = find_parquet_library()
    heads = [read_parquet_schema(file) for file in files]
    check_same_columns(files, [names for names, _ in heads])

    def read_column_of_files(name: str) -> Any:
        if library == "pyarrow":
            from pyarrow.parquet import ParquetFile

            tables = [ParquetFile(file).read(columns=[name], use_threads=False) for file in files]
        else:
            import polars

            tables = [polars.read_parquet(file, columns=[name]) for file in files]
        return make_frame(concat_frames(tables)).columns[0]

    return Parts(heads[0][0], tuple(n_rows for _, n_rows in heads), read_column_of_files)


# -- Text and categories, read in pieces ---------------------------------------------------------------------

PIECE = 2**18  # rows that are Python objects at a time


def read_column_in_pieces(series: Any, what: str, reading: Reading = "by dtype") -> Column:
    """Apply `read_column` to the whole series in pieces."""
    if len(series) <= PIECE or not _has_labels(series):
        return read_column(series, what, reading)
    pieces = [read_column(series[at : at + PIECE], what, reading) for at in range(0, len(series), PIECE)]
    labelled = [piece for piece in pieces if piece.labels]  # a piece without any value has no labels
    if not labelled:
        return Column("numeric", np.full(len(series), np.nan))
    kind, labels = labelled[0].kind, labelled[0].labels
    if kind == "nominal":
        labels = sort_labels({label for piece in labelled for label in piece.labels})
    position = {label: float(place) for place, label in enumerate(labels)}
    values = np.empty(len(series))
    for at, piece in zip(range(0, len(series), PIECE), pieces, strict=True):
        positions = np.array([*(position[label] for label in piece.labels), np.nan])
        codes = np.where(np.isnan(piece.values), -1.0, piece.values).astype(np.int64)
        values[at : at + PIECE] = positions[codes]
    return Column(kind, values, labels)


def _define_target(
    series: Any, name: str, task: Task | None, weighted: BoolArray | None
) -> tuple[NDArray[Any], Target]:
    """Define the target from weighted rows; labels are read in pieces."""
    if weighted is not None:
        return define_weighted_target(series, name, task, weighted)
    if len(series) <= PIECE or not _has_labels(series):
        return define_target(series, name, task)
    column = read_column_in_pieces(series, f"the target {name!r}")
    if column.kind != "nominal" or task == "regression" or np.isnan(column.values).any():
        return define_target(series, name, task)  # a number, or an error
    codes, target = define_target(column.values.astype(np.int64), name, "classification")
    return codes, replace(target, classes=tuple(column.labels[int(code)] for code in target.classes))


def _has_labels(series: Any) -> bool:
    import narwhals as nw

    return isinstance(series, nw.Series) and series.dtype in (nw.String, nw.Categorical, nw.Enum)
