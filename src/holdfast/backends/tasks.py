"""The one place that runs independent tasks: in threads, other processes, or on a cluster."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import TypeVar

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
) -> list[_R]:
    """The results of the task on every item, in the order of the items.

    Kernels release the lock of the interpreter, so threads are the default; the user picks another backend
    with `joblib.parallel_config`. A task is a function of a module, or a `partial` of one: some backends send
    it to other processes. `n_jobs` None is one job, or what that config says; -1 is all cores. A bar with the
    text of `progress` shows how far it is. After an error or Ctrl-C, tasks under way are stopped.
    """
    check_jobs(n_jobs)
    if (group := current_group()) is not None:
        return _run_all(group, task, items, n_jobs, progress)
    group = TaskGroup()
    try:
        return _run_all(group, task, items, n_jobs, progress)
    except BaseException:
        group.stop()
        raise


def _run_all(
    group: TaskGroup, task: Callable[[_T], _R], items: Sequence[_T], n_jobs: int | None, progress: str
) -> list[_R]:
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    # Not every backend can hand out results one by one, which only the bar needs.
    backend, _ = get_active_backend(prefer="threads")
    returned = "generator" if progress and backend.supports_return_generator else "list"
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as=returned)
    results: Iterable[_R] = parallel(delayed(group.call)(task, item) for item in items)
    return list(with_bar(results, progress, len(items)) if progress else results)


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
