"""Extra-random splits: one split is drawn for every column, and the best of them is taken.

Geurts, Ernst and Wehenkel (2006). A threshold is uniform between the least and the greatest value in the
node; every category that occurs is sent left with probability one half. All draws are hashes of the tree's
seed, the node's path from the root, and the column name, so that they do not depend on any order.
"""

from typing import NamedTuple

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth import many_classes as classes
from holdfast.kernels.growth import two_statistics as two
from holdfast.kernels.growth.categories import YES_NO
from holdfast.kernels.growth.constraints import with_direction, without_direction
from holdfast.kernels.growth.criteria import NEVER, Node, Plan, weight_of
from holdfast.kernels.growth.gain_ratio import best_offer, offer
from holdfast.kernels.growth.histogram import Coded, Sample, add_row
from holdfast.kernels.growth.many_classes import HEAD
from holdfast.kernels.growth.nodes import END, FEATURE, FIRST_RIGHT, LAST_LEFT, SEED, START
from holdfast.kernels.growth.split import (
    LEFT,
    RIGHT,
    Scratch,
    Split,
    mix,
    no_split,
    queue_columns,
    take_column,
)
from holdfast.kernels.jit import inner, int64, kernel

TRIES = 40  # at drawing a set that is neither empty nor whole: each succeeds with probability 1/2 or more
STEP = 0x9E3779B9  # from one hash to the next
ROWS_TO_SCAN = 24  # of a node whose rows are scanned one by one


class RankValues(NamedTuple):
    """The values behind the ranks of the columns; empty if the best of all splits is searched."""

    start: LongArray  # (features + 1,) where the numbers of each column begin
    number: FloatArray  # the value of each rank; of a category, a hash of 32 bits of its label


# -- The best of the drawn splits ----------------------------------------------------------------------------


@inner
def best_random_split(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    values: RankValues,
    scratch: Scratch,
    n_drawn: int,
    seed: int,
    stop: ByteArray,
) -> Split:
    """Return the best of the drawn splits, one for each column; or, if n_drawn > 0, for drawn columns.

    Columns are drawn until n_drawn of them vary in the node and one can be split. If all known values of a
    column are equal, they are split from the missing ones. The search of one column is inline: a call with so
    many arguments took longer than small nodes do.
    """
    n_features, order, offers = int64(len(scratch.drawn)), scratch.turns, scratch.offers
    n = n_varied = n_ready = int64(0)
    n_least, best, is_found, is_limited_here = n_drawn, no_split(), False, scratch.allowed.is_set[0] > 0
    for i in range(n_features):
        if stop[0]:
            break
        feature = int64(i)
        if n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, scratch.queue, scratch.waiting)
                n_least *= 2
            feature = take_column(scratch.queue, int64(i), n_ready)
        order[i], offers[feature, 0], n = feature, NEVER, int64(i + 1)
        if is_limited_here:
            if scratch.allowed.is_excluded[feature]:
                continue
            node = with_direction(node, scratch.allowed, feature)
        if feature < 63 and scratch.constant[0] >> feature & 1:
            continue  # a feature that is constant in a node is constant below it
        cut, is_subset, ranks = int64(0), coded.is_subset[feature] > 0, coded.ranks[feature]
        if is_subset:
            n_values, any_missing = draw_set(coded, rows, values, feature, seed, scratch.in_set)
        else:
            lowest, highest, any_missing = rank_range(ranks, rows)
            n_values, cut = int64(0) if highest < 0 else min(highest - lowest, int64(1)) + 1, highest
            if n_values > 1:
                key, at, number = coded.name_keys[feature], values.start[feature], values.number
                threshold = draw_threshold(seed, key, number[at + lowest], number[at + highest])
                if len(rows) <= ROWS_TO_SCAN:
                    cut = greatest_left(ranks, rows, number, at, lowest, threshold)
                else:
                    cut = last_at_most(number, at, lowest, highest, threshold)
        if n_values + any_missing < 2:
            if feature < 63:
                scratch.constant[0] |= int64(1) << feature
            continue
        if n_values < 2:
            node = without_direction(node)
        if plan.n_classes > 2:
            own, units = split_classes(plan, node, total, coded, sample, rows, feature, cut, scratch)
        else:
            own, units = split_in_two(
                plan, node, sample, ranks, rows, feature, is_subset, cut, scratch.in_set, any_missing
            )
        n_varied += 1
        if own.improvement != NEVER:
            is_found = True
            if plan.by_ratio:
                offer(plan, node, coded, rows, scratch, own, units)
            elif own.improvement > best.improvement:
                best = own
        if n_drawn > 0 and n_varied >= n_drawn and is_found:
            break
    return best_offer(node, order, n, n_drawn > 0, scratch) if plan.by_ratio else best


@inner
def draw_set(
    coded: Coded, rows: IntArray, values: RankValues, feature: int, seed: int, in_set: SignArray
) -> tuple[int, bool]:
    """Draw which categories go left; return how many occur, and whether the column is missing in some rows.

    1 is left, 0 right, -1 absent. The first category that occurs goes left, or the value yes.
    """
    n_codes, n_present, any_missing = int64(coded.n_codes[feature]), int64(0), False
    for code in range(n_codes):
        in_set[code] = -1
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        if rank < 0:
            any_missing = True
        elif in_set[rank] < 0:
            in_set[rank] = 0
            n_present += 1
    first = int64(0)
    while first < n_codes - 1 and in_set[first] < 0:
        first += 1
    if coded.is_subset[feature] == YES_NO:
        first = int64(1)
    if in_set[first] >= 0:
        in_set[first] = 1
    own, n_left = mix(seed ^ coded.name_keys[feature]), n_present
    for _ in range(TRIES if n_present > 2 else 0):
        own, n_left = mix(own + STEP & 0xFFFFFFFF), int64(0)
        side = mix(own ^ int64(values.number[values.start[feature] + first])) & 1
        for code in range(n_codes):
            if in_set[code] >= 0:
                is_with_first = mix(own ^ int64(values.number[values.start[feature] + code])) & 1 == side
                in_set[code] = 1 if is_with_first else 0
                n_left += is_with_first
        if n_left < n_present:
            break
    if n_present > 2 and n_left == n_present:  # labels with equal hashes
        for code in range(first + 1, n_codes):
            in_set[code] = min(in_set[code], 0)
    return n_present, any_missing


@inner
def rank_range(ranks: IntArray, rows: IntArray) -> tuple[int, int, bool]:
    """Return the least and the greatest rank of a column in the rows, and whether it is missing in some."""
    lowest, highest, any_missing = int64(1 << 40), int64(-1), False
    for i in range(len(rows)):
        rank = int64(ranks[rows[i]])
        if rank < 0:
            any_missing = True
        else:
            lowest, highest = min(lowest, rank), max(highest, rank)
    return lowest, highest, any_missing


@inner
def draw_threshold(seed: int, name_key: int, low: float, high: float) -> float:
    """Return the threshold that a node draws for a column: at least `low` and less than `high`."""
    fraction = (mix(mix(seed ^ name_key) + STEP & 0xFFFFFFFF) + 0.5) / 4294967296.0
    number = low * (1.0 - fraction) + high * fraction
    return number if low <= number < high else low


@inner
def greatest_left(
    ranks: IntArray, rows: IntArray, number: FloatArray, first: int, lowest: int, threshold: float
) -> int:
    """Return the greatest rank of the rows whose value is at most the threshold, or the lowest rank.

    For few rows this is faster than a binary search among the values of the whole column.
    """
    greatest = lowest
    for i in range(len(rows)):
        rank = int64(ranks[rows[i]])
        if rank > greatest and number[first + rank] <= threshold:
            greatest = rank
    return greatest


@inner
def last_at_most(number: FloatArray, first: int, lowest: int, highest: int, threshold: float) -> int:
    """Return the greatest rank whose value is at most the threshold, from the lowest to below the highest.

    The values of the column are in `number` from `first` on.
    """
    below, above = lowest, highest  # whose values are at most the threshold, and more
    while above - below > 1:
        middle = (below + above) // 2
        if number[first + middle] <= threshold:
            below = middle
        else:
            above = middle
    return below


@inner
def split_classes(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    feature: int,
    cut: int,
    scratch: Scratch,
) -> tuple[Split, int]:
    """Return the split at a cut or by a set, for three classes or more, and the weight of its left side."""
    left, missing, ranks, in_set = scratch.left, scratch.inside, coded.ranks, scratch.in_set
    is_subset, any_missing = coded.is_subset[feature] > 0, False
    for k in range(plan.n_stats):
        left[k] = missing[k] = 0
    for i in range(len(rows)):
        row = int64(rows[i])
        rank = int64(ranks[feature, row])
        if rank < 0:
            add_row(plan, sample, row, missing)
            any_missing = True
        elif is_left(rank, is_subset, cut, in_set):
            add_row(plan, sample, row, left)
    best = classes.consider(plan, node, total, left, feature, cut, RIGHT, no_split())[1]
    units = weight_of(plan, left, HEAD)
    if any_missing:
        for k in range(plan.n_stats):
            left[k] += missing[k]
        best = classes.consider(plan, node, total, left, feature, cut, LEFT, best)[1]
    return best, weight_of(plan, left, HEAD) if best.missing_left == LEFT else units


@inner
def is_left(rank: int, is_subset: bool, cut: int, in_set: SignArray) -> bool:
    """True if a known value of this rank goes left."""
    return in_set[rank] == 1 if is_subset else rank <= cut


@inner
def split_in_two(
    plan: Plan,
    node: Node,
    sample: Sample,
    ranks: IntArray,
    rows: IntArray,
    feature: int,
    is_subset: bool,
    cut: int,
    in_set: SignArray,
    any_missing: bool,
) -> tuple[Split, int]:
    """Return the split at a cut or by a set, for numbers or two classes, and the weight of its left side.

    Without branches, which would be mispredicted every other time.
    """
    weights, totals, counts = sample.weight, sample.total, sample.repeats
    both, bits = plan.n_classes, plan.label_bits
    units = sum_ = n = int64(0)
    if both and not is_subset and not plan.counts_apart:  # the hot loop of two-class forests
        for i in range(len(rows)):
            rank, weight = int64(ranks[rows[i]]), weights[rows[i]]
            weight &= -int64((rank >= 0) & (rank <= cut))
            units += weight >> bits
            sum_ += (weight >> bits) * (weight & 1)
    else:
        for i in range(len(rows)):
            row = rows[i]
            rank = int64(ranks[row])
            left = int64((rank >= 0) & is_left(max(rank, int64(0)), is_subset, cut, in_set))
            weight = left * (weights[row] >> bits)
            units += weight
            sum_ += weight * (weights[row] & 1) if both else left * totals[row]
            if plan.counts_apart:
                n += left * counts[row]
    n_rows = n if plan.counts_apart else units
    best = two.consider(plan, node, n_rows, units, sum_, feature, cut, RIGHT, no_split())[1]
    if not any_missing:
        return best, units
    with_units, with_sum = units, sum_
    for i in range(len(rows)):
        row = rows[i]
        if ranks[row] < 0:
            weight = weights[row] >> bits
            with_units += weight
            with_sum += weight * (weights[row] & 1) if both else totals[row]
            n += counts[row] if plan.counts_apart else 0
    n_rows = n if plan.counts_apart else with_units
    best = two.consider(plan, node, n_rows, with_units, with_sum, feature, cut, LEFT, best)[1]
    return best, with_units if best.missing_left == LEFT else units


# -- The drawn thresholds of a finished tree -----------------------------------------------------------------


@kernel
def redraw_thresholds(
    fields: LongArray, rows: IntArray, coded: Coded, values: RankValues, out: FloatArray
) -> None:
    """Write the threshold of every node that splits known values; `rows` are in the order of the leaves."""
    for node in range(len(fields)):
        if fields[node, LAST_LEFT] < 0 or fields[node, FIRST_RIGHT] < 0:
            continue
        feature, own = int64(fields[node, FEATURE]), rows[fields[node, START] : fields[node, END]]
        if feature >= 0:
            lowest, highest, _ = rank_range(coded.ranks[feature], own)
            key, low = coded.name_keys[feature], values.number[values.start[feature] + lowest]
            high = values.number[values.start[feature] + highest]
            out[node] = draw_threshold(fields[node, SEED], key, low, high)
