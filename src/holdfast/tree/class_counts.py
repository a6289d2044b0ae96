"""What the rows of every node were: how many of each class, or their mean, whatever the tree predicts."""

import numpy as np

from holdfast.arrays import FloatArray, frozen
from holdfast.tree.tree import Tree

ALIKE = 1e-6  # rows: counts that are this near to those that the values tell


def class_counts(tree: Tree) -> FloatArray:
    """Return the number of rows of each class at every node.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)
        Numbers of rows, whatever their weights or a teacher's predictions. After an update they include
        earlier rows. For a tree of another library they follow from its fractions and counts.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> class_counts(grow(Table.from_arrays([[1.0], [2.0], [2.0]], ["no", "no", "yes"])))[0]
    array([2., 1.])
    """
    if tree.observed is not None:
        return tree.observed
    return frozen(tree.value * tree.count[:, None])


def set_class_counts(tree: Tree, counts: FloatArray) -> Tree:
    """Set the class counts of the nodes; stored only where the values do not imply them."""
    told = tree.value * tree.count[:, None]
    is_told = bool((np.abs(told - counts) <= ALIKE).all())
    return tree.replace(observed=None if is_told else counts)


def keep_own_counts(tree: Tree) -> Tree:
    """Store the class counts before the values are changed."""
    if tree.schema.target.is_classes:
        return tree.replace(observed=class_counts(tree))
    return tree.replace(rows_mean=tree.observed_mean)
