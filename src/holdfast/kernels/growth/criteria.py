"""What a split is worth: functions of additive sufficient statistics, and one scan serves every criterion.

A node, or one side of a split, is a short vector of integers. With classes it holds the weight of each
class; with a numeric target, the weight and the weighted sums of the target and of its square, which only
bounds use. Where rows and weights differ, the number of rows follows at the end. integers add up exactly
in any order, so that a histogram minus another is exact, equal splits have equal worth to the last bit, and
nothing depends on threads or chunks.

Gains are in units of weight times impurity: impurity of the node minus that of its two sides.
"""

import math
from typing import NamedTuple

from holdfast.arrays import LongArray
from holdfast.kernels.jit import inner, int64

GINI, ENTROPY, MISCLASSIFICATION, MUTUAL_INFORMATION, SQUARED_ERROR, POISSON = range(6)

# Worth is compared after rounding to this many parts of the node's impurity: two splits that differ by less
# are tied, and the lower feature and threshold win. Rounding errors of the gain lie far below it.
PARTS = 2.0**36
# A ratio means nothing where one side weighs next to nothing: rounding would decide it.
LEAST_ENTROPY = 1e-9
NEVER = int64(-1)  # worth of what cannot be split


class Plan(NamedTuple):
    """The numbers that every kernel needs to know about the task; the same for all nodes of a tree."""

    criterion: int
    is_guarded: int  # 1 if features compete by gain ratio, each with the question that gains most
    threshold_cost: int  # 1 if a threshold then costs the bits that it takes to name it
    n_classes: int  # 0 for a numeric target
    n_stats: int  # length of a vector of statistics
    label_bits: int  # bits of a row's weight that hold its class
    counts_apart: int  # 1 if its last entry is the number of rows, 0 if weight and rows are the same
    min_rows: int  # in each side of a split
    min_weight: float  # in each side of a split
    square_unit: float  # unit of the sums of squares, in units of sum * sum / weight


class Node(NamedTuple):
    """The node that is being split."""

    rows: int
    weight: float
    impurity: float  # times weight
    low: float  # smallest target in the node, in units of sum / weight
    high: float
    per_range: float  # 1 / (high - low)
    units: int  # its weight as an integer
    total: int  # its sum of the target, or the weight of the second class
    blur: float  # what rounding may add to a gain or take from it


@inner
def x_log_x(x: float) -> float:
    """x log2 x, continued to 0."""
    return x * math.log2(x) if x > 0.0 else 0.0


@inner
def weight_of(plan: Plan, stats: LongArray, at: int) -> int:
    """Total weight of the statistics that stand at a place of an array."""
    weight: int = stats[at]
    if plan.n_classes == 0:
        return weight
    for k in range(1, plan.n_classes):
        weight += stats[at + k]
    return weight


@inner
def pair_gain(
    criterion: int,
    weight_left: float,
    sum_left: float,
    weight_right: float,
    sum_right: float,
    impurity: float,
) -> float:
    """Gain of a split of a numeric target, or of two classes (sum = weight of the second class).

    Both sides enter alike, so that a split and its mirror image are worth the same to the last bit.
    """
    if weight_left <= 0.0 or weight_right <= 0.0:
        return 0.0
    shift = sum_left * weight_right - sum_right * weight_left
    weight = weight_left + weight_right
    if criterion == SQUARED_ERROR or criterion == GINI:  # noqa: SIM109 (no tuples in inner loops)
        gain = shift * shift / (weight * (weight_left * weight_right))
        return 2.0 * gain if criterion == GINI else gain
    if criterion == POISSON:
        # Each side's rate relative to the node's, without the digits they share.
        total = sum_left + sum_right
        more_left, more_right = shift / (total * weight_left), -shift / (total * weight_right)
        gain_left = sum_left * math.log1p(more_left) if more_left > -1.0 else 0.0
        gain_right = sum_right * math.log1p(more_right) if more_right > -1.0 else 0.0
        return max(gain_left + gain_right, 0.0)
    if criterion == MISCLASSIFICATION:
        most_left, most_right = (
            max(sum_left, weight_left - sum_left),
            max(sum_right, weight_right - sum_right),
        )
        return max(impurity - ((weight_left - most_left) + (weight_right - most_right)), 0.0)
    of_left = x_log_x(weight_left) - (x_log_x(sum_left) + x_log_x(weight_left - sum_left))
    of_right = x_log_x(weight_right) - (x_log_x(sum_right) + x_log_x(weight_right - sum_right))
    return max(impurity - (of_left + of_right), 0.0)


@inner
def is_below(
    criterion: int, weight_left: float, sum_left: float, weight_right: float, sum_right: float, gain: float
) -> bool:
    """True if a split gains less than `gain`, found without a division; False says nothing."""
    if criterion != SQUARED_ERROR and criterion != GINI:
        return False
    shift = sum_left * weight_right - sum_right * weight_left
    limit = gain * (0.5 if criterion == GINI else 1.0)
    return shift * shift < limit * ((weight_left + weight_right) * (weight_left * weight_right))


@inner
def classes_gain(plan: Plan, node: Node, left: LongArray, total: LongArray, units_left: int) -> float:
    """Gain of a split of any number of classes."""
    weight_left, weight_right = float(units_left), float(node.units - units_left)
    if weight_left <= 0.0 or weight_right <= 0.0:
        return 0.0
    of_left = of_right = 0.0  # squares, the greatest, or logarithms
    for k in range(plan.n_classes):
        in_left, in_right = float(left[k]), float(total[k] - left[k])
        if plan.criterion == GINI:
            shift = in_left * weight_right - in_right * weight_left
            of_left += shift * shift
        elif plan.criterion == MISCLASSIFICATION:
            of_left, of_right = max(of_left, in_left), max(of_right, in_right)
        else:
            of_left += x_log_x(in_left)
            of_right += x_log_x(in_right)
    if plan.criterion == GINI:
        return of_left / ((weight_left + weight_right) * (weight_left * weight_right))
    if plan.criterion == MISCLASSIFICATION:
        return max(node.impurity - ((weight_left - of_left) + (weight_right - of_right)), 0.0)
    of_left, of_right = x_log_x(weight_left) - of_left, x_log_x(weight_right) - of_right
    return max(node.impurity - (of_left + of_right), 0.0)


@inner
def split_entropy(weight_left: float, weight_right: float) -> float:
    """Entropy of the two sides, times weight."""
    return x_log_x(weight_left + weight_right) - (x_log_x(weight_left) + x_log_x(weight_right))


@inner
def parts_of(node: Node, gain: float, entropy: float) -> int:
    """The gain per bit of an entropy, which is times weight, as an integer."""
    if entropy <= LEAST_ENTROPY * node.weight:
        return int64(0)
    return int64(math.floor(min(gain / entropy, 8.0) * PARTS + 0.5))


@inner
def worth_of(plan: Plan, node: Node, gain: float, weight_left: float, weight_right: float) -> int:
    """The gain on the scale on which splits compete: an integer."""
    if plan.criterion == MUTUAL_INFORMATION:
        return parts_of(node, gain, (split_entropy(weight_left, weight_right) + node.impurity) / 2.0)
    return int64(math.floor(min(gain / node.impurity, 8.0) * PARTS + 0.5))


@inner
def is_allowed(plan: Plan, node: Node, rows: int, units: int, total: int) -> bool:
    """True if both sides hold enough rows and weight; `total` is the left side's sum of the target."""
    if rows < plan.min_rows or node.rows - rows < plan.min_rows:
        return False
    if units < plan.min_weight or node.units - units < plan.min_weight:
        return False
    # A leaf that predicts a rate of zero makes every later event infinitely unlikely.
    return plan.criterion != POISSON or 0 < total < node.total
