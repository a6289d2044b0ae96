"""Ctrl-C ends any work at once, kills nothing, and leaves the model as it was."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from faults.interrupts import CASES, watch_case
from holdfast import TreeClassifier
from holdfast._arrays import ByteArray
from holdfast.parallel.interruption import StoppedError, TaskGroup, call_kernel, current_group, stop_flag

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of POSIX systems")


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("small tree", "stable")])
def test_work_ends_with_keyboard_interrupt_and_can_be_done_again(case: str) -> None:
    assert watch_case(case, number=1, seed=1) == []


def test_an_interrupted_fit_leaves_the_estimator_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    before = dict(vars(model))

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.growth.grow.call_kernel", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit([[1.0, 2.0], [2.0, 3.0], [3.0, 3.0]], ["a", "b", "c"])
    assert vars(model) == before
    assert model.predict([[1.0]]).tolist() == ["no"]


def test_a_fit_that_fails_leaves_an_unfitted_estimator_unfitted() -> None:
    model = TreeClassifier(max_depth=-1)
    with pytest.raises(ValueError, match="max_depth"):
        model.fit([[1.0], [2.0]], ["no", "yes"])
    assert not hasattr(model, "tree_")
    assert not hasattr(model, "n_features_in_")


def wait_for(stop: ByteArray, began: threading.Event) -> None:
    """Stands for a kernel that would never end by itself."""
    began.set()
    while not stop[0]:
        time.sleep(0.001)


def test_a_long_kernel_stops_when_its_caller_is_interrupted() -> None:
    began, timer = threading.Event(), threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), stop_flag() as stop:
        call_kernel(wait_for, stop, began, stop=stop, n_steps=1e12)
    assert began.is_set()
    assert stop[0] == 1


def test_the_tasks_of_a_group_stop_together_and_their_results_are_not_used() -> None:
    group, ended = TaskGroup(), []

    def task(began: threading.Event) -> None:
        assert current_group() is group
        with stop_flag() as stop:
            wait_for(stop, began)
        ended.append("with a result")

    def work(began: threading.Event) -> None:
        with pytest.raises(StoppedError):
            group.call(task, began)
        ended.append("stopped")

    began = [threading.Event() for _ in range(3)]
    threads = [threading.Thread(target=work, args=(each,)) for each in began]
    for thread, each in zip(threads, began, strict=True):
        thread.start()
        each.wait()
    group.stop()
    for thread in threads:
        thread.join()
    assert ended == ["stopped"] * 3
    assert current_group() is None


def test_a_flag_of_a_stopped_group_is_raised_from_the_start() -> None:
    group = TaskGroup()
    group.stop()
    with pytest.raises(StoppedError), group.flag() as stop:
        assert np.array_equal(stop, [1])
