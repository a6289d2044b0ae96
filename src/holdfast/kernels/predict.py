"""Rows through all trees of an ensemble: sums of leaf values, or the leaves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel, uint64

# A node in 16 bytes, so that one fetch brings it all. In preorder the left child is the next node, and only
# the way to the right one is needed: `jump` is how many nodes are skipped. A leaf jumps back to itself,
# whatever the row holds, because its threshold is NaN.
NODE = np.dtype([("threshold", np.float64), ("question", np.int32), ("jump", np.int32)], align=True)
MISSING_LEFT = 30  # the bit of `question` that is set if a missing value goes left
IS_SET = 29  # the bit that is set at a split on categories: `threshold` says where its flags begin
COLUMN = (1 << IS_SET) - 1  # the other bits: the column of the rows
LEAF_JUMP = -1

# Rows that pass a tree before the next tree has its turn. With fewer the nodes of deep trees are fetched from
# memory all the time: 2048 was the best of 128 to 2048 on 100 trees of 4,000 nodes.
BLOCK = 2048
LANES = 8


class Sets(NamedTuple):
    """The sets of categories of all trees."""

    in_set: (
        BoolArray  # one flag for each category: does it go left? Each set ends with that of missing values
    )
    n_categories: FloatArray  # (columns,) of the features that are split by sets; 0 for all others


class PackedTrees(NamedTuple):
    """All trees of an ensemble, one after the other."""

    nodes: NDArray[Any]  # of NODE
    root: LongArray  # (trees,) where the nodes of each begin
    has_sets: BoolArray  # (trees,) True if a split of the tree is on categories
    sets: Sets
    value: FloatArray  # what the leaves add to the scores: `width` numbers for each node
    value_start: LongArray  # (trees,)
    width: LongArray  # (trees,)
    output: LongArray  # (trees,) the first column that the tree adds to


@inner
def _next_by_threshold(X: FloatArray, nodes: NDArray[Any], sets: Sets, row: int, node: int) -> int:
    """The child that the row goes to if the node asks about a threshold; a leaf leads to itself."""
    record = nodes[uint64(node)]
    question = int64(record["question"])
    x = X[uint64(row), uint64(question & COLUMN)]
    # Bits instead of branches, which would be guessed wrong every other time. With `left - 1` in place
    # of `-right` the compiler finds the branches again, and a deep forest takes 2.8 times as long.
    right = 1 - (int64(x <= record["threshold"]) | (int64(x != x) & (question >> MISSING_LEFT)))
    return node + 1 + (int64(record["jump"]) & -right)


@inner
def _next_by_any(X: FloatArray, nodes: NDArray[Any], sets: Sets, row: int, node: int) -> int:
    """The child that the row goes to whatever the node asks; a leaf leads to itself."""
    record = nodes[uint64(node)]
    question, threshold = int64(record["question"]), record["threshold"]
    column = uint64(question & COLUMN)
    x, n_categories = X[uint64(row), column], sets.n_categories[column]
    is_set = (question >> IS_SET) & 1
    # Of a node with a threshold it is the first flag of all, which then does not count.
    start = threshold if is_set else 0.0
    code = x if (x >= 0.0) & (x < n_categories) else n_categories
    in_set = int64(sets.in_set[uint64(start + code)])
    is_less = int64(x <= threshold) | (int64(x != x) & (question >> MISSING_LEFT))
    right = 1 - ((in_set & is_set) | (is_less & (1 - is_set)))
    return node + 1 + (int64(record["jump"]) & -right)


def _walk_with(step: Callable[[FloatArray, NDArray[Any], Sets, int, int], int]) -> Any:
    """A kernel that fills in the leaf of every row, going from node to node by the step.

    Eight rows go at a time: while one waits for its node the others go on. They are spelled out since only
    single variables stay in registers. A forest of 100 deep trees takes 2.7 times as long if the rows go one
    by one, and 1.5 times with the nodes of a block of rows in an array.
    """

    def walk(X: FloatArray, trees: PackedTrees, root: int, leaves: LongArray) -> None:
        nodes, sets = trees.nodes, trees.sets
        whole = len(X) - len(X) % LANES
        for i in range(0, whole, LANES):
            a = b = c = d = e = f = g = h = root
            moved = 1
            while moved:
                next_a, next_b = step(X, nodes, sets, i, a), step(X, nodes, sets, i + 1, b)
                next_c, next_d = step(X, nodes, sets, i + 2, c), step(X, nodes, sets, i + 3, d)
                next_e, next_f = step(X, nodes, sets, i + 4, e), step(X, nodes, sets, i + 5, f)
                next_g, next_h = step(X, nodes, sets, i + 6, g), step(X, nodes, sets, i + 7, h)
                moved = (a ^ next_a) | (b ^ next_b) | (c ^ next_c) | (d ^ next_d)
                moved |= (e ^ next_e) | (f ^ next_f) | (g ^ next_g) | (h ^ next_h)
                a, b, c, d, e, f, g, h = next_a, next_b, next_c, next_d, next_e, next_f, next_g, next_h
            leaves[i], leaves[i + 1], leaves[i + 2], leaves[i + 3] = a, b, c, d
            leaves[i + 4], leaves[i + 5], leaves[i + 6], leaves[i + 7] = e, f, g, h
        for i in range(whole, len(X)):
            node, after = int64(-1), root
            while node != after:
                node = after
                after = step(X, nodes, sets, i, node)
            leaves[i] = node

    walk.__qualname__ = f"_walk{step.__name__}"
    return inner(walk)


_walk_by_threshold = _walk_with(_next_by_threshold)
_walk_by_any = _walk_with(_next_by_any)


@inner
def _walk(X: FloatArray, trees: PackedTrees, tree: int, leaves: LongArray) -> None:
    """leaves[i] = the leaf that X[i] reaches, as its place among the nodes of all trees."""
    root = trees.root[tree]
    if trees.nodes[root]["jump"] == LEAF_JUMP:
        leaves[: len(X)] = root  # there may be no column to ask about
    elif trees.has_sets[tree]:
        _walk_by_any(X, trees, root, leaves)
    else:
        _walk_by_threshold(X, trees, root, leaves)


@kernel
def add_values(X: FloatArray, trees: PackedTrees, first: int, end: int, out: FloatArray) -> None:
    """out[i, output + k] += the k-th value of the leaf that X[i] reaches, for the trees first to end - 1."""
    leaves = np.empty(BLOCK, np.int64)
    for begin in range(0, len(X), BLOCK):
        rows = X[begin : begin + BLOCK]
        for tree in range(first, end):
            _walk(rows, trees, tree, leaves)
            width, output = trees.width[tree], trees.output[tree]
            for i in range(len(rows)):
                place = trees.value_start[tree] + (leaves[i] - trees.root[tree]) * width
                for k in range(width):
                    out[begin + i, output + k] += trees.value[uint64(place + k)]


@kernel
def find_leaves(X: FloatArray, trees: PackedTrees, out: IntArray) -> None:
    """out[i, t] = the leaf that X[i] reaches in tree t."""
    leaves = np.empty(BLOCK, np.int64)
    for begin in range(0, len(X), BLOCK):
        rows = X[begin : begin + BLOCK]
        for tree in range(len(trees.root)):
            _walk(rows, trees, tree, leaves)
            for i in range(len(rows)):
                out[begin + i, tree] = leaves[i] - trees.root[tree]


# -- Rows to leaves ------------------------------------------------------------------------------------------


@kernel
def route(
    X: FloatArray,
    rows: IntArray,
    top: int,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    missing_left: BoolArray,
    set_start: LongArray,
    n_categories: IntArray,
    in_set: BoolArray,
    out: IntArray,
) -> None:
    """out[i] = the leaf that X[rows[i]] reaches from `top`; `feature` is a column of X, or -1 at a leaf."""
    for i in range(len(rows)):
        row, node = rows[i], top
        while feature[node] >= 0:
            x = X[row, feature[node]]
            goes_left = missing_left[node]
            if set_start[node] < 0:
                if not np.isnan(x):
                    goes_left = x <= threshold[node]
            elif 0.0 <= x < n_categories[node]:  # false for NaN, and for what is no category of the feature
                goes_left = in_set[set_start[node] + int(x)]
            node = left[node] if goes_left else right[node]
        out[i] = node
