"""The rules of a tree as sentences with observed frequencies, and the form that predicts one case.

The script of the form evaluates the splits, custom features included: an expression becomes a nested list of
an operation and its operands.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import (
    distinct_texts,
    label_text,
    number_text,
    percent_range,
    plural,
    printable,
    rounded_percent,
)
from holdfast.data.custom_features import (
    ColumnValue,
    Constant,
    CustomFeature,
    Expression,
    Lookup,
    Operation,
    parse_custom_feature,
)
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.survival import name_survival
from holdfast.data.table import Table
from holdfast.explain.firmness import ReferenceTrees
from holdfast.explain.split_support import SplitSupport
from holdfast.report.firmness import pack_flags, pack_trees
from holdfast.report.page import PageSection, json_for_html
from holdfast.tree.leaf_evidence import FEW_ROWS, SAME_MEAN, LeafOutcome, class_outcome
from holdfast.tree.rules import Rule, find_known_values, format_class_names, format_decision, tree_rules
from holdfast.tree.rules_text import (
    FULL_LIST,
    branch_text,
    condition_marks,
    condition_text,
    interval_sentence,
    rule_outcome_text,
    rules_text,
    support_lines,
)
from holdfast.tree.stats import (
    class_counts,
    format_statistic,
    parse_quantile,
    score_classes,
    weighted_quantile,
)
from holdfast.tree.survival import describe_observed, risk_text, survival_sentence
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.report.fit import Fitted

MOST_RULES = 40  # of a page
MOST_LETTERS = 100_000  # of the data of the form
MOST_WITH_REFERENCES = 140_000  # the same, with reference trees
MOST_CLASSES = 3  # named in a sentence besides the first
TOO_MANY = (
    "The tree has too many leaves or categories for a form in this page. Use holdfast explain in the "
    "terminal, or explain_row in Python, to predict one row."
)


def rules_section(fitted: "Fitted") -> PageSection:
    """Return the section of all rules of the tree."""
    tree = fitted.model
    assert isinstance(tree, Tree)
    tested = {} if fitted.test is None else _tested_sentences(fitted)
    rules = rule_facts(tree, fitted.positive, fitted.noun, fitted.training)
    hazard = tree.schema.target.hazard
    facts = {
        "rules": [{**rule, "tested": tested.get(rule["leaf"], "")} for rule in rules[:MOST_RULES]],
        "n_rules": len(rules),
        "noun": fitted.noun,
        "target": tree.schema.target.name,
        "positive": None
        if fitted.positive is None
        else format_class_names(tree.schema.target)[fitted.positive],
        "range": None if tree.schema.target.is_classes or hazard is not None else _range(tree),
        "survival": "" if hazard is None else name_survival(hazard),
        "text": rules_text(tree, missing=True, most=FULL_LIST, positive=fitted.positive_label)
        if len(rules) <= MOST_RULES
        else "",
        "by_teacher": differs_from_rows(tree, fitted.training),
        "about_estimate": tree.is_posterior,
        "decides": format_decision(tree, fitted.positive_label),
        "marks": support_lines(tree),
    }
    first = "highest risk" if fitted.positive is not None or hazard is not None else "rarest class"
    is_by_value = not fitted.target.is_classes and hazard is None
    title = f"Rules, {'highest value' if is_by_value else first} first"
    return PageSection("rules", title, "clinician", template="rules.html", facts=facts)


def _tested_sentences(fitted: "Fitted") -> dict[int, str]:
    """Describe for every leaf the outcomes of the test rows, or of the rows given."""
    tree, test = fitted.model, fitted.test
    assert isinstance(tree, Tree)
    assert test is not None
    leaves, values = tree.apply(test.X), test.true_values.values
    found = {}
    times, hazard = test.true_values.survival, tree.schema.target.hazard
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        own = values[leaves == leaf]
        if not len(own):
            found[leaf] = f"None of the {test.name} is in this group."
        elif times is not None and hazard is not None:
            mine, weight = times.subset(leaves == leaf), test.true_values.weight
            shown = describe_observed(mine, None if weight is None else weight[leaves == leaf], hazard)
            events = f"{mine.event.sum():,} of {len(own):,} had the event"
            found[leaf] = f"Of the {test.name}, {events}; observed {name_survival(hazard)}: {shown}."
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
    """Return each rule as plain data: conditions, estimate, decision, observed frequency and interval."""
    counts = class_counts(tree) if tree.schema.target.is_classes else None
    rows = {} if training is None else _seen(tree, training)
    rules = sorted(tree_rules(tree), key=lambda rule: -_risk(rule, positive, tree))
    marks = condition_marks(tree)
    return [_rule_fact(tree, rule, counts, positive, noun, rows, marks[rule.leaf]) for rule in rules]


def _rule_fact(
    tree: Tree,
    rule: Rule,
    counts: FloatArray | None,
    positive: int | None,
    noun: str,
    seen_rows: dict[int, tuple[FloatArray, float]],
    marks: Mapping[str, str],
) -> dict[str, Any]:
    found = class_outcome(tree, rule.leaf, rule.predicted if positive is None else positive)
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
    if found.survival is not None:
        return {
            **fact,
            "warning": few_rows_sentence(rule.count),
            "prediction": rounded_percent(found.survival.survival),
            "risk": risk_text(found.survival.risk),
            "sentence": survival_sentence(target, found.survival, noun),
            "seen": found.count,
        }
    if counts is None:
        own = seen_rows.get(rule.leaf)
        statistic = rule.statistic or "mean"
        is_of_rows = own is not None and (
            found.observed is None or abs(own[1] - found.observed) <= SAME_MEAN * abs(own[1])
        )
        sentence = (
            observed_sentence(target, found, noun)
            if own is None or not is_of_rows  # an updated tree represents earlier rows, too
            else mean_sentence(target, own[0], own[1], noun, statistic, interval=own_interval(found))
        )
        return {
            **fact,
            "warning": few_rows_sentence(rule.count),
            "prediction": rule_outcome_text(rule),
            "sentence": sentence,
            "seen": None if own is None else own[1],
        }
    place = rule.predicted if positive is None else positive
    warnings = [_class_warning(rule, counts[rule.leaf], tree.loss_matrix), few_rows_sentence(rule.count)]
    sentence = frequency_sentence(target, counts[rule.leaf], noun, place, found, with_others=positive is None)
    return {
        **fact,
        "class": format_class_names(target)[place],
        "decision": "" if positive is None else format_class_names(target)[rule.predicted],
        "prediction": rounded_percent(found.estimate),
        "sentence": sentence,
        "warning": " ".join(filter(None, warnings)),
        "seen": found.count,
    }


def _class_warning(rule: Rule, counts: FloatArray, losses: FloatArray | None) -> str:
    """Warn if the tree predicts another class than the rows of the leaf suggest."""
    merit = score_classes(counts[np.newaxis], losses)[0]
    best = int(merit.argmax())
    if merit[best] <= merit[rule.predicted]:
        return ""
    names = format_class_names(rule.target)
    seen = "Most of these rows had" if losses is None else "For these rows the expected loss is least for"
    return f"{seen} {names[best]}; the tree predicts {names[rule.predicted]}."


def _risk(rule: Rule, positive: int | None, tree: Tree) -> float:
    """Return the sort key of a rule: the risk, the mean, or the probability of other than the usual class."""
    if not rule.target.is_classes:
        return round(rule.value[0], 9)
    usual = int(np.argmax(tree.value[0]))
    return round(1 - rule.value[usual] if positive is None else rule.value[positive], 9)


def _range(tree: Tree) -> list[float]:
    values = tree.value[tree.feature < 0, 0]
    return [min(0.0, float(values.min())), float(values.max())]


def _seen(tree: Tree, training: Table) -> dict[int, tuple[FloatArray, float]]:
    """Return the target values of the training rows in every leaf, and their weighted mean or quantile."""
    if tree.schema.target.is_classes:
        return {}
    leaves, weight = tree.apply(training), training.weight
    found = {}
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        here = leaves == leaf if weight is None else (leaves == leaf) & (weight > 0)
        values = training.target[here]
        weights = np.ones(len(values)) if weight is None else weight[here]
        found[leaf] = values, _statistic(tree, values, weights)
    return found


def _statistic(tree: Tree, values: FloatArray, weight: FloatArray) -> float:
    """Return the mean of the values, or the quantile that the tree predicts."""
    if not len(values):
        return np.nan
    fraction = parse_quantile(tree.criterion)
    if fraction is None:
        return float(np.average(values, weights=weight))
    return weighted_quantile(values, weight, fraction)


def differs_from_rows(tree: Tree, training: Table | None = None) -> bool:
    """Return True if leaf values differ from those of the rows: by a teacher, or by hand."""
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    if parse_quantile(tree.criterion) is None:
        places = range(tree.value.shape[1])
        return any(not class_outcome(tree, leaf, k).is_as_observed for leaf in leaves for k in places)
    seen = {} if training is None else _seen(tree, training)
    least = SAME_MEAN * float(np.abs(tree.value[leaves]).max())
    return any(abs(value - tree.value[leaf, 0]) > least for leaf, (_, value) in seen.items())


# -- the form for one case --------------------------------------------------------------------------------


def fit_case_section(fitted: "Fitted") -> PageSection:
    """Return the form for the tree of a fit."""
    assert isinstance(fitted.model, Tree)
    tree = tree_data("The tree", fitted.model, fitted.positive, fitted.noun, fitted.supports, fitted.training)
    given = [tree], [fitted.model], fitted.positive, fitted.noun, fitted.training
    if fitted.resampled is not None:
        section = case_section(*given, references=fitted.resampled)
        if section.template:
            return section
    return case_section(*given)


def case_section(
    data: Sequence[dict[str, Any]],
    trees: Sequence[Tree],
    positive: int | None,
    noun: str,
    training: Table | None = None,
    in_use: int = 0,
    audience: str = "clinician",
    references: ReferenceTrees | None = None,
) -> PageSection:
    """Return the form for trees on one schema, each also as `tree_data`; `in_use` is the tree in use.

    With reference trees, the form tells how many of them agree with the first tree. The drawings of the trees
    have the ids `drawing-0`, `drawing-1`, ...
    """
    schema = trees[0].schema
    target = schema.target
    others = [] if references is None else references.decide_as(trees[0])
    used = {index for tree in (*trees, *others) for index in tree.feature.tolist() if index != LEAF}
    custom_features = {
        index: parse_custom_feature(schema.features[index].name, schema.columns)
        for index in sorted(used)
        if schema.features[index].kind == "custom"
    }
    facts = {
        "noun": noun,
        "target": target.name if target.hazard is None else name_survival(target.hazard),
        "classes": list(format_class_names(target)),
        "positive": positive,
        "fields": [
            _field(schema, index, training, is_first)
            for index, is_first in _used_columns([*trees, *others], custom_features, in_use)
        ],
        "custom_features": {
            str(index): _expression(each.expression, each.columns) for index, each in custom_features.items()
        },
        "trees": list(data),
        "references": None if references is None else pack_trees(references, trees[0]),
    }
    title = f"Predict one {noun}"
    most = MOST_LETTERS if references is None else MOST_WITH_REFERENCES
    if len(json_for_html(facts)) > most:
        return PageSection("case", title, audience, [TOO_MANY])
    return PageSection("case", title, audience, template="case.html", facts=facts, script="case.js")


def tree_data(
    name: str,
    tree: Tree,
    positive: int | None,
    noun: str,
    supports: Sequence[SplitSupport] = (),
    training: Table | None = None,
) -> dict[str, Any]:
    """Return a tree as arrays for the script, with its conditions and predictions in words."""
    inner = np.flatnonzero(tree.feature != LEAF).tolist()
    known = find_known_values(tree)
    # A number has no class, and only survival has a risk.
    names = ("prediction", "risk", "class", "decision", "sentence", "outside", "warning")
    rules = {
        str(each["leaf"]): {part: each[part] for part in names if part in each}
        for each in rule_facts(tree, positive, noun, training)
    }
    return {
        "name": name,
        "feature": tree.feature.tolist(),
        "threshold": [None if value != value else value for value in tree.threshold.tolist()],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "missing_left": tree.missing_left.astype(int).tolist(),
        "sets": {
            str(node): pack_flags(tree.left_categories(node)) for node in inner if tree.set_start[node] >= 0
        },
        "value": {
            str(node): tree.value[node].tolist() for node in np.flatnonzero(tree.feature == LEAF).tolist()
        },
        "answers": {
            str(node): [
                branch_text(tree, node, side, counts=True, most=FULL_LIST, known=known)
                for side in (True, False)
            ]
            for node in inner
        },
        "leaves": rules,
        "support": {str(each.node): _support(each) for each in supports},
    }


def _support(support: SplitSupport) -> dict[str, Any]:
    """Return the split support, and the range of thresholds of nine in ten of the other trees."""
    fact: dict[str, Any] = {"share": support.references}
    if support.thresholds is not None and not support.levels:
        low, _, high = support.thresholds
        fact |= {"low": low, "high": high, "texts": [number_text(low, 4), number_text(high, 4)]}
    return fact


def _used_columns(
    trees: Sequence[Tree], custom_features: dict[int, CustomFeature], in_use: int
) -> list[tuple[int, bool]]:
    """Return the columns that the trees split on, those of the tree in use first and flagged."""
    first: dict[int, bool] = {}
    for place in sorted(range(len(trees)), key=lambda place: place != in_use):
        for index in trees[place].feature.tolist():
            columns: Sequence[int] = [] if index == LEAF else [index]
            if index in custom_features:
                columns = custom_features[index].columns
            for column in columns:
                first.setdefault(int(column), place == in_use)
    return list(first.items())


def _field(schema: Schema, index: int, training: Table | None, is_first: bool) -> dict[str, Any]:
    feature = schema.features[index]
    field: dict[str, Any] = {
        "index": index,
        "name": feature.name,
        "kind": feature.kind,
        "first": is_first,
        "typical": None if training is None else _typical(feature, training.columns[index]),
    }
    if feature.kind == "numeric":
        ends = [number_text(feature.low, 4), number_text(feature.high, 4)]
        return {**field, "low": feature.low, "high": feature.high, "ends": ends}
    texts = [label_text(label) for label in feature.categories]
    return {
        **field,
        "categories": list(feature.categories),
        # Only if they differ: a category may be a number, or contain invisible characters.
        "texts": None if texts == list(feature.categories) else texts,
    }


def _typical(feature: Feature, column: Any) -> float | int | None:
    """Return the median, or the index of the most frequent category; None without a known value."""
    known = column[~np.isnan(column)]
    if not len(known):
        return None
    if feature.kind == "numeric":
        return float(f"{float(np.median(known)):.4g}")
    return int(np.bincount(known.astype(np.int64)).argmax())


def _expression(expression: Expression, columns: tuple[int, ...]) -> list[Any]:
    match expression:
        case ColumnValue(position):
            return ["column", int(columns[position])]
        case Constant(value):
            return ["constant", value]
        case Lookup(position, table):
            return ["lookup", int(columns[position]), list(table)]
        case Operation(name, operands):
            return [name, *(_expression(operand, columns) for operand in operands)]
    raise TypeError(f"{expression!r} is not supported by the script of the form.")


# -- sentences ------------------------------------------------------------------------------------------


def cases_text(count: float, noun: str) -> str:
    """Format a number of cases with the noun.

    >>> cases_text(1, "case"), cases_text(12345, "case")
    ('1 case', '12,345 cases')
    """
    return f"{weighted_count(count)} {noun if count == 1 else plural(noun)}"


def weighted_count(count: float) -> str:
    """Format a number of rows to one decimal if weights make it a fraction.

    >>> weighted_count(1234.0), weighted_count(9.06281)
    ('1,234', '9.1')
    """
    return f"{count:,.0f}" if abs(count - round(count)) < 1e-6 else f"{count:,.1f}"


def frequency_sentence(
    target: Target,
    counts: FloatArray,
    noun: str,
    place: int,
    found: LeafOutcome | None = None,
    *,
    with_others: bool = False,
) -> str:
    """Describe the frequency of a class in a leaf and, `with_others`, of the other classes.

    `found` adds the interval, and the weighted rate if the weights differ.

    >>> target = Target("stroke", classes=("no", "yes"))
    >>> found = LeafOutcome(1, "no", 44, "yes", 0.35, 17, observed=17 / 44, interval=(0.257, 0.534))
    >>> frequency_sentence(target, np.array([27.0, 17.0]), "patient", 1, found)
    'Of 44 patients like this, 17 had stroke = yes: 39 % (26 to 53 %).'
    """
    total, names = float(counts.sum()), format_class_names(target)
    if total <= 0:
        return f"There is no known {noun} like this."
    rate, between, by_weight = float(counts[place]) / total, "", ""
    if found is not None and found.observed is not None:
        interval = own_interval(found)
        rate, between = found.observed, "" if interval is None else f" ({percent_range(*interval)})"
        by_weight = "by weight " if found.is_weighted else ""
    text = (
        f"Of {cases_text(total, noun)} like this, {weighted_count(float(counts[place]))} had "
        f"{printable(target.name)} = {names[place]}: {by_weight}{rounded_percent(rate)}{between}"
    )
    if not with_others:
        return f"{text}."
    order = np.argsort(-counts, kind="stable").tolist()
    others = [other for other in order if other != place and counts[other] > 0]
    return f"{text}{_others_text(names, counts, others)}."


def _others_text(names: tuple[str, ...], counts: FloatArray, places: list[int]) -> str:
    if not places:
        return ""
    shown = [f"{weighted_count(float(counts[place]))} {names[place]}" for place in places[:MOST_CLASSES]]
    more = f" and {len(places) - MOST_CLASSES} more classes" if len(places) > MOST_CLASSES else ""
    return f"; the others: {', '.join(shown)}{more}"


def few_rows_sentence(count: float) -> str:
    """Warn if a leaf has less than a dozen rows.

    >>> few_rows_sentence(7), few_rows_sentence(12)
    ('Based on few rows.', '')
    """
    return "Based on few rows." if 0 < count < FEW_ROWS else ""


def mean_sentence(
    target: Target,
    values: FloatArray,
    mean: float,
    noun: str,
    statistic: str = "mean",
    *,
    interval: tuple[float, float] | None = None,
) -> str:
    """Describe the mean, or a quantile, of the rows of a leaf, its interval, and their quartiles.

    >>> mean_sentence(Target("days"), np.array([1.0, 2.0, 3.0, 4.0]), 2.5, "patient", interval=(0.4, 4.6))
    '4 patients like this: mean days 2.5 (0.4 to 4.6), half of them between 1.75 and 3.25.'
    """
    if not len(values):
        return f"There is no known {noun} like this."
    low, high = (number_text(float(each), 4) for each in np.quantile(values, [0.25, 0.75]))
    return (
        f"{cases_text(len(values), noun)} like this: {statistic} {printable(target.name)} "
        f"{number_text(mean, 4)}{_between(interval)}, half of them between {low} and {high}."
    )


def observed_sentence(target: Target, found: LeafOutcome, noun: str) -> str:
    """Describe the mean of the rows of a leaf as stored in the tree.

    >>> found = LeafOutcome(1, 2.5, 4, observed=2.0, interval=(0.4, 3.6))
    >>> observed_sentence(Target("days"), found, "patient")
    '4 patients like this: mean days 2 (0.4 to 3.6).'
    """
    if found.n_rows <= 0:
        return f"There is no known {noun} like this."
    if found.observed is None:
        return f"{cases_text(found.n_rows, noun)} like this."
    mean = f"mean {printable(target.name)} {number_text(found.observed, 4)}"
    return f"{cases_text(found.n_rows, noun)} like this: {mean}{_between(own_interval(found))}."


def own_interval(found: LeafOutcome) -> tuple[float, float] | None:
    """Return the interval of the rows of a leaf; None if it refers to the estimate of the tree."""
    return None if found.is_about_estimate else found.interval


def _between(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" ({' to '.join(distinct_texts(*interval))})"
