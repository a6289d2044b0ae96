"""Growing trees: open nodes wait in a heap; the one taken out is split and its two sides are searched."""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels._numba import by_reference, keep
from holdfast.kernels.growth.categories import choose_set
from holdfast.kernels.growth.constraints import (
    GIVEN,
    HIGHEST,
    LOWEST,
    Guide,
    Paths,
    Top,
    bound_children,
    open_paths,
    within_bounds,
)
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.gain_ratio import best_split
from holdfast.kernels.growth.histogram import Coded, Sample, Samples, count_all
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
    SET_START,
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
    pop,
    push,
)
from holdfast.kernels.growth.random_splits import RankValues, best_random_split, draw_set
from holdfast.kernels.growth.search import FEW_ROWS, FULL_ROWS, add_up, describe
from holdfast.kernels.growth.small_nodes import (
    CompactRows,
    SortedRows,
    divide_sorted,
    move_to_compact,
    sort_rows,
)
from holdfast.kernels.growth.split import Scratch, Split, no_split
from holdfast.kernels.jit import allocating, inner, int64, kernel


@inner
def divide(
    coded: Coded, rows: IntArray, buffer: IntArray, fields: LongArray, node: int, in_set: SignArray
) -> int:
    """Move the rows that go left to the front, both sides in their old order; how many they are.

    Also finds the two rows on either side of the threshold, and forgets the side of missing values if there
    are none.
    """
    feature, cut, first = fields[node, FEATURE], fields[node, CUT], fields[node, SET_START]
    missing_left, ranks, is_subset = (
        fields[node, MISSING_LEFT] == 1,
        coded.ranks,
        coded.is_subset[feature] > 0,
    )
    start, n_left, n_right, any_missing = fields[node, START], int64(0), int64(0), False
    top, bottom, last_left, first_right = int64(-1), int64(1 << 40), NONE, NONE
    for i in range(start, fields[node, END]):
        row = rows[i]
        rank = int64(ranks[feature, row])
        if rank < 0:
            goes_left, any_missing = missing_left, True
        elif is_subset:
            goes_left = in_set[first + rank] == 1
        else:
            goes_left = rank <= cut
            if goes_left and rank > top:
                top, last_left = rank, int64(row)
            elif not goes_left and rank < bottom:
                bottom, first_right = rank, int64(row)
        # Written to both sides, kept on one: a branch would be guessed wrong every other time.
        rows[start + n_left] = row
        buffer[n_right] = row
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        rows[start + n_left + i] = buffer[i]
    if not any_missing:
        fields[node, MISSING_LEFT] = NONE
    fields[node, LAST_LEFT], fields[node, FIRST_RIGHT] = last_left, first_right
    return n_left


@inner
def side_of_all(coded: Coded, rows: IntArray, top: Top, given: int) -> int:
    """The side to which a prescribed split sends all rows: 1 left, 0 right; NONE if it parts them."""
    feature, n_left = top.feature[given], 0
    is_subset = coded.is_subset[feature] > 0
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        if rank < 0:
            n_left += top.missing_left[given] == 1
        elif is_subset:
            n_left += top.in_set[top.set_start[given] + rank] == 1
        else:
            n_left += rank <= top.cut[given]
    if n_left == 0:
        return int64(0)
    return int64(1) if n_left == len(rows) else NONE


@inner
def find_given(coded: Coded, rows: IntArray, top: Top, guided: FloatArray, at: int) -> int:
    """The prescribed split of a node, or NONE: those that do not part its rows are passed over."""
    given = int64(guided[at, GIVEN])
    while given != NONE:
        side = side_of_all(coded, rows, top, given)
        if side == NONE:
            break
        given = top.left[given] if side == 1 else top.right[given]
    guided[at, GIVEN] = given
    return given


@inner
def take_given(coded: Coded, top: Top, given: int, in_set: SignArray) -> Split:
    """A prescribed split, as if it had been found."""
    feature, first = top.feature[given], top.set_start[given]
    if coded.is_subset[feature]:
        for code in range(coded.n_codes[feature]):
            in_set[code] = top.in_set[first + code]
    return Split(int64(0), math.inf, feature, top.cut[given], top.missing_left[given])


# -- What all trees of a task have in common, and the memory that one after the other uses -------------------

# The counters of a tree that grows: nodes made and open, flags of sets, free slots, which rows are compact,
# and whether the node that was split last is sorted, and its sorted rows are divided.
MADE, OPEN, FLAGS, FREE, COMPACT_FIRST, COMPACT_LAST, IS_SORTED, IS_DIVIDED = range(8)
N_GROWING = 8


class Given(NamedTuple):
    """What is the same for all trees of a task."""

    plan: Plan
    limits: Limits
    coded: Coded
    values: RankValues  # where there are any, splits are drawn at random and nothing is counted
    guide: Guide
    stop: ByteArray  # another thread may raise stop[0]: growth ends with the best tree so far


class Memory(NamedTuple):
    """Memory that one tree after the other uses."""

    histograms: LongArray  # (slots, statistics) the first slot is for passing use
    free: LongArray  # (slots,) those that no node holds
    heap: LongArray  # (nodes,)
    priority: FloatArray  # (nodes,)
    buffer: IntArray  # (rows,)
    compact: CompactRows  # the rows of a small node, whose subtree is grown there
    scratch: Scratch
    counters: LongArray  # (N_GROWING,)


@allocating
def new_scratch(plan: Plan, coded: Coded, guide: Guide, in_order: SortedRows, n_rows: int) -> Scratch:
    """Memory for the search."""
    n_features, widest, most_values = coded.ranks.shape[0], 256, int64(0)
    for feature in range(n_features):
        if plan.threshold_cost:
            most_values = max(most_values, int64(coded.n_ranks[feature]))
        if coded.is_wide[feature]:
            widest = max(widest, coded.n_ranks[feature] + 1)
    return Scratch(
        np.empty(plan.n_stats, np.int64),
        np.empty(plan.n_stats, np.int64),
        np.empty(plan.n_stats, np.int64),
        np.empty(plan.n_stats, np.int64),
        np.empty((n_features, 256), np.int64),
        np.empty(n_features, np.int64),
        np.empty(n_rows, np.int64),
        np.empty(256, np.int64),
        np.empty(128, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest + 1, np.float64),
        np.empty(widest, np.int8),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.zeros(1, np.int64),
        np.empty(n_features, np.int64),
        np.empty((n_features, 4), np.int64),
        np.empty((n_features, 2), np.float64),
        np.zeros(most_values + 1, np.int64),
        Paths(
            guide.direction,
            np.zeros(n_features, np.uint8),
            np.zeros(n_features, np.uint8),
            np.ones(n_features),
            np.full(1, guide.is_set, np.uint8),
        ),
        in_order,
    )


@inner
def coded_here(given: Given, memory: Memory) -> Coded:
    """The columns of the rows at hand: those of the compact node, or of the table."""
    return memory.compact.coded if memory.counters[COMPACT_LAST] > 0 else given.coded


@inner
def sample_here(sample: Sample, memory: Memory) -> Sample:
    """What the rows at hand add to the statistics."""
    return memory.compact.sample if memory.counters[COMPACT_LAST] > 0 else sample


@inner
def release(memory: Memory, slot: int) -> None:
    """Give a slot back; the first one belongs to nobody."""
    if slot > 0:
        memory.free[memory.counters[FREE]] = slot
        memory.counters[FREE] += 1


@inner
def leave_compact(memory: Memory, rows: IntArray) -> None:
    """Number the rows again as the table does."""
    counters, origin = memory.counters, memory.compact.origin
    for i in range(counters[COMPACT_FIRST], counters[COMPACT_LAST]):
        rows[i] = origin[rows[i]]
    counters[COMPACT_FIRST] = counters[COMPACT_LAST] = 0


# -- Growing trees -------------------------------------------------------------------------------------------


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


# -- Making a node ready to be searched ----------------------------------------------------------------------

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
