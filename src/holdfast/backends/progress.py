"""How far a long computation is: a bar on the terminal."""

from collections.abc import Iterable
from typing import TypeVar

_R = TypeVar("_R")


def with_bar(results: Iterable[_R], text: str, total: int) -> Iterable[_R]:
    """The same results; as they come in, a bar with the text shows how many of the total are there."""
    from rich.progress import track  # slow to import, and few computations show a bar

    return track(results, description=text, total=total)
