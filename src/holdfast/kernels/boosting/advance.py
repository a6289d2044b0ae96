"""Growing one tree of a boosted ensemble: splits between bins, by the Newton gain.

A row is a gradient and a hessian of the loss. A side of a split with the sums G and H lowers the loss by half
of G^2 / (H + l2) if it takes its best step; the best split has the largest sum of that over its two sides.
That is the gain of squared error for rows of weight H and target -G / H, looked up at the borders of the bins
alone. Sums are of integers, so that they are the same for any number of threads, and the larger child's
histogram is exactly its parent's minus its sibling's.

One thread grows the tree. Others help it: they divide the rows of a node in parts, and count and search its
features in blocks. Blocks are the same for any number of threads, and so is the order of their splits.
"""

from holdfast.arrays import SignArray
from holdfast.kernels.boosting.divide import (
    add_notes,
)
from holdfast.kernels.boosting.growing import (
    FRESH,
    GATHER,
    N_FREE,
    N_LEAVES,
    N_NODES,
    N_OPEN,
    N_PARTS,
    N_SET,
    NODE,
    OTHER,
    PACK,
    SEARCH,
    SLOT_OF_NODE,
    SLOT_OF_OTHER,
    Growing,
)
from holdfast.kernels.boosting.histogram import Gradients
from holdfast.kernels.boosting.node import make_children, search
from holdfast.kernels.boosting.splits import Limits
from holdfast.kernels.boosting.work import can_split, do_all, help_out, parts_of
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.heap import pop, push
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import (
    END,
    LEFT,
    NONE,
    RIGHT,
    SLOT,
    START,
    Grown,
    in_preorder,
)
from holdfast.kernels.growth.nodes import Growing as GrowingTree
from holdfast.kernels.jit import inner, int64, kernel
from holdfast.kernels.reference import by_reference

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
