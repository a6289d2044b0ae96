"""`holdfast predict`: the rows of a file with what the model predicts of each."""

import re
import sys
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

import numpy as np

from holdfast.cli.words import plain_warnings
from holdfast.data.cells import MOST_DIGITS, Cells
from holdfast.data.frame import Frame
from holdfast.data.parquet import has_typed_columns, read_parquet_columns
from holdfast.data.read import open_source, read_csv_records
from holdfast.data.read_options import ReadingOptions, is_parquet
from holdfast.data.write import write_csv, write_file
from holdfast.ensembles.bagging import set_vote_threshold
from holdfast.errors import DataError
from holdfast.io.model_file import load, load_model
from holdfast.runs.folder import check_output, model_file
from holdfast.runs.new_rows import is_text, read_features
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import format_class_names
from holdfast.tree.tree import Tree

_WHOLE = re.compile(r"[+-]?[0-9]+")


def run(model: Path, data: Path, output: Path | None, reading: ReadingOptions, *, raw: bool = False) -> None:
    """Write the columns of the file, as they are, and the predictions, to the output or to stdout.

    Unless `raw` is asked for, CSV is safe to open in a spreadsheet: see `write_csv`.
    """
    if output is not None:
        is_parquet(output)  # which refuses a name that says nothing, before any work
        check_output(output, model, data)
    with plain_warnings():
        fitted = load_model(model_file(model))
        with open_source(data, reading.encoding) as source:
            names = source.names
            features = read_features(source, fitted, reading)
        typed = output is not None and is_parquet(output)
        texts = [feature.name for feature in fitted.schema.columns if is_text(feature)] if typed else None
        # Only trees that vote can have one: no other file is read twice.
        threshold = _threshold(model) if isinstance(fitted, Ensemble) and fitted.votes else None
        predicted = _renamed(predictions(fitted, features, threshold), names)
        columns = {**_cells(data, reading, texts), **predicted}
    if output is not None:
        write_file(columns, output, raw=raw)
    else:
        write_csv(sys.stdout, columns, raw=raw)


def predictions(
    model: Tree | Ensemble, features: Frame, threshold: float | None = None
) -> dict[str, list[Any]]:
    """The prediction of each row and, of classes, the fraction of each class."""
    target = model.schema.target
    if isinstance(model, Tree):
        leaves = model.apply(features)
        values, places = model.value[leaves], model.outcome[leaves]
    else:
        values = model.values(features)
        voted = _voted(model, threshold)
        places = voted.predict_indices(voted.values(features))
    if not target.is_classes:
        return {"prediction": values[:, 0].tolist()}
    return {
        "prediction": [target.classes[place] for place in places.tolist()],
        **{f"p({name})": values[:, place].tolist() for place, name in enumerate(format_class_names(target))},
    }


def _threshold(model: Path) -> float | None:
    """The fraction from which on trees vote for the second class, if the file's estimator has one."""
    return getattr(load(model_file(model)), "vote_threshold", None)


def _voted(ensemble: Ensemble, threshold: float | None) -> Ensemble:
    return ensemble if threshold is None else set_vote_threshold(ensemble, threshold)


# -- columns ---------------------------------------------------------------------------------------------


def _cells(path: Path, reading: ReadingOptions, texts: Collection[str] | None) -> dict[str, list[Any]]:
    """All columns of the file as they are written; or, if it is known which are texts, in their types."""
    if has_typed_columns(path):
        frame = read_parquet_columns(path)
        return {name: column.to_list() for name, column in zip(frame.names, frame.columns, strict=True)}
    names, *rows = read_csv_records(path, reading.encoding)
    written = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if texts is None:
        return written
    return {name: _values(name, cells, reading, is_text=name in texts) for name, cells in written.items()}


def _is_object(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == object


def _values(name: str, texts: list[str], reading: ReadingOptions, *, is_text: bool) -> list[Any]:
    """The cells of a column as numbers if they are, else as text; so are numbers that no type can hold."""
    cells = Cells(name, reading)
    cells.extend(tuple(texts))
    if is_text:
        return list(cells.as_text())
    try:
        values = cells.as_column(None)
    except DataError:  # dates, infinity, numbers and words: the output has what is written
        return list(texts)
    whole = [text.strip() for text in texts if not reading.is_missing(text)]
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
