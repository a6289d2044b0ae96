"""What people know before the data speaks: which way a value may go, what may be asked where, and first.

A node has two bounds for its value. Where a feature with a direction is asked, the values of the two sides,
each clipped to the bounds, must stand in its order, and the middle between them bounds all that grows below.
Clipping makes a split gain less, so that the bounds of bins, which ignore it, still hold; only what the node
itself loses by being clipped is added to them.
"""

import math
from typing import NamedTuple

from holdfast._arrays import ByteArray, FloatArray, LongArray, SignArray
from holdfast.kernels.growth.criteria import MISCLASSIFICATION, Node, Plan, weight_of
from holdfast.kernels.jit import inner, int64

# The columns of the table of guided nodes.
LOWEST, HIGHEST, PARENT, GIVEN = range(4)
N_GUIDED = 4
START = int64(0)


class Top(NamedTuple):
    """Splits that are prescribed, the root first; the numbers of the kernels for features and values."""

    feature: LongArray
    cut: LongArray  # the highest rank that goes left
    missing_left: LongArray
    left: LongArray  # the split that is prescribed on the left; -1 for none
    right: LongArray
    set_start: LongArray  # where its categories begin in `in_set`
    in_set: SignArray
    threshold: FloatArray  # as it was written; NaN where the split is a set


class Guide(NamedTuple):
    """What growth must keep to; arrays are empty where nothing is said."""

    is_set: int  # 0 where nothing at all is said
    direction: SignArray  # (features,) 1: the value must not fall as the feature rises; -1: not rise
    first_depth: LongArray  # (features,) the number of questions that must come before the feature's
    groups: ByteArray  # (groups, features) 1 where the feature belongs to the group
    most_together: int  # different features on one path
    cost: FloatArray  # (features,) the cheapest costs 1
    top: Top


class Paths(NamedTuple):
    """What is known of the node that is being searched, feature by feature."""

    direction: SignArray  # (features,) or empty
    is_closed: ByteArray  # (features,) 1 where the feature must not be asked
    is_used: ByteArray  # (features,) 1 where it is asked above
    cost: FloatArray  # (features,) of asking it here
    is_set: ByteArray  # (1,) 0 where nothing is said of any feature


@inner
def clipped(node: Node, value: float) -> float:
    """The value within the bounds of the node."""
    return min(max(value, node.lowest), node.highest)


@inner
def clipping_loss(plan: Plan, weight: float, value: float, given: float) -> float:
    """What a side loses at least, in units of gain, if its value is not its own but a given one."""
    if plan.is_normalised or plan.formula == MISCLASSIFICATION or value == given:
        return 0.0
    if plan.is_rate:
        return weight * (value * math.log(value / given) - value + given)
    if plan.n_classes > 2:
        return weight * (value - given) ** 2
    # Entropy loses more than this (Pinsker), and is not lost to infinity at a bound of 0 or 1.
    factor = plan.shift_factor if plan.shift_factor > 0.0 else 2.0 / math.log(2.0)
    return factor * weight * (value - given) ** 2


@inner
def guided_gain(
    plan: Plan,
    node: Node,
    gain: float,
    weight_left: float,
    sum_left: float,
    weight_right: float,
    sum_right: float,
) -> float:
    """The gain with both sides' values in the bounds; -1 if they are out of order, or clipped to the same."""
    own_left, own_right = sum_left / weight_left, sum_right / weight_right
    left, right = clipped(node, own_left), clipped(node, own_right)
    if (right - left) * node.direction < 0.0 or (left == right and own_left != own_right):
        return -1.0
    loss = clipping_loss(plan, weight_left, own_left, left)
    loss += clipping_loss(plan, weight_right, own_right, right)
    return max(gain - loss + node.loss, 0.0)


@inner
def toward(node: Node, paths: Paths, feature: int) -> Node:
    """The node as the feature splits it: with its direction and its cost."""
    direction = int64(paths.direction[feature]) if len(paths.direction) > 0 else int64(0)
    return guided(node, node.rounding, direction, node.lowest, node.highest, node.loss, paths.cost[feature])


@inner
def undirected(node: Node) -> Node:
    """The node as known values are parted from missing ones, which have no order."""
    return guided(node, node.rounding, int64(0), node.lowest, node.highest, node.loss, node.cost)


@inner
def within_bounds(plan: Plan, node: Node, total: LongArray, lowest: float, highest: float) -> Node:
    """The node with bounds for its value, and what it loses by them."""
    value = value_of(plan, node.weight, total)
    loss = clipping_loss(plan, node.weight, value, min(max(value, lowest), highest))
    return guided(node, node.rounding + loss, int64(0), lowest, highest, loss, 1.0)


@inner
def guided(
    node: Node, rounding: float, direction: int, lowest: float, highest: float, loss: float, cost: float
) -> Node:
    """The node with what guides its split."""
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
    """The mean of the target, or the fraction of the class."""
    return float(total[plan.outcome] if plan.n_classes > 2 else total[1]) / weight


@inner
def bound_children(
    plan: Plan, totals: LongArray, left: int, right: int, direction: int, bounds: FloatArray
) -> None:
    """Hand the bounds of a node down to its children, which the middle of their values parts."""
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
def open_paths(
    guide: Guide, fields: LongArray, guided_nodes: FloatArray, at: int, depth: int, column: int, paths: Paths
) -> None:
    """Say of every feature whether the node may ask it, and its cost; `column` of fields is the feature."""
    n_features = len(paths.is_closed)
    n_used = 0
    for f in range(n_features):
        paths.is_closed[f] = paths.is_used[f] = 0
    node = int64(guided_nodes[at, PARENT])
    while node >= 0:
        n_used += 1 - paths.is_used[fields[node, column]]
        paths.is_used[fields[node, column]] = 1
        node = int64(guided_nodes[node, PARENT])
    for f in range(len(guide.first_depth)):
        if depth < guide.first_depth[f]:
            paths.is_closed[f] = 1
    if n_used >= guide.most_together:
        for f in range(n_features):
            if not paths.is_used[f]:
                paths.is_closed[f] = 1
    if len(guide.groups) > 0:
        close_strangers(guide.groups, paths)
    for f in range(len(guide.cost)):
        # What was asked above is paid for: it costs as little as the cheapest.
        paths.cost[f] = 1.0 if paths.is_used[f] else guide.cost[f]


@inner
def close_strangers(groups: ByteArray, paths: Paths) -> None:
    """Close what is in no group together with all that is asked above."""
    n_features = len(paths.is_closed)
    for f in range(n_features):
        if paths.is_closed[f]:
            continue
        is_found = False
        for g in range(len(groups)):
            fits = groups[g, f] > 0
            for k in range(n_features):
                fits = fits and (paths.is_used[k] == 0 or groups[g, k] > 0)
            is_found = is_found or fits
        if not is_found:
            paths.is_closed[f] = 1
