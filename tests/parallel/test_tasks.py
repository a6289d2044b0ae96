"""Independent tasks: their results, their order, and what happens to the others when one fails."""

import threading
from typing import Any

import joblib
import pytest
from joblib.parallel import ThreadingBackend

from holdfast.errors import ParameterError
from holdfast.parallel.interruption import current_group
from holdfast.parallel.tasks import ThreadPool, check_jobs, make_batches, run_all


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_come_in_the_order_of_the_items(n_jobs: int | None) -> None:
    assert run_all(str, range(20), n_jobs) == [str(number) for number in range(20)]
    assert run_all(str, [], n_jobs) == []


def test_the_error_of_a_task_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        run_all(lambda number: 1 / number, [1, 0], 2)


def test_tasks_within_a_task_belong_to_the_same_group() -> None:
    """So that Ctrl-C stops them all."""

    def outer(_: int) -> list[Any]:
        return [current_group(), *run_all(lambda _: current_group(), [0])]

    groups = [group for part in run_all(outer, [0, 1], 2) for group in part]
    assert groups[0] is not None
    assert all(group is groups[0] for group in groups)
    assert current_group() is None


def test_threads_are_the_default() -> None:
    barrier = threading.Barrier(2, timeout=30)  # which only two threads of one process can pass
    assert sorted(run_all(lambda _: barrier.wait(), [0, 1], 2)) == [0, 1]


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "two"])
def test_what_is_no_number_of_jobs_raises_an_error(n_jobs: Any) -> None:
    with pytest.raises(ParameterError, match="n_jobs"):
        check_jobs(n_jobs)


def test_batches_hold_every_item_once_and_in_order() -> None:
    assert make_batches([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]


# -- thread pools --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("n_items", [0, 1, 2, 5, 7])
def test_results_of_a_pool_come_in_the_order_of_the_items(n_jobs: int, n_items: int) -> None:
    with ThreadPool(n_jobs) as pool:
        assert pool.run(str, range(n_items)) == [str(number) for number in range(n_items)]


def test_the_error_of_a_task_in_another_thread_is_raised() -> None:
    with ThreadPool(2) as pool, pytest.raises(ZeroDivisionError):
        pool.run(lambda number: 1 / number, [1, 0])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_all_other_threads_help_until_the_caller_has_finished(n_jobs: int) -> None:
    is_over, n_helped = threading.Event(), threading.Semaphore(0)

    def help_out() -> None:
        n_helped.release()
        assert is_over.wait(60)

    with ThreadPool(n_jobs) as pool:
        with pool.run_with_helpers(help_out, is_over.set):
            for _ in range(n_jobs - 1):
                assert n_helped.acquire(timeout=60)
        assert is_over.is_set()
        assert not n_helped.acquire(blocking=False)


def test_helpers_end_when_the_caller_fails() -> None:
    is_over = threading.Event()
    with (
        ThreadPool(2) as pool,
        pytest.raises(ZeroDivisionError),
        pool.run_with_helpers(is_over.wait, is_over.set),
    ):
        raise ZeroDivisionError
    assert is_over.is_set()


class ClusterBackend(ThreadingBackend):  # type: ignore[misc]  # joblib has no types
    """As those of Dask and Ray, it counts cores that are elsewhere."""

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        return 1000


@pytest.mark.parametrize("n_jobs", [None, -1])
def test_threads_are_no_more_than_the_cores_of_this_machine(n_jobs: int | None) -> None:
    joblib.register_parallel_backend("cluster", ClusterBackend)
    with joblib.parallel_config(backend="cluster"), ThreadPool(n_jobs) as pool:
        assert pool.size <= joblib.cpu_count()
