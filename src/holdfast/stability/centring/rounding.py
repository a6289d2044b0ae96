"""Thresholds as people write them: the roundest number that sends no row another way."""

import math
from fractions import Fraction

import numpy as np

from holdfast.arrays import LongArray
from holdfast.data.table import Table
from holdfast.tree.tree import LEAF, Tree

MOST_DIGITS = 18
_FACTORS = (10, 5, 2, 1)  # of each power of ten, the roundest first


def roundest(low: float, high: float) -> float:
    """The roundest number between two others; of several, the one nearest the middle.

    >>> roundest(14.1, 16.9), roundest(0.0271, 0.0294), roundest(-3.0, 4.0), roundest(0.0, 1.0)
    (15.0, 0.028, 0.0, 0.5)
    """
    if not low < high or not math.isfinite(high - low):
        return low
    if low < 0.0 < high:
        return 0.0
    below, above = Fraction(low), Fraction(high)
    exponent = math.floor(math.log10(high - low)) + 1
    for power in range(exponent, exponent - MOST_DIGITS, -1):
        for factor in _FACTORS:
            step = Fraction(factor) * Fraction(10) ** power
            first, last = math.floor(below / step) + 1, math.ceil(above / step) - 1
            if first <= last:
                nearest = round((below + above) / 2 / step)
                found = float(min(max(nearest, first), last) * step)
                if low < found < high:
                    return found
    return low


def with_round_thresholds(tree: Tree, table: Table) -> Tree:
    """The tree with the roundest thresholds that send every row of the table the way it went.

    Ordered categories have no numbers between them, and stay.
    """
    leaf, end = tree.apply(table), _ends(tree)
    threshold = tree.threshold.copy()
    for node in np.flatnonzero((tree.feature != LEAF) & (tree.set_start < 0)):
        feature = int(tree.feature[node])
        if table.schema.features[feature].categories:
            continue
        values = table.columns[feature][(leaf >= node) & (leaf < end[node])]
        below, above = values[values <= threshold[node]], values[values > threshold[node]]
        if len(below) and len(above):
            threshold[node] = roundest(float(below.max()), float(above.min()))
    return tree.replace(threshold=threshold)


def _ends(tree: Tree) -> LongArray:
    """For every node, the first number beyond those of its subtree."""
    end = np.arange(1, tree.n_nodes + 1)
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.feature[node] != LEAF:
            end[node] = end[tree.right[node]]
    return end
