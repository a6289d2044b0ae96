"""Conditions in words."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf, isnan

from holdfast.data.schema import Label
from holdfast.text.lines import CUT, item_text, printable
from holdfast.text.numbers import count_text, number_text
from holdfast.tree.rule import Condition, list_conditions, split_condition
from holdfast.tree.tree import Tree

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


def answer_text(
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


def question_text(
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


def shorter_answers(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition], *, missing: bool = False
) -> Iterator[str]:
    """The condition in ever fewer words: without the numbers of rows, then with fewer of its categories."""
    condition, before = _told(tree, node, side, known)
    yield condition_text(condition, missing=missing, counts=True, most=SHORT_LIST, before=before)
    for most in (SHORT_LIST, 4, 3, 2, 1):
        yield condition_text(condition, missing=missing, most=most, before=before)


def shorter_branches(
    tree: Tree, node: int, side: bool, known: Mapping[int, Condition], *, missing: bool = False
) -> Iterator[str]:
    """The same without the name of the feature, for a branch below it: <= 5, in {A, B}, true."""
    name = printable(tree.schema.names[tree.feature[node]])
    for text in shorter_answers(tree, node, side, known, missing=missing):
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


def cut_list(texts: list[str], most: int | None) -> list[str]:
    """The texts, or, of more than `most`, some of them and the number of the others."""
    if most is None or len(texts) <= most:
        return texts
    n_told = min(most, CUT_LIST)
    return [*texts[:n_told], f"{CUT} {len(texts) - n_told} more"]
