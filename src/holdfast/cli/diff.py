"""`holdfast diff`: show what changed between two trees, perhaps on the rows of a data file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._files import replace_file
from holdfast._text import columns_text, quoted
from holdfast._view import WIDTH
from holdfast.cli.console import make_console, plain_warnings, print_coloured
from holdfast.cli.options import cell_options, output_option
from holdfast.errors import DataError
from holdfast.runs.folder import check_output, model_file

if TYPE_CHECKING:
    from holdfast.data.frame import Frame
    from holdfast.data.read_options import ReadingOptions
    from holdfast.distance.diff import TreeDiff
    from holdfast.tree.tree import Tree

ENDINGS = (".txt", ".html", ".json")
# Colours of the terminal: what was, what is new, what is gone, and the verdict.
COLOURS = {
    r"\(was\s[^)]*\)": "yellow",
    r"\(new\)|new split|is new|are new|(?<=tree is )better": "green",
    r"no longer a condition:|split gone|is gone|are gone|replaced|(?<=tree is )worse": "red",
    r"(?m)^\S.*$": "bold",
}


@click.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="Rows to compare the trees on: CSV or Parquet.")
@click.option(
    "--target",
    metavar="NAME",
    help="Target column of --data.  [default: as in the trees, if it is there]",
)
@click.option("--weight", metavar="NAME", help="Column of row weights in --data.")
@click.option(
    "--positive",
    metavar="CLASS",
    help="Class of probabilities and swap-ins.  [default: that of the old tree]",
)
@click.option(
    "--scoring",
    help="auc, accuracy, log_loss, ...; r2, absolute_error, ...; concordance, uno, ... of survival.  "
    "[default: auc, r2, concordance]",
)
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
@output_option("File to write to, instead of the terminal: .txt, .html or .json.")
@cell_options
def command(
    old: Path,
    new: Path,
    output: Path | None,
    data: Path | None,
    target: str | None,
    weight: str | None,
    positive: str | None,
    scoring: str | None,
    as_json: bool,
    **cells: Any,
) -> None:
    """Show what changed from the tree of OLD to that of NEW, model files or run folders, rule by rule.

    With --data, also show which rows get another prediction, what characterises them, and which tree is
    better; use rows that neither tree was fitted to.
    """
    from holdfast.distance.diff_text import diff_view
    from holdfast.report.page import write_report
    from holdfast.runs.files import finite
    from holdfast.runs.settings import CellSettings

    if output is not None:
        check_output(output, old, new, *([data] if data else []))
        if output.suffix.lower() not in ENDINGS:
            raise DataError(f"Cannot write to '{output}': its name must end in {', '.join(ENDINGS)}.")
    with plain_warnings():
        reading = CellSettings(**cells).reading_options
        diff = compute_diff(old, new, data, reading, target, weight, positive=positive, scoring=scoring)
    ending = ".json" if as_json else "" if output is None else output.suffix.lower()
    text = f"{diff}\n"
    if ending == ".json":
        text = json.dumps(finite(diff.to_dict()), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if output is not None and ending == ".html":
        write_report(diff, output)
    elif output is not None:
        replace_file(output, text.encode())
    elif as_json:
        click.echo(text, nl=False)
    else:
        console = make_console()
        print_coloured(console, diff_view(diff).to_text(min(WIDTH, console.width)), COLOURS)


def compute_diff(
    old: Path,
    new: Path,
    data: Path | None,
    reading: ReadingOptions,
    target: str | None = None,
    weight: str | None = None,
    *,
    positive: str | None = None,
    scoring: str | None = None,
) -> TreeDiff:
    """Compute the diff of two model files, on the rows of the data file if there is one."""
    from holdfast.distance.diff import tree_diff
    from holdfast.distance.reference_schema import widen_schemas
    from holdfast.runs.dataset import share_learned

    before, after = widen_schemas(_load_tree(old), _load_tree(new))
    if data is None:
        return tree_diff(before, after, positive=positive)
    frame, y, weights = _read_rows(data, reading, before, after, target, weight)
    diff = tree_diff(before, after, frame, y, sample_weight=weights, positive=positive, scoring=scoring)
    assert diff.rows is not None
    shares = [share_learned(path, data) for path in (old, new)]
    return replace(diff, rows=replace(diff.rows, old_learned=shares[0], new_learned=shares[1]))


def _load_tree(path: Path) -> Tree:
    from holdfast.io.model_file import load_model
    from holdfast.tree.tree import Tree

    model = load_model(model_file(path))
    if not isinstance(model, Tree):
        raise DataError(f"'{path}' contains {len(model)} trees, and a diff is of two single trees.")
    return model


def _read_rows(
    data: Path, reading: ReadingOptions, old: Tree, new: Tree, target: str | None, weight: str | None
) -> tuple[Frame, Any, Any]:
    """Read the features of the rows, their target and their weights; None for an absent column."""
    from holdfast.data.read import open_source
    from holdfast.data.target_columns import TargetColumns
    from holdfast.runs.new_rows import read_rows_of_both

    with open_source(data, reading.encoding) as source:
        targets = TargetColumns.of(old.schema.target, name=target)
        of_target = list(targets.roles(source.names).values())
        has_target = target is not None or all(name in source.names for name in of_target)
        roles = [*(of_target if has_target else ()), *([weight] if weight else [])]
        if absent := [name for name in roles if name not in source.names]:
            raise DataError(
                f"There is no column {quoted(absent)} in {source.name}. {columns_text(absent, source.names)}"
            )
        return read_rows_of_both(source, old, new, targets if has_target else None, weight, reading)
