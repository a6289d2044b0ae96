"""The split of a node that lowers the loss most, between bins and between sets of categories."""

import math

from holdfast.arrays import LongArray
from holdfast.kernels.boosting.numbers import scan_guided, scan_numbers
from holdfast.kernels.boosting.sets import scan_sets
from holdfast.kernels.boosting.splits import NONE, Best, Limits, Reach, Scratch, reached
from holdfast.kernels.growth.drawing import queue_columns, take_column
from holdfast.kernels.growth.guide import Paths
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.jit import inner, int64


@inner
def best_split(
    limits: Limits,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    seed: int,
    scratch: Scratch,
    paths: Paths,
    lowest: float,
    highest: float,
    first: int,
    last: int,
) -> Best:
    """The best split of a node over some features, or over drawn ones; its feature is -1 if there is none."""
    best = Best(0.0, 1.0, NONE, int64(0), int64(0))
    n_varied, n_ready, n_least = int64(0), int64(0), limits.n_drawn
    below, has_paths = float(other >> bits) + limits.l2, paths.is_set[0] > 0
    whole = clipped = 0.0
    is_bound = lowest > -math.inf or highest < math.inf
    if has_paths and below > 0.0:
        whole = float(total) * float(total) / below
        clipped = reached(float(total), below, min(max(-float(total) / below, lowest), highest))
    reach = Reach(False, int64(0), lowest, highest, whole, clipped, 1.0)
    for i in range(first, last):
        feature = int64(i)
        if limits.n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, scratch.queue, scratch.waiting)
                n_least *= 2
            feature = take_column(scratch.queue, int64(i), n_ready)
        if has_paths:
            if paths.is_closed[feature]:
                continue
            direction = int64(paths.direction[feature]) if len(paths.direction) > 0 else int64(0)
            cost = paths.cost[feature]
            is_guided = is_bound or direction != 0 or cost != 1.0
            reach = Reach(is_guided, direction, lowest, highest, whole, clipped, cost)
        before = best.top
        if coded.is_subset[feature]:
            best = scan_sets(limits, reach, coded, histogram, total, other, bits, feature, scratch, best)
        else:
            begin, n_codes = 2 * coded.start[feature], int64(coded.n_codes[feature])
            if reach.is_guided:
                best = scan_guided(
                    limits, reach, histogram, begin, n_codes, total, other, bits, feature, best
                )
            else:
                best = scan_numbers(limits, histogram, begin, n_codes, total, other, bits, feature, best)
        if limits.n_drawn > 0:
            n_varied += int64(is_varied(coded, histogram, feature, other) or best.top != before)
            if n_varied >= limits.n_drawn and best.feature >= 0:
                break
    return best


@inner
def is_varied(coded: Coded, histogram: LongArray, feature: int, other: int) -> bool:
    """True if the feature takes several values in the node."""
    begin = 2 * coded.start[feature]
    for code in range(coded.n_codes[feature]):
        own = histogram[begin + 2 * code + 1]
        if own != 0:
            return bool(own != other)
    return False
