"""`holdfast predict`: rows with what a model says of them."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import RAW, cell_options
from holdfast.runs.settings import CellSettings


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="File to write to, CSV or Parquet by its name; without it, or with -, CSV to the terminal.",
)
@cell_options
@click.option("--raw", is_flag=True, help=RAW)
def command(model: Path, data: Path, output: Path | None, raw: bool, **options: Any) -> None:
    """Add the predictions of the tree in the file MODEL, or in a run folder, to the rows of the file DATA.

    Columns are matched by name, and stay as they are; only those that the tree asks about are needed. Text
    that a spreadsheet would take for a formula gets an apostrophe in front, unless you say --raw. A class
    comes with a column p(class) for each class: the tree's estimate, which is the value of
    the leaf that the row falls into. It need not be the fraction of the class among the training rows of the
    leaf: leaf values may come from a teacher, be drawn towards the nodes above, or count rows by weight.
    """
    check_there(model, data)
    from holdfast.cli.predict import run

    reading = CellSettings(**options).reading_options
    run(model, data, None if output == Path("-") else output, reading, raw=raw)
