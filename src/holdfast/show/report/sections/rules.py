"""The rules of a tree as sentences, with natural frequencies and intervals, the highest risk first."""

from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.table import Table
from holdfast.scoring.intervals import wilson_interval
from holdfast.show.conditions import FULL_LIST, condition_text
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.show.report.sentences import frequency_sentence, mean_sentence
from holdfast.text.numbers import number_text, rounded_percent
from holdfast.tree.class_counts import class_counts
from holdfast.tree.rule import Rule, tree_rules
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import class_names

SAME = 0.005  # the tree's risk and the fraction seen are told apart from here on


def rules_section(fitted: Fitted) -> Section:
    """All rules of the tree."""
    tree = fitted.model
    assert isinstance(tree, Tree)
    tested = {} if fitted.test is None else tested_sentences(fitted)
    rules = rule_facts(tree, fitted.positive, fitted.noun, fitted.training)
    facts = {
        "rules": [{**rule, "tested": tested.get(rule["leaf"], "")} for rule in rules],
        "noun": fitted.noun,
        "target": tree.schema.target.name,
        "positive": None if fitted.positive is None else class_names(tree.schema.target)[fitted.positive],
        "range": None if tree.schema.target.is_classes else _range(tree),
        "text": tree.rules(missing=True, positive=fitted.positive_label),
        "by_teacher": says_other_than_seen(tree),
    }
    return Section("rules", _title(fitted), "clinician", "rules.html", facts)


def _title(fitted: Fitted) -> str:
    """In which order they stand."""
    if not fitted.target.is_classes:
        return "The rules, the highest first"
    return f"The rules, the {'least usual' if fitted.positive is None else 'highest risk'} first"


def tested_sentences(fitted: Fitted) -> dict[int, str]:
    """For every leaf, what came true in rows that were not learnt from, or that were given."""
    tree, test = fitted.model, fitted.test
    assert isinstance(tree, Tree)
    assert test is not None
    leaves, values = tree.apply(test.X), test.true_values.values
    found = {}
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        own = values[leaves == leaf]
        if not len(own):
            found[leaf] = f"None of the {test.name} is like this."
        elif tree.schema.target.is_classes:
            place = int(tree.outcome[leaf]) if fitted.positive is None else fitted.positive
            seen = int((own == place).sum())
            found[leaf] = f"Of the {test.name}: {seen} of {len(own)} ({rounded_percent(seen / len(own))})."
        else:
            found[leaf] = f"Of the {test.name}: mean {number_text(float(own.mean()), 4)} of {len(own):,}."
    return found


def rule_facts(
    tree: Tree, positive: int | None, noun: str, training: Table | None = None
) -> list[dict[str, Any]]:
    """Each rule as plain data: conditions, sentence, what the tree says, what was seen, and an interval."""
    counts = class_counts(tree) if tree.schema.target.is_classes else None
    halves = {} if training is None else _middle_halves(tree, training)
    rules = sorted(tree_rules(tree), key=lambda rule: -_risk(rule, positive, tree))
    return [_fact(rule, counts, positive, noun, halves) for rule in rules]


def _fact(
    rule: Rule,
    counts: FloatArray | None,
    positive: int | None,
    noun: str,
    halves: dict[int, FloatArray],
) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "leaf": rule.leaf,
        "conditions": [condition_text(each, most=FULL_LIST) for each in rule.conditions],
        "rows": rule.count,
        "share": rule.fraction,
    }
    target = rule.target
    if counts is None:
        half = halves.get(rule.leaf)
        sentence = mean_sentence(target, rule.count, rule.value[0], noun, half)
        interval = None if half is None else half.tolist()
        return {
            **fact,
            "value": rule.value[0],
            "says": number_text(rule.value[0], 4),
            "sentence": sentence,
            "interval": interval,
        }
    place = target.classes.index(rule.outcome) if positive is None else positive
    seen, total = float(counts[rule.leaf, place]), float(counts[rule.leaf].sum())
    sentence = frequency_sentence(target, counts[rule.leaf], noun, positive)
    value = rule.value[place]
    return {
        **fact,
        "class": class_names(target)[place],
        "value": value,
        "says": rounded_percent(value),
        "sentence": sentence,
        "seen": seen,
        "interval": list(wilson_interval(seen, total)),
    }


def _risk(rule: Rule, positive: int | None, tree: Tree) -> float:
    """What rules are ordered by: the risk, the mean, or how far it is from the usual class."""
    if not rule.target.is_classes:
        return round(rule.value[0], 9)
    usual = int(np.argmax(tree.value[0]))
    return round(1 - rule.value[usual] if positive is None else rule.value[positive], 9)


def _range(tree: Tree) -> list[float]:
    values = tree.value[tree.feature < 0, 0]
    return [min(0.0, float(values.min())), float(values.max())]


def _middle_halves(tree: Tree, training: Table) -> dict[int, FloatArray]:
    """The quartiles of a number in every leaf."""
    if tree.schema.target.is_classes:
        return {}
    leaves = tree.apply(training)
    return {
        leaf: np.quantile(training.target[leaves == leaf], [0.25, 0.75])
        for leaf in np.unique(leaves).tolist()
    }


def says_other_than_seen(tree: Tree) -> bool:
    """True if leaf values are not the fractions of the rows: of a teacher, or by hand."""
    if not tree.schema.target.is_classes:
        return False
    counts = class_counts(tree)
    seen = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return bool((np.abs(seen - tree.value)[tree.feature < 0] > SAME).any())
