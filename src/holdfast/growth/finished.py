"""Build trees from the nodes that the kernels leave, all trees of one task together."""

from itertools import pairwise

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.data.table import Table
from holdfast.growth.constraints import make_monotone
from holdfast.growth.random_splits import read_drawn_thresholds
from holdfast.growth.ready import Task, select_coded
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample
from holdfast.growth.thresholds import compute_thresholds, node_features
from holdfast.growth.values import node_values
from holdfast.kernels.growth import nodes as kernels
from holdfast.kernels.growth.guide import Top
from holdfast.tree.tree import Tree


def build_trees(
    table: Table, rules: GrowthRules, fixed: FixedPointSample, task: Task, grown: kernels.Grown
) -> list[Tree]:
    """Build the trees of the task, before pruning and monotone constraints."""
    fields = _by_all_rows(grown.fields, task, grown)
    drawn = read_drawn_thresholds(fields, task.rows, select_coded(table, rules), task.values)
    if rules.custom_features_only:  # which stand after the columns
        fields[fields[:, kernels.FEATURE] >= 0, kernels.FEATURE] += len(table.schema.columns)
    value, weight, impurity = _values(fixed, task, fields, grown)
    parts = {
        "feature": node_features(table, fields),
        "threshold": _restore_prescribed(compute_thresholds(table, fields, drawn), fields, task.guide.top),
        "left": fields[:, kernels.LEFT].astype(np.int32),
        "right": fields[:, kernels.RIGHT].astype(np.int32),
        "missing_left": fields[:, kernels.MISSING_LEFT] == 1,
        "set_start": np.where(fields[:, kernels.LEFT] < 0, -1, fields[:, kernels.SET_START]),
        "value": value,
        "count": _rows_at(task, fields),
        "weight": weight,
        "impurity": impurity,
    }
    parts = {name: frozen(part) for name, part in parts.items()}
    in_set, monotone = frozen(grown.in_set), make_monotone(table.schema, rules)
    trees, sets = [], _until(grown, kernels.N_SET)
    for index, nodes in enumerate(_nodes(grown)):
        tree = Tree(
            schema=table.schema,
            **{name: part[nodes] for name, part in parts.items()},
            in_set=in_set[sets[index] : sets[index + 1]],
            criterion=fixed.criterion.name,
            notes=_notes(rules, grown.counters[index], task.leaves_in_memory),
            monotone=monotone,
        )
        trees.append(tree)
    return trees


def _until(grown: kernels.Grown, counter: int) -> list[int]:
    """Return where the entries of each tree begin among those of all trees, and the end."""
    return [0, *np.cumsum(grown.counters[:, counter]).tolist()]


def _nodes(grown: kernels.Grown) -> list[slice]:
    until = _until(grown, kernels.N_NODES)
    return [slice(first, last) for first, last in pairwise(until)]


def _by_all_rows(fields: LongArray, task: Task, grown: kernels.Grown) -> LongArray:
    """Count the rows of the nodes among the rows of all trees."""
    if len(grown.counters) > 1:
        first = np.repeat(task.samples.start[:-1], grown.counters[:, kernels.N_NODES])
        fields[:, kernels.START] += first
        fields[:, kernels.END] += first
    return fields


def _rows_at(task: Task, fields: LongArray) -> FloatArray:
    """Count the rows that reached every node."""
    counts, rows, start = task.counts, task.rows, task.samples.start
    own = (
        counts[0].take(rows)
        if len(counts) == 1
        else counts[np.repeat(range(len(counts)), np.diff(start)), rows]
    )
    until = np.concatenate([[0], np.cumsum(own, dtype=np.int64)])
    at_node: LongArray = until[fields[:, kernels.END]] - until[fields[:, kernels.START]]
    return at_node.astype(np.float64)


def _values(
    fixed: FixedPointSample, task: Task, fields: LongArray, grown: kernels.Grown
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute value, weight and impurity of every node."""
    if fixed.n_classes or len(task.counts) == 1:
        return node_values(fixed, task.counts[0], task.rows, fields, grown.total)
    of_trees = [
        node_values(fixed, counts, task.rows, fields[nodes], grown.total[nodes])
        for counts, nodes in zip(task.counts, _nodes(grown), strict=True)
    ]
    value, weight, impurity = (np.concatenate(part) for part in zip(*of_trees, strict=True))
    return value, weight, impurity


def _restore_prescribed(threshold: FloatArray, fields: LongArray, top: Top) -> FloatArray:
    """Set prescribed thresholds to exactly the numbers that the user wrote."""
    nodes = np.flatnonzero((fields[:, kernels.SLOT] >= 0) & (fields[:, kernels.LEFT] >= 0))
    if len(top.threshold):
        threshold[nodes] = top.threshold[fields[nodes, kernels.SLOT]]
    return threshold


def _notes(rules: GrowthRules, counters: LongArray, leaves_in_memory: int) -> tuple[str, ...]:
    n_open, state = counters[kernels.N_OPEN], counters[kernels.STATE]
    if n_open == 0:
        return ()
    left = f"the tree is the best so far, and {n_open} of its leaves could still be split"
    if state == kernels.STOPPED:
        return (f"Growth ended after {rules.max_seconds:g} seconds (max_seconds): {left}.",)
    if rules.max_nodes is not None and counters[kernels.N_NODES] + 2 > rules.max_nodes:
        return (f"Growth ended at {rules.max_nodes} nodes (max_nodes): {left}.",)
    if counters[kernels.N_NODES] + 1 >= 2 * leaves_in_memory:
        return (f"Growth ended at {rules.memory_limit} bytes (memory_limit): {left}.",)
    return ()
