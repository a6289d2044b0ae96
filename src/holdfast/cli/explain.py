"""`holdfast explain`: explain what a tree predicts for rows, of a file or of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._files import replace_file
from holdfast._text import columns_text, label_text, pluralize, printable, quoted
from holdfast._view import WIDTH
from holdfast.cli.console import plain_warnings
from holdfast.cli.errors import check_exists
from holdfast.cli.options import cell_options, explicit_options, output_option
from holdfast.errors import DataError, ParameterError
from holdfast.runs.folder import check_output, is_run, model_file

if TYPE_CHECKING:
    from holdfast.data.frame import Frame
    from holdfast.data.read_options import ReadingOptions
    from holdfast.data.schema import Feature, Label
    from holdfast.explain.firmness import ReferenceTrees
    from holdfast.explain.row import RowExplanation
    from holdfast.explain.split_support import SplitSupport
    from holdfast.tree.tree import Tree

    Explained = Sequence[tuple[str, RowExplanation]]  # rows by name

MAX_ROWS = 20  # on a terminal
ENDINGS = (".txt", ".html", ".json")


@click.command("explain")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("rows", type=click.Path(path_type=Path), required=False)
@click.option("--row", "numbers", type=int, multiple=True, metavar="N", help="Number of a row, from 1.")
@click.option("--id", "label", metavar="COLUMN", help="Column with the names of the rows.")
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Value that replaces that of the row; without ROWS, these values are the row.",
)
@click.option("--fixed", multiple=True, metavar="COLUMN", help="Column that cannot change.")
@click.option("--only-increase", multiple=True, metavar="COLUMN", help="Column that may only increase.")
@click.option("--only-decrease", multiple=True, metavar="COLUMN", help="Column that may only decrease.")
@click.option(
    "--wanted",
    metavar="CLASS",
    help="Class that the changes should lead to; for numbers and survival, up or down.",
)
@click.option("--threshold", type=float, help="The changes should cross this probability.")
@click.option("--positive", metavar="CLASS", help="Class of the probability.  [default: that of the model]")
@click.option(
    "--changes", type=click.IntRange(0), default=3, show_default=True, help="Number of changes to show."
)
@output_option("File to write to, instead of the terminal: .txt, .html or .json.")
@cell_options
@click.pass_context
def command(
    context: click.Context,
    /,
    model: Path,
    rows: Path | None,
    output: Path | None,
    numbers: Sequence[int],
    label: str | None,
    values: Sequence[str],
    fixed: Sequence[str],
    only_increase: Sequence[str],
    only_decrease: Sequence[str],
    wanted: str | None,
    threshold: float | None,
    positive: str | None,
    changes: int,
    **cells: Any,
) -> None:
    """Explain the predictions of MODEL, a model file or a run folder, for rows of the file ROWS.

    For each row, show its path in words, its distance to each threshold, the support of each split (if MODEL
    is a run), and the smallest changes that lead to another outcome. Only the columns that the tree uses are
    needed. --row, --set, --fixed, --only-increase and --only-decrease may be repeated.
    """
    check_exists(model)
    if output is not None:
        if output.suffix.lower() not in ENDINGS:
            raise DataError(f"Cannot write to '{output}': its name must end in .txt, .html or .json.")
        check_output(output, model, *([] if rows is None else [rows]))
    from rich.console import Console

    from holdfast.explain.row import explain_row
    from holdfast.runs.files import write_json

    with plain_warnings():
        tree, references, support, reading = _load(model, explicit_options(context, cells))
        classes = tree.schema.target.classes
        explained = [
            (
                name,
                explain_row(
                    tree,
                    row,
                    wanted=_class_of(classes, wanted),
                    threshold=threshold,
                    positive=_class_of(classes, positive),
                    fixed=fixed,
                    only_increase=only_increase,
                    only_decrease=only_decrease,
                    n_counterfactuals=changes,
                    support=support,
                    references=references,
                ),
            )
            for name, row in _select_rows(
                tree, references, rows, numbers, label, _parse_values(tree, values, reading), reading
            )
        ]
    if output is None:
        click.echo(_text(explained[:MAX_ROWS], min(WIDTH, Console().width)))
        if len(explained) > MAX_ROWS:
            n_rows = pluralize(len(explained), "row")
            click.echo(f"\n{MAX_ROWS} of {n_rows}: --row selects others, -o FILE writes all.")
    elif output.suffix.lower() == ".json":
        write_json({"rows": [{"row": name, **each.to_dict()} for name, each in explained]}, output)
    else:
        text = _page(explained) if output.suffix.lower() == ".html" else f"{_text(explained)}\n"
        replace_file(output, text.encode())


def _text(explained: Explained, width: int = WIDTH) -> str:
    """Join the texts of the rows, each under its name if there are several."""
    from holdfast.explain.row import row_explanation_view

    texts = [row_explanation_view(each).to_text(width) for _, each in explained]
    if len(explained) == 1:
        return texts[0]
    titles = [f"{printable(name)}\n{'-' * len(printable(name))}" for name, _ in explained]
    return "\n\n\n".join(f"{title}\n{text}" for title, text in zip(titles, texts, strict=True))


def _page(explained: Explained) -> str:
    body = "".join(f"<h2>{escape(printable(name))}</h2>{each._repr_html_()}" for name, each in explained)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>holdfast explain</title>'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="font-family:system-ui,sans-serif;margin:2em">{body}</body></html>\n'
    )


# -- the model and the rows -------------------------------------------------------------------------------


def _load(
    model: Path, cells: Mapping[str, Any]
) -> tuple[Tree, ReferenceTrees | None, Sequence[SplitSupport], ReadingOptions]:
    """Load the tree, its reference trees, the support of its splits, and how cells are read.

    Of a run, cells are read as the run read them.
    """
    from holdfast.io.model_file import open_model
    from holdfast.runs.run import open_run
    from holdfast.runs.settings import CellSettings
    from holdfast.tree.ensemble import Ensemble

    run = open_run(model) if is_run(model) else None
    stored = open_model(model_file(model)) if run is None else run.fitted
    loaded, references = stored.model, stored.references_
    if isinstance(loaded, Ensemble):
        raise DataError(
            f"'{model}' contains {len(loaded)} trees, and a row is explained by a single tree: fit a stable "
            "tree, or use holdfast show for the feature importances of the ensemble."
        )
    known = {} if run is None else run.facts["reading"]
    support = () if run is None else run.split_support()
    return loaded, references, support, CellSettings(**{**known, **cells}).reading_options


def _class_of(classes: Sequence[Label], text: str | None) -> Label | None:
    """Return the class that the text names; an unknown text stays, and will be refused."""
    return next((label for label in classes if label_text(label) == text), text)


def _select_rows(
    tree: Tree,
    references: ReferenceTrees | None,
    path: Path | None,
    numbers: Sequence[int],
    label: str | None,
    values: Mapping[str, Label | None],
    reading: ReadingOptions,
) -> list[tuple[str, Frame]]:
    """Return the rows by name, with the values of the command line."""
    import numpy as np

    from holdfast.data.encode import list_required_columns
    from holdfast.data.frame import Frame
    from holdfast.data.read import open_source
    from holdfast.explain.counterfactuals import row_frame
    from holdfast.runs.new_rows import read_features

    if path is None:
        if numbers or label:
            raise ParameterError("--row and --id are about the rows of a file: give ROWS.")
        _check_complete(tree, values)
        return [("row", row_frame(values) if values else Frame(("none",), [np.zeros(1)], 1))]
    with open_source(path, reading.encoding) as source:
        also: tuple[int, ...] = () if references is None else references.used
        if not {*list_required_columns(tree.schema, also)} <= {*source.names}:
            also = ()  # firmness is left out
        frame = read_features(source, tree, reading, also)
    names = _row_names(path, reading, label, frame.n_rows)
    selected = []
    for number in numbers or range(1, frame.n_rows + 1):
        if not 1 <= number <= frame.n_rows:
            raise DataError(f"--row {number} does not exist: '{path}' has {pluralize(frame.n_rows, 'row')}.")
        row = frame.subset(np.array([number - 1]))
        if values:
            columns = dict(zip(row.names, row.columns, strict=True))
            new = row_frame(values)
            columns |= zip(new.names, new.columns, strict=True)
            row = Frame(tuple(columns), list(columns.values()), 1)
        selected.append((names[number - 1], row))
    return selected


def _row_names(path: Path, reading: ReadingOptions, label: str | None, n_rows: int) -> list[str]:
    """Return the names of the rows: the cells of a column as they are written, or numbers."""
    from holdfast.data.parquet import has_typed_columns, read_parquet_columns
    from holdfast.data.read import read_csv_records

    if label is None:
        return [f"row {number}" for number in range(1, n_rows + 1)]
    if has_typed_columns(path):
        frame = read_parquet_columns(path)
        names, columns = list(frame.names), dict(zip(frame.names, frame.columns, strict=True))
        written = [str(each) for each in columns[label].to_list()] if label in columns else []
    else:
        names, *records = read_csv_records(path, reading.encoding)
        written = [record[names.index(label)] for record in records] if label in names else []
    if label not in names:
        raise DataError(
            f"--id names {label!r}, which is not a column of '{path}'. {columns_text([label], names)}"
        )
    return [f"{label} {each}" for each in written]


# -- values of the command line ---------------------------------------------------------------------------


def _parse_values(tree: Tree, texts: Sequence[str], reading: ReadingOptions) -> dict[str, Label | None]:
    """Parse COLUMN=VALUE into the types of the schema."""
    features = {feature.name: feature for feature in tree.schema.columns}
    values: dict[str, Label | None] = {}
    for each in texts:
        name, sign, text = each.partition("=")
        if not sign:
            raise ParameterError(f"--set {each!r} has no value: write COLUMN=VALUE, such as age=70.")
        if name not in features:
            raise ParameterError(
                f"--set names {name!r}, which is not a column of the model. "
                f"{columns_text([name], [*features])}"
            )
        missing = reading.is_missing(text)
        values[name] = None if missing else _parse_value(features[name], text.strip(), reading)
    return values


def _parse_value(feature: Feature, text: str, reading: ReadingOptions) -> Label:
    from holdfast.runs.new_rows import TRUTHS, is_text

    for label in feature.categories:
        if label_text(label) == text or (isinstance(label, bool) and TRUTHS.get(text.lower()) is label):
            return label
    if is_text(feature):
        return text
    if not reading.numerals.matches_number(text):
        kind = "numeric" if feature.kind == "numeric" else f"one of {quoted(feature.categories)}"
        raise ParameterError(f"--set {feature.name}={text!r} is not a number, and the column is {kind}.")
    return reading.numerals.number(text)


def _check_complete(tree: Tree, values: Mapping[str, Any]) -> None:
    """Raise a ParameterError if a column that the tree splits on has no value."""
    import numpy as np

    from holdfast.data.encode import list_required_columns

    used = [each for each in np.unique(tree.feature).tolist() if each >= 0]
    absent = [name for name in list_required_columns(tree.schema, used) if name not in values]
    if absent:
        raise ParameterError(
            f"The tree splits on {quoted(absent, 30)}, without a value here: give it with --set "
            f"{absent[0]}=VALUE, or {absent[0]}=NA if it is unknown; or give a file of ROWS."
        )
