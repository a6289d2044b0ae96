"""Weight, mean and impurity of every node of a finished tree, and its cost-complexity pruning sequence.

Sums of floats depend on the order of addition. Here numbers are added as multiples of a unit, and their
remainders as multiples of a much smaller one: exact, so that the order of rows changes no bit.
"""

import math

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.growth.criteria import deviation, joint_impurity
from holdfast.kernels.growth.nodes import END, FEATURE, LEFT, NONE, RIGHT, START
from holdfast.kernels.jit import inner, int64, kernel

SMALL_UNIT = 2.0**-30  # of the unit; the sum over all rows fits in 64 bits
NO_NODE = int64(-1)
ROUNDING = 1e-13  # an alpha below this fraction of its node's risk is due to rounding, and is 0


# -- Values of nodes -----------------------------------------------------------------------------------------


@kernel
def number_values(
    fields: LongArray,
    rows: IntArray,
    target: FloatArray,
    weight: FloatArray,
    count: IntArray,
    formula: int,
    weights: FloatArray,
    mean: FloatArray,
    impurity: FloatArray,
) -> None:
    """Compute weight, mean and impurity of the target at every node, 0 before: first leaves, then upwards.

    Impurity is the mean deviation by the formula of the criterion. A node without rows keeps 0.
    """
    n_nodes = len(fields)
    for i in range(n_nodes - 1, -1, -1):  # children come after their parent
        if fields[i, FEATURE] == NONE:
            first, last = fields[i, START], fields[i, END]
            if first == last:
                continue
            weights[i], mean[i], impurity[i] = describe_leaf(rows[first:last], target, weight, count, formula)
        else:
            a, b = fields[i, LEFT], fields[i, RIGHT]
            weights[i] = weights[a] + weights[b]
            if weights[i] == 0.0:
                continue
            share_a, share_b = weights[a] / weights[i], weights[b] / weights[i]
            mean[i] = mean[a] + (mean[b] - mean[a]) * share_b
            within = share_a * impurity[a] + share_b * impurity[b]
            impurity[i] = joint_impurity(formula, within, share_a, mean[a], share_b, mean[b], mean[i])
        impurity[i] = max(impurity[i], 0.0)


@inner
def describe_leaf(
    rows: IntArray, target: FloatArray, weight: FloatArray, count: IntArray, formula: int
) -> tuple[float, float, float]:
    """Return weight, mean and impurity of the rows of a leaf."""
    n = len(rows)
    lowest, highest, heaviest = math.inf, -math.inf, 0.0
    for j in range(n):
        lowest, highest = min(lowest, target[rows[j]]), max(highest, target[rows[j]])
        heaviest = max(heaviest, weight[rows[j]] * count[rows[j]])
    # From the lowest target: a leaf of equal targets has exactly their mean.
    per_weight = units_in_one(heaviest, n)
    per_target = units_in_one(heaviest * (highest - lowest), n)
    weights, small_weights, totals, small_totals = int64(0), int64(0), int64(0), int64(0)
    for j in range(n):
        own = weight[rows[j]] * count[rows[j]]
        scaled, total = own * per_weight, own * (target[rows[j]] - lowest) * per_target
        weights, small_weights = weights + integer_part(scaled), small_weights + small_part(scaled)
        totals, small_totals = totals + integer_part(total), small_totals + small_part(total)
    all_weight = join_parts(weights, small_weights, per_weight)
    mean = lowest + join_parts(totals, small_totals, per_target) / all_weight
    most = 0.0
    for j in range(n):
        own = weight[rows[j]] * count[rows[j]] / all_weight
        most = max(most, abs(own * deviation(formula, target[rows[j]], mean)))
    per_one, large, small = units_in_one(most, n), int64(0), int64(0)
    for j in range(n):
        own = weight[rows[j]] * count[rows[j]] / all_weight
        scaled = own * deviation(formula, target[rows[j]], mean) * per_one
        large, small = large + integer_part(scaled), small + small_part(scaled)
    return all_weight, mean, join_parts(large, small, per_one)


@inner
def units_in_one(greatest: float, n: int) -> float:
    """Return the units per 1, a power of two such that the sum of n numbers up to `greatest` has 62 bits."""
    bits = math.frexp(greatest)[1] + math.frexp(float(n))[1]
    return math.ldexp(1.0, min(max(61 - bits, -1000), 1000))


@inner
def integer_part(number: float) -> int:
    """Return the whole units of a number given in units."""
    return int64(np.floor(number))


@inner
def small_part(number: float) -> int:
    """Return the remainder in small units."""
    return int64(np.rint((number - np.floor(number)) / SMALL_UNIT))


@inner
def join_parts(large: int, small: int, units: float) -> float:
    """Return the sum of both parts as a number."""
    return (float(large) + float(small) * SMALL_UNIT) / units


# -- Pruning -------------------------------------------------------------------------------------------------


@kernel
def weakest_links(left: IntArray, right: IntArray, risk: FloatArray, alpha: FloatArray) -> None:
    """Write alpha = the penalty per leaf at which each split is pruned; infinite at leaves.

    Minimises risk + alpha * leaves. From the leaves upwards, every subtree has the alphas at which it shrinks
    in a heap. Just below a node the two subtrees shrink independently; the node becomes a leaf at the alpha
    where that costs the same. Splits that would shrink later leave the heap. Nodes are in preorder.
    """
    n = len(left)
    saved = np.empty(n)  # risk that the split saves at its alpha, with the subtree that is left then
    extra = np.empty(n)  # leaves that it costs
    first, second = np.full(n, NO_NODE), np.full(n, NO_NODE)
    heap = np.full(n, NO_NODE)
    for node in range(n - 1, -1, -1):
        alpha[node] = math.inf
        if left[node] < 0:
            continue
        a, b = int64(left[node]), int64(right[node])
        top = merge_heaps(heap[a], heap[b], first, second, alpha)
        own, leaves = risk[node] - (risk[a] + risk[b]), 1.0
        while top != NO_NODE and alpha[top] > own / leaves:
            own, leaves = own + saved[top], leaves + extra[top]
            top = merge_heaps(first[top], second[top], first, second, alpha)
        alpha[node], saved[node], extra[node] = max(own / leaves, 0.0), own, leaves
        first[node], second[node] = top, NO_NODE
        heap[node] = node
    for node in range(n):  # nodes below a leaf are pruned with it
        if left[node] >= 0:
            if alpha[node] <= ROUNDING * risk[node]:
                alpha[node] = 0.0
            for child in (left[node], right[node]):
                if left[child] >= 0:
                    alpha[child] = min(alpha[child], alpha[node])


@inner
def merge_heaps(a: int, b: int, first: LongArray, second: LongArray, alpha: FloatArray) -> int:
    """Merge two heaps, the highest alpha on top: a skew heap, logarithmic on average."""
    if a == NO_NODE or b == NO_NODE:
        return a if b == NO_NODE else b
    if alpha[b] > alpha[a]:
        a, b = b, a
    top = a
    while True:
        below = second[a]
        second[a] = first[a]
        if below == NO_NODE:
            first[a] = b
            return top
        if alpha[b] > alpha[below]:
            below, b = b, below
        first[a] = below
        a = below
