"""Splits that few reference trees make."""

import numpy as np

from holdfast.tree.tree import Tree

LEAST_SUPPORT = 0.1  # share of the reference trees below which a split is marked


def find_weak_splits(tree: Tree) -> dict[int, float]:
    """Return the support of splits where it is low, by node."""
    if tree.split_support is None:
        return {}
    nodes = np.flatnonzero(tree.split_support < LEAST_SUPPORT)  # NaN is not
    return {node: float(tree.split_support[node]) for node in nodes.tolist()}
