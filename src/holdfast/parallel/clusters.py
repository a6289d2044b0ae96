"""Which cluster joblib's config asks for, and a config for an address."""

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

# What joblib calls the backend, and where its kind of cluster lives.
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
    """Run everything with `n_jobs` on a cluster; one core of this process drives it.

    The address is that of a scheduler of dask.distributed, such as "tcp://10.0.0.5:8786"; or "ray", for the
    cluster that RAY_ADDRESS names or that runs on this machine; or "ray://10.0.0.5:10001". Results have the
    same bits as here. `n_jobs=1` stays in this process.
    """
    with _ray(address) if address.split(":")[0] == RAY else _dask(address):
        yield


@contextmanager
def _dask(address: str) -> Iterator[None]:
    from joblib import parallel_config

    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(_not_installed(address, "dask")) from error
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
def _ray(address: str) -> Iterator[None]:
    from joblib import parallel_config

    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise ClusterError(_not_installed(address, "ray")) from error
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


def _not_installed(address: str, extra: str) -> str:
    return f"The cluster {address!r} needs packages that are not there: {install_command(extra)}."


# -- What a cluster has to offer, whatever its kind, and what of ours lies on it -----------------------------


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
        """Return the reply of a finished future; a LostError or ClusterError if there is none."""
        ...

    def stop(self, run: str, futures: list[Any]) -> None:
        """Cancel these futures of the run."""
        ...


class Part(NamedTuple):
    """A value on the cluster, after the values that it contains."""

    key: str
    handle: Any
    n_bytes: int
    holds: tuple[Part, ...]
    state: frozenset[str]  # what had been worked out of the value when it was sent

    def flat(self) -> dict[str, Any]:
        """Handles of all parts by key, in order of dependence."""
        return {key: handle for part in self.holds for key, handle in part.flat().items()} | {
            self.key: self.handle
        }


@dataclass(eq=False)
class SentValues:
    """Values on a cluster, for as long as they live in this process."""

    parts: WeakKeyDictionary[Any, dict[str, Part]] = field(default_factory=WeakKeyDictionary)
    n_bytes: int = 0  # in all so far
    times_lost: int = 0

    def part(self, value: Any, put: Callable[[ByteArray], Any]) -> Part:
        """Return the part of a value; send it unless it was sent unchanged before.

        Methods are known by the value that they are bound to: each look at one is a new object.
        """
        owner, name = getattr(value, "__self__", value), getattr(value, "__name__", "")
        state = frozenset(getattr(owner, "__dict__", ()))
        known = self._known(owner)
        if name not in known or known[name].state != state:
            known[name] = self._sent(value, put, state)
        return known[name]

    def _known(self, owner: Any) -> dict[str, Part]:
        try:
            return self.parts.setdefault(owner, {})
        except TypeError:  # no weak references to it, or no hash: it is sent every time
            return {}

    def _sent(self, value: Any, put: Callable[[ByteArray], Any], state: frozenset[str]) -> Part:
        holds: dict[str, Part] = {}

        def key_of(shared: Shared) -> str:
            part = self.part(shared, put)
            holds[part.key] = part
            return part.key

        blob = pack(value, key_of)
        self.n_bytes += blob.nbytes
        return Part(uuid4().hex, put(blob), blob.nbytes, tuple(holds.values()), state)

    def forget(self) -> None:
        """Forget all parts, so that they are sent again."""
        self.parts.clear()
        self.times_lost += 1


# -- Values as plain bytes and back --------------------------------------------------------------------------

ALIGNMENT = 64  # bytes: compiled loops want arrays to begin where the processor likes them to

_local = threading.local()


def pack(value: Any, key_of: Callable[[Shared], str]) -> ByteArray:
    """Pickle a value to one array of bytes, with keys in place of shared values.

    First come the number of pieces and their sizes, then the pieces: a pickle, and the arrays that it speaks
    of. Functions and classes of a notebook are sent with their source.
    """
    stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    try:
        pickler = _pickler()(stream, protocol=5, buffer_callback=buffers.append)
        pickler.whole, pickler.key_of = value, key_of
        pickler.dump(value)
    except ClusterError:
        raise
    except Exception as error:  # whatever a class of the user's raises
        raise ClusterError(
            f"The work cannot be sent to a cluster: {type(error).__name__}: {error}. All that models and "
            "metrics hold must be such that pickle can write it."
        ) from error
    return _joined([stream.getbuffer(), *(buffer.raw() for buffer in buffers)])


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
    pickled, *buffers = _pieces(blob)
    with _parts_at_hand(parts):
        return pickle.loads(pickled, buffers=buffers)


def get_shared_value(key: str) -> Any:
    """Return the shared value of the key while a value that contains it is unpacked."""
    return _local.parts[key]


@contextmanager
def _parts_at_hand(parts: Mapping[str, Any]) -> Iterator[None]:
    _local.parts = parts
    try:
        yield
    finally:
        del _local.parts


def _joined(pieces: list[memoryview]) -> ByteArray:
    head = np.array([len(pieces), *(piece.nbytes for piece in pieces)], np.int64)
    starts = _starts(head)
    blob = np.zeros(starts[-1], np.uint8)
    blob[: head.nbytes] = head.view(np.uint8)
    for start, piece in zip(starts, pieces, strict=False):
        blob[start : start + piece.nbytes] = np.frombuffer(piece, np.uint8)
    return blob


def _pieces(blob: ByteArray) -> list[memoryview]:
    whole = np.ascontiguousarray(blob).view(np.uint8)
    n_pieces = int(whole[:8].view(np.int64)[0])
    head = whole[: 8 * (n_pieces + 1)].view(np.int64)
    readable = memoryview(whole.data).toreadonly()
    return [
        readable[start : start + size] for start, size in zip(_starts(head), head[1:].tolist(), strict=False)
    ]


def _starts(head: Any) -> list[int]:
    """Return where each piece begins, and where all end."""
    starts = [-(-head.nbytes // ALIGNMENT) * ALIGNMENT]
    for size in head[1:].tolist():
        starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
    return starts


# -- What has to be the same everywhere for results to be the same to the last bit ---------------------------

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


# -- What a worker does --------------------------------------------------------------------------------------


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


# -- values that are kept between tiles ----------------------------------------------------------------------

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


# -- being stopped -------------------------------------------------------------------------------------------

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


# -- The process that calls ----------------------------------------------------------------------------------

TILE_SECONDS = 0.05  # the least that a tile should take: sending one costs some milliseconds
SECONDS_A_SLOT = 0.002  # of work in a tile for every slot, so that this process keeps up with all of them
AHEAD = 2  # tiles per slot that are on their way, so that no worker waits for the next
MOST_LOSSES = 3  # in a row, before the cluster counts as lost

_T = TypeVar("_T")
_R = TypeVar("_R")


def run_tiles(
    cluster: Cluster, task: Callable[[_T], _R], items: Sequence[_T], n_jobs: int | None
) -> Generator[tuple[int, _R], None, None]:
    """Iterate over places and results as they arrive.

    The task, and what it shares with others, is sent once. Its items go out in tiles whose length follows
    from how long the last ones took. A tile that gets lost with a worker is sent again.
    """
    run, n_slots = uuid4().hex, n_jobs if n_jobs is not None and n_jobs > 0 else cluster.n_slots()
    waiting, under_way, size, losses = deque(range(len(items))), dict[Hashable, tuple[list[int], int]](), 1, 0
    try:
        while waiting or under_way:
            while waiting and len(under_way) < AHEAD * n_slots:
                places = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                future = _submitted(cluster, run, task, [items[place] for place in places])
                under_way[future] = places, cluster.sent.times_lost
            future = cluster.next_done()
            places, times_lost = under_way.pop(future)
            try:
                reply = _reply(cluster, future)
            except LostError as error:
                waiting.extendleft(reversed(places))
                if times_lost == cluster.sent.times_lost:  # or else all has been sent again already
                    losses += 1
                    _check_losses(losses, error)
                    cluster.sent.forget()
                continue
            losses, size = 0, _tile_size(reply.seconds / len(places), len(waiting), n_slots)
            yield from zip(places, reply.results, strict=True)
    finally:
        if under_way:
            cluster.stop(run, list(under_way))


def _submitted(cluster: Cluster, run: str, task: Any, items: Sequence[Any]) -> Hashable:
    parts = cluster.sent.part(task, cluster.put).flat()
    return cluster.submit(make_order(run, list(parts), items), list(parts.values()))


def _reply(cluster: Cluster, future: Any) -> TileReply:
    """Return the reply of a tile; raise the error of its task."""
    reply: TileReply = pickle.loads(cluster.reply(future))
    if reply.error is not None:
        raise reply.error
    return reply


def _check_losses(losses: int, error: LostError) -> None:
    if losses > MOST_LOSSES:
        raise ClusterError(
            f"The cluster lost what it was sent {losses} times in a row: its workers die at once ({error})."
        ) from error


def _tile_size(seconds: float, n_waiting: int, n_slots: int) -> int:
    """Choose the number of items of the next tile: worth its cost, but no worker runs idle.

    >>> _tile_size(0.01, 1000, 2), _tile_size(0.01, 1000, 100), _tile_size(3.0, 1000, 2)
    (5, 5, 1)
    >>> _tile_size(0.01, 100_000, 100)
    20
    """
    seconds = max(seconds, 1e-6)
    least, wanted = ceil(TILE_SECONDS / seconds), ceil(SECONDS_A_SLOT * n_slots / seconds)
    return max(least, min(wanted, n_waiting // (AHEAD * n_slots)))


# -- What many tasks need in one run after another -----------------------------------------------------------


class Shared:
    """An immutable value that many tasks need; a cluster receives it once."""

    __slots__ = ()
