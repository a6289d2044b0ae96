"""The one place that runs independent tasks: in threads, other processes, or on a cluster."""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, TypeVar

from holdfast.backends.interruption import TaskGroup, current_group
from holdfast.backends.kept import KeptTasks, current_store
from holdfast.backends.progress import with_bar
from holdfast.errors import ParameterError

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
    kept: str = "",
) -> list[_R]:
    """The results of the task on every item, in the order of the items.

    Kernels release the lock of the interpreter, so threads are the default; the user picks another backend
    with `joblib.parallel_config`. A task is a function of a module, or a `partial` of one: some backends send
    it to other processes. `n_jobs` None is one job, or what that config says; -1 is all cores. A bar with the
    text of `progress` shows how far it is. After an error or Ctrl-C, tasks under way are stopped.

    A list that takes long has a name for `kept`: in work that can be resumed its results are kept under it as
    they come, and those that are there are not computed again. Lists within tasks are not kept.
    """
    check_jobs(n_jobs)
    if (group := current_group()) is not None:
        return _run_all(group, task, items, n_jobs, progress)
    store = current_store() if kept else None
    tasks = None if store is None else store.tasks(kept, task, items)
    group = TaskGroup()
    try:
        if tasks is not None:
            return _run_kept(group, tasks, task, items, n_jobs, progress)
        return _run_all(group, task, items, n_jobs, progress)
    except BaseException:
        group.stop()
        raise


def _run_all(
    group: TaskGroup, task: Callable[[_T], _R], items: Sequence[_T], n_jobs: int | None, progress: str
) -> list[_R]:
    results = _results(group, task, items, n_jobs, "generator" if progress else "list")
    return list(with_bar(results, progress, len(items)) if progress else results)


def _run_kept(
    group: TaskGroup,
    tasks: KeptTasks,
    task: Callable[[_T], _R],
    items: Sequence[_T],
    n_jobs: int | None,
    progress: str,
) -> list[_R]:
    """The same, where results that are there are taken, and others kept as soon as they come."""
    found: dict[int, _R] = tasks.known()
    rest = [(place, item) for place, item in enumerate(items) if place not in found]
    results = _results(group, partial(_timed, task), rest, n_jobs, "generator_unordered")
    if progress:
        results = with_bar(results, progress, len(rest))
    for place, result, seconds in results:
        found[place] = result
        tasks.add(place, result, seconds)
    return [found[place] for place in range(len(items))]


def _timed(task: Callable[[_T], _R], placed: tuple[int, _T]) -> tuple[int, _R, float]:
    place, item = placed
    start = time.perf_counter()
    result = task(item)
    return place, result, time.perf_counter() - start


def _results(
    group: TaskGroup, task: Callable[[Any], _R], items: Sequence[Any], n_jobs: int | None, returned: str
) -> Iterable[_R]:
    """The results, `returned` as joblib calls it, or as a list: not every backend hands them out singly."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    parallel = Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        return_as=returned if backend.supports_return_generator else "list",
    )
    results: Iterable[_R] = parallel(delayed(group.call)(task, item) for item in items)
    return results


def check_jobs(n_jobs: int | None) -> None:
    """Raise a ParameterError unless it is a number of jobs: an integer other than 0, or None."""
    if n_jobs is None:
        return
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ParameterError(
            f"n_jobs={n_jobs!r} is out of range: it must be an integer of at least 1, -1 for all cores, "
            "or None."
        )


def batches(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    """The items, `size` at a time: one task each, where a single item is too small a task."""
    return [items[i : i + size] for i in range(0, len(items), size)]
