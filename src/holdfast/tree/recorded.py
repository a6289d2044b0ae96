"""Missing values and categories of the training rows, recorded with the tree."""

from collections.abc import Iterator, Mapping
from math import isnan, nan

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions
from holdfast.tree.check import below_splits
from holdfast.tree.rules import Condition, iterate_conditions, list_conditions, split_condition
from holdfast.tree.tree import LEAF, Tree

ALIKE = 1e-6  # rows: counts that differ by less are equal


def set_recorded(tree: Tree, table: Table, before: Tree | None = None) -> Tree:
    """Record missing values and categories of the training rows: `not_recorded` and `seen`.

    `before` is the tree of which this one is an update, if any. A leaf or split of both keeps the counts of
    earlier rows as far as the tree still includes these rows. Other leaves get earlier rows, with and without
    a value, in proportion to the new rows that came from the same leaf.

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
    n_missing = dict(_missing_at_leaves(tree, table, leaves, times))
    seen = _seen(tree, table, leaves, times)
    if before is not None:
        earlier = before.apply(table)
        both, pair = np.unique(np.stack([leaves, earlier], axis=1)[times > 0], axis=0, return_inverse=True)
        pairs = [(int(leaf), int(place)) for leaf, place in both]
        places = _places_before(tree, before)
        seen = _seen_before(tree, before, seen, places)
        shared = _SharedRows(table, times, pairs, pair.reshape(-1).astype(np.int64))
        rows, n_missing = _add_earlier_rows(
            tree, before, rows, n_missing, shared, _unreached(tree, rows, places)
        )
        for place in _inherited(tree, before, pairs):
            n_missing.setdefault(place, nan)
    entries: list[tuple[int, int, float]] = [
        # The number is known only if the leaf counts exactly these rows.
        (leaf, feature, number if abs(rows[leaf] - tree.count[leaf]) <= ALIKE and not isnan(number) else 0.0)
        for (leaf, feature), number in sorted(n_missing.items())
    ]
    return tree.replace(
        not_recorded=np.array(entries, np.float64) if entries else None, seen=None if seen.all() else seen
    )


def _times(table: Table) -> FloatArray:
    """Count the rows that each row of the table stands for."""
    if table.weight is None:
        return np.ones(table.n_rows)
    if are_repetitions(table.weight):
        return table.weight
    return np.asarray(table.weight > 0, np.float64)


def _missing_at_leaves(
    tree: Tree, table: Table, leaves: IntArray, times: FloatArray
) -> Iterator[tuple[tuple[int, int], float]]:
    """List leaf, feature and row number where a value split on above the leaf is missing."""
    for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist():
        missing = np.isnan(table.rows([feature])[:, 0])
        if missing.any():
            rows = np.bincount(leaves[missing], times[missing], tree.n_nodes)
            for leaf in np.flatnonzero((rows > 0) & below_splits(tree, feature)).tolist():
                yield (leaf, feature), float(rows[leaf])


def _seen(tree: Tree, table: Table, leaves: IntArray, times: FloatArray) -> BoolArray:
    """Flag for each entry of `in_set` whether a row with the category reached the node."""
    seen = np.zeros(len(tree.in_set), np.bool_)
    order = np.flatnonzero(times > 0)
    order = order[np.argsort(leaves[order], kind="stable")]
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        start, end = np.searchsorted(leaves[order], [node, tree.subtree_end[node]])
        codes = table.rows([int(tree.feature[node])])[order[start:end], 0]
        seen[tree.set_start[node] + codes[~np.isnan(codes)].astype(np.int64)] = True
    return seen


# -- after an update ----------------------------------------------------------------------------------------


class _SharedRows:
    """New rows by pair of leaves, in the updated tree and the one before."""

    def __init__(
        self, table: Table, times: FloatArray, pairs: list[tuple[int, int]], pair: LongArray
    ) -> None:
        self._table, self._is_counted = table, times > 0
        self._times, self._pair, self._pairs = times[self._is_counted], pair, pairs
        self._missing: dict[int, dict[tuple[int, int], float]] = {}
        self.rows = self._sums(np.ones(len(pair), np.bool_))
        self.lenders: dict[int, list[int]] = {}
        for leaf, place in pairs:
            self.lenders.setdefault(leaf, []).append(place)
        self._totals: dict[int | None, dict[int, float]] = {}

    def missing(self, feature: int) -> dict[tuple[int, int], float]:
        """Count the rows of each pair without the value of the feature."""
        if feature not in self._missing:
            self._missing[feature] = self._sums(np.isnan(self._table.rows([feature])[self._is_counted, 0]))
        return self._missing[feature]

    def share(self, leaf: int, place: int, feature: int | None = None) -> float:
        """Return the share of an old leaf's new rows, or missing ones, that reach the new leaf."""
        if feature not in self._totals:
            totals: dict[int, float] = {}
            for (_, earlier), number in (self.rows if feature is None else self.missing(feature)).items():
                totals[earlier] = totals.get(earlier, 0.0) + number
            self._totals[feature] = totals
        rows = self.rows if feature is None else self.missing(feature)
        total = self._totals[feature][place]
        return rows[leaf, place] / total if total else self.share(leaf, place)

    def _sums(self, flags: BoolArray) -> dict[tuple[int, int], float]:
        numbers = np.bincount(self._pair[flags], self._times[flags], len(self._pairs))
        return dict(zip(self._pairs, numbers.tolist(), strict=True))


def _add_earlier_rows(
    tree: Tree,
    before: Tree,
    rows: FloatArray,
    n_missing: dict[tuple[int, int], float],
    shared: _SharedRows,
    unreached: Mapping[int, int],
) -> tuple[FloatArray, dict[tuple[int, int], float]]:
    """Add the rows and missing values of old leaves.

    By the prior of an update, a leaf gets from every old leaf the same fraction of its earlier rows as of its
    new ones. `unreached` are leaves of both trees without new rows.
    """
    rows, n_missing = rows.copy(), dict(n_missing)
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        lent = {
            place: float(before.count[place]) * shared.share(leaf, place)
            for place in shared.lenders.get(leaf, ())
        }
        if leaf in unreached:
            lent = {unreached[leaf]: float(before.count[unreached[leaf]])}
        n_carried, most = float(tree.count[leaf] - rows[leaf]), sum(lent.values())
        if n_carried <= 0.0 or n_carried > most + 1.0:  # counts are whole rows
            continue
        rows[leaf] = tree.count[leaf]
        part = min(n_carried / most, 1.0) if most else 0.0
        for feature, condition in list_conditions(tree, leaf).items():
            if condition.missing:
                n_lent = sum(
                    part * _lent_missing(before, shared, (leaf, place), feature, condition, number)
                    for place, number in lent.items()
                )
                number = n_missing.get((leaf, feature), 0.0) + n_lent
                if number:
                    n_missing[leaf, feature] = (
                        nan if isnan(number) else min(max(round(number), 1), rows[leaf])
                    )
    return rows, n_missing


def _lent_missing(
    before: Tree,
    shared: _SharedRows,
    pair: tuple[int, int],
    feature: int,
    condition: Condition,
    n_lent: float,
) -> float:
    """Estimate how many rows taken over from an old leaf lack the value; NaN if unknown."""
    earlier = list_conditions(before, pair[1]).get(feature)
    if earlier is None:  # unknown there: the same fraction as of the new rows
        return n_lent * shared.missing(feature)[pair] / shared.rows[pair]
    n_missing = before.rows_not_recorded.get((pair[1], feature), 0.0)
    if not n_missing or not n_lent:
        return 0.0
    if condition == earlier:
        return n_lent / float(before.count[pair[1]]) * n_missing
    return n_missing if isnan(n_missing) else min(n_missing * shared.share(*pair, feature), n_lent)


def _unreached(tree: Tree, rows: FloatArray, places: Mapping[int, int]) -> dict[int, int]:
    """List leaves of both trees that no new row reaches."""
    is_empty = (tree.feature == LEAF) & (rows == 0)
    return {leaf: place for leaf, place in places.items() if is_empty[leaf]}


def _seen_before(tree: Tree, before: Tree, seen: BoolArray, places: Mapping[int, int]) -> BoolArray:
    """Return categories seen, with those of the old tree at common splits."""
    seen = seen.copy()
    for node, place in places.items():
        if tree.set_start[node] >= 0:
            own, other = int(tree.set_start[node]), int(before.set_start[place])
            n_flags = len(tree.left_categories(node))
            seen[own : own + n_flags] |= True if before.seen is None else before.seen[other : other + n_flags]
    return seen


def _places_before(tree: Tree, before: Tree) -> dict[int, int]:
    """Map nodes of the tree to the same nodes of the old tree."""
    places = {key: node for node, key in enumerate(_keys(before))}
    return {node: places[key] for node, key in enumerate(_keys(tree)) if key in places}


def _inherited(tree: Tree, before: Tree, pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """List leaf and feature where earlier rows of a leaf lacked the value.

    A leaf stands for those of an earlier leaf if a new row lies in both.
    """
    for leaf, earlier in pairs:
        conditions = list_conditions(tree, leaf)
        for place, feature in before.rows_not_recorded:
            if place == earlier and feature in conditions and conditions[feature].missing:
                yield leaf, feature


def _keys(tree: Tree) -> Iterator[tuple[object, ...]]:
    """Make keys of path and split of all nodes, equal for equal nodes of two trees."""
    for node, conditions in enumerate(iterate_conditions(tree)):
        split = None if tree.feature[node] == LEAF else split_condition(tree, node, True)
        yield frozenset(conditions.items()), split
