"""The class that every node predicts: its most frequent one; of several such, that of the nodes above."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from holdfast.tree.tree import Tree


def majority(tree: "Tree") -> IntArray:
    """Index of the most frequent class at every node.

    Of tied classes it is the one that is most frequent at the parent; of those tied there too, at its parent,
    and so on. Classes that are tied up to the root go by their order in the schema. So a name decides nothing
    where any node above has a majority.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [1.0], [2.0]], ["a", "b", "b"]))
    >>> tree.value[1].tolist(), majority(tree).tolist()
    ([0.5, 0.5], [1, 1, 1])
    """
    outcome: IntArray = tree.value.argmax(axis=1).astype(np.int32)
    tied = _largest(tree.value)
    nodes = np.flatnonzero(tied.sum(axis=1) > 1)
    tied, above = tied[nodes], nodes.astype(np.int32)
    while len(nodes):
        above = tree.parent[above]
        is_below = above >= 0
        nodes, tied, above = nodes[is_below], tied[is_below], above[is_below]
        tied = _largest(np.where(tied, tree.value[above], -1.0))
        outcome[nodes] = tied.argmax(axis=1)
        is_open = tied.sum(axis=1) > 1
        nodes, tied, above = nodes[is_open], tied[is_open], above[is_open]
    return outcome


def with_outcome(tree: "Tree", outcome: IntArray | LongArray) -> "Tree":
    """The tree with this class at every node, one of its most frequent ones."""
    is_majority = np.array_equal(outcome, majority(tree))
    return tree.replace(given_outcome=None if is_majority else outcome.astype(np.int32))


def _largest(value: FloatArray) -> BoolArray:
    """True for the greatest number of each row, or for all that equal it."""
    return np.asarray(value == value.max(axis=1, keepdims=True), np.bool_)
