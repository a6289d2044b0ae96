"""The best split by a set of categories."""

from holdfast.arrays import FloatArray, LongArray, SignArray
from holdfast.kernels.boosting.histogram import place_of_missing
from holdfast.kernels.boosting.shrinkage import arrange_shrunk, is_shrunk, place_of
from holdfast.kernels.boosting.splits import (
    CLEARLY,
    FORBIDDEN,
    NONE,
    Best,
    Limits,
    Reach,
    Scratch,
    guided_sides,
)
from holdfast.kernels.growth.categories import QUESTION
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.shrinkage import MOST_LISTED
from holdfast.kernels.jit import inner, int64


@inner
def arrange(
    coded: Coded, histogram: LongArray, feature: int, bits: int, order: LongArray, place: FloatArray
) -> int:
    """Write the categories of the node in the order of the step that each would take; how many they are.

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
        # Without l2, whatever it is: the gain is convex in both sums, so that the best set is a prefix.
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
    limits: Limits,
    reach: Reach,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    feature: int,
    scratch: Scratch,
    best: Best,
) -> Best:
    """The better of the best split so far and the sets of categories of a feature."""
    if is_shrunk(limits.dispersion, coded, feature):
        return scan_shrunk(limits, reach, coded, histogram, total, other, bits, feature, scratch, best)
    order, begin = scratch.order, 2 * coded.start[feature]
    n = arrange(coded, histogram, feature, bits, order, scratch.place)
    sum_left = other_left = int64(0)
    is_held_back = False
    for i in range(n - 1):
        sum_left += histogram[begin + 2 * order[i]]
        other_left += histogram[begin + 2 * order[i] + 1]
        own = consider_set(
            limits, reach, total, other, bits, sum_left, other_left, feature, int64(i + 1), best
        )
        is_held_back = is_held_back or own.missing_left == FORBIDDEN
        best = best if own.missing_left == FORBIDDEN else own
    if not is_held_back or n > MOST_LISTED:
        return best
    # A limit forbids the best of these sets, and then the best that it allows may be any other. A Gray code:
    # each set differs from the one before by one category. The first category stays out.
    sum_left = other_left = pattern = int64(0)
    for step in range(1, 1 << (n - 1)):
        bit = 0
        while not step >> bit & 1:
            bit += 1
        pattern ^= 1 << bit
        sign = 1 if pattern >> bit & 1 else -1
        sum_left += sign * histogram[begin + 2 * order[bit + 1]]
        other_left += sign * histogram[begin + 2 * order[bit + 1] + 1]
        own = consider_set(limits, reach, total, other, bits, sum_left, other_left, feature, -pattern, best)
        best = best if own.missing_left == FORBIDDEN else own
    return best


@inner
def scan_shrunk(
    limits: Limits,
    reach: Reach,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    feature: int,
    scratch: Scratch,
    best: Best,
) -> Best:
    """The better of the best split so far and the sets of many categories, by their shrunk means."""
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
            continue  # one group, or two that nothing tells apart
        right = float(total) - left
        own_best = consider_sums(
            limits, reach, left, right, other, bits, other_left, feature, int64(i + 1), best
        )
        best = best if own_best.missing_left == FORBIDDEN else own_best
    return best


@inner
def consider_set(
    limits: Limits,
    reach: Reach,
    total: int,
    other: int,
    bits: int,
    sum_left: int,
    other_left: int,
    feature: int,
    cut: int,
    best: Best,
) -> Best:
    """The better of the best split so far and one with these sums on its left; marked if it is forbidden."""
    left, right = float(sum_left), float(total - sum_left)
    return consider_sums(limits, reach, left, right, other, bits, other_left, feature, cut, best)


@inner
def consider_sums(
    limits: Limits,
    reach: Reach,
    left: float,
    right: float,
    other: int,
    bits: int,
    other_left: int,
    feature: int,
    cut: int,
    best: Best,
) -> Best:
    """The same with gradients that need not be whole."""
    mask, l2 = (int64(1) << bits) - 1, limits.l2
    below_left, below_right = float(other_left >> bits) + l2, float((other - other_left) >> bits) + l2
    top, bottom = left * left * below_right + right * right * below_left, below_left * below_right
    if reach.is_guided:
        top, bottom = guided_sides(reach, left, below_left, right, below_right), 1.0
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
    limits: Limits,
    coded: Coded,
    histogram: LongArray,
    total: int,
    other: int,
    bits: int,
    best: Best,
    scratch: Scratch,
    in_set: SignArray,
    begin: int,
) -> int:
    """Mark which categories go left, from `begin` on; whether missing values do, or -1 if none was seen.

    The first category of the node goes left, or the answer yes, so that the same split is always drawn the
    same way. A category is marked 1 for left, 0 for right, -1 where the node did not see it.
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
    first, missing_left = n_codes, NONE
    for i in range(n):
        is_listed = best.cut < 0 and i > 0 and -best.cut >> (i - 1) & 1 == 1
        goes_left = 1 if i < best.cut or is_listed else 0
        if order[i] < n_codes:
            in_set[begin + order[i]] = goes_left
            first = min(first, order[i])
        else:
            missing_left = int64(goes_left)
    turn = first < n_codes and in_set[begin + first] == 0
    if coded.is_subset[feature] == QUESTION:
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
