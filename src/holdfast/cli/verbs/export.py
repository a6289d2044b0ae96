"""`holdfast export`: a model for other programs."""

from pathlib import Path
from typing import Any

import click

from holdfast._choices import EXPORT_ENDINGS
from holdfast.cli.options import cell_options
from holdfast.runs.settings import CellSettings


@click.command("export")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Choice(tuple(EXPORT_ENDINGS)),
    help="The format.  [default: as the name of the file says]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to, instead of the terminal.",
)
@click.option(
    "--verify",
    type=click.Path(path_type=Path),
    metavar="ROWS",
    help="Run the export on the rows of this file, too. It is always run at every threshold and its "
    "neighbours; one that predicts anything else than the model is not written.",
)
@click.option("--no-verify", is_flag=True, help="Write the export without running it.")
@click.option("--dialect", help="Of SQL, as sqlglot names them.  [default: duckdb]")
@click.option("--table", help="Of SQL, the table to select from.  [default: rows]")
@click.option("--keep", multiple=True, help="Of SQL, a column to select besides; may be repeated.")
@click.option("--view", help="Of SQL, a script that creates this view, for ensembles on one for each tree.")
@click.option("--key", help="Of SQL with --view, the column that no two rows share.")
@cell_options
def command(
    model: Path, to: str | None, output: Path | None, verify: Path | None, no_verify: bool, **options: Any
) -> None:
    """Write the tree or ensemble in the file MODEL, or in a run folder, for other programs.

    Python, SQL, ONNX, PMML, Excel and JSON predict as the model does; Mermaid and DOT draw a tree.
    """
    from holdfast.cli.export import asked_for, run

    sql = {name: options.pop(name) for name in ("dialect", "table", "keep", "view", "key")}
    reading = CellSettings(**options).reading_options
    if no_verify and verify is not None:
        raise click.UsageError("--verify and --no-verify exclude each other.")
    run(model, asked_for(to, output, sql), output, verify, reading, verify=not no_verify)
