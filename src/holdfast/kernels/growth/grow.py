"""Grow trees: open nodes wait in a heap; the first is split, and both of its children are searched."""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth.categories import choose_set
from holdfast.kernels.growth.constraints import (
    FIRST_SPLIT,
    HIGHEST,
    LOWEST,
    AllowedFeatures,
    Constraints,
    FirstSplits,
    bound_children,
    find_allowed_features,
    with_bounds,
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
    Limits,
    NodeArrays,
    TreeBuffers,
    is_split,
    keep_set,
    make_children,
    make_root,
    may_split,
    pop,
    push,
    write_preorder,
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
from holdfast.kernels.jit import allocating, by_reference, inner, int64, keep, kernel

# Counters of a growing tree: nodes made and open, flags of sets, free slots, the range of compact rows, and
# whether the node split last is sorted and its sorted rows are divided.
MADE, OPEN, FLAGS, FREE, COMPACT_FIRST, COMPACT_LAST, IS_SORTED, IS_DIVIDED = range(8)
N_GROWING = 8


class GrowthTask(NamedTuple):
    """Inputs shared by all trees of a task."""

    plan: Plan
    limits: Limits
    coded: Coded
    values: RankValues  # if not empty, splits are drawn at random and nothing is counted
    constraints: Constraints
    stop: ByteArray  # another thread sets stop[0] to end growth with the tree so far


class Memory(NamedTuple):
    """Memory that is reused from tree to tree."""

    histograms: LongArray  # (slots, statistics); the first slot is scratch
    free: LongArray  # (slots,) the unused ones
    heap: LongArray  # (nodes,)
    priority: FloatArray  # (nodes,)
    buffer: IntArray  # (rows,)
    compact: CompactRows  # the rows of a small node, whose subtree is grown there
    scratch: Scratch
    counters: LongArray  # (N_GROWING,)


# Sorting many rows pays if this many levels can follow, and this many times the least rows of a split.
LEAST_LEVELS, LEAST_NODES = 4, 4
ZERO = int64(0)


# -- Growing trees -------------------------------------------------------------------------------------------


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
    constraints: Constraints,
    stop: ByteArray,
    buffers: TreeBuffers,
    nodes: NodeArrays,
) -> None:
    """Grow the trees of the samples into `nodes`, and leave their rows in the order of the leaves.

    A single call releases the interpreter lock once, and reuses the memory.
    """
    inputs = GrowthTask(plan, limits, coded, values, constraints, stop)
    task, buffers, nodes = by_reference(inputs), by_reference(buffers), by_reference(nodes)
    start, capacity, most_rows = samples.start, len(buffers.fields), ZERO
    for tree in range(len(samples.seed)):
        most_rows = max(most_rows, start[tree + 1] - start[tree])
    all_memory = Memory(
        histograms,
        np.empty(len(histograms), np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(most_rows, np.int32),
        compact,
        new_scratch(task.plan, task.coded, task.constraints, in_order, most_rows),
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
        counters = nodes.counters[tree]
        counters[STATE] = grow_tree(task, memory, buffers, sample, rows, samples.seed[tree])
        keep(own_numbers)
        if counters[STATE] == NO_ROOM:
            break
        room = NodeArrays(nodes.fields[n_nodes:], nodes.total[n_nodes:], nodes.in_set[n_flags:], counters)
        write_preorder(task.plan, task.coded, buffers, memory.counters[MADE], by_reference(room))
        counters[N_OPEN] = memory.counters[OPEN]
        n_nodes += memory.counters[MADE]
        n_flags += counters[N_SET]
    keep(all_memory)


@inner
def grow_tree(
    task: GrowthTask, memory: Memory, buffers: TreeBuffers, sample: Sample, rows: IntArray, seed: int
) -> int:
    """Grow one tree, which leaves its rows in the order of the leaves; return why growth ended."""
    fields, counters, n_leaves, state = buffers.fields, memory.counters, int64(1), COMPLETE
    for k in range(N_GROWING):
        counters[k] = 0
    counters[MADE], counters[FREE] = 1, len(memory.free) - 1
    for i in range(counters[FREE]):
        memory.free[i] = i + 1
    make_root(buffers, task.constraints, int64(len(rows)), seed)
    add_up(task.plan, sample, rows, buffers.total[0])
    if not search_node(task, memory, buffers, sample, rows, ZERO, NONE, NONE):
        return NO_ROOM
    while counters[OPEN] > 0 and n_leaves < task.limits.max_leaves and not task.stop[0]:
        parent = pop(memory.heap, memory.priority, counters[OPEN])
        counters[OPEN] -= 1
        n_leaves += 1
        split_node(task, memory, buffers, sample, rows, parent)
        small, large = fields[parent, LEFT], fields[parent, RIGHT]
        if fields[small, END] - fields[small, START] > fields[large, END] - fields[large, START]:
            small, large = large, small
        add_up_children(task, memory, buffers, sample, rows, parent, small)
        slot = count_children(task, memory, buffers, sample, rows, parent, small)
        for turn in range(2):
            at, ready = (small, min(slot, ZERO)) if turn == 0 else (large, slot)
            if not search_node(task, memory, buffers, sample, rows, at, parent, ready):
                return NO_ROOM
    if task.stop[0]:  # a search may have been cut short
        state, counters[OPEN] = STOPPED, max(counters[OPEN], 1)
    leave_compact(memory, rows)
    return state


@inner
def search_node(
    task: GrowthTask,
    memory: Memory,
    buffers: TreeBuffers,
    sample: Sample,
    rows: IntArray,
    at: int,
    parent: int,
    slot: int,
) -> bool:
    """Find the best split of a node and push the node on the heap; return False if a set does not fit.

    The histogram is in the slot already, unless that is NONE.
    """
    plan, limits, coded, constraints = task.plan, task.limits, task.coded, task.constraints
    scratch = memory.scratch
    fields, total, bounds, counters = buffers.fields, buffers.total, buffers.bounds, memory.counters
    here, own_sample = coded_here(task, memory), sample_here(sample, memory)
    own, seed = rows[fields[at, START] : fields[at, END]], fields[at, SEED]
    is_random = len(task.values.start) > 0
    node = describe(plan, own_sample, own, total[at])
    best, prescribed = no_split(), NONE
    if constraints.is_set:
        if len(constraints.direction) > 0:
            node = with_bounds(plan, node, total[at], bounds[at, LOWEST], bounds[at, HIGHEST])
        find_allowed_features(constraints, fields, bounds, at, fields[at, DEPTH], FEATURE, scratch.allowed)
        prescribed = find_first_split(here, own, constraints.first_splits, bounds, at)
    scratch.constant[0] = fields[parent, CONSTANT] if parent != NONE else ZERO
    if prescribed != NONE:
        best = make_first_split(coded, constraints.first_splits, prescribed, scratch.in_set)
    elif may_split(plan, limits, node, fields[at, DEPTH]):
        shift = ZERO  # bits of the codes that are dropped
        if slot == NONE or limits.n_drawn > 0:
            while shift < 4 and len(own) << shift < FULL_ROWS:
                shift += 1
        slot = count_or_sort(task, memory, buffers, sample, rows, at, parent, slot, shift)
        if is_random:
            best = best_random_split(
                plan,
                node,
                total[at],
                here,
                own_sample,
                own,
                task.values,
                scratch,
                limits.n_drawn,
                seed,
                task.stop,
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
                task.stop,
            )
    gain = best.gain * scratch.allowed.cost[max(best.feature, ZERO)]
    if not is_split(limits, node, best, gain):
        release(memory, slot)
        return True
    if not keep_split(task, memory, buffers, rows, at, slot, best, prescribed != NONE):
        return False
    memory.priority[at] = max(gain, 0.0) if limits.best_first else float(at)
    push(memory.heap, memory.priority, counters[OPEN], at)
    counters[OPEN] += 1
    return True


@inner
def keep_split(
    task: GrowthTask,
    memory: Memory,
    buffers: TreeBuffers,
    rows: IntArray,
    at: int,
    slot: int,
    best: Split,
    is_prescribed: bool,
) -> bool:
    """Record the split of a node; return False if its set of categories does not fit."""
    coded, scratch, counters = task.coded, memory.scratch, memory.counters
    fields, total, feature = buffers.fields, buffers.total, best.feature
    fields[at, FEATURE], fields[at, CUT], fields[at, CONSTANT] = feature, best.cut, scratch.constant[0]
    fields[at, MISSING_LEFT], fields[at, SLOT] = best.missing_left, slot if slot != 0 else NONE
    if not coded.is_subset[feature]:
        return True
    if not is_prescribed and len(task.values.start) > 0:
        own, here = rows[fields[at, START] : fields[at, END]], coded_here(task, memory)
        draw_set(here, own, task.values, feature, fields[at, SEED], scratch.in_set)
    elif not is_prescribed:
        histogram = memory.histograms[max(slot, ZERO)]
        fields[at, MISSING_LEFT] = choose_set(
            task.plan, total[at], coded, feature, best.cut, histogram, scratch
        )
    n_flags = keep_set(buffers, at, int64(coded.n_codes[feature]), scratch.in_set, counters[FLAGS])
    if n_flags == NONE:
        return False
    counters[FLAGS] = n_flags
    return True


@inner
def split_node(
    task: GrowthTask, memory: Memory, buffers: TreeBuffers, sample: Sample, rows: IntArray, parent: int
) -> None:
    """Divide the rows of a node, and make its two children."""
    fields, counters, compact = buffers.fields, memory.counters, memory.compact
    first, last = fields[parent, START], fields[parent, END]
    if first < counters[COMPACT_FIRST] or last > counters[COMPACT_LAST]:
        leave_compact(memory, rows)
    if counters[COMPACT_LAST] == 0 and last - first <= len(compact.origin):
        move_to_compact(task.plan, task.coded, sample, rows[first:last], compact)
        counters[COMPACT_FIRST], counters[COMPACT_LAST] = first, last
    counters[IS_SORTED], counters[IS_DIVIDED] = fields[parent, SLOT] == SORTED, 0
    here = coded_here(task, memory)
    n_left = divide(here, rows, memory.buffer, fields, parent, buffers.in_set)
    if counters[COMPACT_LAST] > 0 and fields[parent, LAST_LEFT] != NONE:
        fields[parent, LAST_LEFT] = compact.origin[fields[parent, LAST_LEFT]]
    if counters[COMPACT_LAST] > 0 and fields[parent, FIRST_RIGHT] != NONE:
        fields[parent, FIRST_RIGHT] = compact.origin[fields[parent, FIRST_RIGHT]]
    make_children(buffers, task.constraints, parent, first + n_left, counters[MADE])
    counters[MADE] += 2


# -- Inputs and memory of a task -----------------------------------------------------------------------------


@allocating
def new_scratch(
    plan: Plan, coded: Coded, constraints: Constraints, in_order: SortedRows, n_rows: int
) -> Scratch:
    """Allocate the memory of the search."""
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
        AllowedFeatures(
            constraints.direction,
            np.zeros(n_features, np.uint8),
            np.zeros(n_features, np.uint8),
            np.ones(n_features),
            np.full(1, constraints.is_set, np.uint8),
        ),
        in_order,
    )


@inner
def coded_here(task: GrowthTask, memory: Memory) -> Coded:
    """Return the columns of the current rows: those of the compact node, or of the table."""
    return memory.compact.coded if memory.counters[COMPACT_LAST] > 0 else task.coded


@inner
def sample_here(sample: Sample, memory: Memory) -> Sample:
    """Return the statistics of the current rows."""
    return memory.compact.sample if memory.counters[COMPACT_LAST] > 0 else sample


@inner
def release(memory: Memory, slot: int) -> None:
    """Free a slot; the first one is never owned."""
    if slot > 0:
        memory.free[memory.counters[FREE]] = slot
        memory.counters[FREE] += 1


@inner
def leave_compact(memory: Memory, rows: IntArray) -> None:
    """Restore the row numbers of the table."""
    counters, origin = memory.counters, memory.compact.origin
    for i in range(counters[COMPACT_FIRST], counters[COMPACT_LAST]):
        rows[i] = origin[rows[i]]
    counters[COMPACT_FIRST] = counters[COMPACT_LAST] = 0


# -- Dividing a node, and prescribed splits ------------------------------------------------------------------


@inner
def find_first_split(
    coded: Coded, rows: IntArray, first_splits: FirstSplits, bounds: FloatArray, at: int
) -> int:
    """Return the prescribed split of a node, or NONE; splits that do not divide its rows are skipped."""
    first_split = int64(bounds[at, FIRST_SPLIT])
    while first_split != NONE:
        side = side_of_all(coded, rows, first_splits, first_split)
        if side == NONE:
            break
        first_split = first_splits.left[first_split] if side == 1 else first_splits.right[first_split]
    bounds[at, FIRST_SPLIT] = first_split
    return first_split


@inner
def side_of_all(coded: Coded, rows: IntArray, first_splits: FirstSplits, first_split: int) -> int:
    """Return the side that gets all rows by a prescribed split: 1 left, 0 right; NONE if it divides them."""
    feature, n_left = first_splits.feature[first_split], 0
    is_subset = coded.is_subset[feature] > 0
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        if rank < 0:
            n_left += first_splits.missing_left[first_split] == 1
        elif is_subset:
            n_left += first_splits.in_set[first_splits.set_start[first_split] + rank] == 1
        else:
            n_left += rank <= first_splits.cut[first_split]
    if n_left == 0:
        return int64(0)
    return int64(1) if n_left == len(rows) else NONE


@inner
def make_first_split(coded: Coded, first_splits: FirstSplits, first_split: int, in_set: SignArray) -> Split:
    """Return a prescribed split in the form of a search result."""
    feature, first = first_splits.feature[first_split], first_splits.set_start[first_split]
    if coded.is_subset[feature]:
        for code in range(coded.n_codes[feature]):
            in_set[code] = first_splits.in_set[first + code]
    return Split(
        int64(0), math.inf, feature, first_splits.cut[first_split], first_splits.missing_left[first_split]
    )


@inner
def divide(
    coded: Coded, rows: IntArray, buffer: IntArray, fields: LongArray, node: int, in_set: SignArray
) -> int:
    """Move the rows that go left to the front of a node, both sides in their order; return their number.

    Also note the rows on either side of the threshold, and clear the side of missing values without any.
    """
    feature, cut, first = fields[node, FEATURE], fields[node, CUT], fields[node, SET_START]
    missing_left, ranks = fields[node, MISSING_LEFT] == 1, coded.ranks
    is_subset = coded.is_subset[feature] > 0
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
        # Written to both sides and kept on one: a branch would be mispredicted every other time.
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


# -- Preparing a node for its search -------------------------------------------------------------------------


@inner
def count_or_sort(
    task: GrowthTask,
    memory: Memory,
    buffers: TreeBuffers,
    sample: Sample,
    rows: IntArray,
    at: int,
    parent: int,
    slot: int,
    shift: int,
) -> int:
    """Sort the rows of a node or fill its histogram, as its search needs; return the slot."""
    fields, counters, scratch = buffers.fields, memory.counters, memory.scratch
    histograms, in_order = memory.histograms, scratch.sorted_rows
    in_order.place[0] = in_order.place[1] = 0
    if task.limits.n_drawn > 0 or len(task.values.start) > 0:
        return slot
    own, here = rows[fields[at, START] : fields[at, END]], coded_here(task, memory)
    is_sorted = counters[IS_SORTED] > 0
    if is_sorted or is_to_be_sorted(task, memory, int64(len(own)), fields[at, DEPTH]):
        place = fields[at, START] - counters[COMPACT_FIRST]
        if is_sorted:
            divide_parent(memory, buffers, rows, parent)
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
        count_all(task.plan, here, sample_here(sample, memory), own, shift, histograms[slot], task.stop)
    elif slot > 0:
        for i in range(histograms.shape[1]):
            histograms[slot, i] = histograms[0, i]
    return slot


@inner
def is_to_be_sorted(task: GrowthTask, memory: Memory, n_rows: int, depth: int) -> bool:
    """True if a node is searched row by row: it is small, there is room, and its subtree may be deep."""
    limits, in_order, compact = task.limits, memory.scratch.sorted_rows, memory.compact
    has_places = memory.counters[COMPACT_LAST] > 0 or len(compact.origin) == 0
    least_rows = max(limits.min_rows_to_split, 2 * task.plan.min_rows)
    pays = limits.max_depth - depth >= LEAST_LEVELS and n_rows >= LEAST_NODES * least_rows
    most_rows = in_order.most_rows if pays else FEW_ROWS
    return bool(has_places and n_rows <= min(most_rows, in_order.rows.shape[1]))


@inner
def divide_parent(memory: Memory, buffers: TreeBuffers, rows: IntArray, parent: int) -> None:
    """Divide the sorted rows of a node between its children, once for both."""
    fields, counters = buffers.fields, memory.counters
    if counters[IS_DIVIDED]:
        return
    first, middle, last = fields[parent, START], fields[fields[parent, LEFT], END], fields[parent, END]
    place = first - counters[COMPACT_FIRST]
    divide_sorted(memory.scratch.sorted_rows, rows[first:last], place, middle - first, memory.buffer)
    counters[IS_DIVIDED] = 1


@inner
def add_up_children(
    task: GrowthTask,
    memory: Memory,
    buffers: TreeBuffers,
    sample: Sample,
    rows: IntArray,
    parent: int,
    small: int,
) -> None:
    """Compute the statistics of both children; the larger one's are the parent's minus the smaller one's."""
    plan, constraints, fields, total = task.plan, task.constraints, buffers.fields, buffers.total
    left, right = fields[parent, LEFT], fields[parent, RIGHT]
    large = right if small == left else left
    add_up(plan, sample_here(sample, memory), rows[fields[small, START] : fields[small, END]], total[small])
    for k in range(plan.n_stats):
        total[large, k] = total[parent, k] - total[small, k]
    if constraints.is_set:
        # A split of known from missing values has no order.
        has_order = len(constraints.direction) > 0 and fields[parent, FIRST_RIGHT] != NONE
        direction = int64(constraints.direction[fields[parent, FEATURE]]) if has_order else ZERO
        bound_children(plan, total, left, right, direction, buffers.bounds)


@inner
def count_children(
    task: GrowthTask,
    memory: Memory,
    buffers: TreeBuffers,
    sample: Sample,
    rows: IntArray,
    parent: int,
    small: int,
) -> int:
    """Return the slot of the larger child's histogram: its parent's minus the smaller child's, in slot 0.

    NONE if the parent has no histogram, or the child needs none.
    """
    fields, histograms = buffers.fields, memory.histograms
    slot: int = fields[parent, SLOT]
    large = fields[parent, RIGHT] if small == fields[parent, LEFT] else fields[parent, LEFT]
    n_rows, depth = fields[large, END] - fields[large, START], fields[large, DEPTH]
    if slot < 0 or n_rows < FULL_ROWS or depth >= task.limits.max_depth:
        release(memory, slot)
        return NONE
    own, here = rows[fields[small, START] : fields[small, END]], coded_here(task, memory)
    count_all(task.plan, here, sample_here(sample, memory), own, ZERO, histograms[0], task.stop)
    for i in range(histograms.shape[1]):
        histograms[slot, i] -= histograms[0, i]
    return slot
