"""`holdfast edit`: a tree changed by hand."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import cell_options
from holdfast.runs.settings import CellSettings


@click.command("edit")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--node", type=int, help="Number of the node: holdfast show --nodes has them.")
@click.option("--threshold", type=float, help="The node asks for values of at most this.")
@click.option("--categories", metavar="A,B", help="The node asks for these categories.")
@click.option("--feature", metavar="COLUMN", help="The node asks about this column or question instead.")
@click.option("--prune", is_flag=True, help="The node becomes a leaf.")
@click.option(
    "--value",
    metavar="P",
    help="The leaf says this: the probability of the positive of two classes, CLASS=P,..., or a number.",
)
@click.option(
    "--round",
    "tolerance",
    type=click.FloatRange(0, 1, max_open=True),
    is_flag=False,
    flag_value=0.0,
    metavar="[FRACTION]",
    help="All thresholds become round: no row of --data goes another way, or at most this fraction of those "
    "at each node.",
)
@click.option("--by", default="", metavar="NAME", help="Who edits, for the record.")
@click.option("--why", default="", metavar="TEXT", help="Why, for the record.")
@click.option("--when", default="", metavar="TEXT", help="When, for the record.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Rows (CSV or Parquet) that counts are fitted to, and that tell what the edit costs.",
)
@click.option("--target", metavar="COLUMN", help="The target in --data.  [default: as in the model]")
@click.option(
    "--refit-values",
    is_flag=True,
    help="Fit the values of leaves below an edited question to the rows, too. A consensus tree has its "
    "teacher's.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="File for the edited model.",
)
@cell_options
def command(model: Path, output: Path, data: Path | None, target: str | None, **options: Any) -> None:
    """Edit the tree in the file MODEL, or in a run folder, by hand.

    The edit, with who and why, is kept in the file and shown with the tree. With --data, counts are fitted to
    its rows, and what the edit costs is told on the same rows: with --refit-values that flatters the edited
    tree. In Python, price_of_edit takes other rows.
    """
    from dataclasses import fields

    from holdfast.cli.edit import EditOptions, run

    cells = {each.name: options.pop(each.name) for each in fields(CellSettings)}
    run(model, output, EditOptions(**options), data, target, CellSettings(**cells).reading_options)
