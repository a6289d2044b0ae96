"""Growing trees: open nodes wait in a heap; the one taken out is split and its two sides are searched."""

from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, ByteArray, FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth.categories import choose_set
from holdfast.kernels.growth.compact_rows import CompactRows, move_to_compact
from holdfast.kernels.growth.criteria import NEVER, Plan, weight_of
from holdfast.kernels.growth.drawing import child_seed, mix
from holdfast.kernels.growth.gain_ratio import best_split
from holdfast.kernels.growth.guide import (
    GIVEN,
    HIGHEST,
    LOWEST,
    PARENT,
    Guide,
    Paths,
    Top,
    bound_children,
    open_paths,
    within_bounds,
)
from holdfast.kernels.growth.histogram import Coded, Sample, Samples, count_all
from holdfast.kernels.growth.many_classes import START as HEAD
from holdfast.kernels.growth.random_split import RankValues, best_random_split, draw_set
from holdfast.kernels.growth.search import FEW_ROWS, FULL_ROWS, describe
from holdfast.kernels.growth.sorted_rows import SortedRows, divide_sorted, sort_rows
from holdfast.kernels.growth.split import Scratch, Split, no_split
from holdfast.kernels.jit import allocating, inner, int64, kernel
from holdfast.kernels.reference import by_reference, keep

# The columns of the table of nodes; -1 where a field does not apply. LAST_LEFT and FIRST_RIGHT are the rows
# on either side of the threshold.
START, END, DEPTH, LEFT, RIGHT, FEATURE, CUT = range(7)
MISSING_LEFT, SET_START, SLOT, SEED, LAST_LEFT, FIRST_RIGHT, CONSTANT = range(7, 14)
N_FIELDS = 14
NONE = int64(-1)
SORTED = int64(-2)  # in place of the slot of a histogram: the rows of the node are in the order of features
LEAST_LEVELS = 4  # below a node of many rows, for it to be sorted


class Limits(NamedTuple):
    """When growth ends."""

    max_depth: int
    max_leaves: int
    min_rows_to_split: int
    min_impurity_decrease: float  # in units of weight times impurity
    min_relative_gain: float  # as a fraction of the node's impurity
    min_impurity: float  # of a node that is split, in units of weight times impurity: it has more
    n_drawn: int  # features drawn per split; 0 for all of them
    best_first: int  # 1: the node with the greatest gain is split next; 0: depth first
    row_weight: float  # of squared weights by weights, what chance takes for a row; 0: no means are shrunk


class Growing(NamedTuple):
    """Room for the nodes of a tree while it grows, in the order in which they are made."""

    fields: LongArray  # (nodes, N_FIELDS)
    total: LongArray  # (nodes, stats)
    in_set: SignArray  # the sets of categories: 1 left, 0 right, -1 not seen by the node
    guided: FloatArray  # (nodes, N_GUIDED), or of no nodes where nothing guides growth


class Grown(NamedTuple):
    """Room for the finished nodes in preorder, or just these nodes; of several trees, one after the other."""

    fields: LongArray  # (nodes, N_FIELDS) nodes, rows and sets are counted from the first of the tree
    total: LongArray  # (nodes, stats)
    in_set: BoolArray
    counters: LongArray  # (N_COUNTERS,), or (trees, N_COUNTERS)


# The counters of a finished tree; nodes are open that could still be split.
N_NODES, N_SET, N_OPEN, STATE = range(4)
N_COUNTERS = 4
COMPLETE, STOPPED, NO_ROOM = int64(0), int64(1), int64(2)  # why growth ended; no room for more sets


@inner
def push(heap: LongArray, priority: FloatArray, size: int, node: int) -> None:
    """Add a node to the heap, the highest priority and then the oldest node first."""
    i = size
    while i > 0:
        parent = heap[(i - 1) // 2]
        if priority[parent] > priority[node] or (priority[parent] == priority[node] and parent < node):
            break
        heap[i] = parent
        i = (i - 1) // 2
    heap[i] = node


@inner
def pop(heap: LongArray, priority: FloatArray, size: int) -> int:
    """Take the first node out of the heap."""
    first: int = heap[0]
    node, i = heap[size - 1], 0
    while 2 * i + 1 < size - 1:
        child = 2 * i + 1
        a, b = heap[child], heap[min(child + 1, size - 2)]
        if priority[b] > priority[a] or (priority[b] == priority[a] and b < a):
            child, a = child + 1, b
        if priority[node] > priority[a] or (priority[node] == priority[a] and node < a):
            break
        heap[i] = a
        i = child
    heap[i] = node
    return first


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
    `histograms` is memory for a few of them, and `compact` for the rows of a small node, whose subtree is
    grown there. With `values`, splits are drawn at random and nothing is counted. Another thread may raise
    `stop[0]`: growth ends with the best tree so far. One long function: every level of calls is optimised
    again by the compiler, and six of them took a minute.
    """
    plan, guide, values = by_reference(plan), by_reference(guide), by_reference(values)
    coded, compact = by_reference(coded), by_reference(compact)
    growing, grown = by_reference(growing), by_reference(grown)
    fields, total, in_set, capacity = growing.fields, growing.total, growing.in_set, len(growing.fields)
    priority, heap = np.empty(capacity), np.empty(capacity, np.int64)
    zero, one, is_random, guided, top = int64(0), int64(1), len(values.start) > 0, growing.guided, guide.top
    most_rows, start = zero, samples.start
    for tree in range(len(samples.seed)):
        most_rows = max(most_rows, start[tree + 1] - start[tree])
    buffer = np.empty(most_rows, np.int32)
    memory = new_scratch(plan, coded, guide, in_order, most_rows)
    scratch = by_reference(memory)
    scratch.place[-1] = limits.row_weight
    free = np.empty(len(histograms), np.int64)  # histograms that no node holds; slot 0 is for passing use
    tree, n_nodes, n_before, n_set_before = zero, zero, zero, zero
    n_places = in_order.rows.shape[1]
    while True:
        if n_nodes == 0:  # the next tree: its root alone
            rows = all_rows[start[tree] : start[tree + 1]]
            own_numbers = Sample(
                samples.weight[tree],
                samples.total[tree],
                samples.square[tree],
                samples.target,
                samples.repeats[tree],
            )
            sample = by_reference(own_numbers)
            for slot in range(1, len(histograms)):
                free[slot - 1] = slot
            n_nodes, n_leaves, n_open, n_set, state = one, one, zero, zero, COMPLETE
            first = middle = last = zero
            n_free, parent, is_sorted, is_divided = len(histograms) - 1, NONE, False, False
            compact_first, compact_last, here, own_sample = zero, zero, coded, sample
            for k in range(N_FIELDS):
                fields[0, k] = NONE
            fields[0, START], fields[0, END], fields[0, DEPTH] = 0, len(rows), 0
            fields[0, SEED] = mix(samples.seed[tree])
            if guide.is_set:
                guided[0, LOWEST], guided[0, HIGHEST], guided[0, PARENT] = -np.inf, np.inf, NONE
                guided[0, GIVEN] = 0 if len(top.feature) > 0 else NONE
        # Search the new nodes: the root, or the two children of `parent`, the smaller one first.
        small = large = zero
        small_ready = large_ready = NONE  # slots where their histograms stand already
        if parent != NONE:
            small, large, slot = fields[parent, LEFT], fields[parent, RIGHT], fields[parent, SLOT]
            if fields[small, END] - fields[small, START] > fields[large, END] - fields[large, START]:
                small, large = large, small
            if (
                slot >= 0
                and fields[large, END] - fields[large, START] >= FULL_ROWS
                and fields[large, DEPTH] < limits.max_depth
            ):
                # The smaller side is counted; the larger is the parent minus it.
                own = rows[fields[small, START] : fields[small, END]]
                count_all(plan, here, own_sample, own, zero, histograms[0], stop)
                for i in range(histograms.shape[1]):
                    histograms[slot, i] -= histograms[0, i]
                small_ready, large_ready = zero, slot
            elif slot >= 0:
                free[n_free] = slot
                n_free += 1
        for turn in range(1 if parent == NONE else 2):
            at = small if turn == 0 else large
            slot = small_ready if turn == 0 else large_ready
            own = rows[fields[at, START] : fields[at, END]]
            node = describe(plan, own_sample, own, total[at])
            best, shift, given = no_split(), zero, NONE
            if guide.is_set:
                if parent != NONE and turn == 0:
                    for k in range(plan.n_stats):
                        total[large, k] = total[parent, k] - total[small, k]
                    # Known values parted from missing ones have no order.
                    has_order = len(guide.direction) > 0 and fields[parent, FIRST_RIGHT] != NONE
                    direction = int64(guide.direction[fields[parent, FEATURE]]) if has_order else zero
                    bound_children(
                        plan, total, fields[parent, LEFT], fields[parent, RIGHT], direction, guided
                    )
                if len(guide.direction) > 0:
                    node = within_bounds(plan, node, total[at], guided[at, LOWEST], guided[at, HIGHEST])
                open_paths(guide, fields, guided, at, fields[at, DEPTH], FEATURE, scratch.paths)
                given = int64(guided[at, GIVEN])
                while given != NONE:
                    side = side_of_all(here, own, top, given)
                    if side == NONE:
                        break
                    given = top.left[given] if side == 1 else top.right[given]
                guided[at, GIVEN] = given
            if given != NONE:
                feature, begin = top.feature[given], top.set_start[given]
                scratch.constant[0] = fields[parent, CONSTANT] if parent != NONE else zero
                best = Split(zero, np.inf, feature, top.cut[given], top.missing_left[given])
                if coded.is_subset[feature]:
                    for code in range(coded.n_codes[feature]):
                        scratch.in_set[code] = top.in_set[begin + code]
            elif (
                node.impurity > limits.min_impurity
                and fields[at, DEPTH] < limits.max_depth
                and node.rows >= max(limits.min_rows_to_split, 2 * plan.min_rows)
            ):
                if slot == NONE or limits.n_drawn > 0:
                    while shift < 4 and len(own) << shift < FULL_ROWS:
                        shift += 1
                ordered, has_places = scratch.sorted_rows, compact_last > 0 or len(compact.origin) == 0
                ordered.place[1] = 0
                has_levels = limits.max_depth - fields[at, DEPTH] >= LEAST_LEVELS
                most_sorted = in_order.most_rows if has_levels else FEW_ROWS
                if is_sorted or (has_places and len(own) <= min(most_sorted, n_places)):
                    at_place = fields[at, START] - compact_first
                    if not is_sorted:
                        sort_rows(
                            here, own, at_place, scratch.keys, scratch.places, scratch.waiting, ordered
                        )
                    elif not is_divided:
                        divide_sorted(ordered, rows[first:last], first - compact_first, middle - first, buffer)
                        is_divided = True
                    slot = SORTED
                    ordered.place[0], ordered.place[1] = at_place, at_place + len(own)
                elif slot <= 0 and limits.n_drawn == 0 and not is_random:
                    was_ready, slot = slot == 0, zero
                    if len(own) >= FULL_ROWS and n_free > 0:
                        n_free -= 1
                        slot = free[n_free]
                    if not was_ready and len(own) > FEW_ROWS:
                        count_all(plan, here, own_sample, own, shift, histograms[slot], stop)
                    elif slot > 0:
                        for i in range(histograms.shape[1]):
                            histograms[slot, i] = histograms[0, i]
                scratch.constant[0] = fields[parent, CONSTANT] if parent != NONE else zero
                if is_random:
                    best = best_random_split(
                        plan,
                        node,
                        total[at],
                        here,
                        own_sample,
                        own,
                        values,
                        scratch,
                        limits.n_drawn,
                        fields[at, SEED],
                        stop,
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
                        histograms[max(slot, 0)],
                        scratch,
                        limits.n_drawn,
                        fields[at, SEED],
                        stop,
                    )
            gain = best.gain * scratch.paths.cost[max(best.feature, zero)]
            if (
                best.improvement == NEVER
                or gain < limits.min_impurity_decrease - 1e-12 * node.impurity
                or gain < (limits.min_relative_gain - 1e-12) * node.impurity
            ):
                if slot > 0:
                    free[n_free] = slot
                    n_free += 1
                continue
            feature = best.feature
            fields[at, FEATURE], fields[at, CUT] = feature, best.cut
            fields[at, CONSTANT] = scratch.constant[0]
            fields[at, MISSING_LEFT], fields[at, SLOT] = best.missing_left, slot if slot != 0 else NONE
            if coded.is_subset[feature]:
                if given != NONE:
                    fields[at, MISSING_LEFT] = best.missing_left
                elif is_random:
                    draw_set(here, own, values, feature, fields[at, SEED], scratch.in_set)
                else:
                    fields[at, MISSING_LEFT] = choose_set(
                        plan, total[at], coded, feature, best.cut, histograms[max(slot, 0)], scratch
                    )
                fields[at, SET_START] = n_set
                n_codes = coded.n_codes[feature]
                if n_set + n_codes > len(in_set):
                    grown.counters[tree, STATE] = NO_ROOM
                    return
                for code in range(n_codes):
                    in_set[n_set + code] = scratch.in_set[code]
                n_set += n_codes
            priority[at] = max(gain, 0.0) if limits.best_first else float(at)
            push(heap, priority, n_open, at)
            n_open += 1
        if stop[0]:  # also where a search was cut short
            state, n_open = STOPPED, max(n_open, one)
        if state == STOPPED or n_open == 0 or n_leaves >= limits.max_leaves:
            for i in range(compact_first, compact_last):
                rows[i] = compact.origin[rows[i]]
            room = Grown(
                grown.fields[n_before:],
                grown.total[n_before:],
                grown.in_set[n_set_before:],
                grown.counters[tree],
            )
            in_preorder(plan, coded, growing, n_nodes, by_reference(room))
            grown.counters[tree, N_OPEN], grown.counters[tree, STATE] = n_open, state
            n_before += n_nodes
            n_set_before += grown.counters[tree, N_SET]
            n_nodes = zero
            tree += 1
            if tree == len(samples.seed):
                break
            continue
        # Split the node that comes next.
        parent = pop(heap, priority, n_open)
        n_open -= 1
        n_leaves += 1
        first, last = fields[parent, START], fields[parent, END]
        if compact_last > 0 and (first < compact_first or last > compact_last):
            for i in range(compact_first, compact_last):
                rows[i] = compact.origin[rows[i]]
            compact_last, here, own_sample = zero, coded, sample
        if compact_last == 0 and last - first <= len(compact.origin):
            move_to_compact(plan, coded, sample, rows[first:last], compact)
            compact_first, compact_last, here, own_sample = first, last, compact.coded, compact.sample
        is_sorted, is_divided = fields[parent, SLOT] == SORTED, False
        middle = first + divide(here, rows, buffer, fields, parent, in_set)
        if compact_last > 0 and fields[parent, LAST_LEFT] != NONE:
            fields[parent, LAST_LEFT] = compact.origin[fields[parent, LAST_LEFT]]
        if compact_last > 0 and fields[parent, FIRST_RIGHT] != NONE:
            fields[parent, FIRST_RIGHT] = compact.origin[fields[parent, FIRST_RIGHT]]
        fields[parent, LEFT], fields[parent, RIGHT] = n_nodes, n_nodes + 1
        for side in range(2):
            for k in range(N_FIELDS):
                fields[n_nodes, k] = NONE
            fields[n_nodes, START], fields[n_nodes, END] = (first, middle) if side == 0 else (middle, last)
            fields[n_nodes, DEPTH] = fields[parent, DEPTH] + 1
            fields[n_nodes, SEED] = child_seed(fields[parent, SEED], side)
            if guide.is_set:
                given = int64(guided[parent, GIVEN])
                guided[n_nodes, PARENT], guided[n_nodes, GIVEN] = parent, NONE
                if given != NONE:
                    guided[n_nodes, GIVEN] = top.left[given] if side == 0 else top.right[given]
            n_nodes += 1
    keep(memory)


@allocating
def in_preorder(plan: Plan, coded: Coded, growing: Growing, n_nodes: int, grown: Grown) -> None:
    """The finished tree: nodes in preorder, every category and the missing values on a side."""
    in_set, fields, total, sets = growing.in_set, grown.fields, grown.total, grown.in_set
    waiting, parents = np.empty(n_nodes + 1, np.int64), np.empty(n_nodes + 1, np.int64)
    waiting[0], parents[0], n_waiting, n_set = 0, NONE, int64(1), int64(0)
    for i in range(n_nodes):
        n_waiting -= 1
        old, parent = waiting[n_waiting], parents[n_waiting]
        for k in range(N_FIELDS):
            fields[i, k] = growing.fields[old, k]
        for k in range(plan.n_stats):
            total[i, k] = growing.total[old, k]
        # Histograms are no longer needed: which split was prescribed takes their place.
        fields[i, SLOT] = int64(growing.guided[old, GIVEN]) if len(growing.guided) > 0 else NONE
        if parent != NONE:
            fields[parent, LEFT if parent == i - 1 else RIGHT] = i
        if fields[i, LEFT] == NONE:
            fields[i, FEATURE] = fields[i, MISSING_LEFT] = fields[i, SET_START] = NONE
            continue
        left, right = fields[i, LEFT], fields[i, RIGHT]
        waiting[n_waiting], waiting[n_waiting + 1] = right, left
        parents[n_waiting], parents[n_waiting + 1] = i, i
        n_waiting += 2
        if fields[i, MISSING_LEFT] == NONE:
            in_left = weight_of(plan, growing.total[left], HEAD)
            in_right = weight_of(plan, growing.total[right], HEAD)
            fields[i, MISSING_LEFT] = 1 if in_left >= in_right else 0
        feature, start = fields[i, FEATURE], fields[i, SET_START]
        if coded.is_subset[feature]:
            fields[i, SET_START] = n_set
            for code in range(coded.n_codes[feature]):
                side = in_set[start + code]
                sets[n_set + code] = side == 1 or (side == NONE and fields[i, MISSING_LEFT] == 1)
            n_set += coded.n_codes[feature]
    grown.counters[N_NODES], grown.counters[N_SET] = n_nodes, n_set
