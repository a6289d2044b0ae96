"""Clusters of unlabelled data next to k-means and Gaussian mixtures: python -m benchmarks.studies.density.

The first table says how many clusters are found in data of which the number is known. The second compares
with the true classes of iris and wine, which no method sees. Every figure is a mean over seeds: of the rows
held out for DensityTree, of the starts for the others.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from holdfast.estimators.density import DensityTree
from holdfast.scoring.scorers import nmi_score, purity_score

THREE = np.array([(0.0, 0.0), (8.0, 0.0), (0.0, 8.0)])
N_CLASSES = 3

Fitted = Callable[[np.ndarray, int], np.ndarray]  # rows and a seed to clusters


# -- how many clusters ------------------------------------------------------------------------------------


def known_data(seed: int, n_rows: int) -> Iterator[tuple[str, np.ndarray]]:
    generator = np.random.default_rng(seed)
    centres = THREE[np.arange(n_rows) % 3]
    slope = np.array([[1.0, 0.95], [0.95, 1.0]])
    wide = np.arange(n_rows) % 2 * 4.8 + 0.2
    yield "1 Gaussian, 2 columns", generator.normal(size=(n_rows, 2))
    yield "1 Gaussian, 10 columns", generator.normal(size=(n_rows, 10))
    yield "1 Gaussian, correlation 0.95", generator.multivariate_normal([0, 0], slope, n_rows)
    yield "1 uniform square", generator.uniform(size=(n_rows, 2))
    yield "1 pair of dice", generator.integers(1, 7, (n_rows, 2)).astype(float)
    yield "3 Gaussians, 8 deviations apart", generator.normal(centres, 1.0)
    yield "3 Gaussians, 4 deviations apart", generator.normal(centres / 2, 1.0)
    yield "1 narrow inside 1 wide Gaussian", generator.normal(0.0, wide)[:, None]
    yield "1 pair of exponentials", generator.exponential(size=(n_rows, 2))


def count_grid(n_rows: int, n_seeds: int) -> Grid:
    grid = Grid(title=f"Clusters found in {n_rows} rows: how often of {n_seeds}")
    for head in ("true", "diagonal", "full"):
        grid.add_column(head, no_wrap=True)
    found: dict[str, tuple[Counter[int], Counter[int]]] = {}
    for seed in range(n_seeds):
        for name, X in known_data(seed, n_rows):
            counters = found.setdefault(name, (Counter(), Counter()))
            for counter, covariance in zip(counters, ("diagonal", "full"), strict=True):
                counter[DensityTree(covariance=covariance, random_state=seed).fit(X).n_clusters_] += 1
    for name, counters in found.items():
        grid.add_row(name, *map(counter_text, counters))
    return grid


def counter_text(counter: Counter[int]) -> str:
    return ", ".join(f"{n_clusters}: {times}" for n_clusters, times in sorted(counter.items()))


# -- known classes ----------------------------------------------------------------------------------------


def density(X: np.ndarray, seed: int, **parameters: Any) -> np.ndarray:
    return DensityTree(random_state=seed, **parameters).fit(X).labels_


def k_means(X: np.ndarray, seed: int) -> np.ndarray:
    return KMeans(N_CLASSES, n_init=10, random_state=seed).fit(StandardScaler().fit_transform(X)).labels_


def mixture(X: np.ndarray, seed: int, kind: str) -> np.ndarray:
    model = GaussianMixture(N_CLASSES, covariance_type=kind, n_init=10, random_state=seed)
    return model.fit_predict(StandardScaler().fit_transform(X))


def methods() -> dict[str, Fitted]:
    found: dict[str, Fitted] = {}
    for kind in ("diagonal", "full"):
        found[f"DensityTree, {kind}"] = partial(density, covariance=kind)
        found[f"  at most 3 clusters, {kind}"] = partial(density, covariance=kind, max_leaf_nodes=3)
        found[f"  exactly 3, nothing held out, {kind}"] = partial(
            density, covariance=kind, max_leaf_nodes=3, validation=None
        )
    found["k-means, 3"] = k_means
    found["Gaussian mixture, 3, diagonal"] = partial(mixture, kind="diag")
    found["Gaussian mixture, 3, full"] = partial(mixture, kind="full")
    return found


def agreement_grid(name: str, X: np.ndarray, y: np.ndarray, n_seeds: int) -> Grid:
    grid = Grid(title=f"{name}: {len(X)} rows, 3 classes, {n_seeds} seeds")
    for head in ("method", "clusters", "purity", "NMI"):
        grid.add_column(head, justify="left" if head == "method" else "right", no_wrap=True)
    for method, fitted in methods().items():
        all_labels = [fitted(X, seed) for seed in range(n_seeds)]
        figures = np.array(
            [(len(set(each.tolist())), purity_score(y, each), nmi_score(y, each)) for each in all_labels]
        )
        means, deviations = figures.mean(axis=0), figures.std(axis=0)
        cells = [f"{means[0]:.1f} ± {deviations[0]:.1f}"]
        cells += [
            f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(means[1:], deviations[1:], strict=True)
        ]
        grid.add_row(method, *cells)
    leaves = DecisionTreeClassifier(max_leaf_nodes=N_CLASSES, random_state=0).fit(X, y).apply(X)
    scores = purity_score(y, leaves), nmi_score(y, leaves)
    grid.add_row("a tree of 3 leaves that sees the classes", "3", *(f"{score:.3f}" for score in scores))
    return grid


def speed_lines() -> Iterator[str]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 10)) + 8 * generator.integers(0, 2, 20_000)[:, None]
    for covariance in ("diagonal", "full"):
        started = time.perf_counter()
        model = DensityTree(covariance=covariance).fit(X)
        seconds = time.perf_counter() - started
        yield f"20,000 rows of 10 columns, {covariance}: {model.n_clusters_} clusters in {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 seeds only")
    quick = parser.parse_args().quick
    console = Console(width=120)
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        console.print(agreement_grid(name, *load(return_X_y=True), n_seeds=3 if quick else 20))
    for n_rows in (300, 1000):
        console.print(count_grid(n_rows, n_seeds=3 if quick else 30))
    for line in speed_lines():
        console.print(line)


if __name__ == "__main__":
    main()
