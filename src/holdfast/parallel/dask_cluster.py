"""Clusters of dask.distributed: `with joblib.parallel_config(backend="dask")` while a Client is open."""

import threading
from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from holdfast._arrays import ByteArray
from holdfast.errors import ClusterError
from holdfast.parallel.clusters import LostError, SentValues, run_tile, stop_run
from holdfast.parallel.interruption import GRACE

WAIT = 30  # seconds for a first worker

_sent: WeakKeyDictionary[Any, SentValues] = WeakKeyDictionary()  # by client


def is_within() -> bool:
    """Return True within a task of a worker, which must not use the cluster itself."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


class DaskCluster:
    """A run on the workers of a client.

    It uses the client directly: joblib's backend sends shared values with every task, and cannot stop a
    running one.
    """

    def __init__(self, backend: Any) -> None:
        from distributed import as_completed

        self._client = backend.client
        self._done = as_completed(loop=self._client.loop)
        self.sent = _sent.setdefault(self._client, SentValues())
        self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError as error:
            address = self._client.scheduler.address
            raise ClusterError(
                f"The cluster at {address} has no worker, and none came within {WAIT} seconds: start some "
                f"with dask worker {address}."
            ) from error

    def n_slots(self) -> int:
        """Threads of all workers: compiled loops release the interpreter lock."""
        n_threads = int(sum(self._client.nthreads().values()))
        return max(n_threads, 1)

    def put(self, blob: ByteArray) -> Any:
        """Copy to every present worker; later workers copy from these."""
        self._wait_for_workers()  # the last one may have died
        try:
            return self._client.scatter(blob, broadcast=True, hash=False, direct=False, timeout=WAIT)
        except TimeoutError as error:
            raise ClusterError(f"No worker of the cluster takes the data: {error}.") from error

    def submit(self, order: bytes, handles: list[Any]) -> Hashable:
        """Submit a task, which is rescheduled if its worker dies."""
        future: Hashable = self._client.submit(run_tile, order, *handles, pure=False)
        self._done.add(future)
        return future

    def next_done(self) -> Hashable:
        """Return the next finished future."""
        future: Hashable = next(self._done)
        return future

    def reply(self, future: Any) -> bytes:
        """Return the reply; errors other than the task's own are cluster errors."""
        from distributed import CancelledError, KilledWorker

        try:
            reply: bytes = future.result()
            return reply
        except CancelledError as error:
            raise LostError(str(error)) from error
        except KilledWorker as error:
            raise ClusterError(
                f"Every worker that tried one of the tasks died, {error.last_worker.address} the last: the "
                "task may need more memory than a worker has."
            ) from error
        except ModuleNotFoundError as error:
            raise ClusterError(f"A worker cannot load what it needs: {error}. Install it there.") from error

    def stop(self, run: str, futures: list[Any]) -> None:
        """Cancel waiting tasks, and tell workers to stop running ones."""
        self._client.cancel(futures)
        # In a thread: a worker that does not answer must not delay Ctrl-C.
        thread = threading.Thread(target=self._client.run, args=(stop_run, run), daemon=True)
        thread.start()
        thread.join(GRACE)
