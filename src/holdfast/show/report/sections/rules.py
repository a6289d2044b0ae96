"""The rules of a tree as sentences, with natural frequencies and intervals, the highest risk first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.evidence.outcome_at import SAME_MEAN, outcome_of_class
from holdfast.show.conditions import FULL_LIST, condition_text
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.show.report.sentences import (
    few_rows_sentence,
    frequency_sentence,
    mean_sentence,
    observed_sentence,
    own_interval,
)
from holdfast.show.risk import interval_sentence
from holdfast.show.rules import rule_outcome_text, rules_text
from holdfast.show.support_marks import condition_marks, support_lines
from holdfast.text.lines import left_out_text
from holdfast.text.numbers import number_text, rounded_percent
from holdfast.tree.class_counts import class_counts
from holdfast.tree.outcome import score_classes
from holdfast.tree.quantile import format_statistic, parse_quantile, weighted_quantile
from holdfast.tree.rule import Rule, tree_rules
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_class_names, format_decision

MOST_RULES = 30  # on a page that grows too long
MOST_LABELS = 5000  # categories of all splits that the rules as text spell out


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
        "positive": None
        if fitted.positive is None
        else format_class_names(tree.schema.target)[fitted.positive],
        "range": None if tree.schema.target.is_classes else _range(tree),
        "text": _text(tree, fitted.positive_label),
        "by_teacher": says_other_than_seen(tree, fitted.training),
        "about_estimate": tree.is_posterior,
        "decides": format_decision(tree, fitted.positive_label),
        "marks": support_lines(tree),
    }
    section = Section("rules", _title(fitted), "clinician", "rules.html", facts)
    return replace(section, shorter=_shorter(section))


def _shorter(section: Section) -> tuple[Section, ...]:
    """First without the rules as text, and at last with the first of them only."""
    untold = {**section.facts, "text": ""}
    text = "The rules as text were left out to keep this page small: tree.rules() prints them."
    short = replace(section, facts=untold, left_out=text)
    rules = section.facts["rules"]
    if len(rules) <= MOST_RULES:
        return (short,)
    first = f"The first {MOST_RULES} of {len(rules)} rules, to keep this page small: tree.rules() prints all."
    return short, short, replace(short, facts={**untold, "rules": rules[:MOST_RULES]}, left_out=first)


def _title(fitted: Fitted) -> str:
    """In which order they stand."""
    if not fitted.target.is_classes:
        return "The rules, the highest first"
    return f"The rules, the {'least usual' if fitted.positive is None else 'highest risk'} first"


def _text(tree: Tree, positive: Label | None) -> str:
    """All rules as text; where lists of categories make it very long, these are cut."""
    if len(tree.in_set) <= MOST_LABELS:
        return rules_text(tree, missing=True, positive=positive)
    cut = rules_text(tree, missing=True, most=FULL_LIST, positive=positive)
    return f"{cut}\n\n{left_out_text('tree.rules()')}"


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
            seen, name = int((own == place).sum()), format_class_names(tree.schema.target)[place]
            share = rounded_percent(seen / len(own))
            found[leaf] = f"Of the {test.name}, {seen} of {len(own):,} had {name} ({share})."
        else:
            seen_value = number_text(_statistic(tree, own, np.ones(len(own))), 4)
            words = format_statistic(tree.criterion)
            found[leaf] = f"Of {len(own):,} {test.name}, the {words} was {seen_value}."
    return found


def rule_facts(
    tree: Tree, positive: int | None, noun: str, training: Table | None = None
) -> list[dict[str, Any]]:
    """Each rule as plain data: conditions, estimate, decision, and what the rows were, with its interval."""
    counts = class_counts(tree) if tree.schema.target.is_classes else None
    rows = {} if training is None else _seen(tree, training)
    rules = sorted(tree_rules(tree), key=lambda rule: -_risk(rule, positive, tree))
    marks = condition_marks(tree)
    return [_fact(tree, rule, counts, positive, noun, rows, marks[rule.leaf]) for rule in rules]


def _fact(
    tree: Tree,
    rule: Rule,
    counts: FloatArray | None,
    positive: int | None,
    noun: str,
    seen_rows: dict[int, "_Seen"],
    marks: Mapping[str, str],
) -> dict[str, Any]:
    found = outcome_of_class(tree, rule.leaf, rule.predicted if positive is None else positive)
    fact: dict[str, Any] = {
        "leaf": rule.leaf,
        "conditions": [
            condition_text(each, counts=True, most=FULL_LIST) + marks.get(each.name, "")
            for each in rule.conditions
        ],
        "rows": rule.count,
        "share": rule.fraction,
        "value": found.estimate,
        "observed": found.observed,
        "interval": None if found.interval is None else list(found.interval),
        "outside": interval_sentence(found),
    }
    target = rule.target
    if counts is None:
        own = seen_rows.get(rule.leaf)
        statistic = rule.statistic or "mean"
        is_of_rows = own is not None and (
            found.observed is None or abs(own.said - found.observed) <= SAME_MEAN * abs(own.said)
        )
        sentence = (
            observed_sentence(target, found, noun)
            if own is None or not is_of_rows  # an updated tree stands for earlier rows too
            else mean_sentence(target, own.values, own.said, noun, statistic, interval=own_interval(found))
        )
        return {
            **fact,
            "warning": few_rows_sentence(rule.count),
            "says": rule_outcome_text(rule),
            "sentence": sentence,
            "seen": None if own is None else own.said,
        }
    place = rule.predicted if positive is None else positive
    others, warnings = positive is None, [_warning(rule, counts[rule.leaf], tree.loss_matrix)]
    return {
        **fact,
        "class": format_class_names(target)[place],
        "decision": "" if positive is None else format_class_names(target)[rule.predicted],
        "says": rounded_percent(found.estimate),
        "sentence": frequency_sentence(target, counts[rule.leaf], noun, place, found, with_others=others),
        "warning": " ".join(filter(None, [*warnings, few_rows_sentence(rule.count)])),
        "seen": found.count,
    }


def _warning(rule: Rule, counts: FloatArray, losses: FloatArray | None) -> str:
    """What to say where the tree names another class than the rows of the leaf ask for."""
    merit = score_classes(counts[np.newaxis], losses)[0]
    best = int(merit.argmax())
    if merit[best] <= merit[rule.predicted]:
        return ""
    names = format_class_names(rule.target)
    seen = "Most of these rows had" if losses is None else "By these rows the least loss is expected of"
    return f"{seen} {names[best]}, and the tree says {names[rule.predicted]}."


def _risk(rule: Rule, positive: int | None, tree: Tree) -> float:
    """What rules are ordered by: the risk, the mean, or how far it is from the usual class."""
    if not rule.target.is_classes:
        return round(rule.value[0], 9)
    usual = int(np.argmax(tree.value[0]))
    return round(1 - rule.value[usual] if positive is None else rule.value[positive], 9)


def _range(tree: Tree) -> list[float]:
    values = tree.value[tree.feature < 0, 0]
    return [min(0.0, float(values.min())), float(values.max())]


@dataclass(frozen=True, eq=False)
class _Seen:
    """The numbers of the training rows in a leaf, and their mean or quantile by weight."""

    values: FloatArray
    said: float


def _seen(tree: Tree, training: Table) -> dict[int, _Seen]:
    """The rows of a number in every leaf."""
    if tree.schema.target.is_classes:
        return {}
    leaves, weight = tree.apply(training), training.weight
    found = {}
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        here = leaves == leaf if weight is None else (leaves == leaf) & (weight > 0)
        values = training.target[here]
        weights = np.ones(len(values)) if weight is None else weight[here]
        found[leaf] = _Seen(values, _statistic(tree, values, weights))
    return found


def _statistic(tree: Tree, values: FloatArray, weight: FloatArray) -> float:
    """What a leaf of these rows says: their mean, or the quantile of the tree."""
    if not len(values):
        return np.nan
    fraction = parse_quantile(tree.criterion)
    if fraction is None:
        return float(np.average(values, weights=weight))
    return weighted_quantile(values, weight, fraction)


def says_other_than_seen(tree: Tree, training: Table | None = None) -> bool:
    """True if leaf values are not those of the rows, as far as these are known: of a teacher, or by hand."""
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    if parse_quantile(tree.criterion) is None:
        places = range(tree.value.shape[1])
        return any(not outcome_of_class(tree, leaf, k).is_as_observed for leaf in leaves for k in places)
    seen = {} if training is None else _seen(tree, training)
    least = SAME_MEAN * float(np.abs(tree.value[leaves]).max())
    return any(abs(each.said - tree.value[leaf, 0]) > least for leaf, each in seen.items())
