"""The distance of many pairs of trees: a matrix of costs and the cheapest assignment for each."""

from typing import NamedTuple

from holdfast._arrays import ByteArray, LongArray
from holdfast.kernels.distance.assignment import PAD, Prices, assign, padded_width, reduce_costs
from holdfast.kernels.distance.rules import count_bits
from holdfast.kernels.jit import by_reference, inner, int64, kernel, uint64

PAPER, COVER, METRIC = int64(0), int64(1), int64(2)
# A step of a walk: its coordinate (-1: none), the stretch that its edge cuts off, 2 on the way down and -2 on
# the way up, and the leaf that it reaches (counted over all trees; -1 for none).
COORDINATE, LOW, HIGH, SIGN, REACHES = range(5)


class Packed(NamedTuple):
    """Trees that are compared with each other, as arrays."""

    # Walks through the trees: one edge after another, down and up again.
    step_start: LongArray  # (trees + 1,)
    steps: LongArray  # (steps, 5): see below
    # The part of a range that each rule cuts off, by tree and coordinate, for leaves `first` to `end`.
    profile_place: LongArray  # (trees, coordinates, 3): first, end, and where they begin in `profile`
    profile: LongArray
    # The edges of each tree that cut off categories, by coordinate.
    edge_start: LongArray  # (trees, coordinates + 1)
    edge_words: LongArray
    edge_first: LongArray  # the leaves below the edge, counted from the first of the tree
    edge_end: LongArray
    category_length: LongArray  # (coordinates,) 0 where the coordinate is an end of a range
    n_words: LongArray  # (coordinates,)
    words: LongArray
    # Leaves.
    leaf_start: LongArray  # (trees + 1,)
    cut: LongArray  # total length that the rule cuts off
    weight: LongArray  # its cost if unmatched
    outcome: LongArray  # (leaves, values): the label; or numbers whose absolute differences add up
    label_cost: int  # cost of another label; -1 if outcomes are numbers
    n_labels: int


class DistanceScratch(NamedTuple):
    """Memory that every pair reuses; a column is a rule of the larger tree."""

    cost: LongArray  # (rows * columns,)
    base: LongArray  # (columns,) the part of a column's cost that is the same for all rows
    shared: LongArray  # (columns,) twice the length that its rule and that of the walk both cut off
    values: LongArray  # (values, columns) its outcome
    spare: LongArray  # (labels,) how many more columns than rows have the label


@kernel
def measure(
    packed: Packed,
    first: LongArray,
    second: LongArray,
    matching: int,
    solve: bool,
    scratch: DistanceScratch,
    prices: Prices,
    stop: ByteArray,
    out: LongArray,
) -> None:
    """Write out[k] = distance in units of the trees first[k] and second[k]; without `solve`, a lower bound.

    Costs, prices and assignment of the last pair stay in the scratch memory. Ends once `stop[0]` is set.
    """
    packed, scratch, prices = by_reference(packed), by_reference(scratch), by_reference(prices)
    lowest = prices.v
    for k in range(len(first)):
        if stop[0]:
            return
        small, large = first[k], second[k]
        n = packed.leaf_start[small + 1] - packed.leaf_start[small]
        m = packed.leaf_start[large + 1] - packed.leaf_start[large]
        if n > m:
            n, m, small, large = m, n, large, small
        width = padded_width(m)
        cost = scratch.cost[: n * width].reshape((n, width))
        total = set_columns(packed, large, n, matching, scratch)
        fill_costs(packed, small, large, scratch, cost, lowest)
        if n < m and matching == COVER:
            # A further rule of the larger tree is matched with the nearest rule of the smaller.
            for j in range(m):
                total += lowest[j]
                for i in range(n):
                    cost[i, j] -= lowest[j]
                lowest[j] = 0
        if packed.label_cost > 0 and not solve:
            guess_prices(packed, small, large, scratch, lowest)
        bound = reduce_costs(cost, m, prices)
        out[k] = total + (assign(cost, m, prices, stop) if solve else bound)


@inner
def set_columns(packed: Packed, large: int, n: int, matching: int, scratch: DistanceScratch) -> int:
    """Return the cost of the larger tree with all rules unmatched; `base` gets the change by matching one."""
    base, values = scratch.base, scratch.values
    begin, end, total = packed.leaf_start[large], packed.leaf_start[large + 1], int64(0)
    is_weighed = n < end - begin and matching != COVER
    for j in range(padded_width(end - begin)):
        base[j], scratch.shared[j] = PAD, 0
        for k in range(len(values)):
            values[k, j] = 0
    for leaf in range(begin, end):
        j = leaf - begin
        base[j] = packed.cut[leaf]
        if is_weighed:
            base[j] -= packed.weight[leaf]
            total += packed.weight[leaf]
        for k in range(len(values)):
            values[k, j] = packed.outcome[leaf, k]
    return total


@inner
def fill_costs(
    packed: Packed, small: int, large: int, scratch: DistanceScratch, cost: LongArray, lowest: LongArray
) -> None:
    """Write cost[i, j] = d(rule i of the smaller, rule j of the larger tree) + base[j], and its least.

    Walks the smaller tree. `shared` follows the walk: a step changes only the leaves of the larger tree whose
    rules cut off a part of the same coordinate. The last step to a leaf is made in its row of costs only.
    """
    base, values, (_, width) = scratch.base, scratch.values, cost.shape
    place, profile = packed.profile_place, packed.profile
    outcome, label_cost = packed.outcome, packed.label_cost
    shared, steps = scratch.shared, packed.steps
    for j in range(width):
        lowest[j] = PAD
    for step in range(packed.step_start[small], packed.step_start[small + 1]):
        axis, leaf = steps[step, COORDINATE], steps[step, REACHES]
        low, high, sign = steps[step, LOW], steps[step, HIGH], steps[step, SIGN]
        # Unsigned: no index counts from the end.
        first = end = offset = uint64(0)
        is_set = axis >= 0 and packed.category_length[axis] > 0
        if axis >= 0 and not is_set:
            first, end = uint64(place[large, axis, 0]), uint64(place[large, axis, 1])
            offset = uint64(place[large, axis, 2]) - first
        if leaf < 0:
            for j in range(first, end):
                there = profile[offset + j]
                shared[j] += sign * (min(high, there) - min(low, there))
            if is_set:
                share_categories(packed, large, axis, low, sign, shared)
            continue
        i, cut, label = leaf - packed.leaf_start[small], packed.cut[leaf], outcome[leaf, 0]
        if label_cost >= 0:
            for j in range(width):
                differs = label_cost if values[0, j] != label else int64(0)
                cost[i, j] = base[j] - shared[j] + cut + differs
        else:
            for j in range(width):
                cost[i, j] = base[j] - shared[j] + cut
            for k in range(len(values)):
                value = outcome[leaf, k]
                for j in range(width):
                    cost[i, j] += abs(values[k, j] - value)
        for j in range(first, end):
            there = profile[offset + j]
            cost[i, j] -= sign * (min(high, there) - min(low, there))
        if is_set:
            share_categories(packed, large, axis, low, -sign, cost[i])
        for j in range(width):
            lowest[j] = min(lowest[j], cost[i, j])


@inner
def share_categories(packed: Packed, large: int, axis: int, begin: int, sign: int, shared: LongArray) -> None:
    """Add the categories that a step of the walk and the rules of the larger tree both cut off."""
    words = packed.words
    for edge in range(packed.edge_start[large, axis], packed.edge_start[large, axis + 1]):
        both = int64(0)
        for k in range(packed.n_words[axis]):
            both += count_bits(words[begin + k] & words[packed.edge_words[edge] + k])
        both *= packed.category_length[axis] * sign
        for j in range(packed.edge_first[edge], packed.edge_end[edge]):
            shared[j] += both


@inner
def guess_prices(packed: Packed, small: int, large: int, scratch: DistanceScratch, lowest: LongArray) -> None:
    """Raise the price of columns whose label more rows than columns have: some rows must take another label.

    That raises the bound from 0.8 to 0.93 of the distance; the assignment would not be faster.
    """
    spare, labels = scratch.spare, packed.outcome
    for k in range(packed.n_labels):
        spare[k] = 0
    for leaf in range(packed.leaf_start[large], packed.leaf_start[large + 1]):
        spare[labels[leaf, 0]] += 1
    for leaf in range(packed.leaf_start[small], packed.leaf_start[small + 1]):
        spare[labels[leaf, 0]] -= 1
    begin = packed.leaf_start[large]
    for j in range(packed.leaf_start[large + 1] - begin):
        if spare[labels[begin + j, 0]] < 0:
            lowest[j] -= packed.label_cost
