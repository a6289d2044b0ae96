"""Growing against scikit-learn, side by side in one run: python -m benchmarks.growth [--quick]."""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table as Grid
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from holdfast import GrowthRules, Table, grow
from holdfast.growth import grow_bootstraps

JOBS = 2


@dataclass(frozen=True)
class Data:
    name: str
    X: np.ndarray
    y: np.ndarray
    is_regression: bool = False

    @property
    def rules(self) -> dict[str, str]:
        return {"criterion": "squared_error" if self.is_regression else "gini"}


def data_sets(quick: bool) -> list[Data]:
    X, y = load_breast_cancer(return_X_y=True)
    sets = [Data("breast cancer 569 x 30", X, y)]
    for n, p in [(20_000, 30)] if quick else [(20_000, 30), (200_000, 50)]:
        for classes in (2, 3):
            X, y = make_classification(
                n, p, n_informative=10, n_redundant=5, n_classes=classes, flip_y=0.05, random_state=0
            )
            sets.append(Data(f"{n:,} x {p}, {classes} classes", X, y))
        X, y = make_regression(n, p, n_informative=10, noise=50.0, random_state=0)
        sets.append(Data(f"{n:,} x {p}, regression", X, y, is_regression=True))
    return sets


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs: noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bootstrap_fit(data: Data, depth: int | None, seed: int) -> object:
    n = len(data.y)
    counts = np.bincount(np.random.default_rng(seed).integers(0, n, n), minlength=n)
    model = DecisionTreeRegressor if data.is_regression else DecisionTreeClassifier
    return model(max_depth=depth, random_state=0).fit(data.X, data.y, sample_weight=counts)


def compare(data: Data, depth: int | None, n_estimators: int, n_peer: int, repeats: int) -> list[float]:
    """Milliseconds: coding the table, one tree (ours, theirs), one of many (ours, trees, forest)."""
    rules = GrowthRules(max_depth=depth, **data.rules)
    task = "regression" if data.is_regression else "classification"
    coding = seconds(lambda: Table.from_arrays(data.X, data.y, task=task).coded, 1)
    table = Table.from_arrays(data.X, data.y, task=task)
    _ = table.coded
    single = DecisionTreeRegressor if data.is_regression else DecisionTreeClassifier
    forest = RandomForestRegressor if data.is_regression else RandomForestClassifier
    ours_one = seconds(lambda: grow(table, rules), repeats)
    peer_one = seconds(lambda: single(max_depth=depth, random_state=0).fit(data.X, data.y), 1)
    ours = seconds(lambda: grow_bootstraps(table, rules, n_estimators, n_jobs=JOBS), repeats) / n_estimators
    trees = seconds(
        lambda: Parallel(n_jobs=JOBS, prefer="threads")(
            delayed(bootstrap_fit)(data, depth, i) for i in range(n_peer)
        ),
        1,
    )
    many = forest(n_peer, max_features=None, max_depth=depth, n_jobs=JOBS, random_state=0)
    forests = seconds(lambda: many.fit(data.X, data.y), 1)
    return [1e3 * t for t in (coding, ours_one, peer_one, ours, trees / n_peer, forests / n_peer)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the large tables")
    parser.add_argument("--data", default="", help="only data sets whose name holds this text")
    parser.add_argument("--depths", default="3,5,7,none", help="greatest depths, comma-separated")
    options = parser.parse_args()
    depths = [None if depth == "none" else int(depth) for depth in options.depths.split(",")]
    warnings.simplefilter("ignore")
    console = Console(width=150)
    start = time.perf_counter()
    grow(Table.from_arrays([[0.0], [1.0]], ["a", "b"]))
    console.print(f"first tree, with compiling or loading the kernels: {time.perf_counter() - start:.1f} s")
    title = f"milliseconds a tree, {JOBS} threads; ratio = the faster of scikit-learn's two / holdfast"
    grid = Grid(title=title)
    grid.add_column("data")
    of_one = ["depth", "coding once", "one tree", "sklearn", "ratio"]
    of_many = ["of collection", "sklearn trees", "sklearn forest", "ratio"]
    for column in of_one + of_many:
        grid.add_column(column, justify="right")
    for data in (data for data in data_sets(options.quick) if options.data in data.name):
        small, large = len(data.y) < 1_000, len(data.y) > 100_000
        for depth in depths:
            n_estimators = 200 if small or (depth and not large) else 40 if depth else 8
            n_peer = 200 if small else 4 if large else 12
            repeats = 1 if large else 3
            coding, one, peer, ours, trees, forest = compare(data, depth, n_estimators, n_peer, repeats)
            ratios = (peer / one, min(trees, forest) / ours)
            grid.add_row(
                data.name,
                str(depth or "none"),
                f"{coding:.0f}",
                f"{one:.2f}",
                f"{peer:.1f}",
                f"{ratios[0]:.1f}x",
                f"{ours:.2f}",
                f"{trees:.1f}",
                f"{forest:.1f}",
                f"[bold]{ratios[1]:.1f}x",
            )
            console.print(f"  {data.name}, depth {depth}: {ratios[1]:.1f}x", style="dim")
    console.print(grid)


if __name__ == "__main__":
    main()
