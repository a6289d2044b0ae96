"""Reduced-error pruning: a subtree stays only if rows that it was not grown on speak for it."""

from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.canonical import canonical
from holdfast.data.splits import below, check_share, places, read_groups, strata_of
from holdfast.data.table import Table
from holdfast.errors import RulesError
from holdfast.growth.grow import grow_samples
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import measure
from holdfast.growth.values import with_values
from holdfast.scoring.formulas import LEAST
from holdfast.tree.prune import cut_back
from holdfast.tree.sums import add_upwards
from holdfast.tree.tree import LEAF, Tree

_HELD_OUT = 41  # the branch of the seed that divides the rows


def prune_reduced_error(tree: Tree, table: Table) -> Tree:
    """The smallest of the subtrees that err least on the rows of the table, which must be new to the tree.

    Errors are rows of another class than the leaf predicts; for numbers, squared error or, of a tree grown by
    "poisson", the deviance. The values of the nodes stay as they are.

    >>> from holdfast import grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "a"]))
    >>> new = Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "a", "a"], schema=tree.schema)
    >>> prune_reduced_error(tree, new).n_leaves
    1
    """
    losses = _node_losses(tree, table)
    loss, nearest = losses.tolist(), 1e-12 * float(np.abs(losses).max())
    is_leaf = np.zeros(tree.n_nodes, np.bool_)
    left, right = tree.left.tolist(), tree.right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # preorder: children stand after their parent
        if left[node] == LEAF:
            continue
        below = loss[left[node]] + loss[right[node]]
        if loss[node] <= below + nearest:
            is_leaf[node] = True
        else:
            loss[node] = below
    return cut_back(tree, is_leaf)


def grow_reduced_error(
    table: Table,
    rules: GrowthRules = CART,
    share: float = 0.3,
    *,
    groups: Any = None,
    seed: int = 0,
) -> Tree:
    """The tree that the rules grow on part of the rows, pruned by the rest, with values from all of them.

    The share that is held out is drawn by the seed, evenly from all classes; rows of one group stay together,
    and the order of the rows does not matter.
    """
    check_share("reduced_error", share)
    marks = [] if groups is None else [read_groups(groups, table.n_rows)]
    table, marks, units = canonical(table, marks)
    groups = units if groups is None else np.unique(marks[0], return_inverse=True)[1]
    held_out = below(places(strata_of(table), groups, (seed, _HELD_OUT)), share)
    measured = measure(table, rules)
    if held_out.all():  # a single row, or group
        return grow_samples(table, rules, measured, [measured.repeats], [seed])[0]
    counts = (measured.repeats * ~held_out).astype(np.int32)
    tree = grow_samples(table, rules, measured, [counts], [seed])[0]
    smaller = prune_reduced_error(tree, table.taken(held_out))
    return with_values(smaller, table, measured, measured.repeats, rules.criterion)


def _node_losses(tree: Tree, table: Table) -> FloatArray:
    """What every node would lose on the rows that reach it, were it a leaf."""
    if tree.schema.target.classes != table.schema.target.classes:
        raise RulesError(
            "The rows to prune by have other classes than the tree: read them with schema=tree.schema."
        )
    leaves = tree.apply(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if tree.schema.target.is_classes:
        of_class = np.zeros((tree.n_nodes, len(tree.schema.target.classes)))
        np.add.at(of_class, (leaves, table.target), weight)
        add_upwards(tree, of_class)
        return np.asarray(of_class.sum(axis=1) - of_class[np.arange(tree.n_nodes), tree.outcome], np.float64)
    # Sums of 1, y and y squared, from the mean of the root, say what any number loses.
    middle = float(tree.value[0, 0]) if tree.criterion != "poisson" else 0.0
    y = table.target - middle
    sums = np.zeros((tree.n_nodes, 3))
    np.add.at(sums, leaves, np.column_stack([weight, weight * y, weight * y * y]))
    add_upwards(tree, sums)
    value = tree.value[:, 0] - middle
    if tree.criterion == "poisson":
        # The deviance, but for what does not depend on the prediction, which all leaves have in common.
        return np.asarray(2.0 * (sums[:, 0] * value - sums[:, 1] * np.log(np.maximum(value, LEAST))))
    return np.asarray(sums[:, 2] - 2.0 * value * sums[:, 1] + value * value * sums[:, 0], np.float64)
