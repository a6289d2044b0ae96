"""The nearest values that keep to an order, by Dykstra's method: pair by pair, with a memory of each step."""

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.kernels.jit import kernel

MOST_ROUNDS = 2000
NEARLY = 1e-12  # of the range of the values: no change is worth another round


@kernel
def project(value: FloatArray, weight: FloatArray, lower: LongArray, upper: LongArray) -> None:
    """Change the values, at the least weighted sum of squares, until value[lower[k]] <= value[upper[k]].

    A pair that is out of order meets at its weighted mean. What earlier rounds did to a pair is undone before
    it is looked at again: so the rounds lead to the nearest values, not to just any.
    """
    shift = np.zeros(len(lower))  # what each pair has moved, as weight times change
    spread = value.max() - value.min()
    for _ in range(MOST_ROUNDS):
        change = 0.0
        for k in range(len(lower)):
            a, b = lower[k], upper[k]
            before = shift[k]
            gap = (value[a] + before / weight[a]) - (value[b] - before / weight[b])
            now = max(gap, 0.0) / (1.0 / weight[a] + 1.0 / weight[b])
            value[a] += (before - now) / weight[a]
            value[b] -= (before - now) / weight[b]
            shift[k] = now
            change = max(change, abs(before - now) / min(weight[a], weight[b]))
        if change <= NEARLY * spread:
            return


@kernel
def raise_to_order(value: FloatArray, lower: LongArray, upper: LongArray) -> None:
    """Raise what is still below, by last digits, until every pair is in order."""
    is_done = False
    while not is_done:
        is_done = True
        for k in range(len(lower)):
            if value[lower[k]] > value[upper[k]]:
                value[upper[k]] = value[lower[k]]
                is_done = False
