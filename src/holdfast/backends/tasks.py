"""The one place that runs independent tasks: in threads, other processes, or on a cluster."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any, TypeVar

from holdfast.backends.clusters.active import cluster_of, is_cluster
from holdfast.backends.clusters.tiles import run_tiles
from holdfast.backends.interruption import TaskGroup, current_group
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
    stays: bool = False,
) -> list[_R]:
    """The results of the task on every item, in the order of the items.

    Kernels release the lock of the interpreter, so threads are the default; the user picks another backend
    with `joblib.parallel_config`. A task is a function of a module, or a `partial` of one: some backends send
    it to other processes, and a cluster is sent it once, and the items as they are needed. `n_jobs` None is
    one job, or what that config says; -1 is all cores; 1 is this process, whatever the backend. A bar with
    the text of `progress` shows how far it is. After an error or Ctrl-C, tasks under way are stopped. Where
    the items themselves are large and the work is short, `stays` keeps it from a cluster, in threads.
    """
    check_jobs(n_jobs)
    if (group := current_group()) is not None:
        return _run_all(group, task, items, n_jobs, progress, stays)
    group = TaskGroup()
    try:
        return _run_all(group, task, items, n_jobs, progress, stays)
    except BaseException:
        group.stop()
        raise


def _run_all(
    group: TaskGroup,
    task: Callable[[_T], _R],
    items: Sequence[_T],
    n_jobs: int | None,
    progress: str,
    stays: bool,
) -> list[_R]:
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    on_cluster = is_cluster(backend)
    if on_cluster and not stays:
        return _run_on_cluster(group, backend, task, items, n_jobs, progress)
    # Not every backend can hand out results one by one, which only the bar needs.
    returned = "generator" if progress and backend.supports_return_generator else "list"
    here = {"backend": "threading"} if on_cluster else {"prefer": "threads"}
    parallel = Parallel(n_jobs=n_jobs, return_as=returned, **here)
    results: Iterable[_R] = parallel(delayed(group.call)(task, item) for item in items)
    return list(with_bar(results, progress, len(items)) if progress else results)


def _run_on_cluster(
    group: TaskGroup,
    backend: Any,
    task: Callable[[_T], _R],
    items: Sequence[_T],
    n_jobs: int | None,
    progress: str,
) -> list[_R]:
    cluster = None if n_jobs == 1 or len(items) < 2 else cluster_of(backend)
    found: Iterable[tuple[int, _R]] = (
        ((place, group.call(task, item)) for place, item in enumerate(items))
        if cluster is None
        else run_tiles(cluster, task, items, n_jobs)
    )
    results = dict(with_bar(found, progress, len(items)) if progress else found)
    return [results[place] for place in range(len(items))]


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
