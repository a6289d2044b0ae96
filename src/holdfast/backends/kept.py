"""Results that are kept as they come, so that work that stops can go on from there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class CachedTasks(Protocol):
    """One list of tasks, and what is kept of their results."""

    def known(self) -> dict[int, Any]:
        """The results that are there, by the places of their items."""

    def add(self, place: int, result: Any, seconds: float) -> None:
        """Keep the result of the item at this place, which took so long."""

    def replacing(self) -> AbstractContextManager[None]:
        """Within it, what other lists keep is there only until this one has its result."""


class ResultStore(Protocol):
    """Where results are kept: in the process that hands out the tasks, whichever process does them."""

    def tasks(self, name: str, task: Callable[[Any], Any], items: Sequence[Any]) -> CachedTasks | None:
        """The list of these tasks; None if it cannot be told from others for sure."""


_store: ContextVar[ResultStore | None] = ContextVar("holdfast_store", default=None)


def current_store() -> ResultStore | None:
    """Where the results of long lists of tasks are kept; None if they are not."""
    return _store.get()


@contextmanager
def cache_results_in(store: ResultStore) -> Iterator[None]:
    """Within it, the results of long lists of tasks are kept there, and taken from there."""
    token = _store.set(store)
    try:
        yield
    finally:
        _store.reset(token)
