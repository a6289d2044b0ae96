"""`holdfast show`: a model to read."""

import sys
from pathlib import Path

import click

from holdfast.cli.options import RAW
from holdfast.cli.show_form import FORMS, form_of


@click.command("show")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="A drawing in text, IF ... THEN rules, a picture, or a table with one line per node.  [default: as "
    "the name of the file says, or drawing]",
)
@click.option("--nodes", is_flag=True, help="A drawing with the number of every node, as edits go by.")
@click.option("--missing", is_flag=True, help="Say at each condition whether a missing value meets it.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to, instead of the terminal: .txt, .svg or .csv.",
)
@click.option("--raw", is_flag=True, help=RAW)
def command(
    model: Path, form: str | None, nodes: bool, missing: bool, output: Path | None, raw: bool
) -> None:
    """Show the tree in the file MODEL, or in a run folder; of a collection or an ensemble, an overview.

    A drawing, and the terminal, cut long lists of categories; a file, or a pipe, has the rules in full.
    """
    if output is not None:
        from holdfast.runs.folder import check_output

        check_output(output, model)
    form = form_of(form, output, nodes=nodes)
    from holdfast.cli.show import text_of

    if output is None:
        from rich.console import Console

        on_terminal, width = sys.stdout.isatty(), min(100, Console().width)
        text = text_of(model, form, missing=missing, width=width, on_terminal=on_terminal, raw=raw)
        click.echo(text.rstrip("\n"))
        return
    from holdfast.files import replace_file

    replace_file(output, (text_of(model, form, missing=missing, raw=raw).rstrip("\n") + "\n").encode())
