"""The best set of categories to send left; missing values are one more category.

For two classes and for numbers the best set is a prefix of the categories in the order of their mean
(Fisher; Breiman et al.), for every convex gain. With more classes, and for ratios of gains, all sets are
tried if the categories are few (also if a minimum of rows or weight excludes sets), and otherwise the
prefixes of their order along the first principal component of the class fractions (Coppersmith, Hong and
Hosking).

That is exact for the rows of the node. Among many categories the best set fits noise: their means are
shrunk first, see the second part.
"""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, LongArray, SignArray
from holdfast.kernels.growth import many_classes as classes
from holdfast.kernels.growth import two_statistics as two
from holdfast.kernels.growth.constraints import constrained_gain
from holdfast.kernels.growth.criteria import (
    Node,
    Plan,
    add_class,
    class_impurity,
    gain_of_two,
    improvement_of,
    is_allowed,
    weight_of,
)
from holdfast.kernels.growth.histogram import Coded, last_code
from holdfast.kernels.growth.many_classes import HEAD
from holdfast.kernels.growth.sorting import sort_by
from holdfast.kernels.growth.split import RIGHT, Scratch, Split, better
from holdfast.kernels.jit import allocating, inner, int64

YES_NO = 2  # in Coded.is_subset: a custom feature, whose value yes goes left


@inner
def list_present(plan: Plan, coded: Coded, feature: int, histogram: LongArray, order: LongArray) -> int:
    """Write the codes that occur in the node, the missing one last; return their number."""
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
    # The best set that the limits allow need not be a prefix.
    is_limited = plan.min_rows > 1 or plan.min_weight > 0.0 or plan.is_rate == 1
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
    """Write place[code] = the category's class fractions along their first principal component."""
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
    """Return the better of the best split so far and the one that sends `left` to the left."""
    if plan.n_classes > 2:
        return classes.consider(plan, node, total, left, feature, cut, RIGHT, best)[1]
    units = weight_of(plan, left, HEAD)
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
    """Return the best prefix of the n categories, for a numeric target or two classes: sums in registers."""
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
    """Return the best set of categories of the feature, and whether it takes several values.

    Its `cut` is the length of the prefix, or, if all sets are tried, the bit pattern of the set.
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
    # A Gray code: each set differs from the one before by a single category. The first one is never in it.
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
    """Mark in `in_set` which categories go left; return whether missing values do, -1 if there are none.

    The first category of the node goes left, or the value yes, so that equal splits are always written alike.
    A category is marked 1 for left, 0 for right, -1 if it is absent from the node.
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
    """Mark which of the n categories in `order` go left; return whether missing values do, -1 without any.

    They are a prefix of length `cut`, or, if all sets are listed, those whose bit is set in it. `first` is
    the category that goes left.
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
    if coded.is_subset[feature] == YES_NO:
        turn = not yes_left if seen else first_left
    if turn:
        for i in range(n):
            if order[i] != last:
                in_set[order[i]] = 1 - in_set[order[i]]
        if missing_left >= 0:
            missing_left = 1 - missing_left
    return missing_left


# -- Columns with many categories ----------------------------------------------------------------------------

NO_SHIFT = int64(0)  # categories keep all bits of their codes
MOST_LISTED = 9  # categories up to which all (at most 255) sets are tried, without shrinkage
LEAST_ROWS = 10  # of a category in a node; with fewer it is rare
CLEAR = 2.0  # times the spread by chance: above it a rare category's own mean errs less than the pooled one
CLEARLY = 3.0  # standard errors above that, rare categories are not pooled
ROUNDED = 1.0 + 1e-9  # tolerance for rounding
LEAST_EXCESS = 0.01  # lower limit of the excess spread, so that one set is the best


class Groups(NamedTuple):
    """The categories of a node in groups: each frequent one, and the rare and missing ones together."""

    n: int
    is_pooled: bool  # False: rare categories differ by more than chance, and each is its own group
    least_weight: float  # of a category that is not rare
    rare_weight: float
    prior: float  # the weight that the node's mean has in the mean of a group


@inner
def place_of(plan: Plan, coded: Coded, feature: int, code: int) -> int:
    """Return the place of a category's statistics in a histogram."""
    start: int = coded.start[feature]
    return (start + code) * plan.n_stats


@inner
def is_shrunk(row_weight: float, coded: Coded, feature: int) -> bool:
    """True if the column has so many categories that their means are shrunk."""
    return bool(row_weight > 0.0 and coded.n_codes[feature] > MOST_LISTED)


@inner
def variance_of(plan: Plan, total: LongArray, weight: float) -> float:
    """Return the variance of the target in the node, per weight; for classes the Gini impurity."""
    if plan.n_classes == 0:
        mean, square = float(total[1] / weight), float(total[2] * plan.square_unit / weight)
        return max(square - mean * mean, 0.0)
    variance = 1.0
    for k in range(plan.n_classes):
        variance -= (total[k] / weight) ** 2
    return variance


@inner
def squared_deviation(plan: Plan, total: LongArray, weight: float, stats: LongArray, at: int) -> float:
    """Return the squared deviation of a group's sums from those expected by its weight, by that weight."""
    own, squared = float(weight_of(plan, stats, at)), 0.0
    for k in range(max(plan.n_classes, 1)):
        which = k if plan.n_classes else 1
        squared += (stats[at + which] - own * (total[which] / weight)) ** 2
    return squared / own


@inner
def group_categories(
    plan: Plan,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    total: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    rare: LongArray,
) -> Groups:
    """Group the n categories in `order`, and write the sums of the rare ones to `rare`."""
    row_weight = place[-1]
    weight, last = float(weight_of(plan, total, HEAD)), last_code(coded, feature, NO_SHIFT)
    chance = variance_of(plan, total, weight) * row_weight
    least_weight, n_full, n_rare = LEAST_ROWS * row_weight, int64(0), int64(0)
    spread = squares = rare_spread = rare_squares = 0.0
    for k in range(plan.n_stats):
        rare[k] = 0
    for i in range(n):
        at = place_of(plan, coded, feature, order[i])
        own = float(weight_of(plan, histogram, at))
        apart = squared_deviation(plan, total, weight, histogram, at)
        if own < least_weight or order[i] == last:
            for k in range(plan.n_stats):
                rare[k] += histogram[at + k]
            rare_spread += apart
            rare_squares += own * own
            n_rare += 1
        else:
            spread += apart
            squares += own * own
            n_full += 1
    rare_weight, is_pooled = float(weight_of(plan, rare, HEAD)), False
    if n_rare > 0:
        join_parts = squared_deviation(plan, total, weight, rare, HEAD)
        is_pooled = is_chance(rare_spread - join_parts, chance, n_rare)
        if is_pooled:
            rare_spread, rare_squares, n_rare = join_parts, rare_weight * rare_weight, int64(1)
    n_groups = n_full + n_rare
    prior = prior_weight(weight, spread + rare_spread, squares + rare_squares, chance, n_groups)
    return Groups(n_groups, is_pooled, least_weight, rare_weight, prior)


@inner
def is_chance(spread: float, chance: float, n: int) -> bool:
    """True unless n groups clearly spread more than twice as far about their mean as chance explains."""
    return bool(spread <= chance * (CLEAR * (n - 1) + CLEARLY * math.sqrt(2.0 * (n - 1))) * ROUNDED)


@inner
def prior_weight(weight: float, spread: float, squares: float, chance: float, n: int) -> float:
    """Return the weight of the node's mean in the mean of a group; 0 for two groups, which form one set."""
    if n < 3 or chance <= 0.0:
        return 0.0
    return (weight - squares / weight) / max(spread / chance - (n - 1), LEAST_EXCESS)


@inner
def is_rare(coded: Coded, feature: int, code: int, weight: float, groups: Groups) -> bool:
    """True if a category is pooled with the missing values."""
    return bool(
        groups.is_pooled and (weight < groups.least_weight or code == last_code(coded, feature, NO_SHIFT))
    )


@inner
def place_means(
    plan: Plan,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    total: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    rare: LongArray,
    groups: Groups,
) -> None:
    """Write place[code] = the shrunk deviation of a category's mean from the node's."""
    mean = total[1] / float(weight_of(plan, total, HEAD))
    for i in range(n):
        at = place_of(plan, coded, feature, order[i])
        own, sum_ = float(weight_of(plan, histogram, at)), float(histogram[at + 1])
        if is_rare(coded, feature, order[i], own, groups):
            own, sum_ = groups.rare_weight, float(rare[1])
        place[order[i]] = (sum_ - own * mean) / (own + groups.prior)


@allocating
def place_classes(
    plan: Plan,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    total: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    rare: LongArray,
    groups: Groups,
) -> FloatArray:
    """Write place[code] = the shrunk deviation of its class fractions along their first principal component.

    Return these deviations from the node's fractions, a line for each position in `order`.
    """
    n_classes, weight = plan.n_classes, float(weight_of(plan, total, HEAD))
    covariance, deviation = np.zeros((n_classes, n_classes)), np.empty((n, n_classes))
    for i in range(n):
        at = place_of(plan, coded, feature, order[i])
        own = in_group = float(weight_of(plan, histogram, at))
        stats, first = histogram, at
        if is_rare(coded, feature, order[i], own, groups):
            stats, first, in_group = rare, HEAD, groups.rare_weight
        for k in range(n_classes):
            deviation[i, k] = (stats[first + k] - in_group * (total[k] / weight)) / (in_group + groups.prior)
        for k in range(n_classes):
            for m in range(n_classes):
                covariance[k, m] += own / weight * deviation[i, k] * deviation[i, m]
    axis = first_component(covariance, np.empty(n_classes))
    for i in range(n):
        along = 0.0
        for k in range(n_classes):
            along += axis[k] * deviation[i, k]
        place[order[i]] = along
    return deviation


@allocating
def arrange_shrunk(
    plan: Plan,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    total: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    rare: LongArray,
) -> int:
    """Sort the categories so that good sets are prefixes; return the number of groups."""
    groups = group_categories(plan, coded, feature, histogram, total, order, n, place, rare)
    if plan.n_classes > 2:
        place_classes(plan, coded, feature, histogram, total, order, n, place, rare, groups)
    else:
        place_means(plan, coded, feature, histogram, total, order, n, place, rare, groups)
    sort_by(order, place, n)
    return groups.n


@allocating
def first_component(covariance: FloatArray, scratch: FloatArray) -> FloatArray:
    """Return the axis of greatest variance, by the power method from the class that varies most."""
    n = len(covariance)
    axis = np.zeros(n)
    widest = 0
    for k in range(n):
        if covariance[k, k] > covariance[widest, widest]:
            widest = k
    axis[widest] = 1.0
    for _ in range(100):
        length = 0.0
        for k in range(n):
            scratch[k] = 0.0
            for m in range(n):
                scratch[k] += covariance[k, m] * axis[m]
            length += scratch[k] * scratch[k]
        if length == 0.0:
            break
        length = math.sqrt(length)
        for k in range(n):
            axis[k] = scratch[k] / length
    return axis


@inner
def scan_means(
    plan: Plan,
    node: Node,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    best: Split,
) -> Split:
    """Return the best prefix of the n categories by their shrunk means, for numbers or two classes.

    Shrunk deviations need not sum to 0. The remainder is spread evenly over the weight, so that the two sides
    of a split sum to the node.
    """
    n_stats, whole, remains = plan.n_stats, float(node.total), 0.0
    for i in range(n):
        own = weight_of(plan, histogram, place_of(plan, coded, feature, order[i]))
        remains += own / node.weight * place[order[i]]
    units = sum_ = rows = int64(0)
    shrunk_sum = 0.0
    for i in range(n - 1):
        at = place_of(plan, coded, feature, order[i])
        own = weight_of(plan, histogram, at)
        units += own
        sum_ += histogram[at + 1]
        rows += histogram[at + n_stats - 1]
        shrunk_sum += own * (whole / node.weight + (place[order[i]] - remains))
        if place[order[i]] == place[order[i + 1]]:
            continue  # the same group, or two with equal means
        if is_allowed(plan, node, rows if plan.counts_apart else units, units, sum_):
            left, right, in_left = float(units), float(node.units - units), shrunk_sum
            if plan.n_classes == 2:
                in_left = min(max(in_left, 0.0, whole - right), left, whole)
            gain = gain_of_two(plan, node, left, in_left, right, whole - in_left)
            if node.is_constrained:
                gain = constrained_gain(plan, node, gain, left, in_left, right, whole - in_left)
            if gain >= 0.0:
                improvement = improvement_of(plan, node, gain, left, right)
                best = better(best, improvement, gain / node.cost, feature, int64(i + 1), RIGHT)
    return best


@allocating
def scan_fractions(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    rare: LongArray,
    groups: Groups,
    best: Split,
) -> Split:
    """Return the best prefix by shrunk class fractions, for three classes or more."""
    n_classes, listed = plan.n_classes, order[:n].copy()
    deviation = place_classes(plan, coded, feature, histogram, total, order, n, place, rare, groups)
    at_place = np.empty(len(place), np.int64)  # the line of each category
    for i in range(n):
        at_place[listed[i]] = i
    remains, left = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(n):
        own = weight_of(plan, histogram, place_of(plan, coded, feature, listed[i]))
        for k in range(n_classes):
            remains[k] += own / node.weight * deviation[i, k]
    sort_by(order, place, n)
    units = rows = int64(0)
    for i in range(n - 1):
        at = place_of(plan, coded, feature, order[i])
        own = weight_of(plan, histogram, at)
        units += own
        rows += histogram[at + plan.n_stats - 1]
        line = at_place[order[i]]
        for k in range(n_classes):
            left[k] += own * (total[k] / node.weight + (deviation[line, k] - remains[k]))
        if place[order[i]] == place[order[i + 1]]:
            continue
        if is_allowed(plan, node, rows if plan.counts_apart else units, units, HEAD):
            weight_left, weight_right = float(units), float(node.units - units)
            of_left = of_right = 0.0
            for k in range(n_classes):
                in_left = min(max(left[k], 0.0), float(total[k]))
                of_left = add_class(plan.formula, of_left, in_left)
                of_right = add_class(plan.formula, of_right, total[k] - in_left)
            of_left = class_impurity(plan.formula, weight_left, of_left)
            of_right = class_impurity(plan.formula, weight_right, of_right)
            gain = max(node.impurity - (of_left + of_right), 0.0)
            if node.is_constrained:
                of_class = float(total[plan.outcome])
                in_left = min(max(left[plan.outcome], 0.0), of_class)
                gain = constrained_gain(
                    plan, node, gain, weight_left, in_left, weight_right, of_class - in_left
                )
            if gain >= 0.0:
                improvement = improvement_of(plan, node, gain, weight_left, weight_right)
                best = better(best, improvement, gain / node.cost, feature, int64(i + 1), RIGHT)
    return best


@inner
def scan_shrunk(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    feature: int,
    histogram: LongArray,
    order: LongArray,
    n: int,
    place: FloatArray,
    rare: LongArray,
    best: Split,
) -> tuple[Split, bool]:
    """Return the best prefix of the n categories by their shrunk means, and whether there are two groups."""
    groups = group_categories(plan, coded, feature, histogram, total, order, n, place, rare)
    if groups.n < 2:
        return best, False
    if plan.n_classes > 2:
        best = scan_fractions(
            plan, node, total, coded, feature, histogram, order, n, place, rare, groups, best
        )
        return best, True
    place_means(plan, coded, feature, histogram, total, order, n, place, rare, groups)
    sort_by(order, place, n)
    return scan_means(plan, node, coded, feature, histogram, order, n, place, best), True
