"""What all commands print alike: headings, tables, drawings, warnings, and the line on a continued run."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._files import replace_file, resolve_path
from holdfast._text import pluralize, printable
from holdfast._view import TextTable
from holdfast.cli.options import ARGUMENTS
from holdfast.errors import (
    CacheWarning,
    DataWarning,
    GrowthWarning,
    HoldfastError,
    ReportWarning,
    StoreWarning,
)
from holdfast.runs.folder import check_output

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.io.task_store import StoreContent

MAX_NOTE = 300  # letters on the terminal; the summary of a run has the whole text
COMPILING = "Compiling the kernels, or loading them from disk"


def make_console(**options: Any) -> Console:
    """Make the console of stdout; rich is imported here, since --help does not need it."""
    from rich.console import Console

    return Console(highlight=False, **options)


def heading(console: Console, text: str) -> None:
    """Print the title of a section."""
    console.print(f"\n[bold cyan]{text}[/]\n")


def paragraph(console: Console, text: str, style: str = "") -> None:
    """Print wrapped text; nothing in it is taken for markup, since names come from the data."""
    from rich.text import Text

    console.print(Text(text, style=style))


def verbatim(console: Console, text: str) -> None:
    """Print text without wrapping, however narrow the terminal, as drawings need it."""
    from rich.text import Text

    console.print(Text(text), soft_wrap=True)


def print_coloured(console: Console, text: str, colours: dict[str, str]) -> None:
    """Print text without wrapping, with the matches of each pattern in its colour."""
    from rich.text import Text

    coloured = Text(text)
    for pattern, style in colours.items():
        coloured.highlight_regex(pattern, style)
    console.print(coloured, soft_wrap=True)


def show_grid(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: Collection[int] = (),
    spare: Sequence[str] = (),
) -> tuple[str, ...]:
    """Print a table, with the rows of the numbers `bold` in bold, and return the headings that are shown.

    On a narrow terminal the columns of `spare` are left out as far as needed, the first of them first.
    """
    from rich.text import Text

    shown = TextTable(headings, rows).fit_width(console.width, spare)
    for number, line in enumerate(shown.to_text(console.width).splitlines()):
        style = "dim" if number == 0 else "bold" if number - 1 in bold else ""
        console.print(Text(line, style=style), soft_wrap=True)
    return tuple(shown.headings)


def compiled_text() -> str:
    """Return what was done with kernels that were not on disk."""
    from holdfast.kernels._numba import is_kept

    return "compiled, and kept on disk," if is_kept() else "compiled"


@contextmanager
def plain_warnings() -> Iterator[list[str]]:
    """Print each warning once, as a dim line on stderr, and collect the texts in the list."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    notes: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = printable(" ".join(str(message).split()))
        if text not in notes:
            notes.append(text)
            short = text if len(text) <= MAX_NOTE else f"{text[:MAX_NOTE]} ..."
            console.print(Text(f"Note: {short}", style="dim"), soft_wrap=True)

    with warnings.catch_warnings():
        for category in (DataWarning, GrowthWarning, CacheWarning, ReportWarning, StoreWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield notes


# -- files and continued runs -----------------------------------------------------------------------------


def write_new_text(text: str, output: Path | None, what: str, error_type: type[HoldfastError]) -> None:
    """Write a template to a new file, or print it; an existing file is not replaced."""
    if output is None:
        click.echo(text, nl=False)
        return
    if resolve_path(output, error_type).exists():
        raise error_type(f"'{output}' exists already, and may contain your {what}: give another name.")
    check_output(output)
    replace_file(output, text.encode())


@contextmanager
def continue_run(output: Path | None, console: Console, *, restart: bool) -> Iterator[None]:
    """Keep results beside the output, if there is one, and continue a run that was stopped."""
    from holdfast.runs.status import resumable

    if output is None:
        yield
        return
    context = click.get_current_context(silent=True)
    arguments = None if context is None else context.find_root().meta.get(ARGUMENTS)
    command = "" if arguments is None else shlex.join(["holdfast", *arguments])
    with ExitStack() as stack:
        with plain_warnings():
            stopped = stack.enter_context(resumable(output, restart=restart, command=command))
        if stopped is not None:
            paragraph(console, _continued_text(stopped, command), style="dim")
        yield


def _continued_text(stopped: StoreContent, command: str) -> str:
    results = pluralize(stopped.n_results, "result")
    start = f"Continuing the run that stopped at {stopped.written}"
    if stopped.facts.get("command", command) != command:
        return f"{start}, with other options: of its {results}, those that are the same are used."
    text = f"{start}: {results} {'is' if stopped.n_results == 1 else 'are'} kept"
    if stopped.stages:
        last = stopped.stages[-1]
        text += f", in the last step, {last.name.lower()}, {last.kept:,} of {last.total:,}"
    return f"{text}."
