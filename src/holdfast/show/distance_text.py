"""A tree distance: the matched rules side by side, and what each difference costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from holdfast.data.schema import Feature
from holdfast.distance.matching import RulePair, TreeDistance, UnmatchedRule
from holdfast.show.conditions import FULL_LIST, condition_text
from holdfast.show.rules import rule_outcome_text, rule_text
from holdfast.text.lines import item_text, printable
from holdfast.text.numbers import counted, number_text, rows_text
from holdfast.text.table import Table
from holdfast.text.view import Section, View
from holdfast.tree.rule import Condition, Rule
from holdfast.tree.tree import LEAF, Tree

SIDE = 38  # letters of each tree's column
SAME = 1e-6  # two conditions that read the same are the same if they cost less: another library's rounding

_Line = tuple[str, str, str]  # first tree, second tree, cost


def distance_view(distance: TreeDistance, most: int | None = 20) -> View:
    """The parts of a distance, what costs most first; `most` pairs of rules, and as many of the others."""
    couples = [Couple(distance.first, distance.second, pair) for pair in distance.pairs]
    moved = sorted((each for each in couples if not each.is_same), key=lambda each: -each.pair.cost)
    same = [each.line for each in couples if each.is_same]
    alone = sorted(distance.unmatched, key=lambda unmatched: -unmatched.weight)
    rows = [row for couple in moved[:most] for row in couple.rows]
    rows += [_unmatched_row(distance, each) for each in alone[:most]]
    left = len(moved) - len(moved[:most]), len(alone) - len(alone[:most])
    notes = [
        f"... and {n} more {what}"
        for n, what in zip(left, ("pairs of rules that cost less", "unmatched rules"), strict=True)
        if n
    ]
    headings = ["rules", "first tree", "second tree", "cost"]
    table = Table(
        headings, rows, note="\n".join(notes), sides="<<<>", wrap=(0, SIDE, SIDE, 0), meanings=_MEANINGS
    )
    more = [f"... and {len(same) - len(same[:most])} more"] if len(same) > len(same[:most]) else []
    return View(
        *_summary(distance, len(same)),
        table if rows else "",
        Section("The same in both trees", [*same[:most], *more]) if same else "",
        *_notes(distance),
    )


_MEANINGS = {
    "rules": "the rule of the first tree and the rule of the second that it is matched to, counted from 1",
    "cost": "what the difference adds to the distance",
}


def _unmatched_row(distance: TreeDistance, unmatched: UnmatchedRule) -> list[str]:
    is_first = unmatched.side == "first"
    number = _number(distance.first if is_first else distance.second, unmatched.rule)
    texts = _rule(unmatched.rule), "unmatched"
    return [str(number), *(texts if is_first else texts[::-1]), _cost_text(unmatched.weight)]


def _summary(distance: TreeDistance, n_same: int) -> list[str]:
    conditions = sum(part.cost for pair in distance.pairs for part in pair.parts)
    outcomes = sum(pair.outcome_cost for pair in distance.pairs)
    alone = sum(unmatched.weight for unmatched in distance.unmatched)
    total = _cost_text(distance.raw)
    if distance.settings.normalised:
        total = f"{number_text(distance.total, 4)} normalised, {total} before"
    first, second = distance.first.n_leaves, distance.second.n_leaves
    return [
        f"Distance {total}: conditions {_cost_text(conditions)}, outcomes {_cost_text(outcomes)}, "
        f"unmatched rules {_cost_text(alone)}.",
        f"{counted(first, 'rule')} against {second}; {n_same} the same in both. Matching "
        f"{distance.matching!r}, another outcome costs {number_text(distance.label_weight, 4)}.",
    ]


def _notes(distance: TreeDistance) -> Iterator[str]:
    """What the reader of either tree must know."""
    for name, tree in (("first", distance.first), ("second", distance.second)):
        for note in tree.notes:
            yield f"Note on the {name} tree: {printable(note)}"


# -- two rules that correspond --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Couple:
    """A pair of rules, and the trees that they are of."""

    first: Tree
    second: Tree
    pair: RulePair

    @cached_property
    def asked(self) -> list[tuple[str, str, float]]:
        """What either asks of each feature that one of them asks about, and what the difference costs."""
        first, second = self.pair.first, self.pair.second
        costs = {part.feature: part.cost for part in self.pair.parts}
        names = dict.fromkeys(condition.name for rule in (first, second) for condition in rule.conditions)
        return [(*_conditions(first, second, name), costs.get(name, 0.0)) for name in names]

    @property
    def is_same(self) -> bool:
        """True if both rules read the same."""
        alike = all(first == second and cost < SAME for first, second, cost in self.asked)
        return alike and self.pair.first.outcome == self.pair.second.outcome and not self.pair.outcome_cost

    @property
    def line(self) -> str:
        """The rule that both are."""
        return f"{self._numbers}: {_rule(self.pair.first)}"

    @property
    def lines(self) -> list[_Line]:
        """What either asks where they differ, and what each says."""
        lines: list[_Line] = [
            (first, second, _cost_text(cost) if cost else "")
            for first, second, cost in self.asked
            if first != second or cost >= SAME
        ]
        one, other = (f"THEN {_outcome(rule)}" for rule in (self.pair.first, self.pair.second))
        return [*lines, (one, other, _cost_text(self.pair.outcome_cost) if self.pair.outcome_cost else "")]

    @property
    def rows(self) -> list[list[str]]:
        """The lines as rows of a table, the first with the numbers of the rules; then what is unchanged."""
        kept = "; ".join(first for first, second, cost in self.asked if first == second and cost < SAME)
        lines = [*self.lines, *([(kept, "unchanged", "")] if kept else [])]
        return [[self._numbers if place == 0 else "", *line] for place, line in enumerate(lines)]

    @property
    def _numbers(self) -> str:
        return f"{_number(self.first, self.pair.first)} -> {_number(self.second, self.pair.second)}"


# -- one rule -------------------------------------------------------------------------------------------


def _number(tree: Tree, rule: Rule) -> int:
    """Which of the tree's rules it is, counted from 1."""
    return int((tree.feature[: rule.leaf] == LEAF).sum()) + 1


def _rule(rule: Rule) -> str:
    return f"{rule_text(rule, FULL_LIST)} ({rows_text(rule.count)})"


def _outcome(rule: Rule) -> str:
    return f"{rule_outcome_text(rule)} ({rows_text(rule.count)})"


def _conditions(first: Rule, second: Rule, name: str) -> tuple[str, str]:
    """What the two rules ask of a feature; where both allow many categories, only those that moved."""
    conditions = first.condition(name), second.condition(name)
    feature: Feature = next(each.feature for each in conditions if each is not None)
    texts = [
        _any_text(feature) if each is None else condition_text(each, most=FULL_LIST) for each in conditions
    ]
    if feature.kind == "nominal" and any("more}" in text for text in texts):
        moved = _moved_text(feature, conditions)
        texts[1] = f"{texts[1]}: {moved}" if moved else texts[1]
    return texts[0], texts[1]


def _any_text(feature: Feature) -> str:
    name = printable(feature.name)
    return f"any ({name})" if feature.kind == "question" else f"any {name}"


def _moved_text(feature: Feature, conditions: tuple[Condition | None, Condition | None]) -> str:
    """The categories that came and went."""
    before, after = (set(feature.categories if each is None else each.categories) for each in conditions)
    moved = [label for label in feature.categories if (label in before) != (label in after)]
    signs = [f"{'+' if label in after else '-'} {item_text(label)}" for label in moved]
    return ", ".join(signs[:FULL_LIST] + (["..."] if len(signs) > FULL_LIST else []))


def _cost_text(cost: float) -> str:
    return f"{cost:.4f}" if cost >= 5e-5 or cost == 0 else f"{cost:.0e}"
