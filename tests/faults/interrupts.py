"""Ctrl-C at random moments, in Python: `python -m tests.faults.interrupts CASE NUMBER SEED`.

Each case runs in a process of its own, so that a crash is counted and not suffered. In it, one piece of work
is done over and over until a SIGINT, sent after a random time, ends it; then the work must be possible again
and the object must be what it was before.
"""

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

import holdfast as hf
from holdfast import growth

PATIENCE = 2.0  # seconds from the signal to KeyboardInterrupt
Work = Callable[[], Any]


def data(n_rows: int) -> tuple[Any, Any]:
    """Rows that take a while to grow a tree on."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 10))
    return X, (X[:, 0] + generator.normal(size=n_rows) > 0).astype(int)


def fit(estimator: Any, n_rows: int) -> tuple[Any, Work]:
    """The estimator, fitted on few rows, and the work of fitting it on many."""
    X, y = data(n_rows)
    estimator.fit(X[:200], y[:200])
    return estimator, lambda: estimator.fit(X, y)


def distance(n_rows: int) -> tuple[Any, Work]:
    """The distance of two trees of thousands of leaves."""
    one, other = growth.grow_bootstraps(hf.Table.from_arrays(*data(n_rows)), n_estimators=2)
    return one, lambda: hf.tree_distance(one, other)


CASES: dict[str, Callable[[], tuple[Any, Work]]] = {
    "small tree": lambda: fit(hf.TreeClassifier(), 200),
    "large tree": lambda: fit(hf.TreeClassifier(), 400_000),
    "forest, 2 jobs": lambda: fit(hf.ForestClassifier(n_estimators=8, n_jobs=2), 200_000),
    "stable": lambda: fit(hf.StableTreeClassifier(method="bootstrap"), 4000),
    "consensus": lambda: fit(hf.StableTreeClassifier(validation=None), 1000),
    "distance of large trees": lambda: distance(20_000),
}


# -- in the process that is interrupted -------------------------------------------------------------------


def interrupted(work: Work, after: float) -> float:
    """Seconds from the signal, sent after so many, until the work ended with KeyboardInterrupt."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(after, send).start()
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
        before = set(vars(model)) if hasattr(model, "fit") else set()
        seconds = interrupted(work, generator.uniform(0.02, 1.2))
        # A fit that was finished has changed the model; one that was cut has left nothing of itself.
        is_whole = not before or (set(vars(model)) == before and len(model.predict(data(10)[0])) == 10)
        print(json.dumps({"seconds": seconds, "whole": is_whole}), flush=True)
    work()
    print(json.dumps({"again": True}), flush=True)


# -- in the process that watches --------------------------------------------------------------------------


def watch_case(name: str, number: int, seed: int) -> list[str]:
    """What went wrong in a process that does the case."""
    command = [sys.executable, "-m", "tests.faults.interrupts", name, str(number), str(seed)]
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


if __name__ == "__main__":
    run_case(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
