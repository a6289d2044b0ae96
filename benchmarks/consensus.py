"""The default stable tree beside scikit-learn's grid search and one-standard-error pruning.

    python -m benchmarks.consensus [--quick] [--profile] [--jobs 1 2] [--data FOLDER] [--only adult]

Every fit runs in a process of its own, after a fit of few rows that compiles or loads what it needs: the
seconds and the memory are those of the fit alone. The three take turns. Linux only.
"""

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.large import Peak
from benchmarks.studies.cases import listed_frame

GRID = {"max_depth": [3, 4, 5, 6, 8], "min_samples_leaf": [5, 10, 30]}
FOLDS = 5
WARM_ROWS = 600
OURS, PRUNED, SEARCHED = "holdfast", "one-standard-error", "grid search"
# The functions that the steps of a fit are told by, as in `--profile`.
STEPS = {
    "forest": "_forest",
    "extra-trees": "_extra_trees",
    "boosting": "_boosting",
    "linear": "_linear",
    "kernel": "_kernel",
    "students": "_students",
    "search": "_central",
    "test against a constant": "_baseline",
}


# -- tables -----------------------------------------------------------------------------------------------


def rows_of(name: str, folder: Path, *, quick: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """The columns of a table and its two classes."""
    if name == "synthetic":
        return synthetic(20_000 if quick else 330_000)
    set_name, n_rows = {
        "breast": ("breast_cancer_wdbc", None),
        "adult 5,000": ("adult_income", 5_000),
        "adult": ("adult_income", 5_000 if quick else None),
    }[name]
    X, y = listed_frame(set_name, folder)
    if n_rows is not None:
        X = X.sample(n_rows, random_state=0)
    return X, y.loc[X.index].to_numpy()


def synthetic(n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """11 columns of numbers and 7 of categories, some of them missing, and two classes."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(n_rows, 11))
    numbers[:, 1], numbers[:, 2] = np.exp(numbers[:, 1]), np.rint(10 * numbers[:, 2] + 50)
    codes = [random.integers(0, n, n_rows) for n in (2, 3, 4, 5, 7, 12, 30)]
    score = 0.8 * numbers[:, 0] - 0.5 * numbers[:, 1] + 0.03 * (numbers[:, 2] - 50) + 0.1 * numbers[:, 6]
    score += 0.6 * (numbers[:, 4] > 0.5) * (numbers[:, 5] > 0) + 0.4 * (codes[1] == 2) - 0.3 * (codes[3] < 2)
    is_yes = random.random(n_rows) < 1 / (1 + np.exp(0.3 - score))
    columns: dict[str, Any] = {}
    for number, values in enumerate(numbers.T):
        share = 0.1 if number % 4 == 0 else 0.0
        columns[f"x{number}"] = np.where(random.random(n_rows) < share, np.nan, values)
    for number, code in enumerate(codes):
        known = np.where(random.random(n_rows) < 0.04 * (number == 2), -1, code)
        labels = [f"{number}_{value}" for value in range(code.max() + 1)]
        columns[f"c{number}"] = pd.Categorical.from_codes(known, labels)
    return pd.DataFrame(columns), np.where(is_yes, "yes", "no")


TABLES = ("breast", "adult 5,000", "adult", "synthetic")


# -- what is measured -------------------------------------------------------------------------------------


def fit_of(method: str, n_jobs: int | None) -> Callable[[pd.DataFrame, np.ndarray], Any]:
    """What fits a tree by this method to the rows of a frame."""
    if method == SEARCHED:
        return lambda X, y: grid_search(X, n_jobs).fit(X, y)
    from holdfast import StableTreeClassifier, TreeClassifier

    if method == PRUNED:
        return lambda X, y: TreeClassifier(ccp_alpha="cv-1se", n_jobs=n_jobs).fit(X, y)
    return lambda X, y: StableTreeClassifier(n_jobs=n_jobs).fit(X, y)


def grid_search(X: pd.DataFrame, n_jobs: int | None) -> Any:
    """The best of the grid by folds, on one column a category: scikit-learn's trees take numbers alone."""
    from sklearn.compose import make_column_transformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, texts), remainder="passthrough")
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0))
    grid = {f"decisiontreeclassifier__{name}": values for name, values in GRID.items()}
    return GridSearchCV(model, grid, scoring="roc_auc", cv=FOLDS, n_jobs=n_jobs)


def work(options: argparse.Namespace) -> None:
    """Fit once, and print what it took; this process does nothing else."""
    X, y = rows_of(options.worker[0], options.data, quick=options.quick)
    n_jobs = None if options.jobs[0] == 1 else options.jobs[0]
    fit, drawn = fit_of(options.worker[1], n_jobs), np.random.default_rng(0).permutation(len(X))[:WARM_ROWS]
    fit(X.iloc[drawn], y[drawn])
    profile, peak = cProfile.Profile(), Peak()
    peak.most = dict.fromkeys(peak.most, 0.0)
    start, cpu = time.perf_counter(), time.process_time()
    (lambda: profile.runcall(fit, X, y) if options.profile else fit(X, y))()
    found = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    found |= {"above": peak.most["RssAnon"] - peak.before["RssAnon"], "table": 8 * X.size / 2**20}
    print(json.dumps(found | {"steps": steps_of(profile) if options.profile else {}, "shape": X.shape}))


def steps_of(profile: cProfile.Profile) -> dict[str, float]:
    """Seconds of each step, those of all fits of a step together."""
    entries = pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]
    ours = [(place, entry) for place, entry in entries if "/stability/" in place[0]]
    return {step: sum(entry[3] for place, entry in ours if place[2] == name) for step, name in STEPS.items()}


# -- the processes ----------------------------------------------------------------------------------------


def measured(options: argparse.Namespace, table: str, method: str, n_jobs: int, *more: str) -> dict[str, Any]:
    """What a process of its own prints."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.consensus", "--worker", table, method]
    command += ["--jobs", str(n_jobs), "--data", str(options.data), *(["--quick"] if options.quick else [])]
    done = subprocess.run([*command, *more], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.decode().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables: to see that it runs")
    parser.add_argument("--profile", action="store_true", help="also where the time of the stable tree goes")
    parser.add_argument("--whole", action="store_true", help="grid search on the largest table too: minutes")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2], help="threads")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of data sets")
    parser.add_argument("--only", default=",".join(TABLES).replace("adult 5,000", "adult5"), help="tables")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    console = Console(width=140)
    names = [{"adult5": "adult 5,000"}.get(name, name) for name in options.only.split(",")]
    columns = (
        "table",
        "threads",
        "method",
        "seconds",
        "CPU seconds",
        "stable tree / it",
        "MiB above the frame",
    )
    grid = Grid(*columns, title="a fit, warm")
    for name in names:
        for n_jobs in options.jobs:
            is_long = name == "synthetic" and not (options.whole or options.quick)
            methods = (OURS, PRUNED) if is_long else (OURS, PRUNED, SEARCHED)
            found = {method: measured(options, name, method, n_jobs) for method in methods}
            for method, each in found.items():
                ratio = found[OURS]["seconds"] / each["seconds"]
                memory = f"{each['above']:.0f} (table {each['table']:.0f})"
                rows, width = each["shape"]
                figures = f"{each['seconds']:.2f}", f"{each['cpu']:.2f}", f"{ratio:.1f}x", memory
                grid.add_row(f"{name}, {rows:,} x {width}", str(n_jobs), method, *figures)
        if options.profile:
            steps = measured(options, name, OURS, 1, "--profile")["steps"]
            told = ", ".join(f"{step} {seconds:.2f}" for step, seconds in steps.items())
            console.print(f"{name}, seconds of each step under the profiler, one thread: {told}")
    console.print(grid)


if __name__ == "__main__":
    main()
