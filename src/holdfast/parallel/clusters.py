"""Run tasks on a cluster of dask.distributed or Ray."""

from __future__ import annotations

import io
import os
import pickle
import platform
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import ceil
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np

from holdfast._arrays import ByteArray
from holdfast._version import __version__, install_command
from holdfast.errors import ClusterError
from holdfast.parallel.interruption import TaskGroup

# The module and class for each joblib backend.
_KINDS = {
    "DaskDistributedBackend": ("holdfast.parallel.dask_cluster", "DaskCluster"),
    "RayBackend": ("holdfast.parallel.ray_cluster", "RayCluster"),
}
RAY = "ray"
PATIENCE = 10.0  # seconds until a scheduler has answered


def is_cluster(backend: Any) -> bool:
    """Return True if tasks of this joblib backend go to a cluster."""
    return type(backend).__name__ in _KINDS


def connect_cluster(backend: Any) -> Cluster | None:
    """Open a run on the cluster of the backend; None within one of its workers."""
    module, name = _KINDS[type(backend).__name__]
    kind = import_module(module)
    return None if kind.is_within() else getattr(kind, name)(backend)


@contextmanager
def use_cluster(address: str) -> Iterator[None]:
    """Run everything that has `n_jobs` on a cluster; one core of this process drives it.

    Results have the same bits as without a cluster. `n_jobs=1` stays in this process.

    Parameters
    ----------
    address : str
        That of a scheduler of dask.distributed, such as "tcp://10.0.0.5:8786"; or "ray" for the cluster that
        RAY_ADDRESS names or that runs on this machine; or "ray://10.0.0.5:10001".

    Examples
    --------
    >>> with use_cluster("tcp://10.0.0.5:8786"):  # doctest: +SKIP
    ...     model = StableTreeClassifier().fit(X, y)
    """
    with _connect_ray(address) if address.split(":")[0] == RAY else _connect_dask(address):
        yield


@contextmanager
def _connect_dask(address: str) -> Iterator[None]:
    from joblib import parallel_config

    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(_explain_missing_package(address, "dask")) from error
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No scheduler of dask.distributed answers at {address!r} ({type(error).__name__}: {error}): an "
            "address looks like tcp://10.0.0.5:8786, and dask scheduler starts one."
        ) from error
    with client, parallel_config(backend="dask"):
        yield


@contextmanager
def _connect_ray(address: str) -> Iterator[None]:
    from joblib import parallel_config

    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise ClusterError(_explain_missing_package(address, "ray")) from error
    was_there = ray.is_initialized()
    if not was_there:
        try:
            ray.init(address=None if address == RAY else address, log_to_driver=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise ClusterError(
                f"No cluster of Ray answers at {address!r} ({type(error).__name__}: {error}): ray start "
                "--head starts one."
            ) from error
    register_ray()
    try:
        with parallel_config(backend=RAY):
            yield
    finally:
        if not was_there:
            ray.shutdown()


def _explain_missing_package(address: str, extra: str) -> str:
    return f"The cluster {address!r} needs packages that are not there: {install_command(extra)}."


# -- The interface of a cluster, and the values sent to it ---------------------------------------------------


class LostError(Exception):
    """The cluster lost a tile or its inputs; it has to be sent again."""


class Cluster(Protocol):
    """A run on a cluster."""

    sent: SentValues

    def n_slots(self) -> int:
        """Number of tiles that can run at the same time."""
        ...

    def put(self, blob: ByteArray) -> Any:
        """Send bytes to the cluster, once for all workers; return their handle."""
        ...

    def submit(self, order: bytes, handles: list[Any]) -> Hashable:
        """Submit `run_tile` with an order and handles; return a future."""
        ...

    def next_done(self) -> Hashable:
        """Wait for any of the futures."""
        ...

    def reply(self, future: Any) -> bytes:
        """Return the reply of a finished future, or raise a LostError or ClusterError."""
        ...

    def stop(self, run: str, futures: list[Any]) -> None:
        """Cancel these futures of the run."""
        ...


class SentPart(NamedTuple):
    """A value on the cluster."""

    key: str
    handle: Any
    n_bytes: int
    contained: tuple[SentPart, ...]  # shared values within it
    state: frozenset[str]  # names of its attributes when it was sent

    def list_handles(self) -> dict[str, Any]:
        """List the handles of all parts by key, contained ones first."""
        handles: dict[str, Any] = {}
        for part in self.contained:
            handles |= part.list_handles()
        return handles | {self.key: self.handle}


@dataclass(eq=False)
class SentValues:
    """Values on a cluster, for as long as they live in this process."""

    parts: WeakKeyDictionary[Any, dict[str, SentPart]] = field(default_factory=WeakKeyDictionary)
    n_bytes: int = 0  # in all so far
    times_lost: int = 0

    def part(self, value: Any, put: Callable[[ByteArray], Any]) -> SentPart:
        """Return the part of a value; send it unless it was sent unchanged before.

        Methods are identified by the object they are bound to, since every access makes a new method.
        """
        owner, name = getattr(value, "__self__", value), getattr(value, "__name__", "")
        state = frozenset(getattr(owner, "__dict__", ()))
        try:
            known = self.parts.setdefault(owner, {})
        except TypeError:  # without weak references or a hash, it is sent every time
            known = {}
        if name not in known or known[name].state != state:
            known[name] = self._send(value, put, state)
        return known[name]

    def _send(self, value: Any, put: Callable[[ByteArray], Any], state: frozenset[str]) -> SentPart:
        contained: dict[str, SentPart] = {}

        def key_of(shared: Shared) -> str:
            part = self.part(shared, put)
            contained[part.key] = part
            return part.key

        blob = pack(value, key_of)
        self.n_bytes += blob.nbytes
        return SentPart(uuid4().hex, put(blob), blob.nbytes, tuple(contained.values()), state)

    def forget(self) -> None:
        """Forget all parts, so that they are sent again."""
        self.parts.clear()
        self.times_lost += 1


# -- Values as plain bytes and back --------------------------------------------------------------------------

ALIGNMENT = 64  # bytes, for fast access by compiled loops

_local = threading.local()


def pack(value: Any, key_of: Callable[[Shared], str]) -> ByteArray:
    """Pickle a value to one array of bytes, with keys in place of shared values.

    It starts with the number of pieces and their sizes, followed by the pieces: a pickle and its arrays.
    Functions and classes of a notebook are sent by value.
    """
    stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    try:
        pickler = _pickler()(stream, protocol=5, buffer_callback=buffers.append)
        pickler.whole, pickler.key_of = value, key_of
        pickler.dump(value)
    except ClusterError:
        raise
    except Exception as error:  # raised by a user-defined class
        raise ClusterError(
            f"The work cannot be sent to a cluster: {type(error).__name__}: {error}. Models and metrics must "
            "be picklable."
        ) from error
    return _join_pieces([stream.getbuffer(), *(buffer.raw() for buffer in buffers)])


@cache
def _pickler() -> Any:
    from cloudpickle import CloudPickler

    class Pickler(CloudPickler):  # type: ignore[misc]  # cloudpickle has no types
        """Writes a key for a shared value, unless it is the whole."""

        whole: Any
        key_of: Callable[[Shared], str]

        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Shared) and value is not self.whole:
                return get_shared_value, (self.key_of(value),)
            return super().reducer_override(value)

    return Pickler


def unpack(blob: ByteArray, parts: Mapping[str, Any]) -> Any:
    """Restore a value from bytes with the shared values of these keys; arrays are views."""
    pickled, *buffers = _split_pieces(blob)
    _local.parts = parts
    try:
        return pickle.loads(pickled, buffers=buffers)
    finally:
        del _local.parts


def get_shared_value(key: str) -> Any:
    """Return the shared value of the key while a value that contains it is unpacked."""
    return _local.parts[key]


def _join_pieces(pieces: list[memoryview]) -> ByteArray:
    head = np.array([len(pieces), *(piece.nbytes for piece in pieces)], np.int64)
    starts = _find_starts(head)
    blob = np.zeros(starts[-1], np.uint8)
    blob[: head.nbytes] = head.view(np.uint8)
    for start, piece in zip(starts, pieces, strict=False):
        blob[start : start + piece.nbytes] = np.frombuffer(piece, np.uint8)
    return blob


def _split_pieces(blob: ByteArray) -> list[memoryview]:
    whole = np.ascontiguousarray(blob).view(np.uint8)
    n_pieces = int(whole[:8].view(np.int64)[0])
    head = whole[: 8 * (n_pieces + 1)].view(np.int64)
    readable = memoryview(whole.data).toreadonly()
    return [
        readable[start : start + size]
        for start, size in zip(_find_starts(head), head[1:].tolist(), strict=False)
    ]


def _find_starts(head: Any) -> list[int]:
    """Return the start of each piece, and the end of the last."""
    starts = [-(-head.nbytes // ALIGNMENT) * ALIGNMENT]
    for size in head[1:].tolist():
        starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
    return starts


# -- Versions, which must be equal for equal results ---------------------------------------------------------

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def list_versions() -> dict[str, str]:
    """List the versions of everything that results depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, "holdfast": __version__} | {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def compare_versions(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """Describe differences between versions; empty if there are none.

    >>> compare_versions({"python": "3.11", "numpy": "2.1.0"}, {"python": "3.11", "numpy": "2.2.0"})
    'numpy 2.2.0, not 2.1.0'
    """
    return ", ".join(
        f"{name} {ours.get(name, 'none')}, not {wanted}"
        for name, wanted in theirs.items()
        if ours.get(name, "none") != wanted
    )


# -- On a worker ---------------------------------------------------------------------------------------------


class TileReply(NamedTuple):
    """The reply of a tile."""

    results: list[Any]
    seconds: float
    error: BaseException | None = None


def make_order(run: str, keys: Sequence[str], items: Sequence[Any]) -> bytes:
    """Make the order for a worker; the last key is the task."""
    import cloudpickle

    # Plain values come first, readable by a worker with another version of holdfast.
    order: bytes = pickle.dumps((list_versions(), run, tuple(keys), cloudpickle.dumps(items)))
    return order


def run_tile(order: bytes, *blobs: ByteArray) -> bytes:
    """Run the task on all items of an order; return the pickled results, or the error.

    Nested parallel work runs sequentially, since the cluster has a task for every core.
    """
    import cloudpickle

    wanted, run, keys, pickled = pickle.loads(order)
    if differences := compare_versions(wanted, list_versions()):
        error = ClusterError(
            f"A worker (process {os.getpid()} on {socket.gethostname()}) has {differences}, so that results "
            "would differ. Install the same versions on all workers and here."
        )
        return pickle.dumps(TileReply([], 0.0, error))
    reply = _run_items(run, _load(keys, blobs), pickle.loads(pickled))
    try:
        sent: bytes = cloudpickle.dumps(reply)
        return sent
    except Exception as error:  # raised by a user-defined class
        what = f"{type(error).__name__}: {error}"
        return pickle.dumps(
            TileReply([], 0.0, ClusterError(f"A worker cannot send the result of a task: {what}"))
        )


def _run_items(run: str, task: Any, items: Sequence[Any]) -> TileReply:
    from joblib import parallel_config

    results: list[Any] = []
    start = time.perf_counter()
    with _register_run(run) as group, parallel_config(backend="sequential"):
        try:
            for item in items:
                if run in _stopped:
                    break
                results.append(group.call(task, item))
        except Exception as error:
            return TileReply([], time.perf_counter() - start, _add_traceback(error))
    return TileReply(results, time.perf_counter() - start)


def _add_traceback(error: Exception) -> Exception:
    """Attach the traceback, which is not pickled; a ClusterError if the error cannot be pickled."""
    import cloudpickle

    text = "".join(traceback.format_exception(error)).rstrip()
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        error = ClusterError(f"A task failed on a worker: {type(error).__name__}: {error}")
    error.add_note(f"On a worker of the cluster:\n\n{text}")
    return error.with_traceback(None)


# -- values cached between tiles -----------------------------------------------------------------------------

_lock = threading.Lock()
_cached: dict[str, Any] = {}


def _load(keys: Sequence[str], blobs: Sequence[ByteArray]) -> Any:
    """Load the value of the last key; the values are cached for the next tile."""
    with _lock:
        known = {key: _cached[key] for key in keys if key in _cached}
        for key, blob in zip(keys, blobs, strict=True):
            if key not in known:
                known[key] = unpack(blob, known)
        _cached.clear()
        _cached.update(known)
        return known[keys[-1]]


# -- stopping ------------------------------------------------------------------------------------------------

_running: dict[str, set[TaskGroup]] = {}
_stopped: deque[str] = deque(maxlen=100)  # cancelled runs


@contextmanager
def _register_run(run: str) -> Iterator[TaskGroup]:
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
        threading.Thread(target=group.stop, daemon=True).start()  # it waits, and the worker must not


# -- In the calling process ----------------------------------------------------------------------------------

TILE_SECONDS = 0.05  # minimum duration of a tile: sending one takes some milliseconds
SECONDS_A_SLOT = 0.002  # minimum duration per slot, so that this process keeps up with all of them
AHEAD = 2  # tiles sent ahead per slot, so that no worker waits
MOST_LOSSES = 3  # in a row, before the cluster counts as lost

_T = TypeVar("_T")
_R = TypeVar("_R")


def run_tiles(
    cluster: Cluster, task: Callable[[_T], _R], items: Sequence[_T], n_jobs: int | None
) -> Generator[tuple[int, _R], None, None]:
    """Iterate over places and results as they arrive.

    The task and shared values are sent once. Items are sent in tiles, whose length depends on the time the
    last ones took. A tile that is lost with a worker is sent again.
    """
    run, n_slots = uuid4().hex, n_jobs if n_jobs is not None and n_jobs > 0 else cluster.n_slots()
    waiting, under_way, size, losses = deque(range(len(items))), dict[Hashable, tuple[list[int], int]](), 1, 0
    try:
        while waiting or under_way:
            while waiting and len(under_way) < AHEAD * n_slots:
                places = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                future = _submit(cluster, run, task, [items[place] for place in places])
                under_way[future] = places, cluster.sent.times_lost
            future = cluster.next_done()
            places, times_lost = under_way.pop(future)
            try:
                reply = _get_reply(cluster, future)
            except LostError as error:
                waiting.extendleft(reversed(places))
                if times_lost == cluster.sent.times_lost:  # else all has been sent again already
                    losses += 1
                    if losses > MOST_LOSSES:
                        raise ClusterError(
                            f"The cluster lost its input {losses} times in a row: its workers die at once "
                            f"({error})."
                        ) from error
                    cluster.sent.forget()
                continue
            losses, size = 0, _choose_tile_size(reply.seconds / len(places), len(waiting), n_slots)
            yield from zip(places, reply.results, strict=True)
    finally:
        if under_way:
            cluster.stop(run, list(under_way))


def _submit(cluster: Cluster, run: str, task: Any, items: Sequence[Any]) -> Hashable:
    parts = cluster.sent.part(task, cluster.put).list_handles()
    return cluster.submit(make_order(run, list(parts), items), list(parts.values()))


def _get_reply(cluster: Cluster, future: Any) -> TileReply:
    """Return the reply of a tile; raise the error of its task."""
    reply: TileReply = pickle.loads(cluster.reply(future))
    if reply.error is not None:
        raise reply.error
    return reply


def _choose_tile_size(seconds: float, n_waiting: int, n_slots: int) -> int:
    """Choose the number of items of the next tile: worth its cost, but no worker runs idle.

    >>> _choose_tile_size(0.01, 1000, 2), _choose_tile_size(0.01, 1000, 100), _choose_tile_size(3.0, 1000, 2)
    (5, 5, 1)
    >>> _choose_tile_size(0.01, 100_000, 100)
    20
    """
    seconds = max(seconds, 1e-6)
    least, wanted = ceil(TILE_SECONDS / seconds), ceil(SECONDS_A_SLOT * n_slots / seconds)
    return max(least, min(wanted, n_waiting // (AHEAD * n_slots)))


# -- Shared values -------------------------------------------------------------------------------------------


class Shared:
    """Base of immutable values that many tasks need; a cluster receives each once."""

    __slots__ = ()
