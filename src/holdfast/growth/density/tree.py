"""A tree for unlabelled rows: its leaves are clusters, and together they are a density."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast._check import check_fraction, is_number
from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.data.schema import Label, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.density.evidence import HeldOutGain, groups_to_divide, measure_evidence
from holdfast.growth.density.groups import Group, grow_groups, list_groups
from holdfast.growth.density.model import Family, Model, add_up_groups
from holdfast.growth.density.rows import StandardUnits, UnlabelledRows, draw_holdout, prepare_rows
from holdfast.growth.density.search import Search
from holdfast.growth.density.size import DensitySizeTable, divide_only, division_order, size_table
from holdfast.growth.rules import GrowthRules, rows_needed
from holdfast.tree.builder import Nodes, build_preorder
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
    return Search(data, family, rows_needed(rules.min_samples_leaf, n_rows))


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
