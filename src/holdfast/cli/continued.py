"""Commands that go on where they stopped: what is kept beside their output, and the line that says so."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console

from holdfast._text import pluralize
from holdfast.cli.options import ARGUMENTS
from holdfast.cli.words import paragraph, plain_warnings
from holdfast.io.task_store import StoreContent
from holdfast.runs.status import resumable


@contextmanager
def continued(output: Path | None, console: Console, *, restart: bool) -> Iterator[None]:
    """Within it, results are kept beside the output, if there is one, and a run that stopped goes on."""
    if output is None:
        yield
        return
    with ExitStack() as stack:
        with plain_warnings():
            command = _command()
            stopped = stack.enter_context(resumable(output, restart=restart, command=command))
        if stopped is not None:
            paragraph(console, _line(stopped, command), style="dim")
        yield


def _line(stopped: StoreContent, command: str) -> str:
    if stopped.facts.get("command", command) != command:
        same = f"of {pluralize(stopped.n_results, 'result')} those are taken that are the same"
        return f"Continues a run that stopped at {stopped.written}, with other options: {same}."
    there = f"{pluralize(stopped.n_results, 'result')} {'is' if stopped.n_results == 1 else 'are'} there"
    if stopped.stages:
        last = stopped.stages[-1]
        there += f", in the last stage, {last.name.lower()}, {last.kept:,} of {last.total:,}"
    return f"Continues a run that stopped at {stopped.written}: {there}."


def _command() -> str:
    """The command as it was given; nothing where it was not given to a terminal."""
    context = click.get_current_context(silent=True)
    arguments = None if context is None else context.find_root().meta.get(ARGUMENTS)
    return "" if arguments is None else shlex.join(["holdfast", *arguments])
