"""What a split is worth: functions of additive sufficient statistics, and one scan serves every criterion.

A node, or one side of a split, is a short vector of whole numbers. With classes it holds the weight of each
class; with a numeric target, the weight and the weighted sums of the target and of its square, which only
bounds use. Where rows and weights differ, the number of rows follows at the end. Whole numbers add up exactly
in any order, so that a histogram minus another is exact, equal splits have equal worth to the last bit, and
nothing depends on threads or chunks.

Gains are in units of weight times impurity: impurity of the node minus that of its two sides.
"""

import math
from typing import NamedTuple

from holdfast.arrays import LongArray
from holdfast.kernels.jit import inner, int64

GINI, ENTROPY, MISCLASSIFICATION, GAIN_RATIO, MUTUAL_INFORMATION, SQUARED_ERROR, POISSON = range(7)

# Worth is compared after rounding to this many parts of the node's impurity: two splits that differ by less
# are tied, and the lower feature and threshold win. Rounding errors of the gain lie far below it.
PARTS = 2.0**36
NEVER = int64(-1)  # worth of what cannot be split


class Plan(NamedTuple):
    """The numbers that every kernel needs to know about the task; the same for all nodes of a tree."""

    criterion: int
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
def pair_gain(criterion: int, weight_left: float, sum_left: float, weight: float, total: float) -> float:
    """Gain of a split of a numeric target, or of two classes (sum = weight of the second class)."""
    weight_right = weight - weight_left
    if weight_left <= 0.0 or weight_right <= 0.0:
        return 0.0
    if criterion == SQUARED_ERROR or criterion == GINI:  # noqa: SIM109 (no tuples in inner loops)
        shift = sum_left * weight - total * weight_left
        gain = shift * shift / (weight * weight_left * weight_right)
        return 2.0 * gain if criterion == GINI else gain
    sum_right = total - sum_left
    if criterion == POISSON:
        gain = -total * math.log2(total / weight)
        if sum_left > 0.0:
            gain += sum_left * math.log2(sum_left / weight_left)
        if sum_right > 0.0:
            gain += sum_right * math.log2(sum_right / weight_right)
        return gain
    if criterion == MISCLASSIFICATION:
        return (
            max(sum_left, weight_left - sum_left)
            + max(sum_right, weight_right - sum_right)
            - max(total, weight - total)
        )
    return (
        x_log_x(sum_left)
        + x_log_x(weight_left - sum_left)
        - x_log_x(weight_left)
        + x_log_x(sum_right)
        + x_log_x(weight_right - sum_right)
        - x_log_x(weight_right)
        - x_log_x(total)
        - x_log_x(weight - total)
        + x_log_x(weight)
    )


@inner
def classes_gain(
    criterion: int, n_classes: int, left: LongArray, total: LongArray, weight_left: float, weight: float
) -> float:
    """Gain of a split of any number of classes."""
    weight_right = weight - weight_left
    if weight_left <= 0.0 or weight_right <= 0.0:
        return 0.0
    gain = 0.0
    if criterion == GINI:
        for k in range(n_classes):
            shift = left[k] * weight - total[k] * weight_left
            gain += shift * shift
        return gain / (weight * weight_left * weight_right)
    if criterion == MISCLASSIFICATION:
        most_left = most_right = most = 0.0
        for k in range(n_classes):
            most_left = max(most_left, float(left[k]))
            most_right = max(most_right, float(total[k] - left[k]))
            most = max(most, float(total[k]))
        return most_left + most_right - most
    for k in range(n_classes):
        gain += x_log_x(float(left[k])) + x_log_x(float(total[k] - left[k])) - x_log_x(float(total[k]))
    return gain - x_log_x(weight_left) - x_log_x(weight_right) + x_log_x(weight)


@inner
def split_entropy(weight_left: float, weight: float) -> float:
    """Entropy of the two sides, times weight."""
    return x_log_x(weight) - x_log_x(weight_left) - x_log_x(weight - weight_left)


@inner
def worth_of(plan: Plan, node: Node, gain: float, weight_left: float) -> int:
    """The gain on the scale on which splits compete: a whole number."""
    if plan.criterion == GAIN_RATIO or plan.criterion == MUTUAL_INFORMATION:
        entropy = split_entropy(weight_left, node.weight)
        if plan.criterion == MUTUAL_INFORMATION:
            entropy = (entropy + node.impurity) / 2.0
        if entropy <= 0.0:
            return int64(1 << 40)
        return int64(math.floor(min(gain / entropy, 8.0) * PARTS + 0.5))
    return int64(math.floor(min(gain / node.impurity, 8.0) * PARTS + 0.5))


@inner
def is_allowed(plan: Plan, node: Node, rows: int, weight: float, total: float, total_all: float) -> bool:
    """True if both sides hold enough rows and weight; `total` is the left side's sum of the target."""
    if rows < plan.min_rows or node.rows - rows < plan.min_rows:
        return False
    if weight < plan.min_weight or node.weight - weight < plan.min_weight:
        return False
    # A leaf that predicts a rate of zero makes every later event infinitely unlikely.
    return plan.criterion != POISSON or 0.0 < total < total_all
