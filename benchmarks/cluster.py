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
from typing import Any, NamedTuple

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
    retrain_audit,
)
from holdfast.evaluate.replications import replicate
from holdfast.growth import grow_bootstraps
from holdfast.io.model_file import model_to_json
from holdfast.parallel.tasks import run_all
from holdfast.stable.settings import StabilitySettings

JOBS = 2
KILLED = "collection, a worker killed"


class Work(NamedTuple):
    """What is timed, and what of its result is equal only if every bit is."""

    done: Callable[[], Any]
    bits: Callable[[Any], Any]


def works(n_rows: int, share: float) -> dict[str, Work]:
    X, y = make_classification(n_rows, 30, n_informative=10, flip_y=0.1, random_state=0)
    table, rules = Table.from_arrays(X, y), GrowthRules(max_depth=10)
    few_X, few_y = X[: n_rows // 5], y[: n_rows // 5]
    few = Table.from_arrays(few_X, few_y)
    n_trees, n_measured = int(200 * share), int(300 * share)
    trees = grow_bootstraps(few, rules.replace(max_depth=6), n_measured, n_jobs=JOBS)
    forest = ForestClassifier(n_trees // 2, random_state=0, n_jobs=JOBS)
    models = {
        "tree": TreeClassifier(),
        "pruned": TreeClassifier(ccp_alpha="cv"),
        "forest": ForestClassifier(50, random_state=0),
    }
    stable = StabilitySettings(method="bootstrap", n_estimators=int(50 * share), n_jobs=JOBS)
    changes = {"changes": ("overlap", "fewer rows"), "n_repeats": 3}
    return {
        f"collection, {n_trees} trees": Work(
            lambda: grow_bootstraps(table, rules, n_trees, n_jobs=JOBS),
            lambda grown: list(map(model_to_json, grown)),
        ),
        f"forest, {n_trees // 2} trees": Work(
            lambda: forest.fit(X, y).ensemble_, lambda ensemble: model_to_json(ensemble)
        ),
        f"distances, {n_measured} x {n_measured}": Work(
            lambda: distance_matrix(trees, n_jobs=JOBS), lambda distances: distances.tobytes()
        ),
        "replications, 4": Work(
            lambda: replicate(few, stable, n_replications=4), lambda found: repr(found.rows)
        ),
        "audit, 3 methods": Work(
            lambda: retrain_audit(models, few_X, few_y, **changes, n_jobs=JOBS).pairs, _figures
        ),
        "comparison, 3 models": Work(lambda: compare_models(models, few_X, few_y, n_jobs=JOBS), _figures),
    }


def _figures(result: Any) -> str:
    return repr({name: list(values) for name, values in result.columns().items() if "seconds" not in name})


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


def timed(work: Work, n_times: int = 2) -> tuple[Any, float]:
    """The bits of the result, and the shortest time of several: the first loads the kernels."""
    times, found = [], []
    for _ in range(n_times):
        start = time.perf_counter()
        result = work.done()
        times.append(time.perf_counter() - start)
        found.append(work.bits(result))
    assert all(bits == found[0] for bits in found)
    return found[0], min(times)


def process(_: int) -> int:
    time.sleep(0.1)
    return os.getpid()


def killed_after(seconds: float, work: Work) -> Work:
    """The same work, one of whose workers is killed after so many seconds."""

    def done() -> Any:
        threading.Timer(seconds, os.kill, (victim, signal.SIGKILL)).start()
        return work.done()

    victim = run_all(process, range(8))[0]
    return work._replace(done=done)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--kinds", nargs="+", default=["dask", "ray"], choices=["dask", "ray"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    all_work = works(2_000 if given.quick else 20_000, 0.1 if given.quick else 1.0)
    collection = next(iter(all_work))
    found = {name: [timed(work)] for name, work in all_work.items()}
    for kind in given.kinds:
        with {"dask": on_dask, "ray": on_ray}[kind](), parallel_config(backend=kind):
            for name, work in all_work.items():
                found[name].append(timed(work))
            seconds = found[collection][-1][1]
            work = killed_after(0.4 * seconds, all_work[collection])
            found.setdefault(KILLED, found[collection][:1]).append(timed(work, 1))
    show(given.kinds, found)


def show(kinds: list[str], found: dict[str, list[tuple[Any, float]]]) -> None:
    grid = Grid("work", "here", *kinds, "equal bits")
    for name, ((expected, alone), *others) in found.items():
        cells = [f"{seconds:.2f} s, {seconds / alone:.2f}x" for _, seconds in others]
        are_equal = all(bits == expected for bits, _ in others)
        grid.add_row(name, f"{alone:.2f} s", *cells, "yes" if are_equal else "NO")
    Console(width=110).print(grid)


if __name__ == "__main__":
    main()
