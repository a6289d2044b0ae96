"""Medians and quantiles against scikit-learn and LightGBM, in one run: python -m benchmarks.quantiles.

Ratios of times, measured in turn. Trees: absolute error against scikit-learn's, whose search is O(n log n).
Boosting: quantiles against LightGBM's, with the loss on new rows.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.metrics import mean_pinball_loss
from sklearn.tree import DecisionTreeRegressor

from holdfast import BoostingRegressor, TreeRegressor
from holdfast._arrays import FloatArray

console = Console(width=110)


def rows(n: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Ten columns, of which four matter, and a target with heavy tails."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    y = 2 * X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + random.standard_t(2, size=n)
    return X, y


def in_turn(works: list[Callable[[], Any]], repeats: int) -> tuple[list[float], list[Any]]:
    """The shortest time of each, in seconds, taken in turn so that others' work hits all; the results."""
    times, results = [[] for _ in works], [None] * len(works)
    for _ in range(repeats):
        for place, work in enumerate(works):
            start = time.perf_counter()
            results[place] = work()
            times[place].append(time.perf_counter() - start)
    return [min(each) for each in times], results


def trees(sizes: list[int], repeats: int) -> None:
    """One tree by absolute error, of ours and of scikit-learn's."""
    grid = Grid(title="one tree by absolute error", title_justify="left")
    for heading in ("rows", "depth", "ours, s", "scikit-learn, s", "ratio", "our error", "theirs"):
        grid.add_column(heading, justify="right")
    for n in sizes:
        X, y = rows(n)
        for depth in (6, None):
            limits: dict[str, Any] = {
                "criterion": "absolute_error",
                "max_depth": depth,
                "min_samples_leaf": 5,
            }
            (ours, theirs), models = in_turn(
                [
                    lambda X=X, y=y, limits=limits: TreeRegressor(**limits).fit(X, y),
                    lambda X=X, y=y, limits=limits: DecisionTreeRegressor(**limits, random_state=0).fit(X, y),
                ],
                repeats,
            )
            errors = [f"{np.abs(model.predict(X) - y).mean():.4f}" for model in models]
            grid.add_row(
                f"{n:,}", str(depth), f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}", *errors
            )
    console.print(grid)


def boosting(n: int, repeats: int) -> None:
    """A hundred rounds, of ours and of LightGBM's."""
    grid = Grid(title=f"boosting, {n:,} rows, 100 rounds of 31 leaves", title_justify="left")
    for heading in ("quantile", "ours, s", "LightGBM, s", "ratio", "our loss", "theirs"):
        grid.add_column(heading, justify="right")
    X, y = rows(n)
    new_X, new_y = rows(20_000, seed=1)
    for quantile in (0.5, 0.9):
        (ours, theirs), models = in_turn(
            [lambda q=quantile: _ours(q).fit(X, y), lambda q=quantile: _theirs(q).fit(X, y)], repeats
        )
        losses = [f"{mean_pinball_loss(new_y, model.predict(new_X), alpha=quantile):.4f}" for model in models]
        grid.add_row(str(quantile), f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}", *losses)
    console.print(grid)


def _ours(quantile: float) -> BoostingRegressor:
    return BoostingRegressor(
        loss="quantile", quantile=quantile, max_depth=None, max_leaf_nodes=31, min_samples_leaf=20, n_jobs=2
    )


def _theirs(quantile: float) -> Any:
    return lightgbm.LGBMRegressor(objective="quantile", alpha=quantile, n_jobs=2, verbose=-1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also a hundred thousand rows")
    full = parser.parse_args().full
    TreeRegressor(criterion="absolute_error").fit(*rows(50))  # compile
    _ours(0.5).set_params(splits="binned").fit(*rows(200))
    trees([1_000, 10_000, 100_000] if full else [1_000, 10_000], repeats=3)
    boosting(100_000 if full else 20_000, repeats=2)


if __name__ == "__main__":
    main()
