"""Compile kernels, or load them from disk, before a fit is timed."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count

from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.distance.distance import distances_between
from holdfast.errors import CacheWarning
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.kernels.consensus.search import find_consensus
from holdfast.kernels.jit import Kernel
from holdfast.runs.files import collect_notes, timed
from holdfast.runs.settings import MODELS, DataSettings, RunSettings, make_run_estimator
from holdfast.stable.consensus.search import ConsensusSearch
from holdfast.stable.consensus.train import distance_settings, make_task
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import train
from holdfast.tree.tree import Tree

# Parameters that speak of the classes and the columns of the data.
OF_CLASSES = (
    *("class_weight", "priors", "loss_matrix", "threshold", "positive", "monotonic_cst", "monotonic_class"),
    *("interaction_cst", "excluded_features", "first_splits", "feature_costs"),
)


class Ready(NamedTuple):
    """How the kernels were made ready."""

    compiled: bool  # False: they were on disk
    seconds: float
    notes: list[str]  # warnings


def ready_kernels(work: Callable[[], object]) -> Ready:
    """Compile or load the kernels that the work calls."""
    with collect_notes() as notes, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings on a dozen rows are of no interest
        warnings.simplefilter("always", CacheWarning)
        _, seconds = timed(work)
    kernels = [
        each
        for name, module in list(sys.modules.items())
        if name.startswith("holdfast.kernels.")
        for each in vars(module).values()
        if isinstance(each, Kernel)
    ]
    return Ready(any(kernel.compiled.stats.cache_misses for kernel in kernels), seconds, notes)


def fit_smallest(settings: RunSettings, target: Target) -> None:
    """Fit the model of the settings to a dozen rows, so that every kernel that it needs is called."""
    if settings.is_stable:
        parameters = settings.parameters
        train_smallest(parameters.get("method", "consensus"), parameters.get("teacher", "blend"))
        return
    rows = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    labels = ["no", "yes"] * 6 if target.is_classes else [number + 0.5 for number in range(12)]
    # By a score that even one row has.
    plain: dict[str, Any] = {
        "n_estimators": 2,
        "scoring": "accuracy" if target.is_classes else "squared_error",
    }
    plain |= dict.fromkeys(OF_CLASSES) | {"custom_features": None, "random_state": 0, "verbose": 0}
    estimator = make_run_estimator(replace(settings, parameters=_without_columns(settings)), target)
    known = estimator.get_params(deep=False)
    estimator.set_params(**{name: value for name, value in plain.items() if name in known})
    estimator.fit(rows, labels).predict(rows)


def _without_columns(settings: RunSettings) -> dict[str, Any]:
    return {name: value for name, value in settings.parameters.items() if name not in OF_CLASSES}


def train_smallest(method: str, teacher: Any) -> None:
    """One call of every kernel that training a stable tree by this method, with this teacher, needs.

    What takes longest to compile is compiled in two processes side by side.
    """
    with _centring_compiled_aside():
        grow(_smallest_table(), GrowthRules(max_leaf_nodes=2))
    # Held-out scores call no further kernel, and train the teacher eight times more.
    validation = None if method == "consensus" else "auto"
    stable = StabilitySettings(method=method, teacher=teacher, n_estimators=2, validation=validation)
    train(_smallest_table(), stable)


def centre_smallest() -> None:
    """Call every kernel of distances and of the consensus search; no tree is grown."""
    table = _smallest_table()
    settings = StabilitySettings(n_estimators=2)
    predictions = np.eye(2)[np.asarray(table.target, np.int64)]
    task = make_task(table, predictions, settings)
    trees = [Tree.from_nodes(table.schema, _stump(threshold)) for threshold in (5.5, 6.5)]
    distances = distance_settings(settings, trees)
    distances_between(trees, trees, distances)
    search = ConsensusSearch.of(task, trees[0], trees, distances)
    search.find_nearest(0.1, [search.student], 1)


def _smallest_table() -> Table:
    rows: list[list[Any]] = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    return Table.from_arrays(rows, ["no" if number < 6 else "yes" for number in range(12)])


def _stump(threshold: float) -> dict[str, Any]:
    sides = {"left": {"value": {"no": 6}, "count": 6}, "right": {"value": {"yes": 6}, "count": 6}}
    return {"feature": "x0", "threshold": threshold, **sides}


@contextmanager
def _centring_compiled_aside() -> Iterator[None]:
    """While the work inside goes on another process compiles; nothing, if that is done or has no core."""
    if not isinstance(find_consensus, Kernel) or find_consensus.is_on_disk or cpu_count() < 2:
        yield
        return
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    other = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", f"import {__name__} as own; own.centre_smallest()"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # what fails there is repeated here, with its message
    )
    try:
        yield
        other.wait()
    finally:
        other.kill()
        other.wait()


# -- The kernels of all models made ready at once, for images and clusters -----------------------------------

TARGETS = (Target("y", ("no", "yes")), Target("y"))


def warm_up() -> Ready:
    """The kernels of stable trees, and of every other model of classes and of numbers."""
    return ready_kernels(_train_and_fit)


def _train_and_fit() -> None:
    for name in MODELS:
        for target in TARGETS[:1] if name == "stable" else TARGETS:
            fit_smallest(RunSettings(data=DataSettings(target="y"), model=name), target)
