"""Data in parts becomes a table on disk, a column at a time."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.coding import CodeBuffers
from holdfast.data.expressions.question import parse_questions
from holdfast.data.input.categorical import choose_readings
from holdfast.data.input.columns import Reading
from holdfast.data.input.features import check_distinct_questions, check_questions, question_texts
from holdfast.data.input.target import Task, check_task
from holdfast.data.input.weight import find_weighted_rows, read_weight
from holdfast.data.input.zero_weight import define_weighted_column, define_weighted_target
from holdfast.data.schema import Feature, Schema
from holdfast.data.split.row_keys import row_keys
from holdfast.data.stored.matched import match_values, write_matched
from holdfast.data.stored.parts import Parts, make_parts
from holdfast.data.stored.pieces import define_target_in_pieces, read_column_in_pieces
from holdfast.data.stored.table import (
    DESCRIPTION,
    FORMAT,
    LARGE,
    VERSION,
    Description,
    StoredTable,
    new_array,
    open_table,
)
from holdfast.data.table import Table, warn_uninformative_data
from holdfast.errors import DataError, ParameterError
from holdfast.files import replace_file
from holdfast.text.lists import columns_text, listed

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
    custom_features = question_texts(custom_features)
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
            check_questions(custom_features, schema)
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
            f"There is no column {listed(absent)} in the data. {columns_text(absent, parts.names)}"
        )
    names = tuple(name for name in parts.names if name not in aside)
    if not names:
        raise DataError("The data has no column besides the target: there is nothing to split by.")
    return names


# -- columns ------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The parts of the data and the roles of their columns."""

    parts: Parts
    names: tuple[str, ...]  # of the features
    target: str
    task: Task | None
    weighted: BoolArray | None


def _defined(
    rows: _Rows, how: Sequence[Reading], questions: Sequence[str], columns: FloatArray
) -> tuple[Schema, NDArray[Any]]:
    """Define the schema and the target; features are written to the columns."""
    features = _read_columns(rows, how, columns)
    features += _answered(questions, features, columns)
    raw = rows.parts.column(rows.target)
    if rows.weighted is None:
        values, target = define_target_in_pieces(raw, rows.target, rows.task)
    else:
        values, target = define_weighted_target(raw, rows.target, rows.task, rows.weighted)
    return Schema(features, target), values


def _matched(rows: _Rows, schema: Schema, columns: FloatArray) -> NDArray[Any]:
    """Encode the target by the schema; features are written to the columns likewise."""
    differences = write_matched(rows.parts, schema, rows.names, rows.weighted, columns)
    values = match_values(rows.parts.column(rows.target), schema, rows.task, rows.weighted, differences)
    _answered(schema.questions, schema.columns, columns)
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


def _answered(
    questions: Sequence[str], features: Sequence[Feature], columns: FloatArray
) -> tuple[Feature, ...]:
    """Make features of the questions; answers are written to the last columns."""
    check_distinct_questions(questions, [feature.name for feature in features])
    asked = parse_questions(questions, features)
    for question, own in zip(asked, columns[len(features) :], strict=True):
        own[:] = question.answers([columns[place] for place in question.columns])
    return tuple(Feature(text, "question", categories=(False, True)) for text in questions)


# -- what is made of them -----------------------------------------------------------------------------------


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
