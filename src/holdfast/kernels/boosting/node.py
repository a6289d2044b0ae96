"""One node of a growing tree: its best split, and the two children that come of it."""

import math

from holdfast.arrays import LongArray, SignArray
from holdfast.kernels.boosting.divide import (
    add_notes,
    conclude,
)
from holdfast.kernels.boosting.growing import (
    BEST_CUT,
    BEST_FEATURE,
    BEST_SIDE,
    BOTTOM,
    DIVIDE,
    GATHERS_LEFT,
    N_LEAVES,
    N_NODES,
    N_PARTS,
    N_SET,
    NODE,
    PLACE,
    TOP,
    Growing,
)
from holdfast.kernels.boosting.histogram import Gradients
from holdfast.kernels.boosting.search import best_split
from holdfast.kernels.boosting.sets import choose_set
from holdfast.kernels.boosting.splits import CLEARLY, Best, Limits
from holdfast.kernels.boosting.work import do_all, is_plain, parts_of
from holdfast.kernels.growth.drawing import child_seed
from holdfast.kernels.growth.guide import GIVEN, HIGHEST, LOWEST, open_paths
from holdfast.kernels.growth.guide import PARENT as PARENT_OF
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import (
    CUT,
    DEPTH,
    END,
    FEATURE,
    FIRST_RIGHT,
    LEFT,
    MISSING_LEFT,
    N_FIELDS,
    NONE,
    RIGHT,
    SEED,
    SET_START,
    START,
)
from holdfast.kernels.jit import inner, int64

LEAST_GAIN = 2.0**-40  # relative to what the sides have: less is rounding


@inner
def best_of_blocks(growing: Growing, which: int, n_blocks: int) -> Best:
    """The best split that the blocks found, of tied ones the first."""
    best = Best(0.0, 1.0, NONE, int64(0), int64(0))
    for block in range(n_blocks):
        own = growing.found[which, block]
        if own[BEST_FEATURE] >= 0 and own[TOP] * best.bottom > best.top * own[BOTTOM] * CLEARLY:
            feature, cut, side = int64(own[BEST_FEATURE]), int64(own[BEST_CUT]), int64(own[BEST_SIDE])
            best = Best(own[TOP], own[BOTTOM], feature, cut, side)
    return best


@inner
def search(
    limits: Limits,
    coded: Coded,
    bits: int,
    at: int,
    which: int,
    histogram: LongArray,
    growing: Growing,
    in_set: SignArray,
) -> bool:
    """Find the best split of a node, in what its blocks found if they were searched; False if it has none."""
    fields, total, counters = growing.fields, growing.total, growing.counters
    other, own_total = total[at, 0], total[at, 1]
    paths = growing.paths
    if is_plain(limits, growing):
        best = best_of_blocks(growing, which, coded.codes.shape[0])
    else:
        lowest, highest = -math.inf, math.inf
        if growing.guide.is_set:
            lowest, highest = growing.guided[at, LOWEST], growing.guided[at, HIGHEST]
            open_paths(growing.guide, fields, growing.guided, at, fields[at, DEPTH], FEATURE, paths)
        best = best_split(
            limits,
            coded,
            histogram,
            own_total,
            other,
            bits,
            fields[at, SEED],
            growing.scratch,
            paths,
            lowest,
            highest,
            int64(0),
            int64(coded.ranks.shape[0]),
        )
    if best.feature < 0:
        return False
    sides = best.top / best.bottom
    gain = sides - float(own_total) * float(own_total) / (float(other >> bits) + limits.l2)
    gain *= paths.cost[best.feature]
    if gain <= sides * LEAST_GAIN or gain < limits.min_impurity_decrease:
        return False
    fields[at, FEATURE], fields[at, CUT], fields[at, MISSING_LEFT] = best.feature, best.cut, best.missing_left
    if coded.is_subset[best.feature]:
        fields[at, SET_START] = counters[N_SET]
        fields[at, MISSING_LEFT] = choose_set(
            limits, coded, histogram, own_total, other, bits, best, growing.scratch, in_set, counters[N_SET]
        )
        counters[N_SET] += coded.n_codes[best.feature]
    else:
        fields[at, CUT] = coded.top_rank[best.feature, best.cut]
    growing.gain[at] = gain if limits.best_first else float(at)
    return True


@inner
def step_within(limits: Limits, growing: Growing, node: int, bits: int, low: float, high: float) -> float:
    """The best step of a node within bounds."""
    below = float(growing.total[node, 0] >> bits) + limits.l2
    step = -float(growing.total[node, 1]) / below if below > 0.0 else 0.0
    return min(max(step, low), high)


@inner
def hand_down(limits: Limits, growing: Growing, parent: int, left: int, right: int, bits: int) -> None:
    """Hand the bounds of a node down to its children, which the middle of their steps parts."""
    fields, guided, directions = growing.fields, growing.guided, growing.guide.direction
    low, high = guided[parent, LOWEST], guided[parent, HIGHEST]
    for child in (left, right):
        guided[child, LOWEST], guided[child, HIGHEST] = low, high
        guided[child, PARENT_OF], guided[child, GIVEN] = parent, NONE
    # Known values parted from missing ones have no order.
    if len(directions) == 0 or fields[parent, FIRST_RIGHT] == NONE:
        return
    direction = directions[fields[parent, FEATURE]]
    if direction == 0:
        return
    in_left = step_within(limits, growing, left, bits, low, high)
    in_right = step_within(limits, growing, right, bits, low, high)
    middle = in_left + (in_right - in_left) * 0.5
    guided[left, HIGHEST if direction > 0 else LOWEST] = middle
    guided[right, LOWEST if direction > 0 else HIGHEST] = middle


@inner
def write_sides(coded: Coded, growing: Growing, node: int, in_set: SignArray) -> None:
    """Write down which categories go left at a node, missing values first."""
    fields, feature = growing.fields, growing.fields[node, FEATURE]
    if coded.is_subset[feature]:
        growing.sides[0] = fields[node, MISSING_LEFT] == 1
        for code in range(coded.n_codes[feature]):
            growing.sides[code + 1] = in_set[fields[node, SET_START] + code]


@inner
def make_children(
    limits: Limits, coded: Coded, gradients: Gradients, growing: Growing, parent: int, in_set: SignArray
) -> bool:
    """Divide the rows of a node and work out the sums of its children; True if the left one is smaller."""
    fields, total, counters, notes = growing.fields, growing.total, growing.counters, growing.notes
    first, last = fields[parent, START], fields[parent, END]
    n_parts = parts_of(limits, last - first)
    write_sides(coded, growing, parent, in_set)
    counters[NODE], counters[N_PARTS] = parent, n_parts
    do_all(limits, coded, gradients, growing, DIVIDE, n_parts, n_parts > 1)
    middle = first + conclude(fields, parent, n_parts, notes)
    is_left = middle - first <= last - middle
    counters[GATHERS_LEFT] = is_left
    do_all(limits, coded, gradients, growing, PLACE, n_parts, n_parts > 1)
    left, right = counters[N_NODES], counters[N_NODES] + 1
    fields[parent, LEFT], fields[parent, RIGHT] = left, right
    for side in range(2):
        child = left + side
        for k in range(N_FIELDS):
            fields[child, k] = NONE
        fields[child, START], fields[child, END] = (first, middle) if side == 0 else (middle, last)
        fields[child, DEPTH] = fields[parent, DEPTH] + 1
        fields[child, SEED] = child_seed(fields[parent, SEED], side)
    small, large = (left, right) if is_left else (right, left)
    add_notes(notes, n_parts, total[small])
    for k in range(2):
        total[large, k] = total[parent, k] - total[small, k]
    if growing.guide.is_set:
        hand_down(limits, growing, parent, left, right, gradients.count_bits)
    counters[N_NODES] += 2
    counters[N_LEAVES] += 1
    return bool(is_left)
