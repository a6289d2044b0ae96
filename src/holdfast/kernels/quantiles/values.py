"""Quantile and loss at every node of a finished tree.

Those of a node do not follow from those of its children: its rows do, merged in the order of their targets
from the leaves up. Weights and losses are added as in `kernels/growth/values.py`, exactly, in any order.
"""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.growth.nodes import END, FEATURE, LEFT, NONE, RIGHT, START
from holdfast.kernels.growth.values import integer_part, small_part, together, units_in_one
from holdfast.kernels.jit import inner, int64, kernel
from holdfast.kernels.quantiles.sides import NEARLY, Pinball

PAST = 2.0 - NEARLY  # of what is wanted: more than rounding makes of it


@inner
def quantile_at(
    rows: IntArray,
    target: FloatArray,
    weight: FloatArray,
    fraction: float,
    all_weight: float,
    per_weight: float,
) -> float:
    """The target up to which the fraction of the weight lies; half-way to the next if it ends there."""
    wanted, large, small = fraction * all_weight, int64(0), int64(0)
    for j in range(len(rows)):
        scaled = weight[rows[j]] * per_weight
        large, small = large + integer_part(scaled), small + small_part(scaled)
        reached = together(large, small, per_weight)
        if reached >= wanted * NEARLY:
            own = float(target[rows[j]])
            if reached > wanted * PAST or j == len(rows) - 1:
                return own
            return own / 2 + float(target[rows[j + 1]]) / 2
    return float(target[rows[len(rows) - 1]])


@inner
def describe(
    rows: IntArray, target: FloatArray, weight: FloatArray, pinball: Pinball
) -> tuple[float, float, float]:
    """Weight, quantile and mean loss of rows in the order of their targets."""
    n, heaviest = len(rows), 0.0
    for j in range(n):
        heaviest = max(heaviest, weight[rows[j]])
    per_weight, large, small = units_in_one(heaviest, n), int64(0), int64(0)
    for j in range(n):
        scaled = weight[rows[j]] * per_weight
        large, small = large + integer_part(scaled), small + small_part(scaled)
    all_weight = together(large, small, per_weight)
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
    return all_weight, value, max(together(large, small, per_one), 0.0)


@inner
def merge(rows: IntArray, target: FloatArray, middle: int, buffer: IntArray) -> None:
    """Put rows[:middle] and rows[middle:], each in the order of its targets, in one order."""
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
    """Weight, quantile and mean loss of every node, which are 0 before.

    The rows stand in the order of the leaves, and in that of their targets within each. A node without rows
    has no weight, and 0 for the rest.
    """
    n_nodes = len(fields)
    start, end = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    buffer = np.empty(len(rows), np.int32)
    for i in range(n_nodes - 1, -1, -1):  # children stand after their parent
        if fields[i, FEATURE] == NONE:
            start[i], end[i] = fields[i, START], fields[i, END]
        else:
            start[i], end[i] = start[fields[i, LEFT]], end[fields[i, RIGHT]]
            own = rows[start[i] : end[i]]
            merge(own, target, end[fields[i, LEFT]] - start[i], buffer)
        if start[i] < end[i]:
            own = rows[start[i] : end[i]]
            weights[i], value[i], impurity[i] = describe(own, target, weight, pinball)
