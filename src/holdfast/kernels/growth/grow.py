"""Growing trees: open nodes wait in a heap; the one taken out is split and its two sides are searched."""

import numpy as np

from holdfast.arrays import ByteArray, IntArray, LongArray
from holdfast.kernels.growth.categories import choose_set
from holdfast.kernels.growth.compact_rows import CompactRows, move_to_compact
from holdfast.kernels.growth.count_or_sort import ZERO, add_up_children, count_children, count_or_sort
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.divide import divide, find_given, take_given
from holdfast.kernels.growth.gain_ratio import best_split
from holdfast.kernels.growth.guide import HIGHEST, LOWEST, Guide, open_paths, within_bounds
from holdfast.kernels.growth.heap import pop, push
from holdfast.kernels.growth.histogram import Coded, Sample, Samples
from holdfast.kernels.growth.memory import (
    COMPACT_FIRST,
    COMPACT_LAST,
    FLAGS,
    FREE,
    IS_DIVIDED,
    IS_SORTED,
    MADE,
    N_GROWING,
    OPEN,
    Given,
    Memory,
    coded_here,
    leave_compact,
    new_scratch,
    release,
    sample_here,
)
from holdfast.kernels.growth.nodes import (
    COMPLETE,
    CONSTANT,
    CUT,
    DEPTH,
    END,
    FEATURE,
    FIRST_RIGHT,
    LAST_LEFT,
    LEFT,
    MISSING_LEFT,
    N_OPEN,
    N_SET,
    NO_ROOM,
    NONE,
    RIGHT,
    SEED,
    SLOT,
    SORTED,
    START,
    STATE,
    STOPPED,
    Growing,
    Grown,
    Limits,
    in_preorder,
    is_split,
    keep_set,
    make_children,
    make_root,
    may_split,
)
from holdfast.kernels.growth.random_split import RankValues, best_random_split, draw_set
from holdfast.kernels.growth.search import FULL_ROWS, add_up, describe
from holdfast.kernels.growth.sorted_rows import SortedRows
from holdfast.kernels.growth.split import Split, no_split
from holdfast.kernels.jit import inner, int64, kernel
from holdfast.kernels.reference import by_reference, keep


@inner
def keep_split(
    given: Given,
    memory: Memory,
    growing: Growing,
    rows: IntArray,
    at: int,
    slot: int,
    best: Split,
    is_prescribed: bool,
) -> bool:
    """Write down the split of a node; False if there is no room for its set of categories."""
    coded, scratch, counters = given.coded, memory.scratch, memory.counters
    fields, total, feature = growing.fields, growing.total, best.feature
    fields[at, FEATURE], fields[at, CUT], fields[at, CONSTANT] = feature, best.cut, scratch.constant[0]
    fields[at, MISSING_LEFT], fields[at, SLOT] = best.missing_left, slot if slot != 0 else NONE
    if not coded.is_subset[feature]:
        return True
    if not is_prescribed and len(given.values.start) > 0:
        own, here = rows[fields[at, START] : fields[at, END]], coded_here(given, memory)
        draw_set(here, own, given.values, feature, fields[at, SEED], scratch.in_set)
    elif not is_prescribed:
        histogram = memory.histograms[max(slot, ZERO)]
        fields[at, MISSING_LEFT] = choose_set(
            given.plan, total[at], coded, feature, best.cut, histogram, scratch
        )
    n_flags = keep_set(growing, at, int64(coded.n_codes[feature]), scratch.in_set, counters[FLAGS])
    if n_flags == NONE:
        return False
    counters[FLAGS] = n_flags
    return True


@inner
def search_node(
    given: Given,
    memory: Memory,
    growing: Growing,
    sample: Sample,
    rows: IntArray,
    at: int,
    parent: int,
    slot: int,
) -> bool:
    """Find the best split of a node, and let it wait for its turn; False if there is no room for a set.

    Its histogram stands in the slot already, if it is not NONE.
    """
    plan, limits, coded, guide, scratch = given.plan, given.limits, given.coded, given.guide, memory.scratch
    fields, total, guided, counters = growing.fields, growing.total, growing.guided, memory.counters
    here, own_sample = coded_here(given, memory), sample_here(sample, memory)
    own, seed, is_random = (
        rows[fields[at, START] : fields[at, END]],
        fields[at, SEED],
        len(given.values.start) > 0,
    )
    node = describe(plan, own_sample, own, total[at])
    best, prescribed = no_split(), NONE
    if guide.is_set:
        if len(guide.direction) > 0:
            node = within_bounds(plan, node, total[at], guided[at, LOWEST], guided[at, HIGHEST])
        open_paths(guide, fields, guided, at, fields[at, DEPTH], FEATURE, scratch.paths)
        prescribed = find_given(here, own, guide.top, guided, at)
    scratch.constant[0] = fields[parent, CONSTANT] if parent != NONE else ZERO
    if prescribed != NONE:
        best = take_given(coded, guide.top, prescribed, scratch.in_set)
    elif may_split(plan, limits, node, fields[at, DEPTH]):
        shift = ZERO  # bits of the codes that are dropped
        if slot == NONE or limits.n_drawn > 0:
            while shift < 4 and len(own) << shift < FULL_ROWS:
                shift += 1
        slot = count_or_sort(given, memory, growing, sample, rows, at, parent, slot, shift)
        if is_random:
            best = best_random_split(
                plan,
                node,
                total[at],
                here,
                own_sample,
                own,
                given.values,
                scratch,
                limits.n_drawn,
                seed,
                given.stop,
            )
        else:
            best = best_split(
                plan,
                node,
                total[at],
                here,
                own_sample,
                own,
                shift,
                memory.histograms[max(slot, ZERO)],
                scratch,
                limits.n_drawn,
                seed,
                given.stop,
            )
    gain = best.gain * scratch.paths.cost[max(best.feature, ZERO)]
    if not is_split(limits, node, best, gain):
        release(memory, slot)
        return True
    if not keep_split(given, memory, growing, rows, at, slot, best, prescribed != NONE):
        return False
    memory.priority[at] = max(gain, 0.0) if limits.best_first else float(at)
    push(memory.heap, memory.priority, counters[OPEN], at)
    counters[OPEN] += 1
    return True


@inner
def split_node(
    given: Given, memory: Memory, growing: Growing, sample: Sample, rows: IntArray, parent: int
) -> None:
    """Divide the rows of a node, and make its two children."""
    fields, counters, compact = growing.fields, memory.counters, memory.compact
    first, last = fields[parent, START], fields[parent, END]
    if first < counters[COMPACT_FIRST] or last > counters[COMPACT_LAST]:
        leave_compact(memory, rows)
    if counters[COMPACT_LAST] == 0 and last - first <= len(compact.origin):
        move_to_compact(given.plan, given.coded, sample, rows[first:last], compact)
        counters[COMPACT_FIRST], counters[COMPACT_LAST] = first, last
    counters[IS_SORTED], counters[IS_DIVIDED] = fields[parent, SLOT] == SORTED, 0
    here = coded_here(given, memory)
    n_left = divide(here, rows, memory.buffer, fields, parent, growing.in_set)
    if counters[COMPACT_LAST] > 0 and fields[parent, LAST_LEFT] != NONE:
        fields[parent, LAST_LEFT] = compact.origin[fields[parent, LAST_LEFT]]
    if counters[COMPACT_LAST] > 0 and fields[parent, FIRST_RIGHT] != NONE:
        fields[parent, FIRST_RIGHT] = compact.origin[fields[parent, FIRST_RIGHT]]
    make_children(growing, given.guide, parent, first + n_left, counters[MADE])
    counters[MADE] += 2


@inner
def grow_tree(
    given: Given, memory: Memory, growing: Growing, sample: Sample, rows: IntArray, seed: int
) -> int:
    """Grow one tree, whose rows are put in the order of the leaves; why growth ended."""
    fields, counters, n_leaves, state = growing.fields, memory.counters, int64(1), COMPLETE
    for k in range(N_GROWING):
        counters[k] = 0
    counters[MADE], counters[FREE] = 1, len(memory.free) - 1
    for i in range(counters[FREE]):
        memory.free[i] = i + 1
    make_root(growing, given.guide, int64(len(rows)), seed)
    add_up(given.plan, sample, rows, growing.total[0])
    if not search_node(given, memory, growing, sample, rows, ZERO, NONE, NONE):
        return NO_ROOM
    while counters[OPEN] > 0 and n_leaves < given.limits.max_leaves and not given.stop[0]:
        parent = pop(memory.heap, memory.priority, counters[OPEN])
        counters[OPEN] -= 1
        n_leaves += 1
        split_node(given, memory, growing, sample, rows, parent)
        small, large = fields[parent, LEFT], fields[parent, RIGHT]
        if fields[small, END] - fields[small, START] > fields[large, END] - fields[large, START]:
            small, large = large, small
        add_up_children(given, memory, growing, sample, rows, parent, small)
        slot = count_children(given, memory, growing, sample, rows, parent, small)
        for turn in range(2):
            at, ready = (small, min(slot, ZERO)) if turn == 0 else (large, slot)
            if not search_node(given, memory, growing, sample, rows, at, parent, ready):
                return NO_ROOM
    if given.stop[0]:  # also where a search was cut short
        state, counters[OPEN] = STOPPED, max(counters[OPEN], 1)
    leave_compact(memory, rows)
    return state


@kernel
def grow(
    plan: Plan,
    limits: Limits,
    coded: Coded,
    samples: Samples,
    all_rows: IntArray,
    histograms: LongArray,
    compact: CompactRows,
    in_order: SortedRows,
    values: RankValues,
    guide: Guide,
    stop: ByteArray,
    growing: Growing,
    grown: Grown,
) -> None:
    """Grow the trees of the samples, whose rows are put in the order of the leaves, into `grown`.

    All of them in one call, which releases the lock of the interpreter once, and in the same memory.
    """
    all_given = Given(plan, limits, coded, values, guide, stop)
    given, growing, grown = by_reference(all_given), by_reference(growing), by_reference(grown)
    start, capacity, most_rows = samples.start, len(growing.fields), ZERO
    for tree in range(len(samples.seed)):
        most_rows = max(most_rows, start[tree + 1] - start[tree])
    all_memory = Memory(
        histograms,
        np.empty(len(histograms), np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(most_rows, np.int32),
        compact,
        new_scratch(given.plan, given.coded, given.guide, in_order, most_rows),
        np.empty(N_GROWING, np.int64),
    )
    memory = by_reference(all_memory)
    memory.scratch.place[-1] = limits.row_weight
    n_nodes, n_flags = ZERO, ZERO  # of the trees before
    for tree in range(len(samples.seed)):
        rows = all_rows[start[tree] : start[tree + 1]]
        own_numbers = Sample(
            samples.weight[tree],
            samples.total[tree],
            samples.square[tree],
            samples.target,
            samples.repeats[tree],
        )
        sample = by_reference(own_numbers)
        counters = grown.counters[tree]
        counters[STATE] = grow_tree(given, memory, growing, sample, rows, samples.seed[tree])
        keep(own_numbers)
        if counters[STATE] == NO_ROOM:
            break
        room = Grown(grown.fields[n_nodes:], grown.total[n_nodes:], grown.in_set[n_flags:], counters)
        in_preorder(given.plan, given.coded, growing, memory.counters[MADE], by_reference(room))
        counters[N_OPEN] = memory.counters[OPEN]
        n_nodes += memory.counters[MADE]
        n_flags += counters[N_SET]
    keep(all_memory)
