"""`holdfast policy`: what an update may change, written before it and checked after it."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.console import make_console, plain_warnings, print_coloured, write_new_text
from holdfast.cli.errors import NOT_PASSED, end_with
from holdfast.cli.options import WEIGHT, cell_options, output_option, template_option
from holdfast.errors import PolicyError
from holdfast.runs.folder import check_output, model_file


@click.group("policy")
def command() -> None:
    """Write a change policy, which limits what an update may change, or check a change against it."""


@command.command("init")
@template_option("change.toml")
def init(output: Path | None) -> None:
    """Write a template of a change policy, with a comment on every line."""
    from holdfast.governance.policy import ChangePolicy

    write_new_text(ChangePolicy.template_text(), output, "limits", PolicyError)
    if output is not None:
        click.echo(f"Wrote {output}: adapt its limits before the next update.")


@command.command("check")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="Rows to check on, CSV or Parquet, which the new tree was not trained on.",
)
@click.option("--target", metavar="COLUMN", help="Target column of --data.  [default: as in the trees]")
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    default=Path("change.toml"),
    show_default=True,
    help="The change policy.",
)
@click.option("--weight", metavar="COLUMN", help=WEIGHT)
@output_option("File for the full verdict, in JSON.")
@cell_options
def check(
    old: Path,
    new: Path,
    data: Path,
    target: str | None,
    policy: Path,
    weight: str | None,
    output: Path | None,
    **cells: Any,
) -> None:
    """Check the change from the tree of OLD to that of NEW against a change policy, line by line.

    Ends with exit code 3 if a line fails.
    """
    from holdfast.governance.policy import ChangePolicy
    from holdfast.io.model_file import open_model
    from holdfast.runs.files import write_json
    from holdfast.runs.new_rows import load_tree, read_compared
    from holdfast.runs.settings import CellSettings

    reading = CellSettings(**cells).reading_options
    limits = ChangePolicy.load(policy)
    if output is not None:
        check_output(output, old, new, policy, data)
    with plain_warnings():
        trees, references = (load_tree(old), load_tree(new)), None
        if limits.max_flips_of_firm is not None:
            references = open_model(model_file(old)).references_
        also = [] if references is None else [trees[0].schema.names[each] for each in references.used]
        rows = read_compared(
            trees, data, reading, target=target, weight=weight, columns=limits.subgroups, also=also
        )
        verdict = limits.check(rows.old, rows.new, rows.table, subgroups=rows.columns, references=references)
    print_coloured(make_console(), str(verdict), {r"\bFAIL\b": "bold red", r"(?m)\bpass$": "green"})
    if output is not None:
        write_json({"policy": limits.to_dict(), **verdict.to_dict()}, output)
    if not verdict.passed:
        end_with(NOT_PASSED)
