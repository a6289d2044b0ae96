"""The verbs of the terminal. Each imports what it needs when it runs, so that --help answers at once."""

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from holdfast._version import __version__
from holdfast.cli.endings import InputError, one_line_errors, signals_end_it
from holdfast.cli.options import ARGUMENTS

# Each is a file of verbs/, in the order of the help.
VERBS = (
    *("demo", "fit", "compare", "audit", "stages", "show", "plot", "edit", "predict", "explain", "update"),
    *("export", "diff", "policy", "model-card", "register", "report", "status", "warmup"),
)


class Commands(click.Group):
    """The commands, whose errors are lines of text."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of a first day rather than of the alphabet."""
        return list(VERBS)

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
        ctx.meta[ARGUMENTS] = list(args)
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


for _name in VERBS:
    main.add_command(import_module(f"holdfast.cli.verbs.{_name.replace('-', '_')}").command)
