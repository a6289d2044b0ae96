"""Large tables, in memory and on disk: python -m benchmarks.large [--quick] [--only memory|disk].

Every library runs in a process of its own, so that what it takes of memory is its own: the peak of anonymous
pages above those of the table. What the system keeps of files in memory is told apart. Linux only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

JOBS, DEPTH = 2, 8
OURS, SKLEARN, LIGHTGBM, ON_DISK = "holdfast", "scikit-learn", "LightGBM", "holdfast on disk"
PART = 500_000  # rows of a file


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_rows: int = 1_000_000
    n_features: int = 50
    n_trees: int = 100
    n_peer: int = 2  # trees of a collection of scikit-learn, which takes a minute for each
    n_rows_on_disk: int = 20_000_000
    n_subsample: int = 100_000


QUICK = Size(20_000, 10, 4, 2, 40_000, 5_000)


# -- what is measured -----------------------------------------------------------------------------------


class Peak:
    """The most that this process has in memory, looked at fifty times a second."""

    def __init__(self) -> None:
        self.most = {"RssAnon": 0.0, "RssFile": 0.0}
        self.before = memory()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            for name, mebibytes in memory().items():
                self.most[name] = max(self.most[name], mebibytes)
            time.sleep(0.02)

    def step(self, name: str, work: Callable[[], Any], of: int = 1) -> Any:
        """Print what the step takes, for each of so many."""
        self.most = memory()
        start = time.perf_counter()
        result = work()
        taken = (time.perf_counter() - start) / of
        above = self.most["RssAnon"] - self.before["RssAnon"]
        print(json.dumps({"step": name, "seconds": taken, "anonymous": above, "files": self.most["RssFile"]}))
        sys.stdout.flush()
        return result


def memory() -> dict[str, float]:
    """Mebibytes of this process: its own, and those of files."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {word[0][:-1]: int(word[1]) / 1024 for word in lines if word[0] in ("RssAnon:", "RssFile:")}


# -- in memory ------------------------------------------------------------------------------------------


def rows(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Columns one after the other, of which five tell something."""
    random = np.random.default_rng(0)
    X = np.empty((size.n_rows, size.n_features), order="F")
    for column in X.T:
        column[:] = random.normal(size=size.n_rows)
    score = (
        X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0) + X[:, 4] ** 2 + random.normal(size=size.n_rows)
    )
    return X, (score > 2).astype(np.int32)


def ours(size: Size) -> None:
    """Coding, a tree, and bootstrap trees on two threads."""
    from holdfast import GrowthRules, Table, grow
    from holdfast.growth import grow_bootstraps

    grow(Table.from_arrays([[0.0], [1.0]], ["a", "b"]))
    X, y = rows(size)
    peak, rules = Peak(), GrowthRules(max_depth=DEPTH)
    table = Table.from_arrays(X, y)
    peak.step("coding", lambda: table.code(JOBS))
    peak.step("one tree", lambda: grow(table, rules))
    peak.step("tree of many", lambda: grow_bootstraps(table, rules, size.n_trees, n_jobs=JOBS), size.n_trees)


def sklearn(size: Size) -> None:
    """The same, exact too; it has nothing to prepare."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y = rows(size)
    peak = Peak()
    peak.step("one tree", lambda: DecisionTreeClassifier(max_depth=DEPTH).fit(X, y))
    forest = RandomForestClassifier(size.n_peer, max_features=None, max_depth=DEPTH, n_jobs=JOBS)
    peak.step("tree of many", lambda: forest.fit(X, y), size.n_peer)


def lightgbm(size: Size) -> None:
    """Thresholds between 255 bins only."""
    from lightgbm import Dataset, train

    X, y = rows(size)
    peak = Peak()
    settings = {"objective": "binary", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "min_data_in_leaf": 1}
    settings |= {"num_threads": JOBS, "verbosity": -1, "seed": 0}
    data = Dataset(X, y, params=settings, free_raw_data=False)
    peak.step("coding", data.construct)
    peak.step("one tree", lambda: train(settings, data, 1))
    forest = settings | {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.632}
    peak.step("tree of many", lambda: train(forest, data, size.n_trees), size.n_trees)


# -- on disk --------------------------------------------------------------------------------------------


def write_parts(folder: Path, n_rows: int) -> None:
    """Parquet files of 14 columns of numbers, four of whole numbers and two of text."""
    import polars as pl

    for number, n_own in enumerate(_sizes(n_rows)):
        random = np.random.default_rng(number)
        data: dict[str, Any] = {f"x{i}": random.normal(size=n_own) for i in range(10)}
        data |= {f"f{i}": random.exponential(size=n_own).astype(np.float32) for i in range(4)}
        data |= {f"n{i}": random.integers(0, 20**i + 4, n_own) for i in range(4)}
        data["ward"] = np.array(list("ABCDEFGH"))[random.integers(0, 8, n_own)]
        data["region"] = np.array([f"R{i}" for i in range(40)])[random.integers(0, 40, n_own)]
        score = data["x0"] + np.abs(data["x1"]) + (data["n0"] > 2) * data["x2"] + (data["ward"] == "B")
        data["outcome"] = np.where(score + random.normal(size=n_own) > 1, "yes", "no")
        pl.DataFrame(data).write_parquet(folder / f"{number:04d}.parquet")


def _sizes(n_rows: int) -> Iterator[int]:
    return (min(PART, n_rows - start) for start in range(0, n_rows, PART))


def on_disk(size: Size, folder: Path) -> None:
    """A table on disk, a tree of all rows, and trees on few rows each."""
    from holdfast import GrowthRules, Table, grow
    from holdfast.data import store_table
    from holdfast.growth import grow_subsamples

    grow(Table.from_arrays([[0.0], [1.0]], ["a", "b"]))
    peak, rules = Peak(), GrowthRules(max_depth=DEPTH)
    table = peak.step("coding", lambda: store_table(folder / "parquet", folder / "table"))
    peak.step("one tree", lambda: grow(table, rules))
    n_trees, n_rows = size.n_trees // 5 or 2, size.n_subsample
    few = lambda: grow_subsamples(table, rules, n_trees, max_samples=n_rows, n_jobs=JOBS)  # noqa: E731
    peak.step("tree of many", few, n_trees)


# -- the processes --------------------------------------------------------------------------------------


def measured(name: str, quick: bool, folder: Path | None = None) -> dict[str, dict[str, float]]:
    """What a process of its own prints of each step."""
    command = [sys.executable, "-m", "benchmarks.large", "--worker", name, *(["--quick"] if quick else [])]
    done = subprocess.run(
        [*command, *([] if folder is None else [str(folder)])], stdout=subprocess.PIPE, check=True
    )
    return {entry.pop("step"): entry for entry in map(json.loads, done.stdout.decode().splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables: to see that it runs")
    parser.add_argument("--only", choices=["memory", "disk"], help="one of the two parts")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write the table (default: a temporary folder)"
    )
    options = parser.parse_args()
    size = QUICK if options.quick else Size()
    if options.worker == ON_DISK:
        on_disk(size, options.folder)
    elif options.worker:
        {OURS: ours, SKLEARN: sklearn, LIGHTGBM: lightgbm}[options.worker](size)
    else:
        _show(size, options)


def _show(size: Size, options: argparse.Namespace) -> None:
    columns = ["coding", "one tree", "tree of many", "peak above the table", "of files"]
    grid = Grid("", *columns, title=f"seconds, depth {DEPTH}, {JOBS} threads; MiB")
    found = {}
    if options.only != "disk":
        for name in (OURS, SKLEARN, LIGHTGBM):
            found[f"{name}, {size.n_rows:,} x {size.n_features}"] = measured(name, options.quick)
    if options.only != "memory":
        with tempfile.TemporaryDirectory(dir=options.folder) as place:
            (Path(place) / "parquet").mkdir()
            write_parts(Path(place) / "parquet", size.n_rows_on_disk)
            found[f"{ON_DISK}, {size.n_rows_on_disk:,} x 20"] = measured(ON_DISK, options.quick, Path(place))
    for name, steps in found.items():
        times = [f"{steps[step]['seconds']:.2f}" if step in steps else "" for step in columns[:3]]
        most = [f"{max(step[kind] for step in steps.values()):.0f}" for kind in ("anonymous", "files")]
        grid.add_row(name, *times, *most)
    Console(width=130).print(grid)


if __name__ == "__main__":
    main()
