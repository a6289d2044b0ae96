"""The training rows behind every leaf: effective counts, deviations, and intervals of its value."""

from dataclasses import dataclass
from math import inf, isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, LongArray, round_last_digits
from holdfast._check import check_fraction
from holdfast._random import Branch, derive_seed
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions
from holdfast.errors import ParameterError
from holdfast.scoring.intervals import (
    bootstrap_interval,
    design_effect,
    jeffreys_interval,
    poisson_interval,
    scale_to_unit,
    t_interval,
    wilson_interval,
)
from holdfast.tree.edit import edited_nodes
from holdfast.tree.recorded import set_recorded
from holdfast.tree.rules import format_leaf_statistic
from holdfast.tree.stats import ALIKE, class_counts, parse_quantile, positive_class
from holdfast.tree.survival import NodeSurvival, node_survival, set_curves
from holdfast.tree.tree import LEAF, Tree

CLASS_INTERVALS = {"wilson": wilson_interval, "jeffreys": jeffreys_interval}
NUMBER_INTERVALS = ("t", "bootstrap")
ROW_SHARE = 0.8  # of a row, in intervals about values: it was also used for the splits and the teacher
FEW_ROWS = 12  # a leaf of fewer is marked in texts and pictures
Interval = tuple[FloatArray, FloatArray]


def add_evidence(
    tree: Tree, table: Table, groups: LongArray | None = None, *, is_distilled: bool = False
) -> Tree:
    """Add the missing values of the rows to a tree, and the evidence that its counts do not contain.

    Rows of unequal weights, or of groups, have a smaller `effective` number. `deviation` is computed for
    numbers whose impurity is not their squared error. `rows_mean` is the observed mean where a teacher gives
    the values, or rows have unequal weights. The tree may have counted only a part of the rows.
    """
    tree, target = set_curves(set_recorded(tree, table), table), table.schema.target
    is_quantile = parse_quantile(tree.criterion) is not None
    is_told = target.is_classes or target.is_survival or is_quantile
    is_told = is_told or (tree.criterion == "squared_error" and not is_distilled)
    if is_told and table.weight is None and groups is None:
        return tree
    rows = _NodeRows.of(tree, table, groups)
    nodes = range(tree.n_nodes)
    # Sums of rows in another order have other last digits.
    effects = round_last_digits(np.array([rows.design_effect(node) for node in nodes]))
    deviation = None if is_told else round_last_digits(np.array([rows.deviation(node) for node in nodes]))
    is_worth_less = bool((effects > 1).any())
    effective = round_last_digits(tree.count / effects) if is_worth_less else None
    rows_mean = tree.rows_mean
    is_weighted = table.weight is not None and not are_repetitions(table.weight)
    if target.is_survival:  # the events of the rows are known by their sums
        pass
    elif is_distilled and (is_weighted or not target.is_classes):
        rows_mean = round_last_digits(np.stack([rows.mean(tree, node) for node in nodes]))
    elif rows_mean is None and is_weighted and np.abs(tree.observed_mean - tree.value).max() > ALIKE:
        rows_mean = tree.value  # by weight, which class counts do not know
    return tree.replace(effective=effective, deviation=deviation, rows_mean=rows_mean)


class _NodeRows(NamedTuple):
    """Rows in the order of their leaves, so that those of a node are contiguous."""

    start: LongArray  # of every node, and one past the last
    end: LongArray
    outputs: FloatArray  # (rows, classes or 1)
    weight: FloatArray
    groups: LongArray | None

    @classmethod
    def of(cls, tree: Tree, table: Table, groups: LongArray | None) -> "_NodeRows":
        leaves, target = tree.apply(table), table.schema.target
        numbers = table.target if table.survival is None else table.survival.event.astype(np.float64)
        outputs = np.eye(len(target.classes))[table.target] if target.is_classes else numbers[:, None]
        times, weight = np.ones(table.n_rows), np.ones(table.n_rows)
        if table.weight is not None and are_repetitions(table.weight):
            times = table.weight
        elif table.weight is not None:
            times, weight = times * (table.weight > 0), table.weight
        order = np.repeat(np.arange(table.n_rows), times.astype(np.int64))
        order = order[np.argsort(leaves[order], kind="stable")]
        start = np.searchsorted(leaves[order], np.arange(tree.n_nodes))
        end = np.searchsorted(leaves[order], tree.subtree_end)
        of_groups = None if groups is None else groups[order]
        return cls(start, end, outputs[order], weight[order], of_groups)

    def design_effect(self, node: int) -> float:
        own = slice(int(self.start[node]), int(self.end[node]))
        return design_effect(
            self.outputs[own], self.weight[own], None if self.groups is None else self.groups[own]
        )

    def mean(self, tree: Tree, node: int) -> FloatArray:
        own = slice(int(self.start[node]), int(self.end[node]))
        if not self.weight[own].max(initial=0.0) > 0:
            return np.asarray(tree.value[node], np.float64)
        values, exponent = scale_to_unit(self.outputs[own])
        weight, _ = scale_to_unit(self.weight[own])
        return np.asarray(np.ldexp(np.average(values, axis=0, weights=weight), exponent), np.float64)

    def deviation(self, node: int) -> float:
        own = slice(int(self.start[node]), int(self.end[node]))
        if not self.weight[own].max(initial=0.0) > 0:
            return 0.0
        values, exponent = scale_to_unit(self.outputs[own, 0])
        weight, _ = scale_to_unit(self.weight[own])
        variance = np.average((values - np.average(values, weights=weight)) ** 2, weights=weight)
        return float(np.ldexp(np.sqrt(variance), exponent))


# -- intervals --------------------------------------------------------------------------------------------


def node_interval(
    tree: Tree, node: int, place: int = 0, level: float = 0.95, method: str | None = None
) -> tuple[float, float]:
    """Compute the interval of the fraction of a class, of a mean, or of the relative risk at a node.

    It is the interval of the observed rows, for any prediction of the node: 0 to 1, or infinite, without
    rows. Where the values combine the rows with a teacher, it is about the value of the node, and a row
    counts `ROW_SHARE`, so that 95 % intervals contain 95 % of the rates of new rows. Of a quantile it is
    infinite.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0]] * 44, ["well"] * 27 + ["ill"] * 17))
    >>> low, high = node_interval(tree, 0)
    >>> f"{low:.3f} to {high:.3f}"
    '0.257 to 0.534'
    """
    if parse_quantile(tree.criterion) is not None:  # for which there is no interval
        return -inf, inf
    checked = check_method(method, tree.schema.target.is_classes)
    rows = float(tree.count[node] if tree.effective is None else tree.effective[node])
    if tree.schema.target.is_survival:  # events are counted, among those expected
        rows = float(tree.weight[node]) * (rows / float(tree.count[node]) if tree.count[node] > 0 else 0.0)
    value = tree.observed_mean[node, place].item()
    if is_about_value(tree, node):
        rows, value = ROW_SHARE * rows, tree.value[node, place].item()
    if checked in CLASS_INTERVALS:
        return CLASS_INTERVALS[checked](value * rows, rows, level)
    if tree.schema.target.is_survival:
        return poisson_interval(value * rows, rows, level)
    return t_interval(value, _deviation(tree, node), rows, level)


def is_about_value(tree: Tree, node: int) -> bool:
    """Return True if the interval of the node is about its value, False if about its rows alone."""
    return tree.is_posterior and not (tree.edits and node in edited_nodes(tree))


def node_intervals(tree: Tree, level: float = 0.95, method: str | None = None) -> Interval:
    """Compute both ends of the interval at every node, in the shape of `tree.value`."""
    check_level(level)
    ends = [
        [node_interval(tree, node, place, level, method) for place in range(tree.value.shape[1])]
        for node in range(tree.n_nodes)
    ]
    low, high = np.moveaxis(np.array(ends), 2, 0)
    return low, high


def _deviation(tree: Tree, node: int) -> float:
    """Return the standard deviation of the numbers at a node; NaN if unknown."""
    if tree.deviation is not None:
        return float(tree.deviation[node])
    return sqrt(max(float(tree.impurity[node]), 0.0)) if tree.criterion == "squared_error" else nan


def bootstrap_leaf_intervals(tree: Tree, table: Table, level: float) -> Interval:
    """Compute bootstrap intervals of the means of numbers at the leaves."""
    check_level(level)
    leaves = tree.apply(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    low, high = np.full((2, *tree.value.shape), [[[-np.inf]], [[np.inf]]])
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        own = np.flatnonzero(leaves == leaf)
        own = own[
            np.lexsort((weight[own], table.target[own]))
        ]  # so that the order of the rows does not matter
        if len(own):
            seed = derive_seed(0, Branch.LEAF_MEANS, leaf)
            ends = np.array(bootstrap_interval(table.target[own], weight[own], level, seed=seed))
            if is_about_value(tree, leaf) and weight[own].any():
                mean = np.average(table.target[own], weights=weight[own])
                ends = tree.value[leaf, 0] + (ends - mean) / sqrt(ROW_SHARE)
            low[leaf, 0], high[leaf, 0] = ends
    return low, high


def check_level(level: float) -> None:
    """Raise a ParameterError unless it lies between 0 and 1."""
    check_fraction("level", level)


def check_method(method: str | None, is_classes: bool) -> str:
    """Return the method, or the default; raise a ParameterError if the target has no such method."""
    choices = tuple(CLASS_INTERVALS) if is_classes else NUMBER_INTERVALS
    if method is not None and method not in choices:
        kind = "classes" if is_classes else "numbers"
        raise ParameterError(
            f"method={method!r} is unknown for {kind}: choose {' or '.join(map(repr, choices))}."
        )
    return method or choices[0]


# -- What a leaf predicts, and what the rows in it were ------------------------------------------------------

SAME = 0.005  # an estimate and a rate that differ by less agree in percent
SAME_MEAN = 1e-6  # of the mean: the change by another order of summation


@dataclass(frozen=True)
class LeafOutcome:
    """The prediction of a leaf and, apart from it, the outcome of its training rows."""

    leaf: int
    prediction: Label | float
    n_rows: float  # training rows in the leaf
    label: Label | None = None  # the positive class of two; of more, the predicted one; None for numbers
    probability: float | None = None  # the tree's estimate for that class
    count: float | None = None  # rows of that class
    observed: float | None = None  # their rate, or the mean of the rows, by weight; None without rows
    interval: tuple[float, float] | None = None  # of 95 % for the observed rate or mean, or the estimate
    is_about_estimate: bool = False  # the interval
    statistic: str = ""  # "median", "0.9 quantile" or "5-year survival" where the prediction is one
    is_by_hand: bool = False  # the estimate was edited
    # Of a time to an event; prediction, observed and interval are then survival to the horizon.
    survival: NodeSurvival | None = None

    @property
    def estimate(self) -> float:
        """The prediction: the probability of the class, or the number."""
        return float(self.prediction if self.probability is None else self.probability)

    @property
    def is_as_observed(self) -> bool:
        """True if the estimate is the observed rate or mean, or nothing was observed."""
        if self.observed is None:
            return True
        is_rate = self.label is not None or self.survival is not None
        least = SAME if is_rate else SAME_MEAN * max(abs(self.observed), abs(self.estimate))
        return abs(self.observed - self.estimate) <= least

    @property
    def is_outside(self) -> bool:
        """True if the estimate lies outside the interval of the observed rate or mean."""
        if self.survival is not None:
            return self.survival.is_outside
        if self.interval is None or self.is_as_observed:
            return False
        return not self.interval[0] <= self.estimate <= self.interval[1]

    @property
    def is_weighted(self) -> bool:
        """True if the weighted rate differs from that of the counted rows."""
        if self.label is None or self.count is None or self.observed is None or self.n_rows <= 0:
            return False
        return abs(self.count / self.n_rows - self.observed) > SAME


def leaf_outcome(tree: Tree, leaf: int, positive: Label | None = None) -> LeafOutcome:
    """Make the outcome of a leaf; of two classes for the positive one, by default that of the tree."""
    place = positive_class(tree, positive)
    return class_outcome(tree, leaf, int(tree.outcome[leaf]) if place is None else place)


def class_outcome(tree: Tree, leaf: int, place: int) -> LeafOutcome:
    """Make the outcome of a leaf for the class at this place, or for the number."""
    target, n_rows = tree.schema.target, float(tree.count[leaf])
    is_by_hand = bool(tree.edits) and leaf in edited_nodes(tree)
    if not target.is_classes:
        statistic, interval = format_leaf_statistic(tree), node_interval(tree, leaf)
        if target.is_survival:
            found = node_survival(tree, leaf)
            return LeafOutcome(
                leaf,
                found.survival,
                n_rows,
                count=found.n_events,
                observed=found.observed,
                interval=found.interval,
                statistic=statistic,
                is_by_hand=is_by_hand,
                survival=found,
            )
        return LeafOutcome(
            leaf,
            float(tree.value[leaf, 0]),
            n_rows,
            observed=float(tree.observed_mean[leaf, 0]) if n_rows > 0 and not statistic else None,
            interval=interval if n_rows > 0 and isfinite(interval[1] - interval[0]) else None,
            is_about_estimate=is_about_value(tree, leaf),
            statistic=statistic,
            is_by_hand=is_by_hand,
        )
    return LeafOutcome(
        leaf=leaf,
        prediction=target.classes[int(tree.outcome[leaf])],
        n_rows=n_rows,
        label=target.classes[place],
        probability=float(tree.value[leaf, place]),
        count=float(class_counts(tree)[leaf, place]),
        observed=float(tree.observed_mean[leaf, place]) if n_rows > 0 else None,
        interval=node_interval(tree, leaf, place) if n_rows > 0 else None,
        is_about_estimate=is_about_value(tree, leaf),
        is_by_hand=is_by_hand,
    )
