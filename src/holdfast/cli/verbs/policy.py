"""`holdfast policy`: what an update may change, written before it and checked after it."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import cell_options, template_option
from holdfast.runs.settings import CellSettings


@click.group("policy")
def command() -> None:
    """Write down what an update may change, and check a change against it."""


@command.command("init")
@template_option("change.toml")
def init(output: Path | None) -> None:
    """Write a template of a change policy, with a sentence on every line."""
    from holdfast.cli.policy import write_template

    write_template(output)


@command.command("check")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="Rows to judge by, CSV or Parquet, which the new tree has not learnt from.",
)
@click.option("--target", metavar="COLUMN", help="What is predicted.  [default: as the trees call it]")
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    default=Path("change.toml"),
    show_default=True,
    help="The change policy.",
)
@click.option("--weight", metavar="COLUMN", help="How much each row counts.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File for the verdict in full, in JSON."
)
@cell_options
def check(
    old: Path,
    new: Path,
    data: Path,
    target: str | None,
    policy: Path,
    weight: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Check the change from the tree in the file OLD to that in NEW against a change policy, line by line.

    Ends with exit code 3 where a line fails.
    """
    from rich.console import Console

    from holdfast.cli.policy import check_change
    from holdfast.runs.new_rows import RowSource

    source = RowSource(data, target, weight, CellSettings(**options).reading_options)
    check_change(old, new, policy, source, output, Console(highlight=False))
