"""A tree in words: each question as a condition, and one IF ... THEN rule per leaf."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from textwrap import wrap

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.data.schema import Feature, Label
from holdfast.tree.tree import KNOWN, LEAF, Tree
from holdfast.tree.wording import (
    CUT,
    NO_BREAK,
    class_names,
    count_text,
    item_text,
    number_text,
    outcome_text,
    percent_text,
    printable,
    probability_text,
    rows_text,
    unbreakable,
)

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
    share: float  # of all rows
    probabilities: tuple[float, ...]  # in the order of the schema's classes; empty for regression


@dataclass(frozen=True, eq=False)
class Region:
    """The values of one feature that get past one or more questions."""

    feature: Feature
    low: float  # of a numeric feature: low < value <= high
    high: float
    allowed: BoolArray  # of any other: one flag per category
    missing: bool  # does a missing value get past?

    @property
    def is_empty(self) -> bool:
        """True if no known value gets past."""
        return self.low >= self.high if self.feature.kind == "numeric" else not self.allowed.any()

    @property
    def is_whole(self) -> bool:
        """True if every known value gets past."""
        if self.feature.kind == "numeric":
            return self.low == -inf and self.high >= KNOWN
        return bool(self.allowed.all())

    @property
    def is_impossible(self) -> bool:
        """True if nothing gets past."""
        return self.is_empty and not self.missing

    def within(self, other: "Region") -> "Region":
        """The values that get past both."""
        return Region(
            self.feature,
            max(self.low, other.low),
            min(self.high, other.high),
            self.allowed & other.allowed,
            self.missing and other.missing,
        )

    def among(self, reaching: "Region") -> "Region":
        """The same region of a smaller world: the one without the categories that cannot come this far."""
        missing = self.missing and reaching.missing
        if self.feature.kind in ("numeric", "question"):
            return replace(self, missing=missing)
        labels = zip(self.feature.categories, reaching.allowed, strict=True)
        feature = replace(self.feature, categories=tuple(label for label, is_in in labels if is_in))
        return replace(self, feature=feature, allowed=self.allowed[reaching.allowed], missing=missing)


def answer_text(tree: Tree, node: int, side: bool, *, missing: bool = False, most: int | None = None) -> str:
    """The question of an inner node as a condition, for the yes side (True, left) or the no side.

    Only the categories that can reach the node are told. `missing=True` adds "or missing" on the side that
    missing values take. A list of more than `most` categories is cut; with None, none is.
    """
    region = _answer(tree, node, side)
    reaching = regions_at(tree, node).get(int(tree.feature[node]))
    if reaching is not None and not region.within(reaching).is_impossible:
        region = region.among(reaching)
    return region_text(region, missing=missing, most=most)


def shorter_answers(tree: Tree, node: int, side: bool, *, missing: bool = False) -> Iterator[str]:
    """The condition with ever fewer of its categories, for whoever has little room."""
    for most in (SHORT_LIST, 4, 3, 2, 1):
        yield answer_text(tree, node, side, missing=missing, most=most)


def conditions(tree: Tree, node: int, *, missing: bool = False, most: int | None = None) -> tuple[str, ...]:
    """All that is known of a row at the node: one condition per feature asked about on the way to it."""
    telling = [
        region for region in regions_at(tree, node).values() if not (region.is_whole and region.missing)
    ]
    return tuple(region_text(region, missing=missing, most=most) for region in telling)


def rules(tree: Tree, *, missing: bool = False, most: int | None = None) -> tuple[Rule, ...]:
    """One rule per leaf, the all-yes leaf first and the all-no leaf last; `most` is as in `answer_text`."""
    return tuple(
        Rule(
            conditions=conditions(tree, leaf, missing=missing, most=most),
            outcome=outcome_text(tree, leaf),
            leaf=leaf,
            count=float(tree.count[leaf]),
            weight=float(tree.weight[leaf]),
            share=share_of_rows(tree, leaf),
            probabilities=tuple(tree.value[leaf].tolist()) if tree.schema.target.is_classes else (),
        )
        for leaf in np.flatnonzero(tree.feature == LEAF).tolist()
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


def _answer(tree: Tree, node: int, side: bool) -> Region:
    feature = tree.schema.features[tree.feature[node]]
    threshold = min(float(tree.threshold[node]), KNOWN)
    if feature.kind == "numeric":
        allowed: BoolArray = np.zeros(0, np.bool_)
    elif feature.kind == "ordered":
        allowed = (np.arange(len(feature.categories)) <= threshold) == side
    else:
        allowed = tree.left_categories(node) == side
    low, high = (-inf, threshold) if side else (threshold, KNOWN)
    return Region(feature, low, high, allowed, bool(tree.missing_left[node]) == side)


def regions_at(tree: Tree, node: int) -> dict[int, Region]:
    """What can reach the node, for each feature asked about on the way, in the order of asking."""
    way = []
    while (parent := int(tree.parent[node])) != -1:
        way.append((parent, bool(tree.left[parent] == node)))
        node = parent
    regions: dict[int, Region] = {}
    for ancestor, side in reversed(way):
        feature, region = int(tree.feature[ancestor]), _answer(tree, ancestor, side)
        regions[feature] = region.within(regions[feature]) if feature in regions else region
    return regions


# -- one leaf ---------------------------------------------------------------------------------------------


def share_of_rows(tree: Tree, node: int) -> float:
    """Share of all rows that reached the node; 0 if the tree has seen none."""
    return float(tree.count[node] / tree.count[0]) if tree.count[0] else 0.0


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
    rows = f"{count_text(rule.count)} of {count_text(float(tree.count[0]))} rows, {percent_text(rule.share)}"
    if not rule.conditions:
        rows = rows_text(rule.count)
    return f"p = {probability_text(max(rule.probabilities))}; {rows}" if rule.probabilities else rows


def _indented(head: str, text: str) -> list[str]:
    lines = wrap(
        unbreakable(text), WIDTH, initial_indent=head, subsequent_indent=" " * MARGIN, break_on_hyphens=False
    )
    return [line.replace(NO_BREAK, " ") for line in lines]
