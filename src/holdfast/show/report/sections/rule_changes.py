"""Rule by rule what changed: its conditions with what they were, and its answer before and after."""

from typing import Any

from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import SHORT_LIST, condition_text
from holdfast.show.diff_phrases import condition_change_parts
from holdfast.show.diff_words import DEGREES, degree_of
from holdfast.show.report.page import Section
from holdfast.show.report.sections.both_trees import CHANGE
from holdfast.show.rules import rule_outcome_text
from holdfast.text.lines import label_text
from holdfast.tree.rule import Condition, Rule

SAME = "same"
WORDS = {
    "outcome": "another class",
    "question": "other questions",
    "moved": "moved",
    "new": "new",
    "gone": "gone",
    "alike": "other value",
    SAME: "the same",
}


def rule_changes_section(diff: TreeDiff, place: int | None) -> Section:
    """All rules, those that changed most first. `place` is the class whose probability is told."""
    changes = sorted(diff.changes, key=lambda each: (DEGREES.index(degree_of(each)), -each.cost))
    rules = [_facts(each, degree_of(each), place) for each in changes]
    rules += [_facts(each, SAME, place) for each in diff.same]
    target = diff.old.schema.target
    known = [value for rule in rules for value in (rule["before"], rule["after"]) if value is not None]
    facts: dict[str, Any] = {
        "rules": rules,
        "words": WORDS,
        "is_classes": target.is_classes,
        "answer": _answer_title(diff, place),
        "scale": [min([0.0, *known]), max([*known, 0.0]) or 1.0],
        "counts": {degree: sum(rule["degree"] == degree for rule in rules) for degree in (*DEGREES, SAME)},
    }
    return Section("rules", "Rule by rule", CHANGE, "rule_changes.html", facts)


def _answer_title(diff: TreeDiff, place: int | None) -> str:
    target = diff.old.schema.target
    if place is not None:
        return f"Risk of {label_text(target.classes[place])}"
    return "Probability" if target.is_classes else target.name


def _facts(change: RuleChange, degree: str, place: int | None) -> dict[str, Any]:
    rule = change.new or change.old
    assert rule is not None
    moved = {each.name: condition_change_parts(each) for each in change.conditions}
    conditions = [moved.pop(each.name, (_condition(each), "")) for each in rule.conditions]
    return {
        "degree": degree,
        "conditions": conditions or [("everyone", "")],  # each with what it was, if that is another thing
        "dropped": [text for text, _ in moved.values()] if change.new is not None else [],
        "before": _answer(change.old, place),
        "after": _answer(change.new, place),
        "said_before": _said(change.old, place),
        "said_after": _said(change.new, place),
        "rows_before": None if change.old is None else change.old.count,
        "rows_after": None if change.new is None else change.new.count,
    }


def _condition(condition: Condition) -> str:
    return condition_text(condition, most=SHORT_LIST)


def _answer(rule: Rule | None, place: int | None) -> float | None:
    """The probability of the class that matters, or of the one that the rule says; or the number."""
    if rule is None:
        return None
    if not rule.target.is_classes:
        return rule.value[0]
    return max(rule.value) if place is None else rule.value[place]


def _said(rule: Rule | None, place: int | None) -> str:
    """The class, where its probability alone would not tell it."""
    return "" if rule is None or place is not None or not rule.target.is_classes else rule_outcome_text(rule)
