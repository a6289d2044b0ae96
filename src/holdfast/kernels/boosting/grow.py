"""Growing one tree of a boosted ensemble: splits between bins, by the Newton gain.

A row is a gradient and a hessian of the loss. A side of a split with the sums G and H lowers the loss by half
of G^2 / (H + l2) if it takes its best step; the best split has the largest sum of that over its two sides.
That is the gain of squared error for rows of weight H and target -G / H, looked up at the borders of the bins
alone. Sums are of integers, so that they are the same for any number of threads, and the larger child's
histogram is exactly its parent's minus its sibling's.

One thread grows the tree. Others help it: they divide the rows of a node in parts, and count and search its
features in blocks. Blocks are the same for any number of threads, and so is the order of their splits.
"""

import math

from holdfast._arrays import LongArray, SignArray
from holdfast.kernels._numba import by_reference
from holdfast.kernels.boosting.histogram import Gradients
from holdfast.kernels.boosting.search import CLEARLY, Best, Limits, best_split, choose_set
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
    Growing,
    add_notes,
    can_split,
    conclude,
    do_all,
    help_out,
    is_plain,
    parts_of,
)
from holdfast.kernels.growth.constraints import GIVEN, HIGHEST, LOWEST, open_paths
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
    Grown,
    in_preorder,
    pop,
    push,
)
from holdfast.kernels.growth.nodes import Growing as GrowingTree
from holdfast.kernels.growth.split import child_seed
from holdfast.kernels.jit import inner, int64, kernel

DONE, ROOM = 0, 1  # why `advance` comes back


@inner
def release(growing: Growing, slot: int) -> None:
    """Give a slot back; the first one belongs to nobody."""
    if slot > 0:
        growing.free[growing.counters[N_FREE]] = slot
        growing.counters[N_FREE] += 1


@inner
def count_and_search(
    limits: Limits,
    coded: Coded,
    gradients: Gradients,
    growing: Growing,
    node: int,
    slot: int,
    other: int,
    slot_of_other: int,
) -> None:
    """Count a node into a slot, take it from its parent's, which is the other child's then, search both."""
    counters, fields, n_features = growing.counters, growing.fields, coded.ranks.shape[0]
    counters[NODE], counters[SLOT_OF_NODE] = node, slot
    counters[OTHER], counters[SLOT_OF_OTHER] = other, slot_of_other
    n_cells = (fields[node, END] - fields[node, START]) * n_features + coded.start[n_features]
    n_blocks = int64(coded.codes.shape[0])
    is_shared = limits.n_threads > 1 and n_blocks > 1 and n_cells >= limits.cells_to_share
    do_all(limits, coded, gradients, growing, SEARCH, n_blocks, is_shared)


@inner
def gather_node(
    limits: Limits, coded: Coded, gradients: Gradients, growing: Growing, node: int, work: int
) -> None:
    """Put the gradients of a node side by side, of the root packed first, and write what they add up to."""
    n_parts = parts_of(limits, growing.fields[node, END] - growing.fields[node, START])
    growing.counters[NODE], growing.counters[N_PARTS] = node, n_parts
    do_all(limits, coded, gradients, growing, work, n_parts, n_parts > 1)
    add_notes(growing.notes, n_parts, growing.total[node])


@inner
def wait_in_heap(
    limits: Limits,
    coded: Coded,
    bits: int,
    growing: Growing,
    at: int,
    slot: int,
    which: int,
    in_set: SignArray,
) -> None:
    """Put a node that was counted on the heap, if it can be split; it keeps its histogram."""
    counters = growing.counters
    if can_split(limits, growing, at, bits) and search(
        limits, coded, bits, at, which, growing.histograms[slot], growing, in_set
    ):
        push(growing.heap, growing.gain, counters[N_OPEN], at)
        counters[N_OPEN] += 1
        if slot > 0:
            growing.fields[at, SLOT] = slot
    else:
        release(growing, slot)


@inner
def open_children(
    limits: Limits,
    coded: Coded,
    gradients: Gradients,
    growing: Growing,
    in_set: SignArray,
    slot: int,
    small: int,
    large: int,
) -> None:
    """Count and search two children whose parent holds a slot, or NONE."""
    counters, bits = growing.counters, gradients.count_bits
    tries_small, tries_large = (
        can_split(limits, growing, small, bits),
        can_split(limits, growing, large, bits),
    )
    if counters[N_LEAVES] >= limits.max_leaves or not (tries_small or tries_large):
        release(growing, slot)
        return
    own = int64(0)
    if tries_small and counters[N_FREE] > 0:
        counters[N_FREE] -= 1
        own = growing.free[counters[N_FREE]]
    if slot != NONE:
        count_and_search(limits, coded, gradients, growing, small, own, large, slot)
        wait_in_heap(limits, coded, bits, growing, small, own, int64(0), in_set)
        wait_in_heap(limits, coded, bits, growing, large, slot, int64(1), in_set)
        return
    # There was no room to keep the parent's histogram: both are counted.
    if tries_small:
        count_and_search(limits, coded, gradients, growing, small, own, NONE, NONE)
        wait_in_heap(limits, coded, bits, growing, small, own, int64(0), in_set)
    if tries_large:
        gather_node(limits, coded, gradients, growing, large, GATHER)
        count_and_search(limits, coded, gradients, growing, large, int64(0), NONE, NONE)
        wait_in_heap(limits, coded, bits, growing, large, int64(0), int64(0), in_set)


@kernel
def advance(
    limits: Limits,
    coded: Coded,
    gradients: Gradients,
    growing: Growing,
    in_set: SignArray,
    is_helper: bool,
) -> int:
    """Grow on until the tree is finished, or room for two more sets is needed; or help whoever grows it.

    One kernel for both: they share most of their code, which is compiled once.
    """
    limits, coded, gradients = by_reference(limits), by_reference(coded), by_reference(gradients)
    growing = by_reference(growing)
    if is_helper:
        help_out(limits, coded, gradients, growing)
        return DONE
    counters, bits = growing.counters, gradients.count_bits
    widest = 0
    for feature in range(coded.ranks.shape[0]):
        if coded.is_subset[feature]:
            widest = max(widest, coded.n_codes[feature])
    if counters[FRESH]:
        counters[FRESH] = 0
        gather_node(limits, coded, gradients, growing, int64(0), PACK)
        if can_split(limits, growing, int64(0), bits):
            counters[N_FREE] -= 1
            slot = growing.free[counters[N_FREE]]
            count_and_search(limits, coded, gradients, growing, int64(0), slot, NONE, NONE)
            wait_in_heap(limits, coded, bits, growing, int64(0), slot, int64(0), in_set)
    while counters[N_OPEN] > 0 and counters[N_LEAVES] < limits.max_leaves:
        if len(in_set) - counters[N_SET] < 2 * widest:
            return ROOM
        parent = pop(growing.heap, growing.gain, counters[N_OPEN])
        counters[N_OPEN] -= 1
        is_left = make_children(limits, coded, gradients, growing, parent, in_set)
        left, right = growing.fields[parent, LEFT], growing.fields[parent, RIGHT]
        small, large = (left, right) if is_left else (right, left)
        open_children(limits, coded, gradients, growing, in_set, growing.fields[parent, SLOT], small, large)
    return DONE


@kernel
def finish(plan: Plan, coded: Coded, growing: Growing, in_set: SignArray, grown: Grown) -> None:
    """Put the nodes in preorder, every category and the missing values on a side."""
    nodes = GrowingTree(growing.fields, growing.total, in_set, growing.guided)
    in_preorder(plan, coded, nodes, growing.counters[N_NODES], grown)


# -- One node of a growing tree ------------------------------------------------------------------------------

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
