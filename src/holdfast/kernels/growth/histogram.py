"""Adding up the statistics of a node's rows, code by code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.jit import inner, int64, kernel

MISSING_CODE = 255
# Numbers are coded with at most 240 codes, so that after dropping the last 0 to 4 bits of a code the missing
# ones still have a code of their own: the last.
MOST_BINS = 240


class Coded(NamedTuple):
    """The columns of a table as small integers, shared by every tree grown from it."""

    codes: NDArray[np.uint32]  # (features / 4, rows): four codes of 8 bits: bin or category, or MISSING_CODE
    ranks: IntArray  # (features, rows): dense rank of the number, or the category; -1 if missing
    n_codes: IntArray  # (features,) codes in use, without the missing one
    n_ranks: IntArray  # (features,) distinct values
    is_subset: ByteArray  # (features,) 1 where a split is a set of categories, 2 where it is a question
    is_wide: ByteArray  # (features,) 1 where the categories are too many for 8 bits: ranks are counted
    top_rank: IntArray  # (features, 256): the highest rank in each bin
    start: LongArray  # (features + 1,) where the feature's part of a histogram begins, in statistics vectors
    name_keys: LongArray  # (features,) a hash of the feature's name, of 32 bits


class Sample(NamedTuple):
    """The rows of one tree and what each adds to the statistics."""

    weight: LongArray  # in units; with classes, the class stands in the last bits
    total: LongArray  # weight times target, in units; empty with classes
    square: LongArray  # weight times target squared, in units, rounded up; empty with classes
    target: FloatArray  # as given; empty with classes
    repeats: IntArray  # how many rows it stands for; read only where that is not its weight


class Samples(NamedTuple):
    """The rows of several trees: the same of each."""

    weight: LongArray  # (trees, rows)
    total: LongArray  # (trees, rows)
    square: LongArray  # (trees, rows)
    target: FloatArray  # (rows,)
    repeats: IntArray  # (trees, rows)
    start: LongArray  # (trees + 1,) where the row numbers of each tree begin among those of all
    seed: LongArray  # (trees,)


@inner
def last_code(coded: Coded, feature: int, shift: int) -> int:
    """The code of missing values in a histogram of the feature."""
    return int64(coded.n_ranks[feature]) if coded.is_wide[feature] else MISSING_CODE >> shift


@inner
def bits_dropped(coded: Coded, feature: int, shift: int) -> int:
    """How many bits the codes of the feature drop, where a feature of 240 codes drops `shift`.

    Fewer codes drop fewer bits, or a column of two values would end up in one bin, to be opened every time.
    Categories keep all.
    """
    if coded.is_subset[feature]:
        return int64(0)
    n_codes = int64(coded.n_codes[feature])
    while shift > 0 and n_codes <= 128:
        n_codes *= 2
        shift -= 1
    return shift


@inner
def add_row(plan: Plan, sample: Sample, row: int, stats: LongArray) -> None:
    """Add one row to a vector of statistics."""
    weight = sample.weight[row]
    if plan.n_classes > 0:
        stats[weight & ((1 << plan.label_bits) - 1)] += weight >> plan.label_bits
    else:
        stats[0] += weight
        stats[1] += sample.total[row]
        stats[2] += sample.square[row]
    if plan.counts_apart:
        stats[plan.n_stats - 1] += sample.repeats[row]


@inner
def count_four(
    plan: Plan,
    codes: NDArray[np.uint32],
    block: int,
    sample: Sample,
    rows: IntArray,
    starts: tuple[int, int, int, int],
    shifts: tuple[int, int, int, int],
    histogram: LongArray,
) -> None:
    """Add the rows to the histograms of four features, those of one block of codes.

    Four codes are one load, label and weight another: 0.8 ns an addition where separate loads took 1.4.
    """
    n_stats, bits = plan.n_stats, plan.label_bits
    start_0, start_1, start_2, start_3 = starts
    shift_0, shift_1, shift_2, shift_3 = shifts
    weights, totals, squares, counts = sample.weight, sample.total, sample.square, sample.repeats
    label_mask, last = (1 << bits) - 1, plan.n_stats - 1
    with_classes, counts_apart = plan.n_classes > 0, plan.counts_apart
    for i in range(len(rows)):
        row = rows[i]
        four, weight = codes[block, row], weights[row]
        at_0 = start_0 + int64((four & 255) >> shift_0) * n_stats
        at_1 = start_1 + int64((four >> 8 & 255) >> shift_1) * n_stats
        at_2 = start_2 + int64((four >> 16 & 255) >> shift_2) * n_stats
        at_3 = start_3 + int64((four >> 24) >> shift_3) * n_stats
        if with_classes:
            label = weight & label_mask
            weight >>= bits
            histogram[at_0 + label] += weight
            histogram[at_1 + label] += weight
            histogram[at_2 + label] += weight
            histogram[at_3 + label] += weight
        else:
            total, square = totals[row], squares[row]
            histogram[at_0] += weight
            histogram[at_0 + 1] += total
            histogram[at_0 + 2] += square
            histogram[at_1] += weight
            histogram[at_1 + 1] += total
            histogram[at_1 + 2] += square
            histogram[at_2] += weight
            histogram[at_2 + 1] += total
            histogram[at_2 + 2] += square
            histogram[at_3] += weight
            histogram[at_3 + 1] += total
            histogram[at_3 + 2] += square
        if counts_apart:
            count = int64(counts[row])
            histogram[at_0 + last] += count
            histogram[at_1 + last] += count
            histogram[at_2 + last] += count
            histogram[at_3 + last] += count


@inner
def count_one(
    plan: Plan, coded: Coded, sample: Sample, rows: IntArray, feature: int, shift: int, histogram: LongArray
) -> None:
    """The histogram of one feature."""
    codes, ranks, block, lane = coded.codes, coded.ranks, feature // 4, 8 * (feature % 4)
    weights, totals, squares, counts = sample.weight, sample.total, sample.square, sample.repeats
    bits = plan.label_bits
    n_stats, start, is_wide = plan.n_stats, int64(coded.start[feature]), coded.is_wide[feature]
    n_codes, last = int64(coded.n_codes[feature]), last_code(coded, feature, shift)
    for i in range(start * n_stats, (start + ((n_codes - 1) >> shift) + 1) * n_stats):
        histogram[i] = 0
    for i in range((start + last) * n_stats, (start + last + 1) * n_stats):
        histogram[i] = 0
    if plan.n_classes > 0 and not is_wide and not plan.counts_apart:  # the loop of forests of classes
        first, mask = start * n_stats, (1 << bits) - 1
        for i in range(len(rows)):
            weight, code = weights[rows[i]], int64(codes[block, rows[i]] >> lane & 255) >> shift
            histogram[first + code * n_stats + (weight & mask)] += weight >> bits
    else:
        for i in range(len(rows)):
            row = rows[i]
            code = int64(ranks[feature, row]) if is_wide else int64(codes[block, row] >> lane & 255) >> shift
            at = (start + (code if code >= 0 else last)) * n_stats
            if plan.n_classes > 0:
                histogram[at + (weights[row] & ((1 << bits) - 1))] += weights[row] >> bits
            else:
                histogram[at] += weights[row]
                histogram[at + 1] += totals[row]
                histogram[at + 2] += squares[row]
            if plan.counts_apart:
                histogram[at + n_stats - 1] += counts[row]


@inner
def count_all(
    plan: Plan,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    shift: int,
    histogram: LongArray,
    stop: ByteArray,
) -> None:
    """The histograms of every feature; unfinished once `stop[0]` is raised."""
    start, is_subset, n_stats = coded.start, coded.is_subset, plan.n_stats
    for feature in range(len(is_subset)):
        # All of it if no bits are dropped, for such histograms are subtracted as a whole.
        own, at = bits_dropped(coded, int64(feature), shift), start[feature] * n_stats
        n_used = ((coded.n_codes[feature] - 1) >> own) + 1 if shift > 0 else 256
        for i in range(at, at + n_used * n_stats):
            histogram[i] = 0
        at += (MISSING_CODE >> own) * n_stats
        for i in range(at, at + n_stats):
            histogram[i] = 0
    for block in range(coded.codes.shape[0]):
        if stop[0]:
            return
        f = 4 * int64(block)
        starts = (
            start[f] * n_stats,
            start[f + 1] * n_stats,
            start[f + 2] * n_stats,
            start[f + 3] * n_stats,
        )
        shifts = (
            bits_dropped(coded, f, shift),
            bits_dropped(coded, f + 1, shift),
            bits_dropped(coded, f + 2, shift),
            bits_dropped(coded, f + 3, shift),
        )
        count_four(plan, coded.codes, int64(block), sample, rows, starts, shifts, histogram)
    for feature in range(coded.ranks.shape[0]):
        if coded.is_wide[feature] and not stop[0]:
            count_one(plan, coded, sample, rows, int64(feature), int64(0), histogram)


# -- Which leaves of a tree are in an order along a feature, and the nearest values that keep to it ----------

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


LEAF = -1


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
    """True if a row with one value of feature f, or none, can reach both leaves.

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
    """What can reach every node, of every feature: numbers above one and up to another, missing, categories.

    Those of the root are there. `start` says where the flags of each feature begin; a threshold of `known`
    parts known values from missing ones.
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
    """Write the pairs of leaves whose values are in an order, given what reaches each; how many they are.

    Two leaves are if one feature alone parts them, it has a direction, and both take known values of it.
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
    """Clip the value of every node to bounds that the middle of each ordered split above it sets."""
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


# -- Sorting small arrays in place inside a kernel -----------------------------------------------------------

FEW = 24  # keys that are sorted fastest by insertion
ROW_MASK = 0xFFFFFFFF  # the row in a key, which is below its rank


@inner
def _insert(keys: LongArray, start: int, end: int) -> None:
    for i in range(start + 1, end):
        key, place = keys[i], int64(i)
        while place > start and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@inner
def sort_keys(keys: LongArray, start: int, end: int, waiting: LongArray) -> None:
    """Sort keys[start:end], integers without repeats; `waiting` is memory for 128 of them.

    No recursion: the larger part waits. It is at most half of the one that waits before it, so 64 are enough.
    """
    waiting[0], waiting[1], n_waiting = start, end, 1
    while n_waiting > 0:
        n_waiting -= 1
        start, end = waiting[2 * n_waiting], waiting[2 * n_waiting + 1]
        while end - start > FEW:
            middle = (start + end) // 2
            a, b, c = keys[start], keys[middle], keys[end - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = start, end - 1
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    i += 1
                    j -= 1
            if j + 1 - start < end - i:
                waiting[2 * n_waiting], waiting[2 * n_waiting + 1] = i, end
                end = j + 1
            else:
                waiting[2 * n_waiting], waiting[2 * n_waiting + 1] = start, j + 1
                start = i
            n_waiting += 1
        _insert(keys, start, end)


@inner
def sort_by(order: LongArray, values: FloatArray, n: int) -> None:
    """Sort order[:n] by values[order], equal values by index. Shell's gaps: n is a number of categories."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            item = order[i]
            j = i
            while j >= gap and (
                values[order[j - gap]] > values[item]
                or (values[order[j - gap]] == values[item] and order[j - gap] > item)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 3
