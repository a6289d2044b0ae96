"""`holdfast predict`: the rows of a file with what the model predicts of each."""

import re
import sys
import warnings
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

import numpy as np

from holdfast.cli.run_folder import check_output, model_file
from holdfast.cli.words import plain_warnings
from holdfast.data.cells import GAPS_AMONG_NUMBERS, Cells
from holdfast.data.csv_text import write_csv
from holdfast.data.filetype import is_parquet
from holdfast.data.frame import Frame
from holdfast.data.reading import column_names, csv_records, parquet_columns, read_file
from holdfast.data.schema import Feature, Schema
from holdfast.data.wording import listed
from holdfast.data.writing import write_file
from holdfast.errors import DataError, DataWarning, SchemaMismatch
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.file import load
from holdfast.tree.tree import Tree
from holdfast.tree.wording import class_names

TRUTHS = {"true": True, "false": False}
MOST_DIGITS = 15  # of a whole number: with more of them, neighbours run together as floats
_WHOLE = re.compile(r"[+-]?[0-9]+")


def run(model: Path, data: Path, output: Path | None, *, raw: bool = False) -> None:
    """Write the columns of the file, as they are, and the predictions, to the output or to stdout.

    Unless `raw` is asked for, CSV is safe to open in a spreadsheet: see `write_csv`.
    """
    if output is not None:
        is_parquet(output)  # which refuses a name that says nothing, before any work
        check_output(output, model, data)
    with plain_warnings():
        fitted = load(model_file(model))
        names = column_names(data)
        features = read_features(data, names, fitted.schema)
        typed = output is not None and is_parquet(output)
        columns = {**_cells(data, features, typed=typed), **_renamed(predictions(fitted, features), names)}
    if output is not None:
        write_file(columns, output, raw=raw)
    else:
        write_csv(sys.stdout, columns, raw=raw)


def read_features(path: Path, names: tuple[str, ...], schema: Schema) -> Frame:
    """The columns that the model knows, in the types that it knows them by; all others are left unread."""
    known = {feature.name: feature for feature in schema.columns}
    if names and (missing := [name for name in known if name not in names]):
        read_file(path, categorical=names)  # what is no table at all is refused as such
        raise SchemaMismatch(
            f"Cannot predict: '{path}' has no column {listed(missing, 30)}, and the model was trained with "
            f"{'it' if len(missing) == 1 else 'them'}. Its columns are {listed(names, 30)}."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # text where the model knows numbers is refused below
        frame = read_file(
            path,
            categorical=[name for name in names if name in known and _is_text(known[name])],
            drop=[name for name in names if name not in known],
        )
    columns = [
        _truths(column) if _is_truth(known[name]) else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return Frame(frame.names, columns, frame.n_rows)


def predictions(model: Tree | Ensemble, features: Frame) -> dict[str, list[Any]]:
    """The prediction of each row and, of classes, the share of each class."""
    shares = model.values(features) if isinstance(model, Ensemble) else model.value[model.apply(features)]
    target = model.schema.target
    if not target.is_classes:
        return {"prediction": shares[:, 0].tolist()}
    return {
        "prediction": [target.classes[place] for place in shares.argmax(axis=1).tolist()],
        **{f"p({name})": shares[:, place].tolist() for place, name in enumerate(class_names(target))},
    }


# -- columns ----------------------------------------------------------------------------------------------


def _is_text(feature: Feature) -> bool:
    return any(isinstance(label, str) for label in feature.categories)


def _is_truth(feature: Feature) -> bool:
    return bool(feature.categories) and all(isinstance(label, bool) for label in feature.categories)


def _truths(column: Any) -> Any:
    """The texts True and False, in any case, as what they mean; a column of another kind as it is."""
    if not _is_object(column):
        return column
    texts: list[Any] = column.tolist()
    if not all(text is None or text.strip().lower() in TRUTHS for text in texts):
        return column
    return np.array([None if text is None else TRUTHS[text.strip().lower()] for text in texts], object)


def _cells(path: Path, features: Frame, *, typed: bool) -> dict[str, list[Any]]:
    """All columns of the file: as they are written in it or, if `typed`, as what they mean."""
    if is_parquet(path):
        frame = parquet_columns(path)
        return {name: column.to_list() for name, column in zip(frame.names, frame.columns, strict=True)}
    names, *rows = csv_records(path)
    written = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if not typed:
        return written
    texts = {
        name for name, column in zip(features.names, features.columns, strict=True) if _is_object(column)
    }
    return {
        name: features.column(name).tolist() if name in texts else _values(name, cells)
        for name, cells in written.items()
    }


def _is_object(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == object


def _values(name: str, texts: list[str]) -> list[Any]:
    """The cells of a column as numbers if they are, else as text; so are numbers that no type can hold."""
    cells = Cells(name)
    cells.extend(tuple(texts))
    try:
        values = cells.as_column(np.arange(len(texts)))
    except DataError:  # dates, and infinity: the tree does not ask about this column
        return list(texts)
    whole = [text.strip() for text in texts if text.strip().lower() not in GAPS_AMONG_NUMBERS]
    if _is_object(values) or not all(map(_WHOLE.fullmatch, whole)):
        return cast("list[Any]", values.tolist())
    if any(len(text) > MOST_DIGITS for text in whole):
        return list(texts)
    return [None if value != value else int(value) for value in values.tolist()]


def _renamed(columns: dict[str, list[Any]], taken: tuple[str, ...]) -> dict[str, list[Any]]:
    """The columns under names that are not taken: prediction_2 where there is a prediction already."""
    used, renamed = set(taken), {}
    for name, values in columns.items():
        free = next(each for each in chain([name], (f"{name}_{n}" for n in count(2))) if each not in used)
        used.add(free)
        renamed[free] = values
    return renamed
