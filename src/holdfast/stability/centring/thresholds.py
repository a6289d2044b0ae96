"""The thresholds that small trees may use: few round numbers for every feature, chosen by its quantiles.

A threshold of 25.6 in one tree and of 26.1 in the next is a difference without a meaning. A short list of
round numbers with enough rows between them is what a person would choose from, and hardly changes when some
rows come or go.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.table import Table
from holdfast.growth.rounding import find_roundest
from holdfast.tree.tree import KNOWN, Tree

LEAST_SHARE = 1 / 32  # of the rows of a feature, between two neighbouring thresholds
FACTORS = (5, 2, 1)  # of each power of ten, the roundest first
MOST_DIGITS = 9  # of a threshold, counted from the first digit of the range
MOST_POWER = 290  # of ten: beyond, multiples overflow or lose digits
MOST_TRIED = 65  # multiples of one step in one gap


def round_cuts(values: FloatArray, repeats: IntArray, least_share: float = LEAST_SHARE) -> FloatArray:
    """Choose round numbers with at least a share of the values below, between and above them.

    Round numbers come first: as long as a gap between two cuts holds twice the share, it is cut at the
    multiple of 10, then of 5, 2 and 1, and so on down, that is nearest to the middle of its values. Missing
    values do not count; `repeats` is how often each value counts.

    >>> round_cuts(np.arange(1.0, 201.0), np.ones(200, np.int32), 1 / 8)
    array([ 25.,  50.,  75., 100., 125., 150., 175.])
    """
    known = ~np.isnan(values) & (repeats > 0)
    levels, place = np.unique(values[known], return_inverse=True)
    if len(levels) < 2:
        return np.empty(0)
    if len(levels) == 2:
        return np.array([find_roundest(float(levels[0]), float(levels[1]))])
    below = np.concatenate([[0], np.cumsum(np.bincount(place, repeats[known], len(levels)))])
    need = max(2.0, math.ceil(least_share * below[-1]))
    return _Gaps(levels, below, need).cuts()


class _Gaps:
    """The values of one feature, and the gaps between cuts that can still be divided."""

    def __init__(self, levels: FloatArray, below: FloatArray, need: float) -> None:
        self.levels = levels
        self.below = below  # values before each level, and all of them last
        self.need = need
        self.found: list[float] = []

    def cuts(self) -> FloatArray:
        """All cuts, in order: round numbers and, where the floats leave no room for these, values."""
        gaps, spread = [(0, len(self.levels))], float(self.levels[-1]) - float(self.levels[0])
        top = math.floor(math.log10(spread)) + 1 if math.isfinite(spread) else MOST_POWER
        for power in range(top, top - MOST_DIGITS, -1):
            if abs(power) < MOST_POWER:
                for factor in FACTORS:
                    gaps = [rest for gap in gaps for rest in self._divided(*gap, factor, power)]
        while gaps:
            gaps = [part for gap in gaps for part in self._halved(*gap)]
        return np.array(sorted(self.found))

    def _halved(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The two parts of a gap, cut at the value nearest to its middle; none if too few would be left."""
        n_left = self.below[begin + 1 : end] - self.below[begin]
        n_right = self.below[end] - self.below[begin + 1 : end]
        if not len(n_left) or np.minimum(n_left, n_right).max() < self.need:
            return []
        place = begin + 1 + int(np.minimum(n_left, n_right).argmax())
        self.found.append(float(self.levels[place - 1]))
        return [(begin, place), (place, end)]

    def _divided(self, begin: int, end: int, factor: int, power: int) -> list[tuple[int, int]]:
        """The parts of a gap, cut at multiples of factor * 10 ** power, that can be cut further."""
        if self.below[end] - self.below[begin] < 2 * self.need or end - begin < 2:
            return []
        found = self._nearest_to_middle(begin, end, factor, power)
        if found is None:
            return [(begin, end)]
        cut, place = found
        self.found.append(cut)
        return [*self._divided(begin, place, factor, power), *self._divided(place, end, factor, power)]

    def _nearest_to_middle(self, begin: int, end: int, factor: int, power: int) -> tuple[float, int] | None:
        """The multiple that best halves the gap, and the first level above it; None if none leaves enough."""
        middle = (self.below[begin] + self.below[end]) / 2
        # The levels that leave enough values on both sides if the cut is at them, or just below the next.
        first = max(int(np.searchsorted(self.below, self.below[begin] + self.need)) - 1, begin)
        last = int(np.searchsorted(self.below, self.below[end] - self.need, "right")) - 1
        if last <= first:
            return None
        at = int(np.searchsorted(self.below, middle, "right")) - 1
        near = float(self.levels[min(max(at, first), last - 1)])
        best: tuple[float, float, int] | None = None
        for cut in _multiples(float(self.levels[first]), float(self.levels[last]), near, factor, power):
            place = int(np.searchsorted(self.levels, cut, "right"))
            n_left, n_right = self.below[place] - self.below[begin], self.below[end] - self.below[place]
            off = abs(self.below[place] - middle)
            if min(n_left, n_right) >= self.need and (best is None or off < best[0]):
                best = off, cut, place
        return None if best is None else best[1:]


def _multiples(low: float, high: float, near: float, factor: int, power: int) -> list[float]:
    """The multiples of factor * 10 ** power from low to below high; of many, those around `near`."""
    scale = 10.0 ** abs(power)
    step = factor * scale if power >= 0 else factor / scale
    first, last = math.ceil(low / step), math.ceil(high / step) - 1
    if last - first >= MOST_TRIED:
        middle = round(near / step)
        first, last = max(first, middle - MOST_TRIED // 2), min(last, middle + MOST_TRIED // 2)
    # A whole number divided by a power of ten is the float that people write: 3 / 10, not 3 * 0.1.
    numbers = (number * factor for number in range(first, last + 1))
    cuts = (number * scale if power >= 0 else number / scale for number in numbers)
    return [cut for cut in cuts if low <= cut < high]


def coarse_table(
    table: Table, repeats: IntArray, as_written: Sequence[tuple[str, float]] = ()
) -> tuple[Table, tuple[FloatArray | None, ...]]:
    """Replace every number by the smallest cut that is not below it; and the cuts of each feature.

    `as_written` are features and thresholds that a tree must have, round or not.

    Trees grown on the coarse rows have thresholds between two cuts, which `on_cuts` makes the lower one: all
    rows go the same way. None for features that are not numbers.
    """
    columns: list[FloatArray] = []
    cuts: list[FloatArray | None] = []
    for feature, column in zip(table.schema.features, table.columns, strict=True):
        if feature.kind != "numeric":
            columns.append(column)
            cuts.append(None)
            continue
        own = round_cuts(column, repeats)
        own = np.union1d(own, [threshold for name, threshold in as_written if name == feature.name])
        coarse = np.append(own, feature.high)[np.searchsorted(own, column, "left").clip(max=len(own))]
        columns.append(np.where(np.isnan(column), np.nan, coarse))
        cuts.append(own)
    return replace(table, columns=tuple(columns)), tuple(cuts)


def on_cuts(tree: Tree, cuts: tuple[FloatArray | None, ...]) -> Tree:
    """Move every threshold of a tree of coarse rows to the largest cut that is not above it."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        own = cuts[tree.feature[node]]
        if own is not None and threshold[node] < KNOWN:
            threshold[node] = own[max(int(np.searchsorted(own, threshold[node], "right")) - 1, 0)]
    return tree.replace(threshold=threshold)
