"""The nodes of a tree while it grows, and the finished ones."""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, SignArray
from holdfast.kernels.growth.constraints import GIVEN, HIGHEST, LOWEST, PARENT, Guide
from holdfast.kernels.growth.criteria import NEVER, Node, Plan, weight_of
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.many_classes import HEAD
from holdfast.kernels.growth.split import Split, child_seed, mix
from holdfast.kernels.jit import allocating, inner, int64

# The columns of the table of nodes; -1 where a field does not apply. LAST_LEFT and FIRST_RIGHT are the rows
# on either side of the threshold.
START, END, DEPTH, LEFT, RIGHT, FEATURE, CUT = range(7)
MISSING_LEFT, SET_START, SLOT, SEED, LAST_LEFT, FIRST_RIGHT, CONSTANT = range(7, 14)
N_FIELDS = 14
NONE = int64(-1)
SORTED = int64(-2)  # in place of the slot of a histogram: the rows of the node stand in the order of features


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
def make_root(growing: Growing, guide: Guide, n_rows: int, seed: int) -> None:
    """The first node, of all rows."""
    fields, guided = growing.fields, growing.guided
    for k in range(N_FIELDS):
        fields[0, k] = NONE
    fields[0, START], fields[0, END], fields[0, DEPTH], fields[0, SEED] = 0, n_rows, 0, mix(seed)
    if guide.is_set:
        guided[0, LOWEST], guided[0, HIGHEST], guided[0, PARENT] = -np.inf, np.inf, NONE
        guided[0, GIVEN] = 0 if len(guide.top.feature) > 0 else NONE


@inner
def make_children(growing: Growing, guide: Guide, parent: int, middle: int, left: int) -> None:
    """The nodes `left` and `left + 1`: the rows of the parent before the middle, and the others."""
    fields, guided, top = growing.fields, growing.guided, guide.top
    fields[parent, LEFT], fields[parent, RIGHT] = left, left + 1
    for side in range(2):
        at = left + side
        for k in range(N_FIELDS):
            fields[at, k] = NONE
        fields[at, START] = fields[parent, START] if side == 0 else middle
        fields[at, END] = middle if side == 0 else fields[parent, END]
        fields[at, DEPTH] = fields[parent, DEPTH] + 1
        fields[at, SEED] = child_seed(fields[parent, SEED], side)
        if guide.is_set:
            given = int64(guided[parent, GIVEN])
            guided[at, PARENT], guided[at, GIVEN] = parent, NONE
            if given != NONE:
                guided[at, GIVEN] = top.left[given] if side == 0 else top.right[given]


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
    """True if the best split that was found is made."""
    return bool(
        best.improvement != NEVER
        and gain >= limits.min_impurity_decrease - 1e-12 * node.impurity
        and gain >= (limits.min_relative_gain - 1e-12) * node.impurity
    )


@inner
def keep_set(growing: Growing, at: int, n_codes: int, chosen: SignArray, n_set: int) -> int:
    """Write down the categories that a node sends left; how many flags there are then, or NONE: no room."""
    if n_set + n_codes > len(growing.in_set):
        return NONE
    growing.fields[at, SET_START] = n_set
    for code in range(n_codes):
        growing.in_set[n_set + code] = chosen[code]
    return n_set + n_codes


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


# -- The nodes that wait to be split, the first to be split on top -------------------------------------------


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
