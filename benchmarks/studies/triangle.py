"""How often real trees break the triangle inequality: python -m benchmarks.studies.triangle."""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer

from holdfast import GrowthRules, Table, Tree
from holdfast.distance.distance import distance_matrix
from holdfast.growth import grow_bootstraps

DEPTHS = (1, 2, 3, 4, 5, None)
TREES_PER_DEPTH = 40
TRIPLES = 200_000
TOLERANCE = 1e-9


def bootstrap_trees(n_jobs: int) -> list[Tree]:
    """Trees of several depths, all of one table."""
    table = Table.from_arrays(*load_breast_cancer(return_X_y=True))
    return [
        tree
        for depth in DEPTHS
        for tree in grow_bootstraps(table, GrowthRules(max_depth=depth), TREES_PER_DEPTH, n_jobs=n_jobs)
    ]


def detours(matrix: np.ndarray, triples: np.ndarray) -> np.ndarray:
    """By how much the direct way of each triple is longer than the way through its middle tree."""
    start, middle, end = triples.T
    return matrix[start, end] - matrix[start, middle] - matrix[middle, end]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-jobs", type=int, default=2)
    n_jobs = parser.parse_args().n_jobs
    trees = bootstrap_trees(n_jobs)
    leaves = [tree.n_leaves for tree in trees]
    print(f"{len(trees)} bootstrap trees of breast cancer with {min(leaves)} to {max(leaves)} leaves")
    triples = np.random.default_rng(0).integers(0, len(trees), (TRIPLES, 3))
    for matching in ("paper", "metric"):
        excess = detours(distance_matrix(trees, matching=matching, n_jobs=n_jobs), triples)
        count = np.count_nonzero(excess > TOLERANCE)
        print(
            f"{matching:>6}: {count:,} of {TRIPLES:,} triples break it ({count / TRIPLES:.2%}); "
            f"there the direct way is longer by up to {max(excess.max(), 0.0):.3g}"
        )


if __name__ == "__main__":
    main()
