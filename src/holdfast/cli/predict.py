"""`holdfast predict`: the rows of a file with what the model predicts of each."""

import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, cast

import numpy as np

from holdfast.cli.run_folder import check_output, model_file
from holdfast.cli.words import plain_warnings
from holdfast.data.files.cells import MOST_DIGITS, Cells
from holdfast.data.files.csv_writing import write_csv
from holdfast.data.files.dates import DateColumn, date_columns, date_source
from holdfast.data.files.filetype import is_parquet
from holdfast.data.files.parquet_columns import parquet_columns
from holdfast.data.files.reading import Choices, column_names, csv_records, read_file
from holdfast.data.files.reading_rules import ReadingRules
from holdfast.data.files.writing import write_file
from holdfast.data.input.frame import Frame
from holdfast.data.input.rows import columns_asked
from holdfast.data.schema import Feature
from holdfast.errors import DataError, SchemaMismatch
from holdfast.storage.model_file import load
from holdfast.text.lists import listed
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import class_names

TRUTHS = {"true": True, "false": False}
_WHOLE = re.compile(r"[+-]?[0-9]+")


def run(model: Path, data: Path, output: Path | None, rules: ReadingRules, *, raw: bool = False) -> None:
    """Write the columns of the file, as they are, and the predictions, to the output or to stdout.

    Unless `raw` is asked for, CSV is safe to open in a spreadsheet: see `write_csv`.
    """
    if output is not None:
        is_parquet(output)  # which refuses a name that says nothing, before any work
        check_output(output, model, data)
    with plain_warnings():
        fitted = load(model_file(model))
        names = column_names(data, rules.encoding)
        features = read_features(data, names, fitted, rules)
        typed = output is not None and is_parquet(output)
        texts = [feature.name for feature in fitted.schema.columns if _is_text(feature)] if typed else None
        columns = {**_cells(data, rules, texts), **_renamed(predictions(fitted, features), names)}
    if output is not None:
        write_file(columns, output, raw=raw)
    else:
        write_csv(sys.stdout, columns, raw=raw)


def read_features(path: Path, names: tuple[str, ...], model: Tree | Ensemble, rules: ReadingRules) -> Frame:
    """The columns that the model asks about, in the types that it knows them by; others are left unread."""
    asked = set(columns_asked(model.schema, _asked(model)))
    known = {feature.name: feature for feature in model.schema.columns if feature.name in asked}
    dates = _dates(known, names, rules)
    needed = {source.name for source in dates} | {name for name in known if not _is_derived(name, dates)}
    if names and (missing := [name for name in needed if name not in names]):
        read_file(path, categorical=names, rules=replace(rules, dates=()))  # is it a table at all?
        raise _missing_columns(path, sorted(missing), names)
    if names and not needed:
        needed = {names[0]}  # of a tree that asks nothing, the rows count
    choices = Choices(
        categorical=[name for name in needed if name in known and _is_text(known[name])] if known else names,
        numeric=[name for name in needed if name in known and _is_number(known[name])],
        drop=[name for name in names if name not in needed],
        known={name: feature.categories for name, feature in known.items()},
    )
    frame = read_file(path, choices=choices, rules=replace(rules, dates=tuple(map(_spelt, dates))))
    columns = [
        _truths(column) if name in known and _is_truth(known[name]) else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns)


def predictions(model: Tree | Ensemble, features: Frame) -> dict[str, list[Any]]:
    """The prediction of each row and, of classes, the fraction of each class."""
    target = model.schema.target
    if isinstance(model, Tree):
        leaves = model.apply(features)
        shares, places = model.value[leaves], model.outcome[leaves]
    else:
        shares = model.values(features)
        places = shares.argmax(axis=1)
    if not target.is_classes:
        return {"prediction": shares[:, 0].tolist()}
    return {
        "prediction": [target.classes[place] for place in places.tolist()],
        **{f"p({name})": shares[:, place].tolist() for place, name in enumerate(class_names(target))},
    }


# -- what is needed ---------------------------------------------------------------------------------------


def _asked(model: Tree | Ensemble) -> list[int]:
    """The features that the model asks about."""
    trees = model.trees if isinstance(model, Ensemble) else [model]
    return sorted({index for tree in trees for index in np.unique(tree.feature).tolist() if index != LEAF})


def _dates(known: Iterable[str], names: tuple[str, ...], rules: ReadingRules) -> list[DateColumn]:
    """The columns of dates that features of the model were made of, and in which order they are written."""
    orders = {column.name: column.order for column in date_columns(rules.dates, names)}
    sources = {date_source(name) for name in known if name not in names}
    return [
        replace(source, order=orders.get(source.name))
        for source in sorted(filter(None, sources), key=lambda source: (source.name, source.form))
    ]


def _is_derived(name: str, dates: Iterable[DateColumn]) -> bool:
    return any(name in source.derived for source in dates)


def _spelt(column: DateColumn) -> str:
    return ":".join(filter(None, (column.name, column.form, column.order)))


def _missing_columns(path: Path, missing: list[str], names: tuple[str, ...]) -> SchemaMismatch:
    return SchemaMismatch(
        f"Cannot predict: '{path}' has no column {listed(missing, 30)}, and the model asks about "
        f"{'it' if len(missing) == 1 else 'them'}. Its columns are {listed(names, 30)}."
    )


# -- columns ----------------------------------------------------------------------------------------------


def _is_text(feature: Feature) -> bool:
    return any(isinstance(label, str) for label in feature.categories)


def _is_number(feature: Feature) -> bool:
    return not _is_text(feature) and not _is_truth(feature)


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


def _cells(path: Path, rules: ReadingRules, texts: Collection[str] | None) -> dict[str, list[Any]]:
    """All columns of the file as they are written; or, if it is known which are texts, in their types."""
    if is_parquet(path):
        frame = parquet_columns(path)
        return {name: column.to_list() for name, column in zip(frame.names, frame.columns, strict=True)}
    names, *rows = csv_records(path, rules.encoding)
    written = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if texts is None:
        return written
    return {name: _values(name, cells, rules, is_text=name in texts) for name, cells in written.items()}


def _is_object(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == object


def _values(name: str, texts: list[str], rules: ReadingRules, *, is_text: bool) -> list[Any]:
    """The cells of a column as numbers if they are, else as text; so are numbers that no type can hold."""
    cells = Cells(name, rules)
    cells.extend(tuple(texts))
    if is_text:
        return list(cells.as_text())
    try:
        values = cells.as_column(None)
    except DataError:  # dates, infinity, numbers and words: the output has what is written
        return list(texts)
    whole = [text.strip() for text in texts if not rules.is_missing(text)]
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
