"""Run independent tasks in threads, in other processes, or on a cluster."""

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

# Trees of small tables share a task: starting a task takes as long as growing such a tree.
ROWS_PER_TASK = 20_000
# On fewer rows, threads would mostly wait for the lock of the interpreter.
LEAST_SHARED = 20_000

_T = TypeVar("_T")
_R = TypeVar("_R")


def run_all(
    task: Callable[[_T], _R],
    items: Sequence[_T],
    n_jobs: int | None = None,
    *,
    progress: str = "",
    is_local: bool = False,
    cache_name: str = "",
) -> list[_R]:
    """Run the task on every item; return results in the order of the items.

    Kernels release the lock of the interpreter, so threads are the default; users choose another backend with
    `joblib.parallel_config`. A task must be a module-level function or a `partial` of one, since some
    backends send it to other processes; a cluster receives it once, and the items as needed. `n_jobs` None is
    one job, or the number in that config; -1 is all cores; 1 is this process, whatever the backend. A
    progress bar shows the text `progress`. An error or Ctrl-C stops running tasks. `is_local` runs short
    tasks on large items in threads, never on a cluster.

    Within `cache_results_in`, results are stored under `cache_name` as they arrive, and stored ones are not
    computed again. Lists of tasks within tasks are not stored.
    """
    check_jobs(n_jobs)
    if (group := current_group()) is not None:
        return _run_all(_Work(group, n_jobs, progress, is_local), task, items)
    store = current_store() if cache_name else None
    tasks = None if store is None else store.tasks(cache_name, task, items)
    group = TaskGroup()
    try:
        work = _Work(group, n_jobs, progress, is_local)
        return _run_all(work, task, items) if tasks is None else _run_cached(work, tasks, task, items)
    except BaseException:
        group.stop()
        raise


class _Work(NamedTuple):
    """How a list of tasks is run."""

    group: TaskGroup
    n_jobs: int | None
    progress: str
    is_local: bool

    def show(self, results: Iterable[_R], total: int) -> Iterable[_R]:
        """Pass results through, with a progress bar if requested."""
        return show_progress(results, self.progress, total) if self.progress else results


def _run_all(work: _Work, task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    backend = _backend()
    if is_cluster(backend) and not work.is_local:
        placed = dict(work.show(_run_on_cluster(work, backend, task, items), len(items)))
        return [placed[place] for place in range(len(items))]
    results = _run_here(work, backend, task, items, "generator" if work.progress else "list")
    return list(work.show(results, len(items)))


def _run_cached(work: _Work, tasks: CachedTasks, task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    """Run tasks without a stored result, and store results as they arrive."""
    results_by_place: dict[int, _R] = tasks.known()
    rest = [(place, item) for place, item in enumerate(items) if place not in results_by_place]
    backend, timed = _backend(), partial(_time_task, task)
    results: Iterable[tuple[int, _R, float]] = (
        (result for _, result in _run_on_cluster(work, backend, timed, rest))
        if is_cluster(backend) and not work.is_local
        else _run_here(work, backend, timed, rest, "generator_unordered")
    )
    try:
        for place, result, seconds in work.show(results, len(rest)):
            results_by_place[place] = result
            tasks.add(place, result, seconds)
    except BaseException:
        work.group.stop()
        if isinstance(results, Generator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # joblib's, about results that are not used
                results.close()
        raise
    return [results_by_place[place] for place in range(len(items))]


def run_cached(name: str, task: Callable[[_T], _R], item: _T) -> _R:
    """Run one long task, which may run lists of tasks, and store its result under the name.

    The result replaces those of its lists. It is not stored if there were warnings, which would be missing
    the next time.
    """
    store = current_store() if current_group() is None else None
    tasks = None if store is None else store.tasks(name, task, [item])
    if tasks is None:
        return task(item)
    known: dict[int, _R] = tasks.known()
    if known:
        return known[0]
    with tasks.replacing(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, result, seconds = _time_task(task, (0, item))
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if not caught:
        tasks.add(0, result, seconds)
    return result


def _time_task(task: Callable[[_T], _R], placed: tuple[int, _T]) -> tuple[int, _R, float]:
    """Return the place, the result, and the time it took."""
    place, item = placed
    start = time.perf_counter()
    result = task(item)
    return place, result, time.perf_counter() - start


def _backend() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend(prefer="threads")[0]


def _run_here(
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


def _run_on_cluster(
    work: _Work, backend: Any, task: Callable[[_T], _R], items: Sequence[_T]
) -> Iterable[tuple[int, _R]]:
    """Iterate over places and results as they arrive."""
    cluster = None if work.n_jobs == 1 or len(items) < 2 else connect_cluster(backend)
    if cluster is None:
        return ((place, work.group.call(task, item)) for place, item in enumerate(items))
    results = run_tiles(cluster, task, items, work.n_jobs)
    work.group.call_on_stop(results.close)
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


# -- Threads for many short tasks ----------------------------------------------------------------------------


class ThreadPool:
    """Waiting threads for short tasks, since starting a thread takes longer."""

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
        # The caller takes one part: waking another thread takes a tenth of a millisecond.
        own, *others = make_batches(items, -(-len(items) // self.size))
        waiting = [self._threads.submit(_run_loop, task, part) for part in others]
        results = _run_loop(task, own)
        for each in waiting:
            results += each.result()
        return results

    @contextmanager
    def run_with_helpers(self, help_out: Callable[[], object], end: Callable[[], None]) -> Iterator[None]:
        """Run `help_out` in all other threads while the caller works; `end` stops them.

        It does not wait for their end, which takes a tenth of a millisecond.
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


def _run_loop(task: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    return [task(item) for item in items]


# -- Stored results, so that interrupted work can be resumed -------------------------------------------------


class CachedTasks(Protocol):
    """One list of tasks with the stored results."""

    def known(self) -> dict[int, Any]:
        """Return the stored results by the positions of their items."""

    def add(self, place: int, result: Any, seconds: float) -> None:
        """Store the result and the time of the item at this position."""

    def replacing(self) -> AbstractContextManager[None]:
        """Within this context, results of other lists are stored until this list has its own."""


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
    """Within this context, results of lists of tasks are stored and reused."""
    token = _store.set(store)
    try:
        yield
    finally:
        _store.reset(token)
