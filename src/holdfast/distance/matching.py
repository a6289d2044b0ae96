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
    """Cost of the difference along one feature."""

    feature: str
    cost: float


@dataclass(frozen=True)
class RulePair:
    """Two matched rules with the cost of turning one into the other."""

    first: Rule
    second: Rule
    parts: tuple[Part, ...]  # the features along which they differ
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
    """How far apart two trees are, and why."""

    first: Tree
    second: Tree
    settings: DistanceSettings
    raw: float  # before normalising
    pairs: tuple[RulePair, ...]  # in the order of the first tree's leaves
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
        """Show matched rules side by side, the costliest first, with what differs and its cost.

        Shows `most` pairs of rules, and as many that have no counterpart or are the same; None shows all.
        """
        from holdfast.show.distance_text import distance_view

        return distance_view(self, most).to_text()

    def _view(self) -> View:
        from holdfast.show.distance_text import distance_view

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
    """Return the column of every row: of all optimal assignments, the one that keeps most rules.

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
