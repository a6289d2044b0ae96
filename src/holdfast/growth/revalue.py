"""The same questions, with leaf values from other rows than those that the tree was grown on."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from holdfast.arrays import BoolArray, IntArray, LongArray
from holdfast.data.table import Table
from holdfast.growth.bootstrap import LEAST_SHARED
from holdfast.growth.grow import node_values
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import Units, measure_all
from holdfast.kernels import grow as kernels
from holdfast.parallel import run_all
from holdfast.tree.tree import LEAF, Tree

_NO_ROWS, _NO_FIELDS = np.empty(0, np.int32), np.empty((0, kernels.N_FIELDS), np.int64)


def revalued(tree: Tree, table: Table, rules: GrowthRules) -> Tree:
    """The tree with the values, counts and impurities that the rows of the table give its nodes.

    No question changes. A node that no row reaches keeps its value, without weight. The rules say how
    impurity is measured and how classes are weighted.

    >>> from holdfast import CART, grow
    >>> early = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> later = Table.from_arrays([[20.0], [30.0], [55.0], [70.0]], ["no", "yes", "yes", "yes"])
    >>> revalued(grow(early), later, CART).value[1]
    array([0.5, 0.5])
    """
    return revalue_all([tree], table, [rules])[0]


def revalue_all(
    trees: Sequence[Tree],
    table: Table,
    rules: Sequence[GrowthRules | None],
    *,
    rows: BoolArray | None = None,
    n_jobs: int | None = None,
) -> list[Tree]:
    """The trees, each with the values that the rows of the table, or those with a flag, give its nodes.

    Each has rules of its own; a tree with None stays as it is.
    """
    tasks = list(zip(trees, rules, measure_all(table, rules), strict=True))
    taken = np.ones(table.n_rows, np.bool_) if rows is None else rows
    return run_all(partial(_revalued, table, taken), tasks, n_jobs if table.n_rows >= LEAST_SHARED else 1)


def _revalued(table: Table, taken: BoolArray, task: tuple[Tree, GrowthRules | None, Units | None]) -> Tree:
    tree, rules, units = task
    if rules is None or units is None:
        return tree
    counts = (units.repeats * taken).astype(np.int32)
    leaves = tree.apply(table)
    total = _summed_upwards(tree, _at_leaves(tree, units, counts, leaves))
    rows, fields = _NO_ROWS, _NO_FIELDS
    if not units.n_classes:
        rows = np.flatnonzero(counts).astype(np.int32)
        rows = rows[np.argsort(leaves[rows], kind="stable")]
        fields = _fields(tree, np.bincount(leaves[rows], minlength=tree.n_nodes))
    value, weight, impurity = node_values(units, counts, rows, fields, total)
    is_reached = weight > 0
    return tree.replace(
        value=np.where(is_reached[:, None], value, tree.value),
        count=total[:, -1].astype(np.float64),
        weight=weight,
        impurity=np.where(is_reached, impurity, tree.impurity),
        criterion=rules.criterion,
    )


def _at_leaves(tree: Tree, units: Units, counts: IntArray, leaves: IntArray) -> LongArray:
    """What the rows add up to at each leaf: the weight of every class, and the number of rows."""
    n_columns = units.n_classes + 1
    total = np.zeros((tree.n_nodes, n_columns), np.int64)
    if units.weight is not None and units.n_classes:
        np.add.at(total, (leaves, units.label), counts * units.weight)
    elif units.n_classes:
        # Sums of counts are exact as floats, and this is ten times as fast.
        cells = leaves * np.int64(n_columns) + units.label
        total[:] = np.bincount(cells, counts, tree.n_nodes * n_columns).reshape(total.shape)
    total[:, -1] = np.bincount(leaves, counts, tree.n_nodes)
    return total


def _summed_upwards(tree: Tree, statistics: LongArray) -> LongArray:
    """What the leaves hold, also of all nodes above them."""
    for node in range(tree.n_nodes - 1, 0, -1):  # preorder: a parent stands before its children
        statistics[tree.parent[node]] += statistics[node]
    return statistics


def _fields(tree: Tree, rows_at: LongArray) -> LongArray:
    """The table of nodes as the kernel knows it, the rows standing in the order of the leaves."""
    fields = np.full((tree.n_nodes, kernels.N_FIELDS), -1, np.int64)
    end = np.cumsum(rows_at)
    fields[:, kernels.START], fields[:, kernels.END] = end - rows_at, end
    fields[:, kernels.LEFT], fields[:, kernels.RIGHT] = tree.left, tree.right
    fields[:, kernels.FEATURE] = np.where(tree.feature == LEAF, -1, tree.feature)
    return fields
