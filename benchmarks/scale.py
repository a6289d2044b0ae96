"""How time and memory grow with rows, columns, trees and leaves: python -m benchmarks.scale [--quick].

Side by side with scikit-learn and LightGBM. Every fit has a process of its own, one by one. Times are
of the fit alone; memory is how far the peak lies above what the process held before: the table and libraries.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

JOBS = 2
LIMIT = 240.0  # seconds for one fit; longer ones are not waited for
CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
WARM_UP = 20_000  # rows
KNOWN = 0.02  # seconds below which a time says more of the start than of the size


class Size(NamedTuple):
    rows: int
    columns: int
    trees: int
    leaves: int


class Measured(NamedTuple):
    seconds: float
    mib: float  # above the table


# The axes: one number grows, the others stay.
AXES: dict[str, list[Size]] = {
    "rows": [Size(n, 10, 1, 64) for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000)],
    "columns": [Size(10_000, p, 1, 64) for p in (10, 50, 200, 1_000, 2_000)],
    "trees": [Size(10_000, 20, t, 64) for t in (10, 30, 100, 300, 1_000)],
    "leaves": [Size(100_000, 20, 1, k) for k in (8, 32, 128, 512, 1_000)],
}


def table(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with six digits, and classes that a third of the columns decide, with noise."""
    draw = np.random.default_rng(0)
    X = np.empty((size.rows, size.columns), order="F")
    signal = np.zeros(size.rows)
    for j in range(size.columns):
        X[:, j] = draw.standard_normal(size.rows).round(6)
        if j % 3 == 0:
            signal += X[:, j] / (1 + j)
    return X, (signal + draw.standard_normal(size.rows) > 0).astype(np.int64)


def holdfast_fit(size: Size, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    from holdfast import GrowthRules, Table, grow
    from holdfast.growth import grow_bootstraps

    rules = GrowthRules(max_leaf_nodes=size.leaves)
    if size.trees == 1:
        return lambda: grow(Table.from_arrays(X, y), rules)
    return lambda: grow_bootstraps(Table.from_arrays(X, y), rules, size.trees, n_jobs=JOBS)


def sklearn_fit(size: Size, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if size.trees == 1:
        return lambda: DecisionTreeClassifier(max_leaf_nodes=size.leaves).fit(X, y)
    forest = RandomForestClassifier(
        size.trees, max_leaf_nodes=size.leaves, max_features=None, n_jobs=JOBS, random_state=0
    )
    return lambda: forest.fit(X, y)


def lightgbm_fit(size: Size, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    from lightgbm import LGBMClassifier

    several = {"boosting_type": "rf", "subsample": 0.632, "subsample_freq": 1} if size.trees > 1 else {}
    model = LGBMClassifier(
        n_estimators=size.trees, num_leaves=size.leaves, n_jobs=JOBS, verbose=-1, random_state=0, **several
    )
    return lambda: model.fit(X, y)


FITS = {"holdfast": holdfast_fit, "scikit-learn": sklearn_fit, "LightGBM": lightgbm_fit}


def measure(library: str, size: Size) -> Measured:
    """What the fit takes, in this process."""
    warnings.simplefilter("ignore")
    X, y = table(size)
    # What a process does once, such as loading compiled kernels, it does before.
    FITS[library](size._replace(trees=min(size.trees, 2)), X[:WARM_UP], y[:WARM_UP])()
    fit = FITS[library](size, X, y)
    before, start = fresh_peak_mib(), time.perf_counter()
    fit()
    return Measured(time.perf_counter() - start, peak_mib() - before)


def fresh_peak_mib() -> float:
    """The peak of memory, begun anew where the system can do that, so that it is what is held now."""
    if CLEAR.exists():
        CLEAR.write_text("5")
    return peak_mib()


def peak_mib() -> float:
    """The most memory that this process has had."""
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured_apart(library: str, size: Size) -> Measured | None:
    """The same in a process of its own; None if it takes too long or cannot be done."""
    command = [sys.executable, "-m", "benchmarks.scale", "--one", json.dumps([library, *size])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return Measured(*json.loads(done.stdout))


def slope(sizes: list[float], numbers: list[float]) -> float:
    """By which power the numbers grow: the slope of a line through the logarithms."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(numbers), 1)[0])


def along(axis: str, sizes: list[Size], console: Console) -> None:
    """Measure and print one axis."""
    grid = Grid(title=f"{axis}: seconds, and MiB above the table, {JOBS} threads")
    grid.add_column(axis, justify="right")
    for library in FITS:
        grid.add_column(library, justify="right")
    found: dict[str, list[tuple[float, Measured]]] = {library: [] for library in FITS}
    for size in sizes:
        number = float(getattr(size, axis))
        cells = []
        for library in FITS:
            result = measured_apart(library, size)
            if result is None:
                cells.append("-")
                continue
            found[library].append((number, result))
            cells.append(f"{result.seconds:.3f} s {result.mib:6.0f}")
        grid.add_row(f"{number:,.0f}", *cells)
        console.print(f"  {axis} {number:,.0f}: {'  '.join(cells)}", style="dim")
    grid.add_section()
    grid.add_row("slope", *(f"{time_slope(points):.2f}" for points in found.values()))
    console.print(grid)


def time_slope(points: list[tuple[float, Measured]]) -> float:
    """The power by which the time grows, where it is long enough to tell."""
    known = [(number, result.seconds) for number, result in points if result.seconds > KNOWN]
    return slope([number for number, _ in known], [seconds for _, seconds in known])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the three smallest sizes of each axis")
    parser.add_argument("--axis", choices=sorted(AXES), help="only this one")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        library, *numbers = json.loads(options.one)
        print(json.dumps(measure(library, Size(*numbers))))
        return
    console = Console(width=110)
    for axis, sizes in AXES.items():
        if options.axis in (None, axis):
            along(axis, sizes[:3] if options.quick else sizes, console)


if __name__ == "__main__":
    main()
