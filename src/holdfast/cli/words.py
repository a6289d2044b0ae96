"""What every verb says alike: headings, drawings that keep their lines, and notes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from holdfast._text import printable
from holdfast.errors import CacheWarning, DataWarning, GrowthWarning, ReportWarning, StoreWarning

WIDEST_NOTE = 300  # letters; the summary of a run has all


def heading(console: Console, text: str) -> None:
    """A line that begins a section."""
    console.print(f"\n[bold cyan]{text}[/]\n")


def paragraph(console: Console, text: str, style: str = "") -> None:
    """A text of any words, wrapped: names out of the data are not taken for markup."""
    console.print(Text(text, style=style))


def verbatim(console: Console, text: str) -> None:
    """The text as it is, however wide the terminal: a drawing with broken lines cannot be read."""
    console.print(Text(text), soft_wrap=True)


@contextmanager
def plain_warnings() -> Iterator[list[str]]:
    """Within it, a warning is one dim line on stderr, once, and an entry of the list that comes back."""
    console = Console(stderr=True, highlight=False)
    notes: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = printable(" ".join(str(message).split()))
        if text not in notes:
            notes.append(text)
            short = text if len(text) <= WIDEST_NOTE else f"{text[:WIDEST_NOTE]} ..."
            console.print(Text(f"Note: {short}", style="dim"), soft_wrap=True)

    with warnings.catch_warnings():
        for category in (DataWarning, GrowthWarning, CacheWarning, ReportWarning, StoreWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield notes


def compiled_text() -> str:
    """What happened to kernels that were not on disk."""
    from holdfast.kernels._numba import is_kept

    return "compiled, and kept on disk," if is_kept() else "compiled"
