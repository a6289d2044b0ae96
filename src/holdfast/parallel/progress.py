"""Progress of long computations: a bar on a terminal, elsewhere a line every ten seconds."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

INTERVAL = 10.0  # seconds between two lines, and before the first
PAUSE = 60.0  # seconds without a result, after which a new computation begins

_R = TypeVar("_R")


def show_progress(results: Iterable[_R], text: str, total: int) -> Iterable[_R]:
    """Pass results through and show a progress bar.

    If the output is not a terminal, long work prints lines to the error output.
    """
    from rich import get_console  # slow to import
    from rich.progress import track

    console = get_console()
    if console.is_terminal or console.is_jupyter:
        return track(results, description=text, total=total)
    return _LINES.follow(results, text, total)


class ProgressLines:
    """Progress of several lists of tasks, one line every ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        # The clock starts with the process, since long work may precede the first list of tasks.
        self.start = self.last_line = self.last_result = clock()

    def follow(self, results: Iterable[_R], text: str, total: int) -> Iterator[_R]:
        """Pass results through; consecutive lists share one clock."""
        if self.clock() - self.last_result >= PAUSE:
            self.start = self.last_line = self.clock()
        self.last_result = self.clock()
        for number, result in enumerate(results, 1):
            now = self.last_result = self.clock()
            if now - self.last_line >= INTERVAL:
                self.last_line = now
                print(
                    f"{text}: {number:,} of {total:,} ({now - self.start:.0f} s)", file=sys.stderr, flush=True
                )
            yield result


_LINES = ProgressLines()
