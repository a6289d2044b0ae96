"""The distance of two trees, formula by formula, with three ways to find the cheapest matching."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from math import fsum
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from holdfast.data.schema import Feature, Schema
from holdfast.tree.tree import Tree
from reference.rules import Box, boxes, whole_box

MATCHINGS = ("paper", "cover", "metric")
Matrix = list[list[float]]
Solution = Callable[[Matrix, list[float], str], float]


# -- two rules --------------------------------------------------------------------------------------------


def feature_costs(p: Box, q: Box, schema: Schema) -> dict[str, float]:
    """How far the boxes lie apart along each feature of the schema."""
    return {feature.name: _feature_cost(p, q, feature) for feature in schema.features}


def _feature_cost(p: Box, q: Box, feature: Feature) -> float:
    name = feature.name
    if feature.is_subset:
        return len(p.allowed[name] ^ q.allowed[name]) / len(feature.categories)
    if feature.low == feature.high:
        return 0.0
    (low_p, high_p), (low_q, high_q) = p.bounds[name], q.bounds[name]
    return (abs(high_p - high_q) + abs(low_p - low_q)) / (2 * (feature.high - feature.low))


def outcome_difference(p: Box, q: Box, schema: Schema, outcome: str) -> float:
    """From 0, the same outcome, to 1."""
    if outcome == "label":
        return float(p.outcome != q.outcome)
    if outcome == "distribution":
        classes = {*p.shares, *q.shares}
        return fsum(abs(p.shares.get(label, 0.0) - q.shares.get(label, 0.0)) for label in classes) / 2
    low, high = schema.target.low, schema.target.high
    ends = [min(max(box.value, low), high) for box in (p, q)]
    return abs(ends[0] - ends[1]) / (high - low) if high > low else 0.0


def unmatched_weight(p: Box, matching: str, label_weight: float) -> float:
    """What it costs to leave the rule without a partner."""
    if matching == "metric":
        return fsum(feature_costs(p, whole_box(p.schema), p.schema).values()) + label_weight / 2
    features = {feature.name: feature for feature in p.schema.features}
    widths = [
        (high - low) / (features[name].high - features[name].low)
        for name, (low, high) in p.restricted_bounds.items()
    ]
    shares = [
        len(labels) / len(features[name].categories) for name, labels in p.restricted_categories.items()
    ]
    return fsum(widths + shares)


def rule_cost(p: Box, q: Box, schema: Schema, label_weight: float, outcome: str) -> float:
    """The distance of two rules."""
    features = feature_costs(p, q, schema).values()
    return fsum([*features, label_weight * outcome_difference(p, q, schema, outcome)])


# -- two trees --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """How a distance is measured; None where the trees decide."""

    matching: str = "paper"
    label_weight: float | None = None
    outcome: str | None = None
    normalised: bool = False
    depth: int | None = None

    def keywords(self) -> dict[str, Any]:
        """The options as the library takes them."""
        return dict(vars(self))


def settled(options: Options, trees: list[Tree]) -> tuple[int, float, str]:
    """Depth, label weight and outcome, as the options have them or else as the trees decide."""
    depth = options.depth if options.depth is not None else max(1, *(tree.depth for tree in trees))
    label_weight = 2.0 * depth if options.label_weight is None else options.label_weight
    return depth, label_weight, options.outcome or ("label" if trees[0].schema.target.is_classes else "value")


def reference_distance(a: Tree, b: Tree, options: Options, solve: Solution) -> float:
    """The distance of the trees, by one of the solutions below."""
    depth, label_weight, outcome = settled(options, [a, b])
    larger, smaller = sorted((boxes(a), boxes(b)), key=len, reverse=True)
    cost = [[rule_cost(p, q, a.schema, label_weight, outcome) for q in smaller] for p in larger]
    weight = [unmatched_weight(p, options.matching, label_weight) for p in larger]
    total = solve(cost, weight, options.matching)
    return total / (2**depth * (2 * depth + label_weight)) if options.normalised else total


# -- the cheapest matching --------------------------------------------------------------------------------
# cost[p][q] of matching rule p of the larger tree to rule q of the smaller, weight[p] of leaving p unmatched.


def by_trying_all(cost: Matrix, weight: list[float], matching: str) -> float:
    """The cheapest of all matchings there are: for a handful of rules."""
    larger, smaller = range(len(cost)), range(len(cost[0]))
    if matching == "cover":
        covers = (q for q in product(smaller, repeat=len(larger)) if set(q) == set(smaller))
        return min(fsum(cost[p][q[p]] for p in larger) for q in covers)
    return min(
        fsum([cost[p][q] for q, p in enumerate(partners)] + [weight[p] for p in set(larger) - {*partners}])
        for partners in permutations(larger, len(smaller))
    )


def by_integer_programme(cost: Matrix, weight: list[float], matching: str) -> float:
    """The optimum of the integer programme as it is defined: x[p, q] = 1 where p is matched to q."""
    c, w = np.array(cost), np.array(weight)
    n, m = c.shape
    matches_of_p = np.kron(np.eye(n), np.ones(m))  # times x: how many partners each rule of the larger has
    matches_of_q = np.kron(np.ones(n), np.eye(m))
    if matching == "cover":
        limits = [LinearConstraint(matches_of_p, 1, 1), LinearConstraint(matches_of_q, 1, np.inf)]
        objective, constant = c, 0.0
    else:
        limits = [LinearConstraint(matches_of_p, 0, 1), LinearConstraint(matches_of_q, 1, 1)]
        objective, constant = c - w[:, None], fsum(weight)
    result = milp(objective.ravel(), integrality=np.ones(n * m), bounds=Bounds(0, 1), constraints=limits)
    assert result.success, result.message
    # Summed anew from the answer: the solver's own objective is only good to its tolerance.
    x = np.rint(result.x).reshape(n, m)
    return fsum((objective * x).ravel()) + constant


def by_assignment(cost: Matrix, weight: list[float], matching: str) -> float:
    """The optimum of a square assignment, padded with columns for the rules of the larger tree left over."""
    c = np.array(cost)
    left_over = c.min(axis=1) if matching == "cover" else np.array(weight)
    square = np.hstack([c, np.repeat(left_over[:, None], c.shape[0] - c.shape[1], axis=1)])
    rows, columns = linear_sum_assignment(square)
    return fsum(square[rows, columns])
