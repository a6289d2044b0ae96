"""Rules in words: one IF ... THEN rule per leaf."""

from collections.abc import Iterable, Mapping
from itertools import islice
from textwrap import wrap
from typing import Any

import numpy as np

from holdfast.errors import ParameterError
from holdfast.evidence.outcome_at import outcome_of_class
from holdfast.show.conditions import condition_text, cut_list
from holdfast.show.directions import direction_lines
from holdfast.show.edits import edit_lines
from holdfast.show.orders import ORDERS
from holdfast.show.risk import probability_name, told_probability
from holdfast.show.support_marks import condition_marks, support_lines
from holdfast.text.lines import NO_BREAK, printable, unbreakable
from holdfast.text.numbers import (
    count_text,
    number_text,
    percent_text,
    probability_text,
    rows_text,
    told_apart,
)
from holdfast.tree.positive import positive_class, risk
from holdfast.tree.rule import Condition, Rule, count_rows, iterate_conditions, tree_rules
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_class_names, list_notes, list_warnings

WIDTH = 80  # columns of rules_text
MARGIN = 5  # of them for IF, AND, THEN


def rules_text(
    tree: Tree,
    *,
    missing: bool = False,
    most: int | None = None,
    positive: Any = None,
    order: str = ORDERS[0],
    intervals: bool = False,
) -> str:
    """One IF ... THEN rule per leaf, with its support and probabilities, in 80 columns.

    Of two classes the probability is that of the positive one. `order="risk"` begins with the leaf where it,
    or the mean, is highest.

    Conditions that take missing values say so where some training row lacked the value, and do not list
    categories that no training row had there; `missing=True` tells both wherever they are allowed, so that
    nothing is left out, unless lists of more than `most` categories or classes are to be cut.
    `intervals=True` adds the observed rate, or the mean, of the rows of each leaf, and the 95 % interval.
    """
    texts, support, marks = _Texts(missing, most), _Support(tree, positive, intervals), condition_marks(tree)
    blocks = [
        "\n".join(_rule_lines(rule, texts.of(rule.conditions, marks[rule.leaf]), support.text(rule), most))
        for rule in ordered_rules(tree, order, positive)
    ]
    notes = [
        "\n".join(_indented("NOTE ", printable(note)))
        for note in (*list_notes(tree), *direction_lines(tree), *support_lines(tree))
    ]
    edits = ["\n".join(_indented("EDIT ", line)) for line in edit_lines(tree)]
    first = ["\n".join(wrap(printable(note), WIDTH)) for note in list_warnings(tree)]
    return "\n\n".join(first + blocks + notes + edits)


def ordered_rules(tree: Tree, order: str = ORDERS[0], positive: Any = None) -> list[Rule]:
    """The rules as they stand in the tree, or those of the highest risk first.

    Of three or more classes the risk is the probability of `positive`; without it they stay as they stand.
    """
    if order not in ORDERS:
        raise ParameterError(f"order={order!r} is unknown: choose one of {', '.join(ORDERS)}.")
    rules, risks = list(tree_rules(tree)), risk(tree, positive)
    if order == "risk" and risks is not None:
        rules.sort(key=lambda rule: -risks[rule.leaf])  # which leaves ties as they stand
    return rules


def rule_text(rule: Rule, most: int | None = None) -> str:
    """The rule on one line, without its support."""
    conditions = " AND ".join(_Texts(False, most, counts=False).of(rule.conditions))
    return f"{f'IF {conditions} ' if conditions else ''}THEN {rule_outcome_text(rule)}"


def leaf_conditions(
    tree: Tree, *, missing: bool = False, most: int | None = None, first: int | None = None
) -> dict[int, tuple[str, ...]]:
    """The conditions of every leaf, lists cut as in `condition_text`; only so many as `first` says."""
    texts, marks = _Texts(missing, most), condition_marks(tree)
    return {
        node: texts.of(
            (count_rows(tree, node, *each) for each in islice(conditions.items(), first)), marks[node]
        )
        for node, conditions in enumerate(iterate_conditions(tree))
        if tree.feature[node] == LEAF
    }


_NO_MARKS: Mapping[str, str] = {}


class _Texts:
    """Conditions as text, each worked out once: leaves of a deep tree have most of theirs in common."""

    def __init__(self, missing: bool, most: int | None, counts: bool = True) -> None:
        self.missing, self.most, self.counts = missing, most, counts
        # By identity, which is faster than by value; each is kept, lest another one get its number.
        self._known: dict[int, tuple[Condition, str]] = {}

    def of(self, conditions: Iterable[Condition], marks: Mapping[str, str] = _NO_MARKS) -> tuple[str, ...]:
        """The texts of the conditions with their marks, without those that allow everything."""
        return tuple(
            self._text(condition) + marks.get(condition.name, "")
            for condition in conditions
            if not condition.allows_all
        )

    def _text(self, condition: Condition) -> str:
        if id(condition) not in self._known:
            text = condition_text(condition, missing=self.missing, counts=self.counts, most=self.most)
            self._known[id(condition)] = condition, text
        return self._known[id(condition)][1]


# -- one leaf ---------------------------------------------------------------------------------------------


def rule_outcome_text(rule: Rule) -> str:
    """The class, the mean, or the quantile with its name, that the rule predicts."""
    if rule.target.is_classes:
        return format_class_names(rule.target)[rule.target.classes.index(rule.outcome)]
    return f"{rule.statistic} {number_text(rule.value[0], 4)}".strip()


def other_classes_text(rule: Rule, most: int | None = None) -> str:
    """The other classes seen at the leaf, the most probable first; empty unless there are three or more."""
    target, fractions = rule.target, np.array(rule.value)
    if len(target.classes) < 3:
        return ""
    order = np.argsort(-fractions, kind="stable").tolist()
    own = target.classes.index(rule.outcome)
    seen = [index for index in order if fractions[index] > 0 and index != own]
    names = format_class_names(target)
    return ", ".join(
        cut_list([f"{names[index]} {probability_text(rule.value[index])}" for index in seen], most)
    )


def _rule_lines(rule: Rule, conditions: tuple[str, ...], said: str, most: int | None) -> list[str]:
    lines = []
    for index, condition in enumerate(conditions):
        lines += _indented("AND  " if index else "IF   ", condition)
    head = "THEN " if conditions else "ALWAYS "
    outcome = f"{printable(rule.target.name)} = {rule_outcome_text(rule)}"
    support = f"({said})"
    if len(f"{head}{outcome}   {support}") <= WIDTH:
        lines.append(f"{head}{outcome}   {support}")
    else:
        lines += [*_indented(head, outcome), *_indented(" " * MARGIN, support)]
    if others := other_classes_text(rule, most):
        lines += _indented(" " * MARGIN, others.replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", "))
    return lines


class _Support:
    """What stands behind each rule of a tree: the probability that is told, and rows."""

    def __init__(self, tree: Tree, positive: Any, intervals: bool = False) -> None:
        self.tree, self.intervals = tree, intervals
        self.place, self.n_rows = positive_class(tree, positive), float(tree.count[0])
        self.name = probability_name(tree.schema.target, self.place)

    def text(self, rule: Rule) -> str:
        """Probability and rows of one rule."""
        rows = f"{count_text(rule.count)} of {count_text(self.n_rows)} rows, {percent_text(rule.fraction)}"
        if not rule.conditions:
            rows = rows_text(rule.count)
        between = self._between(rule) if self.intervals else ""
        if not rule.target.is_classes:
            return f"{between}; {rows}" if between else rows
        probability = probability_text(told_probability(rule.value, self.place, rule.predicted))
        mark = "," if self.tree.is_posterior else ";"
        return f"{self.name} = {probability}{f'{mark} {between}' if between else ''}; {rows}"

    def _between(self, rule: Rule) -> str:
        """The rate or mean of the rows, after the 95 % interval of the estimate or before their own."""
        place = rule.predicted if self.place is None else self.place
        found = outcome_of_class(self.tree, rule.leaf, place)
        if found.observed is None:
            return ""
        if rule.target.is_classes:
            low, high = found.interval or (0.0, 1.0)
            ends = f"{probability_text(low)} to {probability_text(high)}"
            observed = f"observed {probability_text(found.observed)}"
        else:
            ends = "" if found.interval is None else " to ".join(told_apart(*found.interval))
            observed = f"observed mean {number_text(found.observed, 4)}"
        if found.is_about_estimate:
            return "; ".join(filter(None, [ends, observed]))
        return ", ".join(filter(None, [observed, ends]))


def _indented(head: str, text: str) -> list[str]:
    if len(head) + len(text) <= WIDTH and text and text == text.strip():
        return [(head + text).replace(NO_BREAK, " ")]
    lines = wrap(
        unbreakable(text), WIDTH, initial_indent=head, subsequent_indent=" " * MARGIN, break_on_hyphens=False
    )
    return [line.replace(NO_BREAK, " ") for line in lines]
