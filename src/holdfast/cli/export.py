"""`holdfast export`: convert a model for other programs, verified by running the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from holdfast._choices import BINARY_EXPORTS, EXPORT_ENDINGS
from holdfast._files import replace_file
from holdfast.cli.console import plain_warnings
from holdfast.cli.options import cell_options, output_option
from holdfast.errors import DataError, EngineError, ExportError
from holdfast.runs.folder import check_output, model_file


@click.command("export")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--to", type=click.Choice(tuple(EXPORT_ENDINGS)), help="Format.  [default: by the name of the file]"
)
@output_option()
@click.option(
    "--verify",
    type=click.Path(path_type=Path),
    metavar="ROWS",
    help="File of rows for an additional check. Every export is checked at each threshold and next to it; "
    "if its predictions differ from those of the model, it is not written.",
)
@click.option("--no-verify", is_flag=True, help="Write the export without running it.")
@click.option("--dialect", help="SQL: dialect, by its name in sqlglot.  [default: duckdb]")
@click.option("--table", help="SQL: table to select from.  [default: rows]")
@click.option("--keep", multiple=True, help="SQL: further column to select; may be repeated.")
@click.option(
    "--view", help="SQL: write a script that creates this view; for ensembles, also one view per tree."
)
@click.option("--key", help="SQL with --view: column that identifies a row.")
@cell_options
def command(
    model: Path,
    to: str | None,
    output: Path | None,
    verify: Path | None,
    no_verify: bool,
    dialect: str | None,
    table: str | None,
    keep: tuple[str, ...],
    view: str | None,
    key: str | None,
    **cells: Any,
) -> None:
    """Write the tree or ensemble of MODEL, a model file or a run folder, for other programs.

    Python, SQL, ONNX, PMML, Excel and JSON predict as the model does; Mermaid and DOT draw a tree.
    """
    sql: dict[str, Any] = {"dialect": dialect, "table": table, "keep": keep, "view": view, "key": key}
    options = {name: value for name, value in sql.items() if value}
    if no_verify and verify is not None:
        raise click.UsageError("--verify and --no-verify exclude each other.")
    to = choose_format(to, output)
    if options and to != "sql":
        raise DataError(f"--{next(iter(options))} is for --to sql, and the format is {to}.")
    if output is not None:
        check_output(output, model, *([] if verify is None else [verify]))
    from holdfast.data.read import open_source
    from holdfast.exports.formats import DRAWN, export, verify_export
    from holdfast.exports.plain_model import unwrap_model
    from holdfast.io.model_file import load
    from holdfast.runs.new_rows import read_features
    from holdfast.runs.settings import CellSettings

    reading = CellSettings(**cells).reading_options
    with plain_warnings():
        fitted = load(model_file(model))
        exported = export(fitted, to, **options)
        report = ""
        if verify is not None:
            with open_source(verify, reading.encoding) as source:
                features = read_features(source, unwrap_model(fitted), reading)
            report = str(verify_export(fitted, to, exported, features, **options))
        elif no_verify and to not in DRAWN:
            report = "It is not verified."
        elif to not in DRAWN:
            try:
                report = str(verify_export(fitted, to, exported, **options))
            except EngineError as error:
                report = f"It is not verified: {error}"
    content = exported.encode() if isinstance(exported, str) else exported
    if output is not None:
        replace_file(output, content, ExportError)
        click.echo(f"Wrote {output}. {report}".rstrip())
        return
    click.echo(content.decode().rstrip("\n"))
    if report:
        click.echo(report, err=True)


def choose_format(to: str | None, output: Path | None) -> str:
    """Choose the format by the option or the name of the file; a DataError if the two disagree.

    >>> choose_format(None, Path("model.sql"))
    'sql'
    """
    ending = None if output is None else output.suffix.lower()
    named = next((name for name, endings in EXPORT_ENDINGS.items() if ending in endings), None)
    if to is None and named is None:
        raise DataError(
            f"Give --to, one of {', '.join(EXPORT_ENDINGS)}, or -o with a name that ends in one of their "
            "endings."
        )
    chosen = to or named or ""
    if output is None and chosen in BINARY_EXPORTS:
        raise DataError(f"--to {chosen} is not text for a terminal: name a file with -o.")
    if named not in (None, chosen):
        raise DataError(f"Cannot write to '{output}': its name is that of a {named} file, and --to is {to}.")
    return chosen
