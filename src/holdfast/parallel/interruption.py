"""Ctrl-C while compiled code runs: the work stops, and KeyboardInterrupt is raised at once.

Python handles signals in the main thread only, between two of its own instructions. A kernel in the main
thread would delay them, so long kernels run in another thread while the main thread waits. Every long kernel
checks a flag and ends when it is raised; the flags of one group of tasks are raised together.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from holdfast._arrays import ByteArray

GRACE = 1.0  # seconds that interrupted work has to end
POLL = 0.2  # seconds; some systems do not wake a waiting thread for a signal
SHORT = 2_000_000  # steps of a kernel, a few ns each, for which no thread is started


class StoppedError(Exception):
    """Raised in the threads of a group that was stopped."""


class TaskGroup:
    """Tasks in any threads that are stopped together."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._flags: dict[int, ByteArray] = {}
        self._n_tasks = 0
        self._is_stopped = False
        self._callbacks: list[Callable[[], None]] = []  # stop tasks that check no flag

    def __reduce__(self) -> tuple[type["TaskGroup"], tuple[()]]:
        return TaskGroup, ()  # another process has its own threads to stop

    def call(self, task: Callable[[Any], Any], item: Any) -> Any:
        """Run the task on the item; kernels in it stop with the group."""
        before = current_group()
        with self._changed:
            self._n_tasks += 1
        _local.group = self
        try:
            return task(item)
        finally:
            _local.group = before
            with self._changed:
                self._n_tasks -= 1
                self._changed.notify_all()

    def call_on_stop(self, call: Callable[[], None]) -> None:
        """Register a function to call on stop, for tasks that check no flag."""
        self._callbacks.append(call)

    def stop(self) -> None:
        """Raise all flags, and wait briefly for the tasks to end."""
        for call in self._callbacks:
            call()
        with self._changed:
            self._is_stopped = True
            for flag in self._flags.values():
                flag.fill(1)
            self._changed.wait_for(lambda: self._n_tasks == 0, GRACE)

    @contextmanager
    def flag(self) -> Iterator[ByteArray]:
        """Make the flag of one kernel; results after it was raised are invalid."""
        raised = np.zeros(1, np.uint8)
        with self._changed:
            self._flags[id(raised)] = raised
            raised.fill(self._is_stopped)
        try:
            yield raised
        except BaseException:
            raised.fill(1)
            raise
        finally:
            with self._changed:
                del self._flags[id(raised)]
        if self._is_stopped:
            raise StoppedError


_local = threading.local()


def current_group() -> TaskGroup | None:
    """Return the task group of this thread."""
    return getattr(_local, "group", None)


@contextmanager
def stop_flag() -> Iterator[ByteArray]:
    """Make a flag for a kernel, raised when this thread's work is interrupted."""
    with (current_group() or TaskGroup()).flag() as raised:
        yield raised


def call_kernel(kernel: Callable[..., Any], *args: Any, stop: ByteArray, n_steps: float) -> None:
    """Call a kernel that observes the flag `stop`, in a thread if it is long, so that Ctrl-C works."""
    if n_steps <= SHORT or not is_main_thread():
        kernel(*args)
    else:
        call_in_thread(kernel, args, stop)


def is_main_thread() -> bool:
    """Return True in the thread that receives signals."""
    return threading.current_thread() is threading.main_thread()


def call_in_thread(function: Callable[..., Any], args: tuple[Any, ...], stop: ByteArray | None = None) -> Any:
    """Call the function in another thread and return its result.

    If the wait is interrupted, the flag is raised and the function has a moment to end; without a flag it
    continues.
    """
    results: list[Any] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            results.append(function(*args))
        except BaseException as error:  # handed to the caller
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="holdfast kernel", daemon=True).start()
        while not done.wait(POLL):
            pass
    except BaseException:
        if stop is not None:
            stop.fill(1)
            done.wait(GRACE)
        raise
    if errors:
        raise errors[0]
    return results[0]
