"""The one place that runs independent tasks: in threads, other processes, or on a cluster."""

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from holdfast._check import is_integer, refuse
from holdfast.backends.clusters.active import connect_cluster, is_cluster
from holdfast.backends.clusters.tiles import run_tiles
from holdfast.backends.interruption import TaskGroup, current_group
from holdfast.backends.kept import CachedTasks, current_store
from holdfast.backends.progress import show_progress

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
        refuse("n_jobs", n_jobs, "an integer of at least 1, -1 for all cores", none_ok=True)


def make_batches(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    """Divide the items into batches of `size`, one task each."""
    return [items[i : i + size] for i in range(0, len(items), size)]
