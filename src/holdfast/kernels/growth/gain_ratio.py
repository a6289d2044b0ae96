"""The split of the highest gain ratio, as in C4.5: the best splits of the features compete."""

import math

from holdfast._arrays import ByteArray, IntArray, LongArray
from holdfast.kernels.growth.categories import choose_set, place_of
from holdfast.kernels.growth.criteria import NEVER, PARTS, Node, Plan, parts_of, split_entropy, weight_of
from holdfast.kernels.growth.histogram import Coded, Sample, bits_dropped, count_one, last_code
from holdfast.kernels.growth.search import FEW_ROWS, search
from holdfast.kernels.growth.split import LEFT, Scratch, Split, better, no_split, queue_columns, take_column
from holdfast.kernels.jit import inner, int64

NONE = int64(0)


@inner
def best_split(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    fine: int,
    histogram: LongArray,
    scratch: Scratch,
    n_drawn: int,
    seed: int,
    stop: ByteArray,
) -> Split:
    """Return the best split over all features; or, if n_drawn > 0, over drawn ones.

    For the gain ratio, features are drawn until n_drawn of them have a candidate.
    """
    n_features, n_offers, n = int64(len(scratch.drawn)), 0, 0
    if not plan.by_ratio:
        return search(
            plan,
            node,
            total,
            coded,
            sample,
            rows,
            fine,
            histogram,
            scratch,
            n_drawn,
            seed,
            NONE,
            n_features,
            stop,
        )
    order, n_ready, n_least = scratch.turns, int64(0), n_drawn
    for i in range(n_features):
        feature, n = int64(i), i + 1
        if n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, scratch.queue, scratch.waiting)
                n_least *= 2
            feature = take_column(scratch.queue, int64(i), n_ready)
        order[i] = feature
        if scratch.allowed.is_set[0] > 0 and scratch.allowed.is_excluded[feature] > 0:
            scratch.offers[feature, 0] = NEVER
            continue
        if n_drawn > 0 and (coded.is_subset[feature] or len(rows) > FEW_ROWS):
            shift = bits_dropped(coded, feature, fine)
            count_one(plan, coded, sample, rows, feature, shift, histogram)
        own = search(
            plan,
            node,
            total,
            coded,
            sample,
            rows,
            fine,
            histogram,
            scratch,
            NONE,
            NONE,
            feature,
            feature + 1,
            stop,
        )
        if own.improvement == NEVER:
            scratch.offers[feature, 0] = NEVER
            continue
        units = left_weight(plan, total, coded, sample, rows, histogram, scratch, own)
        offer(plan, node, coded, rows, scratch, own, units)
        n_offers += scratch.offers[feature, 0] != NEVER
        if n_drawn > 0 and n_offers == n_drawn:
            break
    return best_offer(node, order, n, n_drawn > 0, scratch)


@inner
def left_weight(
    plan: Plan,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    histogram: LongArray,
    scratch: Scratch,
    own: Split,
) -> int:
    """Return the weight of the rows that go left, in units.

    Counted once for each feature: carried along with every candidate split, it made growth by all criteria a
    quarter slower.
    """
    weight, feature = int64(0), own.feature
    if coded.is_subset[feature]:
        missing_left = choose_set(plan, total, coded, feature, own.cut, histogram, scratch)
        for code in range(coded.n_codes[feature]):
            if scratch.in_set[code] == 1:
                weight += weight_of(plan, histogram, place_of(plan, coded, feature, code))
        if missing_left == LEFT:
            last = last_code(coded, feature, NONE)
            weight += weight_of(plan, histogram, place_of(plan, coded, feature, last))
        return weight
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        if (rank < 0 and own.missing_left == LEFT) or 0 <= rank <= own.cut:
            weight += sample.weight[rows[i]] >> plan.label_bits
    return weight


@inner
def offer(
    plan: Plan, node: Node, coded: Coded, rows: IntArray, scratch: Scratch, own: Split, units: int
) -> None:
    """Record the best split of a feature as a candidate.

    Among many thresholds one is best by chance. Naming it costs log2 of their number in bits, paid once by
    all rows of the node (Quinlan's correction of 1996); a split whose gain is lower is no candidate.
    """
    offers, offered, feature = scratch.offers, scratch.offered, own.feature
    offers[feature, 0], offers[feature, 1] = own.improvement, own.cut
    offers[feature, 2], offers[feature, 3] = own.missing_left, units
    # In bits, before feature costs: the cost of naming a threshold is subtracted from it.
    offered[feature, 0] = offered[feature, 1] = own.gain * scratch.allowed.cost[feature]
    if plan.threshold_cost and not coded.is_subset[feature]:
        n_thresholds = max(values_seen(coded, rows, feature, scratch.seen) - 1, 1)
        offered[feature, 1] -= math.log2(n_thresholds) * node.weight / node.rows
        if offered[feature, 1] <= node.impurity * (4.0 / PARTS):  # only rounding
            offers[feature, 0] = NEVER


@inner
def values_seen(coded: Coded, rows: IntArray, feature: int, seen: LongArray) -> int:
    """Count the distinct values of the feature in the rows, without missing ones."""
    ranks, n = coded.ranks, int64(0)
    seen[len(seen) - 1] += 1
    now = seen[len(seen) - 1]
    for i in range(len(rows)):
        rank = int64(ranks[feature, rows[i]])
        if rank >= 0 and seen[rank] != now:
            seen[rank] = now
            n += 1
    return n


@inner
def best_offer(node: Node, order: LongArray, n: int, is_drawn: bool, scratch: Scratch) -> Split:
    """Return the candidate with the highest gain ratio; the lowest feature if tied.

    Only candidates with at least the average gain count: the ratio alone would favour lopsided splits.
    """
    offers, offered = scratch.offers, scratch.offered
    total, n_offers = 0.0, 0
    for i in range(n):
        if offers[order[i], 0] != NEVER:
            total += offered[order[i], 1] / scratch.allowed.cost[order[i]]
            n_offers += 1
    best = no_split()
    if n_offers == 0:
        return best
    least = total / n_offers - node.impurity * (4.0 / PARTS)
    for i in range(n):
        feature = order[i]
        cost = scratch.allowed.cost[feature]
        if offers[feature, 0] == NEVER or offered[feature, 1] / cost < least:
            continue
        units = offers[feature, 3]
        improvement = parts_of(
            node, offered[feature, 1] / cost, split_entropy(float(units), float(node.units - units))
        )
        gain, cut, missing_left = offered[feature, 0] / cost, offers[feature, 1], offers[feature, 2]
        if (
            not is_drawn or improvement > best.improvement
        ):  # features are in the order they were drawn in: the first one wins a tie
            best = better(best, improvement, gain, feature, cut, missing_left)
    return best
