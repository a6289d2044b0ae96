"""How many rows of each class reached every node: what natural frequencies and intervals are made from."""

from holdfast.arrays import FloatArray, frozen
from holdfast.tree.tree import Tree


def class_counts(tree: Tree) -> FloatArray:
    """Rows of each class at every node, as (nodes, classes), in training."""
    return frozen(tree.value * tree.count[:, None])
