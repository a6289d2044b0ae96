"""What the training rows recorded: how many lacked the value of a split, and which categories they had."""

from collections.abc import Iterator, Mapping
from math import isnan, nan

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray
from holdfast.data.input.weight import are_repetitions
from holdfast.data.table import Table
from holdfast.tree.check import below_splits
from holdfast.tree.rule import answer, conditions_at, conditions_by_node
from holdfast.tree.tree import LEAF, Tree

ALIKE = 1e-6  # rows: counts that differ by less are equal


def with_recorded(tree: Tree, table: Table, before: Tree | None = None) -> Tree:
    """Add to a tree what its training rows recorded: `not_recorded` and `seen`.

    `before` is the tree that this one was updated from, if any: a leaf or split that both have keeps what
    the earlier rows recorded there, as far as the tree still counts these rows.

    >>> from holdfast import grow
    >>> nan = float("nan")
    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [nan]], ["no", "no", "yes", "yes"])
    >>> print(grow(table))
    4 rows                              y    p(yes)  rows  of all
    ├─ x0 <= 40 ······················  no   0.00       2  50.0 %
    └─ x0 > 40 (1) or not recorded (1)  yes  1.00       2  50.0 %
    """
    leaves, times = tree.apply(table), _times(table)
    rows = np.bincount(leaves, times, tree.n_nodes).astype(np.float64)
    found = dict(_missing_at_leaves(tree, table, leaves, times))
    seen = _seen(tree, table, leaves, times)
    if before is not None:
        both = np.unique(np.stack([leaves, before.apply(table)], axis=1), axis=0)
        pairs = [(int(leaf), int(place)) for leaf, place in both]
        places = _places_before(tree, before)
        seen = _seen_before(tree, before, seen, places)
        rows, found = _joined(tree, before, rows, found, _origin(tree, before, pairs, places))
        for place in _inherited(tree, before, pairs):
            found.setdefault(place, nan)
    entries: list[tuple[int, int, float]] = [
        # The number is told only if the leaf counts these very rows.
        (leaf, feature, number if abs(rows[leaf] - tree.count[leaf]) <= ALIKE and not isnan(number) else 0.0)
        for (leaf, feature), number in sorted(found.items())
    ]
    return tree.replace(
        not_recorded=np.array(entries, np.float64) if entries else None, seen=None if seen.all() else seen
    )


def _times(table: Table) -> FloatArray:
    """How many rows each line of the table stands for."""
    if table.weight is None:
        return np.ones(table.n_rows)
    if are_repetitions(table.weight):
        return table.weight
    return np.asarray(table.weight > 0, np.float64)


def _missing_at_leaves(
    tree: Tree, table: Table, leaves: IntArray, times: FloatArray
) -> Iterator[tuple[tuple[int, int], float]]:
    """Leaf, feature and number of rows, wherever a value that the way to the leaf splits on is missing."""
    for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist():
        missing = np.isnan(table.rows([feature])[:, 0])
        if missing.any():
            rows = np.bincount(leaves[missing], times[missing], tree.n_nodes)
            for leaf in np.flatnonzero((rows > 0) & below_splits(tree, feature)).tolist():
                yield (leaf, feature), float(rows[leaf])


def _seen(tree: Tree, table: Table, leaves: IntArray, times: FloatArray) -> BoolArray:
    """For each flag of `in_set`: did a row with this category reach the node?"""
    seen = np.zeros(len(tree.in_set), np.bool_)
    order = np.flatnonzero(times > 0)
    order = order[np.argsort(leaves[order], kind="stable")]
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        start, end = np.searchsorted(leaves[order], [node, tree.subtree_end[node]])
        codes = table.rows([int(tree.feature[node])])[order[start:end], 0]
        seen[tree.set_start[node] + codes[~np.isnan(codes)].astype(np.int64)] = True
    return seen


# -- after an update ----------------------------------------------------------------------------------------


def _joined(
    tree: Tree, before: Tree, rows: FloatArray, found: dict[tuple[int, int], float], origin: Mapping[int, int]
) -> tuple[FloatArray, dict[tuple[int, int], float]]:
    """Rows and missing values of leaves, with what they count of the leaf of the tree before.

    `origin` are leaves that lie in one leaf of the tree before. Such a leaf counts its new rows, and a part
    of the earlier ones: as large a part of them lack a value as of all.
    """
    rows, found = rows.copy(), dict(found)
    earlier = before.rows_not_recorded
    features = np.unique(tree.feature[tree.feature != LEAF]).tolist()
    for leaf, place in origin.items():
        n_carried = float(tree.count[leaf] - rows[leaf])
        share = n_carried / float(before.count[place]) if before.count[place] else 0.0
        if n_carried <= 0.0 or share > 1.0 + ALIKE:
            continue
        rows[leaf] = tree.count[leaf]
        own, other = conditions_at(tree, leaf), conditions_at(before, place)
        for feature in features:
            if number := earlier.get((place, feature), 0.0):
                if own[feature] == other[feature]:
                    number = found.get((leaf, feature), 0.0) + share * number
                    found[leaf, feature] = min(max(round(number), 1), rows[leaf]) if number == number else nan
                elif own[feature].missing:
                    found[leaf, feature] = nan
    return rows, found


def _seen_before(tree: Tree, before: Tree, seen: BoolArray, places: Mapping[int, int]) -> BoolArray:
    """The categories that were seen, with those of the tree before at the splits that both have."""
    seen = seen.copy()
    for node, place in places.items():
        if tree.set_start[node] >= 0:
            own, other = int(tree.set_start[node]), int(before.set_start[place])
            n_flags = len(tree.left_categories(node))
            seen[own : own + n_flags] |= True if before.seen is None else before.seen[other : other + n_flags]
    return seen


def _places_before(tree: Tree, before: Tree) -> dict[int, int]:
    """The nodes that both trees have: the number in the one, and in the tree before."""
    places = {key: node for node, key in enumerate(_keys(before))}
    return {node: places[key] for node, key in enumerate(_keys(tree)) if key in places}


def _origin(
    tree: Tree, before: Tree, pairs: list[tuple[int, int]], places: Mapping[int, int]
) -> dict[int, int]:
    """Leaves that lie in one leaf of the tree before; `pairs` are the leaves in both that a row reaches."""
    origin = {leaf: place for leaf, place in places.items() if tree.feature[leaf] == LEAF}
    for leaf, place in pairs:
        if leaf not in origin:
            own = conditions_at(tree, leaf)
            outer = conditions_at(before, place).items()
            if all(feature in own and own[feature].within(each) == own[feature] for feature, each in outer):
                origin[leaf] = place
    return origin


def _inherited(tree: Tree, before: Tree, pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Leaf and feature wherever earlier rows that a leaf stands for lacked the value.

    A leaf stands for those of an earlier leaf if a new row lies in both.
    """
    for leaf, earlier in pairs:
        conditions = conditions_at(tree, leaf)
        for place, feature in before.rows_not_recorded:
            if place == earlier and feature in conditions and conditions[feature].missing:
                yield leaf, feature


def _keys(tree: Tree) -> Iterator[tuple[object, ...]]:
    """For every node, what leads to it and what it asks: equal in trees that have the same node."""
    for node, conditions in enumerate(conditions_by_node(tree)):
        asks = None if tree.feature[node] == LEAF else answer(tree, node, True)
        yield frozenset(conditions.items()), asks
