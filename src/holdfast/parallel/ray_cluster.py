"""Clusters of Ray: `with joblib.parallel_config(backend="ray")`, after `ray.util.joblib.register_ray()`."""

from collections.abc import Hashable
from functools import cache
from typing import Any

from holdfast._arrays import ByteArray
from holdfast.errors import ClusterError
from holdfast.parallel.clusters import SentValues, run_tile
from holdfast.parallel.interruption import GRACE

ATTEMPTS = 5  # to interrupt a task
RETRIES = 3  # of a task on other workers

_sent: dict[str, SentValues] = {}  # of the one cluster that this process is connected to


def is_within() -> bool:
    """Return True within a task of a worker, whose cores are in use already."""
    import ray

    return bool(ray.is_initialized() and ray.get_runtime_context().worker.mode == ray.WORKER_MODE)


class RayCluster:
    """A run on Ray, whose workers on one machine share arrays without copies."""

    def __init__(self, backend: Any = None) -> None:
        import ray

        if not ray.is_initialized():
            ray.init()
        self._ray = ray
        self._under_way: set[Any] = set()
        self.sent = _get_sent_values(ray.get_runtime_context().get_job_id())

    def n_slots(self) -> int:
        """Cores of the cluster."""
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def put(self, blob: ByteArray) -> Any:
        """Store one copy on this machine; others fetch it when a task needs it."""
        return self._ray.put(blob)

    def submit(self, order: bytes, handles: list[Any]) -> Hashable:
        """Submit a task, which is rescheduled if its worker dies."""
        future: Hashable = _remote_tile().remote(order, *handles)
        self._under_way.add(future)
        return future

    def next_done(self) -> Hashable:
        """Return the next finished future."""
        (future,), _ = self._ray.wait(list(self._under_way), num_returns=1)
        self._under_way.discard(future)
        return future  # type: ignore[no-any-return]

    def reply(self, future: Any) -> bytes:
        """Return the reply; errors other than the task's own are cluster errors."""
        from ray.exceptions import RayError

        try:
            reply: bytes = self._ray.get(future)
            return reply
        except RayError as error:
            raise ClusterError(
                f"Ray could not do one of the tasks. {type(error).__name__}: {error}"
            ) from error

    def stop(self, run: str, futures: list[Any]) -> None:
        """Cancel waiting tasks; running ones get a KeyboardInterrupt.

        Ray may lose an interrupt that comes as a task begins. A worker that ignores several is killed.
        """
        for attempt in range(ATTEMPTS):
            for future in futures:
                self._ray.cancel(future, force=attempt == ATTEMPTS - 1)
            _, futures = self._ray.wait(futures, num_returns=len(futures), timeout=GRACE / ATTEMPTS)
            if not futures:
                break


@cache
def _remote_tile() -> Any:
    import ray

    return ray.remote(num_cpus=1, max_retries=RETRIES)(run_tile)


def _get_sent_values(job: str) -> SentValues:
    if job not in _sent:
        _sent.clear()  # handles of a closed connection are invalid
        _sent[job] = SentValues()
    return _sent[job]
