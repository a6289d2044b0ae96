"""The verbs of the terminal. Each imports what it needs when it runs, so that --help answers at once."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from holdfast._version import __version__
from holdfast.cli.endings import InputError, one_line_errors, signals_end_it
from holdfast.cli.options import (
    RAW,
    CompareSettings,
    cell_options,
    compare_options,
    fit_options,
    given_options,
)
from holdfast.cli.show_form import FORMS, form_of
from holdfast.runs.data_settings import CellSettings
from holdfast.runs.settings import RunSettings

SLOGAN = "decision trees that hold their shape as the data changes"


class Commands(click.Group):
    """The commands, whose errors are lines of text."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command that the arguments ask for, and end the program."""
        with signals_end_it():
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments."""
        with one_line_errors():
            return super().make_context(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, none of which may hold what no system takes."""
        for each in args:
            if "\0" in each:
                raise InputError(f"Cannot use {each!r}: it holds a NUL character.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb that was asked for."""
        with one_line_errors():
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()  # while an error can still be told
            return result


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
    type=click.Path(path_type=Path),
    default=Path("holdfast-demo"),
    show_default=True,
    help="Folder for the run: new, empty, or an earlier run, which is replaced.",
)
def demo(output: Path) -> None:
    """Tell the whole story on a built-in data set, in under a minute."""
    from rich.console import Console

    from holdfast.runs.folder import check_place

    check_place(output)  # before the story begins
    console = Console(highlight=False)
    console.print(f"[bold]holdfast {__version__}[/]: {SLOGAN}\n")
    console.print(
        "The first run compiles the kernels for this machine, which can take a minute. Later runs load "
        "them from disk."
    )
    with console.status("Starting"):
        from holdfast.cli.demo import run
    run(output, console)


@main.command(context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@fit_options
def fit(data: Path, output: Path, **options: Any) -> None:
    """Choose one tree, accurate and stable, for the rows of the file DATA (CSV or Parquet).

    Many trees are grown on the early rows and many on all. Of the latter the one is chosen that is nearest to
    the former, among those that predict about as well as the best. --model asks for another kind of model.
    """
    settings = RunSettings.of(given_options(click.get_current_context(), options))
    from rich.console import Console

    from holdfast.cli.fit import run

    run(data, output, settings, Console(highlight=False))


@main.command(context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@compare_options
def compare(data: Path, output: Path | None, **options: Any) -> None:
    """Compare models, single trees and ensembles, on the same folds of the file DATA (CSV or Parquet).

    Every model learns from the same rows and is scored on the same others, time after time, so that the
    differences between them are known far better than the scores themselves.
    """
    settings = CompareSettings(**options)
    from rich.console import Console

    from holdfast.cli.compare import run

    run(data, output, settings, Console(highlight=False))


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="A drawing in text, IF ... THEN rules, a picture, or a table with one line per node.  [default: as "
    "the name of the file says, or drawing]",
)
@click.option("--missing", is_flag=True, help="Say at each condition whether a missing value meets it.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to, instead of the terminal: .txt, .svg or .csv.",
)
@click.option("--raw", is_flag=True, help=RAW)
def show(model: Path, form: str | None, missing: bool, output: Path | None, raw: bool) -> None:
    """Show the tree in the file MODEL, or in a run folder; of a collection or an ensemble, an overview.

    A drawing, and the terminal, cut long lists of categories; a file, or a pipe, has the rules in full.
    """
    if output is not None:
        from holdfast.runs.folder import check_output

        check_output(output, model)
    form = form_of(form, output)
    from holdfast.cli.show import text_of

    if output is None:
        from rich.console import Console

        on_terminal, width = sys.stdout.isatty(), min(100, Console().width)
        text = text_of(model, form, missing=missing, width=width, on_terminal=on_terminal, raw=raw)
        click.echo(text.rstrip("\n"))
        return
    from holdfast.files import replace_file

    replace_file(output, (text_of(model, form, missing=missing, raw=raw).rstrip("\n") + "\n").encode())


@main.command()
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
def predict(model: Path, data: Path, output: Path | None, raw: bool, **options: Any) -> None:
    """Add the predictions of the tree in the file MODEL, or in a run folder, to the rows of the file DATA.

    Columns are matched by name, and stay as they are; only those that the tree asks about are needed. Text
    that a spreadsheet would take for a formula gets an apostrophe in front, unless you say --raw. A class
    comes with a column p(class) for each class: its fraction among the training rows in the same leaf.
    """
    from holdfast.cli.predict import run

    rules = CellSettings(**options).reading_options
    run(model, data, None if output == Path("-") else output, rules, raw=raw)
