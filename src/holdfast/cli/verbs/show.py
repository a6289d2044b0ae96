"""`holdfast show`: a model to read."""

import sys
from pathlib import Path
from typing import Any

import click

from holdfast._choices import RULE_ORDERS
from holdfast.cli.options import RAW
from holdfast.cli.show_form import FORMS, check_use, form_of


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
@click.option(
    "--positive", metavar="CLASS", help="The class whose probability is shown.  [default: that of the model]"
)
@click.option(
    "--order",
    type=click.Choice(RULE_ORDERS),
    help="Rules as they stand in the tree, or those of the highest risk first.  [default: tree]",
)
@click.option("--title", help="Over the picture, in place of the name of the target.")
@click.option("--decimals", type=click.IntRange(0, 6), help="Of percentages and means in the picture.")
@click.option("--width", type=click.IntRange(100, 20_000), help="Of the picture, in pixels.")
@click.option("--missing", is_flag=True, help="Say at each condition whether a missing value meets it.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to, instead of the terminal: .txt, .svg or .csv.",
)
@click.option("--raw", is_flag=True, help=RAW)
def command(model: Path, form: str | None, nodes: bool, output: Path | None, **options: Any) -> None:
    """Show the tree in the file MODEL, or in a run folder; of a collection or an ensemble, an overview.

    A drawing, and the terminal, cut long lists of categories; a file, or a pipe, has the rules in full.
    """
    if output is not None:
        from holdfast.runs.folder import check_output

        check_output(output, model)
    if form is None and options["order"] is not None:
        form = "rules"
    form = form_of(form, output, nodes=nodes)
    check_use(form, options)
    from holdfast.cli.show import ShowOptions, text_of

    asked = ShowOptions(**{name: value for name, value in options.items() if value is not None})

    if output is None:
        from rich.console import Console

        on_terminal, columns = sys.stdout.isatty(), min(100, Console().width)
        text = text_of(model, form, asked, columns=columns, on_terminal=on_terminal)
        click.echo(text.rstrip("\n"))
        return
    from holdfast._files import replace_file

    replace_file(output, (text_of(model, form, asked).rstrip("\n") + "\n").encode())
