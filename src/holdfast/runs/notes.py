"""Warnings of a run: kept as facts, and told to the user all the same."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from holdfast.errors import CacheWarning, DataWarning, GrowthWarning
from holdfast.text.lines import printable

CATEGORIES = (DataWarning, GrowthWarning, CacheWarning)
_R = TypeVar("_R")


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """Within it, warnings of holdfast become entries of the list, each once; at the end they are given."""
    found: dict[str, Warning] = {}
    notes: list[str] = []

    def keep(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if not issubclass(category, CATEGORIES) or not isinstance(message, Warning):
            outer(message, category, *rest, **more)
            return
        text = printable(" ".join(str(message).split()))
        if text not in found:
            found[text] = message
            notes.append(text)

    outer: Any = warnings.showwarning
    try:
        with warnings.catch_warnings():
            for category in CATEGORIES:
                warnings.simplefilter("always", category)
            warnings.showwarning = keep
            yield notes
    finally:
        for message in found.values():
            warnings.warn(message, stacklevel=4)


def timed(work: Callable[[], _R]) -> tuple[_R, float]:
    """What the work returns, and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


@contextmanager
def warnings_once() -> Iterator[None]:
    """Within it, each warning is kept; at the end all are given, once each, as from the caller's caller."""
    given: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            yield
    finally:
        for each in {str(each.message): each for each in given}.values():
            warnings.warn(str(each.message), each.category, stacklevel=4)
