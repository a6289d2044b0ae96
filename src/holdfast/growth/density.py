"""A tree for unlabelled rows: its leaves are clusters, and together they are a density."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, frozen, without_last_digits
from holdfast._check import check_fraction, is_number
from holdfast.data.binning import write_dense_ranks
from holdfast.data.folds import random_positions, select_below
from holdfast.data.row_keys import copies_as_groups, unit_keys
from holdfast.data.row_order import MOST_ROWS, fixed_order
from holdfast.data.schema import Kind, Label, Schema, Target
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions
from holdfast.errors import ParameterError
from holdfast.growth.grow import midpoint
from holdfast.growth.rules import GrowthRules, resolve_min_rows
from holdfast.growth.sample import relative, split_weight
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
    max_leaf_nodes: int | None = None  # the most useful questions first
    min_samples_leaf: int | float = 5  # of the rows of the search; a float is a fraction of them
    validation: float | None = 0.3  # fraction of the rows that judge; None: the limits alone end growth
    evidence: float = 2.0  # standard errors by which the rows held out must gain

    def __post_init__(self) -> None:
        GrowthRules(
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
        )
        if self.covariance not in COVARIANCES:
            raise ParameterError(
                f"covariance={self.covariance!r} is unknown: choose one of {list(COVARIANCES)}."
            )
        if self.shrinkage != "auto" and not _is_within(self.shrinkage, 0.0, 1.0):
            raise ParameterError(
                f"shrinkage={self.shrinkage!r} is out of range: it must be between 0 and 1, or 'auto'."
            )
        if self.validation is not None:
            check_fraction("validation", self.validation)
        if not _is_within(self.evidence, 0.0, np.inf):
            raise ParameterError(
                f"evidence={self.evidence!r} is out of range: it must be a number of standard errors, "
                "at least 0."
            )


@dataclass(frozen=True, eq=False)
class Cluster:
    """A leaf: its fraction of the rows and their summary."""

    fraction: float
    mean: Mapping[str, float]  # of the numeric columns; one that holds a single value takes no part
    covariance: FloatArray  # of these columns, in their order
    frequency: Mapping[str, Mapping[Label, float]]  # of the other columns


@dataclass(frozen=True, eq=False)
class Density:
    """A tree whose leaves are clusters, with the model of each; their weighted sum is a density."""

    tree: Tree
    units: StandardUnits
    fractions: FloatArray  # (clusters,) of the rows
    models: tuple[Model, ...]
    evidence: tuple[HeldOutGain, ...]  # of the questions of the tree; none without rows held out
    size_table: DensitySizeTable | None  # None without rows held out, or from a file

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
            _cluster(self.tree.schema, self.units, float(fraction), model)
            for fraction, model in zip(self.fractions, self.models, strict=True)
        )


def grow_density(table: Table, rules: DensityRules | None = None, *, seed: int = 0) -> Density:
    """Grow a density tree; the target of the table is ignored.

    A fraction of the rows, drawn by the seed, is held out of the search for questions; then every question
    has to make them more likely. The clusters are described from all rows.

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
    search = _search(data, rules, int(data.rows.repeats[~is_held].sum()))
    root = grow_groups(search, is_held, rules.max_depth)
    standing = {group for group in list_groups(root) if not group.is_leaf}
    if rules.validation is not None:
        standing = groups_to_divide(search, root, rules.evidence)
    order = division_order(root, standing)
    n_divided = min(len(standing), (rules.max_leaf_nodes or np.inf) - 1)
    sizes = size_table(search, root, order, int(n_divided) + 1)
    divide_only(root, set(order[: int(n_divided)]))
    return _finished(search, root, sizes)


def _search(data: UnlabelledRows, rules: DensityRules, n_rows: int) -> Search:
    shrinkage = None if rules.shrinkage == "auto" else float(rules.shrinkage)
    family = Family(data.units.measurement_variance, data.units.start, rules.covariance == "full", shrinkage)
    return Search(data, family, resolve_min_rows(rules.min_samples_leaf, n_rows))


# -- the finished tree ------------------------------------------------------------------------------------


def _finished(search: Search, root: Group, sizes: DensitySizeTable | None) -> Density:
    """Fit tree and clusters to all rows, held-out rows included."""
    data, groups = search.data, list(list_groups(root))
    leaves = [group for group in groups if group.sides is None]
    cluster = _clusters_of_rows(data, root, {group: number for number, group in enumerate(leaves)})
    everything = np.arange(data.table.n_rows, dtype=np.int32)
    sums = add_up_groups(data.rows, everything, cluster, len(leaves), full=search.family.full)
    target = Target("cluster", tuple(range(len(leaves))))
    tree = _tree(replace(data.schema, target=target), data, groups, cluster)
    models = tuple(search.family.models(sums))
    fractions = frozen(sums.weight / sums.weight.sum())
    return Density(tree, data.units, fractions, models, measure_evidence(search, root), sizes)


def _clusters_of_rows(data: UnlabelledRows, root: Group, numbers: Mapping[Group, int]) -> LongArray:
    """Assign rows to clusters; thresholds move half-way between neighbouring values."""
    cluster = np.empty(data.table.n_rows, np.int64)
    waiting = [(root, np.arange(data.table.n_rows))]
    while waiting:
        group, rows = waiting.pop()
        if group.sides is None or group.question is None:
            cluster[rows] = numbers[group]
            continue
        feature = group.question.feature
        column = data.table.columns[feature][rows]
        # By all rows: then thresholds depend less on which were held out, and no row changes sides.
        group.question = group.question.centred(column, data.schema.features[feature].kind)
        goes_left = group.question.answers(column)
        waiting += zip(group.sides, (rows[goes_left], rows[~goes_left]), strict=True)
    return cluster


def _tree(schema: Schema, data: UnlabelledRows, groups: list[Group], cluster: LongArray) -> Tree:
    place = {group: node for node, group in enumerate(groups)}
    n_nodes, n_clusters = len(groups), len(schema.target.classes)
    questions = {node: group.question for node, group in enumerate(groups) if group.question is not None}
    children = np.full((2, n_nodes), LEAF, np.int32)
    of_cluster = np.zeros((n_nodes, n_clusters), np.bool_)
    of_cluster[[node for node, group in enumerate(groups) if group.sides is None], np.arange(n_clusters)] = (
        True
    )
    for node in sorted(questions, reverse=True):
        sides = groups[node].sides
        assert sides is not None
        children[:, node] = [place[side] for side in sides]
        of_cluster[node] = of_cluster[children[0, node]] | of_cluster[children[1, node]]
    given = np.ones(data.table.n_rows) if data.table.weight is None else data.table.weight
    weight = of_cluster * np.bincount(cluster, given, n_clusters)
    value = weight / weight.sum(axis=1, keepdims=True)
    nodes = Nodes(
        feature=_of(questions, n_nodes, "feature", LEAF).astype(np.int32),
        threshold=_of(questions, n_nodes, "threshold", np.nan),
        left=children[0],
        right=children[1],
        missing_left=_of(questions, n_nodes, "missing_left", 0).astype(np.bool_),
        value=value,
        count=(of_cluster * np.bincount(cluster, data.rows.repeats, n_clusters)).sum(axis=1),
        weight=weight.sum(axis=1),
        impurity=-(value * np.log2(np.where(value > 0, value, 1.0))).sum(axis=1),
        sets={node: asked.in_set for node, asked in questions.items() if asked.in_set is not None},
    )
    return build_preorder(nodes, schema, criterion="density")


def _of(questions: Mapping[int, Any], n_nodes: int, name: str, absent: float) -> FloatArray:
    """Return one field of the splits for every node."""
    return np.array([getattr(questions.get(node), name, absent) for node in range(n_nodes)], np.float64)


def _cluster(schema: Schema, units: StandardUnits, fraction: float, model: Model) -> Cluster:
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
    return Cluster(fraction, dict(zip(names, mean.tolist(), strict=True)), frozen(covariance), categories)


def _is_within(value: object, low: float, high: float) -> bool:
    return is_number(value) and low <= float(value) <= high


# -- The best question about a group of unlabelled rows ------------------------------------------------------

MOST_FREE = 10  # categories in a node of which all sets are tried; of more, prefixes of one order
MOST_CUTS = 32  # thresholds of a column that are tried at a time if the covariance is full


@dataclass(frozen=True, eq=False)
class Question:
    """A split and its gain: log likelihood of the two sides minus that of the node."""

    feature: int
    gain: float
    threshold: float  # NaN where a set is asked about
    in_set: BoolArray | None  # one flag per category: does it go left?
    missing_left: bool

    def answers(self, column: FloatArray) -> BoolArray:
        """Flag the rows that go left, given the column of the feature."""
        missing = np.isnan(column)
        if self.in_set is None:
            left = column <= self.threshold
        else:
            left = self.in_set[np.where(missing, 0, column).astype(np.int64)]
        return np.where(missing, self.missing_left, left)

    def centred(self, column: FloatArray, kind: Kind) -> Question:
        """Move the threshold half-way between the neighbouring values."""
        if self.in_set is not None:
            return self
        low, high = column[column <= self.threshold], column[column > self.threshold]
        if not len(low) or not len(high):
            return self
        return replace(self, threshold=_between(float(low.max()), float(high.min()), kind))


@dataclass(frozen=True, eq=False)
class Search:
    """Search for splits: the rows, the models, and the least rows of a side."""

    data: UnlabelledRows
    family: Family
    least: int

    def best_question(self, orders: IntArray) -> Question | None:
        """Find the best split of the rows in `orders`, sorted by each column.

        Of equal ones it is that on the first column by name, at the lowest threshold.
        """
        taken = orders[0]
        node = add_up_groups(self.data.rows, taken, np.zeros(len(taken), np.int64), 1, full=self.family.full)
        alone = float(self.family.log_likelihood(node)[0])
        tie = TIE * float(node.weight[0])
        best: Question | None = None
        for question in self._best_of_columns(orders, alone):
            if best is None or question.gain > best.gain + tie:
                best = question
        return best

    def _best_of_columns(self, orders: IntArray, alone: float) -> list[Question]:
        features = self.data.schema.features
        if self.family.full:
            by_threshold = {
                index: self._best_of_some_thresholds(index, order, alone)
                for index, order in enumerate(orders)
                if not features[index].is_subset
            }
        else:
            by_threshold = self._best_of_all_thresholds(orders, alone)
        found = [
            self._best_of_sets(index, orders[0], alone) if feature.is_subset else by_threshold[index]
            for index, feature in ((index, features[index]) for index in self.data.schema.name_order)
        ]
        return [question for question in found if question is not None]

    # -- thresholds ---------------------------------------------------------------------------------------

    def _best_of_all_thresholds(self, orders: IntArray, alone: float) -> dict[int, Question | None]:
        features = self.data.schema.features
        asked = [index for index, feature in enumerate(features) if not feature.is_subset]
        if not asked:
            return {}
        likelihood, places = np.empty(len(asked)), np.empty(len(asked), np.int64)
        missing_left = np.empty(len(asked), np.int64)
        ranks = self.data.ranks
        if len(asked) < len(features):
            ranks, orders = ranks[asked], orders[asked]
        found, n_steps = (likelihood, places, missing_left), orders.size * len(features)
        with stop_flag() as stop:
            arguments = (self.data.rows, frozen(ranks), frozen(orders), self.least, *found, stop)
            call_kernel(best_thresholds, *arguments, stop=stop, n_steps=n_steps)
        return {
            index: self._threshold(index, order, int(place), float(value) - alone, bool(side))
            for index, order, place, value, side in zip(
                asked, orders, places, likelihood, missing_left, strict=True
            )
        }

    def _best_of_some_thresholds(self, feature: int, order: IntArray, alone: float) -> Question | None:
        """Find the best of a few thresholds, then search around it until no neighbour is better."""
        rank = self.data.ranks[feature][order]
        n_known = int(np.count_nonzero(rank >= 0))
        cuts = self._allowed(order, np.flatnonzero(np.diff(rank[:n_known]) > 0), n_known)
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
        return self._threshold(feature, order, int(cuts[tried[which]]), likelihood - alone, missing_left)

    def _allowed(self, order: IntArray, cuts: LongArray, n_known: int) -> LongArray:
        """Flag the cuts that can leave enough rows on both sides, wherever missing values go."""
        rows = np.cumsum(self.data.rows.repeats[order])
        missing = rows[-1] - (rows[n_known - 1] if n_known else 0)
        enough = (rows[cuts] + missing >= self.least) & (rows[-1] - rows[cuts] >= self.least)
        return np.asarray(cuts[enough], np.int64)

    def _threshold(
        self, feature: int, order: IntArray, place: int, gain: float, missing_left: bool
    ) -> Question | None:
        if place < 0:
            return None
        low, high = self.data.table.columns[feature][order[place : place + 2]].tolist()
        middle = _between(low, high, self.data.schema.features[feature].kind)
        if self.data.ranks[feature][order[-1]] >= 0:  # no row is missing: then to the heavier side
            weight = self.data.rows.weight[order]
            missing_left = bool(2 * weight[: place + 1].sum() >= weight.sum())
        return Question(feature, gain, middle, None, missing_left)

    # -- sets ---------------------------------------------------------------------------------------------

    def _best_of_sets(self, feature: int, taken: IntArray, alone: float) -> Question | None:
        column = self.data.table.columns[feature][taken]
        known = ~np.isnan(column)
        there, group = np.unique(column[known].astype(np.int64), return_inverse=True)
        if len(there) < 2:
            return None
        groups = np.full(len(taken), len(there), np.int64)
        groups[known] = group
        order, unions = np.arange(len(there)), None
        if len(there) <= MOST_FREE:
            unions = _all_sets(len(there))
        else:
            order = _line(self._profiles(feature, taken, groups, len(there)))
            groups[known] = np.argsort(order, kind="stable")[group]
        best = self._best_union(taken, groups, len(there), unions)
        if best is None:
            return None
        which, likelihood, missing_left = best
        left = np.arange(len(there)) <= which if unions is None else unions[which] > 0
        if known.all():
            weight = self.data.rows.weight[taken]
            missing_left = bool(2 * weight[left[groups]].sum() >= weight.sum())
        in_set = np.full(len(self.data.schema.features[feature].categories), missing_left)
        in_set[there[order]] = left
        return Question(feature, likelihood - alone, np.nan, in_set, missing_left)

    def _profiles(self, feature: int, taken: IntArray, group: LongArray, n_groups: int) -> Sums:
        """Return the statistics of each category of a feature, without the counts of the feature itself."""
        sums = add_up_groups(self.data.rows, taken, group, n_groups + 1, full=False)
        place = int(np.flatnonzero(self.data.units.categorical == feature)[0])
        own = np.arange(*self.data.units.start[place : place + 2])
        return replace(sums, counts=np.delete(sums.counts, own, axis=1))

    def _best_union(
        self, taken: IntArray, group: LongArray, n_groups: int, unions: FloatArray | None
    ) -> tuple[int, float, bool] | None:
        """Find the best union of groups to go left; the last group holds missing values.

        Returns its number, the log likelihood of both sides, and whether missing values go left.

        Each union has a 1 for every group in it; None are the prefixes: the first group, the first two, ...
        """
        parts = add_up_groups(self.data.rows, taken, group, n_groups + 1, full=self.family.full)
        whole = parts.mapped(lambda part: part.sum(axis=0, keepdims=True))
        best: tuple[int, float, bool] | None = None
        tie = TIE * float(parts.weight.sum())
        for missing_left in (False, True) if parts.count[n_groups] else (False,):
            left = parts.mapped(partial(_joined, unions, missing_left))
            right = whole.without(left)
            allowed = np.flatnonzero((left.count >= self.least) & (right.count >= self.least))
            if not len(allowed):
                continue
            values = (self.family.log_likelihood(left) + self.family.log_likelihood(right))[allowed]
            which = int(np.argmax(values > values.max() - tie))
            if best is None or values[which] > best[1] + tie:
                best = int(allowed[which]), float(values[which]), missing_left
        return best


def _between(low: float, high: float, kind: Kind) -> float:
    """Return the threshold between two neighbouring values."""
    middle = float(midpoint(np.array([low]), np.array([high]))[0])
    return math.floor(middle) + 0.5 if kind == "ordered" else middle


def _all_sets(n_groups: int) -> FloatArray:
    """List all sets that hold the first group but not every group, as binary numbers in order."""
    numbers = np.arange(2 ** (n_groups - 1) - 1)
    others = numbers[:, None] >> np.arange(n_groups - 1) & 1
    return np.column_stack([np.ones(len(numbers)), others]).astype(np.float64)


def _joined(unions: FloatArray | None, missing_left: bool, parts: FloatArray) -> FloatArray:
    known, missing = parts[:-1], parts[-1:]
    joined = np.cumsum(known, axis=0)[:-1] if unions is None else np.tensordot(unions, known, 1)
    return np.asarray(joined + missing if missing_left else joined, np.float64)


def _line(profiles: Sums) -> LongArray:
    """Order the groups along the direction in which their profiles vary most.

    A profile holds the means of the numbers and the fractions of the categories; the group after the last, of
    missing values, has none.
    """
    weight = profiles.weight[:-1]
    means = profiles.total[:-1] / np.maximum(profiles.known[:-1], NO_WEIGHT)
    fractions = profiles.counts[:-1] / weight[:, None]
    profile = np.column_stack([means, fractions])
    if not profile.shape[1]:  # no other column: nothing tells the groups apart
        return np.arange(len(weight))
    shift = (profile - np.average(profile, axis=0, weights=weight)) * np.sqrt(weight)[:, None]
    place = profile @ np.linalg.svd(shift, full_matrices=False)[2][0]
    # Groups of one profile stand in one place, whatever bits a matrix product leaves.
    place = without_last_digits(place - np.average(place, weights=weight))
    return np.argsort(place if place[0] <= 0 else -place, kind="stable")


# -- What a group of unlabelled rows looks like --------------------------------------------------------------

HALF = 0.5  # rows that every category is given beforehand, so that none is impossible
LEAST_EIGENVALUE = 1e-6  # of correlations taken from different rows, which need not fit together
LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Sums:
    """Sufficient statistics of several groups; the first axis is the group."""

    weight: FloatArray  # (groups,)
    count: FloatArray  # (groups,) rows
    known: FloatArray  # (groups, numeric) weight of the known values
    total: FloatArray  # (groups, numeric)
    square: FloatArray  # (groups, numeric)
    counts: FloatArray  # (groups, codes)
    pairs: FloatArray | None  # (groups, 3, numeric, numeric) products, totals, weights where both are known

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Sums:
        """Apply a function to every array."""
        pairs = None if self.pairs is None else change(self.pairs)
        parts = (self.weight, self.count, self.known, self.total, self.square, self.counts)
        weight, count, known, total, square, counts = map(change, parts)
        return Sums(weight, count, known, total, square, counts, pairs)

    def without(self, other: Sums) -> Sums:
        """Subtract the statistics of the rows that the other holds."""
        pairs = None if self.pairs is None or other.pairs is None else self.pairs - other.pairs
        return Sums(
            self.weight - other.weight,
            self.count - other.count,
            self.known - other.known,
            self.total - other.total,
            self.square - other.square,
            self.counts - other.counts,
            pairs,
        )


def add_up_groups(rows: DensityRows, taken: IntArray, group: LongArray, n_groups: int, *, full: bool) -> Sums:
    """Compute the statistics of the selected rows by group."""
    numbers, weight = rows.numbers[taken], rows.weight[taken]
    known = ~np.isnan(numbers)
    filled = np.where(known, numbers, 0.0)
    counts = np.zeros((n_groups, rows.n_codes))
    for code in rows.codes[taken].T:
        np.add.at(counts, (group[code >= 0], code[code >= 0]), weight[code >= 0])
    by_group = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[by_group], np.arange(n_groups + 1))
    parts = [by_group[ends[i] : ends[i + 1]] for i in range(n_groups)]
    n_numeric = numbers.shape[1]
    pairs = np.empty((n_groups, 3, n_numeric, n_numeric)) if full else None
    known_sum, total, square = (np.empty((n_groups, n_numeric)) for _ in range(3))
    for i, part in enumerate(parts):
        there, values, heavy = known[part].astype(np.float64), filled[part], filled[part] * weight[part, None]
        known_sum[i], total[i] = weight[part] @ there, weight[part] @ values
        square[i] = (heavy * values).sum(axis=0)
        if pairs is not None:
            pairs[i] = heavy.T @ values, heavy.T @ there, (there * weight[part, None]).T @ there
    return Sums(
        _summed(group, weight, n_groups),
        _summed(group, rows.repeats[taken], n_groups),
        known_sum,
        total,
        square,
        counts,
        pairs,
    )


@dataclass(frozen=True)
class Family:
    """The family of models of a group."""

    measurement_variance: FloatArray  # (numeric,)
    start: LongArray  # (categorical + 1,)
    full: bool = False
    shrinkage: float | None = None  # of the correlations; None: by how uncertain they are

    def log_likelihood(self, sums: Sums) -> FloatArray:
        """Log likelihood of every group, up to a constant of the same rows."""
        variance = _moments(sums)[1] + self.measurement_variance
        total = -0.5 * (sums.known * np.log(variance)).sum(axis=1)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            counts = sums.counts[:, first:last]
            total = total + _x_log_x(counts).sum(axis=1) - _x_log_x(counts.sum(axis=1))
        if self.full and sums.pairs is not None and len(self.measurement_variance) > 1:
            before = np.linalg.eigvalsh(correlations(sums, variance))
            after = self._shrunk(before, self.intensity(sums, variance))
            fit = np.log(after) + before / after - 1.0
            # Exact where nothing is missing; else the pairs known on average.
            total = total - 0.5 * _pair_weight(sums) * fit.sum(axis=1)
        return np.asarray(total, np.float64)

    def intensity(self, sums: Sums, variance: FloatArray) -> FloatArray:
        """Shrinkage of the correlations of every group, from 0 (none) to 1 (independence).

        By itself the intensity of Schaefer and Strimmer: the sum of the variances of the correlations over
        the sum of their squares. The variance is that of Gaussian rows, (1 - r^2)^2 / (n - 1).
        """
        if self.shrinkage is not None:
            return np.full(len(sums.weight), self.shrinkage)
        r = correlations(sums, variance)
        apart = ~np.eye(r.shape[1], dtype=np.bool_)
        squares = r[:, apart] ** 2
        uncertain = ((1.0 - np.minimum(squares, 1.0)) ** 2).sum(axis=1) / np.maximum(
            _pair_weight(sums) - 1.0, NO_WEIGHT
        )
        found = np.divide(uncertain, squares.sum(axis=1), where=squares.sum(axis=1) > 0, out=np.ones(len(r)))
        return np.asarray(np.clip(found, 0.0, 1.0), np.float64)

    def _shrunk(self, eigenvalues: NDArray[Any], intensity: FloatArray) -> FloatArray:
        shrunk = (1.0 - intensity)[:, None] * eigenvalues + intensity[:, None]
        lowest = shrunk.min(axis=1)
        more = np.where(
            lowest < LEAST_EIGENVALUE, (LEAST_EIGENVALUE - lowest) / (1.0 - np.minimum(lowest, 0.5)), 0.0
        )
        return np.asarray((1.0 - more)[:, None] * shrunk + more[:, None], np.float64)

    def models(self, sums: Sums) -> list[Model]:
        """Fit the model of every group."""
        mean, variance = _moments(sums)
        known = sums.known > NO_WEIGHT
        mean = np.where(known, mean, 0.0)
        variance = np.where(known, variance, 1.0) + self.measurement_variance
        frequency = np.empty_like(sums.counts)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            counts = sums.counts[:, first:last]
            frequency[:, first:last] = (counts + HALF) / (counts + HALF).sum(axis=1, keepdims=True)
        covariance = variance[:, :, None] * np.eye(len(self.measurement_variance))
        if self.full and sums.pairs is not None and len(self.measurement_variance) > 1:
            r = correlations(sums, variance)
            intensity = self.intensity(sums, variance)
            values, vectors = np.linalg.eigh(r)
            after = self._shrunk(values, intensity)
            deviation = np.sqrt(variance)
            covariance = np.einsum("gij,gj,gkj->gik", vectors, after, vectors)
            covariance = covariance * deviation[:, :, None] * deviation[:, None, :]
        return [
            Model(*parts, self.measurement_variance, self.full)
            for parts in zip(mean, covariance, np.log(frequency), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Model:
    """A Gaussian with category frequencies, in standard units."""

    mean: FloatArray  # (numeric,)
    covariance: FloatArray  # (numeric, numeric)
    log_frequency: FloatArray  # (codes,)
    measurement_variance: FloatArray  # (numeric,)
    full: bool

    def log_density(self, numbers: FloatArray, codes: IntArray, *, rounded: bool = False) -> FloatArray:
        """Log density of every row; missing values are left out.

        With `rounded` it is the mean over all numbers that a recorded one stands for.
        """
        within = self.measurement_variance if rounded else np.zeros(len(self.mean))
        total = self._of_full(numbers, within) if self.full else self._of_diagonal(numbers, within)
        for code in codes.T:
            total += np.where(code >= 0, np.append(self.log_frequency, 0.0)[code], 0.0)
        return total

    def _of_diagonal(self, numbers: FloatArray, within: FloatArray) -> FloatArray:
        variance = np.diagonal(self.covariance)
        parts = (numbers - self.mean) ** 2 / variance + (within / variance + np.log(variance) + LOG_2_PI)
        return np.asarray(-0.5 * np.nansum(parts, axis=1), np.float64)

    def _of_full(self, numbers: FloatArray, within: FloatArray) -> FloatArray:
        total = np.empty(len(numbers))
        patterns, which = np.unique(~np.isnan(numbers), axis=0, return_inverse=True)
        for i, known in enumerate(patterns):
            rows = np.flatnonzero(which == i)
            part = self.covariance[np.ix_(known, known)]
            inverse = np.linalg.inv(part)
            shift = numbers[rows][:, known] - self.mean[known]
            square = np.einsum("ni,ij,nj->n", shift, inverse, shift) + np.diagonal(inverse) @ within[known]
            total[rows] = -0.5 * (square + np.linalg.slogdet(part)[1] + known.sum() * LOG_2_PI)
        return total


def _summed(group: LongArray, values: NDArray[Any], n_groups: int) -> FloatArray:
    return np.bincount(group, values, n_groups).astype(np.float64)


def correlations(sums: Sums, variance: FloatArray) -> FloatArray:
    """Estimate correlations of every group from rows where both numbers are known."""
    assert sums.pairs is not None
    product, total, weight = (sums.pairs[:, i] for i in range(3))
    weight = np.maximum(weight, NO_WEIGHT)
    covariance = product / weight - (total / weight) * (total.swapaxes(1, 2) / weight)
    deviation = np.sqrt(variance)
    found = np.clip(covariance / (deviation[:, :, None] * deviation[:, None, :]), -1.0, 1.0)
    diagonal = np.arange(found.shape[1])
    found[:, diagonal, diagonal] = 1.0
    return np.asarray(found, np.float64)


def _pair_weight(sums: Sums) -> FloatArray:
    assert sums.pairs is not None
    apart = ~np.eye(sums.pairs.shape[2], dtype=np.bool_)
    return np.asarray(sums.pairs[:, 2][:, apart].mean(axis=1), np.float64)


def _moments(sums: Sums) -> tuple[FloatArray, FloatArray]:
    weight = np.maximum(sums.known, NO_WEIGHT)
    mean = sums.total / weight
    return mean, np.maximum(sums.square / weight - mean * mean, 0.0)


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(np.where(x > NO_WEIGHT, x * np.log(np.maximum(x, NO_WEIGHT)), 0.0), np.float64)


# -- How many clusters ---------------------------------------------------------------------------------------

GAIN_DIGITS = 6  # after the point: rounding does not tell ties apart
MOST_MORE = 10  # clusters more than were chosen that the table goes on to


@dataclass(frozen=True, eq=False, repr=False)
class DensitySizeTable:
    """Scores by number of clusters, each one split more than the one before.

    Log likelihoods are means over the rows held out, in the units of the data.
    """

    n_clusters: LongArray
    score: FloatArray  # mean log likelihood of a row
    error: FloatArray  # standard error of the score
    gain: FloatArray  # of the score, over one cluster fewer; NaN for one cluster
    gain_error: FloatArray  # standard error of the gain, row by row
    chosen: int  # which of them was taken

    def __post_init__(self) -> None:
        for name in ("n_clusters", "score", "error", "gain", "gain_error"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

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
        return density_size_text(self)


def division_order(root: Group, standing: set[Group]) -> list[Group]:
    """Order groups by which they are divided: kept splits first, by gain.

    Each comes after those that lead to it.
    """
    numbered = {group: number for number, group in enumerate(list_groups(root))}
    waiting: list[tuple[bool, float, int, Group]] = []

    def wait(group: Group) -> None:
        if group.question is not None:
            gain = round(group.question.gain, GAIN_DIGITS)
            heapq.heappush(waiting, (group not in standing, -gain, numbered[group], group))

    wait(root)
    order = []
    while waiting:
        group = heapq.heappop(waiting)[-1]
        order.append(group)
        for side in group.sides or ():
            wait(side)
    return order


def divide_only(root: Group, divided: set[Group]) -> None:
    """Undo all splits but those of these groups."""
    for group in list(list_groups(root)):
        if group not in divided:
            group.question = group.sides = None


def size_table(search: Search, root: Group, order: list[Group], n_clusters: int) -> DensitySizeTable | None:
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
        while at is not None:  # what is above it changes with it
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


# -- Which questions about unlabelled rows stand -------------------------------------------------------------


@dataclass(frozen=True)
class HeldOutGain:
    """Gain in held-out log likelihood of the split at a node with those below it."""

    node: int
    count: float  # rows held out
    gain: float
    standard_error: float


def groups_to_divide(search: Search, root: Group, least: float) -> set[Group]:
    """Select the groups whose split, with those kept below, gains more than this many standard errors.

    A question stands only if those that lead to it do.
    """
    standing: set[Group] = set()
    fitted: dict[Group, FloatArray] = {}
    for group in reversed(list(list_groups(root))):  # sides before what they are sides of
        fitted[group] = group.log_density
        if group.sides is None:
            continue
        together = join_likelihoods(group, [fitted.pop(side) for side in group.sides])
        gain, error = held_out_gain(search.data.rows, group, together)
        if gain > least * error:
            fitted[group] = together
            standing.add(group)
    return _reached(root, standing)


def _reached(root: Group, standing: set[Group]) -> set[Group]:
    reached, waiting = set(), [root]
    while waiting:
        group = waiting.pop()
        if group in standing:
            reached.add(group)
            waiting += group.sides or ()
    return reached


def measure_evidence(search: Search, root: Group) -> tuple[HeldOutGain, ...]:
    """Measure what every split that is kept gains on held-out rows, nodes from left to right."""
    found = []
    fitted: dict[Group, FloatArray] = {}
    groups = list(list_groups(root))
    for node, group in reversed(list(enumerate(groups))):
        fitted[group] = group.log_density
        if group.sides is not None and len(group.held):
            fitted[group] = join_likelihoods(group, [fitted.pop(side) for side in group.sides])
            count = float(search.data.rows.repeats[group.held].sum())
            found.append(HeldOutGain(node, count, *held_out_gain(search.data.rows, group, fitted[group])))
    return tuple(reversed(found))


# -- UnlabelledRows rows in standard units, in one order, some of them held out ------------------------------

LEAST_VARIANCE = 1e-6  # fraction of a column's variance that every group keeps: a spike is not a point
LEAST_STEP = 1e-9  # fraction of a column's range; values nearer than this differ by rounding
FINE = 10  # steps for every value that occurs: then equal values are no accident


@dataclass(frozen=True, eq=False)
class StandardUnits:
    """Units of the columns: numbers by mean and deviation, categories by place in one list.

    A number recorded in steps stands for all within a step: their variance is the measurement variance.
    """

    numeric: LongArray  # features that are numbers and have two values at least
    categorical: LongArray  # features that are categories, in order or not; the user's questions are none
    centre: FloatArray  # (numeric,)
    scale: FloatArray  # (numeric,)
    measurement_variance: FloatArray  # (numeric,) variance within one step, in standard units
    start: LongArray  # (categorical + 1,) where the categories of each begin

    def numbers(self, columns: tuple[FloatArray, ...]) -> FloatArray:
        """Numeric columns in standard units; NaN where missing."""
        numbers = np.empty((len(columns[0]), len(self.numeric)))
        for k, feature in enumerate(self.numeric.tolist()):
            # Halves, lest the difference of two huge numbers be infinite.
            numbers[:, k] = (columns[feature] / 2 - self.centre[k] / 2) / self.scale[k] * 2
        return numbers

    def codes(self, columns: tuple[FloatArray, ...]) -> IntArray:
        """Categorical columns as positions among all their categories; -1 where missing."""
        codes = np.empty((len(columns[0]), len(self.categorical)), np.int32)
        for k, feature in enumerate(self.categorical.tolist()):
            column = columns[feature]
            codes[:, k] = np.where(np.isnan(column), -1, column + self.start[k])
        return codes


def fit_units(table: Table, weight: FloatArray) -> StandardUnits:
    """Fit the units to all rows of a table."""
    features = table.schema.features
    of_numbers = [index for index, feature in enumerate(features) if feature.kind == "numeric"]
    found = {index: _column_units(table.columns[index], weight) for index in of_numbers}
    numeric = [index for index in of_numbers if found[index] is not None]
    centre, scale, within = np.array([found[index] for index in numeric], np.float64).reshape(-1, 3).T
    categorical = [index for index, feature in enumerate(features) if feature.kind in ("nominal", "ordered")]
    sizes = [len(features[index].categories) for index in categorical]
    start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return StandardUnits(
        numeric=np.array(numeric, np.int64),
        categorical=np.array(categorical, np.int64),
        centre=centre,
        scale=scale,
        measurement_variance=within,
        start=start.astype(np.int64),
    )


def _column_units(column: FloatArray, weight: FloatArray) -> tuple[float, float, float] | None:
    """Return mean, deviation and the share of variance within a step; None without two values."""
    known = ~np.isnan(column)
    values, steps = np.unique(column[known], return_inverse=True)
    if len(values) < 2:
        return None
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.ldexp(values, -exponent)
    of_value = np.bincount(steps, weight[known])
    mean = float(np.average(values, weights=of_value))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=of_value)))
    if deviation == 0.0:  # two values that only the last digit tells apart
        return None
    gaps = np.diff(values)
    step = float(gaps[gaps > LEAST_STEP * (values[-1] - values[0])].min()) / deviation
    # Numbers spread evenly over a step have 1/12 of its square as their variance.
    return (
        float(np.ldexp(mean, exponent)),
        float(np.ldexp(deviation, exponent)),
        max(step * step / 12, LEAST_VARIANCE),
    )


# -- in one order -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """Rows in canonical order, copies joined, ready for the search."""

    table: Table
    units: StandardUnits
    rows: DensityRows
    ranks: IntArray  # (features, rows) of the values of each column; -1 where missing
    copy_numbers: LongArray | None  # rows with one number are copies of one; None if no row is a copy

    @property
    def schema(self) -> Schema:
        """The schema of the table."""
        return self.table.schema

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return self.table.n_rows if self.copy_numbers is None else int(self.copy_numbers.max()) + 1


def prepare_rows(table: Table) -> UnlabelledRows:
    """Sort the rows of a table and convert them to standard units."""
    table, copies = _in_fixed_order(table)
    repeats, importance = split_weight(table.weight, table.n_rows)
    importance, _ = relative(importance, repeats)
    weight = repeats * (importance / np.average(importance, weights=repeats))
    units = fit_units(table, weight)
    rows = DensityRows(
        numbers=frozen(units.numbers(table.columns)),
        codes=frozen(units.codes(table.columns)),
        n_codes=int(units.start[-1]),
        weight=frozen(weight),
        repeats=frozen(repeats.astype(np.int64)),
        measurement_variance=frozen(units.measurement_variance),
    )
    ranks = np.empty((table.n_features, table.n_rows), np.int32)
    for feature, column in enumerate(table.columns):
        write_dense_ranks(column, ranks[feature])
    return UnlabelledRows(table, units, rows, frozen(ranks), copies)


def draw_holdout(data: UnlabelledRows, fraction: float, seed: int) -> BoolArray:
    """Draw the held-out rows: about this fraction, by the seed."""
    strata = np.zeros(data.table.n_rows, np.int64)
    keys = unit_keys(data.table, copies_as_groups(data.table, data.copy_numbers))
    return select_below(random_positions(strata, keys, (seed,)), fraction)


def _in_fixed_order(table: Table) -> tuple[Table, LongArray | None]:
    """Sort rows; whole weights become copies, other copies are joined into one row."""
    order = fixed_order(table)
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    table = table.subset(order)
    kind, is_copy = _kinds(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if not are_repetitions(weight) or weight[~is_copy].sum() > max(MOST_ROWS, table.n_rows):
        numbers = np.where(is_copy, kind, kind.max() + 1 + np.arange(len(kind)))
        return table, np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    is_first = np.append(True, kind[1:] != kind[:-1])
    times = np.where(is_copy, is_first, weight).astype(np.int64)
    rows = np.repeat(np.arange(table.n_rows), times)
    joint = np.where(is_copy, np.bincount(kind, weight)[kind], 1.0)[rows]
    columns = tuple(column[rows] for column in table.columns)
    identity = None if table.identity is None else table.identity[rows]
    return Table(table.schema, columns, table.target[rows], joint, identity), None


def _kinds(table: Table) -> tuple[LongArray, BoolArray]:
    """Number equal rows alike, of sorted rows, and tell whether equal rows are copies.

    Rows alike in everything are copies if one of their numbers, of a column measured finely, stands in no
    other kind of row. Others are observations that happen to be alike, as in a table of categories or ages.
    """
    differs = np.zeros(table.n_rows, np.bool_)
    ranks = np.empty((table.n_features, table.n_rows), np.int32)
    for column, rank in zip(table.columns, ranks, strict=True):
        write_dense_ranks(column, rank)
        differs[1:] |= np.diff(rank) != 0
    kind = np.cumsum(differs)
    first = np.append(True, differs[1:])
    is_copy = np.zeros(table.n_rows, np.bool_)
    for feature, column, rank in zip(table.schema.features, table.columns, ranks, strict=True):
        if feature.kind == "numeric" and _is_fine(column):
            n_kinds = np.bincount(rank[first & (rank >= 0)], minlength=int(rank.max()) + 1)
            is_copy |= (rank >= 0) & (np.append(n_kinds, 0)[rank] == 1)
    return kind.astype(np.int64), is_copy


def _is_fine(column: FloatArray) -> bool:
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return False
    values = values / np.abs(values).max()
    return float(values[-1] - values[0]) > FINE * len(values) * float(np.diff(values).min())


# -- Groups of unlabelled rows, divided by the best questions as far as the limits allow ---------------------

# Questions in a row that may not pay, in the hope of one that pays for all: the inner of two nested groups is
# reached by two questions, neither of which pays alone, and the first of 32 clusters in a line by four.
LOOK_AHEAD = 3
# Fraction of a group's rows that may be strays, of which its sides know nothing. So a row that neither side
# has seen the like of speaks against a question with log(100), not with its distance in squared deviations.
STRAYS = 0.01


@dataclass(eq=False)
class Group:
    """A node during growth; a leaf as long as it has no sides."""

    depth: int
    idle: int  # questions in a row, up to here, that did not pay
    weight: float  # of the rows of the search
    held: IntArray  # the rows held out
    log_density: FloatArray  # of the rows held out, under the model of this group
    orders: IntArray  # the rows of the search in the order of each column; none once it is divided
    question: Question | None = None
    sides: tuple[Group, Group] | None = None
    held_left: BoolArray | None = None  # the rows held out that go left

    @property
    def is_leaf(self) -> bool:
        """True while it is not divided."""
        return self.sides is None


def grow_groups(search: Search, is_held: BoolArray, max_depth: int | None) -> Group:
    """Grow from one group of all rows until the limits are reached."""
    held = np.flatnonzero(is_held).astype(np.int32)
    most_idle = LOOK_AHEAD if len(held) else np.inf  # without rows held out: on to the limits
    root = _group(search, _sorted_rows(search, ~is_held), held, depth=0)
    waiting = [root]
    while waiting:
        group = waiting.pop()
        n_rows = search.data.rows.repeats[group.orders[0]].sum()
        if group.idle <= most_idle and group.depth != max_depth and n_rows >= 2 * search.least:
            group.question = search.best_question(group.orders)
        if group.question is not None:
            goes_left = group.question.answers(search.data.table.columns[group.question.feature])
            sides = []
            for goes_there in (goes_left, ~goes_left):
                orders = group.orders[goes_there[group.orders]].reshape(len(group.orders), -1)
                sides.append(_group(search, orders, group.held[goes_there[group.held]], group.depth + 1))
            group.sides, group.held_left = (sides[0], sides[1]), goes_left[group.held]
            together = join_likelihoods(group, [side.log_density for side in sides])
            gain, error = held_out_gain(search.data.rows, group, together)
            for side in sides:
                side.idle = 0 if gain > error else group.idle + 1
            waiting += group.sides or ()
        group.orders = group.orders[:, :0]
    return root


def _sorted_rows(search: Search, taken: BoolArray) -> IntArray:
    """Sort the rows by each column, missing values last."""
    rows = np.flatnonzero(taken)
    orders = np.empty((len(search.data.ranks), len(rows)), np.int32)
    for feature, ranks in enumerate(search.data.ranks):
        orders[feature] = rows[np.argsort(ranks[rows].view(np.uint32), kind="stable")]
    return orders


def _group(search: Search, orders: IntArray, held: IntArray, depth: int) -> Group:
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


# -- rows held out ----------------------------------------------------------------------------------------


def join_likelihoods(group: Group, of_sides: list[FloatArray]) -> FloatArray:
    """Return held-out log likelihoods in a group, given those in its two sides.

    A row also has to be on its side: without the fractions of the sides, dividing a Gaussian at its mean
    would pay for ever, by 0.506 for every row; with them it loses log 2 - 0.506.
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


# -- Tables of trees for unlabelled rows, as text ------------------------------------------------------------


def density_size_text(table: DensitySizeTable) -> str:
    """One line for every number of clusters: what the rows held out say of it."""
    lines = [f"{'clusters':>8}  {'log likelihood':>17}  {'over one fewer':>17}"]
    for place, number in enumerate(table.n_clusters.tolist()):
        score = f"{table.score[place]:.4g} ± {table.error[place]:<7.2g}"
        gain = "" if place == 0 else f"{table.gain[place]:.3g} ± {table.gain_error[place]:<7.2g}"
        mark = "chosen" if place == table.chosen else ""
        lines.append(f"{number:8}  {score:>17}  {gain:>17}  {mark}".rstrip())
    return "\n".join([*lines, "Means over the rows held out; ± is one standard error."])
