"""Node arrays of a growing tree, and of a finished one."""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, SignArray
from holdfast.kernels.growth.constraints import FIRST_SPLIT, HIGHEST, LOWEST, PARENT, Constraints
from holdfast.kernels.growth.criteria import NEVER, Node, Plan, weight_of
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.many_classes import HEAD
from holdfast.kernels.growth.split import Split, child_seed, mix
from holdfast.kernels.jit import allocating, inner, int64

# Columns of the node table; -1 where a field does not apply. LAST_LEFT and FIRST_RIGHT are the rows
# on either side of the threshold.
START, END, DEPTH, LEFT, RIGHT, FEATURE, CUT = range(7)
MISSING_LEFT, SET_START, SLOT, SEED, LAST_LEFT, FIRST_RIGHT, CONSTANT = range(7, 14)
N_FIELDS = 14
NONE = int64(-1)
SORTED = int64(-2)  # in place of a histogram slot: the rows of the node are sorted by each feature


class Limits(NamedTuple):
    """Stopping rules of growth."""

    max_depth: int
    max_leaves: int
    min_rows_to_split: int
    min_impurity_decrease: float  # in units of weight times impurity
    min_relative_gain: float  # as a fraction of the node's impurity
    min_impurity: float  # in units of weight times impurity; a node that is split has more
    n_drawn: int  # features drawn per split; 0 for all of them
    best_first: int  # 1: the node with the greatest gain is split next; 0: depth first
    row_weight: float  # sum of squared weights by sum of weights; 0: means are not shrunk


class TreeBuffers(NamedTuple):
    """Node arrays of a growing tree, in the order in which nodes are made."""

    fields: LongArray  # (nodes, N_FIELDS)
    total: LongArray  # (nodes, stats)
    in_set: SignArray  # sets of categories: 1 left, 0 right, -1 absent from the node
    bounds: FloatArray  # (nodes, N_BOUNDS); no nodes if growth is unconstrained


class NodeArrays(NamedTuple):
    """Node arrays of finished trees in preorder, one tree after another, or room for them."""

    fields: LongArray  # (nodes, N_FIELDS); nodes, rows and sets are counted from the first of the tree
    total: LongArray  # (nodes, stats)
    in_set: BoolArray
    counters: LongArray  # (N_COUNTERS,), or (trees, N_COUNTERS)


# Counters of a finished tree; open nodes could still be split.
N_NODES, N_SET, N_OPEN, STATE = range(4)
N_COUNTERS = 4
COMPLETE, STOPPED, NO_ROOM = int64(0), int64(1), int64(2)  # why growth ended; NO_ROOM: for more sets


@inner
def make_root(buffers: TreeBuffers, constraints: Constraints, n_rows: int, seed: int) -> None:
    """Make the first node, which holds all rows."""
    fields, bounds = buffers.fields, buffers.bounds
    for k in range(N_FIELDS):
        fields[0, k] = NONE
    fields[0, START], fields[0, END], fields[0, DEPTH], fields[0, SEED] = 0, n_rows, 0, mix(seed)
    if constraints.is_set:
        bounds[0, LOWEST], bounds[0, HIGHEST], bounds[0, PARENT] = -np.inf, np.inf, NONE
        bounds[0, FIRST_SPLIT] = 0 if len(constraints.first_splits.feature) > 0 else NONE


@inner
def make_children(
    buffers: TreeBuffers, constraints: Constraints, parent: int, middle: int, left: int
) -> None:
    """Make the nodes `left` and `left + 1`: the rows of the parent before `middle`, and the others."""
    fields, bounds, first_splits = buffers.fields, buffers.bounds, constraints.first_splits
    fields[parent, LEFT], fields[parent, RIGHT] = left, left + 1
    for side in range(2):
        at = left + side
        for k in range(N_FIELDS):
            fields[at, k] = NONE
        fields[at, START] = fields[parent, START] if side == 0 else middle
        fields[at, END] = middle if side == 0 else fields[parent, END]
        fields[at, DEPTH] = fields[parent, DEPTH] + 1
        fields[at, SEED] = child_seed(fields[parent, SEED], side)
        if constraints.is_set:
            first_split = int64(bounds[parent, FIRST_SPLIT])
            bounds[at, PARENT], bounds[at, FIRST_SPLIT] = parent, NONE
            if first_split != NONE:
                bounds[at, FIRST_SPLIT] = (
                    first_splits.left[first_split] if side == 0 else first_splits.right[first_split]
                )


@inner
def may_split(plan: Plan, limits: Limits, node: Node, depth: int) -> bool:
    """True if a node is worth searching."""
    return bool(
        node.impurity > limits.min_impurity
        and depth < limits.max_depth
        and node.rows >= max(limits.min_rows_to_split, 2 * plan.min_rows)
    )


@inner
def is_split(limits: Limits, node: Node, best: Split, gain: float) -> bool:
    """True if the best split that was found passes the stopping rules."""
    return bool(
        best.improvement != NEVER
        and gain >= limits.min_impurity_decrease - 1e-12 * node.impurity
        and gain >= (limits.min_relative_gain - 1e-12) * node.impurity
    )


@inner
def keep_set(buffers: TreeBuffers, at: int, n_codes: int, chosen: SignArray, n_set: int) -> int:
    """Record the categories that a node sends left; return the number of flags, NONE if they do not fit."""
    if n_set + n_codes > len(buffers.in_set):
        return NONE
    buffers.fields[at, SET_START] = n_set
    for code in range(n_codes):
        buffers.in_set[n_set + code] = chosen[code]
    return n_set + n_codes


@allocating
def write_preorder(plan: Plan, coded: Coded, buffers: TreeBuffers, n_nodes: int, nodes: NodeArrays) -> None:
    """Write the finished tree: nodes in preorder, every category and the missing values on one side."""
    in_set, fields, total, sets = buffers.in_set, nodes.fields, nodes.total, nodes.in_set
    waiting, parents = np.empty(n_nodes + 1, np.int64), np.empty(n_nodes + 1, np.int64)
    waiting[0], parents[0], n_waiting, n_set = 0, NONE, int64(1), int64(0)
    for i in range(n_nodes):
        n_waiting -= 1
        old, parent = waiting[n_waiting], parents[n_waiting]
        for k in range(N_FIELDS):
            fields[i, k] = buffers.fields[old, k]
        for k in range(plan.n_stats):
            total[i, k] = buffers.total[old, k]
        # The slot of the histogram now holds the number of the prescribed split.
        fields[i, SLOT] = int64(buffers.bounds[old, FIRST_SPLIT]) if len(buffers.bounds) > 0 else NONE
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
            in_left = weight_of(plan, buffers.total[left], HEAD)
            in_right = weight_of(plan, buffers.total[right], HEAD)
            fields[i, MISSING_LEFT] = 1 if in_left >= in_right else 0
        feature, start = fields[i, FEATURE], fields[i, SET_START]
        if coded.is_subset[feature]:
            fields[i, SET_START] = n_set
            for code in range(coded.n_codes[feature]):
                side = in_set[start + code]
                sets[n_set + code] = side == 1 or (side == NONE and fields[i, MISSING_LEFT] == 1)
            n_set += coded.n_codes[feature]
    nodes.counters[N_NODES], nodes.counters[N_SET] = n_nodes, n_set


# -- The heap of open nodes ----------------------------------------------------------------------------------


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
    """Remove and return the first node of the heap."""
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
