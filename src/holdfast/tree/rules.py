"""A tree in words: each question as a condition, and one IF ... THEN rule per leaf."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import inf
from textwrap import wrap

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.data.schema import Label
from holdfast.text.lines import CUT, NO_BREAK, item_text, printable, unbreakable
from holdfast.text.numbers import count_text, number_text, percent_text, probability_text, rows_text
from holdfast.tree.regions import Region, answer_region, reaching, regions_at
from holdfast.tree.tree import KNOWN, LEAF, Tree
from holdfast.tree.wording import class_names, outcome_text

WIDTH = 80  # columns of rules_text
MARGIN = 5  # of them for IF, AND, THEN
SHORT_LIST = 6  # categories that read at a glance
FULL_LIST = 24  # categories that a tooltip, or rules on a terminal, still spell out
CUT_LIST = 5  # categories shown of a list that is cut


@dataclass(frozen=True)
class Rule:
    """What one leaf says. Its conditions stand in the order in which the tree first asks about a feature."""

    conditions: tuple[str, ...]  # one per feature asked about, in full; empty if the tree is a single leaf
    outcome: str
    leaf: int
    count: float
    weight: float
    fraction: float  # of all rows
    probabilities: tuple[float, ...]  # in the order of the schema's classes; empty for regression


def answer_text(
    tree: Tree,
    node: int,
    side: bool,
    *,
    missing: bool = False,
    most: int | None = None,
    known: Mapping[int, Region] | None = None,
) -> str:
    """The question of an inner node as a condition, for the yes side (True, left) or the no side.

    Only the categories that can reach the node are told. `missing=True` adds "or missing" on the side that
    missing values take. A list of more than `most` categories is cut; with None, none is. For many nodes,
    `known` is `known_before(tree)`.
    """
    return region_text(_told(tree, node, side, known), missing=missing, most=most)


def shorter_answers(
    tree: Tree, node: int, side: bool, known: Mapping[int, Region], *, missing: bool = False
) -> Iterator[str]:
    """The condition with ever fewer of its categories, for whoever has little room."""
    region = _told(tree, node, side, known)
    for most in (SHORT_LIST, 4, 3, 2, 1):
        yield region_text(region, missing=missing, most=most)


def _told(tree: Tree, node: int, side: bool, known: Mapping[int, Region] | None) -> Region:
    """The answer, among what can reach the node."""
    region = answer_region(tree, node, side)
    before = regions_at(tree, node).get(int(tree.feature[node])) if known is None else known.get(node)
    if before is not None and not region.within(before).is_impossible:
        return region.among(before)
    return region


def conditions(tree: Tree, node: int, *, missing: bool = False, most: int | None = None) -> tuple[str, ...]:
    """All that is known of a row at the node: one condition per feature asked about on the way to it."""
    return _conditions(regions_at(tree, node).values(), missing, most, {})


def leaf_conditions(
    tree: Tree, *, missing: bool = False, most: int | None = None, first: int | None = None
) -> dict[int, tuple[str, ...]]:
    """The conditions of every leaf, lists cut as in `answer_text`; only so many as `first` says."""
    texts: dict[Region, str] = {}
    return {
        node: _conditions(islice(regions.values(), first), missing, most, texts)
        for node, regions in enumerate(reaching(tree))
        if tree.feature[node] == LEAF
    }


def _conditions(
    regions: Iterable[Region], missing: bool, most: int | None, texts: dict[Region, str]
) -> tuple[str, ...]:
    """The regions as text, each worked out once: leaves of a deep tree share most of them."""
    told = []
    for region in regions:
        if not (region.is_whole and region.missing):
            if region not in texts:
                texts[region] = region_text(region, missing=missing, most=most)
            told.append(texts[region])
    return tuple(told)


def rules(tree: Tree, *, missing: bool = False, most: int | None = None) -> tuple[Rule, ...]:
    """One rule per leaf, the all-yes leaf first and the all-no leaf last; `most` is as in `answer_text`."""
    return tuple(
        Rule(
            conditions=conditions,
            outcome=outcome_text(tree, leaf),
            leaf=leaf,
            count=float(tree.count[leaf]),
            weight=float(tree.weight[leaf]),
            fraction=fraction_of_rows(tree, leaf),
            probabilities=tuple(tree.value[leaf].tolist()) if tree.schema.target.is_classes else (),
        )
        for leaf, conditions in leaf_conditions(tree, missing=missing, most=most).items()
    )


def rules_text(tree: Tree, *, missing: bool = False, most: int | None = None) -> str:
    """One IF ... THEN rule per leaf, with its support and probabilities, in 80 columns.

    `missing=True` also says, at each condition, whether a missing value meets it. Nothing is left out, so
    that the rules can be carried out, unless lists of more than `most` categories or classes are to be cut.
    """
    found = rules(tree, missing=missing, most=most)
    blocks = ["\n".join(_rule_lines(tree, rule, most)) for rule in found]
    notes = ["\n".join(_indented("NOTE ", printable(note))) for note in tree.notes]
    return "\n\n".join(blocks + notes)


# -- one condition ----------------------------------------------------------------------------------------


def region_text(region: Region, *, missing: bool = False, most: int | None = None) -> str:
    """The region as a condition; `most` is as in `answer_text`."""
    feature = region.feature
    name = printable(feature.name)
    subject = f"({name})" if feature.kind == "question" else name
    if region.is_empty:
        return f"{subject} is missing" if region.missing else f"{subject} is neither known nor missing"
    if region.is_whole:
        return f"{subject} is known or missing" if region.missing else f"{subject} is known"
    said_of_missing = missing and region.missing
    if feature.kind == "question":
        text = _truth_text(region, subject if said_of_missing else name, subject)
    elif feature.kind == "numeric":
        text = _interval_text(name, region.low, region.high)
    elif feature.kind == "ordered":
        text = _order_text(name, feature.categories, np.flatnonzero(region.allowed).tolist())
    else:
        text = _set_text(name, feature.categories, region.allowed, most)
    return f"{text} or missing" if said_of_missing else text


def _truth_text(region: Region, question: str, bracketed: str) -> str:
    is_true = bool(region.allowed[region.feature.categories.index(True)])
    return question if is_true else f"not {bracketed}"


def _interval_text(name: str, low: float, high: float) -> str:
    digits = 6
    while digits < 17 and number_text(low, digits) == number_text(high, digits):
        digits += 1
    upper, lower = number_text(high, digits), number_text(low, digits)
    if low == -inf:
        return f"{name} {'<' if _is_rounded_up(high, upper) else '<='} {upper}"
    if high >= KNOWN:
        return f"{name} {'>=' if _is_rounded_up(low, lower) else '>'} {lower}"
    signs = "<=" if _is_rounded_up(low, lower) else "<", "<" if _is_rounded_up(high, upper) else "<="
    return f"{lower} {signs[0]} {name} {signs[1]} {upper}"


def _is_rounded_up(threshold: float, text: str) -> bool:
    """True if the number as it is shown lies on the other side: 4.9999998 reads as 5, and 5 goes right."""
    return float(text) - threshold > 1e-12 * abs(threshold)


def _order_text(name: str, categories: tuple[Label, ...], places: list[int]) -> str:
    first, last = places[0], places[-1]
    if first == last:
        return f"{name} = {item_text(categories[first])}"
    if first == 0:
        return f"{name} at most {item_text(categories[last])}"
    if last == len(categories) - 1:
        return f"{name} above {item_text(categories[first - 1])}"
    return f"{name} from {item_text(categories[first])} to {item_text(categories[last])}"


def _set_text(name: str, categories: tuple[Label, ...], allowed: BoolArray, most: int | None) -> str:
    inside = [item_text(label) for label, is_in in zip(categories, allowed, strict=True) if is_in]
    outside = [item_text(label) for label, is_in in zip(categories, allowed, strict=True) if not is_in]
    is_negated = len(inside) > SHORT_LIST >= len(outside)
    listed = outside if is_negated else inside
    if len(listed) == 1:
        return f"{name} {'is not' if is_negated else '='} {listed[0]}"
    return f"{name} {'not in' if is_negated else 'in'} {{{', '.join(_cut(listed, most))}}}"


def _cut(texts: list[str], most: int | None) -> list[str]:
    """The texts, or, of more than `most`, some of them and the number of the others."""
    if most is None or len(texts) <= most:
        return texts
    shown = min(most, CUT_LIST)
    return [*texts[:shown], f"{CUT} {len(texts) - shown} more"]


# -- one leaf ---------------------------------------------------------------------------------------------


def fraction_of_rows(tree: Tree, node: int) -> float:
    """Fraction of all rows that reached the node; 0 if the tree has seen none."""
    return float(tree.count[node]) / float(tree.count[0]) if tree.count[0] else 0.0


def other_classes_text(tree: Tree, node: int, most: int | None = None) -> str:
    """The other classes seen at the node, the most probable first; empty unless there are three or more."""
    target, shares = tree.schema.target, tree.value[node]
    if len(target.classes) < 3:
        return ""
    order = np.argsort(-shares, kind="stable").tolist()
    seen = [index for index in order if shares[index] > 0 and index != tree.outcome[node]]
    texts = [f"{class_names(target)[index]} {probability_text(float(shares[index]))}" for index in seen]
    return ", ".join(_cut(texts, most))


def _rule_lines(tree: Tree, rule: Rule, most: int | None) -> list[str]:
    lines = []
    for index, condition in enumerate(rule.conditions):
        lines += _indented("AND  " if index else "IF   ", condition)
    head = "THEN " if rule.conditions else "ALWAYS "
    outcome = f"{printable(tree.schema.target.name)} = {rule.outcome}"
    support = f"({_support_text(tree, rule)})"
    if len(f"{head}{outcome}   {support}") <= WIDTH:
        lines.append(f"{head}{outcome}   {support}")
    else:
        lines += [*_indented(head, outcome), " " * MARGIN + support]
    if others := other_classes_text(tree, rule.leaf, most):
        lines += _indented(" " * MARGIN, others.replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", "))
    return lines


def _support_text(tree: Tree, rule: Rule) -> str:
    rows = (
        f"{count_text(rule.count)} of {count_text(float(tree.count[0]))} rows, {percent_text(rule.fraction)}"
    )
    if not rule.conditions:
        rows = rows_text(rule.count)
    return f"p = {probability_text(max(rule.probabilities))}; {rows}" if rule.probabilities else rows


def _indented(head: str, text: str) -> list[str]:
    if len(head) + len(text) <= WIDTH and text and text == text.strip():
        return [(head + text).replace(NO_BREAK, " ")]
    lines = wrap(
        unbreakable(text), WIDTH, initial_indent=head, subsequent_indent=" " * MARGIN, break_on_hyphens=False
    )
    return [line.replace(NO_BREAK, " ") for line in lines]
