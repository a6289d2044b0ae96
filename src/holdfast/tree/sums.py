"""What leaves hold, added up to all nodes above them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.tree.tree import Tree


def add_to_ancestors(tree: Tree, sums: NDArray[Any]) -> None:
    """Add the numbers of every node to all nodes above it, in place."""
    by_depth = np.argsort(tree.node_depth, kind="stable")
    ends = np.cumsum(np.bincount(tree.node_depth))
    for level in range(tree.depth, 0, -1):
        nodes = by_depth[ends[level - 1] : ends[level]]
        np.add.at(sums, tree.parent[nodes], sums[nodes])
