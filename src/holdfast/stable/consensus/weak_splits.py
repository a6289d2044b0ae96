"""Weak splits: those that few references make are undone where little fit is lost.

The support of a split is the share of the references that split mostly the same rows on the same feature. Two
sets of rows are mostly the same if their intersection has at least half the weight of their union.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, round_last_digits
from holdfast.data.row_keys import hash_rows
from holdfast.data.table import Table
from holdfast.stable.consensus.distil import DistillationTask, compute_moments
from holdfast.stable.consensus.search import TeacherFit, node_sums, round_weights
from holdfast.tree.prune import prune_at
from holdfast.tree.rules import number_paths
from holdfast.tree.stats import find_weak_splits
from holdfast.tree.tree import LEAF, Tree

CLOSE = 0.03  # difference of probabilities, or of means in standard deviations of the target
LITTLE = 0.01  # of what the student explains
MOSTLY = 0.5  # the intersection of two sets of rows, as a share of their union
MOST_ROWS = 2048  # by which sets of rows are compared


class ReferenceSplits(NamedTuple):
    """The splits of the references, and the rows that reach each of them."""

    table: Table  # at most a few thousand rows, drawn by their keys
    weight: FloatArray  # of these rows, whole numbers
    feature: IntArray  # (splits,)
    reference: LongArray  # (splits,) the number of the tree
    weighted: FloatArray  # (splits, rows) the weight of the rows that reach the split, 0 of the others
    n_references: int

    @classmethod
    def of(cls, references: Sequence[Tree], table: Table, weight: FloatArray) -> "ReferenceSplits":
        """Collect the splits of trees on the schema of the table."""
        rows = _draw_rows(table, weight)
        table, weight = table.subset(rows), round_weights(weight[rows])
        inner = [np.flatnonzero(tree.feature != LEAF) for tree in references]
        reached = [_reaching_rows(tree, nodes, table) for tree, nodes in zip(references, inner, strict=True)]
        feature = [tree.feature[nodes] for tree, nodes in zip(references, inner, strict=True)]
        return cls(
            table,
            weight,
            np.concatenate(feature),
            np.repeat(np.arange(len(references)), [len(nodes) for nodes in inner]),
            np.concatenate(reached) * weight,
            len(references),
        )

    def support(self, tree: Tree) -> FloatArray:
        """The support of every split of a tree; NaN at its leaves."""
        support = np.full(tree.n_nodes, np.nan)
        nodes = np.flatnonzero(tree.feature != LEAF)
        reached = _reaching_rows(tree, nodes, self.table).astype(np.float64)
        intersection = self.weighted @ reached.T  # sums of whole numbers: exact in any order
        union = self.weighted.sum(axis=1)[:, None] + reached @ self.weight - intersection
        is_alike = (intersection >= MOSTLY * union) & (self.feature[:, None] == tree.feature[nodes])
        for node, alike in zip(nodes.tolist(), is_alike.T, strict=True):
            support[node] = len(np.unique(self.reference[alike])) / self.n_references
        return support


def _draw_rows(table: Table, weight: FloatArray) -> LongArray:
    """Draw rows of positive weight: those with the lowest keys, equal rows together."""
    rows = np.flatnonzero(weight > 0)
    if len(rows) <= MOST_ROWS:
        return rows
    keys = hash_rows(table)[rows]
    return np.asarray(rows[keys <= np.partition(keys, MOST_ROWS - 1)[MOST_ROWS - 1]], np.int64)


def _reaching_rows(tree: Tree, nodes: LongArray, table: Table) -> BoolArray:
    """True where the row reaches the node, (nodes, rows)."""
    leaf = tree.apply(table)
    return np.asarray((leaf >= nodes[:, None]) & (leaf < tree.subtree_end[nodes][:, None]), np.bool_)


# -- undoing splits -------------------------------------------------------------------------------------


def undo_weak_splits(
    tree: Tree,
    references: ReferenceSplits,
    task: DistillationTask,
    fit: TeacherFit,
    max_loss: float,
    fixed_paths: Collection[int] = (),
) -> Tree:
    """Undo splits of low support, from the leaves upwards, and note the support of those that stay.

    A split into two leaves is undone if it adds at most 1 % of what the student explains of the teacher, if
    the leaves predict the same class within .03, or if they are in the opposite order to their rows. The tree
    loses at most `max_loss` of what the student explains: a split that it needs for this stays, as do the
    `fixed_paths`. The split that adds least is undone first.
    """
    tree = tree.replace(split_support=references.support(tree))
    fixed = [node for path, node in number_paths(tree).items() if path in fixed_paths]
    is_fixed, explained = np.isin(np.arange(tree.n_nodes), fixed), explained_at(tree, task)
    observed, deviation = compute_moments(tree, task.table, task.weight, tree.apply(task.table))
    scale = 1.0 if tree.schema.target.is_classes else float(deviation[0])
    while True:
        ends = tree.feature == LEAF
        total, added = explained[ends].sum(), _added(tree, explained)
        candidates = [
            (added[node], node)
            for node in find_weak_splits(tree)
            if not is_fixed[node]
            and ends[[tree.left[node], tree.right[node]]].all()
            and fit.loss(total - added[node]) <= max_loss
            and (added[node] <= LITTLE * fit.gain or _is_hardly_a_split(tree, node, observed, scale))
        ]
        if not candidates:
            return tree
        _, node = min(candidates)
        kept = np.flatnonzero(tree.parent != node)
        tree = prune_at(tree, np.arange(tree.n_nodes) == node)
        is_fixed, explained, observed = is_fixed[kept], explained[kept], observed[kept]


def _is_hardly_a_split(tree: Tree, node: int, observed: FloatArray, scale: float) -> bool:
    """True if both leaves predict the same, or differ in the opposite direction to their rows."""
    left, right = tree.left[node], tree.right[node]
    apart = tree.value[left] - tree.value[right]
    most = int(np.abs(apart).argmax())
    is_one_class = not tree.schema.target.is_classes or tree.outcome[left] == tree.outcome[right]
    is_close = is_one_class and abs(apart[most]) <= CLOSE * scale
    return bool(is_close or apart[most] * (observed[left] - observed[right])[most] < 0)


def _added(tree: Tree, explained: FloatArray) -> FloatArray:
    """Compute what each split adds to what is explained if its children were leaves; 0 at a leaf."""
    below = explained[tree.left] + explained[tree.right]
    added = np.where(tree.feature == LEAF, 0.0, below - explained)
    return round_last_digits(np.maximum(added, 0.0))


def explained_at(tree: Tree, task: DistillationTask) -> FloatArray:
    """Compute what every node, as a leaf, explains of the sum of the teacher's squared predictions."""
    weight, sums = node_sums(tree, task.table, task.fitted_predictions, task.weight)
    return np.asarray((sums**2).sum(axis=1) / np.maximum(weight, 1.0))
