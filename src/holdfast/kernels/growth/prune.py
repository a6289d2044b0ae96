"""Pruning: when each split is undone as leaves become dearer."""

import math

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel

NONE = int64(-1)
ROUNDING = 1e-13  # an alpha below this fraction of its node's risk is none: rounding made it


@inner
def merged(a: int, b: int, first: LongArray, second: LongArray, alpha: FloatArray) -> int:
    """The two heaps as one, the highest alpha on top: a skew heap, logarithmic on average."""
    if a == NONE or b == NONE:
        return a if b == NONE else b
    if alpha[b] > alpha[a]:
        a, b = b, a
    top = a
    while True:
        below = second[a]
        second[a] = first[a]
        if below == NONE:
            first[a] = b
            return top
        if alpha[b] > alpha[below]:
            below, b = b, below
        first[a] = below
        a = below


@kernel
def weakest_links(left: IntArray, right: IntArray, risk: FloatArray, alpha: FloatArray) -> None:
    """alpha = where each split is undone, if risk + alpha * leaves is to be least; infinite at leaves.

    From the leaves upwards, every subtree knows the alphas at which it shrinks, in a heap. Just below a node
    the two subtrees shrink independently; the node itself becomes a leaf at the alpha where that is as good.
    Whatever would have shrunk later than that never does, and leaves the heap. Nodes are in preorder.
    """
    n = len(left)
    saved = np.empty(n)  # risk that the split saves at its alpha, with all that stands below it then
    extra = np.empty(n)  # leaves that it costs
    first, second = np.full(n, NONE), np.full(n, NONE)
    heap = np.full(n, NONE)
    for node in range(n - 1, -1, -1):
        alpha[node] = math.inf
        if left[node] < 0:
            continue
        a, b = int64(left[node]), int64(right[node])
        top = merged(heap[a], heap[b], first, second, alpha)
        own, leaves = risk[node] - (risk[a] + risk[b]), 1.0
        while top != NONE and alpha[top] > own / leaves:
            own, leaves = own + saved[top], leaves + extra[top]
            top = merged(first[top], second[top], first, second, alpha)
        alpha[node], saved[node], extra[node] = max(own / leaves, 0.0), own, leaves
        first[node], second[node] = top, NONE
        heap[node] = node
    for node in range(n):  # what stands below a leaf is gone
        if left[node] >= 0:
            if alpha[node] <= ROUNDING * risk[node]:
                alpha[node] = 0.0
            for child in (left[node], right[node]):
                if left[child] >= 0:
                    alpha[child] = min(alpha[child], alpha[node])
