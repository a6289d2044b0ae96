"""Distance of two rules, weight of an unmatched rule, and the settings of a comparison."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum, isinf
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._check import check_integer, check_number
from holdfast._text import quoted
from holdfast.data.schema import Target
from holdfast.data.survival import lost_fraction, risk_at_fraction
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.tree.rules import Condition, Rule
from holdfast.tree.tree import Tree

NOTHING = 2.0**-44  # the unit of the kernel: a smaller cost is rounding


def rule_distance(p: Rule, q: Rule, *, label_weight: float, outcome: str | None = None) -> float:
    """Compute the distance d(p, q) of two rules on one schema.

    It adds, over the numeric features, half of the shift of both interval ends as a fraction of the range;
    over the others, the fraction of categories that only one rule allows; and the weighted difference of the
    outcomes.

    Parameters
    ----------
    p, q : Rule
    label_weight : float
        Cost of an entirely different outcome.
    outcome : {"label", "distribution", "value"}, optional
        What is compared: the class, the class fractions, or the number.

    Returns
    -------
    float

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> from holdfast.tree import tree_rules
    >>> tree = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> p, q = tree_rules(tree)  # 0 to 40 and 40 to 100: the ends differ by 40 and by 60
    >>> rule_distance(p, q, label_weight=2.0)  # (40 + 60) / (2 * 100), and another class
    2.5
    """
    outcome = check_outcome(p.target, "paper", label_weight, outcome)
    _check_one_schema(p, q)
    apart = label_weight * outcome_difference(p, q, outcome)
    return fsum([*(cost for _, cost in feature_costs(p, q)), apart])


def rule_weight(p: Rule, *, matching: str = "paper", label_weight: float | None = None) -> float:
    """Compute the weight w(p), the cost of a rule without a partner.

    Parameters
    ----------
    p : Rule
    matching : {"paper", "metric"}
        "paper": the sum over restricted features of the fraction of the range, or of the categories, that the
        rule allows. "metric": its distance to the unrestricted rule plus half of `label_weight`. With "cover"
        no rule is without a partner.
    label_weight : float, optional
        Needed for "metric".

    Returns
    -------
    float

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> from holdfast.tree import tree_rules
    >>> tree = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> [rule_weight(rule) for rule in tree_rules(tree)]
    [0.4, 0.6]
    """
    check_outcome(p.target, matching, label_weight, None)
    if matching == "cover":
        raise ParameterError('matching="cover" leaves no rule unmatched: choose "paper" or "metric".')
    if matching == "paper":
        return fsum(_fraction_allowed(condition) for condition in p.restrictions.values())
    if label_weight is None:
        raise ParameterError('matching="metric" needs a label_weight, the cost of another outcome.')
    return fsum([*(_cost(condition, None) for condition in p.restrictions.values()), label_weight / 2])


# -- conditions -------------------------------------------------------------------------------------------


def feature_costs(p: Rule, q: Rule) -> Iterator[tuple[str, float]]:
    """Return the features along which the rules differ, with the cost of each."""
    for name in dict.fromkeys([*p.restrictions, *q.restrictions]):
        one, other = p.restrictions.get(name), q.restrictions.get(name)
        cost = _cost(one, other) if one is not None else _cost(q.restrictions[name], None)
        if cost > 0:
            yield name, cost


def _cost(one: Condition, other: Condition | None) -> float:
    """Compute the distance of two conditions on one feature; None is unrestricted."""
    feature = one.feature
    if feature.is_subset:
        others = feature.categories if other is None else other.categories
        return len(set(one.categories) ^ set(others)) / len(feature.categories)
    whole = (feature.low, feature.high)
    (low, high), (other_low, other_high) = one.bounds, whole if other is None else other.bounds
    moved = fraction_of_range(low, other_low, *whole) + fraction_of_range(high, other_high, *whole)
    return float(moved / 2) if moved / 2 > NOTHING else 0.0


def _fraction_allowed(condition: Condition) -> float:
    cost = _cost(condition, None)
    return 1 - (cost if condition.feature.is_subset else 2 * cost)


def value_fractions(values: FloatArray, target: Target) -> FloatArray:
    """Scale predicted values to 0 to 1, so that sums neither overflow nor vanish.

    Fractions of classes stay. Numbers become fractions of the range of the target, relative risks the
    fraction of the time up to the horizon that is lost to the event.
    """
    if target.is_classes:
        return values
    if target.hazard is not None:
        return lost_fraction(target.hazard, values)
    if not target.low < target.high:
        return np.zeros(values.shape)
    distance = fraction_of_range(values, target.low, target.low, target.high)
    return np.asarray(np.where(values < target.low, -distance, distance), np.float64)


def by_horizon(target: Target, other: Target) -> Target:
    """Return the target with the horizon of another, and the hazard that its own risks refer to."""
    if target.hazard is None or other.hazard is None or target.hazard.horizon == other.hazard.horizon:
        return target
    return replace(target, hazard=replace(target.hazard, horizon=other.hazard.horizon))


def fraction_values(fractions: FloatArray, target: Target) -> FloatArray:
    """Return the values whose fractions these are, the inverse of `value_fractions`."""
    if target.is_classes:
        return fractions
    if target.hazard is not None:
        return risk_at_fraction(target.hazard, fractions)
    return target.low * (1.0 - fractions) + target.high * fractions


def fraction_of_range(one: Any, other: Any, low: float, high: float) -> Any:
    """Return the fraction of the range between two of its numbers, element by element."""
    if isinf(high - low):
        return abs(one / 2 - other / 2) / (high / 2 - low / 2)
    return abs(one - other) / (high - low)


# -- outcomes ---------------------------------------------------------------------------------------------


def outcome_difference(p: Rule, q: Rule, outcome: str) -> float:
    """Compute the difference of two predictions, from 0 (equal) to 1."""
    if outcome == "label":
        return float(p.outcome != q.outcome)
    if outcome == "distribution":
        return sum(abs(a - b) for a, b in zip(p.value, q.value, strict=True)) / 2
    one, other = (value_fractions(np.array(rule.value), by_horizon(rule.target, p.target)) for rule in (p, q))
    return float(abs(np.clip(one, 0.0, 1.0) - np.clip(other, 0.0, 1.0))[0])


def _check_one_schema(p: Rule, q: Rule) -> None:
    """Raise a SchemaMismatch if a feature of both rules, or the target, differs."""
    names = [
        condition.name
        for condition in p.conditions
        if (other := q.condition(condition.name)) is not None and other.feature != condition.feature
    ]
    targets = {(target.classes, target.low, target.high) for target in (p.target, q.target)}
    if names or len(targets) > 1:
        what = f"column {names[0]!r}" if names else f"the target {p.target.name!r}"
        raise SchemaMismatch(
            f"Cannot compare the rules: {what} has another range, or other categories, in the second one. "
            "Take both from trees on one schema: tree_rules(tree.with_schema(schema))."
        )


# -- settings -----------------------------------------------------------------------------------------------

MATCHINGS = ("paper", "cover", "metric")
MOST_LABEL_WEIGHT = 1e6
MOST_DEPTH = 1000


@dataclass(frozen=True)
class DistanceSettings:
    """Settings of a comparison, the same for all pairs of a collection."""

    matching: str
    outcome: str
    label_weight: float  # cost of an entirely different outcome
    depth: int  # the greatest depth allowed in the collection
    normalised: bool

    @classmethod
    def of_depth(
        cls,
        depth: int,
        matching: str,
        outcome: str,
        label_weight: float | None = None,
        normalised: bool = False,
    ) -> "DistanceSettings":
        """Settings for trees of at most this depth."""
        weight = 2.0 * depth if label_weight is None else float(label_weight)
        return cls(matching, outcome, weight, int(depth), bool(normalised))

    def total(self, raw: Any) -> Any:
        """Convert a distance, or an array, to the requested scale."""
        if not self.normalised:
            return raw
        return raw / (2 * self.depth + self.label_weight) * math.ldexp(1.0, -self.depth)


def complete_settings(
    trees: Sequence[Tree],
    matching: str,
    label_weight: float | None,
    outcome: str | None,
    normalised: bool,
    depth: int | None,
) -> DistanceSettings:
    """Fill in the settings that depend on the trees."""
    outcome = check_outcome(trees[0].schema.target, matching, label_weight, outcome)
    if depth is None:
        depth = max(1, *(tree.depth for tree in trees))
    check_integer("depth", depth, 1, MOST_DEPTH, none_ok=True)
    return DistanceSettings.of_depth(int(depth), matching, outcome, label_weight, normalised)


def check_outcome(target: Target, matching: str, label_weight: float | None, outcome: str | None) -> str:
    """Check the outcome comparison; a ParameterError if it does not fit the trees."""
    if matching not in MATCHINGS:
        raise ParameterError(f"matching={matching!r} is not one of {quoted(MATCHINGS)}.")
    check_number("label_weight", label_weight, 0.0, MOST_LABEL_WEIGHT, none_ok=True)
    outcomes = ("label", "distribution") if target.is_classes else ("value",)
    if outcome is not None and outcome not in outcomes:
        what = "classes" if target.is_classes else "numbers"
        raise ParameterError(
            f"outcome={outcome!r} is not for trees that predict {what}: "
            f"it must be {' or '.join(map(repr, outcomes))}, or None."
        )
    return outcome or outcomes[0]
