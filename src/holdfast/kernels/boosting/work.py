"""The works of a node, in parts that all threads take: dividing its rows, counting and searching features."""

import math

from holdfast.kernels.boosting.divide import (
    MOST_PARTS,
    bounds_of_part,
    divide_part,
    gather,
    place_part,
)
from holdfast.kernels.boosting.growing import (
    BEST_CUT,
    BEST_FEATURE,
    BEST_SIDE,
    BOTTOM,
    DIVIDE,
    GATHER,
    GATHERS_LEFT,
    N_PARTS,
    NODE,
    OTHER,
    PACK,
    PLACE,
    SLOT_OF_NODE,
    SLOT_OF_OTHER,
    TOP,
    Growing,
)
from holdfast.kernels.boosting.histogram import Gradients, count_block, subtract
from holdfast.kernels.boosting.packing import pack
from holdfast.kernels.boosting.parts import IS_OVER, N_DONE, PATIENCE, WORK, offer, take, wait_for_parts
from holdfast.kernels.boosting.search import best_split
from holdfast.kernels.boosting.splits import Limits
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import (
    DEPTH,
    END,
    NONE,
    START,
)
from holdfast.kernels.instructions import add, give_way, read
from holdfast.kernels.jit import inner, int64


@inner
def is_plain(limits: Limits, growing: Growing) -> bool:
    """True if blocks of features can be searched apart: nothing is drawn, and nothing guides the splits."""
    return bool(limits.n_drawn == 0 and not growing.guide.is_set)


@inner
def can_split(limits: Limits, growing: Growing, at: int, bits: int) -> bool:
    """True if a node is worth searching."""
    rows = growing.total[at, 0] & ((int64(1) << bits) - 1)
    return bool(growing.fields[at, DEPTH] < limits.max_depth and rows >= 2 * limits.min_rows)


@inner
def search_block(
    limits: Limits, coded: Coded, gradients: Gradients, growing: Growing, block: int, which: int
) -> None:
    """Find the best split of the node, or of the other one, by the features of a block."""
    node = growing.counters[NODE if which == 0 else OTHER]
    histogram = growing.histograms[growing.counters[SLOT_OF_NODE if which == 0 else SLOT_OF_OTHER]]
    other, total, bits = growing.total[node, 0], growing.total[node, 1], gradients.count_bits
    first, last = int64(4 * block), int64(min(4 * block + 4, coded.ranks.shape[0]))
    best = best_split(
        limits,
        coded,
        histogram,
        total,
        other,
        bits,
        int64(0),
        growing.scratch,
        growing.paths,
        -math.inf,
        math.inf,
        first,
        last,
    )
    own = growing.found[which, block]
    own[TOP], own[BOTTOM], own[BEST_FEATURE] = best.top, best.bottom, best.feature
    own[BEST_CUT], own[BEST_SIDE] = best.cut, best.missing_left


@inner
def do_part(
    limits: Limits, coded: Coded, gradients: Gradients, growing: Growing, work: int, part: int
) -> None:
    """Do a part of a work."""
    fields, counters, rows, notes = growing.fields, growing.counters, growing.rows, growing.notes
    node, n_parts = counters[NODE], counters[N_PARTS]
    if work <= GATHER:
        first, last = bounds_of_part(fields[node, START], fields[node, END], part, n_parts)
        if work == PACK:
            pack(growing.unpacked, rows, first, last, gradients.packed)
        gather(gradients, rows, first, last, growing.ordered, notes[part])
    elif work == DIVIDE:
        divide_part(coded, rows, growing.buffer, growing.sides, fields, node, part, n_parts, notes)
    elif work == PLACE:
        gathers_left = counters[GATHERS_LEFT] == 1
        place_part(
            gradients,
            rows,
            growing.buffer,
            growing.ordered,
            fields,
            node,
            part,
            n_parts,
            gathers_left,
            notes,
        )
    else:
        first, last, histogram = (
            fields[node, START],
            fields[node, END],
            growing.histograms[counters[SLOT_OF_NODE]],
        )
        count_block(coded, gradients, rows[first:last], growing.ordered[first:last], part, histogram)
        other = counters[OTHER]
        if other != NONE:
            subtract(coded, part, growing.histograms[counters[SLOT_OF_OTHER]], histogram)
        if is_plain(limits, growing):
            bits = gradients.count_bits
            if can_split(limits, growing, node, bits):
                search_block(limits, coded, gradients, growing, part, int64(0))
            if other != NONE and can_split(limits, growing, other, bits):
                search_block(limits, coded, gradients, growing, part, int64(1))


@inner
def do_all(
    limits: Limits,
    coded: Coded,
    gradients: Gradients,
    growing: Growing,
    work: int,
    n_parts: int,
    is_shared: bool,
) -> None:
    """Do all parts of a work, if it is shared, with all threads that have time."""
    queue = growing.queue
    if not is_shared:
        for part in range(n_parts):
            do_part(limits, coded, gradients, growing, work, int64(part))
        return
    offer(queue, work, n_parts)
    part = take(queue)
    while part >= 0:
        do_part(limits, coded, gradients, growing, work, part)
        add(queue, N_DONE, int64(1))
        part = take(queue)
    wait_for_parts(queue, n_parts)


@inner
def help_out(limits: Limits, coded: Coded, gradients: Gradients, growing: Growing) -> None:
    """Take parts of whatever work is offered until the tree is finished."""
    queue, n_looks = growing.queue, 0
    while read(queue, IS_OVER) == 0:
        part = take(queue)
        if part >= 0:
            do_part(limits, coded, gradients, growing, read(queue, WORK), part)
            add(queue, N_DONE, int64(1))
            n_looks = 0
            continue
        n_looks += 1
        if n_looks > PATIENCE:
            give_way()


@inner
def parts_of(limits: Limits, n_rows: int) -> int:
    """In how many parts so many rows are worked on."""
    if limits.n_threads == 1:
        return int64(1)
    return max(min(n_rows // limits.rows_to_share, 2 * limits.n_threads, int64(MOST_PARTS)), int64(1))
