"""Pruning by held-out rows: reduced-error pruning, and merging of leaves that do not differ significantly."""

import warnings
from math import sqrt
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, scale_to_unit
from holdfast._check import check_fraction
from holdfast._random import Branch
from holdfast.adapters import as_tree
from holdfast.data.folds import assign_strata, draw_positions, read_groups, select_below
from holdfast.data.row_keys import group_copies, unit_keys
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.survival import SurvivalTimes
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning
from holdfast.growth.grow import grow_samples
from holdfast.growth.leaf_values import refit_values
from holdfast.growth.pruning import check_rows
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import balanced_on, fixed_point_sample
from holdfast.scoring.formulas import LEAST
from holdfast.scoring.intervals import design_effect
from holdfast.tree.prune import prune_at, prune_to_lowest_cost
from holdfast.tree.stats import parse_quantile
from holdfast.tree.tree import LEAF, Tree


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
    table, marks, units = canonicalize_rows(table, marks)
    keys = unit_keys(table, group_copies(table, units) if groups is None else marks[0])
    held_out = select_below(
        draw_positions(assign_strata(table), keys, (seed, Branch.REDUCED_ERROR_ROWS)), fraction
    )
    fixed = fixed_point_sample(table, rules)
    if held_out.all():  # a single row, or group
        return grow_samples(table, rules, fixed, [fixed.repeats], [seed])[0]
    is_learned = (~held_out).astype(np.int32)
    own = balanced_on(table, rules, is_learned)
    sample = fixed_point_sample(table, own)
    tree = grow_samples(table, own, sample, [sample.repeats * is_learned], [seed])[0]
    for note in tree.notes:
        warnings.warn(note, GrowthWarning, stacklevel=2)
    smaller = prune_reduced_error(tree, table.subset(held_out))
    return refit_values(smaller, table, fixed.value_sample, fixed.repeats)


def _node_losses(tree: Tree, table: Table) -> FloatArray:
    """Compute the loss of every node as a leaf on the rows that reach it."""
    check_rows(tree, table)
    weight = np.ones(table.n_rows) if table.weight is None else scale_to_unit(table.weight)[0]
    if table.survival is not None:
        weight = weight * table.survival.exposure
    row_losses = _class_losses if tree.schema.target.is_classes else _number_losses
    tree, target = _scale_together(tree, table.target)
    losses = np.zeros(tree.n_nodes)
    rows, node = np.arange(table.n_rows), tree.apply(table)
    while len(rows):  # from the leaves up, all rows at once
        np.add.at(losses, node, weight[rows] * row_losses(tree, node, target[rows]))
        rows, node = rows[node > 0], tree.parent[node[node > 0]]
    return losses


def _class_losses(tree: Tree, node: IntArray, target: Any) -> FloatArray:
    if tree.loss_matrix is not None:
        return np.asarray(tree.loss_matrix[target, tree.outcome[node]], np.float64)
    return np.asarray(tree.outcome[node] != target, np.float64)


def _number_losses(tree: Tree, node: IntArray, target: Any) -> FloatArray:
    value = tree.value[node, 0]
    if (quantile := parse_quantile(tree.criterion)) is not None:
        apart = target - value
        return np.asarray(np.where(apart > 0, quantile * apart, (quantile - 1.0) * apart), np.float64)
    if tree.criterion == "poisson":
        mean = np.maximum(value, LEAST)
        divergence = np.where(target > 0, target * np.log(np.where(target > 0, target, 1.0) / mean), 0.0)
        return np.asarray(divergence - target + mean, np.float64)
    return np.asarray(np.square(target - value), np.float64)


def _scale_together(tree: Tree, target: Any) -> tuple[Tree, Any]:
    """Scale tree and targets by a power of two so that squares cannot overflow or vanish."""
    if tree.schema.target.is_classes or tree.criterion == "poisson":
        return tree, target
    _, exponent = scale_to_unit(np.concatenate([tree.value[:, 0], target]))
    return tree.replace(value=np.ldexp(tree.value, -exponent)), np.ldexp(target, -exponent)


# -- Merging of similar leaves -------------------------------------------------------------------------------

SIMILAR = 0.2  # p-value from which sibling leaves are merged
FRACTION_TESTED = 1 / 3  # of the rows, held out for the tests


def merge_similar_leaves(
    tree: Tree, table: Table, level: float = SIMILAR, *, groups: LongArray | None = None
) -> Tree:
    """Merge sibling leaves that new rows cannot distinguish.

    From the bottom up, two leaves of one node are compared by the classes of their rows (chi-squared test) or
    by their means or risks (Welch's test); weights and groups enter by their design effect. Merged leaves
    take the value of the node above.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"]))
    >>> new = Table.from_arrays([[1.0], [2.0], [1.0], [2.0]], ["a", "a", "b", "b"], schema=tree.schema)
    >>> merge_similar_leaves(tree, new).n_leaves
    1
    """
    tree = as_tree(tree)
    check_rows(tree, table)
    check_fraction("level", level)
    leaves, is_leaf = tree.apply(table), tree.feature == LEAF
    for node in range(tree.n_nodes - 1, -1, -1):  # preorder: children stand after their parent
        left, right = int(tree.left[node]), int(tree.right[node])
        if left != LEAF and is_leaf[left] and is_leaf[right]:
            sides = [(leaves >= child) & (leaves < tree.subtree_end[child]) for child in (left, right)]
            is_leaf[node] = compute_p_value(table, groups, *sides) >= level
    return prune_at(tree, np.asarray(is_leaf))


def compute_p_value(table: Table, groups: LongArray | None, left: BoolArray, right: BoolArray) -> float:
    """Compute the p-value of equal leaves; 1 where there are too few rows to test."""
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    target = table.schema.target
    outputs = np.eye(len(target.classes))[table.target] if target.is_classes else table.target[:, None]
    means, sizes, spreads = [], [], []
    for side in (left & (weight > 0), right & (weight > 0)):
        if not side.any():
            return 1.0
        own, values = weight[side], outputs[side]
        if table.survival is not None:
            values = _linearize_risk(table.survival.subset(side), own)
        mean = (own[:, None] * values).sum(axis=0) / own.sum()
        of_groups = None if groups is None else groups[side]
        means.append(mean)
        sizes.append(len(own) / design_effect(values, own, of_groups))
        spreads.append(float((own[:, None] * (values - mean) ** 2).sum() / own.sum()))
    if target.is_classes:
        return _chi_squared(np.array(means), np.array(sizes))
    return _welch(float(means[0][0] - means[1][0]), spreads, sizes)


def _linearize_risk(times: SurvivalTimes, weight: FloatArray) -> FloatArray:
    """Return numbers whose mean is the relative risk, and whose spread is that of its estimate."""
    expected = float((weight * times.exposure).sum())
    risk = float((weight * times.event).sum()) / expected if expected > 0 else 0.0
    scale = weight.sum() / expected if expected > 0 else 0.0
    return (risk + (times.event - risk * times.exposure) * scale)[:, None]


def _chi_squared(fractions: FloatArray, sizes: FloatArray) -> float:
    from scipy.special import chdtrc

    observed = fractions * sizes[:, None]
    observed = observed[:, observed.sum(axis=0) > 0]
    if observed.shape[1] < 2:
        return 1.0
    expected = observed.sum(axis=0) * (sizes / sizes.sum())[:, None]
    return float(chdtrc(observed.shape[1] - 1, float(((observed - expected) ** 2 / expected).sum())))


def _welch(difference: float, spreads: list[float], sizes: list[float]) -> float:
    from scipy.special import stdtr

    if min(sizes) < 2:
        return 1.0
    parts = [spread / (size - 1) for spread, size in zip(spreads, sizes, strict=True)]
    if not sum(parts) > 0:
        return 1.0 if difference == 0 else 0.0
    freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return float(2 * stdtr(freedom, -abs(difference) / sqrt(sum(parts))))


def draw_test_rows(
    table: Table, groups: LongArray | None, seed: int
) -> tuple[Table, LongArray | None, BoolArray]:
    """Return rows and groups in canonical order, and flags of those held out for the test."""
    table, marks, units = canonicalize_rows(table, [] if groups is None else [groups])
    of_units = group_copies(table, units) if groups is None else marks[0]
    stream = (seed, Branch.SIMILAR_LEAVES)
    tested = select_below(
        draw_positions(assign_strata(table), unit_keys(table, of_units), stream), FRACTION_TESTED
    )
    return table, marks[0] if marks else None, tested
