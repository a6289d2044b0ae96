"""The gain of a split: criteria as functions of additive sufficient statistics, so that one scan serves all.

A node, or one side of a split, is a short vector of integers. For classes it holds the weight of each class;
for a numeric target the weight and the weighted sums of the target and of its square, which only bounds use.
Where rows and weights differ, the number of rows follows at the end. Sums of integers are exact in any
order, so that the difference of two histograms is exact, equal splits have equal gains to the last bit, and
nothing depends on threads or chunks.

Gains are in units of weight times impurity: impurity of the node minus that of its two sides. The formulas of
the criteria come first, one branch each; all other kernels use the properties in `Plan`, which
`growth/rules.py` declares. A gain must be convex in the statistics: bounds rely on it.
"""

import math
from typing import NamedTuple

from holdfast._arrays import LongArray
from holdfast.kernels.jit import inlined, inner, int64

GINI, ENTROPY, MISCLASSIFICATION, SQUARED_ERROR, POISSON, PINBALL = range(6)  # formulas
# An improvement is a gain in these parts of the node's impurity, rounded to an integer: splits that differ by
# less are tied. Then the feature whose name comes first wins, and its lowest threshold; of drawn features the
# one drawn first. Rounding errors of the gain lie far below a part.
PARTS = 2.0**36
# A ratio is meaningless if one side has almost no weight: rounding would decide it.
LEAST_ENTROPY = 1e-9
NEVER = int64(-1)  # improvement of what cannot be split


class Plan(NamedTuple):
    """Properties of the task that every kernel uses, the same for all nodes of a tree."""

    formula: int  # of the criterion
    shift_factor: float  # the gain is this times the squared shift of the mean; 0 if it has another formula
    by_ratio: int  # 1 if features compete by gain ratio, each with its split of highest gain
    is_normalised: int  # 1 if gains are divided by the mean of the entropies of the node and of its sides
    is_rate: int  # 1 for a rate, of which both sides of a split need some; 2 if a side may have none
    threshold_cost: int  # 1 if a threshold costs log2 of the number of thresholds; with `by_ratio`
    n_classes: int  # 0 for a numeric target
    n_stats: int  # length of a vector of statistics
    label_bits: int  # bits of a row's weight that hold its class
    counts_apart: int  # 1 if its last entry is the number of rows, 0 if weight and rows are the same
    min_rows: int  # in each side of a split
    min_weight: float  # in each side of a split
    square_unit: float  # unit of the sums of squares, in units of sum * sum / weight
    outcome: int  # of three classes or more, the one whose fraction may have directions


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
    rounding: float  # the most that rounding or clipping may change a gain by
    direction: int  # 1 or -1 if the two values must be in an order: see `constraints.py`
    lowest: float  # bounds of the value of the node and of all below it
    highest: float
    loss: float  # what the node loses by being clipped to them
    cost: float  # of the feature that is being searched
    is_constrained: int  # 1 if there is a direction or a bound


# -- Formulas ------------------------------------------------------------------------------------------------


@inner
def add_class(formula: int, so_far: float, weight: float) -> float:
    """Add a class of this weight to the running sum of a formula; 0 before the first class."""
    if formula == GINI:
        return so_far + weight * weight
    if formula == MISCLASSIFICATION:
        return max(so_far, weight)
    return so_far + x_log_x(weight)


@inner
def class_impurity(formula: int, weight: float, classes: float) -> float:
    """Return impurity times weight from the total weight and the formula's sum over the classes."""
    if formula == GINI:
        return weight - classes / max(weight, 1.0)  # weights are integers: without any there are no classes
    if formula == MISCLASSIFICATION:
        return weight - classes
    return x_log_x(weight) - classes


@inner
def row_impurity(formula: int, weight: float, total: float, mean: float) -> float:
    """Return the impurity times weight that a row adds to a numeric node; `total` is weight times target."""
    if formula == SQUARED_ERROR:
        return weight * (total / weight - mean) ** 2
    return total * math.log(total / weight / mean) if total > 0.0 else 0.0


@inner
def poisson_gain(
    weight_left: float, sum_left: float, weight_right: float, sum_right: float, shift: float
) -> float:
    """Return the gain of a split by Poisson deviance, the one numeric formula that is no squared shift."""
    # Each side's rate relative to the node's, without cancellation of shared digits.
    total = sum_left + sum_right
    more_left, more_right = shift / (total * weight_left), -shift / (total * weight_right)
    gain_left = sum_left * math.log1p(more_left) if more_left > -1.0 else 0.0
    gain_right = sum_right * math.log1p(more_right) if more_right > -1.0 else 0.0
    return max(gain_left + gain_right, 0.0)


@inner
def deviation(formula: int, target: float, mean: float) -> float:
    """Return the squared deviation from the mean; for Poisson, half the deviance up to terms that cancel."""
    if formula == SQUARED_ERROR:
        return (target - mean) ** 2
    return target * math.log(target / mean) if target > 0.0 else 0.0


@inner
def joint_impurity(
    formula: int, within: float, share_a: float, mean_a: float, share_b: float, mean_b: float, mean: float
) -> float:
    """Return a node's impurity from that within its sides, their fractions of the weight, and the means."""
    if formula == SQUARED_ERROR:
        return within + share_a * share_b * (mean_a - mean_b) ** 2
    if mean_a > 0.0:
        within += share_a * mean_a * math.log(mean_a / mean)
    if mean_b > 0.0:
        within += share_b * mean_b * math.log(mean_b / mean)
    return within


@inner
def x_log_x(x: float) -> float:
    """Return x log2(x), 0 at 0."""
    return x * math.log2(x) if x > 0.0 else 0.0


# -- Gains ---------------------------------------------------------------------------------------------------


@inner
def weight_of(plan: Plan, stats: LongArray, at: int) -> int:
    """Return the total weight of the statistics at a place of an array."""
    weight: int = stats[at]
    if plan.n_classes == 0:
        return weight
    for k in range(1, plan.n_classes):
        weight += stats[at + k]
    return weight


@inner
def impurity_of_two(formula: int, weight: float, second: float) -> float:
    """Return impurity times weight of two classes; `second` is the weight of the second."""
    return class_impurity(
        formula, weight, add_class(formula, add_class(formula, 0.0, second), weight - second)
    )


@inner
def gain_of_two(
    plan: Plan, node: Node, weight_left: float, sum_left: float, weight_right: float, sum_right: float
) -> float:
    """Return the gain of a split of a numeric target, or of two classes (sum = weight of the second class).

    The formula is symmetric in the sides: a split and its mirror image have the same gain to the last bit.
    """
    if weight_left <= 0.0 or weight_right <= 0.0:
        return 0.0
    shift = sum_left * weight_right - sum_right * weight_left
    if plan.shift_factor > 0.0:
        weight = weight_left + weight_right
        return plan.shift_factor * (shift * shift / (weight * (weight_left * weight_right)))
    if plan.n_classes == 0:
        return poisson_gain(weight_left, sum_left, weight_right, sum_right, shift)
    of_left = impurity_of_two(plan.formula, weight_left, sum_left)
    of_right = impurity_of_two(plan.formula, weight_right, sum_right)
    return max(node.impurity - (of_left + of_right), 0.0)


@inlined
def is_below(
    plan: Plan, weight_left: float, sum_left: float, weight_right: float, sum_right: float, gain: float
) -> bool:
    """True if a split surely gains less than `gain`, by a test without a division."""
    if plan.shift_factor == 0.0:
        return False
    shift = sum_left * weight_right - sum_right * weight_left
    limit = gain * ((weight_left + weight_right) * (weight_left * weight_right))
    return plan.shift_factor * (shift * shift) < limit


@inner
def classes_gain(plan: Plan, node: Node, left: LongArray, total: LongArray, units_left: int) -> float:
    """Return the gain of a split of any number of classes."""
    weight_left, weight_right = float(units_left), float(node.units - units_left)
    if weight_left <= 0.0 or weight_right <= 0.0:
        return 0.0
    of_left = of_right = 0.0
    if plan.shift_factor > 0.0:
        for k in range(plan.n_classes):
            shift = float(left[k]) * weight_right - float(total[k] - left[k]) * weight_left
            of_left += shift * shift
        return of_left / ((weight_left + weight_right) * (weight_left * weight_right))
    for k in range(plan.n_classes):
        of_left = add_class(plan.formula, of_left, float(left[k]))
        of_right = add_class(plan.formula, of_right, float(total[k] - left[k]))
    of_left = class_impurity(plan.formula, weight_left, of_left)
    of_right = class_impurity(plan.formula, weight_right, of_right)
    return max(node.impurity - (of_left + of_right), 0.0)


@inner
def split_entropy(weight_left: float, weight_right: float) -> float:
    """Return the entropy of the two sides, times weight."""
    return x_log_x(weight_left + weight_right) - (x_log_x(weight_left) + x_log_x(weight_right))


@inner
def parts_of(node: Node, gain: float, entropy: float) -> int:
    """Return the gain per bit of an entropy (times weight), as an integer."""
    if entropy <= LEAST_ENTROPY * node.weight:
        return int64(0)
    return int64(math.floor(min(gain / entropy / node.cost, 8.0) * PARTS + 0.5))


@inner
def improvement_of(plan: Plan, node: Node, gain: float, weight_left: float, weight_right: float) -> int:
    """Return the gain on the integer scale on which splits compete."""
    if plan.is_normalised:
        return parts_of(node, gain, (split_entropy(weight_left, weight_right) + node.impurity) / 2.0)
    return int64(math.floor(min(gain / node.impurity / node.cost, 8.0) * PARTS + 0.5))


@inner
def is_allowed(plan: Plan, node: Node, rows: int, units: int, total: int) -> bool:
    """True if both sides hold enough rows and weight; `total` is the left side's sum of the target."""
    if rows < plan.min_rows or node.rows - rows < plan.min_rows:
        return False
    if units < plan.min_weight or node.units - units < plan.min_weight:
        return False
    # A leaf that predicts a rate of zero gives every later event probability zero.
    return plan.is_rate != 1 or 0 < total < node.total
