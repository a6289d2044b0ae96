"""Independent tasks: their results, their order, and what happens to the others when one fails."""

import threading
from typing import Any

import pytest

from holdfast.errors import ParameterError
from holdfast.parallel.interruption import current_group
from holdfast.parallel.tasks import check_jobs, make_batches, run_all


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
