"""The distance of two trees in full: what was matched with what, and what each part cost."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from holdfast.arrays import BoolArray, LongArray
from holdfast.distance.costs import feature_costs, outcome_difference, rule_weight
from holdfast.distance.settings import DistanceSettings
from holdfast.kernels.distance.assignment import Prices
from holdfast.text.view import View, ViewMixin
from holdfast.tree.rule import Rule, tree_rules
from holdfast.tree.tree import Tree

Side = Literal["first", "second"]


@dataclass(frozen=True)
class Part:
    """What the difference along one feature costs."""

    feature: str
    cost: float


@dataclass(frozen=True)
class RulePair:
    """Two rules that correspond, and what it costs to turn one into the other."""

    first: Rule
    second: Rule
    parts: tuple[Part, ...]  # the features along which they differ
    outcome_cost: float

    @property
    def cost(self) -> float:
        """The cost of all parts and of the outcome."""
        return sum(part.cost for part in self.parts) + self.outcome_cost


@dataclass(frozen=True)
class UnmatchedRule:
    """A rule of the larger tree that corresponds to none of the smaller."""

    rule: Rule
    side: Side
    weight: float


@dataclass(frozen=True, eq=False)
class TreeDistance(ViewMixin):
    """How far apart two trees are, and why."""

    first: Tree
    second: Tree
    settings: DistanceSettings
    raw: float  # before normalising
    pairs: tuple[RulePair, ...]  # in the order of the first tree's leaves
    unmatched: tuple[UnmatchedRule, ...]

    @property
    def total(self) -> float:
        """The distance; normalised, if that was asked for."""
        return float(self.settings.total(self.raw))

    @property
    def matching(self) -> str:
        """Which of the three matchings it is."""
        return self.settings.matching

    @property
    def label_weight(self) -> float:
        """The cost of an entirely different outcome."""
        return self.settings.label_weight

    @property
    def depth(self) -> int:
        """The greatest depth allowed."""
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
        """The matched rules side by side, those that moved most first, with what moved and what it cost.

        Shows `most` pairs of rules, and as many that have no counterpart or are the same; None shows all.
        """
        from holdfast.show.distance_text import distance_view

        return distance_view(self, most).to_text()

    def _view(self) -> View:
        from holdfast.show.distance_text import distance_view

        return distance_view(self)


def matched(
    first: Tree,
    second: Tree,
    settings: DistanceSettings,
    raw: float,
    cost: LongArray,
    prices: Prices,
) -> TreeDistance:
    """The distance with its matching, from the costs that the kernel left and the prices that prove it."""
    is_swapped = first.n_leaves > second.n_leaves
    small, large = (second, first) if is_swapped else (first, second)
    rows, columns = tree_rules(small), tree_rules(large)
    n, m = len(rows), len(columns)
    cost = cost.reshape(n, -1)[:, :m]
    reduced = cost - prices.u[:n, None] - prices.v[:m]
    column = _assignment(reduced == 0, prices.v[:m], _unlike(rows, columns))
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
    """The column of every row: of all cheapest assignments, the one that leaves most rules as they are.

    Of these, the one that keeps the order of the leaves best. An assignment is cheapest if it uses tight
    cells alone and leaves no column out that is not among the dearest.
    """
    n, m = tight.shape
    moved = ((np.arange(n) + 0.5)[:, None] / n - (np.arange(m) + 0.5) / m) ** 2
    secondary = unlike * (n + 1.0) + moved
    must_be_taken = prices < prices.max()
    secondary -= must_be_taken * (n + 2.0) ** 2
    _, column = linear_sum_assignment(np.where(tight, secondary, np.inf))
    return np.asarray(column, np.int64)


def _unlike(rows: tuple[Rule, ...], columns: tuple[Rule, ...]) -> BoolArray:
    """Which rules are not the same."""
    numbers: dict[Any, int] = {}
    sides = [[numbers.setdefault(_key(rule), len(numbers)) for rule in rules] for rules in (rows, columns)]
    return np.asarray(np.not_equal.outer(np.array(sides[0]), np.array(sides[1])), np.bool_)


def _key(rule: Rule) -> Any:
    """All that a distance sees of a rule."""
    allowed = (
        (name, each.categories if each.feature.is_subset else each.bounds)
        for name, each in rule.restrictions.items()
    )
    return frozenset(allowed), rule.outcome


def _nearest(costs: LongArray, j: int, m: int) -> int:
    """The row of lowest cost; of several, the one nearest in the order of the leaves."""
    rows = np.flatnonzero(costs == costs.min())
    return int(rows[np.argmin(np.abs((rows + 0.5) / len(costs) - (j + 0.5) / m))])


# -- what it costs --------------------------------------------------------------------------------------


def _pair(first: Rule, second: Rule, settings: DistanceSettings, position: dict[str, int]) -> RulePair:
    costs = sorted(feature_costs(first, second), key=lambda named: position[named[0]])
    differ = outcome_difference(first, second, settings.outcome)
    return RulePair(
        first=first,
        second=second,
        parts=tuple(Part(name, cost) for name, cost in costs),
        outcome_cost=settings.label_weight * differ,
    )


def _unmatched(rule: Rule, settings: DistanceSettings, is_swapped: bool) -> UnmatchedRule:
    matching, label_weight = settings.matching, settings.label_weight
    weight = rule_weight(rule, matching=matching, label_weight=label_weight)
    return UnmatchedRule(rule, "first" if is_swapped else "second", weight)
