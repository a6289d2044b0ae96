"""Tree distances against dt-distance and scipy, side by side in one run: python -m benchmarks.distance."""

import argparse
import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.datasets import load_breast_cancer, make_classification

from benchmarks import peers
from benchmarks.peers import TOLERANCE, check_agreement, dt_seconds, timed, timed_in_turns
from holdfast import Feature, GrowthRules, Table, Tree
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.distance import distance_matrix, mean_distance
from holdfast.distance.packing import pack
from holdfast.growth import grow_bootstraps
from holdfast.parallel.tasks import run_all
from holdfast.tree.tree import LEAF

GROWN = 500  # trees of each collection, duplicates included
SCIPY_PAIRS = 200
console = Console(width=150)


# -- trees ------------------------------------------------------------------------------------------------


def data_sets() -> dict[str, Table]:
    return {
        "breast cancer 569 x 30": Table.from_arrays(*load_breast_cancer(return_X_y=True)),
        "synthetic 5,000 x 30": Table.from_arrays(
            *make_classification(5_000, 30, n_informative=10, random_state=0)
        ),
    }


def distinct(trees: Sequence[Tree]) -> list[Tree]:
    """One of each kind: distance_matrix measures equal trees only once, which would flatter it."""
    kinds: dict[tuple[bytes, ...], Tree] = {}
    for tree in trees:
        labels = tree.outcome[tree.feature == LEAF]
        kinds.setdefault((tree.feature.tobytes(), tree.threshold.tobytes(), labels.tobytes()), tree)
    return list(kinds.values())


def mean_leaves(trees: Sequence[Tree]) -> float:
    return float(np.mean([tree.n_leaves for tree in trees]))


# -- measuring --------------------------------------------------------------------------------------------


def peak_memory(work: Callable[[], object]) -> float:
    """Megabytes that the process held during the work more than before it; NaN where Linux does not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
        before = _megabytes("VmRSS")
        work()
        return _megabytes("VmHWM") - before
    except OSError:
        return np.nan


def hash_much(n_jobs: int) -> None:
    """Work that surely runs side by side, to see what threads can gain: others may be using the cores."""
    text = bytes(20_000_000)
    run_all(lambda _: hashlib.sha256(text).digest(), range(8), n_jobs)


def _megabytes(entry: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(entry)) / 1024


# -- the comparison ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Seconds: for a pair, and for a matrix of `size` trees times `size` others."""

    leaves: float
    n_distinct: int
    size: int
    dt_distance: float
    broadcast: float
    stacked: float
    packing: float
    ours: float
    ours_parallel: float
    hashing_speed_up: float

    @property
    def n_pairs(self) -> int:
        return self.size**2

    @property
    def ratios(self) -> tuple[float, float, float]:
        """dt-distance and the faster scipy to ours on one thread; and one thread to several."""
        scipy, ours = min(self.broadcast, self.stacked), self.ours / self.n_pairs
        return self.dt_distance / ours, scipy / ours, self.ours / self.ours_parallel


def compare(table: Table, depth: int, n_jobs: int) -> Comparison:
    """Distinct trees of the table against others, all ways; ends the run if two ways disagree."""
    label_weight = 2.0 * depth
    trees = distinct(grow_bootstraps(table, GrowthRules(max_depth=depth), GROWN, n_jobs=n_jobs))
    size = min(len(trees) // 2, int(np.clip(6_000 / mean_leaves(trees), 40, 200)))
    a, b = trees[:size], trees[size : 2 * size]
    pairs = np.random.default_rng(0).integers(0, size, (min(SCIPY_PAIRS, size**2), 2))
    boxes = peers.collection_boxes(a + b)
    chosen = [(boxes[i], boxes[size + j]) for i, j in pairs]
    distance_settings = DistanceSettings("paper", "label", label_weight, depth, False)
    works = {
        "packing": lambda: pack(a + b, distance_settings),
        "ours": lambda: distance_matrix(a, b, label_weight=label_weight, n_jobs=1),
        "parallel": lambda: distance_matrix(a, b, label_weight=label_weight, n_jobs=n_jobs),
        "hashing": lambda: hash_much(1),
        "hashing, parallel": lambda: hash_much(n_jobs),
        "broadcast": lambda: peers.assigned_distances(chosen, label_weight, peers.broadcast_costs),
        "stacked": lambda: peers.assigned_distances(chosen, label_weight, peers.stacked_costs),
    }
    best = timed_in_turns(works)
    seconds = {name: entry[0] for name, entry in best.items()}
    matrix = best["ours"][1]
    assert np.array_equal(matrix, best["parallel"][1])
    for way in ("broadcast", "stacked"):
        check_agreement(matrix[pairs[:, 0], pairs[:, 1]], best[way][1], TOLERANCE, "scipy")
    return Comparison(
        leaves=mean_leaves(trees),
        n_distinct=len(trees),
        size=size,
        dt_distance=dt_seconds(a, b, pairs[: int(np.clip(40_000 / mean_leaves(a) ** 2, 1, 5))]),
        broadcast=seconds["broadcast"] / len(pairs),
        stacked=seconds["stacked"] / len(pairs),
        packing=seconds["packing"],
        ours=seconds["ours"],
        ours_parallel=seconds["parallel"],
        hashing_speed_up=seconds["hashing"] / seconds["hashing, parallel"],
    )


def show(rows: dict[tuple[str, int], Comparison], n_jobs: int) -> None:
    pair = Grid(
        title="microseconds a pair, one thread; ratios to holdfast, packing included; scipy: the faster"
    )
    matrix = Grid(
        title="milliseconds a matrix, scipy's from its time a pair; hashing: what threads can gain now"
    )
    of_peers = ["dt-distance", "numpy + scipy", "cdist + scipy"]
    of_pair = [*of_peers, "holdfast", "of it packing", "dt ratio", "scipy ratio"]
    of_matrix = [f"distinct of {GROWN}", "matrix", "scipy", "1 thread"]
    of_matrix += [f"{n_jobs} threads", "speed-up", "of hashing"]
    for grid, columns in ((pair, of_pair), (matrix, of_matrix)):
        grid.add_column("data", no_wrap=True)
        for column in ["depth", "leaves", *columns]:
            grid.add_column(column, justify="right")
    for (name, depth), row in rows.items():
        by_dt, by_scipy, speed_up = row.ratios
        start = (name, str(depth), f"{row.leaves:.0f}")
        per_pair = (row.dt_distance, row.broadcast, row.stacked, row.ours / row.n_pairs)
        micro = [f"{1e6 * seconds:,.1f}" for seconds in (*per_pair, row.packing / row.n_pairs)]
        pair.add_row(*start, *micro, f"{by_dt:,.0f}x", f"[bold]{by_scipy:.1f}x")
        scipy = min(row.broadcast, row.stacked) * row.n_pairs
        milli = [f"{1e3 * seconds:,.1f}" for seconds in (scipy, row.ours, row.ours_parallel)]
        size, speed_ups = f"{row.size} x {row.size}", (f"{speed_up:.2f}x", f"{row.hashing_speed_up:.2f}x")
        matrix.add_row(*start, str(row.n_distinct), size, *milli, *speed_ups)
    console.print(pair, matrix)


# -- further questions ------------------------------------------------------------------------------------


def many_pairs(table: Table, n_jobs: int, size: int = 1_000) -> None:
    trees = grow_bootstraps(table, GrowthRules(max_depth=5), 2 * size, n_jobs=n_jobs)
    seconds, _ = timed(lambda: distance_matrix(trees[:size], trees[size:], n_jobs=n_jobs), 1)
    console.print(
        f"{size:,} x {size:,} trees of depth 5 ({len(distinct(trees)):,} of {2 * size:,} distinct, "
        f"{mean_leaves(trees):.0f} leaves), {n_jobs} threads: [bold]{seconds:.1f} s"
    )


def wide_schema(table: Table, width: int = 1_000, size: int = 100) -> None:
    """What columns cost that no tree asks about."""
    trees = grow_bootstraps(table, GrowthRules(max_depth=4), 2 * size)
    features = table.schema.features
    unused = tuple(Feature(f"unused{k}") for k in range(width - len(features)))
    schema = replace(table.schema, features=features + unused)
    wide = [tree.with_schema(schema) for tree in trees]
    narrow_seconds, narrow = timed(lambda: distance_matrix(trees[:size], trees[size:]), 7)
    wide_seconds, again = timed(lambda: distance_matrix(wide[:size], wide[size:]), 7)
    assert np.array_equal(narrow, again)
    asked = np.mean([len(np.unique(tree.feature)) - 1 for tree in trees])
    console.print(
        f"{width:,} features / {len(features)}, the same {size} x {size} trees, about {asked:.0f} in each: "
        f"{1e3 * wide_seconds:.1f} / {1e3 * narrow_seconds:.1f} ms = "
        f"[bold]{wide_seconds / narrow_seconds:.2f}x"
    )


def large_pair(n_leaves: int) -> None:
    """Two trees of noise, which grow as large as they may."""
    random = np.random.default_rng(0)
    n_rows = 10 * n_leaves
    table = Table.from_arrays(random.normal(size=(n_rows, 10)), random.integers(0, 2, n_rows))
    a, b = grow_bootstraps(table, GrowthRules(max_leaf_nodes=n_leaves), 2)
    label_weight = 2.0 * max(a.depth, b.depth)
    repeats = 5 if n_leaves < 1_000 else 1
    memory = peak_memory(lambda: distance_matrix([a], [b], label_weight=label_weight))
    ours, total = timed(lambda: distance_matrix([a], [b], label_weight=label_weight), repeats)
    boxes = peers.collection_boxes([a, b])
    scipy, theirs = timed(lambda: peers.assigned_distance(*boxes, label_weight, peers.stacked_costs), repeats)
    check_agreement(total[0], [theirs], TOLERANCE, "scipy")
    console.print(
        f"a pair of {a.n_leaves:,} and {b.n_leaves:,} leaves, depth {a.depth} and {b.depth}: "
        f"{1e3 * ours:,.1f} ms, peak memory + {memory:,.1f} MB; "
        f"cdist + scipy {1e3 * scipy:,.1f} ms = [bold]{scipy / ours:.1f}x"
    )


def limited_means(table: Table, size: int = 200) -> None:
    """What knowing a limit saves: lower bounds rule out candidates before any assignment."""
    trees = distinct(grow_bootstraps(table, GrowthRules(max_depth=5), 2 * size))
    candidates, references = trees[: len(trees) // 2], trees[len(trees) // 2 :]
    full, means = timed(lambda: mean_distance(candidates, references))
    for share in (0.05, 0.5):
        limit = float(np.quantile(means, share))
        seconds, limited = timed(lambda limit=limit: mean_distance(candidates, references, at_most=limit))
        assert np.array_equal(limited[means <= limit], means[means <= limit])
        console.print(
            f"mean distance of {len(candidates)} candidates to {len(references)} references, at most the "
            f"{share:.0%} quantile: {1e3 * seconds:.0f} ms, {np.isinf(limited).mean():.0%} given up; "
            f"without a limit {1e3 * full:.0f} ms = [bold]{full / seconds:.1f}x"
        )


# -- the run ----------------------------------------------------------------------------------------------


def first_call() -> None:
    trees = grow_bootstraps(Table.from_arrays([[0.0], [1.0], [2.0]], ["a", "b", "a"]), n_estimators=4)
    seconds, _ = timed(lambda: mean_distance(trees[:2], trees[2:], at_most=100.0), 1)
    console.print(f"first call, with compiling or loading the kernels: {seconds:.2f} s (not counted below)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without 1,000 x 1,000 trees and 4,000 leaves")
    parser.add_argument("--data", default="", help="only data sets whose name holds this text")
    parser.add_argument("--depths", default="3,5,7,10", help="greatest depths, comma-separated")
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    first_call()
    tables = data_sets()
    rows = {}
    for name in (name for name in tables if options.data in name):
        for depth in map(int, options.depths.split(",")):
            rows[name, depth] = row = compare(tables[name], depth, options.n_jobs)
            console.print(f"  {name}, depth {depth}: agree; {row.ratios[1]:.1f}x", style="dim")
    show(rows, options.n_jobs)
    synthetic = list(tables.values())[-1]
    wide_schema(synthetic)
    limited_means(synthetic)
    for n_leaves in (300,) if options.quick else (300, 4_000):
        large_pair(n_leaves)
    if not options.quick:
        many_pairs(synthetic, options.n_jobs)


if __name__ == "__main__":
    main()
