"""Routing rows through all trees of an ensemble: sums of leaf values, or the leaves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel, uint64

# A node in 16 bytes, one memory access. In preorder the left child is the next node, and only the right one
# needs an offset: `jump` is the number of nodes skipped. A leaf jumps back to itself for every row, because
# its threshold is NaN.
NODE = np.dtype([("threshold", np.float64), ("split", np.int32), ("jump", np.int32)], align=True)
MISSING_LEFT = 30  # the bit of `split` that is set if a missing value goes left
IS_SET = 29  # the bit that is set at a split on categories: `threshold` is where its flags begin
COLUMN = (1 << IS_SET) - 1  # the other bits: the column of the rows
LEAF_JUMP = -1

# Rows routed through a tree before the next tree. With fewer the nodes of deep trees are always fetched from
# memory: 2048 was the best of 128 to 2048 on 100 trees of 4,000 nodes.
BLOCK = 2048
LANES = 8


class Sets(NamedTuple):
    """The sets of categories of all trees."""

    in_set: BoolArray  # a flag per category, True if it goes left; each set ends with that of missing values
    n_categories: FloatArray  # (columns,) of the features that are split by sets; 0 for all others


class PackedTrees(NamedTuple):
    """All trees of an ensemble, one after the other."""

    nodes: NDArray[Any]  # of NODE
    root: LongArray  # (trees,) where the nodes of each begin
    has_sets: BoolArray  # (trees,) True if a split of the tree is on categories
    sets: Sets
    value: FloatArray  # added to the scores: `width` numbers for each node
    value_start: LongArray  # (trees,)
    width: LongArray  # (trees,)
    output: LongArray  # (trees,) the first column that the tree adds to


@inner
def _next_by_threshold(X: FloatArray, nodes: NDArray[Any], sets: Sets, row: int, node: int) -> int:
    """Return the child that the row goes to from a node with a threshold; a leaf leads to itself."""
    record = nodes[uint64(node)]
    split = int64(record["split"])
    x = X[uint64(row), uint64(split & COLUMN)]
    # Bits instead of branches, which would be mispredicted every other time. With `left - 1` in place of
    # `-right` the compiler makes branches again, and a deep forest takes 2.8 times as long.
    right = 1 - (int64(x <= record["threshold"]) | (int64(x != x) & (split >> MISSING_LEFT)))
    return node + 1 + (int64(record["jump"]) & -right)


@inner
def _next_by_any(X: FloatArray, nodes: NDArray[Any], sets: Sets, row: int, node: int) -> int:
    """Return the child that the row goes to from a node with any split; a leaf leads to itself."""
    record = nodes[uint64(node)]
    split, threshold = int64(record["split"]), record["threshold"]
    column = uint64(split & COLUMN)
    x, n_categories = X[uint64(row), column], sets.n_categories[column]
    is_set = (split >> IS_SET) & 1
    # For a node with a threshold it is the first flag of all, which is then ignored.
    start = threshold if is_set else 0.0
    code = x if (x >= 0.0) & (x < n_categories) else n_categories
    in_set = int64(sets.in_set[uint64(start + code)])
    is_less = int64(x <= threshold) | (int64(x != x) & (split >> MISSING_LEFT))
    right = 1 - ((in_set & is_set) | (is_less & (1 - is_set)))
    return node + 1 + (int64(record["jump"]) & -right)


def _walk_with(step: Callable[[FloatArray, NDArray[Any], Sets, int, int], int]) -> Any:
    """Make a kernel that writes the leaf of every row, going from node to node by the step.

    Eight rows go at a time: while one waits for its node the others proceed. They are spelled out since only
    single variables stay in registers. A forest of 100 deep trees takes 2.7 times as long with one row at a
    time, and 1.5 times with the nodes of a block of rows in an array.
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
    """Write leaves[i] = the leaf that X[i] reaches, as its place among the nodes of all trees."""
    root = trees.root[tree]
    if trees.nodes[root]["jump"] == LEAF_JUMP:
        leaves[: len(X)] = root  # there may be no column
    elif trees.has_sets[tree]:
        _walk_by_any(X, trees, root, leaves)
    else:
        _walk_by_threshold(X, trees, root, leaves)


@kernel
def add_values(X: FloatArray, trees: PackedTrees, first: int, end: int, out: FloatArray) -> None:
    """Add the k-th value of the leaf that X[i] reaches to out[i, output + k], for trees first to end - 1."""
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
    """Write out[i, t] = the leaf that X[i] reaches in tree t."""
    leaves = np.empty(BLOCK, np.int64)
    for begin in range(0, len(X), BLOCK):
        rows = X[begin : begin + BLOCK]
        for tree in range(len(trees.root)):
            _walk(rows, trees, tree, leaves)
            for i in range(len(rows)):
                out[begin + i, tree] = leaves[i] - trees.root[tree]


# -- Routing through one tree --------------------------------------------------------------------------------


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
    """Write out[i] = the leaf that X[rows[i]] reaches from `top`; `feature` is -1 at leaves."""
    for i in range(len(rows)):
        row, node = rows[i], top
        while feature[node] >= 0:
            x = X[row, feature[node]]
            goes_left = missing_left[node]
            if set_start[node] < 0:
                if not np.isnan(x):
                    goes_left = x <= threshold[node]
            elif 0.0 <= x < n_categories[node]:  # False for NaN, and for unknown categories
                goes_left = in_set[set_start[node] + int(x)]
            node = left[node] if goes_left else right[node]
        out[i] = node
