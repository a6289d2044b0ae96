"""Growing one tree whose nodes say a quantile.

The loop of `kernels/growth/grow.py`, much shorter: there are no histograms, no bins and no bounds. A kernel
of its own, so that nobody who grows by means waits for it to be compiled.
"""

import math

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.growth.criteria import Node, Plan
from holdfast.kernels.growth.divide import divide, find_given, take_given
from holdfast.kernels.growth.guide import HIGHEST, LOWEST, PARENT, Guide, Paths, guided, open_paths
from holdfast.kernels.growth.heap import pop, push
from holdfast.kernels.growth.histogram import Coded, Sample
from holdfast.kernels.growth.nodes import (
    COMPLETE,
    CUT,
    DEPTH,
    END,
    FEATURE,
    FIRST_RIGHT,
    LEFT,
    MISSING_LEFT,
    N_OPEN,
    NO_ROOM,
    NONE,
    RIGHT,
    SEED,
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
from holdfast.kernels.growth.split import no_split
from holdfast.kernels.jit import allocating, inner, int64, kernel
from holdfast.kernels.quantiles.search import Room, choose_set, search
from holdfast.kernels.quantiles.sides import Pinball, Targets, all_rows, loss_of
from holdfast.kernels.reference import by_reference, keep

NO_DIRECTION = int64(0)


@allocating
def new_room(coded: Coded, guide: Guide, n_rows: int) -> Room:
    """Memory for the search."""
    n_features, widest, most_values = coded.ranks.shape[0], 256, 256
    for feature in range(n_features):
        most_values = max(most_values, coded.n_ranks[feature])
        if coded.is_wide[feature]:
            widest = max(widest, coded.n_ranks[feature] + 1)
    return Room(
        Targets(
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
        ),
        np.empty(n_rows, np.int64),
        np.empty(128, np.int64),
        np.empty(max(most_values, widest) + 2, np.int64),
        np.empty((4, n_rows + 1)),
        np.empty((4, n_rows + 1), np.int64),
        np.empty(widest, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest),
        np.empty(widest, np.int8),
        np.empty(n_features, np.int64),
        Paths(
            guide.direction,
            np.zeros(n_features, np.uint8),
            np.zeros(n_features, np.uint8),
            np.ones(n_features),
            np.full(1, guide.is_set, np.uint8),
        ),
    )


@inner
def describe(
    plan: Plan, pinball: Pinball, sample: Sample, rows: IntArray, total: LongArray, targets: Targets
) -> tuple[Node, float]:
    """The node that these rows make, and its quantile; they stand in the order of their targets."""
    n_rows = int64(0)
    for i in range(len(rows)):
        row = rows[i]
        targets.weight[i], targets.target[i] = sample.weight[row], sample.total[row]
        targets.repeats[i] = sample.repeats[row] if plan.counts_apart else sample.weight[row]
        n_rows += targets.repeats[i]
    side = all_rows(pinball, targets, int64(len(rows)), True)
    for k in range(plan.n_stats):
        total[k] = 0
    total[0] = side.units
    if plan.counts_apart:
        total[plan.n_stats - 1] = n_rows
    node = Node(
        n_rows,
        float(side.units),
        loss_of(pinball, targets, side),
        0.0,
        1.0,
        1.0,
        side.units,
        int64(0),
        0.0,
        NO_DIRECTION,
        -math.inf,
        math.inf,
        0.0,
        1.0,
        NO_DIRECTION,
    )
    return node, float(targets.target[side.at])


@inner
def bound_children(value: FloatArray, left: int, right: int, direction: int, bounds: FloatArray) -> None:
    """Hand the bounds of a node down to its children, which the middle of their quantiles parts."""
    parent = int64(bounds[left, PARENT])
    low, high = bounds[parent, LOWEST], bounds[parent, HIGHEST]
    bounds[left, LOWEST], bounds[left, HIGHEST] = low, high
    bounds[right, LOWEST], bounds[right, HIGHEST] = low, high
    if direction == 0:
        return
    in_left, in_right = min(max(value[left], low), high), min(max(value[right], low), high)
    middle = in_left + (in_right - in_left) * 0.5
    bounds[left, HIGHEST if direction > 0 else LOWEST] = middle
    bounds[right, LOWEST if direction > 0 else HIGHEST] = middle


@kernel
def grow_quantiles(
    plan: Plan,
    pinball: Pinball,
    limits: Limits,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    seed: int,
    guide: Guide,
    stop: ByteArray,
    growing: Growing,
    grown: Grown,
) -> None:
    """Grow one tree from the rows, which stand in the order of their targets, into `grown`.

    They are put in the order of the leaves, and stay in that of the targets within each. `sample.total` is
    the target alone, in units. Another thread may raise `stop[0]`: growth ends with the best tree so far.
    """
    plan, pinball, guide = by_reference(plan), by_reference(pinball), by_reference(guide)
    coded, sample = by_reference(coded), by_reference(sample)
    growing, grown = by_reference(growing), by_reference(grown)
    fields, total, capacity = growing.fields, growing.total, len(growing.fields)
    priority, value, heap = np.empty(capacity), np.empty(capacity), np.empty(capacity, np.int64)
    buffer = np.empty(len(rows), np.int32)
    memory = new_room(coded, guide, len(rows))
    room = by_reference(memory)
    zero, one, bounds = int64(0), int64(1), growing.guided
    n_nodes, n_leaves, n_open, n_set, state, parent = one, one, zero, zero, COMPLETE, NONE
    make_root(growing, guide, int64(len(rows)), seed)
    while True:
        # Search the new nodes: the root, or the two children of `parent`, which stand last.
        newest = zero if parent == NONE else n_nodes - 2
        if parent != NONE and guide.is_set:
            for at in range(newest, n_nodes):
                own = rows[fields[at, START] : fields[at, END]]
                value[at] = describe(plan, pinball, sample, own, total[at], room.targets)[1]
            # Known values parted from missing ones have no order.
            has_order = len(guide.direction) > 0 and fields[parent, FIRST_RIGHT] != NONE
            direction = int64(guide.direction[fields[parent, FEATURE]]) if has_order else zero
            bound_children(value, fields[parent, LEFT], fields[parent, RIGHT], direction, bounds)
        for at in range(newest, n_nodes):
            own = rows[fields[at, START] : fields[at, END]]
            node, value[at] = describe(plan, pinball, sample, own, total[at], room.targets)
            best, given = no_split(), NONE
            if guide.is_set:
                if len(guide.direction) > 0:
                    low, high = bounds[at, LOWEST], bounds[at, HIGHEST]
                    node = guided(node, node.rounding, NO_DIRECTION, low, high, 0.0, 1.0)
                open_paths(guide, fields, bounds, at, fields[at, DEPTH], FEATURE, room.paths)
                given = find_given(coded, own, guide.top, bounds, at)
            if given != NONE:
                best = take_given(coded, guide.top, given, room.in_set)
            elif may_split(plan, limits, node, fields[at, DEPTH]):
                best = search(plan, pinball, node, coded, own, room, limits.n_drawn, fields[at, SEED], stop)
            gain = best.gain * room.paths.cost[max(best.feature, zero)]
            if not is_split(limits, node, best, gain):
                continue
            feature = best.feature
            fields[at, FEATURE], fields[at, CUT] = feature, best.cut
            fields[at, MISSING_LEFT] = best.missing_left
            if coded.is_subset[feature]:
                if given == NONE:
                    fields[at, MISSING_LEFT] = choose_set(pinball, coded, own, room, feature, best.cut)
                n_set = keep_set(growing, at, int64(coded.n_codes[feature]), room.in_set, n_set)
                if n_set == NONE:
                    grown.counters[STATE] = NO_ROOM
                    return
            priority[at] = max(gain, 0.0) if limits.best_first else float(at)
            push(heap, priority, n_open, at)
            n_open += 1
        if stop[0]:  # also where a search was cut short
            state, n_open = STOPPED, max(n_open, one)
            break
        if n_open == 0 or n_leaves >= limits.max_leaves:
            break
        # Split the node that comes next.
        parent = pop(heap, priority, n_open)
        n_open -= 1
        n_leaves += 1
        middle = fields[parent, START] + divide(coded, rows, buffer, fields, parent, growing.in_set)
        make_children(growing, guide, parent, middle, n_nodes)
        n_nodes += 2
    in_preorder(plan, coded, growing, n_nodes, grown)
    grown.counters[N_OPEN], grown.counters[STATE] = n_open, state
    keep(memory)
