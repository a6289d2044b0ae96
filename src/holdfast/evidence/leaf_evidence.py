"""What the value of every leaf rests on: how many rows it is worth, and how far they are apart."""

from dataclasses import dataclass

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.data.input.weight import are_repetitions
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.random_streams import Branch, derived_seed
from holdfast.scoring.design_effect import design_effect
from holdfast.scoring.intervals import bootstrap_interval, jeffreys_interval, t_interval, wilson_interval
from holdfast.tree.tree import LEAF, Tree

CLASS_INTERVALS = {"wilson": wilson_interval, "jeffreys": jeffreys_interval}
NUMBER_INTERVALS = ("t", "bootstrap")
Interval = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class LeafEvidence:
    """One number for every node, 0 at those that are no leaves."""

    rows: FloatArray  # effective: weights by Kish, groups by the design effect
    deviation: FloatArray  # of a number, about the mean of the leaf; 0 for classes


def evidence_in(tree: Tree) -> LeafEvidence:
    """What the tree itself tells: rows that weigh alike, and the deviation by its squared error."""
    deviation = np.sqrt(np.maximum(tree.impurity, 0.0))
    if tree.schema.target.is_classes or tree.criterion != "squared_error":
        deviation = np.zeros(tree.n_nodes)
    return LeafEvidence(tree.count, frozen(deviation))


def leaf_evidence(tree: Tree, table: Table, groups: LongArray | None = None) -> LeafEvidence:
    """What rows tell, of which the tree may have counted a part only."""
    leaves, target = tree.apply(table), table.schema.target
    outputs = np.eye(len(target.classes))[table.target] if target.is_classes else table.target[:, None]
    times, weight = np.ones(table.n_rows), np.ones(table.n_rows)
    if table.weight is not None:
        is_copies = are_repetitions(table.weight)
        times, weight = (table.weight, weight) if is_copies else (times * (table.weight > 0), table.weight)
    rows, deviation = np.zeros((2, tree.n_nodes))
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        own = np.flatnonzero((leaves == leaf) & (times > 0))
        copies = np.repeat(own, times[own].astype(np.int64))
        of_groups = None if groups is None else groups[copies]
        rows[leaf] = tree.count[leaf] / design_effect(outputs[copies], weight[copies], of_groups)
        if not target.is_classes and len(copies):
            mean = np.average(outputs[copies, 0], weights=weight[copies])
            deviation[leaf] = np.sqrt(np.average((outputs[copies, 0] - mean) ** 2, weights=weight[copies]))
    return LeafEvidence(frozen(rows), frozen(deviation))


# -- intervals --------------------------------------------------------------------------------------------


def node_intervals(tree: Tree, evidence: LeafEvidence, level: float, method: str | None = None) -> Interval:
    """The two ends of the interval of every value of every node, in the shape of `tree.value`.

    Each lies about what the leaf says, whatever kind of leaf value that is.
    """
    check_level(level)
    checked = check_method(method, tree.schema.target.is_classes)
    low, high = np.empty((2, *tree.value.shape))
    for node in range(tree.n_nodes):
        rows, deviation = float(evidence.rows[node]), float(evidence.deviation[node])
        for output, value in enumerate(tree.value[node].tolist()):
            if checked in CLASS_INTERVALS:
                ends = CLASS_INTERVALS[checked](value * rows, rows, level)
            else:
                ends = t_interval(value, deviation, rows, level)
            low[node, output], high[node, output] = ends
    return low, high


def drawn_intervals(tree: Tree, table: Table, level: float) -> Interval:
    """The same for the means of numbers, from the rows themselves, drawn again and again.

    Where a leaf says something else than the mean of these rows, its interval moves along.
    """
    check_level(level)
    leaves = tree.apply(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    low, high = np.full((2, *tree.value.shape), [[[-np.inf]], [[np.inf]]])
    for leaf in np.flatnonzero(tree.feature == LEAF).tolist():
        own = np.flatnonzero(leaves == leaf)
        own = own[np.lexsort((weight[own], table.target[own]))]  # whatever the order of the rows
        if len(own):
            seed = derived_seed(0, Branch.LEAF_MEANS, leaf)
            ends = bootstrap_interval(table.target[own], weight[own], level, seed=seed)
            moved = float(tree.value[leaf, 0]) - float(np.average(table.target[own], weights=weight[own]))
            low[leaf, 0], high[leaf, 0] = ends[0] + moved, ends[1] + moved
    return low, high


def check_level(level: float) -> None:
    """Raise a ParameterError unless it lies between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(f"level={level!r} is out of range: it must lie between 0 and 1, such as 0.95.")


def check_method(method: str | None, is_classes: bool) -> str:
    """The method, or the usual one; a ParameterError if there is none of that name for such a target."""
    choices = tuple(CLASS_INTERVALS) if is_classes else NUMBER_INTERVALS
    if method is not None and method not in choices:
        kind = "classes" if is_classes else "numbers"
        raise ParameterError(
            f"method={method!r} is unknown for {kind}: choose {' or '.join(map(repr, choices))}."
        )
    return method or choices[0]
