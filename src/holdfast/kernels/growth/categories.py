"""The best set of categories to send left; missing values are one more category.

For two classes and for numbers the best set is a prefix of the categories in the order of their mean
(Fisher; Breiman et al.), for every convex gain. With more classes, and for ratios of gains, all sets are
tried while the categories are few (also where a minimum of rows or weight rules sets out), and the prefixes
of their order along the first principal component of
the class fractions (Coppersmith, Hong and Hosking) when they are many.

All of that is exact for the rows at hand. Of a column with many categories it finds what chance has made:
see `shrinkage.py`.
"""

import numpy as np

from holdfast.arrays import FloatArray, LongArray, SignArray
from holdfast.kernels.growth import many_classes as classes
from holdfast.kernels.growth import two_statistics as two
from holdfast.kernels.growth.criteria import Node, Plan, weight_of
from holdfast.kernels.growth.histogram import Coded, last_code
from holdfast.kernels.growth.many_classes import START
from holdfast.kernels.growth.shrinkage import (
    MOST_LISTED,
    NO_SHIFT,
    arrange_shrunk,
    first_component,
    is_shrunk,
    place_of,
    scan_shrunk,
)
from holdfast.kernels.growth.sort import sort_by
from holdfast.kernels.growth.split import RIGHT, Scratch, Split
from holdfast.kernels.jit import allocating, inner, int64

QUESTION = 2  # in Coded.is_subset: the answer yes goes left


@inner
def list_present(plan: Plan, coded: Coded, feature: int, histogram: LongArray, order: LongArray) -> int:
    """Write the codes that occur in the node, the missing one last; how many they are."""
    n, n_weights = int64(0), max(plan.n_classes, 1)
    n_codes, last = int64(coded.n_codes[feature]), last_code(coded, feature, NO_SHIFT)
    for i in range(n_codes + 1):
        code = i if i < n_codes else last
        at = place_of(plan, coded, feature, code)
        order[n] = code
        for k in range(n_weights):
            if histogram[at + k] > 0:
                n += 1
                break
    return n


@inner
def lists_all(plan: Plan, n: int) -> bool:
    """True if every set of n categories is tried."""
    # Of the sets that a rule allows, the best need not be a prefix.
    is_limited = plan.min_rows > 1 or plan.min_weight > 0.0 or plan.is_rate > 0
    return n <= MOST_LISTED and (plan.n_classes > 2 or plan.is_normalised > 0 or is_limited)


@allocating
def place_on_component(
    plan: Plan,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    total: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
) -> None:
    """place[code] = the category's class fractions along their first principal component."""
    n_classes = plan.n_classes
    weight = 0.0
    for k in range(n_classes):
        weight += total[k]
    covariance = np.zeros((n_classes, n_classes))
    fractions = np.empty(n_classes)
    for i in range(n):
        at = place_of(plan, coded, feature, order[i])
        in_category = float(weight_of(plan, histogram, at))
        for k in range(n_classes):
            fractions[k] = histogram[at + k] / in_category - total[k] / weight
        for k in range(n_classes):
            for m in range(n_classes):
                covariance[k, m] += in_category / weight * fractions[k] * fractions[m]
    axis = first_component(covariance, fractions)
    for i in range(n):
        at = place_of(plan, coded, feature, order[i])
        in_category = float(weight_of(plan, histogram, at))
        along = 0.0
        for k in range(n_classes):
            along += axis[k] * (histogram[at + k] / in_category)
        place[order[i]] = along


@inner
def arrange(
    plan: Plan,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    total: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
) -> None:
    """Sort the categories so that good sets are prefixes."""
    if plan.n_classes > 2:
        place_on_component(plan, coded, feature, histogram, total, order, n, place)
    else:
        for i in range(n):
            at = place_of(plan, coded, feature, order[i])
            place[order[i]] = histogram[at + 1] / float(weight_of(plan, histogram, at))
    sort_by(order, place, n)


@inner
def consider(
    plan: Plan, node: Node, total: LongArray, left: LongArray, feature: int, cut: int, best: Split
) -> Split:
    """The better of the best split so far and the one that sends `left` to the left."""
    if plan.n_classes > 2:
        return classes.consider(plan, node, total, left, feature, cut, RIGHT, best)[1]
    units = weight_of(plan, left, START)
    rows = left[plan.n_stats - 1] if plan.counts_apart else units
    return two.consider(plan, node, rows, units, left[1], feature, cut, RIGHT, best)[1]


@inner
def scan_prefixes(
    plan: Plan,
    node: Node,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    order: LongArray,
    n: int,
    best: Split,
) -> Split:
    """The best prefix of the n categories, for a numeric target or two classes: sums stay in registers."""
    n_stats, start = plan.n_stats, int64(coded.start[feature])
    units = sum_ = rows = int64(0)
    for i in range(n - 1):
        at = (start + order[i]) * n_stats
        units += histogram[at] + (histogram[at + 1] if plan.n_classes else 0)
        sum_ += histogram[at + 1]
        rows += histogram[at + n_stats - 1]
        n_rows = rows if plan.counts_apart else units
        _, best = two.consider(plan, node, n_rows, units, sum_, feature, int64(i + 1), RIGHT, best)
    return best


@inner
def scan_categories(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    scratch: Scratch,
    best: Split,
) -> tuple[Split, bool]:
    """The best set of categories of the feature, and whether it takes several values.

    Its `cut` is the length of the prefix, or, where all sets are tried, the bit pattern of the set.
    """
    order, left, n_stats = scratch.order, scratch.left, plan.n_stats
    n = list_present(plan, coded, feature, histogram, order)
    if n < 2:
        return best, False
    if is_shrunk(scratch.place[-1], coded, feature):
        return scan_shrunk(
            plan, node, total, coded, feature, histogram, order, n, scratch.place, scratch.inside, best
        )
    for k in range(n_stats):
        left[k] = 0
    if not lists_all(plan, n):
        arrange(plan, coded, feature, histogram, total, order, n, scratch.place)
        if plan.n_classes <= 2:
            return scan_prefixes(plan, node, coded, feature, histogram, order, n, best), True
        for i in range(n - 1):
            at = place_of(plan, coded, feature, order[i])
            for k in range(n_stats):
                left[k] += histogram[at + k]
            best = consider(plan, node, total, left, feature, int64(i + 1), best)
        return best, True
    # A Gray code: each set differs from the one before by a single category. The first category stays out.
    pattern = int64(0)
    for step in range(1, 1 << (n - 1)):
        bit = 0
        while not step >> bit & 1:
            bit += 1
        at = place_of(plan, coded, feature, order[bit + 1])
        pattern ^= 1 << bit
        for k in range(n_stats):
            left[k] += histogram[at + k] if pattern >> bit & 1 else -histogram[at + k]
        best = consider(plan, node, total, left, feature, pattern, best)
    return best, True


@inner
def choose_set(
    plan: Plan, total: LongArray, coded: Coded, feature: int, cut: int, histogram: LongArray, scratch: Scratch
) -> int:
    """Mark in `in_set` which categories go left; whether missing values do, or -1 if none was seen.

    The first category of the node goes left, or the answer yes, so that the same split is always drawn the
    same way. A category is marked 1 for left, 0 for right, -1 where the node did not see it.
    """
    order, in_set = scratch.order, scratch.in_set
    n = list_present(plan, coded, feature, histogram, order)
    first = order[0]
    shrinks = is_shrunk(scratch.place[-1], coded, feature)
    listed = not shrinks and lists_all(plan, n)
    if shrinks:
        arrange_shrunk(plan, coded, feature, histogram, total, order, n, scratch.place, scratch.inside)
    elif not listed:
        arrange(plan, coded, feature, histogram, total, order, n, scratch.place)
    return mark_sides(coded, feature, order, n, first, cut, listed, in_set)


@inner
def mark_sides(
    coded: Coded,
    feature: int,
    order: LongArray,
    n: int,
    first: int,
    cut: int,
    listed: bool,
    in_set: SignArray,
) -> int:
    """Mark which of the n categories in their order go left; whether missing values do, -1 if none was seen.

    They are a prefix as long as `cut`, or, if all sets are listed, those whose bit is in it. `first` is the
    category that goes left.
    """
    last = last_code(coded, feature, NO_SHIFT)
    for code in range(coded.n_codes[feature]):
        in_set[code] = -1
    seen, missing_left, first_left, yes_left = False, -1, False, False
    for i in range(n):
        goes_left = (i > 0 and cut >> (i - 1) & 1 == 1) if listed else i < cut
        if order[i] == first:
            first_left = goes_left
        if order[i] == last:
            missing_left = 1 if goes_left else 0
        else:
            in_set[order[i]] = 1 if goes_left else 0
            seen = seen or order[i] == 1
            yes_left = yes_left or (order[i] == 1 and goes_left)
    turn = not first_left
    if coded.is_subset[feature] == QUESTION:
        turn = not yes_left if seen else first_left
    if turn:
        for i in range(n):
            if order[i] != last:
                in_set[order[i]] = 1 - in_set[order[i]]
        if missing_left >= 0:
            missing_left = 1 - missing_left
    return missing_left
