"""Grow one tree of a boosted ensemble: splits between bins, by the Newton gain.

A row is a gradient and a hessian of the loss. A side of a split with the sums G and H lowers the loss by half
of G^2 / (H + l2) by its best step; the best split has the largest sum of that over its two sides. That is the
gain of squared error for rows of weight H and target -G / H, at the borders of the bins only. Sums are of
integers, so that they are the same for any number of threads, and the larger child's histogram is exactly its
parent's minus its sibling's.

One thread grows the tree. Others help it: they divide the rows of a node in parts, and count and search its
features in blocks. Blocks are the same for any number of threads, and so is the order of their splits.
"""

import math

from holdfast._arrays import LongArray, SignArray
from holdfast.kernels.boosting.histogram import Gradients
from holdfast.kernels.boosting.search import CLEARLY, Best, BoostingLimits, best_split, choose_set
from holdfast.kernels.boosting.work import (
    BEST_CUT,
    BEST_FEATURE,
    BEST_SIDE,
    BOTTOM,
    DIVIDE,
    FRESH,
    GATHER,
    GATHERS_LEFT,
    N_FREE,
    N_LEAVES,
    N_NODES,
    N_OPEN,
    N_PARTS,
    N_SET,
    NODE,
    OTHER,
    PACK,
    PLACE,
    SEARCH,
    SLOT_OF_NODE,
    SLOT_OF_OTHER,
    TOP,
    BoostingBuffers,
    add_notes,
    can_split,
    conclude,
    help_out,
    is_plain,
    parts_of,
    run_parts,
)
from holdfast.kernels.growth.constraints import FIRST_SPLIT, HIGHEST, LOWEST, find_allowed_features
from holdfast.kernels.growth.constraints import PARENT as PARENT_OF
from holdfast.kernels.growth.criteria import Plan
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
    SLOT,
    START,
    NodeArrays,
    TreeBuffers,
    pop,
    push,
    write_preorder,
)
from holdfast.kernels.growth.split import child_seed
from holdfast.kernels.jit import by_reference, inner, int64, kernel

DONE, ROOM = 0, 1  # why `advance` returns
LEAST_GAIN = 2.0**-40  # relative to the score of the sides: a smaller gain is rounding


# -- Growing -------------------------------------------------------------------------------------------------


@kernel
def advance(
    limits: BoostingLimits,
    coded: Coded,
    gradients: Gradients,
    buffers: BoostingBuffers,
    in_set: SignArray,
    is_helper: bool,
) -> int:
    """Grow until the tree is finished or two more sets do not fit; or help the thread that grows it.

    One kernel for both roles: they share most of their code, which is then compiled once.
    """
    limits, coded, gradients = by_reference(limits), by_reference(coded), by_reference(gradients)
    buffers = by_reference(buffers)
    if is_helper:
        help_out(limits, coded, gradients, buffers)
        return DONE
    counters, bits = buffers.counters, gradients.count_bits
    widest = 0
    for feature in range(coded.ranks.shape[0]):
        if coded.is_subset[feature]:
            widest = max(widest, coded.n_codes[feature])
    if counters[FRESH]:
        counters[FRESH] = 0
        gather_node(limits, coded, gradients, buffers, int64(0), PACK)
        if can_split(limits, buffers, int64(0), bits):
            counters[N_FREE] -= 1
            slot = buffers.free[counters[N_FREE]]
            count_and_search(limits, coded, gradients, buffers, int64(0), slot, NONE, NONE)
            wait_in_heap(limits, coded, bits, buffers, int64(0), slot, int64(0), in_set)
    while counters[N_OPEN] > 0 and counters[N_LEAVES] < limits.max_leaves:
        if len(in_set) - counters[N_SET] < 2 * widest:
            return ROOM
        parent = pop(buffers.heap, buffers.gain, counters[N_OPEN])
        counters[N_OPEN] -= 1
        is_left = make_children(limits, coded, gradients, buffers, parent, in_set)
        left, right = buffers.fields[parent, LEFT], buffers.fields[parent, RIGHT]
        small, large = (left, right) if is_left else (right, left)
        open_children(limits, coded, gradients, buffers, in_set, buffers.fields[parent, SLOT], small, large)
    return DONE


@inner
def gather_node(
    limits: BoostingLimits, coded: Coded, gradients: Gradients, buffers: BoostingBuffers, node: int, work: int
) -> None:
    """Copy the gradients of a node side by side (for the root, pack them first), and write their sums."""
    n_parts = parts_of(limits, buffers.fields[node, END] - buffers.fields[node, START])
    buffers.counters[NODE], buffers.counters[N_PARTS] = node, n_parts
    run_parts(limits, coded, gradients, buffers, work, n_parts, n_parts > 1)
    add_notes(buffers.notes, n_parts, buffers.total[node])


@inner
def count_and_search(
    limits: BoostingLimits,
    coded: Coded,
    gradients: Gradients,
    buffers: BoostingBuffers,
    node: int,
    slot: int,
    other: int,
    slot_of_other: int,
) -> None:
    """Fill a node's histogram, subtract it from its parent's, now the other child's, and search both."""
    counters, fields, n_features = buffers.counters, buffers.fields, coded.ranks.shape[0]
    counters[NODE], counters[SLOT_OF_NODE] = node, slot
    counters[OTHER], counters[SLOT_OF_OTHER] = other, slot_of_other
    n_cells = (fields[node, END] - fields[node, START]) * n_features + coded.start[n_features]
    n_blocks = int64(coded.codes.shape[0])
    is_shared = limits.n_threads > 1 and n_blocks > 1 and n_cells >= limits.cells_to_share
    run_parts(limits, coded, gradients, buffers, SEARCH, n_blocks, is_shared)


@inner
def wait_in_heap(
    limits: BoostingLimits,
    coded: Coded,
    bits: int,
    buffers: BoostingBuffers,
    at: int,
    slot: int,
    which: int,
    in_set: SignArray,
) -> None:
    """Push a counted node on the heap if it can be split; it keeps its histogram."""
    counters = buffers.counters
    if can_split(limits, buffers, at, bits) and search(
        limits, coded, bits, at, which, buffers.histograms[slot], buffers, in_set
    ):
        push(buffers.heap, buffers.gain, counters[N_OPEN], at)
        counters[N_OPEN] += 1
        if slot > 0:
            buffers.fields[at, SLOT] = slot
    else:
        release(buffers, slot)


@inner
def release(buffers: BoostingBuffers, slot: int) -> None:
    """Free a slot; the first one is never owned."""
    if slot > 0:
        buffers.free[buffers.counters[N_FREE]] = slot
        buffers.counters[N_FREE] += 1


@inner
def open_children(
    limits: BoostingLimits,
    coded: Coded,
    gradients: Gradients,
    buffers: BoostingBuffers,
    in_set: SignArray,
    slot: int,
    small: int,
    large: int,
) -> None:
    """Count and search two children whose parent holds a slot, or NONE."""
    counters, bits = buffers.counters, gradients.count_bits
    tries_small = can_split(limits, buffers, small, bits)
    tries_large = can_split(limits, buffers, large, bits)
    if counters[N_LEAVES] >= limits.max_leaves or not (tries_small or tries_large):
        release(buffers, slot)
        return
    own = int64(0)
    if tries_small and counters[N_FREE] > 0:
        counters[N_FREE] -= 1
        own = buffers.free[counters[N_FREE]]
    if slot != NONE:
        count_and_search(limits, coded, gradients, buffers, small, own, large, slot)
        wait_in_heap(limits, coded, bits, buffers, small, own, int64(0), in_set)
        wait_in_heap(limits, coded, bits, buffers, large, slot, int64(1), in_set)
        return
    # The parent's histogram was not kept for lack of memory: both are counted.
    if tries_small:
        count_and_search(limits, coded, gradients, buffers, small, own, NONE, NONE)
        wait_in_heap(limits, coded, bits, buffers, small, own, int64(0), in_set)
    if tries_large:
        gather_node(limits, coded, gradients, buffers, large, GATHER)
        count_and_search(limits, coded, gradients, buffers, large, int64(0), NONE, NONE)
        wait_in_heap(limits, coded, bits, buffers, large, int64(0), int64(0), in_set)


@kernel
def finish(plan: Plan, coded: Coded, buffers: BoostingBuffers, in_set: SignArray, nodes: NodeArrays) -> None:
    """Write the nodes in preorder, every category and the missing values on one side."""
    tree = TreeBuffers(buffers.fields, buffers.total, in_set, buffers.bounds)
    write_preorder(plan, coded, tree, buffers.counters[N_NODES], nodes)


# -- One node of a growing tree ------------------------------------------------------------------------------


@inner
def search(
    limits: BoostingLimits,
    coded: Coded,
    bits: int,
    at: int,
    which: int,
    histogram: LongArray,
    buffers: BoostingBuffers,
    in_set: SignArray,
) -> bool:
    """Find the best split of a node, from its blocks if they were searched; return False if it has none."""
    fields, total, counters = buffers.fields, buffers.total, buffers.counters
    other, own_total = total[at, 0], total[at, 1]
    allowed = buffers.allowed
    if is_plain(limits, buffers):
        best = best_of_blocks(buffers, which, coded.codes.shape[0])
    else:
        lowest, highest = -math.inf, math.inf
        if buffers.constraints.is_set:
            lowest, highest = buffers.bounds[at, LOWEST], buffers.bounds[at, HIGHEST]
            find_allowed_features(
                buffers.constraints, fields, buffers.bounds, at, fields[at, DEPTH], FEATURE, allowed
            )
        best = best_split(
            limits,
            coded,
            histogram,
            own_total,
            other,
            bits,
            fields[at, SEED],
            buffers.scratch,
            allowed,
            lowest,
            highest,
            int64(0),
            int64(coded.ranks.shape[0]),
        )
    if best.feature < 0:
        return False
    sides = best.top / best.bottom
    gain = sides - float(own_total) * float(own_total) / (float(other >> bits) + limits.l2)
    gain *= allowed.cost[best.feature]
    if gain <= sides * LEAST_GAIN or gain < limits.min_impurity_decrease:
        return False
    fields[at, FEATURE], fields[at, CUT], fields[at, MISSING_LEFT] = best.feature, best.cut, best.missing_left
    if coded.is_subset[best.feature]:
        fields[at, SET_START] = counters[N_SET]
        fields[at, MISSING_LEFT] = choose_set(
            limits, coded, histogram, own_total, other, bits, best, buffers.scratch, in_set, counters[N_SET]
        )
        counters[N_SET] += coded.n_codes[best.feature]
    else:
        fields[at, CUT] = coded.top_rank[best.feature, best.cut]
    buffers.gain[at] = gain if limits.best_first else float(at)
    return True


@inner
def best_of_blocks(buffers: BoostingBuffers, which: int, n_blocks: int) -> Best:
    """Return the best split that the blocks found; of tied ones the first."""
    best = Best(0.0, 1.0, NONE, int64(0), int64(0))
    for block in range(n_blocks):
        own = buffers.found[which, block]
        if own[BEST_FEATURE] >= 0 and own[TOP] * best.bottom > best.top * own[BOTTOM] * CLEARLY:
            feature, cut, side = int64(own[BEST_FEATURE]), int64(own[BEST_CUT]), int64(own[BEST_SIDE])
            best = Best(own[TOP], own[BOTTOM], feature, cut, side)
    return best


@inner
def make_children(
    limits: BoostingLimits,
    coded: Coded,
    gradients: Gradients,
    buffers: BoostingBuffers,
    parent: int,
    in_set: SignArray,
) -> bool:
    """Divide the rows of a node and compute the sums of its children; return whether the left is smaller."""
    fields, total, counters, notes = buffers.fields, buffers.total, buffers.counters, buffers.notes
    first, last = fields[parent, START], fields[parent, END]
    n_parts = parts_of(limits, last - first)
    write_sides(coded, buffers, parent, in_set)
    counters[NODE], counters[N_PARTS] = parent, n_parts
    run_parts(limits, coded, gradients, buffers, DIVIDE, n_parts, n_parts > 1)
    middle = first + conclude(fields, parent, n_parts, notes)
    is_left = middle - first <= last - middle
    counters[GATHERS_LEFT] = is_left
    run_parts(limits, coded, gradients, buffers, PLACE, n_parts, n_parts > 1)
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
    if buffers.constraints.is_set:
        hand_down(limits, buffers, parent, left, right, gradients.count_bits)
    counters[N_NODES] += 2
    counters[N_LEAVES] += 1
    return bool(is_left)


@inner
def write_sides(coded: Coded, buffers: BoostingBuffers, node: int, in_set: SignArray) -> None:
    """Write which categories go left at a node, missing values first."""
    fields, feature = buffers.fields, buffers.fields[node, FEATURE]
    if coded.is_subset[feature]:
        buffers.sides[0] = fields[node, MISSING_LEFT] == 1
        for code in range(coded.n_codes[feature]):
            buffers.sides[code + 1] = in_set[fields[node, SET_START] + code]


@inner
def hand_down(
    limits: BoostingLimits, buffers: BoostingBuffers, parent: int, left: int, right: int, bits: int
) -> None:
    """Pass the bounds of a node on to its children; the middle of their steps separates them."""
    fields, bounds, directions = buffers.fields, buffers.bounds, buffers.constraints.direction
    low, high = bounds[parent, LOWEST], bounds[parent, HIGHEST]
    for child in (left, right):
        bounds[child, LOWEST], bounds[child, HIGHEST] = low, high
        bounds[child, PARENT_OF], bounds[child, FIRST_SPLIT] = parent, NONE
    # A split of known from missing values has no order.
    if len(directions) == 0 or fields[parent, FIRST_RIGHT] == NONE:
        return
    direction = directions[fields[parent, FEATURE]]
    if direction == 0:
        return
    in_left = step_within(limits, buffers, left, bits, low, high)
    in_right = step_within(limits, buffers, right, bits, low, high)
    middle = in_left + (in_right - in_left) * 0.5
    bounds[left, HIGHEST if direction > 0 else LOWEST] = middle
    bounds[right, LOWEST if direction > 0 else HIGHEST] = middle


@inner
def step_within(
    limits: BoostingLimits, buffers: BoostingBuffers, node: int, bits: int, low: float, high: float
) -> float:
    """Return the best step of a node within bounds."""
    below = float(buffers.total[node, 0] >> bits) + limits.l2
    step = -float(buffers.total[node, 1]) / below if below > 0.0 else 0.0
    return min(max(step, low), high)
