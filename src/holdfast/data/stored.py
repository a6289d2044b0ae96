"""A table whose columns, ranks and codes are files that memory only looks at."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray
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
from holdfast.data.frame import make_frame
from holdfast.data.parquet import (
    check_same_columns,
    concat_frames,
    find_parquet_library,
    list_parquet_files,
    read_parquet_schema,
)
from holdfast.data.row_keys import row_keys
from holdfast.data.schema import Feature, Schema, SchemaDifferences, Target, sorted_labels
from holdfast.data.table import (
    Table,
    define_weighted_column,
    define_weighted_target,
    match_weighted_column,
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
    create_file(path, head.getvalue(), math.prod(shape) * np.dtype(dtype).itemsize)
    return np.asarray(np.load(path, mmap_mode="r+", allow_pickle=False))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


# -- Data in parts becomes a table on disk, a column at a time -----------------------------------------------

BYTES_OF_ROW = 64  # while a column is read and coded, and while rows are given their keys
SPILLED = "parts"  # the folder for frames that come one after another


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
    """Write the table of data that exceeds memory to a folder, from which it can be opened.

    The data is a folder of Parquet files, a file, a lazy frame of polars, an Arrow dataset, a frame of dask,
    or frames one after another. One column at a time is in memory, and rows: some 64 bytes of each, whatever
    the number of columns. If that is more than `memory_limit`, nothing is begun. On disk a value takes 13
    bytes. Everything else is as in `Table.from_frame`, a `schema` too, and so are the trees, to the last bit.
    """
    check_task(task)
    custom_features = read_custom_features(custom_features)
    target = target or ("outcome" if schema is None else schema.target.name)
    place = _new_folder(folder)
    try:
        parts = make_parts(data, place / SPILLED)
        _check_size(parts, memory_limit)
        names = _feature_names(parts, [target, *([] if sample_weight is None else [sample_weight])])
        weight = None if sample_weight is None else read_weight(parts.column(sample_weight), sum(parts.sizes))
        rows = _Rows(parts, names, target, task, find_weighted_rows(weight))
        n_features = len(names) + len(custom_features) if schema is None else len(schema.features)
        columns = new_array(place, "columns", np.float64, (n_features, sum(parts.sizes)))
        if schema is None:
            schema, values = _defined(
                rows, choose_readings(categorical_features, names), custom_features, columns
            )
        else:
            check_same_custom_features(custom_features, schema)
            values = _matched(rows, schema, columns)
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
            f"Cannot make a table in '{folder}': there is something already. Open it with open_table, remove "
            "it, or give another folder."
        )
    place.mkdir(parents=True, exist_ok=True)
    return place


def _check_size(parts: Parts, memory_limit: int | None) -> None:
    n_rows = sum(parts.sizes)
    if n_rows == 0:
        raise DataError("The data has no row: all of its parts are empty.")
    if memory_limit is not None and n_rows * BYTES_OF_ROW > memory_limit:
        raise ParameterError(
            f"memory_limit={memory_limit} is too small: {n_rows} rows need {n_rows * BYTES_OF_ROW} bytes, "
            f"{BYTES_OF_ROW} each, to be made a table. Raise it, or take fewer rows."
        )


def _feature_names(parts: Parts, aside: Sequence[str]) -> tuple[str, ...]:
    absent = [name for name in aside if name not in parts.names]
    if absent:
        raise DataError(
            f"There is no column {quoted(absent)} in the data. {columns_text(absent, parts.names)}"
        )
    names = tuple(name for name in parts.names if name not in aside)
    if not names:
        raise DataError("The data has no column besides the target: there is nothing to split by.")
    return names


# -- columns -------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The parts of the data and the roles of their columns."""

    parts: Parts
    names: tuple[str, ...]  # of the features
    target: str
    task: Task | None
    weighted: BoolArray | None


def _defined(
    rows: _Rows, how: Sequence[Reading], custom_features: Sequence[str], columns: FloatArray
) -> tuple[Schema, NDArray[Any]]:
    """Define the schema and the target; features are written to the columns."""
    features = _read_columns(rows, how, columns)
    custom = make_custom_features(custom_features, rows.names)
    _write_custom_features(custom_features, features, columns)
    raw = rows.parts.column(rows.target)
    if rows.weighted is None:
        values, target = define_target_in_pieces(raw, rows.target, rows.task)
    else:
        values, target = define_weighted_target(raw, rows.target, rows.task, rows.weighted)
    return Schema(features + custom, target), values


def _matched(rows: _Rows, schema: Schema, columns: FloatArray) -> NDArray[Any]:
    """Encode the target by the schema; features are written to the columns likewise."""
    differences = write_matched(rows.parts, schema, rows.names, rows.weighted, columns)
    values = match_values(rows.parts.column(rows.target), schema, rows.task, rows.weighted, differences)
    _write_custom_features(schema.custom_features, schema.columns, columns)
    return values


def _read_columns(rows: _Rows, how: Sequence[Reading], out: FloatArray) -> tuple[Feature, ...]:
    """Define the features; their values are written to the rows of `out`."""
    features = []
    for name, reading, own in zip(rows.names, how, out, strict=False):
        raw = rows.parts.column(name)
        if rows.weighted is None:
            column = read_column_in_pieces(raw, f"column {name!r}", reading)
            feature, own[:] = column.feature(name), column.values
        else:
            feature, own[:] = define_weighted_column(raw, name, reading, rows.weighted)
        features.append(feature)
    return tuple(features)


def _write_custom_features(texts: Sequence[str], features: Sequence[Feature], columns: FloatArray) -> None:
    """Write the custom features to the last columns, one at a time."""
    values = evaluate_custom_features(texts, features, list(columns))
    for own, out in zip(values, columns[len(features) :], strict=True):
        out[:] = own


# -- what is made of them ------------------------------------------------------------------------------------


def _write_rest(place: Path, rows: Table, sizes: Sequence[int], n_jobs: int | None) -> None:
    """Write target, weights, codes, ranks and keys, and last the description of the folder."""
    n_features, n_rows = rows.n_features, rows.n_rows
    _keep(place, "target", rows.target)
    if rows.weight is not None:
        _keep(place, "weight", rows.weight)
    codes = new_array(place, "codes", np.uint32, (-(-n_features // 4), n_rows))
    ranks = new_array(place, "ranks", np.int32, (n_features, n_rows))
    coded = rows.code(n_jobs, CodeBuffers(codes.view(np.uint8).reshape(len(codes), n_rows, 4), ranks))
    small = {name: array for name, array in coded._asdict().items() if name not in LARGE}
    packed = BytesIO()
    np.savez(packed, **small)
    replace_file(place / "coded.npz", packed.getvalue())
    _keep(place, "keys", row_keys(rows))
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    known = Description(FORMAT, VERSION, rows.schema, n_rows, tuple(starts), rows.weight is not None)
    replace_file(place / DESCRIPTION, msgspec.json.encode(known))


def _keep(place: Path, name: str, values: NDArray[Any]) -> None:
    new_array(place, name, values.dtype.type, values.shape)[:] = values


# -- Data in parts, of which one column at a time is read into memory ----------------------------------------


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


# -- Data in parts as the columns of a given schema ----------------------------------------------------------


def write_matched(
    parts: Parts, schema: Schema, names: tuple[str, ...], weighted: BoolArray | None, out: FloatArray
) -> SchemaDifferences:
    """Write the columns of the schema to `out`; return the mismatches."""
    differences = SchemaDifferences.compare_names((feature.name for feature in schema.columns), names)
    for feature, own in zip(schema.columns, out, strict=False):
        if feature.name not in differences.missing:
            _write_column(parts.column(feature.name), feature, weighted, own, differences)
    return differences


def _write_column(
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


def match_values(
    raw: Any, schema: Schema, task: Task | None, weighted: BoolArray | None, differences: SchemaDifferences
) -> NDArray[Any]:
    """Encode the target by the schema; a SchemaMismatch lists all that does not fit."""
    values = match_weighted_target(raw, schema.target, task, weighted, differences)
    differences.raise_if_any()
    return np.asarray(values)


# -- Columns of text and categories, read piece by piece -----------------------------------------------------

PIECE = 2**18  # rows that are Python objects at a time


def read_column_in_pieces(series: Any, what: str, reading: Reading = "by dtype") -> Column:
    """Apply `read_column` to the whole series in pieces."""
    if len(series) <= PIECE or not _is_of_labels(series):
        return read_column(series, what, reading)
    pieces = [read_column(series[at : at + PIECE], what, reading) for at in range(0, len(series), PIECE)]
    told = [piece for piece in pieces if piece.labels]  # a piece without any value has none
    if not told:
        return Column("numeric", np.full(len(series), np.nan))
    kind, labels = told[0].kind, told[0].labels
    if kind == "nominal":
        labels = sorted_labels({label for piece in told for label in piece.labels})
    position = {label: float(place) for place, label in enumerate(labels)}
    values = np.empty(len(series))
    for at, piece in zip(range(0, len(series), PIECE), pieces, strict=True):
        of_code = np.array([*(position[label] for label in piece.labels), np.nan])
        codes = np.where(np.isnan(piece.values), -1.0, piece.values).astype(np.int64)
        values[at : at + PIECE] = of_code[codes]
    return Column(kind, values, labels)


def define_target_in_pieces(series: Any, name: str, task: Task | None) -> tuple[NDArray[Any], Target]:
    """Apply `define_target` to the whole series in pieces."""
    if len(series) <= PIECE or not _is_of_labels(series):
        return define_target(series, name, task)
    column = read_column_in_pieces(series, f"the target {name!r}")
    if column.kind != "nominal" or task == "regression" or np.isnan(column.values).any():
        return define_target(series, name, task)  # which says what is wrong
    codes, target = define_target(column.values.astype(np.int64), name, "classification")
    return codes, replace(target, classes=tuple(column.labels[int(code)] for code in target.classes))


def _is_of_labels(series: Any) -> bool:
    import narwhals as nw

    return isinstance(series, nw.Series) and series.dtype in (nw.String, nw.Categorical, nw.Enum)
