"""The one place that runs independent tasks: in threads, other processes, or on a cluster."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

from holdfast._check import is_integer, raise_out_of_range
from holdfast.parallel.clusters import connect_cluster, is_cluster, run_tiles
from holdfast.parallel.interruption import TaskGroup, current_group
from holdfast.parallel.progress import show_progress

if TYPE_CHECKING:
    from concurrent.futures import Future

# Trees of small tables share a task: starting one costs as much as growing such a tree.
ROWS_PER_TASK = 20_000
# Short work on fewer rows than this mostly waits for the interpreter, and threads would wait for each other.
LEAST_SHARED = 20_000

_T = TypeVar("_T")
_R = TypeVar("_R")


def run_all(
    task: Callable[[_T], _R],
    items: Sequence[_T],
    n_jobs: int | None = None,
    *,
    progress: str = "",
    stays: bool = False,
    kept: str = "",
) -> list[_R]:
    """Run the task on every item; return results in the order of the items.

    Kernels release the lock of the interpreter, so threads are the default; the user picks another backend
    with `joblib.parallel_config`. A task is a function of a module, or a `partial` of one: some backends send
    it to other processes, and a cluster is sent it once, and the items as they are needed. `n_jobs` None is
    one job, or what that config says; -1 is all cores; 1 is this process, whatever the backend. A bar with
    the text of `progress` shows how far it is. After an error or Ctrl-C, tasks under way are stopped. Where
    the items themselves are large and the work is short, `stays` keeps it from a cluster, in threads.

    A list that takes long has a name for `kept`: in work that can be resumed its results are kept under it as
    they come, and those that are there are not computed again. Lists within tasks are not kept.
    """
    check_jobs(n_jobs)
    if (group := current_group()) is not None:
        return _run_all(_Work(group, n_jobs, progress, stays), task, items)
    store = current_store() if kept else None
    tasks = None if store is None else store.tasks(kept, task, items)
    group = TaskGroup()
    try:
        work = _Work(group, n_jobs, progress, stays)
        return _run_all(work, task, items) if tasks is None else _run_kept(work, tasks, task, items)
    except BaseException:
        group.stop()
        raise


class _Work(NamedTuple):
    """How a list of tasks is run."""

    group: TaskGroup
    n_jobs: int | None
    progress: str
    stays: bool

    def shown(self, results: Iterable[_R], total: int) -> Iterable[_R]:
        """Pass results through, with a progress bar if requested."""
        return show_progress(results, self.progress, total) if self.progress else results


def _run_all(work: _Work, task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    backend = _backend()
    if is_cluster(backend) and not work.stays:
        found = dict(work.shown(_on_cluster(work, backend, task, items), len(items)))
        return [found[place] for place in range(len(items))]
    results = _here(work, backend, task, items, "generator" if work.progress else "list")
    return list(work.shown(results, len(items)))


def _run_kept(work: _Work, tasks: CachedTasks, task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    """Run tasks without a stored result, and store results as they arrive."""
    found: dict[int, _R] = tasks.known()
    rest = [(place, item) for place, item in enumerate(items) if place not in found]
    backend, timed = _backend(), partial(_timed, task)
    results: Iterable[tuple[int, _R, float]] = (
        (result for _, result in _on_cluster(work, backend, timed, rest))
        if is_cluster(backend) and not work.stays
        else _here(work, backend, timed, rest, "generator_unordered")
    )
    try:
        for place, result, seconds in work.shown(results, len(rest)):
            found[place] = result
            tasks.add(place, result, seconds)
    except BaseException:
        _abandon(work.group, results)
        raise
    return [found[place] for place in range(len(items))]


def _abandon(group: TaskGroup, results: Iterable[Any]) -> None:
    """Stop tasks whose results are not needed; silence joblib's warning."""
    group.stop()
    if isinstance(results, Generator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def run_cached(name: str, task: Callable[[_T], _R], item: _T) -> _R:
    """Run one long task with caching, also of lists of tasks within it.

    In work that can be resumed its result is kept under the name, in place of theirs. One that came with
    warnings is not: they would be missing the next time.
    """
    store = current_store() if current_group() is None else None
    tasks = None if store is None else store.tasks(name, task, [item])
    if tasks is None:
        return task(item)
    found: dict[int, _R] = tasks.known()
    if found:
        return found[0]
    with tasks.replacing(), warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        _, result, seconds = _timed(task, (0, item))
    for each in given:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if not given:
        tasks.add(0, result, seconds)
    return result


def _timed(task: Callable[[_T], _R], placed: tuple[int, _T]) -> tuple[int, _R, float]:
    """Return the place, the result, and the time it took."""
    place, item = placed
    start = time.perf_counter()
    result = task(item)
    return place, result, time.perf_counter() - start


def _backend() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend(prefer="threads")[0]


def _here(
    work: _Work, backend: Any, task: Callable[[_T], _R], items: Sequence[_T], returned: str
) -> Iterable[_R]:
    """Return joblib's results, as a list unless they arrive one by one."""
    from joblib import Parallel, delayed

    parallel = Parallel(
        n_jobs=work.n_jobs,
        return_as=returned if backend.supports_return_generator else "list",
        **({"backend": "threading"} if is_cluster(backend) else {"prefer": "threads"}),
    )
    results: Iterable[_R] = parallel(delayed(work.group.call)(task, item) for item in items)
    return results


def _on_cluster(
    work: _Work, backend: Any, task: Callable[[_T], _R], items: Sequence[_T]
) -> Iterable[tuple[int, _R]]:
    """Iterate over places and results as they arrive."""
    cluster = None if work.n_jobs == 1 or len(items) < 2 else connect_cluster(backend)
    if cluster is None:
        return ((place, work.group.call(task, item)) for place, item in enumerate(items))
    results = run_tiles(cluster, task, items, work.n_jobs)
    work.group.stop_by(results.close)
    return results


def check_jobs(n_jobs: int | None) -> None:
    """Raise a ParameterError unless it is a nonzero integer or None."""
    if n_jobs is None:
        return
    if not is_integer(n_jobs) or n_jobs == 0:
        raise_out_of_range("n_jobs", n_jobs, "an integer of at least 1, -1 for all cores", none_ok=True)


def make_batches(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    """Divide the items into batches of `size`, one task each."""
    return [items[i : i + size] for i in range(0, len(items), size)]


# -- Threads that stand ready for many short tasks -----------------------------------------------------------


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


def _is_over(helping: Future[object]) -> bool:
    """Return True if a helper thread has ended; raise its error if there was one."""
    is_over = helping.cancel() or helping.done()
    if is_over and not helping.cancelled():
        helping.result()
    return is_over


def _all_of(task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    return [task(item) for item in items]


# -- Results that are kept as they come, so that work that stops can go on from there ------------------------


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
