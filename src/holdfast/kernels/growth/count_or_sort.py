"""Making a node ready to be searched: its statistics, and a histogram or its rows in order."""

from holdfast.arrays import IntArray
from holdfast.kernels.growth.guide import bound_children
from holdfast.kernels.growth.histogram import Sample, count_all
from holdfast.kernels.growth.memory import (
    COMPACT_FIRST,
    COMPACT_LAST,
    FREE,
    IS_DIVIDED,
    IS_SORTED,
    Given,
    Memory,
    coded_here,
    release,
    sample_here,
)
from holdfast.kernels.growth.nodes import (
    DEPTH,
    END,
    FEATURE,
    FIRST_RIGHT,
    LEFT,
    NONE,
    RIGHT,
    SLOT,
    SORTED,
    START,
    Growing,
)
from holdfast.kernels.growth.search import FEW_ROWS, FULL_ROWS, add_up
from holdfast.kernels.growth.sorted_rows import divide_sorted, sort_rows
from holdfast.kernels.jit import inner, int64

# Sorting many rows pays if as many levels can follow, and nodes of the fewest rows that can be split.
LEAST_LEVELS, LEAST_NODES = 4, 4
ZERO = int64(0)


@inner
def add_up_children(
    given: Given, memory: Memory, growing: Growing, sample: Sample, rows: IntArray, parent: int, small: int
) -> None:
    """The statistics of both children: those of the larger are the parent's minus those of the smaller."""
    plan, guide, fields, total = given.plan, given.guide, growing.fields, growing.total
    left, right = fields[parent, LEFT], fields[parent, RIGHT]
    large = right if small == left else left
    add_up(plan, sample_here(sample, memory), rows[fields[small, START] : fields[small, END]], total[small])
    for k in range(plan.n_stats):
        total[large, k] = total[parent, k] - total[small, k]
    if guide.is_set:
        # Known values parted from missing ones have no order.
        has_order = len(guide.direction) > 0 and fields[parent, FIRST_RIGHT] != NONE
        direction = int64(guide.direction[fields[parent, FEATURE]]) if has_order else ZERO
        bound_children(plan, total, left, right, direction, growing.guided)


@inner
def count_children(
    given: Given, memory: Memory, growing: Growing, sample: Sample, rows: IntArray, parent: int, small: int
) -> int:
    """The slot of the larger child's histogram, from its parent's minus that of the smaller, in slot 0.

    NONE if the parent has none, or the child is not worth it.
    """
    fields, histograms = growing.fields, memory.histograms
    slot: int = fields[parent, SLOT]
    large = fields[parent, RIGHT] if small == fields[parent, LEFT] else fields[parent, LEFT]
    n_rows, depth = fields[large, END] - fields[large, START], fields[large, DEPTH]
    if slot < 0 or n_rows < FULL_ROWS or depth >= given.limits.max_depth:
        release(memory, slot)
        return NONE
    own, here = rows[fields[small, START] : fields[small, END]], coded_here(given, memory)
    count_all(given.plan, here, sample_here(sample, memory), own, ZERO, histograms[0], given.stop)
    for i in range(histograms.shape[1]):
        histograms[slot, i] -= histograms[0, i]
    return slot


@inner
def is_to_be_sorted(given: Given, memory: Memory, n_rows: int, depth: int) -> bool:
    """True if a node is searched row by row: it is small, there is room, and enough may grow below it."""
    limits, in_order, compact = given.limits, memory.scratch.sorted_rows, memory.compact
    has_places = memory.counters[COMPACT_LAST] > 0 or len(compact.origin) == 0
    least_rows = max(limits.min_rows_to_split, 2 * given.plan.min_rows)
    pays = limits.max_depth - depth >= LEAST_LEVELS and n_rows >= LEAST_NODES * least_rows
    most_rows = in_order.most_rows if pays else FEW_ROWS
    return bool(has_places and n_rows <= min(most_rows, in_order.rows.shape[1]))


@inner
def divide_parent(memory: Memory, growing: Growing, rows: IntArray, parent: int) -> None:
    """Divide the sorted rows of a node between its children, once for both."""
    fields, counters = growing.fields, memory.counters
    if counters[IS_DIVIDED]:
        return
    first, middle, last = fields[parent, START], fields[fields[parent, LEFT], END], fields[parent, END]
    place = first - counters[COMPACT_FIRST]
    divide_sorted(memory.scratch.sorted_rows, rows[first:last], place, middle - first, memory.buffer)
    counters[IS_DIVIDED] = 1


@inner
def count_or_sort(
    given: Given,
    memory: Memory,
    growing: Growing,
    sample: Sample,
    rows: IntArray,
    at: int,
    parent: int,
    slot: int,
    shift: int,
) -> int:
    """Make ready what a node is searched by: its rows in order, or a histogram, whose slot it gives back."""
    fields, counters, scratch = growing.fields, memory.counters, memory.scratch
    histograms, in_order = memory.histograms, scratch.sorted_rows
    in_order.place[0] = in_order.place[1] = 0
    if given.limits.n_drawn > 0 or len(given.values.start) > 0:
        return slot
    own, here = rows[fields[at, START] : fields[at, END]], coded_here(given, memory)
    is_sorted = counters[IS_SORTED] > 0
    if is_sorted or is_to_be_sorted(given, memory, int64(len(own)), fields[at, DEPTH]):
        place = fields[at, START] - counters[COMPACT_FIRST]
        if is_sorted:
            divide_parent(memory, growing, rows, parent)
        else:
            sort_rows(here, own, place, scratch.keys, scratch.places, scratch.waiting, in_order)
        in_order.place[0], in_order.place[1] = place, place + len(own)
        return SORTED
    if slot > 0:
        return slot
    was_ready, slot = slot == 0, ZERO
    if len(own) >= FULL_ROWS and counters[FREE] > 0:
        counters[FREE] -= 1
        slot = memory.free[counters[FREE]]
    if not was_ready and len(own) > FEW_ROWS:
        count_all(given.plan, here, sample_here(sample, memory), own, shift, histograms[slot], given.stop)
    elif slot > 0:
        for i in range(histograms.shape[1]):
            histograms[slot, i] = histograms[0, i]
    return slot
