"""What changed in the conditions of two rules that correspond."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isclose

from holdfast.distance.costs import fraction_of_range
from holdfast.tree.rule import Condition, Rule

CONDITION_KINDS = ("threshold", "categories", "missing", "question")
LAST_DIGITS = 1e-12  # of a threshold: that close they are the same


@dataclass(frozen=True)
class ConditionChange:
    """Change of the condition on one feature.

    `kind` is "threshold" or "categories" where both rules ask, "missing" where only the side of missing
    values changed, and "question" where one of them does not ask, or has a bound that the other has not.
    """

    name: str  # of the feature
    old: Condition | None  # None: any value was allowed
    new: Condition | None
    kind: str
    share: float  # of the feature's range, or of its categories: allowed by one of them only
    cost: float  # what it adds to the distance


def compare_conditions(old: Rule, new: Rule, costs: Mapping[str, float]) -> tuple[ConditionChange, ...]:
    """List the conditions that differ, in the order of the old rule; `costs` are by feature."""
    return tuple(_changes(old, new, costs))


def _changes(old: Rule, new: Rule, costs: Mapping[str, float]) -> Iterator[ConditionChange]:
    for name in dict.fromkeys(condition.name for rule in (old, new) for condition in rule.conditions):
        before, after = old.condition(name), new.condition(name)
        if kind := _kind(before, after):
            yield ConditionChange(
                name, before, after, kind, share_changed(before, after), costs.get(name, 0.0)
            )


def _kind(old: Condition | None, new: Condition | None) -> str:
    """Classify the change; empty if there is none."""
    if old is None or new is None:
        only = old or new
        return "missing" if only is not None and only.is_whole else "question"
    if old.feature.is_subset:
        if set(old.categories) != set(new.categories):
            return "categories"
    elif not is_same_condition(old, new):
        has_same_bounds = (old.low > -inf, old.high < inf) == (new.low > -inf, new.high < inf)
        return "threshold" if has_same_bounds else "question"
    return "missing" if old.missing != new.missing else ""


def is_same_condition(old: Condition, new: Condition) -> bool:
    """Return True if two conditions allow the same known values.

    Of an ordered feature a threshold may lie anywhere between two categories, or beyond the last.
    """
    if old.feature.kind == "ordered" and old.categories == new.categories:
        return True
    return is_same_threshold(old.low, new.low) and is_same_threshold(old.high, new.high)


def is_same_threshold(one: float, other: float) -> bool:
    """Return True if two thresholds differ in the last digits at most."""
    return one == other or isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=0.0)


def is_missing_moved(old: Condition | None, new: Condition | None) -> bool:
    """Return True if one condition only allows missing values, and training rows had them there."""
    if old is None or new is None or old.missing == new.missing:
        return False
    return old.has_missing_rows or new.has_missing_rows


def share_changed(old: Condition | None, new: Condition | None) -> float:
    """Return the fraction of the range, or of the categories, that only one condition allows.

    >>> from holdfast import Feature
    >>> age = Feature("age", low=0.0, high=100.0)
    >>> share_changed(Condition(age, high=40.0), Condition(age, high=50.0))
    0.1
    """
    known = old or new
    if known is None:
        return 0.0
    feature = known.feature
    if feature.is_subset:
        before, after = (set(feature.categories if each is None else each.categories) for each in (old, new))
        return len(before ^ after) / len(feature.categories)
    if not feature.low < feature.high:
        return 0.0
    whole = (feature.low, feature.high)
    (a, b), (c, d) = (whole if each is None else each.bounds for each in (old, new))
    # Where they overlap, each end moved by itself; else all of both is allowed by one only.
    parts = [(a, c), (b, d)] if min(b, d) > max(a, c) else [(a, b), (c, d)]
    return float(sum(fraction_of_range(high, low, *whole) for low, high in parts))
