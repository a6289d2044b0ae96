"""Results that are kept as they come, so that work that stops can go on from there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class CachedTasks(Protocol):
    """One list of tasks with the stored results."""

    def known(self) -> dict[int, Any]:
        """Return the stored results by the places of their items."""

    def add(self, place: int, result: Any, seconds: float) -> None:
        """Store the result of the item at this place, with its time."""

    def replacing(self) -> AbstractContextManager[None]:
        """Within it, results stored by other lists last until this one has its own."""


class ResultStore(Protocol):
    """A store of results, in the process that distributes tasks."""

    def tasks(self, name: str, task: Callable[[Any], Any], items: Sequence[Any]) -> CachedTasks | None:
        """Return the stored list of these tasks; None if it cannot be identified."""


_store: ContextVar[ResultStore | None] = ContextVar("holdfast_store", default=None)


def current_store() -> ResultStore | None:
    """Return the active store; None if results are not stored."""
    return _store.get()


@contextmanager
def cache_results_in(store: ResultStore) -> Iterator[None]:
    """Within it, results of long lists of tasks are stored and reused."""
    token = _store.set(store)
    try:
        yield
    finally:
        _store.reset(token)
