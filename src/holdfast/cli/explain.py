"""`holdfast explain`: rows of a file, or values of the command line, through the tree of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from holdfast._files import replace_file
from holdfast._text import columns_text, label_text, pluralize, printable, quoted
from holdfast._view import WIDTH
from holdfast.cli.words import plain_warnings
from holdfast.data.encode import required_columns
from holdfast.data.frame import Frame
from holdfast.data.parquet import has_typed_columns, read_parquet_columns
from holdfast.data.read import open_source, read_csv_records
from holdfast.data.read_options import ReadingOptions
from holdfast.data.schema import Feature, Label
from holdfast.errors import DataError, ParameterError
from holdfast.explain.counterfactuals import row_frame
from holdfast.explain.row import RowExplanation, explain_row, row_explanation_view
from holdfast.explain.split_support import SplitSupport
from holdfast.io.model_file import load_model
from holdfast.runs.files import write_json
from holdfast.runs.folder import check_output, is_run, model_file
from holdfast.runs.new_rows import TRUTHS, is_text, read_features
from holdfast.runs.run import open_run
from holdfast.runs.settings import CellSettings
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import LEAF, Tree

MOST = 20  # rows that a terminal shows
OPTIONS = ("wanted", "threshold", "positive", "fixed", "only_increase", "only_decrease")
ENDINGS = (".txt", ".html", ".json")
Explained = Sequence[tuple[str, RowExplanation]]  # what each row is called, and why


@dataclass(frozen=True)
class Asked:
    """What the options ask for."""

    numbers: Sequence[int]
    label: str | None
    values: Sequence[str]
    fixed: Sequence[str]
    only_increase: Sequence[str]
    only_decrease: Sequence[str]
    wanted: str | None
    threshold: float | None
    positive: str | None
    changes: int


def run(model: Path, rows: Path | None, asked: Asked, cells: Mapping[str, Any], output: Path | None) -> None:
    """Explain the rows, on the terminal or in a file."""
    if output is not None:
        _check_ending(output)
        check_output(output, model, *([] if rows is None else [rows]))
    with plain_warnings():
        tree, support, reading = _loaded(model, cells)
        found = [
            (name, _explained(tree, support, row, asked)) for name, row in _rows(tree, rows, asked, reading)
        ]
    if output is None:
        click.echo(_text(found[:MOST], min(WIDTH, Console().width)))
        if len(found) > MOST:
            click.echo(f"\n{MOST} of {pluralize(len(found), 'row')}: --row tells of others, -o FILE of all.")
    elif output.suffix.lower() == ".json":
        write_json({"rows": [{"row": name, **each.to_dict()} for name, each in found]}, output)
    else:
        text = _page(found) if output.suffix.lower() == ".html" else f"{_text(found)}\n"
        replace_file(output, text.encode())


def _check_ending(output: Path) -> None:
    if output.suffix.lower() not in ENDINGS:
        raise DataError(f"Cannot write to '{output}': its name must end in .txt, .html or .json.")


def _text(found: Explained, width: int = WIDTH) -> str:
    """The rows one below the other, each under its name if there are several."""
    texts = [row_explanation_view(each).to_text(width) for _, each in found]
    if len(found) == 1:
        return texts[0]
    heads = [f"{printable(name)}\n{'-' * len(printable(name))}" for name, _ in found]
    return "\n\n\n".join(f"{head}\n{text}" for head, text in zip(heads, texts, strict=True))


def _page(found: Explained) -> str:
    body = "".join(f"<h2>{escape(printable(name))}</h2>{each._repr_html_()}" for name, each in found)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>holdfast explain</title>'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="font-family:system-ui,sans-serif;margin:2em">{body}</body></html>\n'
    )


# -- the model and the rows -------------------------------------------------------------------------------


def _loaded(model: Path, cells: Mapping[str, Any]) -> tuple[Tree, Sequence[SplitSupport], ReadingOptions]:
    """The tree, what is known of its splits, and how cells are read: of a run, as the run read them."""
    run = open_run(model) if is_run(model) else None
    found = load_model(model_file(model)) if run is None else run.model
    if isinstance(found, Ensemble):
        raise DataError(
            f"'{model}' holds {len(found)} trees, and a row is explained by one: fit a stable tree, whose "
            "one tree stands for many, or see what the ensemble goes by with holdfast show."
        )
    known = {} if run is None else run.facts["reading"]
    support = () if run is None else run.split_support()
    return found, support, CellSettings(**{**known, **cells}).reading_options


def _explained(tree: Tree, support: Sequence[SplitSupport], row: Frame, asked: Asked) -> RowExplanation:
    classes = tree.schema.target.classes
    options = {name: getattr(asked, name) for name in OPTIONS}
    for name in ("wanted", "positive"):
        options[name] = _class(classes, options[name])
    return explain_row(tree, row, **options, n_counterfactuals=asked.changes, support=support)


def _class(classes: Sequence[Label], text: str | None) -> Label | None:
    """The class that the text names; the text itself if there is none, which is then refused."""
    return next((label for label in classes if label_text(label) == text), text)


def _rows(tree: Tree, path: Path | None, asked: Asked, reading: ReadingOptions) -> list[tuple[str, Frame]]:
    """The rows that are asked for, each with what it is called."""
    values = _values(tree, asked.values, reading)
    if path is None:
        if asked.numbers or asked.label:
            raise ParameterError("--row and --id are about the rows of a file, and there is none: give ROWS.")
        _raise_for_absent(tree, values)
        return [("row", row_frame(values) if values else Frame(("none",), [np.zeros(1)], 1))]
    with open_source(path, reading.encoding) as source:
        frame = read_features(source, tree, reading)
    names = _row_names(path, reading, asked.label, frame.n_rows)
    numbers = asked.numbers or range(1, frame.n_rows + 1)
    for number in numbers:
        if not 1 <= number <= frame.n_rows:
            raise DataError(f"--row {number} is not there: '{path}' has {pluralize(frame.n_rows, 'row')}.")
    return [(names[number - 1], _with(frame.subset(np.array([number - 1])), values)) for number in numbers]


def _with(row: Frame, values: Mapping[str, Any]) -> Frame:
    """The row with these values in place of its own."""
    if not values:
        return row
    frames = row, row_frame(values)
    columns = {name: column for each in frames for name, column in zip(each.names, each.columns, strict=True)}
    return Frame(tuple(columns), list(columns.values()), 1)


def _row_names(path: Path, reading: ReadingOptions, label: str | None, n_rows: int) -> list[str]:
    """What the rows are called: by the column, as it is written there, or by their numbers."""
    if label is None:
        return [f"row {number}" for number in range(1, n_rows + 1)]
    if has_typed_columns(path):
        frame = read_parquet_columns(path)
        names, cells = list(frame.names), dict(zip(frame.names, frame.columns, strict=True))
        written = [str(each) for each in cells[label].to_list()] if label in cells else []
    else:
        names, *records = read_csv_records(path, reading.encoding)
        written = [record[names.index(label)] for record in records] if label in names else []
    if label not in names:
        raise DataError(
            f"--id names {label!r}, which is no column of '{path}'. {columns_text([label], names)}"
        )
    return [f"{label} {each}" for each in written]


# -- values of the command line ---------------------------------------------------------------------------


def _values(tree: Tree, given: Sequence[str], reading: ReadingOptions) -> dict[str, Label | None]:
    """The values by column, each as the schema has it."""
    features = {feature.name: feature for feature in tree.schema.columns}
    values: dict[str, Label | None] = {}
    for each in given:
        name, sign, text = each.partition("=")
        if not sign:
            raise ParameterError(f"--set {each!r} says no value: write it as COLUMN=VALUE, such as age=70.")
        if name not in features:
            raise ParameterError(
                f"--set names {name!r}, which is no column of the model. {columns_text([name], [*features])}"
            )
        values[name] = None if reading.is_missing(text) else _value(features[name], text.strip(), reading)
    return values


def _value(feature: Feature, text: str, reading: ReadingOptions) -> Label:
    for label in feature.categories:
        if label_text(label) == text or (isinstance(label, bool) and TRUTHS.get(text.lower()) is label):
            return label
    if is_text(feature):
        return text
    if not reading.numerals.matches_number(text):
        kind = "numeric" if feature.kind == "numeric" else f"one of {quoted(feature.categories)}"
        raise ParameterError(f"--set {feature.name}={text!r} is no number, and the column is {kind}.")
    return reading.numerals.number(text)


def _raise_for_absent(tree: Tree, values: Mapping[str, Any]) -> None:
    asked = [each for each in np.unique(tree.feature).tolist() if each != LEAF]
    absent = [name for name in required_columns(tree.schema, asked) if name not in values]
    if absent:
        raise ParameterError(
            f"The tree asks about {quoted(absent, 30)}, and no value is given: say it with --set "
            f"{absent[0]}=VALUE, or {absent[0]}=NA if it is not known; or give a file of ROWS."
        )
