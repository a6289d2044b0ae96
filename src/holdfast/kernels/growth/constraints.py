"""Constraints on growth: monotone directions, which features a node may use, and prescribed first splits.

A node has two bounds for its value. At a split on a feature with a direction, the values of the two sides,
each clipped to the bounds, must be in its order, and the middle between them bounds all nodes below.
Clipping lowers the gain of a split, so that the bounds of bins, which ignore it, remain valid; only what the
node itself loses by being clipped is added to them.
"""

import math
from typing import NamedTuple

from holdfast._arrays import ByteArray, FloatArray, LongArray, SignArray
from holdfast.kernels.growth.criteria import MISCLASSIFICATION, Node, Plan, weight_of
from holdfast.kernels.jit import inner, int64

# Columns of the table of constrained nodes.
LOWEST, HIGHEST, PARENT, FIRST_SPLIT = range(4)
N_BOUNDS = 4
START = int64(0)


class FirstSplits(NamedTuple):
    """Prescribed splits, the root first, with the kernels' numbers of features and values."""

    feature: LongArray
    cut: LongArray  # the highest rank that goes left
    missing_left: LongArray
    left: LongArray  # the next split on the left; -1 for none
    right: LongArray
    set_start: LongArray  # where its categories begin in `in_set`
    in_set: SignArray
    threshold: FloatArray  # as the user wrote it; NaN for a set


class Constraints(NamedTuple):
    """Constraints on growth; arrays are empty where there is none."""

    is_set: int  # 0 if there is no constraint at all
    direction: SignArray  # (features,) 1: the value must not fall as the feature rises; -1: not rise
    first_depth: LongArray  # (features,) the number of splits that must come before the feature's
    groups: ByteArray  # (groups, features) 1 where the feature belongs to the group
    most_together: int  # most features on one path
    cost: FloatArray  # (features,) the cheapest costs 1
    first_splits: FirstSplits


class AllowedFeatures(NamedTuple):
    """Constraints on the node that is being searched, by feature."""

    direction: SignArray  # (features,) or empty
    is_excluded: ByteArray  # (features,) 1 if the node may not use the feature
    is_used: ByteArray  # (features,) 1 if a node above uses it
    cost: FloatArray  # (features,) of using it here
    is_set: ByteArray  # (1,) 0 if no feature has a constraint


@inner
def clip_value(node: Node, value: float) -> float:
    """Return the value clipped to the bounds of the node."""
    return min(max(value, node.lowest), node.highest)


@inner
def clipping_loss(plan: Plan, weight: float, value: float, used: float) -> float:
    """Return a lower bound, in units of gain, of a side's loss by predicting `used` instead of its value."""
    if plan.is_normalised or plan.formula == MISCLASSIFICATION or value == used:
        return 0.0
    if plan.is_rate:
        if value <= 0.0:
            return weight * used
        return weight * (value * math.log(value / used) - value + used)
    if plan.n_classes > 2:
        return weight * (value - used) ** 2
    # Entropy loses more than this (Pinsker's inequality), and the bound stays finite at 0 and 1.
    factor = plan.shift_factor if plan.shift_factor > 0.0 else 2.0 / math.log(2.0)
    return factor * weight * (value - used) ** 2


@inner
def constrained_gain(
    plan: Plan,
    node: Node,
    gain: float,
    weight_left: float,
    sum_left: float,
    weight_right: float,
    sum_right: float,
) -> float:
    """Return the gain with both values clipped; -1 if their order is wrong, or clipping makes them equal."""
    own_left, own_right = sum_left / weight_left, sum_right / weight_right
    left, right = clip_value(node, own_left), clip_value(node, own_right)
    if (right - left) * node.direction < 0.0 or (left == right and own_left != own_right):
        return -1.0
    loss = clipping_loss(plan, weight_left, own_left, left)
    loss += clipping_loss(plan, weight_right, own_right, right)
    return max(gain - loss + node.loss, 0.0)


@inner
def with_direction(node: Node, allowed: AllowedFeatures, feature: int) -> Node:
    """Return the node with the direction and the cost of a feature."""
    direction = int64(allowed.direction[feature]) if len(allowed.direction) > 0 else int64(0)
    return constrain(
        node, node.rounding, direction, node.lowest, node.highest, node.loss, allowed.cost[feature]
    )


@inner
def without_direction(node: Node) -> Node:
    """Return the node without a direction, as for a split of known from missing values."""
    return constrain(node, node.rounding, int64(0), node.lowest, node.highest, node.loss, node.cost)


@inner
def with_bounds(plan: Plan, node: Node, total: LongArray, lowest: float, highest: float) -> Node:
    """Return the node with bounds for its value, and its loss by them."""
    value = value_of(plan, node.weight, total)
    loss = clipping_loss(plan, node.weight, value, min(max(value, lowest), highest))
    return constrain(node, node.rounding + loss, int64(0), lowest, highest, loss, 1.0)


@inner
def constrain(
    node: Node, rounding: float, direction: int, lowest: float, highest: float, loss: float, cost: float
) -> Node:
    """Return the node with these constraints."""
    return Node(
        node.rows,
        node.weight,
        node.impurity,
        node.low,
        node.high,
        node.per_range,
        node.units,
        node.total,
        rounding,
        direction,
        lowest,
        highest,
        loss,
        cost,
        int64(direction != 0 or lowest > -math.inf or highest < math.inf),
    )


@inner
def value_of(plan: Plan, weight: float, total: LongArray) -> float:
    """Return the mean of the target, or the fraction of the class."""
    return float(total[plan.outcome] if plan.n_classes > 2 else total[1]) / weight


@inner
def bound_children(
    plan: Plan, totals: LongArray, left: int, right: int, direction: int, bounds: FloatArray
) -> None:
    """Pass the bounds of a node on to its children; the middle of their values separates them."""
    parent = int64(bounds[left, PARENT])
    low, high = bounds[parent, LOWEST], bounds[parent, HIGHEST]
    bounds[left, LOWEST], bounds[left, HIGHEST] = low, high
    bounds[right, LOWEST], bounds[right, HIGHEST] = low, high
    if direction == 0:
        return
    weight_left = float(weight_of(plan, totals[left], START))
    weight_right = float(weight_of(plan, totals[right], START))
    in_left = min(max(value_of(plan, weight_left, totals[left]), low), high)
    in_right = min(max(value_of(plan, weight_right, totals[right]), low), high)
    middle = in_left + (in_right - in_left) * 0.5
    bounds[left, HIGHEST if direction > 0 else LOWEST] = middle
    bounds[right, LOWEST if direction > 0 else HIGHEST] = middle


@inner
def find_allowed_features(
    constraints: Constraints,
    fields: LongArray,
    bounds: FloatArray,
    at: int,
    depth: int,
    column: int,
    allowed: AllowedFeatures,
) -> None:
    """Find the features that the node may use, and their costs; `column` of fields is the feature."""
    n_features = len(allowed.is_excluded)
    n_used = 0
    for f in range(n_features):
        allowed.is_excluded[f] = allowed.is_used[f] = 0
    node = int64(bounds[at, PARENT])
    while node >= 0:
        n_used += 1 - allowed.is_used[fields[node, column]]
        allowed.is_used[fields[node, column]] = 1
        node = int64(bounds[node, PARENT])
    for f in range(len(constraints.first_depth)):
        if depth < constraints.first_depth[f]:
            allowed.is_excluded[f] = 1
    if n_used >= constraints.most_together:
        for f in range(n_features):
            if not allowed.is_used[f]:
                allowed.is_excluded[f] = 1
    if len(constraints.groups) > 0:
        exclude_by_groups(constraints.groups, allowed)
    for f in range(len(constraints.cost)):
        # A feature used above is paid for: it costs as little as the cheapest.
        allowed.cost[f] = 1.0 if allowed.is_used[f] else constraints.cost[f]


@inner
def exclude_by_groups(groups: ByteArray, allowed: AllowedFeatures) -> None:
    """Exclude the features that share no group with all features used above."""
    n_features = len(allowed.is_excluded)
    for f in range(n_features):
        if allowed.is_excluded[f]:
            continue
        is_found = False
        for g in range(len(groups)):
            fits = groups[g, f] > 0
            for k in range(n_features):
                fits = fits and (allowed.is_used[k] == 0 or groups[g, k] > 0)
            is_found = is_found or fits
        if not is_found:
            allowed.is_excluded[f] = 1
