"""Threads that stand ready for many short tasks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeVar

from holdfast.backends.tasks import check_jobs, make_batches

if TYPE_CHECKING:
    from concurrent.futures import Future

_T = TypeVar("_T")
_R = TypeVar("_R")


class ThreadPool:
    """Threads that wait for short tasks, since starting threads would take longer."""

    def __init__(self, n_jobs: int | None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        from joblib import cpu_count, effective_n_jobs

        check_jobs(n_jobs)
        self.size = int(effective_n_jobs(n_jobs))
        counts_cores = n_jobs is None or n_jobs < 0
        if counts_cores and self.size > 1:  # a backend may count those of a whole cluster
            self.size = min(self.size, int(cpu_count()))
        self._threads = ThreadPoolExecutor(self.size - 1) if self.size > 1 else None
        self._helping: list[Future[object]] = []

    def run(self, task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
        """Run the task on every item; return results in the order of the items."""
        if self._threads is None or len(items) < 2:
            return [task(item) for item in items]
        # The caller does its part itself: another thread takes a tenth of a millisecond to wake up.
        own, *others = make_batches(items, -(-len(items) // self.size))
        waiting = [self._threads.submit(_all_of, task, part) for part in others]
        results = _all_of(task, own)
        for each in waiting:
            results += each.result()
        return results

    @contextmanager
    def run_with_helpers(self, help_out: Callable[[], object], end: Callable[[], None]) -> Iterator[None]:
        """Run `help_out` in all other threads while the caller works; `end` stops them.

        It does not wait until they have: that takes a tenth of a millisecond.
        """
        self._helping = [each for each in self._helping if not _is_over(each)]
        try:
            if self._threads is not None:
                self._helping += [self._threads.submit(help_out) for _ in range(self.size - 1)]
            yield
        finally:
            end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._threads is not None:
            self._threads.shutdown()
            self._helping = [each for each in self._helping if not _is_over(each)]


def _is_over(helping: "Future[object]") -> bool:
    """Return True if a helper thread has ended; raise its error if there was one."""
    is_over = helping.cancel() or helping.done()
    if is_over and not helping.cancelled():
        helping.result()
    return is_over


def _all_of(task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    return [task(item) for item in items]
