"""What a worker does: some items of a task, one after the other, with the values that it keeps at hand."""

import os
import pickle
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from holdfast.arrays import ByteArray
from holdfast.backends.clusters.packing import unpack
from holdfast.backends.clusters.versions import compare_versions, list_versions
from holdfast.backends.interruption import TaskGroup
from holdfast.errors import ClusterError


class TileReply(NamedTuple):
    """The reply of a tile."""

    results: list[Any]
    seconds: float
    error: BaseException | None = None


def make_order(run: str, keys: Sequence[str], items: Sequence[Any]) -> bytes:
    """Make the order for a worker; the last key is the task."""
    import cloudpickle

    # Plain values outside, so that a worker with another version of holdfast can read as far as that.
    order: bytes = pickle.dumps((list_versions(), run, tuple(keys), cloudpickle.dumps(items)))
    return order


def run_tile(order: bytes, *blobs: ByteArray) -> bytes:
    """Run the task on all items of an order; return the pickled results, or the error.

    It runs in the thread that calls it, and so does all that the task would share among several jobs: the
    cluster has a task for every core.
    """
    import cloudpickle

    wanted, run, keys, pickled = pickle.loads(order)
    if found := compare_versions(wanted, list_versions()):
        return pickle.dumps(TileReply([], 0.0, ClusterError(_other_versions(found))))
    task, items = _loaded(keys, blobs), pickle.loads(pickled)
    reply = _replied(run, task, items)
    try:
        sent: bytes = cloudpickle.dumps(reply)
        return sent
    except Exception as error:  # of a class of the user's
        what = f"{type(error).__name__}: {error}"
        return pickle.dumps(
            TileReply([], 0.0, ClusterError(f"A worker cannot send what a task gave: {what}"))
        )


def _other_versions(found: str) -> str:
    where = f"process {os.getpid()} on {socket.gethostname()}"
    return (
        f"A worker ({where}) has {found}: results would not be the same everywhere. Install the same "
        "versions on all workers and here."
    )


def _replied(run: str, task: Any, items: Sequence[Any]) -> TileReply:
    from joblib import parallel_config

    results: list[Any] = []
    start = time.perf_counter()
    with _stoppable(run) as group, parallel_config(backend="sequential"):
        try:
            for item in items:
                if run in _stopped:
                    break
                results.append(group.call(task, item))
        except Exception as error:
            return TileReply([], time.perf_counter() - start, _with_story(error))
    return TileReply(results, time.perf_counter() - start)


def _with_story(error: Exception) -> Exception:
    """Attach the traceback, which is not pickled; a ClusterError if the error cannot be pickled."""
    import cloudpickle

    story = "".join(traceback.format_exception(error)).rstrip()
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        error = ClusterError(f"A task failed on a worker: {type(error).__name__}: {error}")
    error.add_note(f"On a worker of the cluster:\n\n{story}")
    return error.with_traceback(None)


# -- values that are kept between tiles -------------------------------------------------------------------

_lock = threading.Lock()
_at_hand: dict[str, Any] = {}


def _loaded(keys: Sequence[str], blobs: Sequence[ByteArray]) -> Any:
    """Load the value of the last key; values of this tile are cached for the next."""
    with _lock:
        known = {key: _at_hand[key] for key in keys if key in _at_hand}
        for key, blob in zip(keys, blobs, strict=True):
            if key not in known:
                known[key] = unpack(blob, known)
        _at_hand.clear()
        _at_hand.update(known)
        return known[keys[-1]]


# -- being stopped ----------------------------------------------------------------------------------------

_running: dict[str, set[TaskGroup]] = {}
_stopped: deque[str] = deque(maxlen=100)  # runs that nobody waits for any more


@contextmanager
def _stoppable(run: str) -> Iterator[TaskGroup]:
    group = TaskGroup()
    with _lock:
        _running.setdefault(run, set()).add(group)
    try:
        yield group
    except BaseException:
        group.stop()
        raise
    finally:
        with _lock:
            _running[run].discard(group)
            if not _running[run]:
                del _running[run]


def stop_run(run: str) -> None:
    """Stop the tasks of a run in this process, now and later."""
    _stopped.append(run)
    with _lock:
        groups = list(_running.get(run, ()))
    for group in groups:
        threading.Thread(target=group.stop, daemon=True).start()  # it waits a moment, and the worker must not


def running_tiles() -> int:
    """Count the tiles that this process is running."""
    return sum(map(len, _running.values()))
