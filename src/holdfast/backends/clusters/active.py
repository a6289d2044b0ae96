"""Which cluster joblib's config asks for, and a config for an address."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from holdfast.backends.clusters.cluster import Cluster
from holdfast.errors import ClusterError

# What joblib calls the backend, and where its kind of cluster lives.
_KINDS = {
    "DaskDistributedBackend": ("holdfast.backends.clusters.dask_cluster", "DaskCluster"),
    "RayBackend": ("holdfast.backends.clusters.ray_cluster", "RayCluster"),
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
    return f"The cluster {address!r} needs packages that are not there: pip install 'holdfast[{extra}]'."
