"""The class that every node predicts: its most frequent one, or the one of least expected loss.

Of several such it is that of the nodes above.
"""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray, without_last_digits

if TYPE_CHECKING:
    from holdfast.tree.tree import Tree


def majority(tree: "Tree") -> IntArray:
    """Return the index of the most frequent class of every node, or of the one of least expected loss.

    Of tied classes it is the one that is most frequent at the parent; of those tied there too, at its parent,
    and so on. Classes that are tied up to the root go by their order in the schema. So a name decides nothing
    where any node above has a majority.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [1.0], [2.0]], ["a", "b", "b"]))
    >>> tree.value[1].tolist(), majority(tree).tolist()
    ([0.5, 0.5], [1, 1, 1])
    >>> majority(tree.replace(loss_matrix=np.array([[0.0, 5.0], [1.0, 0.0]]))).tolist()
    [0, 0, 1]
    """
    merit = score_classes(tree.value, tree.loss_matrix)
    outcome: IntArray = merit.argmax(axis=1).astype(np.int32)
    tied = _largest(merit)
    nodes = np.flatnonzero(tied.sum(axis=1) > 1)
    tied, above = tied[nodes], nodes.astype(np.int32)
    while len(nodes):
        above = tree.parent[above]
        is_below = above >= 0
        nodes, tied, above = nodes[is_below], tied[is_below], above[is_below]
        tied = _largest(np.where(tied, merit[above], -np.inf))
        outcome[nodes] = tied.argmax(axis=1)
        is_open = tied.sum(axis=1) > 1
        nodes, tied, above = nodes[is_open], tied[is_open], above[is_open]
    return outcome


def score_classes(value: FloatArray, loss_matrix: FloatArray | None) -> FloatArray:
    """Score the classes, (rows, classes): by fraction, or by minus the expected loss.

    >>> score_classes(np.array([[0.75, 0.25]]), np.array([[0.0, 1.0], [4.0, 0.0]]))
    array([[-1.  , -0.75]])
    """
    return value if loss_matrix is None else without_last_digits(-expected_losses(value, loss_matrix))


def expected_losses(value: FloatArray, loss_matrix: FloatArray) -> FloatArray:
    """Compute the expected loss of predicting each class from class fractions."""
    return np.asarray((value[:, :, np.newaxis] * loss_matrix).sum(axis=1), np.float64)


def set_outcome(tree: "Tree", outcome: IntArray | LongArray) -> "Tree":
    """Set the predicted class of every node, which must be one of its most frequent."""
    is_majority = np.array_equal(outcome, majority(tree))
    return tree.replace(given_outcome=None if is_majority else outcome.astype(np.int32))


def _largest(merit: FloatArray) -> BoolArray:
    """Flag the greatest numbers of each row."""
    return np.asarray(merit == merit.max(axis=1, keepdims=True), np.bool_)
