"""Thresholds for a numeric target or two classes: the statistics are two numbers, held in registers.

The steps are those of `many_classes.py`, which serves any number of classes from arrays. They are separate
because calls that pass arrays made the scan of two classes three times slower.
"""

import math

from holdfast._arrays import IntArray, LongArray
from holdfast.kernels.growth.constraints import constrained_gain, without_direction
from holdfast.kernels.growth.criteria import (
    NEVER,
    Node,
    Plan,
    gain_of_two,
    improvement_of,
    is_allowed,
    is_below,
)
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded, Sample
from holdfast.kernels.growth.sorting import ROW_MASK
from holdfast.kernels.growth.split import (
    LEFT,
    RIGHT,
    Scratch,
    Split,
    better,
    could_win,
    cut_after,
    gather_keys,
    improvement_bound,
    is_behind,
    lowest_rank,
    surely_less,
)
from holdfast.kernels.jit import inlined, inner, int64


@inlined
def could_lead(plan: Plan, node: Node, weight_left: float, sum_left: float, best: Split) -> bool:
    """True unless a left side, which need not be one of rows, surely gains less than the best split."""
    weight_right, sum_right = node.weight - weight_left, float(node.total) - sum_left
    return not is_below(plan, weight_left, sum_left, weight_right, sum_right, surely_less(node, best))


@inner
def gain_at(plan: Plan, node: Node, weight_left: float, sum_left: float) -> float:
    """Return the gain of a left side that need not be one of rows: a corner of a box."""
    weight_right, sum_right = node.weight - weight_left, float(node.total) - sum_left
    return gain_of_two(plan, node, weight_left, sum_left, weight_right, sum_right)


@inlined
def corner_gain(
    plan: Plan,
    node: Node,
    weight_left: float,
    sum_left: float,
    weight_in: float,
    sum_in: float,
    square_in: float,
    best: Split,
) -> float:
    """Bound the gain of thresholds inside the bin, unless a border of the bin or the best split has more.

    All targets in the bin lie between the node's lowest and highest, so its rows cannot shift the left side
    further than if each of them had one of the two.
    """
    high_weight = min(max((sum_in - node.low * weight_in) * node.per_range, 0.0), weight_in)
    low_weight = weight_in - high_weight
    sum_high, sum_low = sum_left + high_weight * node.high, sum_left + low_weight * node.low
    # Most bins end here, without a call.
    if not could_lead(plan, node, weight_left + high_weight, sum_high, best) and not could_lead(
        plan, node, weight_left + low_weight, sum_low, best
    ):
        return 0.0
    bound = max(
        gain_at(plan, node, weight_left + high_weight, sum_high),
        gain_at(plan, node, weight_left + low_weight, sum_low),
    )
    return closer_gain(plan, node, weight_left, sum_left, weight_in, sum_in, square_in, bound)


@inner
def closer_gain(
    plan: Plan,
    node: Node,
    weight_left: float,
    sum_left: float,
    weight_in: float,
    sum_in: float,
    square_in: float,
    bound: float,
) -> float:
    """Return the bound, or a tighter one for numbers.

    Given their variance, rows of the bin deviate from its mean, in sum, by at most half the root of weight
    times sum of squared deviations.
    """
    weight_after, sum_after = weight_left + weight_in, sum_left + sum_in
    if plan.n_classes > 0 or plan.shift_factor == 0.0 or weight_left <= 0.0 or weight_after >= node.weight:
        return bound
    squared_mean = sum_in * sum_in / weight_in
    spread = max(square_in * plan.square_unit - squared_mean, 0.0) + 1e-12 * squared_mean
    reach = 0.5 * math.sqrt(weight_in * spread)
    closer = max(
        gain_at(plan, node, weight_left, sum_left - reach),
        gain_at(plan, node, weight_left, sum_left + reach),
        gain_at(plan, node, weight_after, sum_after - reach),
        gain_at(plan, node, weight_after, sum_after + reach),
    )
    return min(bound, closer)


@inlined
def consider(
    plan: Plan,
    node: Node,
    rows: int,
    units: int,
    total: int,
    feature: int,
    cut: int,
    missing_left: int,
    best: Split,
) -> tuple[float, Split]:
    """Return the gain of a split (0 if below the best), and the better of it, if allowed, and the best."""
    weight_left, weight_right = float(units), float(node.units - units)
    sum_left, sum_right = float(total), float(node.total - total)
    # Most splits end here, in the loop over the rows, and without a call.
    if is_below(plan, weight_left, sum_left, weight_right, sum_right, surely_less(node, best)):
        return 0.0, best
    return consider_closely(plan, node, rows, units, total, feature, cut, missing_left, best)


@inner
def consider_closely(
    plan: Plan,
    node: Node,
    rows: int,
    units: int,
    total: int,
    feature: int,
    cut: int,
    missing_left: int,
    best: Split,
) -> tuple[float, Split]:
    """Do the same for a split that may be as good as the best.

    The right side is computed in integers: floats would round it differently from the left.
    """
    weight_left, weight_right = float(units), float(node.units - units)
    sum_left, sum_right = float(total), float(node.total - total)
    gain = gain_of_two(plan, node, weight_left, sum_left, weight_right, sum_right)
    if not is_behind(plan, node, gain, best) and is_allowed(plan, node, rows, units, total):
        own = gain
        if node.is_constrained:
            own = constrained_gain(plan, node, gain, weight_left, sum_left, weight_right, sum_right)
        if own >= 0.0:
            improvement = improvement_of(plan, node, own, weight_left, weight_right)
            best = better(best, improvement, own / node.cost, feature, cut, missing_left)
    return gain, best


@inner
def scan_two(
    plan: Plan,
    node: Node,
    n_codes: int,
    top_rank: IntArray,
    feature: int,
    fine: int,
    shift: int,
    histogram: LongArray,
    begin: int,
    bounds: LongArray,
    best: Split,
) -> tuple[Split, int, bool]:
    """Return the best threshold of the feature at a border of bins, and the highest bound of a bin.

    The histogram has dropped `fine` bits of the codes, the bins drop `shift`. Missing values are tried on
    both sides, and alone against all known ones. Also writes a bound for every bin, and returns whether the
    feature takes several values.
    """
    n_stats = plan.n_stats
    # For classes the weight is the sum of the first two entries; in both cases the second is the sum.
    both = plan.n_classes
    at = begin + (MISSING_CODE >> fine) * n_stats
    missing_weight = histogram[at] + (histogram[at + 1] if both else 0)
    missing_sum, missing_rows = histogram[at + 1], histogram[at + n_stats - 1]
    any_missing, highest = missing_weight > 0, 0.0
    weight = sum_ = rows = weight_before = n_present = cut = int64(0)
    previous, promise = int64(-1), NEVER
    n_bins, n_fine = ((n_codes - 1) >> shift) + 1, ((n_codes - 1) >> fine) + 1
    for b in range(n_bins + 1):
        at_end = b == n_bins
        bounds[feature, b] = NEVER
        weight_in = sum_in = square_in = rows_in = int64(0)
        for f in range(b << (shift - fine), min((b + 1) << (shift - fine), n_fine)):
            at = begin + f * n_stats
            weight_in += histogram[at] + (histogram[at + 1] if both else 0)
            sum_in += histogram[at + 1]
            square_in += 0 if both else histogram[at + 2]
            rows_in += histogram[at + n_stats - 1]
        if weight_in == 0 and not at_end:
            continue
        gain = gain_missing = 0.0
        if previous >= 0 and (any_missing or not at_end):
            cut = cut_after(top_rank, feature, n_codes, previous, shift)
            n = rows if plan.counts_apart else weight
            own = without_direction(node) if at_end else node
            gain, best = consider(plan, own, n, weight, sum_, feature, cut, RIGHT, best)
        if any_missing and not at_end:
            with_weight, with_sum = weight + missing_weight, sum_ + missing_sum
            n = rows + missing_rows if plan.counts_apart else with_weight
            gain_missing, tried = consider(plan, node, n, with_weight, with_sum, feature, cut, LEFT, best)
            if previous >= 0:
                best = tried
        if previous >= 0 and bounds[feature, previous] != NEVER:
            highest = max(highest, gain, gain_missing)
            after = float(weight + missing_weight)
            bound = improvement_bound(plan, node, highest, float(weight_before), after, best)
            bounds[feature, previous] = bound
            promise = max(promise, bound)
        if at_end:
            break
        if cut_after(top_rank, feature, n_codes, b, shift) > lowest_rank(top_rank, feature, b, shift):
            in_w, in_s, in_q = float(weight_in), float(sum_in), float(square_in)
            corner = corner_gain(plan, node, float(weight), float(sum_), in_w, in_s, in_q, best)
            highest = max(gain, gain_missing, corner)
            if any_missing:
                with_w, with_s = float(weight + missing_weight), float(sum_ + missing_sum)
                corner = corner_gain(plan, node, with_w, with_s, in_w, in_s, in_q, best)
                highest = max(highest, corner)
            bounds[feature, b] = 0
        previous, weight_before = b, weight
        weight, sum_, rows = weight + weight_in, sum_ + sum_in, rows + rows_in
        n_present += 1
    return best, promise, n_present > 1 or any_missing or promise != NEVER


@inner
def open_two(
    plan: Plan,
    node: Node,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    feature: int,
    fine: int,
    shift: int,
    histogram: LongArray,
    scratch: Scratch,
    best: Split,
) -> Split:
    """Return the best threshold inside the bins of the feature that could still win: exact, row by row."""
    n_stats, n_codes, top_rank = plan.n_stats, coded.n_codes[feature], coded.top_rank
    bounds, keys, codes = scratch.bounds, scratch.keys, coded.codes
    weights, totals, counts = sample.weight, sample.total, sample.repeats
    block, lane, both, bits = feature // 4, 8 * (feature % 4), plan.n_classes, plan.label_bits
    n_keys = gather_keys(coded, rows, feature, shift, scratch, int64(n_codes), best)
    begin = coded.start[feature] * n_stats
    at = begin + (MISSING_CODE >> fine) * n_stats
    missing_weight = histogram[at] + (histogram[at + 1] if both else 0)
    missing_sum, missing_rows = histogram[at + 1], histogram[at + n_stats - 1]
    weight = sum_ = n = int64(0)
    done = i = int64(0)  # fine bins before `done` are in weight, sum and n
    while i < n_keys:
        b = int64(codes[block, keys[i] & ROW_MASK] >> lane & 255) >> shift
        top = cut_after(top_rank, feature, n_codes, b, shift)
        if not could_win(best, bounds[feature, b], feature, lowest_rank(top_rank, feature, b, shift)):
            while i < n_keys and keys[i] >> 32 <= top:
                i += 1
            continue
        while done < b << (shift - fine):
            at = begin + done * n_stats
            weight += histogram[at] + (histogram[at + 1] if both else 0)
            sum_ += histogram[at + 1]
            n += histogram[at + n_stats - 1]
            done += 1
        done = (b + 1) << (shift - fine)
        while i < n_keys and keys[i] >> 32 <= top:
            row, rank = keys[i] & ROW_MASK, keys[i] >> 32
            if both:
                weight += weights[row] >> bits
                sum_ += (weights[row] >> bits) * (weights[row] & 1)
            else:
                weight += weights[row]
                sum_ += totals[row]
            if plan.counts_apart:
                n += counts[row]
            i += 1
            # The border of the bin was tried before; equal values cannot be divided.
            if i == n_keys or keys[i] >> 32 > top or keys[i] >> 32 == rank:
                continue
            side = RIGHT  # of the missing values
            while side == RIGHT or (side == LEFT and missing_weight > 0):
                here = weight + side * missing_weight
                m = n + side * missing_rows if plan.counts_apart else here
                sum_here = sum_ + side * missing_sum
                _, best = consider(plan, node, m, here, sum_here, feature, rank, side, best)
                side += LEFT
    return best


@inner
def scan_rows(
    plan: Plan, node: Node, coded: Coded, sample: Sample, rows: IntArray, feature: int, best: Split
) -> tuple[Split, bool]:
    """Return the best threshold of the feature, row by row, and whether it takes several values.

    The rows are sorted by the feature, missing values first.
    """
    weights, totals, counts, ranks = sample.weight, sample.total, sample.repeats, coded.ranks
    both, bits, n_missing, last = plan.n_classes, plan.label_bits, int64(0), len(rows) - 1
    weight = sum_ = n = int64(0)
    while n_missing <= last and ranks[feature, rows[n_missing]] < 0:
        row = rows[n_missing]
        weight += weights[row] >> bits
        sum_ += (weights[row] >> bits) * (weights[row] & 1) if both else totals[row]
        n += counts[row]
        n_missing += 1
    if n_missing > last or (n_missing == 0 and ranks[feature, rows[0]] == ranks[feature, rows[last]]):
        return best, False
    missing_weight, missing_sum, missing_rows = weight, sum_, n
    weight = sum_ = n = int64(0)
    after = int64(ranks[feature, rows[n_missing]])
    for i in range(n_missing, last):
        row, rank = rows[i], after
        weight += weights[row] >> bits
        sum_ += (weights[row] >> bits) * (weights[row] & 1) if both else totals[row]
        n += counts[row]
        after = int64(ranks[feature, rows[i + 1]])
        if after == rank:
            continue
        m = n if plan.counts_apart else weight
        _, best = consider(plan, node, m, weight, sum_, feature, rank, RIGHT, best)
        if missing_weight > 0:
            with_weight, with_sum = weight + missing_weight, sum_ + missing_sum
            m = n + missing_rows if plan.counts_apart else with_weight
            _, best = consider(plan, node, m, with_weight, with_sum, feature, rank, LEFT, best)
    if missing_weight > 0:  # known values against missing ones
        weight, sum_ = node.units - missing_weight, node.total - missing_sum
        m = node.rows - missing_rows if plan.counts_apart else weight
        _, best = consider(plan, without_direction(node), m, weight, sum_, feature, after, RIGHT, best)
    return best, True
