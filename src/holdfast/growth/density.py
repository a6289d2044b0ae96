"""Density trees for unlabelled rows: the leaves are clusters, and their weighted models form a density."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, round_last_digits
from holdfast._check import check_choice, check_fraction, check_number, is_number
from holdfast.data.schema import Kind, Label, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.density_model import (
    ClusterModel,
    GroupSums,
    ModelFamily,
    StandardUnits,
    UnlabelledRows,
    add_up_groups,
    draw_holdout,
    prepare_rows,
)
from holdfast.growth.grow import midpoint
from holdfast.growth.rules import GrowthRules, resolve_min_rows
from holdfast.kernels.growth.density import NO_WEIGHT, TIE, DensityRows, best_thresholds
from holdfast.parallel.interruption import call_kernel, stop_flag
from holdfast.tree.build import Nodes, build_preorder
from holdfast.tree.tree import LEAF, Tree

COVARIANCES = ("diagonal", "full")


@dataclass(frozen=True)
class DensityRules:
    """Rules for growing a density tree."""

    covariance: str = "diagonal"
    shrinkage: float | str = "auto"  # of the correlations towards 0
    max_depth: int | None = None
    max_leaf_nodes: int | None = None  # splits of greatest gain first
    min_samples_leaf: int | float = 5  # of the rows of the search; a float is a fraction of them
    validation: float | None = 0.3  # fraction of the rows that is held out; None: only the limits end growth
    evidence: float = 2.0  # standard errors by which the held-out log likelihood must rise

    def __post_init__(self) -> None:
        GrowthRules(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
        )
        check_choice("covariance", self.covariance, COVARIANCES)
        if self.shrinkage != "auto" and not (is_number(self.shrinkage) and 0.0 <= self.shrinkage <= 1.0):
            raise ParameterError(
                f"shrinkage={self.shrinkage!r} is out of range: it must be between 0 and 1, or 'auto'."
            )
        check_fraction("validation", self.validation, none_ok=True)
        check_number("evidence", self.evidence, is_finite=False)


@dataclass(frozen=True, eq=False)
class Cluster:
    """A leaf: its fraction of the rows and their summary."""

    fraction: float
    mean: Mapping[str, float]  # of the numeric columns with at least two values
    covariance: FloatArray  # of these columns, in their order
    frequency: Mapping[str, Mapping[Label, float]]  # of the other columns


@dataclass(frozen=True)
class HeldOutGain:
    """Gain in held-out log likelihood of the split at a node with those below it."""

    node: int
    count: float  # held-out rows
    gain: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Density:
    """A tree whose leaves are clusters, with the model of each; their weighted sum is a density."""

    tree: Tree
    units: StandardUnits
    fractions: FloatArray  # (clusters,) of the rows
    models: tuple[ClusterModel, ...]
    evidence: tuple[HeldOutGain, ...]  # of the splits of the tree; empty without held-out rows
    size_table: DensitySizeTable | None  # None without held-out rows, or from a file

    def log_density(self, columns: tuple[FloatArray, ...]) -> FloatArray:
        """Log density of every row in the units of the data, over its known numbers."""
        from scipy.special import logsumexp

        with np.errstate(over="ignore"):
            numbers, codes = self.units.numbers(columns), self.units.codes(columns)
            parts = [model.log_density(numbers, codes) for model in self.models]
        of_units = ~np.isnan(numbers) @ np.log(self.units.scale)
        return np.asarray(
            logsumexp(np.array(parts).T + np.log(self.fractions), axis=1) - of_units, np.float64
        )

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """Clusters in the units of the data, from left to right."""
        return tuple(
            _describe_cluster(self.tree.schema, self.units, float(fraction), model)
            for fraction, model in zip(self.fractions, self.models, strict=True)
        )


def grow_density(table: Table, rules: DensityRules | None = None, *, seed: int = 0) -> Density:
    """Grow a density tree; the target of the table is ignored.

    A fraction of the rows, drawn by the seed, is held out of the search; a split is kept if it makes these
    rows more likely. The clusters are fitted to all rows.

    >>> rows = [[value + step / 10] for value in (0.0, 100.0) for step in range(50)]
    >>> density = grow_density(Table.from_arrays(rows, [0.0] * 100, task="regression"))
    >>> density.tree.threshold[0], density.fractions
    (np.float64(52.45), array([0.5, 0.5]))
    """
    rules = rules or DensityRules()
    data = prepare_rows(table)
    is_held = np.zeros(data.table.n_rows, np.bool_)
    if rules.validation is not None and data.n_distinct > 1:
        is_held = draw_holdout(data, rules.validation, seed)
    shrinkage = None if rules.shrinkage == "auto" else float(rules.shrinkage)
    family = ModelFamily(
        data.units.measurement_variance, data.units.start, rules.covariance == "full", shrinkage
    )
    n_rows = int(data.rows.repeats[~is_held].sum())
    search = SplitSearch(data, family, resolve_min_rows(rules.min_samples_leaf, n_rows))
    root = grow_groups(search, is_held, rules.max_depth)
    kept = {group for group in list_groups(root) if group.sides is not None}
    if rules.validation is not None:
        kept = select_splits(search, root, rules.evidence)
    order = order_splits(root, kept)
    n_splits = len(kept) if rules.max_leaf_nodes is None else min(len(kept), rules.max_leaf_nodes - 1)
    sizes = score_sizes(search, root, order, n_splits + 1)
    kept = set(order[:n_splits])
    for group in list(list_groups(root)):
        if group not in kept:
            group.split = group.sides = None
    return _fit_clusters(search, root, sizes)


# -- Growth of the groups ------------------------------------------------------------------------------------

# Consecutive splits without gain that growth tolerates. Two are needed to isolate the inner of two nested
# groups, although neither gains alone, and four to isolate the first of 32 clusters in a line.
LOOK_AHEAD = 3
# Assumed fraction of outliers among a group's rows, which neither side describes. It bounds the evidence of
# such a row against a split by log(100); without it, that would grow with its squared distance.
STRAYS = 0.01


@dataclass(eq=False)
class Group:
    """A node during growth; a leaf while it has no sides."""

    depth: int
    idle: int  # consecutive splits above it that did not gain
    weight: float  # of the rows of the search
    held: IntArray  # held-out rows
    log_density: FloatArray  # of the held-out rows under the model of this group
    orders: IntArray  # rows of the search in the order of each column; empty once it is split
    split: DensitySplit | None = None
    sides: tuple[Group, Group] | None = None
    held_left: BoolArray | None = None  # held-out rows that go left


def grow_groups(search: SplitSearch, is_held: BoolArray, max_depth: int | None) -> Group:
    """Grow from one group of all rows until the limits are reached."""
    rows, held = search.data.rows, np.flatnonzero(is_held).astype(np.int32)
    learned = np.flatnonzero(~is_held)
    orders = np.empty((len(search.data.ranks), len(learned)), np.int32)
    for feature, ranks in enumerate(search.data.ranks):  # missing values last
        orders[feature] = learned[np.argsort(ranks[learned].view(np.uint32), kind="stable")]
    most_idle = LOOK_AHEAD if len(held) else np.inf  # without held-out rows only the limits end growth
    root = _make_group(search, orders, held, depth=0)
    waiting = [root]
    while waiting:
        group = waiting.pop()
        n_rows = rows.repeats[group.orders[0]].sum()
        if group.idle <= most_idle and group.depth != max_depth and n_rows >= 2 * search.least:
            group.split = search.find_best_split(group.orders)
        if group.split is not None:
            goes_left = group.split.sends_left(search.data.table.columns[group.split.feature])
            sides = []
            for goes_there in (goes_left, ~goes_left):
                orders = group.orders[goes_there[group.orders]].reshape(len(group.orders), -1)
                held = group.held[goes_there[group.held]]
                sides.append(_make_group(search, orders, held, group.depth + 1))
            group.sides, group.held_left = (sides[0], sides[1]), goes_left[group.held]
            gain, error = held_out_gain(rows, group, join_likelihoods(group, [s.log_density for s in sides]))
            for side in sides:
                side.idle = 0 if gain > error else group.idle + 1
            waiting += sides
        group.orders = group.orders[:, :0]
    return root


def _make_group(search: SplitSearch, orders: IntArray, held: IntArray, depth: int) -> Group:
    rows = search.data.rows
    sums = add_up_groups(rows, orders[0], np.zeros(orders.shape[1], np.int64), 1, full=search.family.full)
    model = search.family.models(sums)[0]
    log_density = model.log_density(rows.numbers[held], rows.codes[held], rounded=True)
    return Group(depth, 0, float(sums.weight[0]), held, log_density, orders)


def list_groups(root: Group) -> Iterator[Group]:
    """List all groups in preorder."""
    waiting = [root]
    while waiting:
        group = waiting.pop()
        yield group
        if group.sides is not None:
            waiting += reversed(group.sides)


def join_likelihoods(group: Group, of_sides: list[FloatArray]) -> FloatArray:
    """Return held-out log likelihoods in a group, given those in its two sides.

    They include the probability of a row's side. Without it, splitting a Gaussian at its mean would always
    gain 0.506 for every row; with it, it loses log 2 - 0.506.
    """
    assert group.sides is not None
    assert group.held_left is not None
    parts = np.empty(len(group.held))
    for side, fitted, flags in zip(group.sides, of_sides, (group.held_left, ~group.held_left), strict=True):
        parts[flags] = fitted + np.log(side.weight / group.weight)
    return np.asarray(np.logaddexp(np.log1p(-STRAYS) + parts, np.log(STRAYS) + group.log_density), np.float64)


def held_out_gain(rows: DensityRows, group: Group, together: FloatArray) -> tuple[float, float]:
    """Compute the total gain over the undivided group, and its standard error (infinite for one row)."""
    difference, weight = together - group.log_density, rows.weight[group.held]
    gain, n_rows = float(weight @ difference), len(group.held)
    if n_rows < 2:
        return gain, np.inf
    mean = gain / float(weight.sum())
    return gain, float(np.sqrt(n_rows / (n_rows - 1) * (weight**2 @ (difference - mean) ** 2)))


# -- The best split of a group -------------------------------------------------------------------------------

MOST_FREE = 10  # categories in a node of which all subsets are tried; of more, prefixes of one order
MOST_CUTS = 32  # thresholds of a column that are tried at a time if the covariance is full


@dataclass(frozen=True, eq=False)
class DensitySplit:
    """A split and its gain: log likelihood of the two sides minus that of the node."""

    feature: int
    gain: float
    threshold: float  # NaN for a set of categories
    in_set: BoolArray | None  # one flag per category: does it go left?
    missing_left: bool

    def sends_left(self, column: FloatArray) -> BoolArray:
        """Flag the rows that go left, given the column of the feature."""
        missing = np.isnan(column)
        if self.in_set is None:
            left = column <= self.threshold
        else:
            left = self.in_set[np.where(missing, 0, column).astype(np.int64)]
        return np.where(missing, self.missing_left, left)

    def move_to_midpoint(self, column: FloatArray, kind: Kind) -> DensitySplit:
        """Move the threshold half-way between the neighbouring values."""
        if self.in_set is not None:
            return self
        low, high = column[column <= self.threshold], column[column > self.threshold]
        if not len(low) or not len(high):
            return self
        return replace(self, threshold=_threshold_between(float(low.max()), float(high.min()), kind))


@dataclass(frozen=True, eq=False)
class SplitSearch:
    """Search for splits: the rows, the models, and the least rows of a side."""

    data: UnlabelledRows
    family: ModelFamily
    least: int

    def find_best_split(self, orders: IntArray) -> DensitySplit | None:
        """Find the best split of the rows in `orders`, sorted by each column.

        Ties go to the first column by name, then to the lowest threshold.
        """
        features, taken = self.data.schema.features, orders[0]
        node = add_up_groups(self.data.rows, taken, np.zeros(len(taken), np.int64), 1, full=self.family.full)
        alone = float(self.family.log_likelihood(node)[0])
        tie = TIE * float(node.weight[0])
        by_threshold = {} if self.family.full else self._best_of_all_thresholds(orders, alone)
        best: DensitySplit | None = None
        for index in self.data.schema.name_order:
            if features[index].is_subset:
                split = self._best_of_sets(index, taken, alone)
            elif self.family.full:
                split = self._best_of_some_thresholds(index, orders[index], alone)
            else:
                split = by_threshold[index]
            if split is not None and (best is None or split.gain > best.gain + tie):
                best = split
        return best

    # -- thresholds ---------------------------------------------------------------------------------------

    def _best_of_all_thresholds(self, orders: IntArray, alone: float) -> dict[int, DensitySplit | None]:
        features = self.data.schema.features
        used = [index for index, feature in enumerate(features) if not feature.is_subset]
        if not used:
            return {}
        likelihood, places = np.empty(len(used)), np.empty(len(used), np.int64)
        missing_left = np.empty(len(used), np.int64)
        ranks = self.data.ranks
        if len(used) < len(features):
            ranks, orders = ranks[used], orders[used]
        results, n_steps = (likelihood, places, missing_left), orders.size * len(features)
        with stop_flag() as stop:
            arguments = (self.data.rows, freeze(ranks), freeze(orders), self.least, *results, stop)
            call_kernel(best_thresholds, *arguments, stop=stop, n_steps=n_steps)
        return {
            index: self._make_threshold_split(index, order, int(place), float(value) - alone, bool(side))
            for index, order, place, value, side in zip(
                used, orders, places, likelihood, missing_left, strict=True
            )
        }

    def _best_of_some_thresholds(self, feature: int, order: IntArray, alone: float) -> DensitySplit | None:
        """Find the best of a few thresholds, then search around it until no neighbour is better."""
        rank = self.data.ranks[feature][order]
        n_known = int(np.count_nonzero(rank >= 0))
        cuts = self._select_cuts(order, np.flatnonzero(np.diff(rank[:n_known]) > 0), n_known)
        first, last, best = 0, len(cuts), None
        while first < last:
            tried = np.unique(np.linspace(first, last - 1, min(MOST_CUTS, last - first)).astype(np.int64))
            group = np.searchsorted(cuts[tried], np.arange(len(order)), side="left")
            group[n_known:] = len(tried) + 1
            best = self._best_union(order, group, len(tried) + 1, None)
            if best is None or len(tried) == last - first:
                break
            around = np.concatenate([[first - 1], tried, [last]])[best[0] : best[0] + 3]
            first, last = int(around[0]) + 1, int(around[2])
        if best is None:
            return None
        which, likelihood, missing_left = best
        place = int(cuts[tried[which]])
        return self._make_threshold_split(feature, order, place, likelihood - alone, missing_left)

    def _select_cuts(self, order: IntArray, cuts: LongArray, n_known: int) -> LongArray:
        """Select the cuts that leave enough rows on both sides if missing values go to the smaller one."""
        rows = np.cumsum(self.data.rows.repeats[order])
        missing = rows[-1] - (rows[n_known - 1] if n_known else 0)
        enough = (rows[cuts] + missing >= self.least) & (rows[-1] - rows[cuts] >= self.least)
        return np.asarray(cuts[enough], np.int64)

    def _make_threshold_split(
        self, feature: int, order: IntArray, place: int, gain: float, missing_left: bool
    ) -> DensitySplit | None:
        if place < 0:
            return None
        low, high = self.data.table.columns[feature][order[place : place + 2]].tolist()
        threshold = _threshold_between(low, high, self.data.schema.features[feature].kind)
        if self.data.ranks[feature][order[-1]] >= 0:  # no value is missing: then to the heavier side
            weight = self.data.rows.weight[order]
            missing_left = bool(2 * weight[: place + 1].sum() >= weight.sum())
        return DensitySplit(feature, gain, threshold, None, missing_left)

    # -- sets ---------------------------------------------------------------------------------------------

    def _best_of_sets(self, feature: int, taken: IntArray, alone: float) -> DensitySplit | None:
        column = self.data.table.columns[feature][taken]
        known = ~np.isnan(column)
        present, group = np.unique(column[known].astype(np.int64), return_inverse=True)
        if len(present) < 2:
            return None
        groups = np.full(len(taken), len(present), np.int64)
        groups[known] = group
        order, unions = np.arange(len(present)), None
        if len(present) <= MOST_FREE:
            unions = _list_subsets(len(present))
        else:
            order = _order_by_profile(self._profiles(feature, taken, groups, len(present)))
            groups[known] = np.argsort(order, kind="stable")[group]
        best = self._best_union(taken, groups, len(present), unions)
        if best is None:
            return None
        which, likelihood, missing_left = best
        left = np.arange(len(present)) <= which if unions is None else unions[which] > 0
        if known.all():
            weight = self.data.rows.weight[taken]
            missing_left = bool(2 * weight[left[groups]].sum() >= weight.sum())
        in_set = np.full(len(self.data.schema.features[feature].categories), missing_left)
        in_set[present[order]] = left
        return DensitySplit(feature, likelihood - alone, np.nan, in_set, missing_left)

    def _profiles(self, feature: int, taken: IntArray, group: LongArray, n_groups: int) -> GroupSums:
        """Return the statistics of each category of a feature, without the counts of the feature itself."""
        sums = add_up_groups(self.data.rows, taken, group, n_groups + 1, full=False)
        place = int(np.flatnonzero(self.data.units.categorical == feature)[0])
        own = np.arange(*self.data.units.start[place : place + 2])
        return sums._replace(counts=np.delete(sums.counts, own, axis=1))

    def _best_union(
        self, taken: IntArray, group: LongArray, n_groups: int, unions: FloatArray | None
    ) -> tuple[int, float, bool] | None:
        """Find the best union of groups to go left; the last group holds missing values.

        Each union has a 1 for every group in it; None stands for the prefixes: the first group, the first
        two, and so on. Returns the number of the union, the log likelihood of both sides, and whether missing
        values go left.
        """
        parts = add_up_groups(self.data.rows, taken, group, n_groups + 1, full=self.family.full)
        whole = parts.map(lambda part: part.sum(axis=0, keepdims=True))
        known = parts.map(
            lambda part: (
                np.cumsum(part[:-1], axis=0)[:-1] if unions is None else np.tensordot(unions, part[:-1], 1)
            )
        )
        best: tuple[int, float, bool] | None = None
        tie = TIE * float(parts.weight.sum())
        for missing_left in (False, True) if parts.rows[n_groups] else (False,):
            left = known if not missing_left else known.add(parts.map(lambda part: part[-1:]))
            right = whole.subtract(left)
            allowed = np.flatnonzero((left.rows >= self.least) & (right.rows >= self.least))
            if not len(allowed):
                continue
            values = (self.family.log_likelihood(left) + self.family.log_likelihood(right))[allowed]
            which = int(np.argmax(values > values.max() - tie))
            if best is None or values[which] > best[1] + tie:
                best = int(allowed[which]), float(values[which]), missing_left
        return best


def _threshold_between(low: float, high: float, kind: Kind) -> float:
    """Return the threshold between two neighbouring values."""
    middle = float(midpoint(np.array([low]), np.array([high]))[0])
    return math.floor(middle) + 0.5 if kind == "ordered" else middle


def _list_subsets(n_groups: int) -> FloatArray:
    """List all sets that hold the first group but not every group, as binary numbers in order."""
    numbers = np.arange(2 ** (n_groups - 1) - 1)
    others = numbers[:, None] >> np.arange(n_groups - 1) & 1
    return np.column_stack([np.ones(len(numbers)), others]).astype(np.float64)


def _order_by_profile(profiles: GroupSums) -> LongArray:
    """Order the groups along the first principal component of their profiles.

    A profile holds the means of the numbers and the fractions of the categories; the last group, of missing
    values, has none.
    """
    weight = profiles.weight[:-1]
    means = profiles.total[:-1] / np.maximum(profiles.known[:-1], NO_WEIGHT)
    fractions = profiles.counts[:-1] / weight[:, None]
    profile = np.column_stack([means, fractions])
    if not profile.shape[1]:  # no other column
        return np.arange(len(weight))
    shift = (profile - np.average(profile, axis=0, weights=weight)) * np.sqrt(weight)[:, None]
    place = profile @ np.linalg.svd(shift, full_matrices=False)[2][0]
    # Groups with one profile get one place, whatever the last bits of a matrix product are.
    place = round_last_digits(place - np.average(place, weights=weight))
    return np.argsort(place if place[0] <= 0 else -place, kind="stable")


# -- Splits that are kept, and the number of clusters --------------------------------------------------------

GAIN_DIGITS = 6  # decimals by which gains are compared
MOST_MORE = 10  # clusters beyond the chosen number that the table shows


def select_splits(search: SplitSearch, root: Group, least: float) -> set[Group]:
    """Select the groups whose split, with those kept below, gains more than this many standard errors.

    A split is kept only if those above it are.
    """
    gaining: set[Group] = set()
    fitted: dict[Group, FloatArray] = {}
    for group in reversed(list(list_groups(root))):  # sides before their group
        fitted[group] = group.log_density
        if group.sides is None:
            continue
        together = join_likelihoods(group, [fitted.pop(side) for side in group.sides])
        gain, error = held_out_gain(search.data.rows, group, together)
        if gain > least * error:
            fitted[group] = together
            gaining.add(group)
    kept, waiting = set(), [root]
    while waiting:
        group = waiting.pop()
        if group in gaining:
            kept.add(group)
            waiting += group.sides or ()
    return kept


def measure_evidence(search: SplitSearch, root: Group) -> tuple[HeldOutGain, ...]:
    """Measure what every split that is kept gains on held-out rows, nodes from left to right."""
    evidence = []
    fitted: dict[Group, FloatArray] = {}
    for node, group in reversed(list(enumerate(list_groups(root)))):
        fitted[group] = group.log_density
        if group.sides is not None and len(group.held):
            fitted[group] = join_likelihoods(group, [fitted.pop(side) for side in group.sides])
            count = float(search.data.rows.repeats[group.held].sum())
            evidence.append(HeldOutGain(node, count, *held_out_gain(search.data.rows, group, fitted[group])))
    return tuple(reversed(evidence))


def order_splits(root: Group, kept: set[Group]) -> list[Group]:
    """Order the groups by the gain of their splits, kept ones first, each after those above it."""
    numbers = {group: number for number, group in enumerate(list_groups(root))}
    waiting: list[tuple[bool, float, int, Group]] = []
    order, reached = [], [root]
    while reached or waiting:
        for group in reached:
            if group.split is not None:
                gain = round(group.split.gain, GAIN_DIGITS)
                heapq.heappush(waiting, (group not in kept, -gain, numbers[group], group))
        if not waiting:
            break
        order.append(heapq.heappop(waiting)[-1])
        reached = list(order[-1].sides or ())
    return order


@dataclass(frozen=True, eq=False, repr=False)
class DensitySizeTable:
    """Mean held-out log likelihoods, in the units of the data, by number of clusters."""

    n_clusters: LongArray
    score: FloatArray  # mean log likelihood of a row
    error: FloatArray  # standard error of the score
    gain: FloatArray  # of the score, over one cluster fewer; NaN for one cluster
    gain_error: FloatArray  # standard error of the gain, row by row
    chosen: int  # index of the chosen number

    def __post_init__(self) -> None:
        for name in ("n_clusters", "score", "error", "gain", "gain_error"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.n_clusters)

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per number of clusters."""
        return {
            "n_clusters": self.n_clusters.tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "gain": self.gain.tolist(),
            "gain_error": self.gain_error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame with one row per number of clusters."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"n_clusters": nw.Int64, "chosen": nw.Boolean}, backend)

    def __repr__(self) -> str:
        lines = [f"{'clusters':>8}  {'log likelihood':>17}  {'over one fewer':>17}"]
        for place, number in enumerate(self.n_clusters.tolist()):
            score = f"{self.score[place]:.4g} ± {self.error[place]:<7.2g}"
            gain = "" if place == 0 else f"{self.gain[place]:.3g} ± {self.gain_error[place]:<7.2g}"
            mark = "chosen" if place == self.chosen else ""
            lines.append(f"{number:8}  {score:>17}  {gain:>17}  {mark}".rstrip())
        return "\n".join([*lines, "Means over the rows held out; ± is one standard error."])


def score_sizes(
    search: SplitSearch, root: Group, order: list[Group], n_clusters: int
) -> DensitySizeTable | None:
    """Score one cluster, two, and so on, on held-out rows, some beyond the chosen number.

    None if no rows are held out.
    """
    if not len(root.held):
        return None
    rows, weight = search.data.rows, search.data.rows.weight[root.held]
    known = ~np.isnan(rows.numbers[root.held])
    of_units = np.where(known, np.log(search.data.units.scale), 0.0).sum(axis=1)
    above = {side: group for group in order for side in group.sides or ()}
    fitted = {root: root.log_density}
    lines = [(*_mean_and_error(root.log_density - of_units, weight), np.nan, np.nan)]
    for group in order[: n_clusters - 1 + MOST_MORE]:
        before = fitted[root]
        fitted |= {side: side.log_density for side in group.sides or ()}
        at: Group | None = group
        while at is not None:  # the groups above change with it
            fitted[at] = join_likelihoods(at, [fitted[side] for side in at.sides or ()])
            at = above.get(at)
        score = _mean_and_error(fitted[root] - of_units, weight)
        lines.append((*score, *_mean_and_error(fitted[root] - before, weight)))
    score, error, gain, gain_error = np.array(lines).T
    numbers = np.arange(1, len(lines) + 1)
    return DensitySizeTable(numbers, score, error, gain, gain_error, chosen=n_clusters - 1)


def _mean_and_error(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return mean and standard error; the error is infinite for a single row."""
    part = weight / weight.sum()
    mean, n_rows = float((part * values).sum()), len(values)
    if n_rows < 2:
        return mean, np.inf
    return mean, float(np.sqrt(n_rows / (n_rows - 1) * ((part * (values - mean)) ** 2).sum()))


# -- The tree and its clusters -------------------------------------------------------------------------------


def _fit_clusters(search: SplitSearch, root: Group, sizes: DensitySizeTable | None) -> Density:
    """Fit tree and clusters to all rows, held-out rows included."""
    data, groups = search.data, list(list_groups(root))
    leaves = [group for group in groups if group.sides is None]
    cluster = _assign_clusters(data, root, {group: number for number, group in enumerate(leaves)})
    everything = np.arange(data.table.n_rows, dtype=np.int32)
    sums = add_up_groups(data.rows, everything, cluster, len(leaves), full=search.family.full)
    models = tuple(search.family.models(sums))
    fractions = freeze(sums.weight / sums.weight.sum())
    tree = _build_tree(data, groups, cluster, len(leaves))
    return Density(tree, data.units, fractions, models, measure_evidence(search, root), sizes)


def _assign_clusters(data: UnlabelledRows, root: Group, numbers: Mapping[Group, int]) -> LongArray:
    """Assign rows to clusters, and move thresholds half-way between neighbouring values."""
    cluster = np.empty(data.table.n_rows, np.int64)
    waiting = [(root, np.arange(data.table.n_rows))]
    while waiting:
        group, rows = waiting.pop()
        if group.sides is None or group.split is None:
            cluster[rows] = numbers[group]
            continue
        feature = group.split.feature
        column = data.table.columns[feature][rows]
        # By all rows: then thresholds depend less on which were held out, and no row changes sides.
        group.split = group.split.move_to_midpoint(column, data.schema.features[feature].kind)
        goes_left = group.split.sends_left(column)
        waiting += zip(group.sides, (rows[goes_left], rows[~goes_left]), strict=True)
    return cluster


def _build_tree(data: UnlabelledRows, groups: list[Group], cluster: LongArray, n_clusters: int) -> Tree:
    number = {group: node for node, group in enumerate(groups)}
    n_nodes = len(groups)
    feature, left, right = np.full((3, n_nodes), LEAF, np.int32)
    threshold, missing_left = np.full(n_nodes, np.nan), np.zeros(n_nodes, np.bool_)
    sets: dict[int, BoolArray] = {}
    has_cluster = np.zeros((n_nodes, n_clusters), np.bool_)
    is_leaf = [node for node, group in enumerate(groups) if group.sides is None]
    has_cluster[is_leaf, np.arange(n_clusters)] = True
    for node, group in reversed(list(enumerate(groups))):
        if group.split is None or group.sides is None:
            continue
        feature[node], threshold[node] = group.split.feature, group.split.threshold
        missing_left[node] = group.split.missing_left
        if group.split.in_set is not None:
            sets[node] = group.split.in_set
        left[node], right[node] = (number[side] for side in group.sides)
        has_cluster[node] = has_cluster[left[node]] | has_cluster[right[node]]
    row_weight = np.ones(data.table.n_rows) if data.table.weight is None else data.table.weight
    weight = has_cluster * np.bincount(cluster, row_weight, n_clusters)
    value = weight / weight.sum(axis=1, keepdims=True)
    nodes = Nodes(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        value=value,
        count=(has_cluster * np.bincount(cluster, data.rows.repeats, n_clusters)).sum(axis=1),
        weight=weight.sum(axis=1),
        impurity=-(value * np.log2(np.where(value > 0, value, 1.0))).sum(axis=1),
        sets=sets,
    )
    schema = replace(data.schema, target=Target("cluster", tuple(range(n_clusters))))
    return build_preorder(nodes, schema, criterion="density")


def _describe_cluster(schema: Schema, units: StandardUnits, fraction: float, model: ClusterModel) -> Cluster:
    names = [schema.names[feature] for feature in units.numeric.tolist()]
    mean = units.centre + model.mean * units.scale
    frequency = np.exp(model.log_frequency)
    categories = {
        schema.names[feature]: dict(
            zip(schema.features[feature].categories, frequency[first:].tolist(), strict=False)
        )
        for feature, first in zip(units.categorical.tolist(), units.start[:-1].tolist(), strict=True)
    }
    with np.errstate(over="ignore"):  # the square of a huge number is infinite
        covariance = model.covariance * units.scale[:, None] * units.scale
    return Cluster(fraction, dict(zip(names, mean.tolist(), strict=True)), freeze(covariance), categories)
