"""Rules, conditions, edits and marks of a tree as text."""

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
from holdfast.data.survival import join_value
from holdfast.errors import ParameterError
from holdfast.tree.build import Node
from holdfast.tree.edit import Edit, find_valid_edits
from holdfast.tree.leaf_evidence import LeafOutcome, class_outcome
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
    value_text,
)
from holdfast.tree.stats import LEAST_SUPPORT, find_weak_splits, positive_class, risk
from holdfast.tree.survival import events_text, node_survival, risk_text, survival_lines, survival_text
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
    """Format one IF ... THEN rule per leaf, with its support and probabilities, in 80 columns.

    With two classes the probability is that of the positive one. `order="risk"` sorts the rules by this
    probability, or by the mean, highest first. `missing=True` mentions missing values and unseen categories
    wherever a condition allows them, not only where training rows had them. Lists of more than `most`
    categories or classes are truncated. `intervals=True` adds the observed rate or mean of each leaf with its
    95 % interval.
    """
    texts, support = _ConditionTexts(missing, most), _SupportText(tree, positive, intervals)
    marks = condition_marks(tree)
    blocks = [
        "\n".join(
            _rule_lines(
                rule,
                texts.format(rule.conditions, marks[rule.leaf]),
                support.text(rule),
                most,
                support.outcome(rule),
            )
        )
        for rule in sort_rules(tree, order, positive)
    ]
    notes = [
        "\n".join(_indented("NOTE ", printable(note)))
        for note in (
            *list_notes(tree),
            *direction_lines(tree),
            *survival_lines(tree),
            *support_lines(tree),
        )
    ]
    edits = ["\n".join(_indented("EDIT ", line)) for line in edit_lines(tree)]
    first = ["\n".join(wrap(printable(note), WIDTH)) for note in list_warnings(tree)]
    return "\n\n".join(first + blocks + notes + edits)


def sort_rules(tree: Tree, order: str = RULE_ORDERS[0], positive: Any = None) -> list[Rule]:
    """List the rules from left to right, or by descending risk.

    With three or more classes the risk is the probability of `positive`; without it the order stays.
    """
    if order not in RULE_ORDERS:
        raise ParameterError(f"order={order!r} is unknown: choose one of {', '.join(RULE_ORDERS)}.")
    rules, risks = list(tree_rules(tree)), risk(tree, positive)
    if order == "risk" and risks is not None:
        rules.sort(key=lambda rule: -risks[rule.leaf])  # a stable sort
    return rules


def rule_text(rule: Rule, most: int | None = None) -> str:
    """Format a rule on one line, without its support."""
    conditions = " AND ".join(_ConditionTexts(False, most, counts=False).format(rule.conditions))
    return f"{f'IF {conditions} ' if conditions else ''}THEN {rule_outcome_text(rule)}"


def leaf_conditions(
    tree: Tree, *, missing: bool = False, most: int | None = None, first: int | None = None
) -> dict[int, tuple[str, ...]]:
    """Format the conditions of every leaf, or only the first ones, see `condition_text`."""
    texts, marks = _ConditionTexts(missing, most), condition_marks(tree)
    return {
        node: texts.format(
            (count_rows(tree, node, *each) for each in islice(conditions.items(), first)), marks[node]
        )
        for node, conditions in enumerate(iterate_conditions(tree))
        if tree.feature[node] == LEAF
    }


_NO_MARKS: Mapping[str, str] = {}


class _ConditionTexts:
    """Format conditions, each once: leaves of a deep tree share most of them."""

    def __init__(self, missing: bool, most: int | None, counts: bool = True) -> None:
        self.missing, self.most, self.counts = missing, most, counts
        # By identity, which is faster than by value; each is stored, so that its number stays unique.
        self._cache: dict[int, tuple[Condition, str]] = {}

    def format(
        self, conditions: Iterable[Condition], marks: Mapping[str, str] = _NO_MARKS
    ) -> tuple[str, ...]:
        """Format the conditions with their marks, without those that allow everything."""
        return tuple(
            self._text(condition) + marks.get(condition.name, "")
            for condition in conditions
            if not condition.allows_all
        )

    def _text(self, condition: Condition) -> str:
        if id(condition) not in self._cache:
            text = condition_text(condition, missing=self.missing, counts=self.counts, most=self.most)
            self._cache[id(condition)] = condition, text
        return self._cache[id(condition)][1]


# -- one leaf ---------------------------------------------------------------------------------------------


def rule_outcome_text(rule: Rule) -> str:
    """Format the prediction of a rule: class, mean, or named quantile."""
    if rule.target.is_classes:
        return format_class_names(rule.target)[rule.target.classes.index(rule.outcome)]
    return join_value(rule.statistic, value_text(rule.target, rule.value[0]))


def other_classes_text(rule: Rule, most: int | None = None) -> str:
    """List the other classes of a leaf, the most probable first; empty for fewer than three classes."""
    target, fractions = rule.target, np.array(rule.value)
    if len(target.classes) < 3:
        return ""
    order = np.argsort(-fractions, kind="stable").tolist()
    own = target.classes.index(rule.outcome)
    others = [index for index in order if fractions[index] > 0 and index != own]
    names = format_class_names(target)
    return ", ".join(
        truncate_list([f"{names[index]} {probability_text(rule.value[index])}" for index in others], most)
    )


def _rule_lines(
    rule: Rule, conditions: tuple[str, ...], support: str, most: int | None, outcome: str
) -> list[str]:
    lines = []
    for index, condition in enumerate(conditions):
        lines += _indented("AND  " if index else "IF   ", condition)
    head = "THEN " if conditions else "ALWAYS "
    support = f"({support})"
    if len(f"{head}{outcome}   {support}") <= WIDTH:
        lines.append(f"{head}{outcome}   {support}")
    else:
        lines += [*_indented(head, outcome), *_indented(" " * MARGIN, support)]
    if others := other_classes_text(rule, most):
        lines += _indented(" " * MARGIN, others.replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", "))
    return lines


class _SupportText:
    """The support of the rules of a tree as text: probability, interval and rows."""

    def __init__(self, tree: Tree, positive: Any, intervals: bool = False) -> None:
        self.tree, self.intervals = tree, intervals
        self.place, self.n_rows = positive_class(tree, positive), float(tree.count[0])
        self.name = probability_name(tree.schema.target, self.place)

    def outcome(self, rule: Rule) -> str:
        """Format the prediction of one rule; survival with its interval, and the risk."""
        if not rule.target.is_survival:
            return f"{printable(rule.target.name)} = {rule_outcome_text(rule)}"
        found = node_survival(self.tree, rule.leaf)
        return f"{join_value(rule.statistic, survival_text(found))}, risk {risk_text(found.risk)}"

    def text(self, rule: Rule) -> str:
        """Format probability and rows of one rule."""
        if rule.target.is_survival:
            events = events_text(node_survival(self.tree, rule.leaf))
            return f"{events}, {percent_text(rule.fraction)} of all" if rule.conditions else events
        rows = f"{count_text(rule.count)} of {count_text(self.n_rows)} rows, {percent_text(rule.fraction)}"
        if not rule.conditions:
            rows = rows_text(rule.count)
        interval = self._interval(rule) if self.intervals else ""
        if not rule.target.is_classes:
            return f"{interval}; {rows}" if interval else rows
        probability = probability_text(select_probability(rule.value, self.place, rule.predicted))
        mark = "," if self.tree.is_posterior else ";"
        return f"{self.name} = {probability}{f'{mark} {interval}' if interval else ''}; {rows}"

    def _interval(self, rule: Rule) -> str:
        """Format the observed rate or mean, before its 95 % interval or after that of the estimate."""
        place = rule.predicted if self.place is None else self.place
        outcome = class_outcome(self.tree, rule.leaf, place)
        if outcome.observed is None:
            return ""
        if rule.target.is_classes:
            low, high = outcome.interval or (0.0, 1.0)
            ends = f"{probability_text(low)} to {probability_text(high)}"
            observed = f"observed {probability_text(outcome.observed)}"
        else:
            ends = "" if outcome.interval is None else " to ".join(distinct_texts(*outcome.interval))
            observed = f"observed mean {number_text(outcome.observed, 4)}"
        if outcome.is_about_estimate:
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

SHORT_LIST = 6  # categories of a short list
FULL_LIST = 24  # most categories that a tooltip or a terminal lists
CUT_LIST = 5  # categories shown of a truncated list
NO_ROWS = "no rows"  # in training


def condition_text(
    condition: Condition,
    *,
    missing: bool = False,
    counts: bool = False,
    most: int | None = None,
    before: Condition | None = None,
) -> str:
    """Format a condition.

    "or not recorded" is added if missing values are allowed and some training row lacked the value; `counts`
    adds the numbers of rows with and without a value. Categories that no training row had are left out.
    `missing=True` mentions both wherever they are allowed. Lists of more than `most` categories are
    truncated. Categories that the condition `before` excludes are left out.
    """
    feature, n_missing = condition.feature, condition.n_missing
    with_missing = condition.missing and (before is None or before.missing)
    had_missing = with_missing and condition.has_missing_rows
    known, allowed, unseen = _categories(condition, before, had_missing)
    name = printable(feature.name)
    subject = f"({name})" if feature.kind == "custom" else name
    is_numeric = feature.kind == "numeric"
    others = _unseen_text(unseen, most) if missing else ""
    if condition.is_empty if is_numeric else not allowed:
        return f"{subject} is not recorded{others}" if with_missing else f"{subject} has no possible value"
    if condition.is_whole if is_numeric else len(allowed) == len(known):
        return f"{subject} is recorded or not" if with_missing else f"{subject} is recorded{others}"
    shows_missing = with_missing and (missing or had_missing)
    if feature.kind == "custom":
        text = (subject if shows_missing else name) if True in allowed else f"not {subject}"
    elif is_numeric:
        text = _interval_text(name, condition.low, condition.high)
    elif feature.kind == "ordered":
        text = _order_text(name, known, allowed)
    else:
        text = _set_text(name, known, allowed, most)
    if not shows_missing:
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
    """Format the condition of a branch: the yes side (True, left) or the no side of a split.

    Only categories that can reach the node are listed; the options are those of `condition_text`. `known` is
    the result of `find_known_values(tree)`, computed once for many nodes.
    """
    condition, before = _branch_condition(tree, node, side, known)
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
    """Format a split for drawings that label the branches yes and no.

    A set lists all categories of the yes side, also those that no training row had. If missing values of
    training rows go to no, this is mentioned, unless the drawing shows it at the `branches`.
    """
    condition, before = _branch_condition(tree, node, True, known)
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
    """Iterate over shorter and shorter texts: without numbers of rows, then with fewer categories."""
    condition, before = _branch_condition(tree, node, side, known)
    yield condition_text(condition, missing=missing, counts=True, most=SHORT_LIST, before=before)
    for most in (SHORT_LIST, 4, 3, 2, 1):
        yield condition_text(condition, missing=missing, most=most, before=before)


def iterate_shorter_branches(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition], *, missing: bool = False
) -> Iterator[str]:
    """Iterate over the same texts without the name of the feature: <= 5, in {A, B}, true."""
    name = printable(tree.schema.names[tree.feature[node]])
    for text in iterate_shorter_conditions(tree, node, side, known, missing=missing):
        yield _remove_subject(text, name, tree.schema.features[tree.feature[node]].kind == "custom")


def _remove_subject(text: str, name: str, is_question: bool) -> str:
    if not is_question:
        return text.removeprefix(f"{name} ")
    rest = text.removeprefix("not ").removeprefix(f"({name})").removeprefix(name)
    if rest.startswith(" is "):  # recorded, or not
        return rest.strip()
    return f"{'false' if text.startswith(f'not ({name})') else 'true'}{rest}"


def _branch_condition(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition] | None
) -> tuple[Condition, Condition | None]:
    """Return the condition of a branch, and that on values reaching the node; None if they conflict."""
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
    """Return all categories, the allowed ones, and allowed ones that no training row had.

    A side without training rows is described by all categories that it allows.
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
    listed = tuple(label for label in allowed if label in seen)
    is_all = condition.missing and len(listed) == sum(label in seen for label in known)
    if is_all or not (listed or had_missing):
        return known, allowed, ()
    unseen = tuple(label for label in allowed if label not in seen)
    return tuple(label for label in known if label in seen), listed, unseen


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
    """Return True if rounding changes the side: 4.9999998 is shown as 5, and 5 goes right."""
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
    """Format labels as a list that may be truncated; labels left out are not formatted."""
    n_shown = len(labels) if most is None or len(labels) <= most else min(most, CUT_LIST)
    more = len(labels) - n_shown
    return [*map(item_text, labels[:n_shown]), *([f"{CUT} {more} more"] if more else [])]


def truncate_list(texts: list[str], most: int | None) -> list[str]:
    """Truncate a list of more than `most` texts, and add the number of the others."""
    if most is None or len(texts) <= most:
        return texts
    n_shown = min(most, CUT_LIST)
    return [*texts[:n_shown], f"{CUT} {len(texts) - n_shown} more"]


# -- Monotone constraints ------------------------------------------------------------------------------------

_VERBS = {1: "never falls", -1: "never rises"}
_SIGNS = {1: "↑", -1: "↓"}


def direction_signs(tree: Tree) -> dict[str, str]:
    """Return the signs of the monotone columns that the tree splits on, by name."""
    return {name: _SIGNS[direction] for name, direction in _used_directions(tree).items()}


def direction_lines(tree: Tree, *, signs: bool = False) -> list[str]:
    """Describe the monotone constraints that the tree uses, one sentence per direction."""
    directions = _used_directions(tree)
    return [
        (f"{_SIGNS[direction]} " if signs else "") + _sentence(tree, direction, names)
        for direction in _VERBS
        if (names := [name for name, own in directions.items() if own == direction])
    ]


def _sentence(tree: Tree, direction: int, names: list[str]) -> str:
    assert tree.monotone is not None
    target = tree.schema.target
    place = tree.monotone.column(tree) if target.is_classes else None
    what = probability_name(target, place) if target.is_classes else printable(target.name)
    what = "the risk" if target.is_survival else what
    columns = join_parts([printable(name) for name in names])
    return f"{what} {_VERBS[direction]} as {columns if len(names) == 1 else f'any of {columns}'} rises."


def _used_directions(tree: Tree) -> dict[str, int]:
    """Return the directions of the columns that the tree splits on, by name."""
    if tree.monotone is None:
        return {}
    used = {tree.schema.names[feature] for feature in tree.feature[tree.feature != LEAF].tolist()}
    return {name: direction for name, direction in tree.monotone.directions if name in used}


# -- Marks of splits with low support ------------------------------------------------------------------------

SIGN = "†"


def node_marks(tree: Tree, *, at_branches: bool) -> dict[int, str]:
    """Return the marks of edits and of splits with low support, by node.

    With `at_branches` a split is marked at both of its children, for drawings with a line per branch.
    """
    marks = edit_marks(tree, at_branches=at_branches)
    for node, support in find_weak_splits(tree).items():
        for each in (int(tree.left[node]), int(tree.right[node])) if at_branches else (node,):
            marks[each] = f"{_mark(support)}{marks.get(each, '')}"
    return marks


def condition_marks(tree: Tree) -> list[dict[str, str]]:
    """Return for every node the marks of the conditions on its path, by feature name."""
    weak, least = find_weak_splits(tree), [dict[str, float]()]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        supports = least[parent]
        if parent in weak:
            name = tree.schema.names[tree.feature[parent]]
            supports = {**supports, name: min(weak[parent], supports.get(name, 1.0))}
        least.append(supports)
    return [{name: _mark(support) for name, support in supports.items()} for supports in least]


def _mark(support: float) -> str:
    return f" {SIGN}{rounded_percent(support).replace(' ', NO_BREAK)}"


def support_lines(tree: Tree) -> list[str]:
    """Explain the marks, if there are any."""
    if not find_weak_splits(tree):
        return []
    least = rounded_percent(LEAST_SUPPORT)
    return [
        f"{SIGN} marks a split of low support, below {least}: the share of the reference trees that split "
        "mostly the same rows on the same feature."
    ]


def support_sentence(tree: Tree, node: int) -> str:
    """Describe the support of a split if it is low."""
    support = find_weak_splits(tree).get(node)
    return "" if support is None else support_text(support)


def support_text(support: float) -> str:
    """Describe the support of a split, with a mark if it is low."""
    low = f"{SIGN} only " if support < LEAST_SUPPORT else ""
    return f"{low}{rounded_percent(support)} of the reference trees split mostly the same rows on it"


# -- Edits ---------------------------------------------------------------------------------------------------


def edit_text(edit: Edit, number: str = "") -> str:
    """Describe an edit: before, after, author, date and reason; `number` names the value of a leaf."""
    before, after = node_text(edit.before, number), node_text(edit.after, number)
    if edit.kind == "pruned":
        text = f"{before} was pruned to {after}"
    elif edit.kind == "value":
        text = f"{_value_text(edit.before.value, number)} became {_value_text(edit.after.value, number)}"
    elif edit.kind == "grown":
        text = f"{before} was grown again: {after}"
    else:
        text = f"{before} became {after}"
    person = ", ".join(printable(each) for each in (edit.by, edit.when) if each)
    source = ": ".join(each for each in (person, printable(edit.why)) if each)
    return f"{text} ({source})" if source else text


def node_text(node: Node, number: str = "") -> str:
    """Format the split of a node, or the value of a leaf."""
    if node.feature is None:
        return f"a leaf, {_value_text(node.value, number)}"
    name = printable(str(node.feature))
    if node.threshold is not None:
        return (
            f"{name} is recorded" if node.threshold >= KNOWN else f"{name} <= {number_text(node.threshold)}"
        )
    labels = [item_text(label) for label in node.categories or ()]
    if len(labels) == 1:
        return f"{name} = {labels[0]}"
    return f"{name} in {{{', '.join(truncate_list(labels, FULL_LIST))}}}"


def _value_text(value: Any, number: str = "") -> str:
    if not isinstance(value, Mapping):
        return f"{number} {number_text(value, 4)}".strip()
    label = max(value, key=lambda each: value[each])
    return f"{label_text(label)} with p = {probability_text(value[label])}"


def edit_marks(tree: Tree, *, at_branches: bool) -> dict[int, str]:
    """Return the marks of the edits in force, by node: [1] for the first edit, and so on.

    With `at_branches` an edited split is marked at both of its children.
    """
    number = {id(edit): place for place, edit in enumerate(tree.edits, 1)}
    marks: dict[int, str] = {}
    for node, edit in find_valid_edits(tree):
        is_split = at_branches and tree.feature[node] != LEAF
        for each in (int(tree.left[node]), int(tree.right[node])) if is_split else (node,):
            marks[each] = f"{marks.get(each, '')} [{number[id(edit)]}]"
    return marks


def edit_lines(tree: Tree) -> list[str]:
    """Describe each edit with its mark, and note if it is no longer in force."""
    in_force = {id(edit) for _, edit in find_valid_edits(tree)}
    number = "risk" if tree.schema.target.is_survival else ""
    return [
        f"[{place}] {edit_text(edit, number)}{'' if id(edit) in in_force else '; changed again since'}"
        for place, edit in enumerate(tree.edits, 1)
    ]


def wrap_edits(tree: Tree, width: int) -> list[str]:
    """Wrap the descriptions of the edits."""
    return [line for text in edit_lines(tree) for line in wrap(text, width, subsequent_indent="    ")]


# -- Probabilities and intervals -----------------------------------------------------------------------------

LONGEST_NAME = 16  # letters of a class in a heading


def probability_name(target: Target, place: int | None) -> str:
    """Name the probability: p, or with a positive class p(died)."""
    return "p" if place is None else f"p({shorten(format_class_names(target)[place], LONGEST_NAME)})"


def select_probability(fractions: Sequence[float], place: int | None, predicted: int) -> float:
    """Return the fraction of the positive class, or of the predicted one without a positive class."""
    return float(fractions[predicted if place is None else place])


def interval_sentence(outcome: LeafOutcome) -> str:
    """State the interval of an estimate, or why the estimate lies outside the interval of its rows.

    Empty if the interval is that of the rows and contains the estimate.
    """
    if outcome.is_about_estimate and outcome.interval is not None:
        is_rate = outcome.label is not None
        ends = percent_range(*outcome.interval) if is_rate else " to ".join(distinct_texts(*outcome.interval))
        return f"The 95 % interval of the tree's estimate is {ends}."
    if not outcome.is_outside:
        return ""
    weights = "weights, " if outcome.is_weighted else ""
    reason = (
        "it was set manually"
        if outcome.is_by_hand
        else f"it also draws on {weights}the teacher's predictions or the nodes above"
    )
    if outcome.survival is not None:
        reason += ", and the hazards of all leaves are proportional" * (not outcome.is_by_hand)
    return f"The tree's estimate lies outside this interval: {reason}."
