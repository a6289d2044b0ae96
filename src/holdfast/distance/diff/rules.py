"""What changed rule by rule, from the cheapest matching of two trees."""

import sys
from dataclasses import dataclass

from holdfast.distance.diff.conditions import (
    CONDITION_KINDS,
    ConditionChange,
    compare_conditions,
    is_missing_moved,
)
from holdfast.distance.matching import RulePair, TreeDistance, UnmatchedRule
from holdfast.tree.rule import Rule

CHANGE_KINDS = (*CONDITION_KINDS, "outcome", "value", "order", "new", "gone")
NOTHING = 1e-12  # a value that moved by less of its range is the same


@dataclass(frozen=True)
class RuleChange:
    """Change of one rule: a matched pair, or a rule without a partner.

    `kinds` are some of CHANGE_KINDS, none if the rules are the same. "outcome" is another class, "value" the
    same class with other fractions, or another number; "order" the same conditions asked in another order.
    """

    old: Rule | None  # None: the rule is new
    new: Rule | None  # None: the rule is gone
    kinds: tuple[str, ...]
    conditions: tuple[ConditionChange, ...]  # those that differ
    outcome_cost: float  # what the outcomes add to the distance
    cost: float  # all that the rule adds

    @property
    def is_same(self) -> bool:
        """True if nothing changed."""
        return not self.kinds

    @property
    def asks_the_same(self) -> bool:
        """True if both rules cover the same rows."""
        return not {*self.kinds} & {*CONDITION_KINDS, "new", "gone"}

    @property
    def shift(self) -> float:
        """Change of the value: total variation, or difference of numbers; 0 for a single rule."""
        if self.old is None or self.new is None:
            return 0.0
        if self.old.target.is_classes:
            return sum(abs(a - b) for a, b in zip(self.old.value, self.new.value, strict=True)) / 2
        return self.new.value[0] - self.old.value[0]


def compare_rules(distance: TreeDistance) -> tuple[RuleChange, ...]:
    """List the matched pairs of rules in the order of the old tree, then single rules."""
    pairs = [_pair_change(pair) for pair in distance.pairs]
    alone = [_lone_change(unmatched) for unmatched in distance.unmatched]
    return (*pairs, *alone)


def _pair_change(pair: RulePair) -> RuleChange:
    old, new = pair.first, pair.second
    width = 1.0 if old.target.is_classes else min(old.target.high - old.target.low, sys.float_info.max)
    conditions = compare_conditions(old, new, {part.feature: part.cost for part in pair.parts})
    kinds = {change.kind for change in conditions}
    if any(is_missing_moved(each.old, each.new) for each in conditions):
        kinds.add("missing")
    if old.target.is_classes and old.outcome != new.outcome:
        kinds.add("outcome")
    elif any(abs(a - b) > NOTHING * max(width, abs(a)) for a, b in zip(old.value, new.value, strict=True)):
        kinds.add("value")
    if not conditions and [each.name for each in old.conditions] != [each.name for each in new.conditions]:
        kinds.add("order")
    ordered = tuple(kind for kind in CHANGE_KINDS if kind in kinds)
    return RuleChange(old, new, ordered, conditions, pair.outcome_cost, pair.cost)


def _lone_change(unmatched: UnmatchedRule) -> RuleChange:
    if unmatched.side == "first":
        return RuleChange(unmatched.rule, None, ("gone",), (), 0.0, unmatched.weight)
    return RuleChange(None, unmatched.rule, ("new",), (), 0.0, unmatched.weight)
