"""Rounding of thresholds to the roundest number for which no rows, or few, change sides."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Unpack

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray
from holdfast._check import check_number
from holdfast.data.table import Table
from holdfast.growth.rules import GrowthRules
from holdfast.tree.edit import edited_nodes
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.tree import KNOWN, EditInfo, Tree

MOST_DIGITS = 18
MARGIN = 1e-9  # of the weight that may change sides
FACTORS = (10, 5, 2, 1)  # of each power of ten, the roundest first
WORTH_ROWS = (10, 5, 1)  # without 2: an even number is not worth a row that changes sides


def find_roundest(
    low: float, high: float, near: float | None = None, factors: tuple[int, ...] = FACTORS
) -> float:
    """Find the roundest number between two others; of several, the nearest to the middle or to `near`.

    >>> find_roundest(14.1, 16.9), find_roundest(0.0271, 0.0294), find_roundest(-3.0, 4.0)
    (15.0, 0.028, 0.0)
    """
    if not low < high or not math.isfinite(high - low):
        return low
    if low < 0.0 < high:
        return 0.0
    below, above = Fraction(low), Fraction(high)
    target = (below + above) / 2 if near is None else Fraction(near)
    exponent = math.floor(math.log10(high - low)) + 1
    for power in range(exponent, exponent - MOST_DIGITS, -1):
        for factor in factors:
            step = Fraction(factor) * Fraction(10) ** power
            first, last = math.floor(below / step) + 1, math.ceil(above / step) - 1
            if first <= last:
                nearest = round(target / step)
                number = float(min(max(nearest, first), last) * step)
                if low < number < high:
                    return number
    return low


def round_thresholds(
    tree: Tree,
    table: Table,
    tolerance: float = 0.0,
    *,
    rules: GrowthRules | None = None,
    keep_values: bool = False,
    **info: Unpack[EditInfo],
) -> Tree:
    """Round thresholds as far as at most a fraction of the rows changes sides.

    From the root down, each threshold becomes the roundest number within the tolerance. Thresholds on ordered
    categories and manually edited ones stay.

    Parameters
    ----------
    tree : Tree
    table : Table
        The training rows.
    tolerance : float
        Greatest fraction of the weight at a node that may change sides. If rows do, counts and values are
        refitted as by `Tree.edit`, and the change is recorded as an edit.
    rules : GrowthRules, optional
        Rules for refitted values.
    keep_values : bool
        Refit counts only.
    **info
        Author, reason and date of the edit.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from holdfast import grow
    >>> table = Table.from_arrays([[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> tree = grow(table)
    >>> tree.threshold[0], round_thresholds(tree, table).threshold[0]
    (np.float64(39.0), np.float64(40.0))
    >>> round_thresholds(tree, table, tolerance=0.25).threshold[0]
    np.float64(50.0)
    """
    check_number("tolerance", tolerance, 0.0, 1.0, is_open="high")
    editing = tree.edit(table, rules=rules, keep_values=keep_values, **info)
    rows = editing.table
    assert rows is not None
    if tolerance == 0:
        return round_exactly(tree, rows)
    for node in _list_rounded_nodes(tree):
        current = editing.tree
        number = _find_threshold(current, rows, node, float(tolerance))
        threshold = current.threshold.copy()
        threshold[node] = number
        rounded = current.replace(threshold=threshold)
        if np.array_equal(rounded.apply(rows), current.apply(rows)):
            editing = replace(editing, tree=rounded)
        else:
            editing = editing.with_threshold(node, number)
    return editing.tree


def round_exactly(tree: Tree, table: Table, as_written: Sequence[tuple[str, float]] = ()) -> Tree:
    """Round thresholds without any row of the table changing sides.

    Thresholds on ordered categories, manually edited ones, and those listed in `as_written` as pairs of
    feature and threshold stay.
    """
    leaf = tree.apply(table)
    threshold = tree.threshold.copy()
    for node in _list_rounded_nodes(tree):
        if (tree.schema.names[tree.feature[node]], float(threshold[node])) in as_written:
            continue
        values = table.columns[tree.feature[node]][_flag_rows(tree, leaf, node)]
        below, above = values[values <= threshold[node]], values[values > threshold[node]]
        if len(below) and len(above):
            threshold[node] = find_roundest(float(below.max()), float(above.min()))
    return enforce_monotonicity(tree.replace(threshold=threshold))


def _list_rounded_nodes(tree: Tree) -> list[int]:
    """List the nodes with a numeric threshold that was not edited manually."""
    edited = edited_nodes(tree)
    numeric = np.array([feature.kind == "numeric" for feature in tree.schema.features] + [False])
    return [node for node in np.flatnonzero(numeric[tree.feature]).tolist() if node not in edited]


def _flag_rows(tree: Tree, leaf: IntArray, node: int) -> BoolArray:
    return np.asarray((leaf >= node) & (leaf < tree.subtree_end[node]), np.bool_)


# -- with a tolerance -------------------------------------------------------------------------------------


def _find_threshold(tree: Tree, table: Table, node: int, tolerance: float) -> float:
    """Find the roundest threshold that moves at most this fraction of the node's weight."""
    threshold = float(tree.threshold[node])
    rows = _flag_rows(tree, tree.apply(table), node)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    # With a margin, so that the last bits of a sum do not matter.
    allowed = tolerance * math.fsum(weight[rows].tolist()) * (1 + MARGIN)
    values = table.columns[tree.feature[node]]
    rows &= ~np.isnan(values) & (weight > 0)
    nearby = _interval(values[rows], weight[rows], threshold, 0.0)
    free = find_roundest(*nearby) if nearby[0] < nearby[1] else threshold
    low, high = _interval(values[rows], weight[rows], threshold, allowed)
    low, high = _narrow_by_splits_below(tree, node, low, high)
    return find_roundest(low, high, near=free, factors=WORTH_ROWS) if low < free < high else threshold


def _interval(
    values: FloatArray, weight: FloatArray, threshold: float, allowed: float
) -> tuple[float, float]:
    """Return the interval of thresholds that move no more weight than allowed and leave no side empty."""
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    n_below = int(np.searchsorted(values, threshold, "right"))
    n_above = len(values) - n_below
    if not n_below or not n_above:
        return threshold, threshold
    down = int(np.count_nonzero(np.cumsum(weight[:n_below][::-1]) <= allowed))
    up = int(np.count_nonzero(np.cumsum(weight[n_below:]) <= allowed))
    low, high = values[n_below - 1 - min(down, n_below - 1)], values[n_below + min(up, n_above - 1)]
    return float(low), float(high)


def _narrow_by_splits_below(tree: Tree, node: int, low: float, high: float) -> tuple[float, float]:
    """Narrow the interval so that splits below on the same feature keep both sides."""
    alike = np.flatnonzero((tree.feature == tree.feature[node]) & (tree.threshold < KNOWN))
    left, right, end = int(tree.left[node]), int(tree.right[node]), int(tree.subtree_end[node])
    on_yes = tree.threshold[alike[(alike >= left) & (alike < right)]]
    on_no = tree.threshold[alike[(alike >= right) & (alike < end)]]
    return float(on_yes.max(initial=low)), float(on_no.min(initial=high))
