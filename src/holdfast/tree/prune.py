"""Subtrees: make nodes leaves, and rearrange nodes."""

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.tree.check import below_splits
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.tree import LEAF, OPTIONAL_ARRAYS, Tree

TIED = 1e-9  # relative difference below which costs are equal, and the smaller tree wins


def prune_at(tree: Tree, is_leaf: BoolArray) -> Tree:
    """Make the flagged nodes leaves.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["a", "b", "c"]))
    >>> [prune_at(tree, np.arange(5) == node).n_leaves for node in (0, 2)]
    [1, 2]
    """
    ends = is_leaf | (tree.feature == LEAF)
    is_below = np.zeros(tree.n_nodes, np.bool_)
    level = np.flatnonzero(ends & (tree.feature != LEAF))
    while len(level):
        level = np.concatenate([tree.left[level], tree.right[level]])
        level = level[~is_below[level]]  # an end below another end
        is_below[level] = True
        level = level[tree.feature[level] != LEAF]
    kept = np.flatnonzero(~is_below)
    if not (ends[kept] & (tree.feature[kept] != LEAF)).any():
        return tree
    place = np.full(tree.n_nodes + 1, LEAF, np.int32)  # LEAF is -1: the last entry
    place[kept] = np.arange(len(kept))
    stays = ~ends[kept]
    splits = np.where(stays, kept, LEAF)
    left = place[np.where(stays, tree.left[kept], LEAF)]
    right = place[np.where(stays, tree.right[kept], LEAF)]
    smaller = rearrange_nodes(tree, kept, splits, left, right)
    return smaller.replace(not_recorded=_not_recorded(tree, smaller, kept), seen=_seen(tree, splits))


def prune_to_lowest_cost(tree: Tree, cost: FloatArray) -> Tree:
    """Find the smallest subtree whose leaves have the least total cost."""
    least = cost.tolist()
    is_leaf = np.zeros(tree.n_nodes, np.bool_)
    left, right = tree.left.tolist(), tree.right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # preorder: children come after their parent
        if left[node] == LEAF:
            continue
        below = least[left[node]] + least[right[node]]
        if least[node] <= below * (1.0 + TIED):
            is_leaf[node] = True
        else:
            least[node] = below
    return prune_at(tree, is_leaf)


def rearrange_nodes(
    tree: Tree, values: LongArray, splits: LongArray, left: IntArray, right: IntArray
) -> Tree:
    """Build a tree of nodes in preorder, each with the value of one node and the split of another.

    `splits` is LEAF at a leaf; `left` and `right` are numbers of new nodes.
    """
    inner = splits != LEAF
    starts = np.where(inner, tree.set_start[splits], -1)
    set_start, flags = _gather_sets(tree, splits, starts)
    smaller = tree.replace(
        feature=np.where(inner, tree.feature[splits], LEAF).astype(np.int32),
        threshold=np.where(inner, tree.threshold[splits], np.nan),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=inner & tree.missing_left[splits],
        set_start=set_start,
        in_set=tree.in_set[flags],
        value=tree.value[values],
        count=tree.count[values],
        weight=tree.weight[values],
        impurity=tree.impurity[values],
        not_recorded=None,
        seen=None,
        curves=None if tree.curves is None else tuple(tree.curves[node] for node in values.tolist()),
        split_support=None
        if tree.split_support is None
        else np.where(inner, tree.split_support[splits], np.nan),
        **{
            name: array[values]
            for name in (*OPTIONAL_ARRAYS, "given_outcome")
            if (array := getattr(tree, name)) is not None
        },
    )
    return enforce_monotonicity(smaller)


def _not_recorded(tree: Tree, smaller: Tree, kept: LongArray) -> FloatArray | None:
    """Count missing values at the leaves of a smaller tree."""
    if tree.not_recorded is None:
        return None
    leaves = np.flatnonzero(smaller.feature == LEAF)
    owner = leaves[np.searchsorted(kept[leaves], tree.not_recorded[:, 0], side="right") - 1]
    rows: dict[tuple[int, int], float] = {}
    for leaf, (_, feature, number) in zip(owner.tolist(), tree.not_recorded.tolist(), strict=True):
        key = leaf, int(feature)
        rows[key] = 0.0 if rows.get(key) == 0.0 or number == 0.0 else rows.get(key, 0.0) + number
    is_below = {feature: below_splits(smaller, feature) for feature in {feature for _, feature in rows}}
    entries = [(*key, number) for key, number in sorted(rows.items()) if is_below[key[1]][key[0]]]
    return np.array(entries, np.float64) if entries else None


def _seen(tree: Tree, splits: LongArray) -> BoolArray | None:
    """Select the categories seen at the nodes whose splits are kept."""
    if tree.seen is None:
        return None
    starts = np.where(splits != LEAF, tree.set_start[splits], -1)
    seen = tree.seen[_gather_sets(tree, splits, starts)[1]]
    return None if seen.all() else seen


def _gather_sets(tree: Tree, splits: LongArray, starts: LongArray) -> tuple[LongArray, LongArray]:
    """Return where the sets of the new nodes begin, and the places of their flags."""
    set_start = np.full(len(splits), -1, np.int64)
    nodes = np.flatnonzero(starts >= 0)
    n_categories = np.array([len(feature.categories) for feature in tree.schema.features], np.int64)
    sizes = n_categories[tree.feature[splits[nodes]]]
    ends = np.cumsum(sizes)
    set_start[nodes] = ends - sizes
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    return set_start, np.repeat(starts[nodes], sizes) + within
