"""Ctrl-C at random moments, in Python: `python -m tests.faults.interrupts --number 200`.

Each case runs in a process of its own, so that a crash is counted and not suffered. In it, one piece of work
is done over and over until a SIGINT, sent after a random time, ends it; then the work must be possible again
and the object must be what it was before.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

PATIENCE = 2.0  # seconds from the signal to KeyboardInterrupt
Work = Callable[[], Any]


def data(n_rows: int, n_columns: int = 10, n_classes: int = 2) -> tuple[Any, Any]:
    """Rows that take a while to grow a tree on."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_columns))
    y = (X[:, 0] + generator.normal(size=n_rows) > 0).astype(int) + (X[:, 1] > 1) * (n_classes - 2)
    return X, y


def fit(name: str, n_rows: int, **options: Any) -> tuple[Any, Work]:
    """The estimator, fitted on few rows, and the work of fitting it on many."""
    import holdfast

    X, y = data(n_rows)
    estimator = getattr(holdfast, name)(**options).fit(X[:200], y[:200])
    return estimator, lambda: estimator.fit(X, y)


def predict(n_rows: int, n_jobs: int) -> tuple[Any, Work]:
    """A forest that predicts many rows."""
    import holdfast

    X, y = data(n_rows)
    forest = holdfast.ForestClassifier(n_estimators=100, n_jobs=n_jobs).fit(X[:3000], y[:3000])
    return forest, lambda: forest.predict_proba(X)


def distance(n_rows: int) -> tuple[Any, Work]:
    """The distance of two trees of thousands of leaves."""
    import holdfast

    X, y = data(n_rows)
    one, other = holdfast.grow_bootstraps(holdfast.Table.from_arrays(X, y), n_estimators=2)
    return one, lambda: holdfast.tree_distance(one, other)


def distances(n_estimators: int, n_jobs: int) -> tuple[Any, Work]:
    """All distances of a collection."""
    import holdfast

    X, y = data(2000)
    rules = holdfast.GrowthRules(max_depth=8)
    trees = holdfast.grow_bootstraps(holdfast.Table.from_arrays(X, y), rules, n_estimators, n_jobs=2)
    return trees[0], lambda: holdfast.distance_matrix(trees, n_jobs=n_jobs)


def compare(n_jobs: int) -> tuple[Any, Work]:
    """Two models on the same folds."""
    import holdfast

    X, y = data(4000)
    tree = holdfast.TreeClassifier().fit(X[:200], y[:200])
    models = {"tree": tree, "forest": holdfast.ForestClassifier(n_estimators=50)}
    return tree, lambda: holdfast.compare_models(models, X, y, n_jobs=n_jobs)


CASES: dict[str, Callable[[], tuple[Any, Work]]] = {
    "small tree": lambda: fit("TreeClassifier", 200),
    "tree": lambda: fit("TreeClassifier", 50_000),
    "large tree": lambda: fit("TreeClassifier", 400_000),
    "regression": lambda: fit("TreeRegressor", 50_000),
    "sizes by folds": lambda: fit("TreeClassifier", 20_000, ccp_alpha="cv"),
    "sizes by folds, 2 jobs": lambda: fit("TreeClassifier", 20_000, ccp_alpha="cv", n_jobs=2),
    "forest": lambda: fit("ForestClassifier", 20_000, n_estimators=50),
    "forest, 2 jobs": lambda: fit("ForestClassifier", 200_000, n_estimators=8, n_jobs=2),
    "bagging": lambda: fit("BaggingRegressor", 20_000, n_estimators=50),
    "bagging, 2 jobs": lambda: fit("BaggingClassifier", 20_000, n_estimators=50, n_jobs=2),
    "boosting": lambda: fit("BoostingClassifier", 50_000),
    "boosting, 2 jobs": lambda: fit("BoostingRegressor", 50_000, n_jobs=2),
    "AdaBoost": lambda: fit("AdaBoostClassifier", 50_000, max_depth=3),
    "density": lambda: fit("DensityTree", 20_000),
    "stable": lambda: fit("StableTreeClassifier", 4000, method="bootstrap"),
    "stable, 2 jobs": lambda: fit("StableTreeClassifier", 4000, method="bootstrap", n_jobs=2),
    "stable regression": lambda: fit("StableTreeRegressor", 4000, method="bootstrap"),
    "centred": lambda: fit("StableTreeClassifier", 1000, validation=None),
    "centred, 2 jobs": lambda: fit("StableTreeClassifier", 4000, n_jobs=2),
    "predict": lambda: predict(400_000, 1),
    "predict, 2 jobs": lambda: predict(400_000, 2),
    "distance of large trees": lambda: distance(20_000),
    "distances": lambda: distances(200, 1),
    "distances, 2 jobs": lambda: distances(200, 2),
    "comparison": lambda: compare(1),
    "comparison, 2 jobs": lambda: compare(2),
}


# -- in the process that is interrupted -------------------------------------------------------------------


def interrupted(work: Work, after: float) -> float:
    """Seconds from the signal, sent after so many, until the work ended with KeyboardInterrupt."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        while time.perf_counter() < (sent[0] if sent else np.inf) + 20:
            work()
        raise AssertionError("the signal was lost")
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]


def run_case(name: str, number: int, seed: int) -> None:
    """Interrupt the case so often, and print a line for each time."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model, work = CASES[name]()
    generator = random.Random(f"{name} {seed}")
    for _ in range(number):
        before = dict(vars(model)) if hasattr(model, "fit") else {}
        seconds = interrupted(work, generator.uniform(0.02, 1.2))
        after = dict(vars(model)) if hasattr(model, "fit") else {}
        # A fit that was finished has changed the model; one that was cut has left nothing of itself.
        is_whole = after.keys() == before.keys() and can_predict(model)
        print(json.dumps({"seconds": seconds, "whole": is_whole}), flush=True)
    work()
    print(json.dumps({"again": True}), flush=True)


def can_predict(model: Any) -> bool:
    """True if the model, if it is one, predicts."""
    return not hasattr(model, "predict") or len(model.predict(data(10)[0])) == 10


# -- in the process that watches --------------------------------------------------------------------------


def watch_case(name: str, number: int, seed: int) -> list[str]:
    """What went wrong in a process that does the case."""
    command = [sys.executable, "-m", "tests.faults.interrupts", "--case", name]
    command += ["--number", str(number), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 30 * number, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    cut = [line for line in lines if "seconds" in line]
    faults = [
        f"{name}: {line['seconds']:.1f} s to KeyboardInterrupt" for line in cut if line["seconds"] > PATIENCE
    ]
    faults += [f"{name}: a part of a fit was left" for line in cut if not line["whole"]]
    if done.returncode or len(cut) < number or "again" not in lines[-1]:
        faults.append(f"{name}: ended with {done.returncode} after {len(cut)} signals: {done.stderr[-600:]}")
    return faults


def main() -> int:
    """Interrupt all cases in turn, and print what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=200, help="of signals, over all cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", help="the one to do in this process")
    args = parser.parse_args()
    if args.case:
        run_case(args.case, args.number, args.seed)
        return 0
    faults = []
    each = -(-args.number // len(CASES))
    for name in CASES:
        found = watch_case(name, each, args.seed)
        faults += found
        print(f"{name}: {each} signals, {len(found)} faults", *found, sep="\n  ", flush=True)
    print(f"{each * len(CASES)} signals, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
