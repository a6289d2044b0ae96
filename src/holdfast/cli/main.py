"""The verbs of the terminal. Each imports what it needs when it runs, so that --help answers at once."""

import sys
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._version import __version__
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.tree.tree import Tree

SLOGAN = "decision trees that hold their shape as the data changes"
FORMATS = ("drawing", "rules", "svg", "csv")


class Refusal(click.ClickException):
    """What the user gave cannot be used: one line on stderr, no traceback, exit code 2."""

    exit_code = 2


class Verbs(click.Group):
    """The one place where an expected error becomes a line of text."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb that was asked for."""
        try:
            return super().invoke(ctx)
        except HoldfastError as error:
            raise Refusal(" ".join(str(error).split())) from error
        except OSError as error:
            if error.filename is None:  # a reader of the output has left, say: click ends quietly then
                raise
            raise Refusal(f"Cannot use '{error.filename}': {error.strerror}.") from error


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast")
def main() -> None:
    """Decision trees that hold their shape as the data changes."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Where the encoding has no lines and dots to draw with, question marks will do.
        sys.stdout.reconfigure(errors="replace")


@main.command()
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("holdfast-demo"),
    show_default=True,
    help="Folder for the model and the picture; made if it is not there.",
)
def demo(folder: Path) -> None:
    """Grow trees on a built-in data set and look at them."""
    from rich.console import Console

    folder.mkdir(parents=True, exist_ok=True)  # before the work: it may not be possible
    console = Console(highlight=False)
    console.print(f"[bold]holdfast {__version__}[/]: {SLOGAN}\n")
    console.print(
        "The first run compiles the kernels for this machine, which can take half a minute. Later runs load "
        "them from disk."
    )
    with console.status("Starting"):
        from holdfast.cli.demo import run
    run(folder, console)


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="drawing",
    show_default=True,
    help="A drawing in text, IF ... THEN rules, a picture, or a table with one line per node.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write to, instead of the terminal."
)
def show(model: Path, form: str, output: Path | None) -> None:
    """Show the tree in the file MODEL."""
    from holdfast.tree.file import load

    text = _shown(load(model), form).rstrip("\n") + "\n"
    if output is not None:
        output.write_text(text, encoding="utf-8")
    else:
        click.echo(text, nl=False)


def _shown(tree: "Tree", form: str) -> str:
    """The tree in one of the FORMATS."""
    if form == "csv":
        return _csv(tree)
    if form == "svg":
        return tree.to_svg()
    return tree.rules() if form == "rules" else str(tree)


def _csv(tree: "Tree") -> str:
    """One line per node, under a line with the names of the columns; empty where a column says nothing."""
    from csv import writer

    from holdfast.tree.frame import node_columns

    columns = node_columns(tree)
    text = StringIO()
    lines = writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
