"""`holdfast diff`: what changed between two trees."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import cell_options
from holdfast.runs.settings import CellSettings


@click.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Rows that both trees are tried on: CSV or Parquet."
)
@click.option(
    "--target",
    metavar="NAME",
    help="Column of the data that is predicted.  [default: the target of the trees, if it is there]",
)
@click.option("--weight", metavar="NAME", help="Column of the data with the weights of the rows.")
@click.option(
    "--positive",
    metavar="CLASS",
    help="The class whose probability is told, and that swap-ins come to.  [default: that of the old tree]",
)
@click.option("--scoring", help="auc, accuracy, log_loss, ...; r2, absolute_error, ...  [default: auc, r2]")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to, instead of the terminal: .txt, .html or .json.",
)
@cell_options
def command(old: Path, new: Path, output: Path | None, **options: Any) -> None:
    """Tell what changed from the tree in the file OLD to that in NEW, rule by rule; or in run folders.

    With --data also which rows get another answer, who they are, and which tree is better: take rows that
    neither tree was fitted to.
    """
    from holdfast.cli.diff import DataOptions, run

    cells = {name: options.pop(name) for name in [each.name for each in fields(CellSettings)]}
    as_json = options.pop("as_json")
    of_data = DataOptions(reading=CellSettings(**cells).reading_options, **options)
    run(old, new, of_data, output, as_json=as_json)
