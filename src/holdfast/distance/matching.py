"""The distance of two trees with the matching of their rules and the cost of each difference."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from holdfast._arrays import BoolArray, LongArray
from holdfast._text import item_text, number_text, pluralize, printable, rows_text
from holdfast._view import Section, TextTable, View, ViewMixin
from holdfast.data.schema import Feature
from holdfast.distance.costs import DistanceSettings, feature_costs, outcome_difference, rule_weight
from holdfast.kernels.distance.assignment import Prices
from holdfast.tree.rules import Condition, Rule, tree_rules
from holdfast.tree.rules_text import FULL_LIST, condition_text, rule_outcome_text, rule_text
from holdfast.tree.tree import LEAF, Tree

Side = Literal["first", "second"]


@dataclass(frozen=True)
class FeatureCost:
    """Cost of the difference along one feature."""

    feature: str
    cost: float


@dataclass(frozen=True)
class RulePair:
    """Two matched rules with the cost of turning one into the other."""

    first: Rule
    second: Rule
    parts: tuple[FeatureCost, ...]  # the features along which they differ
    outcome_cost: float

    @property
    def cost(self) -> float:
        """Cost of all features and of the outcome."""
        return sum(part.cost for part in self.parts) + self.outcome_cost


@dataclass(frozen=True)
class UnmatchedRule:
    """A rule of the larger tree without a partner."""

    rule: Rule
    side: Side
    weight: float


@dataclass(frozen=True, eq=False)
class TreeDistance(ViewMixin):
    """Result of `tree_distance`: the total, the matched pairs of rules, and the unmatched rules.

    Attributes
    ----------
    first, second : Tree
    settings : DistanceSettings
        Matching, outcome, label weight, depth and normalisation.
    raw : float
        The distance before normalising.
    pairs : tuple of RulePair
        In the order of the first tree's leaves.
    unmatched : tuple of UnmatchedRule

    Examples
    --------
    >>> from holdfast import Table, grow, tree_distance
    >>> tree = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> distance = tree_distance(tree, tree)
    >>> distance.total, len(distance.pairs)
    (0.0, 2)
    """

    first: Tree
    second: Tree
    settings: DistanceSettings
    raw: float
    pairs: tuple[RulePair, ...]
    unmatched: tuple[UnmatchedRule, ...]

    @property
    def total(self) -> float:
        """The distance, normalised if requested."""
        return float(self.settings.total(self.raw))

    @property
    def matching(self) -> str:
        """Name of the matching: "paper", "cover" or "metric"."""
        return self.settings.matching

    @property
    def label_weight(self) -> float:
        """Cost of an entirely different outcome."""
        return self.settings.label_weight

    @property
    def depth(self) -> int:
        """Greatest allowed depth."""
        return self.settings.depth

    def __float__(self) -> float:
        return self.total

    def __repr__(self) -> str:
        return f"<TreeDistance: {self.total:.6g}, {len(self.pairs)} pairs, {len(self.unmatched)} unmatched>"

    def __str__(self) -> str:
        return self.explain()

    def __format__(self, form: str) -> str:
        return format(self.total, form) if form else str(self)

    def explain(self, most: int | None = 20) -> str:
        """Return the matched rules side by side, the costliest first, with the cost of each difference.

        Parameters
        ----------
        most : int or None
            Number of pairs to show, and of unmatched and of equal rules. None shows all.
        """
        return distance_view(self, most).to_text()

    def _view(self) -> View:
        return distance_view(self)


def build_matching(
    first: Tree,
    second: Tree,
    settings: DistanceSettings,
    raw: float,
    cost: LongArray,
    prices: Prices,
) -> TreeDistance:
    """Build the matching from the costs and dual prices that the kernel left."""
    is_swapped = first.n_leaves > second.n_leaves
    small, large = (second, first) if is_swapped else (first, second)
    rows, columns = tree_rules(small), tree_rules(large)
    n, m = len(rows), len(columns)
    cost = cost.reshape(n, -1)[:, :m]
    reduced = cost - prices.u[:n, None] - prices.v[:m]
    column = _assignment(reduced == 0, prices.v[:m], _flag_different(rows, columns))
    couples = [(int(i), int(j)) for i, j in enumerate(column)]
    rest = np.setdiff1d(np.arange(m), column).tolist()
    if settings.matching == "cover":
        couples += [(_nearest(cost[:, j], j, m), j) for j in rest]
        rest = []
    ways = sorted((j, i) if is_swapped else (i, j) for i, j in couples)
    rules = (columns, rows) if is_swapped else (rows, columns)
    position = {name: index for index, name in enumerate(first.schema.names)}
    return TreeDistance(
        first=first,
        second=second,
        settings=settings,
        raw=raw,
        pairs=tuple(_pair(rules[0][i], rules[1][j], settings, position) for i, j in ways),
        unmatched=tuple(_unmatched(columns[j], settings, is_swapped) for j in rest),
    )


# -- which of the cheapest matchings --------------------------------------------------------------------


def _assignment(tight: BoolArray, prices: LongArray, unlike: BoolArray) -> LongArray:
    """Return the column of every row: of all optimal assignments, the one that keeps most rules.

    Of these, the one that keeps the order of the leaves best. An assignment is optimal if it uses only tight
    cells, and leaves out only columns of the greatest price.
    """
    n, m = tight.shape
    moved = ((np.arange(n) + 0.5)[:, None] / n - (np.arange(m) + 0.5) / m) ** 2
    secondary = unlike * (n + 1.0) + moved
    is_needed = prices < prices.max()
    secondary -= is_needed * (n + 2.0) ** 2
    from scipy.optimize import linear_sum_assignment

    _, column = linear_sum_assignment(np.where(tight, secondary, np.inf))
    return np.asarray(column, np.int64)


def _flag_different(rows: tuple[Rule, ...], columns: tuple[Rule, ...]) -> BoolArray:
    """Flag the rules that differ."""
    numbers: dict[Any, int] = {}
    sides = [[numbers.setdefault(_key(rule), len(numbers)) for rule in rules] for rules in (rows, columns)]
    return np.asarray(np.not_equal.outer(np.array(sides[0]), np.array(sides[1])), np.bool_)


def _key(rule: Rule) -> Any:
    """Return all of a rule that distances depend on."""
    allowed = (
        (name, each.categories if each.feature.is_subset else each.bounds)
        for name, each in rule.restrictions.items()
    )
    return frozenset(allowed), rule.outcome


def _nearest(costs: LongArray, j: int, m: int) -> int:
    """Return the row of least cost; of several, the nearest in the order of the leaves."""
    rows = np.flatnonzero(costs == costs.min())
    return int(rows[np.argmin(np.abs((rows + 0.5) / len(costs) - (j + 0.5) / m))])


# -- costs ----------------------------------------------------------------------------------------------


def _pair(first: Rule, second: Rule, settings: DistanceSettings, position: dict[str, int]) -> RulePair:
    costs = sorted(feature_costs(first, second), key=lambda named: position[named[0]])
    differ = outcome_difference(first, second, settings.outcome)
    return RulePair(
        first=first,
        second=second,
        parts=tuple(FeatureCost(name, cost) for name, cost in costs),
        outcome_cost=settings.label_weight * differ,
    )


def _unmatched(rule: Rule, settings: DistanceSettings, is_swapped: bool) -> UnmatchedRule:
    matching, label_weight = settings.matching, settings.label_weight
    weight = rule_weight(rule, matching=matching, label_weight=label_weight)
    return UnmatchedRule(rule, "first" if is_swapped else "second", weight)


# -- the view -------------------------------------------------------------------------------------------

SIDE = 38  # letters of each tree's column
SAME = 1e-6  # cost below which conditions with the same text are equal: rounding by another library
_MEANINGS = {
    "rules": "the rule of the first tree and the rule of the second that it is matched to, counted from 1",
    "cost": "contribution of the difference to the distance",
}
_Line = tuple[str, str, float]  # first tree, second tree, cost


def distance_view(distance: TreeDistance, most: int | None = 20) -> View:
    """Return a distance in parts, the costliest first: `most` pairs of rules, and as many others."""
    changed, same = [], []
    for pair in distance.pairs:
        lines, rule = _condition_lines(pair), pair.first
        if all(map(_is_equal, lines)) and rule.outcome == pair.second.outcome and not pair.outcome_cost:
            same.append(
                f"{_numbers_text(distance, pair)}: {rule_text(rule, FULL_LIST)} ({rows_text(rule.count)})"
            )
        else:
            changed.append((pair, lines))
    changed.sort(key=lambda each: -each[0].cost)
    alone = sorted(distance.unmatched, key=lambda unmatched: -unmatched.weight)
    rows = [row for pair, lines in changed[:most] for row in _pair_rows(distance, pair, lines)]
    rows += [_unmatched_row(distance, each) for each in alone[:most]]
    counts = {
        "pairs of rules that cost less": len(changed) - len(changed[:most]),
        "unmatched rules": len(alone) - len(alone[:most]),
    }
    note = "\n".join(f"... and {n} more {what}" for what, n in counts.items() if n)
    headings = ["rules", "first tree", "second tree", "cost"]
    table = TextTable(headings, rows, note=note, sides="<<<>", wrap=(0, SIDE, SIDE, 0), meanings=_MEANINGS)
    more = [f"... and {len(same) - len(same[:most])} more"] if len(same) > len(same[:most]) else []
    notes = [
        f"Note on the {name} tree: {printable(note)}"
        for name, tree in (("first", distance.first), ("second", distance.second))
        for note in tree.notes
    ]
    return View(
        *_summary(distance, len(same)),
        table if rows else "",
        Section("The same in both trees", [*same[:most], *more]) if same else "",
        *notes,
    )


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
        f"{pluralize(first, 'rule')} against {second}; {n_same} the same in both. Matching "
        f"{distance.matching!r}, another outcome costs {number_text(distance.label_weight, 4)}.",
    ]


def _condition_lines(pair: RulePair) -> list[_Line]:
    """Return the conditions of both rules on each feature, and the cost of the difference."""
    first, second = pair.first, pair.second
    costs = {part.feature: part.cost for part in pair.parts}
    names = dict.fromkeys(condition.name for rule in (first, second) for condition in rule.conditions)
    return [(*_conditions(first, second, name), costs.get(name, 0.0)) for name in names]


def _is_equal(line: _Line) -> bool:
    return line[0] == line[1] and line[2] < SAME


def _pair_rows(distance: TreeDistance, pair: RulePair, lines: list[_Line]) -> list[list[str]]:
    """Return the differences as rows of the table, then the outcomes, then the unchanged conditions."""
    rows = [
        [first, second, _cost_text(cost) if cost else ""]
        for first, second, cost in lines
        if not _is_equal((first, second, cost))
    ]
    outcomes = [
        f"THEN {rule_outcome_text(rule)} ({rows_text(rule.count)})" for rule in (pair.first, pair.second)
    ]
    rows.append([*outcomes, _cost_text(pair.outcome_cost) if pair.outcome_cost else ""])
    if kept := "; ".join(line[0] for line in lines if _is_equal(line)):
        rows.append([kept, "unchanged", ""])
    return [[_numbers_text(distance, pair) if place == 0 else "", *row] for place, row in enumerate(rows)]


def _unmatched_row(distance: TreeDistance, unmatched: UnmatchedRule) -> list[str]:
    rule, is_first = unmatched.rule, unmatched.side == "first"
    number = _rule_number(distance.first if is_first else distance.second, rule)
    texts = f"{rule_text(rule, FULL_LIST)} ({rows_text(rule.count)})", "unmatched"
    return [str(number), *(texts if is_first else texts[::-1]), _cost_text(unmatched.weight)]


def _numbers_text(distance: TreeDistance, pair: RulePair) -> str:
    first, second = _rule_number(distance.first, pair.first), _rule_number(distance.second, pair.second)
    return f"{first} -> {second}"


def _rule_number(tree: Tree, rule: Rule) -> int:
    """Return the number of a rule in its tree, counted from 1."""
    return int((tree.feature[: rule.leaf] == LEAF).sum()) + 1


def _conditions(first: Rule, second: Rule, name: str) -> tuple[str, str]:
    """Return the conditions of two rules on a feature, of long lists of categories the differences."""
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
    return f"any ({name})" if feature.kind == "custom" else f"any {name}"


def _moved_text(feature: Feature, conditions: tuple[Condition | None, Condition | None]) -> str:
    """Return the categories that only one condition allows."""
    before, after = (set(feature.categories if each is None else each.categories) for each in conditions)
    moved = [label for label in feature.categories if (label in before) != (label in after)]
    signs = [f"{'+' if label in after else '-'} {item_text(label)}" for label in moved]
    return ", ".join(signs[:FULL_LIST] + (["..."] if len(signs) > FULL_LIST else []))


def _cost_text(cost: float) -> str:
    return f"{cost:.4f}" if cost >= 5e-5 or cost == 0 else f"{cost:.0e}"
