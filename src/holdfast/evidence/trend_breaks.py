"""Where a tree says the opposite of the overall trend: splits to look at before anyone else does.

The trend of a column is the sign of its rank correlation with the target over all rows, where that is clear.
A split on the column goes against it where the two sides differ, clearly too, the other way.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.errors import ParameterError, TrendWarning
from holdfast.shown import shown
from holdfast.tree.tree import KNOWN, LEAF, Tree

CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class TrendBreak:
    """One split against the trend of its column."""

    node: int
    feature: str
    threshold: float
    correlation: float  # rank correlation of the column with the target, over all rows
    left: float  # the mean of the target, or the fraction of the class, of the rows on either side
    right: float
    rows: tuple[int, int]  # how many these are
    errors: float  # by how many standard errors the two sides differ


class TrendBreaks(list[TrendBreak]):
    """Splits against the trend, the clearest first; they print themselves as a table."""

    def __repr__(self) -> str:
        return shown("trend_breaks_text", self)


def trend_breaks(tree: Tree, table: Table, outcome: Label | None = None) -> TrendBreaks:
    """The splits of the tree that go against the trend of their column in the rows of the table.

    Of two classes the fraction of the second is meant unless `outcome` names another; of more, it must be
    named. Rows count by their weight, and errors as if they were as many as there are.
    """
    y = _target(table, outcome)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    leaf = tree.apply(table)
    found = []
    for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist():
        if tree.schema.features[feature].is_subset:
            continue
        trend, trend_errors = _rank_correlation(table.columns[feature], y, weight)
        if trend_errors < CLEAR:
            continue
        for node in np.flatnonzero(tree.feature == feature).tolist():
            own = _against(tree, node, leaf, y, weight, trend)
            if own is not None:
                found.append(own)
    return TrendBreaks(sorted(found, key=lambda each: -each.errors))


def warn_of_trend_breaks(tree: Tree, table: Table, outcome: Label | None = None) -> TrendBreaks:
    """The same, with a TrendWarning for each."""
    found = trend_breaks(tree, table, outcome)
    for each in found:
        warnings.warn(shown("trend_break_text", each), TrendWarning, stacklevel=2)
    return found


def _target(table: Table, outcome: Label | None) -> FloatArray:
    target = table.schema.target
    if not target.is_classes:
        return np.asarray(table.target, np.float64)
    if outcome is None and len(target.classes) > 2:
        raise ParameterError(f"outcome is missing: name one of the classes {list(target.classes)}.")
    if outcome is not None and outcome not in target.classes:
        raise ParameterError(f"outcome={outcome!r} is no class: these are {list(target.classes)}.")
    place = len(target.classes) - 1 if outcome is None else target.classes.index(outcome)
    return np.asarray(table.target == place, np.float64)


def _rank_correlation(column: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Spearman's rank correlation over the known values, and by how many standard errors it is not 0."""
    known = ~np.isnan(column) & (weight > 0)
    if known.sum() < 3:
        return 0.0, 0.0
    ranks, targets, own = _ranks(column[known]), _ranks(y[known]), weight[known]
    centred = [each - np.average(each, weights=own) for each in (ranks, targets)]
    spread = math.sqrt(float((own * centred[0] ** 2).sum() * (own * centred[1] ** 2).sum()))
    if spread == 0.0:
        return 0.0, 0.0
    correlation = float((own * centred[0] * centred[1]).sum()) / spread
    return correlation, abs(correlation) * math.sqrt(known.sum() - 1)


def _ranks(values: FloatArray) -> FloatArray:
    """The mean position of each value among all."""
    _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[number], np.float64)


def _against(
    tree: Tree, node: int, leaf: IntArray, y: FloatArray, weight: FloatArray, trend: float
) -> TrendBreak | None:
    """The break at a node, if there is one."""
    if tree.threshold[node] >= KNOWN:
        return None
    sides = []
    for child in (int(tree.left[node]), int(tree.right[node])):
        rows = (leaf >= child) & (leaf < tree.subtree_end[child]) & (weight > 0)
        if rows.sum() < 2:
            return None
        mean = float(np.average(y[rows], weights=weight[rows]))
        variance = float(np.average((y[rows] - mean) ** 2, weights=weight[rows])) / (int(rows.sum()) - 1)
        sides.append((mean, variance, int(rows.sum())))
    (left, of_left, n_left), (right, of_right, n_right) = sides
    difference, error = right - left, math.sqrt(of_left + of_right)
    if difference * trend >= 0 or abs(difference) <= CLEAR * error:
        return None
    errors = abs(difference) / error if error > 0 else math.inf
    name, threshold = tree.schema.names[tree.feature[node]], float(tree.threshold[node])
    return TrendBreak(node, name, threshold, trend, left, right, (n_left, n_right), errors)
