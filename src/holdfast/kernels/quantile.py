"""Grow one tree whose nodes predict a quantile.

The loop of `kernels/growth/grow.py`, much shorter: there are no histograms, no bins and no bounds. A kernel
of its own, so that other criteria do not have to compile it.
"""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth.categories import MOST_LISTED, NO_SHIFT, mark_sides
from holdfast.kernels.growth.constraints import (
    HIGHEST,
    LOWEST,
    PARENT,
    AllowedFeatures,
    Constraints,
    clip_value,
    constrain,
    find_allowed_features,
    with_direction,
    without_direction,
)
from holdfast.kernels.growth.criteria import NEVER, Node, Plan, improvement_of
from holdfast.kernels.growth.grow import divide, find_first_split, make_first_split
from holdfast.kernels.growth.histogram import Coded, Sample, last_code
from holdfast.kernels.growth.leaf_values import integer_part, join_parts, small_part, units_in_one
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
from holdfast.kernels.growth.sorting import ROW_MASK, sort_by, sort_keys
from holdfast.kernels.growth.split import LEFT as SIDE_LEFT
from holdfast.kernels.growth.split import RIGHT as SIDE_RIGHT
from holdfast.kernels.growth.split import Split, better, keep_in_ties, no_split, queue_columns, take_column
from holdfast.kernels.jit import allocating, by_reference, inner, int64, keep, kernel

NO_ROW = int64(-1)
# Tolerance for a fraction of the weight: 0.7 of 10 rows are 7.
NEARLY = 1.0 - 1e-12


class Pinball(NamedTuple):
    """The quantile, and the cost of a unit of the target on either side of it."""

    fraction: float  # of the weight that is at most the quantile
    above: float  # cost of a target above it
    below: float


class Targets(NamedTuple):
    """The rows of a node in the order of their targets: memory that all nodes reuse."""

    weight: LongArray
    target: LongArray
    repeats: LongArray  # how many rows it represents
    place: LongArray  # the rank of the feature, or the place of the category; negative if missing
    order: LongArray  # the rows in the order of the feature, those without a value last
    before: LongArray  # a linked list of the rows of a side
    after: LongArray


class Side(NamedTuple):
    """A side of a split, and the place of its quantile."""

    units: int  # weight of all
    total: int  # weight times target of all
    at: int  # the row that is the quantile
    units_below: int  # of the rows before it
    total_below: int


COUNTED = 8  # a feature with up to this many values per row is sorted by counting


class QuantileScratch(NamedTuple):
    """Memory that every node of a tree reuses."""

    targets: Targets
    keys: LongArray  # (rows,) to be sorted
    waiting: LongArray  # (128,) for sorting
    starts: LongArray  # (values + 2,) where the rows of each value of a feature begin
    losses: FloatArray  # (4, rows + 1): left and right side, each without and with the missing values
    quantiles: LongArray  # (4, rows + 1) their quantiles
    present: LongArray  # (categories + 1,) the categories that occur in the node
    # Of each category, missing being one: its weight, the cumulative weight during a scan, its number among
    # those that occur, and its quantile.
    units: LongArray
    cumulative: LongArray
    number: LongArray
    middle: FloatArray
    in_set: SignArray  # (categories,) 1 left, 0 right, -1 not seen
    queue: LongArray  # (features,) the features not yet drawn
    allowed: AllowedFeatures  # the features that the node may use


# Lines of `losses` and `quantiles`.
LEFT_KNOWN, LEFT_ALL, RIGHT_KNOWN, RIGHT_ALL = range(4)
NO_DIRECTION = int64(0)
PAST = 2.0 - NEARLY  # beyond the wanted weight by more than rounding


# -- Growing one tree ----------------------------------------------------------------------------------------


@kernel
def grow_quantiles(
    plan: Plan,
    pinball: Pinball,
    limits: Limits,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    seed: int,
    constraints: Constraints,
    stop: ByteArray,
    buffers: TreeBuffers,
    nodes: NodeArrays,
) -> None:
    """Grow one tree from the rows, which are in the order of their targets, into `nodes`.

    They are left in the order of the leaves, and in that of the targets within each. `sample.total` is the
    target alone, in units. Another thread sets `stop[0]` to end growth with the tree so far.
    """
    plan, pinball, constraints = by_reference(plan), by_reference(pinball), by_reference(constraints)
    coded, sample = by_reference(coded), by_reference(sample)
    buffers, nodes = by_reference(buffers), by_reference(nodes)
    fields, total, capacity = buffers.fields, buffers.total, len(buffers.fields)
    priority, value, heap = np.empty(capacity), np.empty(capacity), np.empty(capacity, np.int64)
    buffer = np.empty(len(rows), np.int32)
    memory = new_scratch(coded, constraints, len(rows))
    scratch = by_reference(memory)
    zero, one, bounds = int64(0), int64(1), buffers.bounds
    n_nodes, n_leaves, n_open, n_set, state, parent = one, one, zero, zero, COMPLETE, NONE
    make_root(buffers, constraints, int64(len(rows)), seed)
    while True:
        # Search the new nodes: the root, or the two children of `parent`, which are last.
        newest = zero if parent == NONE else n_nodes - 2
        if parent != NONE and constraints.is_set:
            for at in range(newest, n_nodes):
                own = rows[fields[at, START] : fields[at, END]]
                value[at] = describe(plan, pinball, sample, own, total[at], scratch.targets)[1]
            # A split of known from missing values has no order.
            has_order = len(constraints.direction) > 0 and fields[parent, FIRST_RIGHT] != NONE
            direction = int64(constraints.direction[fields[parent, FEATURE]]) if has_order else zero
            bound_children(value, fields[parent, LEFT], fields[parent, RIGHT], direction, bounds)
        for at in range(newest, n_nodes):
            own = rows[fields[at, START] : fields[at, END]]
            node, value[at] = describe(plan, pinball, sample, own, total[at], scratch.targets)
            best, first_split = no_split(), NONE
            if constraints.is_set:
                if len(constraints.direction) > 0:
                    low, high = bounds[at, LOWEST], bounds[at, HIGHEST]
                    node = constrain(node, node.rounding, NO_DIRECTION, low, high, 0.0, 1.0)
                find_allowed_features(
                    constraints, fields, bounds, at, fields[at, DEPTH], FEATURE, scratch.allowed
                )
                first_split = find_first_split(coded, own, constraints.first_splits, bounds, at)
            if first_split != NONE:
                best = make_first_split(coded, constraints.first_splits, first_split, scratch.in_set)
            elif may_split(plan, limits, node, fields[at, DEPTH]):
                best = search(
                    plan, pinball, node, coded, own, scratch, limits.n_drawn, fields[at, SEED], stop
                )
            gain = best.gain * scratch.allowed.cost[max(best.feature, zero)]
            if not is_split(limits, node, best, gain):
                continue
            feature = best.feature
            fields[at, FEATURE], fields[at, CUT] = feature, best.cut
            fields[at, MISSING_LEFT] = best.missing_left
            if coded.is_subset[feature]:
                if first_split == NONE:
                    fields[at, MISSING_LEFT] = choose_set(pinball, coded, own, scratch, feature, best.cut)
                n_set = keep_set(buffers, at, int64(coded.n_codes[feature]), scratch.in_set, n_set)
                if n_set == NONE:
                    nodes.counters[STATE] = NO_ROOM
                    return
            priority[at] = max(gain, 0.0) if limits.best_first else float(at)
            push(heap, priority, n_open, at)
            n_open += 1
        if stop[0]:  # a search may have been cut short
            state, n_open = STOPPED, max(n_open, one)
            break
        if n_open == 0 or n_leaves >= limits.max_leaves:
            break
        # Split the node that comes next.
        parent = pop(heap, priority, n_open)
        n_open -= 1
        n_leaves += 1
        middle = fields[parent, START] + divide(coded, rows, buffer, fields, parent, buffers.in_set)
        make_children(buffers, constraints, parent, middle, n_nodes)
        n_nodes += 2
    write_preorder(plan, coded, buffers, n_nodes, nodes)
    nodes.counters[N_OPEN], nodes.counters[STATE] = n_open, state
    keep(memory)


@allocating
def new_scratch(coded: Coded, constraints: Constraints, n_rows: int) -> QuantileScratch:
    """Allocate the memory of the search."""
    n_features, widest, most_values = coded.ranks.shape[0], 256, 256
    for feature in range(n_features):
        most_values = max(most_values, coded.n_ranks[feature])
        if coded.is_wide[feature]:
            widest = max(widest, coded.n_ranks[feature] + 1)
    return QuantileScratch(
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
        AllowedFeatures(
            constraints.direction,
            np.zeros(n_features, np.uint8),
            np.zeros(n_features, np.uint8),
            np.ones(n_features),
            np.full(1, constraints.is_set, np.uint8),
        ),
    )


@inner
def describe(
    plan: Plan, pinball: Pinball, sample: Sample, rows: IntArray, total: LongArray, targets: Targets
) -> tuple[Node, float]:
    """Return the node of these rows, and its quantile; they are in the order of their targets."""
    n_rows = int64(0)
    for i in range(len(rows)):
        row = rows[i]
        targets.weight[i], targets.target[i] = sample.weight[row], sample.total[row]
        targets.repeats[i] = sample.repeats[row] if plan.counts_apart else sample.weight[row]
        n_rows += targets.repeats[i]
    side = make_side(pinball, targets, int64(len(rows)), True)
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
    """Pass the bounds of a node on to its children; the middle of their quantiles separates them."""
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


# -- The loss of a side --------------------------------------------------------------------------------------


@inner
def make_side(pinball: Pinball, targets: Targets, n: int, with_missing: bool) -> Side:
    """Return the side of all n rows, or of those with a value of the feature, at least one; list its rows."""
    first, last, units, total = NO_ROW, NO_ROW, int64(0), int64(0)
    for i in range(n):
        if with_missing or targets.place[i] >= 0:
            targets.before[i], targets.after[i] = last, n
            if last == NO_ROW:
                first = int64(i)
            else:
                targets.after[last] = i
            last = int64(i)
            units += targets.weight[i]
            total += targets.weight[i] * targets.target[i]
    return move_to_quantile(pinball, targets, units, total, first, int64(0), int64(0))


@inner
def move_to_quantile(
    pinball: Pinball, targets: Targets, units: int, total: int, at: int, units_below: int, total_below: int
) -> Side:
    """Return the side with its quantile at the first row up to which the fraction of weight is reached."""
    weight, target, before, after = targets.weight, targets.target, targets.before, targets.after
    wanted = pinball.fraction * units * NEARLY
    while units_below + weight[at] < wanted:
        units_below += weight[at]
        total_below += weight[at] * target[at]
        at = after[at]
    while units_below >= wanted:
        at = before[at]
        units_below -= weight[at]
        total_below -= weight[at] * target[at]
    return Side(units, total, at, units_below, total_below)


@inner
def loss_of(pinball: Pinball, targets: Targets, side: Side) -> float:
    """Return the loss of the side around its quantile."""
    value = targets.target[side.at]
    above = side.total - side.total_below - value * (side.units - side.units_below)
    below = value * side.units_below - side.total_below
    return pinball.above * float(above) + pinball.below * float(below)


@inner
def remove_row(pinball: Pinball, targets: Targets, n: int, side: Side, row: int) -> Side:
    """Return the side without one of its rows, which is not the last."""
    before, after = targets.before[row], targets.after[row]
    own = targets.weight[row]
    own_total = own * targets.target[row]
    at, units_below, total_below = side.at, side.units_below, side.total_below
    if row < at:
        units_below -= own
        total_below -= own_total
    elif row == at and after < n:
        at = after
    elif row == at:
        at = before
        units_below -= targets.weight[at]
        total_below -= targets.weight[at] * targets.target[at]
    if before != NO_ROW:
        targets.after[before] = after
    if after < n:
        targets.before[after] = before
    return move_to_quantile(
        pinball, targets, side.units - own, side.total - own_total, at, units_below, total_below
    )


# -- The best split over all features ------------------------------------------------------------------------


@inner
def search(
    plan: Plan,
    pinball: Pinball,
    node: Node,
    coded: Coded,
    rows: IntArray,
    scratch: QuantileScratch,
    n_drawn: int,
    seed: int,
    stop: ByteArray,
) -> Split:
    """Return the best split over all features or, if n_drawn > 0, over as many drawn ones that vary.

    The rows are in the order of their targets, which `scratch.targets` holds.
    """
    best, allowed, n = no_split(), scratch.allowed, len(rows)
    is_limited_here, n_varied, n_ready, n_least = allowed.is_set[0] > 0, int64(0), int64(0), n_drawn
    for i in range(coded.ranks.shape[0]):
        if stop[0] or (n_drawn > 0 and n_varied >= n_drawn and best.improvement != NEVER):
            break
        feature = int64(i)
        if n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, scratch.queue, scratch.waiting)
                n_least *= 2
            feature = take_column(scratch.queue, int64(i), n_ready)
        if is_limited_here and allowed.is_excluded[feature] > 0:
            continue
        n_known, varies = place_rows(coded, rows, feature, scratch.targets)
        if not varies:
            continue
        n_varied += 1
        if is_limited_here:
            node = with_direction(node, allowed, feature)
        earlier = best
        if n_drawn > 0:
            best = keep_in_ties(best, feature)
        if coded.is_subset[feature]:
            best = scan_categories(plan, pinball, node, coded, scratch, n, feature, best)
        else:
            sort_rows(scratch, n, n_known, int64(coded.n_ranks[feature]))
            best = scan_thresholds(plan, pinball, node, scratch, n, n_known, feature, best)
        best = earlier if best.feature < 0 else best
    return best


# -- Thresholds ----------------------------------------------------------------------------------------------


@inner
def place_rows(coded: Coded, rows: IntArray, feature: int, targets: Targets) -> tuple[int, bool]:
    """Write the rank of the feature in every row; return how many have one, and whether the ranks differ."""
    n_known, varies = int64(0), False
    first = int64(coded.ranks[feature, rows[0]])
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        targets.place[i] = rank
        n_known += rank >= 0
        varies = varies or rank != first
    return n_known, varies


@inner
def sort_rows(scratch: QuantileScratch, n: int, n_known: int, n_places: int) -> None:
    """Write the rows in the order of their places, those without one at the end."""
    place, order, starts = scratch.targets.place, scratch.targets.order, scratch.starts
    if n_places <= COUNTED * n:
        for k in range(n_places + 1):
            starts[k] = 0
        for i in range(n):
            starts[place[i] + 1 if place[i] >= 0 else 0] += 1
        starts[0] = 0
        for k in range(1, n_places + 1):
            starts[k] += starts[k - 1]
        missing = n_known
        for i in range(n):
            if place[i] >= 0:
                order[starts[place[i]]] = i
                starts[place[i]] += 1
            else:
                order[missing] = i
                missing += 1
        return
    n_keys, missing = int64(0), n_known
    for i in range(n):
        if place[i] >= 0:
            scratch.keys[n_keys] = place[i] << 32 | i
            n_keys += 1
        else:
            order[missing] = i
            missing += 1
    sort_keys(scratch.keys, int64(0), n_keys, scratch.waiting)
    for j in range(n_keys):
        order[j] = scratch.keys[j] & ROW_MASK


@inner
def scan_thresholds(
    plan: Plan,
    pinball: Pinball,
    node: Node,
    scratch: QuantileScratch,
    n: int,
    n_known: int,
    feature: int,
    best: Split,
) -> Split:
    """Return the best threshold of the feature that the rows are sorted by, missing values on either side."""
    targets, losses, quantiles = scratch.targets, scratch.losses, scratch.quantiles
    order, place = targets.order, targets.place
    some_missing = n_known < n
    fill_left_losses(pinball, targets, n, n_known, False, losses[LEFT_KNOWN], quantiles[LEFT_KNOWN])
    fill_right_losses(pinball, targets, n, n_known, False, losses[RIGHT_KNOWN], quantiles[RIGHT_KNOWN])
    units_missing = rows_missing = int64(0)
    if some_missing:
        fill_left_losses(pinball, targets, n, n_known, True, losses[LEFT_ALL], quantiles[LEFT_ALL])
        fill_right_losses(pinball, targets, n, n_known, True, losses[RIGHT_ALL], quantiles[RIGHT_ALL])
        for j in range(n_known, n):
            units_missing += targets.weight[order[j]]
            rows_missing += targets.repeats[order[j]]
    right = RIGHT_ALL if some_missing else RIGHT_KNOWN
    units = rows = int64(0)
    for j in range(n_known - 1):
        units += targets.weight[order[j]]
        rows += targets.repeats[order[j]]
        cut = place[order[j]]
        if cut == place[order[j + 1]]:
            continue
        both = losses[LEFT_KNOWN, j] + losses[right, j + 1]
        pair = (quantiles[LEFT_KNOWN, j], quantiles[right, j + 1])
        best = consider(plan, node, both, pair, units, rows, feature, cut, SIDE_RIGHT, best)
        if some_missing:
            both = losses[LEFT_ALL, j] + losses[RIGHT_KNOWN, j + 1]
            pair = (quantiles[LEFT_ALL, j], quantiles[RIGHT_KNOWN, j + 1])
            all_units, all_rows_left = units + units_missing, rows + rows_missing
            best = consider(plan, node, both, pair, all_units, all_rows_left, feature, cut, SIDE_LEFT, best)
    if some_missing:
        j = n_known - 1
        both = losses[LEFT_KNOWN, j] + losses[RIGHT_ALL, n_known]
        pair = (quantiles[LEFT_KNOWN, j], quantiles[RIGHT_ALL, n_known])
        units, rows = node.units - units_missing, node.rows - rows_missing
        alone = without_direction(node)  # a split of known from missing values has no order
        best = consider(plan, alone, both, pair, units, rows, feature, place[order[j]], SIDE_RIGHT, best)
    return best


@inner
def fill_left_losses(
    pinball: Pinball,
    targets: Targets,
    n: int,
    n_known: int,
    with_missing: bool,
    losses: FloatArray,
    quantiles: LongArray,
) -> None:
    """Write at j the loss and the quantile of the rows up to the j-th, with or without missing ones."""
    side = make_side(pinball, targets, n, with_missing)
    order, place = targets.order, targets.place
    losses[n_known - 1], quantiles[n_known - 1] = loss_of(pinball, targets, side), targets.target[side.at]
    for j in range(n_known - 1, 0, -1):
        side = remove_row(pinball, targets, n, side, order[j])
        if place[order[j]] != place[order[j - 1]]:
            losses[j - 1], quantiles[j - 1] = loss_of(pinball, targets, side), targets.target[side.at]


@inner
def fill_right_losses(
    pinball: Pinball,
    targets: Targets,
    n: int,
    n_known: int,
    with_missing: bool,
    losses: FloatArray,
    quantiles: LongArray,
) -> None:
    """Write at j the loss and the quantile of the rows from the j-th on, with or without missing ones."""
    side = make_side(pinball, targets, n, with_missing)
    order, place = targets.order, targets.place
    for j in range(n_known if with_missing else n_known - 1):
        side = remove_row(pinball, targets, n, side, order[j])
        if j == n_known - 1 or place[order[j]] != place[order[j + 1]]:
            losses[j + 1], quantiles[j + 1] = loss_of(pinball, targets, side), targets.target[side.at]


# -- Categories ----------------------------------------------------------------------------------------------


@inner
def scan_categories(
    plan: Plan,
    pinball: Pinball,
    node: Node,
    coded: Coded,
    scratch: QuantileScratch,
    n: int,
    feature: int,
    best: Split,
) -> Split:
    """Return the best set of categories: `cut` is its pattern, or the length of the prefix that goes left."""
    n_present = list_present(coded, scratch, n, feature)
    if n_present <= MOST_LISTED:
        number_rows(scratch, n, n_present)
        return scan_sets(plan, pinball, node, scratch, n, n_present, feature, best)
    arrange(pinball, scratch, n, n_present)
    number_rows(scratch, n, n_present)
    sort_rows(scratch, n, n, n_present + 1)
    return scan_thresholds(plan, pinball, node, scratch, n, n, feature, best)


@inner
def list_present(coded: Coded, scratch: QuantileScratch, n: int, feature: int) -> int:
    """Write the categories that occur, the missing one last, and their weights; return their number.

    The place of every row is then its category, also if that is missing.
    """
    targets, last = scratch.targets, last_code(coded, feature, NO_SHIFT)
    for code in range(coded.n_codes[feature]):
        scratch.units[code] = 0
    scratch.units[last] = 0
    for i in range(n):
        if targets.place[i] < 0:
            targets.place[i] = last
        scratch.units[targets.place[i]] += targets.weight[i]
    n_present = int64(0)
    for i in range(coded.n_codes[feature] + 1):
        code = i if i < coded.n_codes[feature] else last
        if scratch.units[code] > 0:
            scratch.present[n_present] = code
            n_present += 1
    return n_present


@inner
def number_rows(scratch: QuantileScratch, n: int, n_present: int) -> None:
    """Write the number of its category, the first being 1, to the place of every row."""
    for k in range(n_present):
        scratch.number[scratch.present[k]] = k + 1
    for i in range(n):
        scratch.targets.place[i] = scratch.number[scratch.targets.place[i]]


@inner
def scan_sets(
    plan: Plan,
    pinball: Pinball,
    node: Node,
    scratch: QuantileScratch,
    n: int,
    n_present: int,
    feature: int,
    best: Split,
) -> Split:
    """Return the best of all sets of the categories; `cut` is its bit pattern, without the first one."""
    targets = scratch.targets
    for pattern in range(1, 1 << (n_present - 1)):
        units = rows = total = all_total = int64(0)
        for i in range(n):
            own = targets.weight[i] * targets.target[i]
            all_total += own
            if pattern << 2 >> targets.place[i] & 1:
                units += targets.weight[i]
                rows += targets.repeats[i]
                total += own
        left = set_loss(pinball, targets, n, pattern, 1, units, total)
        right = set_loss(pinball, targets, n, pattern, 0, node.units - units, all_total - total)
        both, pair = left[0] + right[0], (left[1], right[1])
        best = consider(plan, node, both, pair, units, rows, feature, int64(pattern), SIDE_RIGHT, best)
    return best


@inner
def set_loss(
    pinball: Pinball, targets: Targets, n: int, pattern: int, side: int, units: int, total: int
) -> tuple[float, int]:
    """Return the loss and the quantile of the rows of a side; 1 is that of the categories in the pattern."""
    wanted, units_below, total_below = pinball.fraction * units * NEARLY, int64(0), int64(0)
    for i in range(n):
        if pattern << 2 >> targets.place[i] & 1 != side:
            continue
        value, weight = targets.target[i], targets.weight[i]
        if units_below + weight >= wanted:
            above = total - total_below - value * (units - units_below)
            below = value * units_below - total_below
            return pinball.above * float(above) + pinball.below * float(below), value
        units_below += weight
        total_below += weight * value
    return 0.0, int64(0)


@inner
def arrange(pinball: Pinball, scratch: QuantileScratch, n: int, n_present: int) -> None:
    """Sort the categories that occur by their own quantiles."""
    targets, cumulative = scratch.targets, scratch.cumulative
    for k in range(n_present):
        cumulative[scratch.present[k]] = 0
    for i in range(n):  # in the order of the targets
        code = targets.place[i]
        wanted = pinball.fraction * scratch.units[code] * NEARLY
        if cumulative[code] < wanted:
            scratch.middle[code] = float(targets.target[i])
        cumulative[code] += targets.weight[i]
    sort_by(scratch.present, scratch.middle, n_present)


@inner
def choose_set(
    pinball: Pinball, coded: Coded, rows: IntArray, scratch: QuantileScratch, feature: int, cut: int
) -> int:
    """Mark in `in_set` which categories go left; return whether missing values do, or -1 without any."""
    n = len(rows)
    place_rows(coded, rows, feature, scratch.targets)
    n_present = list_present(coded, scratch, n, feature)
    first, is_listed = scratch.present[0], n_present <= MOST_LISTED
    if not is_listed:
        arrange(pinball, scratch, n, n_present)
    return mark_sides(coded, feature, scratch.present, n_present, first, cut, is_listed, scratch.in_set)


# -- Comparing splits ----------------------------------------------------------------------------------------


@inner
def consider(
    plan: Plan,
    node: Node,
    losses: float,
    quantiles: tuple[int, int],
    units: int,
    rows: int,
    feature: int,
    cut: int,
    missing_left: int,
    best: Split,
) -> Split:
    """Return the better of the best split so far and one with these losses and quantiles of its sides."""
    if rows < plan.min_rows or node.rows - rows < plan.min_rows:
        return best
    if units < plan.min_weight or node.units - units < plan.min_weight:
        return best
    if node.is_constrained:
        left, right = clip_value(node, float(quantiles[0])), clip_value(node, float(quantiles[1]))
        if (right - left) * node.direction < 0.0 or (left == right and quantiles[0] != quantiles[1]):
            return best
    gain = max(node.impurity - losses, 0.0)
    improvement = improvement_of(plan, node, gain, 0.0, 0.0)
    return better(best, improvement, gain / node.cost, feature, cut, missing_left)


# -- Quantile and loss at every node of a finished tree ------------------------------------------------------


@kernel
def quantile_values(
    fields: LongArray,
    rows: IntArray,
    target: FloatArray,
    weight: FloatArray,
    pinball: Pinball,
    weights: FloatArray,
    value: FloatArray,
    impurity: FloatArray,
) -> None:
    """Compute weight, quantile and mean loss of every node, which are 0 before.

    The rows are in the order of the leaves, and in that of their targets within each. A node without rows
    keeps 0.
    """
    n_nodes = len(fields)
    start, end = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    buffer = np.empty(len(rows), np.int32)
    for i in range(n_nodes - 1, -1, -1):  # children come after their parent
        if fields[i, FEATURE] == NONE:
            start[i], end[i] = fields[i, START], fields[i, END]
        else:
            start[i], end[i] = start[fields[i, LEFT]], end[fields[i, RIGHT]]
            own = rows[start[i] : end[i]]
            merge(own, target, end[fields[i, LEFT]] - start[i], buffer)
        if start[i] < end[i]:
            own = rows[start[i] : end[i]]
            weights[i], value[i], impurity[i] = describe_values(own, target, weight, pinball)


@inner
def merge(rows: IntArray, target: FloatArray, middle: int, buffer: IntArray) -> None:
    """Merge rows[:middle] and rows[middle:], each in the order of its targets."""
    for i in range(middle):
        buffer[i] = rows[i]
    i, j = 0, middle
    for k in range(len(rows)):
        if i == middle:
            return
        if j == len(rows) or target[buffer[i]] <= target[rows[j]]:
            rows[k] = buffer[i]
            i += 1
        else:
            rows[k] = rows[j]
            j += 1


@inner
def describe_values(
    rows: IntArray, target: FloatArray, weight: FloatArray, pinball: Pinball
) -> tuple[float, float, float]:
    """Return weight, quantile and mean loss of rows in the order of their targets."""
    n, heaviest = len(rows), 0.0
    for j in range(n):
        heaviest = max(heaviest, weight[rows[j]])
    per_weight, large, small = units_in_one(heaviest, n), int64(0), int64(0)
    for j in range(n):
        scaled = weight[rows[j]] * per_weight
        large, small = large + integer_part(scaled), small + small_part(scaled)
    all_weight = join_parts(large, small, per_weight)
    value = quantile_at(rows, target, weight, pinball.fraction, all_weight, per_weight)
    most = (
        heaviest
        / all_weight
        * max(pinball.above * (target[rows[n - 1]] - value), pinball.below * (value - target[rows[0]]))
    )
    per_one, large, small = units_in_one(most, n), int64(0), int64(0)
    for j in range(n):
        apart = target[rows[j]] - value
        cost = pinball.above * apart if apart > 0.0 else -pinball.below * apart
        scaled = weight[rows[j]] / all_weight * cost * per_one
        large, small = large + integer_part(scaled), small + small_part(scaled)
    return all_weight, value, max(join_parts(large, small, per_one), 0.0)


@inner
def quantile_at(
    rows: IntArray,
    target: FloatArray,
    weight: FloatArray,
    fraction: float,
    all_weight: float,
    per_weight: float,
) -> float:
    """Return the target up to which the fraction of the weight lies; half-way to the next at an exact end."""
    wanted, large, small = fraction * all_weight, int64(0), int64(0)
    for j in range(len(rows)):
        scaled = weight[rows[j]] * per_weight
        large, small = large + integer_part(scaled), small + small_part(scaled)
        cumulative = join_parts(large, small, per_weight)
        if cumulative >= wanted * NEARLY:
            own = float(target[rows[j]])
            if cumulative > wanted * PAST or j == len(rows) - 1:
                return own
            return own / 2 + float(target[rows[j + 1]]) / 2
    return float(target[rows[len(rows) - 1]])
