"""Replace splits that mainly separate missing values by splits on whether the value is recorded."""

from collections.abc import Collection, Iterator

import numpy as np

from holdfast._arrays import FloatArray, IntArray
from holdfast.data.table import Table
from holdfast.growth.constraints import place_first_splits as prescribed_paths
from holdfast.growth.constraints import read_first_splits
from holdfast.growth.leaf_values import refit_values
from holdfast.growth.rules import GrowthRules, resolve_min_rows
from holdfast.growth.sample import FixedPointSample
from holdfast.tree.prune import rearrange_nodes
from holdfast.tree.rules import number_paths
from holdfast.tree.tree import KNOWN, LEAF, NOTHING, Tree

FEW_KNOWN = 0.05  # fraction of rows with a value on the side of missing values
MOST_LOST = 0.15  # fraction of the gain of the split


def add_recorded_splits(
    tree: Tree,
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    counts: IntArray,
    keep: Collection[int] = (),
) -> Tree:
    """Replace splits that mainly separate missing values by "is the value recorded?".

    A split is replaced if at most 5 % of the rows that go with the missing values have a value, if the leaves
    lose at most 15 % of the gain of the split (a threshold chosen for few rows gains that much by chance),
    and if all nodes keep the least number of rows of the rules. Prescribed splits, splits listed in `keep`
    and splits on features with a monotone constraint stay. `counts` are row counts. Splits on the same
    feature among the rows without a value are removed.
    """
    fixed_nodes = set(keep)
    if rules.first_splits is not None:
        paths = prescribed_paths(read_first_splits(table.schema, rules.first_splits)).values()
        fixed_nodes |= {node for path, node in number_paths(tree).items() if path in paths}
    nodes = [
        node
        for node in _separating_nodes(tree, table, counts)
        if fixed_nodes.isdisjoint([node, *_splits_without_values(tree, node)])
    ]
    if not nodes:
        return tree
    current = refit_values(tree, table, fixed, counts)
    # From the last node to the first, since a new split renumbers only the nodes below it.
    for node in sorted(nodes, reverse=True):
        other = refit_values(_split_on_recorded(current, node, table, counts), table, fixed, counts)
        if _has_enough_rows(rules, other, node) and _loses_little(other, current, node):
            tree = current = other
    return tree


def _separating_nodes(tree: Tree, table: Table, counts: IntArray) -> Iterator[int]:
    """Find the nodes where few rows with a value go along with the missing ones."""
    features = np.unique(tree.feature[tree.feature != LEAF])
    if tree.monotone is not None:
        features = features[tree.monotone.by_feature(tree)[features] == 0]
    gaps = {feature: np.isnan(table.rows([feature])[:, 0]) for feature in features.tolist()}
    gaps = {feature: missing for feature, missing in gaps.items() if missing.any()}
    if not gaps:
        return
    leaves = tree.apply(table)
    all_rows = _count_before(tree, leaves, counts)
    for feature, missing in gaps.items():
        without = _count_before(tree, leaves[missing], counts[missing])
        nodes = np.flatnonzero(tree.feature == feature)
        left, right, end = tree.left[nodes], tree.right[nodes], tree.subtree_end[nodes]
        start, end = np.where(tree.missing_left[nodes], (left, right), (right, end))
        n_rows, n_missing = (until[end] - until[start] for until in (all_rows, without))
        n_known = n_rows - n_missing
        # A set without a known category, or "is recorded", is such a split already.
        is_done = (n_known == 0) & ((tree.set_start[nodes] >= 0) | (tree.threshold[nodes] >= KNOWN))
        is_candidate = (n_missing > 0) & (n_known <= FEW_KNOWN * n_rows) & ~is_done
        yield from nodes[is_candidate].tolist()


def _splits_without_values(tree: Tree, node: int) -> list[int]:
    """Find splits on the node's feature below its side of missing values."""
    left, right, end = int(tree.left[node]), int(tree.right[node]), int(tree.subtree_end[node])
    start, end = (left, right) if tree.missing_left[node] else (right, end)
    return (start + np.flatnonzero(tree.feature[start:end] == tree.feature[node])).tolist()


def _count_before(tree: Tree, leaves: IntArray, counts: IntArray) -> FloatArray:
    """Count the rows at leaves before every node, and before the end."""
    return np.concatenate([[0.0], np.cumsum(np.bincount(leaves, counts, tree.n_nodes))])


def _split_on_recorded(tree: Tree, node: int, table: Table, counts: IntArray) -> Tree:
    """Split the node on whether the value is recorded.

    Categories that no row has there stay on the side of missing values.
    """
    tree = _remove_splits(tree, _splits_without_values(tree, node))
    if tree.set_start[node] >= 0:
        in_set, start = tree.in_set.copy(), int(tree.set_start[node])
        leaves = tree.apply(table)
        rows = (leaves >= node) & (leaves < tree.subtree_end[node]) & (counts > 0)
        codes = table.rows([int(tree.feature[node])])[rows, 0]
        in_set[start + codes[~np.isnan(codes)].astype(np.int64)] = not tree.missing_left[node]
        return tree.replace(in_set=in_set)
    threshold, missing_left = tree.threshold.copy(), tree.missing_left.copy()
    threshold[node], missing_left[node] = KNOWN, False
    changed = tree.replace(threshold=threshold, missing_left=missing_left)
    return _swap_children(changed, node) if tree.missing_left[node] else changed


def _remove_splits(tree: Tree, nodes: Collection[int]) -> Tree:
    """Replace these splits by their side of missing values."""
    if not nodes:
        return tree
    replacement = np.arange(tree.n_nodes + 1)  # for every node, the one that takes its place
    replacement[-1] = LEAF
    for node in sorted(nodes, reverse=True):
        replacement[node] = replacement[(tree.left if tree.missing_left[node] else tree.right)[node]]
    kept, waiting = [], [int(replacement[0])]
    while waiting:
        kept.append(node := waiting.pop())
        if tree.feature[node] != LEAF:
            waiting += [int(replacement[tree.right[node]]), int(replacement[tree.left[node]])]
    order = np.array(kept, np.int64)
    place = np.full(tree.n_nodes + 1, LEAF, np.int32)
    place[order] = np.arange(len(order))
    lefts, rights = (place[replacement[side[order]]] for side in (tree.left, tree.right))
    return rearrange_nodes(tree, order, np.where(tree.feature[order] == LEAF, LEAF, order), lefts, rights)


def _swap_children(tree: Tree, node: int) -> Tree:
    left, right, end = int(tree.left[node]), int(tree.right[node]), int(tree.subtree_end[node])
    order = np.r_[0:left, right:end, left:right, end : tree.n_nodes].astype(np.int64)
    place = np.full(tree.n_nodes + 1, LEAF, np.int32)  # LEAF is -1: the last entry
    place[order] = np.arange(tree.n_nodes)
    lefts, rights = place[tree.left[order]], place[tree.right[order]]
    lefts[node], rights[node] = rights[node], lefts[node]
    return rearrange_nodes(tree, order, np.where(tree.feature[order] == LEAF, LEAF, order), lefts, rights)


def _has_enough_rows(rules: GrowthRules, tree: Tree, node: int) -> bool:
    """Check that leaves and splits from the node downwards have the least rows of the rules."""
    below = slice(node, int(tree.subtree_end[node]))
    is_leaf, count, weight = tree.feature[below] == LEAF, tree.count[below], tree.weight[below]
    n_rows = tree.count[0]
    return bool(
        count[is_leaf].min() >= max(resolve_min_rows(rules.min_samples_leaf, n_rows), 1)
        and count[~is_leaf].min() >= resolve_min_rows(rules.min_samples_split, n_rows)
        and weight[is_leaf].min() >= rules.min_weight_fraction_leaf * tree.weight[0]
    )


def _loses_little(other: Tree, tree: Tree, node: int) -> bool:
    """Check that the leaves lose little of what the split of the node gains."""
    unit = max(float(tree.impurity.max()), float(other.impurity.max())) or 1.0  # products must be finite
    risk, new_risk = (each.weight / tree.weight[0] * (each.impurity / unit) for each in (tree, other))
    gained = risk[node] - risk[tree.left[node]] - risk[tree.right[node]]
    lost = new_risk[other.feature == LEAF].sum() - risk[tree.feature == LEAF].sum()
    return bool(lost <= MOST_LOST * max(gained, 0.0) + NOTHING * risk[0])
