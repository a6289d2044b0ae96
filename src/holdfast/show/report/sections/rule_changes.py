"""Rule by rule what changed: its conditions with what they were, and its answer before and after."""

from typing import Any

from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import FULL_LIST, condition_text
from holdfast.show.diff_phrases import condition_change_parts
from holdfast.show.diff_words import DEGREES, degree_of
from holdfast.show.report.page import Section
from holdfast.show.report.sections.both_trees import CHANGE
from holdfast.show.rules import rule_outcome_text
from holdfast.text.lines import label_text
from holdfast.tree.rule import Condition, Rule
from holdfast.tree.tree import Tree

SAME = "same"
WORDS = {
    "outcome": "another class",
    "question": "other questions",
    "moved": "other thresholds or categories",
    "new": "new",
    "gone": "gone",
    "alike": "other value",
    SAME: "the same",
}


def rule_changes_section(diff: TreeDiff, place: int | None) -> Section:
    """All rules, those that changed most first. `place` is the class whose probability is told."""
    changes = sorted(diff.changes, key=lambda each: (DEGREES.index(degree_of(each)), -each.cost))
    rules = [_facts(diff, each, degree_of(each), place) for each in changes]
    rules += [_facts(diff, each, SAME, place) for each in diff.same]
    target = diff.old.schema.target
    known = [value for rule in rules for value in (rule["before"], rule["after"]) if value is not None]
    facts: dict[str, Any] = {
        "rules": rules,
        "words": WORDS,
        "is_classes": target.is_classes,
        "is_risk": place is not None,
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


def _facts(diff: TreeDiff, change: RuleChange, degree: str, place: int | None) -> dict[str, Any]:
    rule = change.new or change.old
    assert rule is not None
    new = _asked_anew(diff, change)
    moved = {
        each.name: (_condition(each.new), "new split")
        if each.new and each.name in new
        else condition_change_parts(each)
        for each in change.conditions
    }
    conditions = [moved.pop(each.name, (_condition(each), "")) for each in rule.conditions]
    return {
        "degree": degree,
        "conditions": conditions or [("everyone", "")],  # each with what it was, if that is another thing
        "dropped": [text for text, _ in moved.values()] if change.new is not None else [],
        "before": _answer(change.old, place),
        "after": _answer(change.new, place),
        "said_before": _said(change.old),
        "said_after": _said(change.new),
        "rows_before": None if change.old is None else change.old.count,
        "rows_after": None if change.new is None else change.new.count,
    }


def _asked_anew(diff: TreeDiff, change: RuleChange) -> set[str]:
    """The columns that the new rule asks about in new splits alone: what these were cannot be said."""
    if change.new is None:
        return set()
    path, new, names = _path(diff.new, change.new.leaf), _new_nodes(diff), diff.new.schema.names
    asked = [(names[diff.new.feature[node]], node in new) for node in path]
    return {name for name, _ in asked} - {name for name, is_new in asked if not is_new}


def _new_nodes(diff: TreeDiff) -> set[int]:
    return {node for split in diff.splits for node in split.new_nodes}


def _path(tree: Tree, leaf: int) -> list[int]:
    """The nodes that ask something on the way to a leaf: each comes before all that is below it."""
    nodes, node = [], 0
    while node != leaf:
        nodes.append(node)
        right = int(tree.right[node])
        node = right if leaf >= right else int(tree.left[node])
    return nodes


def _condition(condition: Condition) -> str:
    return condition_text(condition, counts=True, most=FULL_LIST)


def _answer(rule: Rule | None, place: int | None) -> float | None:
    """The probability of the class that matters, or of the one that the rule says; or the number."""
    if rule is None:
        return None
    if not rule.target.is_classes:
        return rule.value[0]
    return rule.value[rule.predicted if place is None else place]


def _said(rule: Rule | None) -> str:
    """The class that the rule predicts."""
    return rule_outcome_text(rule) if rule is not None and rule.target.is_classes else ""
