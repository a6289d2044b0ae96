"""Growing one tree of a boosted ensemble: splits between bins, by the Newton gain.

A row is a gradient and a hessian of the loss. A side of a split with the sums G and H lowers the loss by half
of G^2 / (H + l2) if it takes its best step; the best split has the largest sum of that over its two sides.
That is the gain of squared error for rows of weight H and target -G / H, looked up at the borders of the bins
alone. Sums are of integers, so that they are the same for any number of threads, and the larger child's
histogram is exactly its parent's minus its sibling's.

The kernel pauses before it counts a large node: many threads can do that together.
"""

import math
from typing import NamedTuple

from holdfast.arrays import FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.boosting.histogram import Gradients, count_block, subtract
from holdfast.kernels.boosting.search import Limits, Scratch, best_split, choose_set
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.drawing import child_seed
from holdfast.kernels.growth.grow import (
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
    SLOT,
    START,
    Grown,
    divide,
    in_preorder,
    pop,
    push,
)
from holdfast.kernels.growth.grow import Growing as GrowingTree
from holdfast.kernels.growth.guide import GIVEN, HIGHEST, LOWEST, Guide, Paths, open_paths
from holdfast.kernels.growth.guide import PARENT as PARENT_OF
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.jit import inner, int64, kernel

LEAST_GAIN = 2.0**-40  # relative to what the sides have: less is rounding
DONE, COUNT, ROOM = 0, 1, 2  # why `advance` comes back
# The counters of a tree that is growing.
N_NODES, N_LEAVES, N_OPEN, N_SET, N_FREE, PARENT, SMALL, LARGE, FRESH, TO_COUNT, SLOT_TO_COUNT = range(11)
N_COUNTERS = 11


class Growing(NamedTuple):
    """A tree while it grows: its nodes in the order in which they were made, and memory."""

    rows: IntArray  # in the order of the nodes
    fields: LongArray  # (nodes, N_FIELDS)
    total: LongArray  # (nodes, 2) hessian and number of rows; gradient
    gain: FloatArray  # (nodes,)
    heap: LongArray
    counters: LongArray
    free: LongArray  # slots of histograms that nobody holds
    buffer: IntArray
    scratch: Scratch
    guide: Guide
    guided: FloatArray  # (nodes, N_GUIDED), or of no nodes where nothing guides growth
    paths: Paths


@inner
def search(
    limits: Limits,
    coded: Coded,
    bits: int,
    at: int,
    histogram: LongArray,
    growing: Growing,
    in_set: SignArray,
) -> bool:
    """Find the best split of a node and put it on the heap; False if it stays a leaf."""
    fields, total, counters = growing.fields, growing.total, growing.counters
    other, own_total = total[at, 0], total[at, 1]
    lowest, highest, paths = -math.inf, math.inf, growing.paths
    if growing.guide.is_set:
        lowest, highest = growing.guided[at, LOWEST], growing.guided[at, HIGHEST]
        open_paths(growing.guide, fields, growing.guided, at, fields[at, DEPTH], FEATURE, paths)
    seed, scratch = fields[at, SEED], growing.scratch
    best = best_split(limits, coded, histogram, own_total, other, bits, seed, scratch, paths, lowest, highest)
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
    growing.gain[at] = gain
    return True


@inner
def can_split(limits: Limits, growing: Growing, at: int, bits: int) -> bool:
    """True if a node is worth searching."""
    rows = growing.total[at, 0] & ((int64(1) << bits) - 1)
    return bool(growing.fields[at, DEPTH] < limits.max_depth and rows >= 2 * limits.min_rows)


@inner
def add_rows(gradients: Gradients, rows: IntArray, total: LongArray) -> None:
    """Write the sums of the rows."""
    sum_, other, is_repeated = int64(0), int64(0), len(gradients.repeats) > 0
    for i in range(len(rows)):
        both = gradients.packed[rows[i]]
        times = int64(gradients.repeats[rows[i]]) if is_repeated else int64(1)
        sum_ += (both >> 32) * times
        other += (((both & 0xFFFFFFFF) << gradients.count_bits) + 1) * times
    total[0], total[1] = other, sum_


@kernel
def sum_node(gradients: Gradients, rows: IntArray, total: LongArray) -> None:
    """Write the sums of the rows."""
    add_rows(gradients, rows, total)


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
def make_children(
    limits: Limits, coded: Coded, gradients: Gradients, growing: Growing, parent: int, in_set: SignArray
) -> None:
    """Divide the rows of a node; the smaller child is noted, and its sums are worked out."""
    fields, total, counters, rows = growing.fields, growing.total, growing.counters, growing.rows
    first, last = fields[parent, START], fields[parent, END]
    middle = first + divide(coded, rows, growing.buffer, fields, parent, in_set)
    left, right = counters[N_NODES], counters[N_NODES] + 1
    fields[parent, LEFT], fields[parent, RIGHT] = left, right
    for side in range(2):
        child = left + side
        for k in range(N_FIELDS):
            fields[child, k] = NONE
        fields[child, START], fields[child, END] = (first, middle) if side == 0 else (middle, last)
        fields[child, DEPTH] = fields[parent, DEPTH] + 1
        fields[child, SEED] = child_seed(fields[parent, SEED], side)
    small, large = (left, right) if middle - first <= last - middle else (right, left)
    add_rows(gradients, rows[fields[small, START] : fields[small, END]], total[small])
    for k in range(2):
        total[large, k] = total[parent, k] - total[small, k]
    if growing.guide.is_set:
        hand_down(limits, growing, parent, left, right, gradients.count_bits)
    counters[N_NODES] += 2
    counters[N_LEAVES] += 1
    counters[PARENT], counters[SMALL], counters[LARGE] = parent, small, large


@kernel
def advance(
    limits: Limits,
    coded: Coded,
    gradients: Gradients,
    growing: Growing,
    in_set: SignArray,
    histograms: LongArray,
) -> int:
    """Grow on until the tree is finished, a large node is to be counted, or room for sets is needed.

    The node that counters[TO_COUNT] names is counted into the slot counters[SLOT_TO_COUNT] before the next
    call; `in_set` then has room for two more sets.
    """
    fields, counters, free, bits = growing.fields, growing.counters, growing.free, gradients.count_bits
    widest = 0
    for feature in range(coded.ranks.shape[0]):
        if coded.is_subset[feature]:
            widest = max(widest, coded.n_codes[feature])
    while True:
        if counters[FRESH]:
            # The smaller child's histogram is in its slot; the larger one's is its parent's without it.
            counters[FRESH] = 0
            parent, slot = counters[PARENT], counters[SLOT_TO_COUNT]
            of_parent = fields[parent, SLOT] if parent != NONE else NONE
            if of_parent != NONE:
                subtract(coded, histograms[of_parent], histograms[slot])
            for turn in range(1 if parent == NONE else 2):
                at = counters[SMALL] if turn == 0 else counters[LARGE]
                if turn == 1:
                    slot = of_parent
                    if of_parent == NONE:  # there was no room to keep it
                        slot = int64(0)
                        if can_split(limits, growing, at, bits):
                            own = growing.rows[fields[at, START] : fields[at, END]]
                            for block in range(coded.codes.shape[0]):
                                count_block(coded, gradients, own, int64(block), histograms[0])
                found = can_split(limits, growing, at, bits) and search(
                    limits, coded, bits, at, histograms[slot], growing, in_set
                )
                if found:
                    growing.gain[at] = growing.gain[at] if limits.best_first else float(at)
                    push(growing.heap, growing.gain, counters[N_OPEN], at)
                    counters[N_OPEN] += 1
                if slot > 0 and found:
                    fields[at, SLOT] = slot
                elif slot > 0:
                    free[counters[N_FREE]] = slot
                    counters[N_FREE] += 1
        if counters[N_OPEN] == 0 or counters[N_LEAVES] >= limits.max_leaves:
            return DONE
        if len(in_set) - counters[N_SET] < 2 * widest:
            return ROOM
        parent = pop(growing.heap, growing.gain, counters[N_OPEN])
        counters[N_OPEN] -= 1
        make_children(limits, coded, gradients, growing, parent, in_set)
        small, large = counters[SMALL], counters[LARGE]
        slot = fields[parent, SLOT]
        if counters[N_LEAVES] >= limits.max_leaves or not (
            can_split(limits, growing, small, bits) or can_split(limits, growing, large, bits)
        ):
            if slot != NONE:
                free[counters[N_FREE]] = slot
                counters[N_FREE] += 1
            continue
        counters[FRESH], counters[TO_COUNT] = 1, small
        counters[SLOT_TO_COUNT] = 0
        if counters[N_FREE] > 0 and can_split(limits, growing, small, bits):
            counters[N_FREE] -= 1
            counters[SLOT_TO_COUNT] = free[counters[N_FREE]]
        if slot == NONE and not can_split(limits, growing, small, bits):
            continue  # nothing to subtract from, and nothing to search
        n_rows = fields[small, END] - fields[small, START]
        if n_rows >= limits.rows_to_share:
            return COUNT
        own = growing.rows[fields[small, START] : fields[small, END]]
        for block in range(coded.codes.shape[0]):
            count_block(coded, gradients, own, int64(block), histograms[counters[SLOT_TO_COUNT]])


@kernel
def finish(plan: Plan, coded: Coded, growing: Growing, in_set: SignArray, grown: Grown) -> None:
    """Put the nodes in preorder, every category and the missing values on a side."""
    nodes = GrowingTree(growing.fields, growing.total, in_set, growing.guided)
    in_preorder(plan, coded, nodes, growing.counters[N_NODES], grown)
