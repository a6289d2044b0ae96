"""Two leaves of one node that predict the same class say no more than one."""

import numpy as np

from holdfast.adapters import as_tree
from holdfast.errors import ParameterError
from holdfast.tree.prune import prune_at
from holdfast.tree.tree import LEAF, Tree


def merge_leaves(tree: Tree) -> Tree:
    """Merge sibling leaves of the same class until all siblings differ.

    Parameters
    ----------
    tree : Tree
        A classification tree.

    Returns
    -------
    Tree
        Predicts the same classes, with other fractions.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [2.0], [3.0]], ["a", "a", "b", "a"]))
    >>> tree.n_leaves, merge_leaves(tree).n_leaves
    (3, 1)
    """
    tree = as_tree(tree)
    if not tree.schema.target.is_classes:
        raise ParameterError(
            f"merge_leaves compares classes, and the target {tree.schema.target.name!r} is a number: "
            "leave it out."
        )
    is_leaf = tree.feature == LEAF
    outcome, left, right = tree.outcome.tolist(), tree.left.tolist(), tree.right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # preorder: children stand after their parent
        if left[node] != LEAF and is_leaf[left[node]] and is_leaf[right[node]]:
            is_leaf[node] = outcome[left[node]] == outcome[right[node]]
    return prune_at(tree, np.asarray(is_leaf))
