"""What every verb says alike: headings, drawings that keep their lines, and notes."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from holdfast.errors import CacheWarning, DataWarning, GrowthWarning
from holdfast.text.lines import printable

WIDEST_NOTE = 300  # letters; the summary of a run has all

_R = TypeVar("_R")


def heading(console: Console, text: str) -> None:
    """A line that begins a section."""
    console.print(f"\n[bold cyan]{text}[/]\n")


def paragraph(console: Console, text: str, style: str = "") -> None:
    """A text of any words, wrapped: names out of the data are not taken for markup."""
    console.print(Text(text, style=style))


def verbatim(console: Console, text: str) -> None:
    """The text as it is, however wide the terminal: a drawing with broken lines cannot be read."""
    console.print(Text(text), soft_wrap=True)


def timed(work: Callable[[], _R]) -> tuple[_R, float]:
    """What the work returns, and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


@contextmanager
def plain_warnings() -> Iterator[list[str]]:
    """Within it, a warning is one dim line on stderr, once, and an entry of the list that comes back."""
    console = Console(stderr=True, highlight=False)
    said: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = printable(" ".join(str(message).split()))
        if text not in said:
            said.append(text)
            short = text if len(text) <= WIDEST_NOTE else f"{text[:WIDEST_NOTE]} ..."
            console.print(Text(f"Note: {short}", style="dim"), soft_wrap=True)

    with warnings.catch_warnings():
        for category in (DataWarning, GrowthWarning, CacheWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield said


def ready_kernels(console: Console, work: Callable[[], object] | None = None) -> tuple[bool, float]:
    """Whether the kernels had to be compiled, or else were on disk, and the seconds until they were ready.

    The work calls all that are needed; without it, these are those of stable trees.
    """
    with console.status("Compiling the kernels, or loading them from disk"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say of a dozen rows is of no interest
        warnings.simplefilter("always", CacheWarning)
        _, seconds = timed(work or _train_smallest)
    from holdfast.kernels.jit import Kernel

    kernels = [
        each
        for name, module in sys.modules.items()
        if name.startswith("holdfast.kernels.")
        for each in vars(module).values()
        if isinstance(each, Kernel)
    ]
    return any(kernel.compiled.stats.cache_misses for kernel in kernels), seconds


def compiled_text() -> str:
    """What happened to kernels that were not on disk."""
    from holdfast.kernels.cache import is_kept

    return "compiled, and kept on disk," if is_kept() else "compiled"


def _train_smallest() -> None:
    """One call of every kernel that training needs."""
    from holdfast.data.table import Table
    from holdfast.stability.settings import Settings
    from holdfast.stability.training import train

    rows: list[list[Any]] = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    labels = ["no" if number < 6 else "yes" for number in range(12)]
    train(Table.from_arrays(rows, labels), Settings(n_estimators=2))
