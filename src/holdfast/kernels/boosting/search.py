"""The split of a node that lowers the loss most, between bins and between sets of categories."""

import math
from typing import NamedTuple

from holdfast._arrays import FloatArray, LongArray, SignArray
from holdfast.kernels.boosting.histogram import place_of_missing
from holdfast.kernels.growth.categories import LEAST_ROWS, MOST_LISTED, YES_NO, is_chance, prior_weight
from holdfast.kernels.growth.constraints import AllowedFeatures
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded
from holdfast.kernels.growth.sorting import sort_by
from holdfast.kernels.growth.split import queue_columns, take_column
from holdfast.kernels.jit import inner, int64, uint64

NO_SPLIT = int64(-1)
FORBIDDEN = int64(-2)  # instead of a side for missing values: the split is best, but a limit excludes it
# Two splits whose gains differ by less are tied, and the lower feature and threshold win.
CLEARLY = 1.0 + 2.0**-40


class BoostingLimits(NamedTuple):
    """Stopping rules of growth."""

    max_depth: int
    max_leaves: int
    min_rows: int  # in each side of a split
    min_hessian: float  # in each side of a split, in units
    l2: float  # in units of the hessian
    min_impurity_decrease: float  # in units of gradient squared over hessian
    n_drawn: int  # features drawn per split; 0 for all of them
    best_first: int  # 1: the node with the greatest gain is split next; 0: depth first
    n_threads: int
    rows_to_share: int  # least rows of a part
    cells_to_share: int  # a node with fewer cells, rows times features plus bins, is counted by one thread
    dispersion: float  # variance of gradients, in units; 0: categories are searched exactly


class Best(NamedTuple):
    """The best split so far: the score of its sides is top / bottom."""

    top: float
    bottom: float
    feature: int
    cut: int  # the last bin, or the number of categories, that goes left; minus the bit pattern of a set
    missing_left: int  # or FORBIDDEN


class BoostingScratch(NamedTuple):
    """Memory that every node reuses."""

    order: LongArray  # (categories + 1,)
    place: FloatArray  # (categories + 1,)
    queue: LongArray  # (features,) the features not yet drawn
    waiting: LongArray  # (128,) for sorting


class FeatureConstraints(NamedTuple):
    """Constraints on the split of a node by one feature: see `kernels/growth/constraints.py`."""

    is_constrained: bool
    direction: int
    lowest: float  # bounds of the steps of the node and of all below it
    highest: float
    whole: float  # score of the node by its best step
    clipped_score: float  # score by the step within the bounds
    cost: float


@inner
def score_step(sum_: float, below: float, step: float) -> float:
    """Return the score of a side by a step: G^2 / H for its best one."""
    return -(2.0 * sum_ + below * step) * step


@inner
def constrained_sides(
    constraints: FeatureConstraints, sum_left: float, below_left: float, sum_right: float, below_right: float
) -> float:
    """Return the score of two sides by clipped steps, per cost; -1 if their order is wrong, or both equal.

    On the scale of a node without bounds, which has the same score before the split.
    """
    if below_left <= 0.0 or below_right <= 0.0:
        return -1.0
    own_left, own_right = -sum_left / below_left, -sum_right / below_right
    left = min(max(own_left, constraints.lowest), constraints.highest)
    right = min(max(own_right, constraints.lowest), constraints.highest)
    if (right - left) * constraints.direction < 0.0 or (left == right and own_left != own_right):
        return -1.0
    sides = score_step(sum_left, below_left, left) + score_step(sum_right, below_right, right)
    return constraints.whole + max(sides - constraints.clipped_score, 0.0) / constraints.cost


# -- The split of a node that lowers the loss most, between bins and between sets of categories --------------


@inner
def best_split(
    limits: BoostingLimits,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    seed: int,
    scratch: BoostingScratch,
    allowed: AllowedFeatures,
    lowest: float,
    highest: float,
    first: int,
    last: int,
) -> Best:
    """Return the best split of a node over some features, or drawn ones; its feature is -1 without any."""
    best = Best(0.0, 1.0, NO_SPLIT, int64(0), int64(0))
    n_varied, n_ready, n_least = int64(0), int64(0), limits.n_drawn
    below, is_limited_here = float(other >> bits) + limits.l2, allowed.is_set[0] > 0
    whole = clipped_score = 0.0
    is_bound = lowest > -math.inf or highest < math.inf
    if is_limited_here and below > 0.0:
        whole = float(total) * float(total) / below
        clipped_score = score_step(float(total), below, min(max(-float(total) / below, lowest), highest))
    constraints = FeatureConstraints(False, int64(0), lowest, highest, whole, clipped_score, 1.0)
    for i in range(first, last):
        feature = int64(i)
        if limits.n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, scratch.queue, scratch.waiting)
                n_least *= 2
            feature = take_column(scratch.queue, int64(i), n_ready)
        if is_limited_here:
            if allowed.is_excluded[feature]:
                continue
            direction = int64(allowed.direction[feature]) if len(allowed.direction) > 0 else int64(0)
            cost = allowed.cost[feature]
            is_constrained = is_bound or direction != 0 or cost != 1.0
            constraints = FeatureConstraints(
                is_constrained, direction, lowest, highest, whole, clipped_score, cost
            )
        before = best.top
        if coded.is_subset[feature]:
            best = scan_sets(
                limits, constraints, coded, histogram, total, other, bits, feature, scratch, best
            )
        else:
            begin, n_codes = 2 * coded.start[feature], int64(coded.n_codes[feature])
            if constraints.is_constrained:
                best = scan_constrained(
                    limits, constraints, histogram, begin, n_codes, total, other, bits, feature, best
                )
            else:
                best = scan_numbers(limits, histogram, begin, n_codes, total, other, bits, feature, best)
        if limits.n_drawn > 0:
            n_varied += int64(is_varied(coded, histogram, feature, other) or best.top != before)
            if n_varied >= limits.n_drawn and best.feature >= 0:
                break
    return best


@inner
def is_varied(coded: Coded, histogram: LongArray, feature: int, other: int) -> bool:
    """True if the feature takes several values in the node."""
    begin = 2 * coded.start[feature]
    for code in range(coded.n_codes[feature]):
        own = histogram[begin + 2 * code + 1]
        if own != 0:
            return bool(own != other)
    return False


# -- The best split between the bins of a numeric feature ----------------------------------------------------


@inner
def scan_numbers(
    limits: BoostingLimits,
    histogram: LongArray,
    begin: int,
    n_codes: int,
    total: int,
    other: int,
    bits: int,
    feature: int,
    best: Best,
) -> Best:
    """Return the better of the best split so far and those between the bins of a feature.

    Missing values are tried on the right and, if there are any, on the left.
    """
    mask, l2 = (int64(1) << bits) - 1, limits.l2
    rows, min_rows, least = other & mask, limits.min_rows, limits.min_hessian + l2
    sum_all, below_all = float(total), float(other >> bits)
    at_missing = uint64(begin + 2 * MISSING_CODE)
    missing_sum, missing_other = histogram[at_missing], histogram[at_missing + uint64(1)]
    top, bottom, best_cut, best_side = best.top, best.bottom, NO_SPLIT, int64(0)
    clear_top = top * CLEARLY
    for side in range(2 if missing_other != 0 else 1):
        sum_left, other_left = (int64(0), int64(0)) if side == 0 else (missing_sum, missing_other)
        for code in range(n_codes):
            at = uint64(begin + 2 * code)
            own = histogram[at + uint64(1)]
            if own == 0:
                continue
            sum_left += histogram[at]
            other_left += own
            rows_left = other_left & mask
            if rows_left < min_rows:
                continue
            if rows - rows_left < min_rows:
                break
            # Sums over up to 2^23 rows are exact as floats, and so are their differences.
            left, below = float(sum_left), float(other_left >> bits)
            right, below_left, below_right = sum_all - left, below + l2, below_all - below + l2
            own_top = left * left * below_right + right * right * below_left
            own_bottom = below_left * below_right
            ahead = own_top * bottom
            is_better = ahead > clear_top * own_bottom or (
                code < best_cut and ahead * CLEARLY > top * own_bottom
            )
            if is_better and below_left >= least and below_right >= least:
                top, bottom, best_cut, best_side = own_top, own_bottom, int64(code), int64(side)
                clear_top = top * CLEARLY
    if best_cut == NO_SPLIT:
        return best
    return Best(top, bottom, feature, best_cut, best_side)


@inner
def scan_constrained(
    limits: BoostingLimits,
    constraints: FeatureConstraints,
    histogram: LongArray,
    begin: int,
    n_codes: int,
    total: int,
    other: int,
    bits: int,
    feature: int,
    best: Best,
) -> Best:
    """Do the same with constraints: a test in the loop of `scan_numbers` took a seventh more time."""
    mask, l2 = (int64(1) << bits) - 1, limits.l2
    rows, least = other & mask, limits.min_hessian + l2
    at_missing = begin + 2 * MISSING_CODE
    for side in range(2 if histogram[at_missing + 1] != 0 else 1):
        sum_left, other_left = side * histogram[at_missing], side * histogram[at_missing + 1]
        for code in range(n_codes):
            own = histogram[begin + 2 * code + 1]
            if own == 0:
                continue
            sum_left += histogram[begin + 2 * code]
            other_left += own
            rows_left = other_left & mask
            if min(rows_left, rows - rows_left) < limits.min_rows:
                continue
            below_left, below_right = float(other_left >> bits) + l2, float((other - other_left) >> bits) + l2
            sides = constrained_sides(
                constraints, float(sum_left), below_left, float(total - sum_left), below_right
            )
            ahead = sides * best.bottom
            is_tied = best.feature == feature and code < best.cut and ahead * CLEARLY > best.top
            if (ahead > best.top * CLEARLY or is_tied) and min(below_left, below_right) >= least:
                best = Best(sides, 1.0, feature, int64(code), int64(side))
    return best


# -- The best split by a set of categories -------------------------------------------------------------------


@inner
def arrange(
    coded: Coded, histogram: LongArray, feature: int, bits: int, order: LongArray, place: FloatArray
) -> int:
    """Write the categories of the node in the order of the step that each would take; return their number.

    Missing values are one more category, the last code.
    """
    begin, n = 2 * coded.start[feature], int64(0)
    n_codes = int64(coded.n_codes[feature])
    last = place_of_missing(coded, feature) // 2 - coded.start[feature]
    for code in range(n_codes + 1):
        at = code if code < n_codes else last
        if histogram[begin + 2 * at + 1] == 0:
            continue
        gradient, hessian = float(histogram[begin + 2 * at]), float(histogram[begin + 2 * at + 1] >> bits)
        # Without l2: the gain is convex in both sums for any l2, so that the best set is a prefix.
        step = -gradient / hessian if hessian > 0.0 else 0.0
        i = n
        while i > 0 and place[i - 1] > step:
            place[i], order[i] = place[i - 1], order[i - 1]
            i -= 1
        place[i], order[i] = step, at
        n += 1
    return n


@inner
def scan_sets(
    limits: BoostingLimits,
    constraints: FeatureConstraints,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    feature: int,
    scratch: BoostingScratch,
    best: Best,
) -> Best:
    """Return the better of the best split so far and the sets of categories of a feature."""
    if is_shrunk(limits.dispersion, coded, feature):
        return scan_shrunk(limits, constraints, coded, histogram, total, other, bits, feature, scratch, best)
    order, begin = scratch.order, 2 * coded.start[feature]
    n = arrange(coded, histogram, feature, bits, order, scratch.place)
    sum_left = other_left = int64(0)
    is_held_back = False
    for i in range(n - 1):
        sum_left += histogram[begin + 2 * order[i]]
        other_left += histogram[begin + 2 * order[i] + 1]
        own = consider_set(
            limits, constraints, total, other, bits, sum_left, other_left, feature, int64(i + 1), best
        )
        is_held_back = is_held_back or own.missing_left == FORBIDDEN
        best = best if own.missing_left == FORBIDDEN else own
    if not is_held_back or n > MOST_LISTED:
        return best
    # A limit excludes the best of these sets, and the best allowed one may be any other. A Gray code: each
    # set differs from the one before by one category. The first category is never in it.
    sum_left = other_left = pattern = int64(0)
    for step in range(1, 1 << (n - 1)):
        bit = 0
        while not step >> bit & 1:
            bit += 1
        pattern ^= 1 << bit
        sign = 1 if pattern >> bit & 1 else -1
        sum_left += sign * histogram[begin + 2 * order[bit + 1]]
        other_left += sign * histogram[begin + 2 * order[bit + 1] + 1]
        own = consider_set(
            limits, constraints, total, other, bits, sum_left, other_left, feature, -pattern, best
        )
        best = best if own.missing_left == FORBIDDEN else own
    return best


@inner
def scan_shrunk(
    limits: BoostingLimits,
    constraints: FeatureConstraints,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    feature: int,
    scratch: BoostingScratch,
    best: Best,
) -> Best:
    """Return the better of the best split so far and the sets of many categories, by shrunk means."""
    order, place, left, other_left = scratch.order, scratch.place, 0.0, int64(0)
    n, n_groups, remains = arrange_shrunk(
        coded, histogram, feature, total, other, bits, limits.dispersion, order, place
    )
    hessian = float(other >> bits)
    if n_groups < 2 or hessian <= 0.0:
        return best
    for i in range(n - 1):
        own = histogram[place_of(coded, feature, order[i]) + 1]
        other_left += own
        left += float(own >> bits) * (total / hessian + place[order[i]] - remains)
        if place[order[i]] == place[order[i + 1]]:
            continue  # the same group, or two with equal means
        right = float(total) - left
        own_best = consider_sums(
            limits, constraints, left, right, other, bits, other_left, feature, int64(i + 1), best
        )
        best = best if own_best.missing_left == FORBIDDEN else own_best
    return best


@inner
def consider_set(
    limits: BoostingLimits,
    constraints: FeatureConstraints,
    total: int,
    other: int,
    bits: int,
    sum_left: int,
    other_left: int,
    feature: int,
    cut: int,
    best: Best,
) -> Best:
    """Return the better of the best split so far and this one, marked FORBIDDEN if a limit excludes it."""
    left, right = float(sum_left), float(total - sum_left)
    return consider_sums(limits, constraints, left, right, other, bits, other_left, feature, cut, best)


@inner
def consider_sums(
    limits: BoostingLimits,
    constraints: FeatureConstraints,
    left: float,
    right: float,
    other: int,
    bits: int,
    other_left: int,
    feature: int,
    cut: int,
    best: Best,
) -> Best:
    """Do the same with gradient sums that need not be whole."""
    mask, l2 = (int64(1) << bits) - 1, limits.l2
    below_left, below_right = float(other_left >> bits) + l2, float((other - other_left) >> bits) + l2
    top, bottom = left * left * below_right + right * right * below_left, below_left * below_right
    if constraints.is_constrained:
        top, bottom = constrained_sides(constraints, left, below_left, right, below_right), 1.0
    if not top * best.bottom > best.top * bottom * CLEARLY:
        return best
    side = int64(0)
    if (
        min(other_left & mask, (other - other_left) & mask) < limits.min_rows
        or min(below_left, below_right) < limits.min_hessian + l2
    ):
        side = FORBIDDEN
    return Best(top, bottom, feature, cut, side)


@inner
def choose_set(
    limits: BoostingLimits,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    best: Best,
    scratch: BoostingScratch,
    in_set: SignArray,
    begin: int,
) -> int:
    """Mark which categories go left, from `begin` on; return whether missing values do, -1 if there are none.

    The first category of the node goes left, or the value yes, so that equal splits are always written alike.
    A category is marked 1 for left, 0 for right, -1 if it is absent from the node.
    """
    feature, order = best.feature, scratch.order
    if is_shrunk(limits.dispersion, coded, feature):
        n = arrange_shrunk(
            coded, histogram, feature, total, other, bits, limits.dispersion, order, scratch.place
        )[0]
    else:
        n = arrange(coded, histogram, feature, bits, order, scratch.place)
    n_codes = int64(coded.n_codes[feature])
    for code in range(n_codes):
        in_set[begin + code] = -1
    first, missing_left = n_codes, NO_SPLIT
    for i in range(n):
        is_listed = best.cut < 0 and i > 0 and -best.cut >> (i - 1) & 1 == 1
        goes_left = 1 if i < best.cut or is_listed else 0
        if order[i] < n_codes:
            in_set[begin + order[i]] = goes_left
            first = min(first, order[i])
        else:
            missing_left = int64(goes_left)
    turn = first < n_codes and in_set[begin + first] == 0
    if coded.is_subset[feature] == YES_NO:
        if in_set[begin + 1] >= 0:
            turn = in_set[begin + 1] == 0
        elif first < n_codes:
            turn = in_set[begin + first] == 1
    if turn:
        for code in range(n_codes):
            if in_set[begin + code] >= 0:
                in_set[begin + code] = 1 - in_set[begin + code]
        if missing_left >= 0:
            missing_left = 1 - missing_left
    return missing_left


# -- Columns with many categories in boosting ----------------------------------------------------------------


class BoostingGroups(NamedTuple):
    """The categories of a node in groups: each frequent one, and the rare and missing ones together."""

    n: int
    is_pooled: bool  # False: rare categories differ by more than chance, and each is its own group
    rare_excess: float  # gradient beyond the share of its hessian
    rare_hessian: float
    prior: float  # the hessian that the node's mean has in the mean of a group


@inner
def is_shrunk(dispersion: float, coded: Coded, feature: int) -> bool:
    """True if the column has so many categories that their means are shrunk."""
    return bool(dispersion > 0.0 and coded.n_codes[feature] > MOST_LISTED)


@inner
def place_of(coded: Coded, feature: int, code: int) -> int:
    """Return the place of a category's sums in a histogram; missing values have the code after the last."""
    if code == coded.n_codes[feature]:
        return place_of_missing(coded, feature)
    return int64(2 * (coded.start[feature] + code))


@inner
def is_rare(coded: Coded, feature: int, code: int, other: int, bits: int) -> bool:
    """True for missing values and for categories with few rows or without a hessian."""
    n_rows, hessian = other & ((int64(1) << bits) - 1), other >> bits
    return bool(code == coded.n_codes[feature] or n_rows < LEAST_ROWS or hessian <= 0)


@inner
def group_categories(
    coded: Coded,
    histogram: LongArray,
    feature: int,
    total: int,
    other: int,
    bits: int,
    dispersion: float,
    order: LongArray,
) -> tuple[int, BoostingGroups]:
    """Write the categories that occur to `order`; return their number, and their groups."""
    n_codes, hessian = int64(coded.n_codes[feature]), float(other >> bits)
    mean = total / hessian if hessian > 0.0 else 0.0
    n = n_full = n_rare = int64(0)
    spread = squares = rare_spread = rare_squares = rare_excess = rare_hessian = 0.0
    for code in range(n_codes + 1):
        at = place_of(coded, feature, int64(code))
        if histogram[at + 1] == 0:
            continue
        order[n] = code
        n += 1
        below = float(histogram[at + 1] >> bits)
        excess = histogram[at] - below * mean
        apart = excess * excess / below if below > 0.0 else 0.0
        if is_rare(coded, feature, int64(code), histogram[at + 1], bits):
            rare_excess += excess
            rare_hessian += below
            rare_spread += apart
            rare_squares += below * below
            n_rare += 1
        else:
            spread += apart
            squares += below * below
            n_full += 1
    is_pooled = False
    if n_rare > 0:
        join_parts = rare_excess * rare_excess / rare_hessian if rare_hessian > 0.0 else 0.0
        is_pooled = rare_hessian <= 0.0 or is_chance(rare_spread - join_parts, dispersion, n_rare)
        if is_pooled:
            rare_spread, rare_squares, n_rare = join_parts, rare_hessian * rare_hessian, int64(1)
    n_groups = n_full + n_rare
    prior = prior_weight(hessian, spread + rare_spread, squares + rare_squares, dispersion, n_groups)
    return n, BoostingGroups(n_groups, is_pooled, rare_excess, rare_hessian, prior)


@inner
def arrange_shrunk(
    coded: Coded,
    histogram: LongArray,
    feature: int,
    total: int,
    other: int,
    bits: int,
    dispersion: float,
    order: LongArray,
    place: FloatArray,
) -> tuple[int, int, float]:
    """Write the categories of the node in the order of their shrunk steps.

    Return the numbers of categories and of groups, and the mean of all shrunk deviations, which are in
    `place`.
    """
    n, groups = group_categories(coded, histogram, feature, total, other, bits, dispersion, order)
    hessian, of_rare, remains = float(other >> bits), 0.0, 0.0
    mean = total / hessian if hessian > 0.0 else 0.0
    if groups.rare_hessian + groups.prior > 0.0:
        of_rare = groups.rare_excess / (groups.rare_hessian + groups.prior)
    for i in range(n):
        at = place_of(coded, feature, order[i])
        below = float(histogram[at + 1] >> bits)
        place[order[i]] = of_rare
        if below > 0.0 and not (
            groups.is_pooled and is_rare(coded, feature, order[i], histogram[at + 1], bits)
        ):
            place[order[i]] = (histogram[at] - below * mean) / (below + groups.prior)
        remains += below / hessian * place[order[i]] if hessian > 0.0 else 0.0
    sort_by(order, place, n)
    return n, groups.n, remains
