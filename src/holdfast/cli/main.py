"""The command line: a command is imported only when it is invoked, so that --help answers at once."""

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from holdfast._version import __version__
from holdfast.cli.errors import InputError, one_line_errors, stop_on_signals
from holdfast.cli.options import ARGUMENTS

# Each is a file of this folder, in the order of the help.
COMMANDS = {
    "demo": "Show on built-in data what holdfast does, in under a minute.",
    "fit": "Fit one accurate and stable tree, or another model.",
    "compare": "Compare single trees and ensembles on the same folds.",
    "audit": "Measure how much models change on retraining.",
    "stages": "Fit one tree after another as data come in stages.",
    "show": "Print a tree, its rules or its nodes, or draw it.",
    "plot": "Draw a plot of a run or a model.",
    "edit": "Edit a tree by hand.",
    "predict": "Add predictions to the rows of a file.",
    "explain": "Explain predictions, and what would change them.",
    "update": "Update a deployed tree with new data.",
    "export": "Convert a model to Python, SQL, ONNX, PMML, Excel, ...",
    "diff": "Show what changed between two trees.",
    "policy": "Write a change policy, or check a change against it.",
    "model-card": "Write a template of a model card.",
    "register": "Check a change register, and find its models.",
    "report": "Write a page of HTML on a run or a model.",
    "status": "Show how far a run is.",
    "warmup": "Compile the kernels of all models now.",
}


class LazyCommands(click.Group):
    """Commands that are imported when they are invoked, and whose errors are lines of text."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of a first day rather than of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is no command of this name."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = import_module(f"holdfast.cli.{cmd_name.replace('-', '_')}")
            self.add_command(module.command, cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command of the arguments, and end the program."""
        with stop_on_signals():
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments."""
        with one_line_errors():
            return super().make_context(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and keep them for the line that says how to continue a run."""
        for each in args:
            if "\0" in each:
                raise InputError(f"Cannot use {each!r}: it contains a NUL character.")
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with one_line_errors():
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()  # while an error can still be reported
            return result


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="holdfast")
def main() -> None:
    """Decision trees that hold their shape as the data changes."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Lines and dots that the encoding does not have become question marks.
        sys.stdout.reconfigure(errors="replace")
