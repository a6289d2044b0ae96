"""The same work here, on Dask and on Ray, side by side in one run: python -m benchmarks.cluster [--quick].

Here are two threads, there two workers on this machine, which have loaded the kernels before. The results
must be equal to the last bit. The last row kills a worker with SIGKILL in the middle of a run.
"""

import argparse
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from joblib import parallel_config
from rich.console import Console
from rich.table import Table as Grid
from sklearn.datasets import make_classification

from holdfast import (
    ForestClassifier,
    GrowthRules,
    Table,
    TreeClassifier,
    compare_models,
    distance_matrix,
    grow_bootstraps,
    retrain_audit,
)
from holdfast.backends.tasks import run_all
from holdfast.evidence.replications import replicate
from holdfast.stability.settings import StabilitySettings
from holdfast.storage.ensemble_file import ensemble_to_json
from holdfast.storage.model_file import tree_to_json

JOBS = 2
KILLED = "collection, a worker killed"
Work = Callable[[], Any]


def works(n_rows: int, share: float) -> dict[str, Work]:
    """What is timed: each gives something that is equal only if every bit is."""
    X, y = make_classification(n_rows, 30, n_informative=10, flip_y=0.1, random_state=0)
    table, few = Table.from_arrays(X, y), slice(0, n_rows // 5)
    rules = GrowthRules(max_depth=10)
    n_trees, n_measured = int(200 * share), int(300 * share)
    trees = grow_bootstraps(
        Table.from_arrays(X[few], y[few]), rules.replace(max_depth=6), n_measured, n_jobs=JOBS
    )
    models = {
        "tree": TreeClassifier(),
        "pruned": TreeClassifier(ccp_alpha="cv"),
        "forest": ForestClassifier(50, random_state=0),
    }
    stable = StabilitySettings(method="bootstrap", n_estimators=int(50 * share), n_jobs=JOBS)
    return {
        f"collection, {n_trees} trees": lambda: [
            tree_to_json(tree) for tree in grow_bootstraps(table, rules, n_trees, n_jobs=JOBS)
        ],
        f"forest, {n_trees // 2} trees": lambda: ensemble_to_json(
            ForestClassifier(n_trees // 2, random_state=0, n_jobs=JOBS).fit(X, y).ensemble_
        ),
        f"distances, {n_measured} x {n_measured}": lambda: distance_matrix(trees, n_jobs=JOBS).tobytes(),
        "replications, 4": lambda: repr(
            replicate(Table.from_arrays(X[few], y[few]), stable, n_replications=4).rows
        ),
        "audit, 3 methods": lambda: _figures(
            retrain_audit(
                models, X[few], y[few], changes=("overlap", "fewer rows"), n_repeats=3, n_jobs=JOBS
            ).pairs
        ),
        "comparison, 3 models": lambda: _figures(compare_models(models, X[few], y[few], n_jobs=JOBS)),
    }


def _figures(result: Any) -> str:
    return repr({name: list(values) for name, values in result.columns().items() if "seconds" not in name})


@contextmanager
def here() -> Iterator[None]:
    yield


@contextmanager
def on_dask() -> Iterator[None]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=JOBS, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster),
    ):
        yield


@contextmanager
def on_ray() -> Iterator[None]:
    import ray
    from ray.util.joblib import register_ray

    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (or its workers would give way to all others)
    ray.init(num_cpus=JOBS, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield
    ray.shutdown()


def timed(work: Work) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def process(_: int) -> int:
    time.sleep(0.1)
    return os.getpid()


def killed_after(seconds: float, work: Work) -> Any:
    """The result of the work, one of whose workers is killed after so many seconds."""
    victim = run_all(process, range(8))[0]
    threading.Timer(seconds, os.kill, (victim, signal.SIGKILL)).start()
    return work()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--kinds", nargs="+", default=["dask", "ray"], choices=["dask", "ray"])
    quick, kinds = parser.parse_args().quick, parser.parse_args().kinds
    warnings.simplefilter("ignore")
    all_work = works(2_000 if quick else 20_000, 0.1 if quick else 1.0)
    grid = Grid("work", "here", *(f"{kind}" for kind in kinds), "equal bits")
    found: dict[str, list[tuple[Any, float]]] = {name: [_best(work)] for name, work in all_work.items()}
    for kind in kinds:
        with {"dask": on_dask, "ray": on_ray}[kind](), parallel_config(backend=kind):
            for name, work in all_work.items():
                work()  # kernels are loaded
                found[name].append(_best(work))
            first = next(iter(all_work))
            (_, alone), *_, (_, seconds) = found[first]
            work = partial(killed_after, 0.4 * seconds, all_work[first])
            found.setdefault(KILLED, found[first][:1]).append(timed(work))
    for name, results in found.items():
        (expected, alone), *others = results
        cells = [f"{seconds:.2f} s, {seconds / alone:.2f}x" for _, seconds in others]
        grid.add_row(
            name, f"{alone:.2f} s", *cells, "yes" if all(each == expected for each, _ in others) else "NO"
        )
    Console(width=110).print(grid)


def _best(work: Work) -> tuple[Any, float]:
    results = [timed(work) for _ in range(2)]
    assert results[0][0] == results[1][0]
    return min(results, key=lambda each: each[1])


if __name__ == "__main__":
    main()
