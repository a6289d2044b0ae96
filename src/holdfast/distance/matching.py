"""The distance of two trees in full: what was matched with what, and what each part cost."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.schema import Feature, Schema
from holdfast.distance.paths import Path, fraction_of_range, tree_paths
from holdfast.distance.settings import DistanceSettings
from holdfast.kernels.distance.assignment import Prices
from holdfast.tree.tree import Tree

Side = Literal["first", "second"]
NOTHING = 2.0**-44  # the unit of the kernel: what costs less is rounding


@dataclass(frozen=True)
class Part:
    """What the difference along one feature costs."""

    feature: str
    cost: float


@dataclass(frozen=True)
class PathPair:
    """Two paths that correspond, and what it costs to turn one into the other."""

    first: Path
    second: Path
    parts: tuple[Part, ...]  # the features along which they differ
    outcome_cost: float

    @property
    def cost(self) -> float:
        """The cost of all parts and of the outcome."""
        return sum(part.cost for part in self.parts) + self.outcome_cost


@dataclass(frozen=True)
class UnmatchedPath:
    """A path of the larger tree that corresponds to none of the smaller."""

    path: Path
    side: Side
    weight: float


@dataclass(frozen=True, eq=False)
class TreeDistance:
    """How far apart two trees are, and why."""

    first: Tree
    second: Tree
    distance_settings: DistanceSettings
    raw: float  # before normalising
    pairs: tuple[PathPair, ...]  # in the order of the first tree's leaves
    unmatched: tuple[UnmatchedPath, ...]

    @property
    def total(self) -> float:
        """The distance; normalised, if that was asked for."""
        return float(self.distance_settings.total(self.raw))

    @property
    def matching(self) -> str:
        """Which of the three matchings it is."""
        return self.distance_settings.matching

    @property
    def label_weight(self) -> float:
        """The cost of an entirely different outcome."""
        return self.distance_settings.label_weight

    @property
    def depth(self) -> int:
        """The greatest depth allowed."""
        return self.distance_settings.depth

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
        from holdfast.distance.explanation import explanation

        return explanation(self, most)


def matched(
    first: Tree,
    second: Tree,
    distance_settings: DistanceSettings,
    raw: float,
    cost: LongArray,
    prices: Prices,
) -> TreeDistance:
    """The distance with its matching, from the costs that the kernel left and the prices that prove it."""
    is_swapped = first.n_leaves > second.n_leaves
    small, large = (second, first) if is_swapped else (first, second)
    rows, columns = tree_paths(small), tree_paths(large)
    n, m = len(rows), len(columns)
    cost = cost.reshape(n, -1)[:, :m]
    reduced = cost - prices.u[:n, None] - prices.v[:m]
    column = _assignment(reduced == 0, prices.v[:m], _unlike(rows, columns))
    couples = [(int(i), int(j)) for i, j in enumerate(column)]
    rest = np.setdiff1d(np.arange(m), column).tolist()
    if distance_settings.matching == "cover":
        couples += [(_nearest(cost[:, j], j, m), j) for j in rest]
        rest = []
    ways = sorted((j, i) if is_swapped else (i, j) for i, j in couples)
    paths = (columns, rows) if is_swapped else (rows, columns)
    return TreeDistance(
        first=first,
        second=second,
        distance_settings=distance_settings,
        raw=raw,
        pairs=tuple(_pair(paths[0][i], paths[1][j], first.schema, distance_settings) for i, j in ways),
        unmatched=tuple(_unmatched(columns[j], large.schema, distance_settings, is_swapped) for j in rest),
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


def _unlike(rows: tuple[Path, ...], columns: tuple[Path, ...]) -> BoolArray:
    """Which paths are not the same."""
    numbers: dict[Any, int] = {}
    sides = [[numbers.setdefault(_key(path), len(numbers)) for path in paths] for paths in (rows, columns)]
    return np.asarray(np.not_equal.outer(np.array(sides[0]), np.array(sides[1])), np.bool_)


def _key(path: Path) -> Any:
    return frozenset(path.bounds.items()), frozenset(path.categories.items()), path.outcome


def _nearest(costs: LongArray, j: int, m: int) -> int:
    """The row of lowest cost; of several, the one nearest in the order of the leaves."""
    rows = np.flatnonzero(costs == costs.min())
    return int(rows[np.argmin(np.abs((rows + 0.5) / len(costs) - (j + 0.5) / m))])


# -- what it costs --------------------------------------------------------------------------------------


def _pair(first: Path, second: Path, schema: Schema, distance_settings: DistanceSettings) -> PathPair:
    asked = {*first.asks, *second.asks}
    features = [feature for feature in schema.features if feature.name in asked]
    parts = [Part(feature.name, _feature_cost(first, second, feature)) for feature in features]
    return PathPair(
        first=first,
        second=second,
        parts=tuple(part for part in parts if part.cost > 0),
        outcome_cost=distance_settings.label_weight
        * _outcome_difference(first, second, schema, distance_settings.outcome),
    )


def _feature_cost(first: Path, second: Path, feature: Feature) -> float:
    name = feature.name
    if feature.is_subset:
        sets = [set(path.categories.get(name, feature.categories)) for path in (first, second)]
        return len(sets[0] ^ sets[1]) / len(feature.categories)
    if not feature.low < feature.high:
        return 0.0
    whole = (feature.low, feature.high)
    ends = zip(first.bounds.get(name, whole), second.bounds.get(name, whole), strict=True)
    cost = sum(float(fraction_of_range(one, other, *whole)) for one, other in ends) / 2
    return cost if cost > NOTHING else 0.0


def _outcome_difference(first: Path, second: Path, schema: Schema, outcome: str) -> float:
    """From 0, the same, to 1, entirely different."""
    if outcome == "label":
        return float(first.outcome != second.outcome)
    if outcome == "distribution":
        return sum(abs(a - b) for a, b in zip(first.shares, second.shares, strict=True)) / 2
    low, high = schema.target.low, schema.target.high
    if not low < high:
        return 0.0
    one, other = np.clip([float(path.outcome) for path in (first, second)], low, high)
    return float(fraction_of_range(one, other, low, high))


def _unmatched(
    path: Path, schema: Schema, distance_settings: DistanceSettings, is_swapped: bool
) -> UnmatchedPath:
    weight = 0.0
    whole = Path(-1, {}, {}, path.outcome, path.shares, 0.0, 0.0)
    for feature in schema.features:
        if feature.name in path.asks:
            cut = _feature_cost(path, whole, feature)
            weight += (
                cut if distance_settings.matching == "metric" else 1 - (cut if feature.is_subset else 2 * cut)
            )
    if distance_settings.matching == "metric":
        weight += distance_settings.label_weight / 2
    return UnmatchedPath(path, "first" if is_swapped else "second", weight)
