"""How far a long computation is: a bar on the terminal, elsewhere a plain line every ten seconds."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

INTERVAL = 10.0  # seconds between two lines, and before the first
PAUSE = 60.0  # seconds without a result after which the next computation is another one

_R = TypeVar("_R")


def show_progress(results: Iterable[_R], text: str, total: int) -> Iterable[_R]:
    """Pass results through and show a progress bar.

    Where the output is not a terminal, lines on the error output do, if the work takes long.
    """
    from rich import get_console  # slow to import, and few computations show how far they are
    from rich.progress import track

    console = get_console()
    if console.is_terminal or console.is_jupyter:
        return track(results, description=text, total=total)
    return _LINES.follow(results, text, total)


class ProgressLines:
    """Progress of several lists of tasks, one line every ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        # A command begins with the process; its first list may come after a long computation without one.
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
