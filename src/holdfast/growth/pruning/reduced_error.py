"""Reduced-error pruning: a subtree stays only if rows that it was not grown on speak for it."""

import warnings
from typing import Any

import numpy as np

from holdfast._check import check_fraction
from holdfast.adapters import as_tree
from holdfast.arrays import FloatArray, IntArray, scaled
from holdfast.data.canonical_order import canonical
from holdfast.data.split.groups import read_groups
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import assign_strata, random_positions, select_below
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning
from holdfast.growth.grow import grow_samples
from holdfast.growth.pruning.fitting import check_rows
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import balanced_on, fixed_point_sample
from holdfast.growth.values import refit_values
from holdfast.random_streams import Branch
from holdfast.scoring.formulas import LEAST
from holdfast.tree.prune import prune_to_lowest_cost
from holdfast.tree.quantile import parse_quantile
from holdfast.tree.tree import Tree


def prune_reduced_error(tree: Tree, table: Table) -> Tree:
    """Prune to the smallest subtree with the least error on new rows.

    Parameters
    ----------
    tree : Tree
    table : Table
        Rows that the tree was not grown on. Errors are misclassified rows, at their cost if the tree has
        losses; for numbers the squared error, Poisson deviance or pinball loss, by the criterion of the tree.

    Returns
    -------
    Tree
        Node values stay as they are.

    Examples
    --------
    >>> from holdfast import grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "a"]))
    >>> new = Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "a", "a"], schema=tree.schema)
    >>> prune_reduced_error(tree, new).n_leaves
    1
    """
    tree = as_tree(tree)
    return prune_to_lowest_cost(tree, _node_losses(tree, table))


def grow_reduced_error(
    table: Table,
    rules: GrowthRules = CART,
    fraction: float = 0.3,
    *,
    groups: Any = None,
    seed: int = 0,
) -> Tree:
    """Grow on part of the rows, prune by the rest, and refit values to all of them.

    The fraction that is held out is drawn by the seed, evenly from all classes; rows of one group stay
    together, and the order of the rows does not matter.
    """
    check_fraction("reduced_error", fraction)
    marks = [] if groups is None else [read_groups(groups, table.n_rows)]
    table, marks, units = canonical(table, marks)
    keys = unit_keys(table, copies_as_groups(table, units) if groups is None else marks[0])
    held_out = select_below(
        random_positions(assign_strata(table), keys, (seed, Branch.REDUCED_ERROR_ROWS)), fraction
    )
    fixed = fixed_point_sample(table, rules)
    if held_out.all():  # a single row, or group
        return grow_samples(table, rules, fixed, [fixed.repeats], [seed])[0]
    is_learnt = (~held_out).astype(np.int32)
    own = balanced_on(table, rules, is_learnt)
    fixed_learnt = fixed_point_sample(table, own)
    tree = grow_samples(table, own, fixed_learnt, [fixed_learnt.repeats * is_learnt], [seed])[0]
    for note in tree.notes:
        warnings.warn(note, GrowthWarning, stacklevel=2)
    smaller = prune_reduced_error(tree, table.subset(held_out))
    return refit_values(smaller, table, fixed.of_values, fixed.repeats)


def _node_losses(tree: Tree, table: Table) -> FloatArray:
    """Compute the loss of every node as a leaf on the rows that reach it."""
    check_rows(tree, table)
    weight = np.ones(table.n_rows) if table.weight is None else scaled(table.weight)[0]
    lost = _lost_classes if tree.schema.target.is_classes else _lost_numbers
    tree, target = _on_one_scale(tree, table.target)
    losses = np.zeros(tree.n_nodes)
    rows, node = np.arange(table.n_rows), tree.apply(table)
    while len(rows):  # from the leaves up, all rows at once
        np.add.at(losses, node, weight[rows] * lost(tree, node, target[rows]))
        rows, node = rows[node > 0], tree.parent[node[node > 0]]
    return losses


def _lost_classes(tree: Tree, node: IntArray, target: Any) -> FloatArray:
    if tree.loss_matrix is not None:
        return np.asarray(tree.loss_matrix[target, tree.outcome[node]], np.float64)
    return np.asarray(tree.outcome[node] != target, np.float64)


def _lost_numbers(tree: Tree, node: IntArray, target: Any) -> FloatArray:
    value = tree.value[node, 0]
    if (quantile := parse_quantile(tree.criterion)) is not None:
        apart = target - value
        return np.asarray(np.where(apart > 0, quantile * apart, (quantile - 1.0) * apart), np.float64)
    if tree.criterion == "poisson":
        mean = np.maximum(value, LEAST)
        surprise = np.where(target > 0, target * np.log(np.where(target > 0, target, 1.0) / mean), 0.0)
        return np.asarray(surprise - target + mean, np.float64)
    return np.asarray(np.square(target - value), np.float64)


def _on_one_scale(tree: Tree, target: Any) -> tuple[Tree, Any]:
    """Scale tree and targets by a power of two so that squares cannot overflow or vanish."""
    if tree.schema.target.is_classes or tree.criterion == "poisson":
        return tree, target
    _, exponent = scaled(np.concatenate([tree.value[:, 0], target]))
    return tree.replace(value=np.ldexp(tree.value, -exponent)), np.ldexp(target, -exponent)
