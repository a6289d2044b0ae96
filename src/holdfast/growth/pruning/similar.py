"""Leaves of one node that rows held out cannot tell apart become one."""

from math import sqrt

import numpy as np

from holdfast.adapters import as_tree
from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.canonical_order import canonical
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import assign_strata, random_positions, select_below
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.pruning.fitting import check_rows
from holdfast.random_streams import Branch
from holdfast.scoring.design_effect import design_effect
from holdfast.tree.prune import prune_at
from holdfast.tree.tree import LEAF, Tree

SIMILAR = 0.2  # siblings stay apart if chance alone would part them so far less often than this
FRACTION_TESTED = 1 / 3  # of the rows, held out to tell leaves apart


def merge_similar_leaves(
    tree: Tree, table: Table, level: float = SIMILAR, *, groups: LongArray | None = None
) -> Tree:
    """Merge sibling leaves that new rows cannot distinguish.

    From the bottom up, two leaves of one node are compared by the classes of their rows (chi-squared) or by
    the means of their numbers (Welch), weights and groups by their design effect. The values stay as they
    are: those of the node above, where leaves are joined.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "b"]))
    >>> new = Table.from_arrays([[1.0], [2.0], [1.0], [2.0]], ["a", "a", "b", "b"], schema=tree.schema)
    >>> merge_similar_leaves(tree, new).n_leaves
    1
    """
    tree = as_tree(tree)
    check_rows(tree, table)
    if not 0 < level < 1:
        raise ParameterError(f"level={level!r} is out of range: it must lie between 0 and 1.")
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
        mean = (own[:, None] * values).sum(axis=0) / own.sum()
        of_groups = None if groups is None else groups[side]
        means.append(mean)
        sizes.append(len(own) / design_effect(values, own, of_groups))
        spreads.append(float((own[:, None] * (values - mean) ** 2).sum() / own.sum()))
    if target.is_classes:
        return _chi_squared(np.array(means), np.array(sizes))
    return _welch(float(means[0][0] - means[1][0]), spreads, sizes)


def _chi_squared(fractions: FloatArray, sizes: FloatArray) -> float:
    from scipy.special import chdtrc

    seen = fractions * sizes[:, None]
    seen = seen[:, seen.sum(axis=0) > 0]
    if seen.shape[1] < 2:
        return 1.0
    expected = seen.sum(axis=0) * (sizes / sizes.sum())[:, None]
    return float(chdtrc(seen.shape[1] - 1, float(((seen - expected) ** 2 / expected).sum())))


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
    table, marks, units = canonical(table, [] if groups is None else [groups])
    of_units = copies_as_groups(table, units) if groups is None else marks[0]
    stream = (seed, Branch.SIMILAR_LEAVES)
    tested = select_below(
        random_positions(assign_strata(table), unit_keys(table, of_units), stream), FRACTION_TESTED
    )
    return table, marks[0] if marks else None, tested
