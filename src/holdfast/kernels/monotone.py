"""Monotone values of a finished tree: which leaves must be in an order, and the nearest values that are."""

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel

MOST_ROUNDS = 2000
NEARLY = 1e-12  # of the range of the values: a smaller change ends the rounds
LEAF = -1


@kernel
def project(value: FloatArray, weight: FloatArray, lower: LongArray, upper: LongArray) -> None:
    """Change the values by the least weighted sum of squares until value[lower[k]] <= value[upper[k]].

    Dykstra's algorithm: a pair in the wrong order meets at its weighted mean, after its change of the round
    before is undone. So the rounds converge to the nearest values.
    """
    shift = np.zeros(len(lower))  # of each pair, as weight times change
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
    """Raise the values that are still too low, by last digits, until every pair is in order."""
    is_done = False
    while not is_done:
        is_done = True
        for k in range(len(lower)):
            if value[lower[k]] > value[upper[k]]:
                value[upper[k]] = value[lower[k]]
                is_done = False


@kernel
def hand_down_boxes(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    missing_left: BoolArray,
    set_start: LongArray,
    in_set: BoolArray,
    start: LongArray,
    known: float,
    above: FloatArray,
    most: FloatArray,
    missing: BoolArray,
    allowed: BoolArray,
) -> None:
    """Compute what can reach every node, by feature: numbers (above one, up to another), missing, categories.

    The boxes of the root are set by the caller. `start` is where the flags of each feature begin; a threshold
    of `known` separates known values from missing ones.
    """
    for node in range(len(feature)):
        f = feature[node]
        if f == LEAF:
            continue
        for side in range(2):
            child = left[node] if side == 0 else right[node]
            above[child], most[child], missing[child] = above[node], most[node], missing[node]
            allowed[child] = allowed[node]
            missing[child, f] = missing[node, f] and missing_left[node] == (side == 0)
            if set_start[node] >= 0:
                for k in range(start[f + 1] - start[f]):
                    if in_set[set_start[node] + k] != (side == 0):
                        allowed[child, start[f] + k] = False
            else:
                cut = np.inf if threshold[node] >= known else threshold[node]
                if side == 0:
                    most[child, f] = min(most[child, f], cut)
                else:
                    above[child, f] = max(above[child, f], cut)


@kernel
def find_pairs(
    direction: LongArray,
    start: LongArray,
    above: FloatArray,
    most: FloatArray,
    missing: BoolArray,
    allowed: BoolArray,
    lower: LongArray,
    upper: LongArray,
) -> int:
    """Write the pairs of leaves whose values must be in an order; return their number.

    Two leaves must if exactly one feature separates them, it has a direction, and both take known values of
    it.
    """
    n_pairs, n_features = int64(0), len(direction)
    for a in range(len(above)):
        for b in range(a + 1, len(above)):
            apart, n_apart = int64(-1), 0
            for f in range(n_features):
                if not meets(above, most, missing, allowed, start[f], start[f + 1], f, a, b):
                    apart, n_apart = int64(f), n_apart + 1
                    if n_apart > 1 or direction[f] == 0:
                        n_apart = 2
                        break
            if n_apart != 1 or above[a, apart] >= most[a, apart] or above[b, apart] >= most[b, apart]:
                continue
            a_is_lower = (most[a, apart] <= above[b, apart]) == (direction[apart] > 0)
            lower[n_pairs], upper[n_pairs] = (a, b) if a_is_lower else (b, a)
            n_pairs += 1
    return n_pairs


@inner
def meets(
    above: FloatArray,
    most: FloatArray,
    missing: BoolArray,
    allowed: BoolArray,
    first: int,
    last: int,
    f: int,
    a: int,
    b: int,
) -> bool:
    """True if a row with one value of feature f, or a missing one, can reach both leaves.

    The flags of the feature are those from `first` to `last`.
    """
    if missing[a, f] and missing[b, f]:
        return True
    if first == last:
        return bool(max(above[a, f], above[b, f]) < min(most[a, f], most[b, f]))
    for k in range(first, last):  # noqa: SIM110 (a kernel)
        if allowed[a, k] and allowed[b, k]:
            return True
    return False


@kernel
def clip_downwards(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    direction: LongArray,
    known: float,
    value: FloatArray,
) -> None:
    """Clip the value of every node to bounds: the middle of the values of each ordered split above it."""
    low, high = np.full(len(feature), -np.inf), np.full(len(feature), np.inf)
    for node in range(len(feature)):
        value[node] = min(max(value[node], low[node]), high[node])
        if feature[node] == LEAF:
            continue
        a, b = left[node], right[node]
        low[a] = low[b] = low[node]
        high[a] = high[b] = high[node]
        way = direction[feature[node]]
        if way == 0 or threshold[node] >= known:
            continue
        if way < 0:
            a, b = b, a
        in_a, in_b = min(max(value[a], low[a]), high[a]), min(max(value[b], low[b]), high[b])
        high[a] = low[b] = in_a + (in_b - in_a) * 0.5
