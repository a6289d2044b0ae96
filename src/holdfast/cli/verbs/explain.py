"""`holdfast explain`: why a tree says what it says of a row."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import cell_options, given_options
from holdfast.runs.settings import CellSettings


@click.command("explain")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("rows", type=click.Path(path_type=Path), required=False)
@click.option("--row", "numbers", type=int, multiple=True, metavar="N", help="Which row, from 1.")
@click.option("--id", "label", metavar="COLUMN", help="Column that says what a row is called.")
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="A value, in place of that of the row; without ROWS they are the row.",
)
@click.option("--fixed", multiple=True, metavar="COLUMN", help="A column that cannot change.")
@click.option("--only-increase", multiple=True, metavar="COLUMN", help="A column that may only grow.")
@click.option("--only-decrease", multiple=True, metavar="COLUMN", help="A column that may only shrink.")
@click.option("--wanted", metavar="CLASS", help="What a change is to lead to; of numbers, up or down.")
@click.option("--threshold", type=float, help="A change is to lead to the other side of this risk.")
@click.option("--positive", metavar="CLASS", help="The class of the risk.  [default: that of the model]")
@click.option("--changes", type=click.IntRange(0), default=3, show_default=True, help="Changes to tell.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to, instead of the terminal: .txt, .html or .json.",
)
@cell_options
@click.pass_context
def command(
    context: click.Context, /, model: Path, rows: Path | None, output: Path | None, **options: Any
) -> None:
    """Explain what the tree in the file MODEL, or in a run folder, says of rows of the file ROWS.

    The path of the row in words, how near each threshold is and, of a run, how firmly each question stands;
    then the smallest changes of the row that would lead to another outcome. Only the columns that the tree
    asks about are needed. --row, --set, --fixed and the two directions may be repeated.
    """
    check_there(model)
    from holdfast.cli.explain import Asked, run

    names = [each.name for each in fields(CellSettings)]
    cells = given_options(context, {name: options.pop(name) for name in names})
    run(model, rows, Asked(**options), cells, output)
