"""Leaves keep their class unless the rows speak clearly for another one.

A leaf that says 0.49 and after an update 0.51 gives every row in it another class for next to nothing. Its
value stays at one half then, or where its classes cost the same, with the class that it had, as long as that
costs little enough fit.
"""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, frozen
from holdfast.stability.methods.centred import Taught
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.outcome import set_outcome
from holdfast.tree.paths import find_common_leaves
from holdfast.tree.threshold import decision_threshold
from holdfast.tree.tree import LEAF, Tree

CLEAR = 0.9  # of the rows of a leaf that had one class before: that is the class of the leaf


def steadied(tree: Tree, deployed: Tree, rows: Taught, budget: float) -> Tree:
    """The tree with the classes of the deployed one, in as many leaves as the budget of squared error allows.

    For two classes; the cheapest leaves come first. Of other targets the tree is as it was.
    """
    if len(tree.schema.target.classes) != 2:
        return tree
    before = _classes_before(tree, deployed, rows)
    leaves = np.flatnonzero((tree.feature == LEAF) & (before >= 0) & (before != tree.outcome))
    tied = decision_threshold(tree, 1)
    cost = _weight(tree, rows)[leaves] * (tree.value[leaves, 1] - tied) ** 2
    order = leaves[np.argsort(cost, kind="stable")]
    kept = order[np.cumsum(np.sort(cost, kind="stable")) <= budget]
    if not len(kept):
        return tree
    value, outcome = tree.value.copy(), tree.outcome.copy()
    value[kept], outcome[kept] = (1.0 - tied, tied), before[kept]
    steady = set_outcome(tree.replace(value=frozen(value), given_outcome=None), outcome)
    return enforce_monotonicity(steady, find_common_leaves(steady, deployed))


def _classes_before(tree: Tree, deployed: Tree, rows: Taught) -> IntArray:
    """For every leaf the class that its rows had before, nearly all of them; -1 if there is none."""
    table = rows.lesson.table
    leaf, said = tree.apply(table), deployed.outcome[deployed.apply(table)]
    total = _weight(tree, rows)
    second = np.bincount(leaf, rows.lesson.weight * said, tree.n_nodes)
    share = second / np.maximum(total, np.finfo(np.float64).tiny)
    found = np.where(share >= CLEAR, 1, np.where(share <= 1.0 - CLEAR, 0, -1))
    return np.where(total > 0, found, -1).astype(np.int32)


def _weight(tree: Tree, rows: Taught) -> FloatArray:
    """The weight of the rows of every leaf, as the lesson counts them."""
    return np.bincount(tree.apply(rows.lesson.table), rows.lesson.weight, tree.n_nodes).astype(np.float64)
