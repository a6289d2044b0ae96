"""Thresholds for three classes or more: the statistics are arrays."""

from holdfast._arrays import IntArray, LongArray
from holdfast.kernels.growth.constraints import constrained_gain, without_direction
from holdfast.kernels.growth.criteria import (
    NEVER,
    Node,
    Plan,
    add_class,
    class_impurity,
    classes_gain,
    improvement_of,
    is_allowed,
    weight_of,
)
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded, Sample, add_row
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
from holdfast.kernels.jit import inner, int64

MOST_EXACT = 1 << 26  # units of weight, whose sums of squares are exact as floats
HEAD = int64(0)  # place of the statistics in an array of their own
MOST_CORNERS = 6  # classes up to which all corners of the box are tried


@inner
def parts_gain(plan: Plan, node: Node, total: LongArray, left: LongArray, inside: LongArray) -> float:
    """Return the gain of left, right, and one pure part for each class inside the bin: an upper bound."""
    weight_left = weight_in = 0.0
    for k in range(plan.n_classes):
        weight_left += left[k]
        weight_in += inside[k]
    weight_right = node.weight - weight_left - weight_in
    of_left = of_right = 0.0
    for k in range(plan.n_classes):
        in_left = float(left[k])
        of_left = add_class(plan.formula, of_left, in_left)
        of_right = add_class(plan.formula, of_right, total[k] - in_left - inside[k])
    of_left = class_impurity(plan.formula, weight_left, of_left)
    of_right = class_impurity(plan.formula, weight_right, of_right)
    return node.impurity - (of_left + of_right)


@inner
def corner_gain(
    plan: Plan,
    node: Node,
    total: LongArray,
    left: LongArray,
    inside: LongArray,
    corner: LongArray,
    best: Split,
) -> float:
    """Bound the gain of every threshold inside the bin, unless a border of the bin has more.

    A cheap bound first; if it beats the best split, the corners of the box, one for each set of classes.
    """
    bound = parts_gain(plan, node, total, left, inside)
    if plan.n_classes > MOST_CORNERS or bound <= best.gain:
        return bound
    highest = 0.0
    for mask in range(1, (1 << plan.n_classes) - 1):
        for k in range(plan.n_classes):
            corner[k] = left[k] + (inside[k] if mask >> k & 1 else 0)
        highest = max(highest, classes_gain(plan, node, corner, total, weight_of(plan, corner, HEAD)))
    return min(bound, highest)


@inner
def consider(
    plan: Plan,
    node: Node,
    total: LongArray,
    left: LongArray,
    feature: int,
    cut: int,
    missing_left: int,
    best: Split,
) -> tuple[float, Split]:
    """Return the gain of a split, allowed or not, and the better of it, if allowed, and the best so far."""
    units = weight_of(plan, left, HEAD)
    gain = classes_gain(plan, node, left, total, units)
    rows = left[plan.n_stats - 1] if plan.counts_apart else units
    if not is_behind(plan, node, gain, best) and is_allowed(plan, node, rows, units, HEAD):
        own, weight_left, weight_right = gain, float(units), float(node.units - units)
        if node.is_constrained and units > 0 and units < node.units:
            of_class, in_left = float(total[plan.outcome]), float(left[plan.outcome])
            own = constrained_gain(plan, node, gain, weight_left, in_left, weight_right, of_class - in_left)
        if own >= 0.0:
            improvement = improvement_of(plan, node, own, weight_left, weight_right)
            best = better(best, improvement, own / node.cost, feature, cut, missing_left)
    return gain, best


@inner
def scan_classes(
    plan: Plan,
    node: Node,
    total: LongArray,
    n_codes: int,
    top_rank: IntArray,
    feature: int,
    fine: int,
    shift: int,
    histogram: LongArray,
    begin: int,
    bounds: LongArray,
    four: tuple[LongArray, LongArray, LongArray, LongArray],
    best: Split,
) -> tuple[Split, int, bool]:
    """Return the best threshold of the feature at a border of bins, and bounds: see `scan_two`."""
    n_stats = plan.n_stats
    left, trial, inside, corner = four
    at_missing = begin + (MISSING_CODE >> fine) * n_stats
    missing_weight = float(weight_of(plan, histogram, at_missing))
    any_missing = missing_weight > 0.0
    for k in range(n_stats):
        left[k] = 0
    weight_left = weight_before = highest = 0.0
    previous, promise, n_present, cut = int64(-1), NEVER, int64(0), int64(0)
    n_bins, n_fine = ((n_codes - 1) >> shift) + 1, ((n_codes - 1) >> fine) + 1
    for b in range(n_bins + 1):
        at_end = b == n_bins
        bounds[feature, b] = NEVER
        for k in range(n_stats):
            inside[k] = 0
        for f in range(b << (shift - fine), min((b + 1) << (shift - fine), n_fine)):
            for k in range(n_stats):
                inside[k] += histogram[begin + f * n_stats + k]
        weight_in = float(weight_of(plan, inside, HEAD))
        if weight_in == 0.0 and not at_end:
            continue
        gain = gain_missing = 0.0
        if previous >= 0 and (any_missing or not at_end):
            cut = cut_after(top_rank, feature, n_codes, previous, shift)
            own = without_direction(node) if at_end else node
            gain, best = consider(plan, own, total, left, feature, cut, RIGHT, best)
        if any_missing and not at_end:
            for k in range(n_stats):
                trial[k] = left[k] + histogram[at_missing + k]
            gain_missing, tried = consider(plan, node, total, trial, feature, cut, LEFT, best)
            if previous >= 0:
                best = tried
        if previous >= 0 and bounds[feature, previous] != NEVER:
            highest = max(highest, gain, gain_missing)
            bound = improvement_bound(plan, node, highest, weight_before, weight_left + missing_weight, best)
            bounds[feature, previous] = bound
            promise = max(promise, bound)
        if at_end:
            break
        if cut_after(top_rank, feature, n_codes, b, shift) > lowest_rank(top_rank, feature, b, shift):
            highest = max(gain, gain_missing, corner_gain(plan, node, total, left, inside, corner, best))
            if any_missing:
                highest = max(highest, corner_gain(plan, node, total, trial, inside, corner, best))
            bounds[feature, b] = 0
        for k in range(n_stats):
            left[k] += inside[k]
        previous, weight_before, weight_left = b, weight_left, weight_left + weight_in
        n_present += 1
    return best, promise, n_present > 1 or any_missing or promise != NEVER


@inner
def open_classes(
    plan: Plan,
    node: Node,
    total: LongArray,
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
    """Return the best threshold inside the bins of the feature that could still win: see `open_two`."""
    n_stats, n_codes, top_rank = plan.n_stats, coded.n_codes[feature], coded.top_rank
    bounds, keys, left, trial, codes = scratch.bounds, scratch.keys, scratch.left, scratch.trial, coded.codes
    block, lane = feature // 4, 8 * (feature % 4)
    n_keys = gather_keys(coded, rows, feature, shift, scratch, int64(n_codes), best)
    begin = coded.start[feature] * n_stats
    at_missing = begin + (MISSING_CODE >> fine) * n_stats
    any_missing = weight_of(plan, histogram, at_missing) > 0
    for k in range(n_stats):
        left[k] = 0
    done = i = int64(0)  # fine bins before `done` are in `left`
    while i < n_keys:
        b = int64(codes[block, keys[i] & ROW_MASK] >> lane & 255) >> shift
        top = cut_after(top_rank, feature, n_codes, b, shift)
        if not could_win(best, bounds[feature, b], feature, lowest_rank(top_rank, feature, b, shift)):
            while i < n_keys and keys[i] >> 32 <= top:
                i += 1
            continue
        while done < b << (shift - fine):
            for k in range(n_stats):
                left[k] += histogram[begin + done * n_stats + k]
            done += 1
        done = (b + 1) << (shift - fine)
        while i < n_keys and keys[i] >> 32 <= top:
            rank = keys[i] >> 32
            add_row(plan, sample, keys[i] & ROW_MASK, left)
            i += 1
            # The border of the bin was tried before; equal values cannot be divided.
            if i == n_keys or keys[i] >> 32 > top or keys[i] >> 32 == rank:
                continue
            _, best = consider(plan, node, total, left, feature, rank, RIGHT, best)
            if any_missing:
                for k in range(n_stats):
                    trial[k] = left[k] + histogram[at_missing + k]
                _, best = consider(plan, node, total, trial, feature, rank, LEFT, best)
    return best


@inner
def scan_rows_quickly(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    feature: int,
    scratch: Scratch,
    best: Split,
) -> Split:
    """Return the best threshold by the Gini impurity, if row weights are repetitions.

    A row changes the sum of squared class weights of either side by one term. These sums are exact, and rule
    out most thresholds by two products.
    """
    left, right, weights, ranks = scratch.left, scratch.corner, sample.weight, coded.ranks
    bits, mask = plan.label_bits, (1 << plan.label_bits) - 1
    of_left = of_right = weight_left = 0.0
    for k in range(plan.n_classes):
        left[k], right[k] = 0, total[k]
        of_right += float(total[k]) * float(total[k])
    # Products and quotients round by 1e-15 of the weight at most.
    of_node, slack = of_right / node.weight, node.weight * 1e-14
    after = int64(ranks[feature, rows[0]])
    for i in range(len(rows) - 1):
        label, weight, rank = weights[rows[i]] & mask, weights[rows[i]] >> bits, after
        of_left += float(weight * (2 * left[label] + weight))
        of_right -= float(weight * (2 * right[label] - weight))
        left[label] += weight
        right[label] -= weight
        weight_left += float(weight)
        after = int64(ranks[feature, rows[i + 1]])
        if after == rank:
            continue
        weight_right = node.weight - weight_left
        limit = (surely_less(node, best) + of_node - slack) * (weight_left * weight_right)
        if of_left * weight_right + of_right * weight_left >= limit:
            _, best = consider(plan, node, total, left, feature, rank, RIGHT, best)
    return best


@inner
def scan_rows_classes(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    feature: int,
    scratch: Scratch,
    best: Split,
) -> tuple[Split, bool]:
    """Return the best threshold of the feature, row by row: see `scan_rows`."""
    left, trial, missing, ranks = scratch.left, scratch.trial, scratch.inside, coded.ranks
    n_missing, last = int64(0), len(rows) - 1
    for k in range(plan.n_stats):
        left[k] = missing[k] = 0
    while n_missing <= last and ranks[feature, rows[n_missing]] < 0:
        add_row(plan, sample, int64(rows[n_missing]), missing)
        n_missing += 1
    if n_missing > last or (n_missing == 0 and ranks[feature, rows[0]] == ranks[feature, rows[last]]):
        return best, False
    if n_missing == 0 and plan.shift_factor > 0.0 and node.units < MOST_EXACT and not plan.counts_apart:
        return scan_rows_quickly(plan, node, total, coded, sample, rows, feature, scratch, best), True
    after = int64(ranks[feature, rows[n_missing]])
    for i in range(n_missing, last + 1):
        rank, at_end = after, i == last
        add_row(plan, sample, int64(rows[i]), left)
        if at_end and n_missing == 0:
            break
        if not at_end:
            after = int64(ranks[feature, rows[i + 1]])
            if after == rank:
                continue
        own = without_direction(node) if at_end else node
        _, best = consider(plan, own, total, left, feature, rank, RIGHT, best)
        if n_missing > 0 and not at_end:
            for k in range(plan.n_stats):
                trial[k] = left[k] + missing[k]
            _, best = consider(plan, node, total, trial, feature, rank, LEFT, best)
    return best, True
