"""Rules in words: one IF ... THEN rule per leaf."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import inf, isnan
from textwrap import wrap
from typing import Any

import numpy as np

from holdfast._choices import RULE_ORDERS
from holdfast._text import (
    CUT,
    NO_BREAK,
    count_text,
    distinct_texts,
    item_text,
    join_parts,
    label_text,
    number_text,
    percent_range,
    percent_text,
    printable,
    probability_text,
    protect_spaces,
    rounded_percent,
    rows_text,
    shorten,
)
from holdfast.data.schema import Label, Target
from holdfast.errors import ParameterError
from holdfast.explain.leaf_evidence import LeafOutcome, class_outcome
from holdfast.tree.build import Node
from holdfast.tree.edit import Edit, find_valid_edits
from holdfast.tree.rules import (
    Condition,
    Rule,
    count_rows,
    format_class_names,
    iterate_conditions,
    list_conditions,
    list_notes,
    list_warnings,
    split_condition,
    tree_rules,
)
from holdfast.tree.stats import LEAST_SUPPORT, find_weak_splits, positive_class, risk
from holdfast.tree.tree import KNOWN, LEAF, Tree

WIDTH = 80  # columns of rules_text
MARGIN = 5  # of them for IF, AND, THEN


def rules_text(
    tree: Tree,
    *,
    missing: bool = False,
    most: int | None = None,
    positive: Any = None,
    order: str = RULE_ORDERS[0],
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
        for rule in sort_rules(tree, order, positive)
    ]
    notes = [
        "\n".join(_indented("NOTE ", printable(note)))
        for note in (*list_notes(tree), *direction_lines(tree), *support_lines(tree))
    ]
    edits = ["\n".join(_indented("EDIT ", line)) for line in edit_lines(tree)]
    first = ["\n".join(wrap(printable(note), WIDTH)) for note in list_warnings(tree)]
    return "\n\n".join(first + blocks + notes + edits)


def sort_rules(tree: Tree, order: str = RULE_ORDERS[0], positive: Any = None) -> list[Rule]:
    """The rules as they stand in the tree, or those of the highest risk first.

    Of three or more classes the risk is the probability of `positive`; without it they stay as they stand.
    """
    if order not in RULE_ORDERS:
        raise ParameterError(f"order={order!r} is unknown: choose one of {', '.join(RULE_ORDERS)}.")
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
        truncate_list([f"{names[index]} {probability_text(rule.value[index])}" for index in seen], most)
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
        probability = probability_text(select_probability(rule.value, self.place, rule.predicted))
        mark = "," if self.tree.is_posterior else ";"
        return f"{self.name} = {probability}{f'{mark} {between}' if between else ''}; {rows}"

    def _between(self, rule: Rule) -> str:
        """The rate or mean of the rows, after the 95 % interval of the estimate or before their own."""
        place = rule.predicted if self.place is None else self.place
        found = class_outcome(self.tree, rule.leaf, place)
        if found.observed is None:
            return ""
        if rule.target.is_classes:
            low, high = found.interval or (0.0, 1.0)
            ends = f"{probability_text(low)} to {probability_text(high)}"
            observed = f"observed {probability_text(found.observed)}"
        else:
            ends = "" if found.interval is None else " to ".join(distinct_texts(*found.interval))
            observed = f"observed mean {number_text(found.observed, 4)}"
        if found.is_about_estimate:
            return "; ".join(filter(None, [ends, observed]))
        return ", ".join(filter(None, [observed, ends]))


def _indented(head: str, text: str) -> list[str]:
    if len(head) + len(text) <= WIDTH and text and text == text.strip():
        return [(head + text).replace(NO_BREAK, " ")]
    lines = wrap(
        protect_spaces(text),
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * MARGIN,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


# -- Conditions in words -------------------------------------------------------------------------------------

SHORT_LIST = 6  # categories that read at a glance
FULL_LIST = 24  # categories that a tooltip, or rules on a terminal, still spell out
CUT_LIST = 5  # categories shown of a list that is cut
NO_ROWS = "no rows"  # in training


def condition_text(
    condition: Condition,
    *,
    missing: bool = False,
    counts: bool = False,
    most: int | None = None,
    before: Condition | None = None,
) -> str:
    """The condition as text.

    "or not recorded" stands where a missing value is allowed and some training row lacked the value there;
    with `counts` the number of these rows, and of the others. Categories that no training row had there are
    not listed. `missing=True` tells both wherever they are allowed. A list of more than `most` categories
    is cut; with None, none is. Of categories that the condition `before` does not allow, nothing is said.
    """
    feature, n_missing = condition.feature, condition.n_missing
    with_missing = condition.missing and (before is None or before.missing)
    had_missing = with_missing and condition.has_missing_rows
    known, allowed, unseen = _categories(condition, before, had_missing)
    name = printable(feature.name)
    subject = f"({name})" if feature.kind == "question" else name
    is_numeric = feature.kind == "numeric"
    others = _unseen_text(unseen, most) if missing else ""
    if condition.is_empty if is_numeric else not allowed:
        return f"{subject} is not recorded{others}" if with_missing else f"{subject} has no possible value"
    if condition.is_whole if is_numeric else len(allowed) == len(known):
        return f"{subject} is recorded or not" if with_missing else f"{subject} is recorded{others}"
    is_told = with_missing and (missing or had_missing)
    if feature.kind == "question":
        text = (subject if is_told else name) if True in allowed else f"not {subject}"
    elif is_numeric:
        text = _interval_text(name, condition.low, condition.high)
    elif feature.kind == "ordered":
        text = _order_text(name, known, allowed)
    else:
        text = _set_text(name, known, allowed, most)
    if not is_told:
        return f"{text}{others}"
    if not counts or n_missing is None or isnan(n_missing):
        return f"{text} or not recorded{others}"
    if not n_missing:
        return f"{text} or not recorded ({NO_ROWS}){others}"
    assert condition.n_known is not None
    return f"{text} ({count_text(condition.n_known)}) or not recorded ({count_text(n_missing)}){others}"


def branch_text(
    tree: Tree,
    node: int,
    side: bool,
    *,
    missing: bool = False,
    counts: bool = False,
    most: int | None = None,
    known: Mapping[int, Condition] | None = None,
) -> str:
    """The question of an inner node as a condition, for the yes side (True, left) or the no side.

    Only the categories that can reach the node are told; the other options are as in `condition_text`.
    For many nodes, `known` is `known_before(tree)`.
    """
    condition, before = _told(tree, node, side, known)
    return condition_text(condition, missing=missing, counts=counts, most=most, before=before)


def split_text(
    tree: Tree,
    node: int,
    *,
    missing: bool = False,
    counts: bool = False,
    most: int | None = None,
    known: Mapping[int, Condition] | None = None,
    branches: bool = False,
) -> str:
    """The question of an inner node for forms that name the branches yes and no.

    Whatever is not listed goes to no, so the set has all the categories that go to yes, also those that no
    training row had. Where the no side takes missing values that training rows had, the text says so. With
    `branches` nothing is said of missing values: what stands at the branches says it.
    """
    condition, before = _told(tree, node, True, known)
    condition = replace(condition, seen=None)
    if branches:
        return condition_text(replace(condition, n_known=None, n_missing=None), most=most, before=before)
    text = condition_text(condition, missing=missing, counts=counts, most=most, before=before)
    other = replace(split_condition(tree, node, False), seen=None)
    if not other.has_missing_rows or condition_text(other, before=before).endswith("is not recorded"):
        return text
    is_counted = counts and other.n_missing is not None and not isnan(other.n_missing)
    number = f"{count_text(other.n_missing)} " if is_counted and other.n_missing else ""
    return f"{text} ({number}not recorded: no)"


def iterate_shorter_conditions(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition], *, missing: bool = False
) -> Iterator[str]:
    """The condition in ever fewer words: without the numbers of rows, then with fewer of its categories."""
    condition, before = _told(tree, node, side, known)
    yield condition_text(condition, missing=missing, counts=True, most=SHORT_LIST, before=before)
    for most in (SHORT_LIST, 4, 3, 2, 1):
        yield condition_text(condition, missing=missing, most=most, before=before)


def iterate_shorter_branches(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition], *, missing: bool = False
) -> Iterator[str]:
    """The same without the name of the feature, for a branch below it: <= 5, in {A, B}, true."""
    name = printable(tree.schema.names[tree.feature[node]])
    for text in iterate_shorter_conditions(tree, node, side, known, missing=missing):
        yield _without_subject(text, name, tree.schema.features[tree.feature[node]].kind == "question")


def _without_subject(text: str, name: str, is_question: bool) -> str:
    if not is_question:
        return text.removeprefix(f"{name} ")
    rest = text.removeprefix("not ").removeprefix(f"({name})").removeprefix(name)
    if rest.startswith(" is "):  # recorded, or not
        return rest.strip()
    return f"{'false' if text.startswith(f'not ({name})') else 'true'}{rest}"


def _told(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition] | None
) -> tuple[Condition, Condition | None]:
    """The answer, and what of its feature can reach the node; None if the answer would be impossible."""
    condition = split_condition(tree, node, side)
    before = list_conditions(tree, node).get(int(tree.feature[node])) if known is None else known.get(node)
    if before is not None:
        both = condition.within(before)
        if both.is_empty and not both.missing:
            before = None
    return condition, before


def _categories(
    condition: Condition, before: Condition | None, had_missing: bool
) -> tuple[tuple[Label, ...], tuple[Label, ...], tuple[Label, ...]]:
    """The categories there are; those that are allowed; those that are although no training row had them.

    A side that no training row came to is told by all that it allows.
    """
    feature = condition.feature
    if feature.kind not in ("nominal", "ordered"):
        return feature.categories, condition.categories, ()
    known, allowed = feature.categories, condition.categories
    if before is not None:
        reaching = set(before.categories)
        known, allowed = before.categories, tuple(label for label in allowed if label in reaching)
    if condition.seen is None:
        return known, allowed, ()
    seen = set(condition.seen)
    told = tuple(label for label in allowed if label in seen)
    is_all = condition.missing and len(told) == sum(label in seen for label in known)
    if is_all or not (told or had_missing):
        return known, allowed, ()
    unseen = tuple(label for label in allowed if label not in seen)
    return tuple(label for label in known if label in seen), told, unseen


def _unseen_text(labels: tuple[Label, ...], most: int | None) -> str:
    if not labels:
        return ""
    listed = ", ".join(_labels(labels, most))
    return f" or {listed if len(labels) == 1 else f'in {{{listed}}}'} ({NO_ROWS})"


# -- by kind of feature -----------------------------------------------------------------------------------


def _interval_text(name: str, low: float, high: float) -> str:
    digits = 6
    while digits < 17 and number_text(low, digits) == number_text(high, digits):
        digits += 1
    upper, lower = number_text(high, digits), number_text(low, digits)
    if low == -inf:
        return f"{name} {'<' if _is_rounded_up(high, upper) else '<='} {upper}"
    if high == inf:
        return f"{name} {'>=' if _is_rounded_up(low, lower) else '>'} {lower}"
    signs = "<=" if _is_rounded_up(low, lower) else "<", "<" if _is_rounded_up(high, upper) else "<="
    return f"{lower} {signs[0]} {name} {signs[1]} {upper}"


def _is_rounded_up(threshold: float, text: str) -> bool:
    """True if the number as it is shown lies on the other side: 4.9999998 reads as 5, and 5 goes right."""
    return float(text) - threshold > 1e-12 * abs(threshold)


def _order_text(name: str, known: tuple[Label, ...], allowed: tuple[Label, ...]) -> str:
    first, last = allowed[0], allowed[-1]
    if first == last:
        return f"{name} = {item_text(first)}"
    if first == known[0]:
        return f"{name} at most {item_text(last)}"
    if last == known[-1]:
        return f"{name} above {item_text(known[known.index(first) - 1])}"
    return f"{name} from {item_text(first)} to {item_text(last)}"


def _set_text(name: str, known: tuple[Label, ...], allowed: tuple[Label, ...], most: int | None) -> str:
    is_negated = len(allowed) > SHORT_LIST >= len(known) - len(allowed)
    if is_negated:
        inside = set(allowed)
        allowed = tuple(label for label in known if label not in inside)
    if len(allowed) == 1:
        return f"{name} {'is not' if is_negated else '='} {item_text(allowed[0])}"
    listed = ", ".join(_labels(allowed, most))
    return f"{name} {'not in' if is_negated else 'in'} {{{listed}}}"


def _labels(labels: tuple[Label, ...], most: int | None) -> list[str]:
    """The labels as items of a list that is cut like any other; those left out are not even written."""
    n_told = len(labels) if most is None or len(labels) <= most else min(most, CUT_LIST)
    more = len(labels) - n_told
    return [*map(item_text, labels[:n_told]), *([f"{CUT} {more} more"] if more else [])]


def truncate_list(texts: list[str], most: int | None) -> list[str]:
    """The texts, or, of more than `most`, some of them and the number of the others."""
    if most is None or len(texts) <= most:
        return texts
    n_told = min(most, CUT_LIST)
    return [*texts[:n_told], f"{CUT} {len(texts) - n_told} more"]


# -- Which way the values of a tree go along its features, where that is promised ----------------------------

_SAID = {1: "never falls", -1: "never rises"}
_SIGNS = {1: "↑", -1: "↓"}


def direction_signs(tree: Tree) -> dict[str, str]:
    """What stands beside the columns asked about, by name, where something is promised of them."""
    return {name: _SIGNS[direction] for name, direction in _asked_directions(tree).items()}


def direction_lines(tree: Tree, *, signs: bool = False) -> list[str]:
    """A sentence for each direction of the columns asked about; in a drawing with the sign it explains."""
    directions = _asked_directions(tree)
    return [
        (f"{_SIGNS[direction]} " if signs else "") + _sentence(tree, direction, names)
        for direction in _SAID
        if (names := [name for name, own in directions.items() if own == direction])
    ]


def _sentence(tree: Tree, direction: int, names: list[str]) -> str:
    assert tree.monotone is not None
    target = tree.schema.target
    place = tree.monotone.column(tree) if target.is_classes else None
    what = probability_name(target, place) if target.is_classes else printable(target.name)
    columns = join_parts([printable(name) for name in names])
    return f"{what} {_SAID[direction]} as {columns if len(names) == 1 else f'any of {columns}'} rises."


def _asked_directions(tree: Tree) -> dict[str, int]:
    """The directions of the columns that the tree asks about, by name."""
    if tree.monotone is None:
        return {}
    asked = {tree.schema.names[feature] for feature in tree.feature[tree.feature != LEAF].tolist()}
    return {name: direction for name, direction in tree.monotone.directions if name in asked}


# -- Marks at the splits that few reference trees make, and the sentence that explains them ------------------

SIGN = "†"


def node_marks(tree: Tree, *, at_answers: bool) -> dict[int, str]:
    """What is written at the nodes: the marks of splits of low support, and those of edits.

    `at_answers`: in a drawing whose lines are answers, a split is marked at the two nodes below it.
    """
    marks = edit_marks(tree, at_answers=at_answers)
    for node, support in find_weak_splits(tree).items():
        for each in (int(tree.left[node]), int(tree.right[node])) if at_answers else (node,):
            marks[each] = f"{_mark(support)}{marks.get(each, '')}"
    return marks


def condition_marks(tree: Tree) -> list[dict[str, str]]:
    """For every node, the marks of the conditions that lead to it, by the names of the features."""
    weak, least = find_weak_splits(tree), [dict[str, float]()]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        found = least[parent]
        if parent in weak:
            name = tree.schema.names[tree.feature[parent]]
            found = {**found, name: min(weak[parent], found.get(name, 1.0))}
        least.append(found)
    return [{name: _mark(support) for name, support in found.items()} for found in least]


def _mark(support: float) -> str:
    return f" {SIGN}{rounded_percent(support).replace(' ', NO_BREAK)}"


def support_lines(tree: Tree) -> list[str]:
    """The sentence that explains the marks; none where there are none."""
    if not find_weak_splits(tree):
        return []
    least = rounded_percent(LEAST_SUPPORT)
    return [
        f"{SIGN} marks a split of low support, below {least}: the share of the reference trees that split "
        "mostly the same rows on the same feature."
    ]


def support_sentence(tree: Tree, node: int) -> str:
    """The support of a split in words, where it is low."""
    support = find_weak_splits(tree).get(node)
    return "" if support is None else support_text(support)


def support_text(support: float) -> str:
    """The support of a split in words, marked where it is low."""
    low = f"{SIGN} only " if support < LEAST_SUPPORT else ""
    return f"{low}{rounded_percent(support)} of the reference trees split mostly the same rows on it"


# -- What was edited by hand, in words, and the marks that tie the words to the nodes of a drawing -----------


def edit_text(edit: Edit) -> str:
    """What was there, what became of it, and who says why."""
    before, after = node_text(edit.before), node_text(edit.after)
    if edit.kind == "pruned":
        text = f"{before} was pruned to {after}"
    elif edit.kind == "value":
        text = f"{_value_text(edit.before.value)} became {_value_text(edit.after.value)}"
    elif edit.kind == "grown":
        text = f"{before} was grown anew: {after}"
    else:
        text = f"{before} became {after}"
    person = ", ".join(printable(each) for each in (edit.by, edit.when) if each)
    said = ": ".join(each for each in (person, printable(edit.why)) if each)
    return f"{text} ({said})" if said else text


def node_text(node: Node) -> str:
    """What the node asks, for yes; or what a leaf says."""
    if node.feature is None:
        return f"a leaf, {_value_text(node.value)}"
    name = printable(str(node.feature))
    if node.threshold is not None:
        return (
            f"{name} is recorded" if node.threshold >= KNOWN else f"{name} <= {number_text(node.threshold)}"
        )
    labels = [item_text(label) for label in node.categories or ()]
    if len(labels) == 1:
        return f"{name} = {labels[0]}"
    return f"{name} in {{{', '.join(truncate_list(labels, FULL_LIST))}}}"


def _value_text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return number_text(value, 4)
    label = max(value, key=lambda each: value[each])
    return f"{label_text(label)} with p = {probability_text(value[label])}"


# -- in drawings ------------------------------------------------------------------------------------------


def edit_marks(tree: Tree, *, at_answers: bool) -> dict[int, str]:
    """What is written at each node that an edit holds at: [1] for the first edit, and so on.

    `at_answers`: in a drawing whose lines are answers, an edited question stands at the two nodes below it.
    """
    number = {id(edit): place for place, edit in enumerate(tree.edits, 1)}
    marks: dict[int, str] = {}
    for node, edit in find_valid_edits(tree):
        is_asked = at_answers and tree.feature[node] != LEAF
        for each in (int(tree.left[node]), int(tree.right[node])) if is_asked else (node,):
            marks[each] = f"{marks.get(each, '')} [{number[id(edit)]}]"
    return marks


def edit_lines(tree: Tree) -> list[str]:
    """A line for each edit, with its mark; of one that holds no longer, a remark."""
    held = {id(edit) for _, edit in find_valid_edits(tree)}
    return [
        f"[{place}] {edit_text(edit)}{'' if id(edit) in held else '; changed again since'}"
        for place, edit in enumerate(tree.edits, 1)
    ]


def wrap_edits(tree: Tree, width: int) -> list[str]:
    """The lines of the edits, none of them longer than the width."""
    return [line for text in edit_lines(tree) for line in wrap(text, width, subsequent_indent="    ")]


# -- The probability that drawings and rules tell ------------------------------------------------------------

LONGEST_NAME = 16  # letters of a class in a heading


def probability_name(target: Target, place: int | None) -> str:
    """What the probability is of: p, or with the positive class p(died)."""
    return "p" if place is None else f"p({shorten(format_class_names(target)[place], LONGEST_NAME)})"


def select_probability(fractions: Sequence[float], place: int | None, predicted: int) -> float:
    """The fraction of the positive class; of the predicted one where there is none.

    Where errors cost different amounts, the predicted one need not be the most frequent.
    """
    return float(fractions[predicted if place is None else place])


def interval_sentence(outcome: LeafOutcome) -> str:
    """The interval of the estimate of a leaf or, of an interval of its rows, why the estimate lies outside.

    "" where the interval is that of the rows and holds the estimate.
    """
    if outcome.is_about_estimate and outcome.interval is not None:
        is_rate = outcome.label is not None
        ends = percent_range(*outcome.interval) if is_rate else " to ".join(distinct_texts(*outcome.interval))
        return f"The 95 % interval of the tree's estimate is {ends}."
    if not outcome.is_outside:
        return ""
    weights = "weights, " if outcome.is_weighted else ""
    reason = (
        "it was set by hand"
        if outcome.is_by_hand
        else f"it also draws on {weights}the teacher's predictions or the nodes above"
    )
    return f"The tree's estimate lies outside this interval: {reason}."
