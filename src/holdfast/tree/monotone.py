"""Trees whose values go one way along some features: the order of their leaves, and values that keep to it.

A row whose feature rises, and nothing else changes, reaches a leaf of at least the same value (or at most, if
the feature is a falling one). Which leaves such a row can pass between follows from what they ask; a missing
value has no order. Values that break the order are replaced by the nearest ones that keep to it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.schema import Label
from holdfast.tree.tree import KNOWN, LEAF, Tree

MOST_COMPARED = 256  # leaves up to which each is compared with each; more are bounded from the root down
LEAST_WEIGHT = 1e-9  # of a leaf that no row reaches, as a share of the whole


@dataclass(frozen=True)
class Monotone:
    """Which way the value goes along features: 1 never falls as the feature rises, -1 never rises."""

    directions: tuple[tuple[str, int], ...]  # of features by name
    outcome: Label | None = None  # the class whose fraction it is; None for a number

    def by_feature(self, tree: Tree) -> LongArray:
        """The direction of every feature of the tree's schema, 0 for none."""
        known = dict(self.directions)
        return np.array([known.get(feature.name, 0) for feature in tree.schema.features], np.int64)

    def column(self, tree: Tree) -> int:
        """The column of the tree's values that has the directions."""
        return tree.schema.target.classes.index(self.outcome) if self.outcome is not None else 0


def in_order(tree: Tree) -> Tree:
    """The tree with leaf values in the order that it promises: the nearest ones, weight by weight.

    A tree that promises none, or keeps to it already, comes back as it is.
    """
    if tree.monotone is None or tree.n_nodes == 1:
        return tree
    directions = tree.monotone.by_feature(tree)
    if not directions[tree.feature[tree.feature != LEAF]].any():
        return tree
    leaves = np.flatnonzero(tree.feature == LEAF)
    column = tree.monotone.column(tree)
    value = tree.value[leaves, column]
    if len(leaves) > MOST_COMPARED:
        new = _bounded(tree, directions, column)[leaves]
    else:
        new = _projected(value, _weights(tree, leaves), *ordered_pairs(tree, directions))
    if not np.array_equal(new, value):
        tree = _with_leaf_values(tree, leaves, column, new)
    return _with_ties_alike(tree, leaves)


def violations(tree: Tree) -> int:
    """The number of pairs of leaves whose values are not in the order that the tree promises."""
    if tree.monotone is None:
        return 0
    value = tree.value[tree.feature == LEAF, tree.monotone.column(tree)]
    lower, upper = ordered_pairs(tree, tree.monotone.by_feature(tree))
    return int((value[lower] > value[upper]).sum())


# -- which leaves are in order --------------------------------------------------------------------------


class Boxes(NamedTuple):
    """What the rows of every leaf have in one feature."""

    above: FloatArray  # more than this
    most: FloatArray  # and at most this
    takes_missing: BoolArray
    categories: BoolArray | None  # (leaves, categories) where the feature is one of sets


def ordered_pairs(tree: Tree, directions: LongArray) -> tuple[LongArray, LongArray]:
    """Pairs of leaves, by their position among the leaves: the value of the first is at most the second's."""
    boxes = {feature: _boxes(tree, feature) for feature in sorted({*tree.feature.tolist()} - {LEAF})}
    n_leaves = tree.n_leaves
    pairs = [np.empty((0, 2), np.int64)]
    for feature in boxes:
        if directions[feature] == 0:
            continue
        own = boxes[feature]
        is_before = own.most[:, None] <= own.above[None, :]
        is_known = own.above < own.most
        is_before &= is_known[:, None] & is_known[None, :]
        for other, box in boxes.items():
            if other != feature:
                is_before &= _overlap(box)
        found = np.argwhere(is_before)
        pairs.append(found if directions[feature] > 0 else found[:, ::-1])
    lower, upper = np.concatenate(pairs).T
    assert n_leaves > max(lower.max(initial=0), upper.max(initial=0))
    return lower, upper


def _boxes(tree: Tree, feature: int) -> Boxes:
    """What reaches every leaf, of one feature: handed down from the root."""
    n_categories = len(tree.schema.features[feature].categories)
    is_subset = tree.schema.features[feature].is_subset
    above, most = np.full(tree.n_nodes, -np.inf), np.full(tree.n_nodes, np.inf)
    missing = np.ones(tree.n_nodes, np.bool_)
    categories = np.ones((tree.n_nodes, n_categories), np.bool_) if is_subset else None
    for node in range(tree.n_nodes):  # preorder: a parent stands before its children
        if tree.feature[node] == LEAF:
            continue
        left, right = tree.left[node], tree.right[node]
        for child in (left, right):
            above[child], most[child], missing[child] = above[node], most[node], missing[node]
            if categories is not None:
                categories[child] = categories[node]
        if tree.feature[node] != feature:
            continue
        missing[left] &= tree.missing_left[node]
        missing[right] &= not tree.missing_left[node]
        if categories is not None:
            categories[left] &= tree.left_categories(node)
            categories[right] &= ~tree.left_categories(node)
        else:
            cut = np.inf if tree.threshold[node] >= KNOWN else tree.threshold[node]
            most[left], above[right] = min(most[left], cut), max(above[right], cut)
    is_leaf = tree.feature == LEAF
    return Boxes(
        above[is_leaf],
        most[is_leaf],
        missing[is_leaf],
        None if categories is None else categories[is_leaf],
    )


def _overlap(box: Boxes) -> BoolArray:
    """For every two leaves, whether a row with one value of the feature, or none, can reach both."""
    if box.categories is not None:
        both = (box.categories[:, None, :] & box.categories[None, :, :]).any(axis=2)
    else:
        both = np.maximum.outer(box.above, box.above) < np.minimum.outer(box.most, box.most)
    return np.asarray(both | np.logical_and.outer(box.takes_missing, box.takes_missing), np.bool_)


# -- values in order ------------------------------------------------------------------------------------


def _weights(tree: Tree, leaves: LongArray) -> FloatArray:
    weight = tree.weight[leaves]
    total = float(weight.max(initial=0.0))
    return np.maximum(weight / total, LEAST_WEIGHT) if total > 0 else np.ones(len(leaves))


def _projected(value: FloatArray, weight: FloatArray, lower: LongArray, upper: LongArray) -> FloatArray:
    """The values that keep to the order of the pairs with the least weighted sum of squared changes."""
    if not (value[lower] > value[upper]).any():
        return value
    from holdfast.kernels.growth.order import project, raise_to_order

    new = value.copy()
    project(new, weight, lower, upper)
    raise_to_order(new, lower, upper)
    return new


def _bounded(tree: Tree, directions: LongArray, column: int) -> FloatArray:
    """The values of all nodes, clipped to bounds that the middle of every ordered split hands down."""
    value = tree.value[:, column].tolist()
    low, high = [-np.inf] * tree.n_nodes, [np.inf] * tree.n_nodes
    left, right, feature = tree.left.tolist(), tree.right.tolist(), tree.feature.tolist()
    threshold = tree.threshold.tolist()
    for node in range(tree.n_nodes):
        value[node] = min(max(value[node], low[node]), high[node])
        if feature[node] == LEAF:
            continue
        a, b = left[node], right[node]
        low[a] = low[b] = low[node]
        high[a] = high[b] = high[node]
        direction = directions[feature[node]]
        if direction == 0 or threshold[node] >= KNOWN:
            continue
        if direction < 0:
            a, b = b, a
        in_a, in_b = (min(max(value[child], low[node]), high[node]) for child in (a, b))
        high[a] = low[b] = in_a + (in_b - in_a) / 2
    return np.array(value)


def _with_leaf_values(tree: Tree, leaves: LongArray, column: int, new: FloatArray) -> Tree:
    """The tree with other values at its leaves; the other classes share what one leaves them, as before."""
    value = tree.value.copy()
    if tree.schema.target.is_classes:
        new = np.clip(new, 0.0, 1.0)
        rest = np.delete(value[leaves], column, axis=1)
        total = rest.sum(axis=1)
        n_others = rest.shape[1]
        shares = np.where(total[:, None] > 0, rest / np.where(total > 0, total, 1.0)[:, None], 1 / n_others)
        changed = np.flatnonzero(new != value[leaves, column])
        others = np.delete(np.arange(value.shape[1]), column)
        value[np.ix_(leaves[changed], others)] = shares[changed] * (1.0 - new[changed])[:, None]
    value[leaves, column] = new
    return tree.replace(value=value, given_outcome=None)


def _with_ties_alike(tree: Tree, leaves: LongArray) -> Tree:
    """The tree with one class for all leaves where two are tied, lest the class go back as a value stays."""
    if len(tree.schema.target.classes) != 2:
        return tree
    tied = leaves[tree.value[leaves, 0] == tree.value[leaves, 1]]
    if len(set(tree.outcome[tied].tolist())) < 2:
        return tree
    outcome = tree.outcome.copy()
    outcome[tied] = 0
    return tree.replace(given_outcome=outcome)
