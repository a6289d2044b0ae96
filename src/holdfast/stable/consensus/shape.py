"""Splits that can be defended: those that few references make are undone where little is lost.

The support of a split is the share of the references that split mostly the same rows on the same feature. Two
sets of rows are mostly the same if those in both are at least half of those in either.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, round_last_digits
from holdfast.data.row_keys import row_hashes
from holdfast.data.table import Table
from holdfast.stable.consensus.distil import DistillationTask, compute_moments
from holdfast.stable.consensus.search import TeacherFit, node_sums, round_weights
from holdfast.tree.prune import prune_at
from holdfast.tree.rules import number_paths
from holdfast.tree.stats import find_weak_splits
from holdfast.tree.tree import LEAF, Tree

CLOSE = 0.03  # probabilities that are no further apart, or means in standard deviations of the target
LITTLE = 0.01  # of what the student explains
MOSTLY = 0.5  # rows in both sets, as a share of the rows in either
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
        """The splits of some trees on the schema of the table."""
        rows = _drawn_rows(table, weight)
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
        in_both = self.weighted @ reached.T  # sums of whole numbers: exact in any order
        in_either = self.weighted.sum(axis=1)[:, None] + reached @ self.weight - in_both
        is_alike = (in_both >= MOSTLY * in_either) & (self.feature[:, None] == tree.feature[nodes])
        for node, alike in zip(nodes.tolist(), is_alike.T, strict=True):
            support[node] = len(np.unique(self.reference[alike])) / self.n_references
        return support


def _drawn_rows(table: Table, weight: FloatArray) -> LongArray:
    """The rows that count, or those of them with the lowest keys, equal rows together."""
    rows = np.flatnonzero(weight > 0)
    if len(rows) <= MOST_ROWS:
        return rows
    keys = row_hashes(table)[rows]
    return np.asarray(rows[keys <= np.partition(keys, MOST_ROWS - 1)[MOST_ROWS - 1]], np.int64)


def _reaching_rows(tree: Tree, nodes: LongArray, table: Table) -> BoolArray:
    """(nodes, rows) True where the row reaches the node."""
    leaf = tree.apply(table)
    return np.asarray((leaf >= nodes[:, None]) & (leaf < tree.subtree_end[nodes][:, None]), np.bool_)


# -- undoing splits -------------------------------------------------------------------------------------


def undo_weak_splits(
    tree: Tree,
    references: ReferenceSplits,
    lesson: DistillationTask,
    fit: TeacherFit,
    most_lost: float,
    held: Collection[int] = (),
) -> Tree:
    """Undo splits of low support, from the leaves upwards, and note the support of those that stay.

    A split into two leaves is undone if it adds at most 1 % of what the student explains of the teacher, if
    the leaves predict the same class within .03, or if they are in the opposite order to their rows. The tree
    loses at most `most_lost` of what the student explains: a split that it needs for this stays, as do the
    paths `held`. Of several the one that adds least goes first.
    """
    tree = tree.replace(split_support=references.support(tree))
    held_nodes = [node for path, node in number_paths(tree).items() if path in held]
    is_held, explained = np.isin(np.arange(tree.n_nodes), held_nodes), explained_at(tree, lesson)
    observed, deviation = compute_moments(tree, lesson.table, lesson.weight, tree.apply(lesson.table))
    scale = 1.0 if tree.schema.target.is_classes else float(deviation[0])
    while True:
        ends = tree.feature == LEAF
        total, added = explained[ends].sum(), _added(tree, explained)
        undone = [
            (added[node], node)
            for node in find_weak_splits(tree)
            if not is_held[node]
            and ends[[tree.left[node], tree.right[node]]].all()
            and fit.loss(total - added[node]) <= most_lost
            and (added[node] <= LITTLE * fit.gain or _is_hardly_a_split(tree, node, observed, scale))
        ]
        if not undone:
            return tree
        _, node = min(undone)
        kept = np.flatnonzero(tree.parent != node)
        tree = prune_at(tree, np.arange(tree.n_nodes) == node)
        is_held, explained, observed = is_held[kept], explained[kept], observed[kept]


def _is_hardly_a_split(tree: Tree, node: int, observed: FloatArray, scale: float) -> bool:
    """True if both leaves predict the same, or differ in the opposite direction to their rows."""
    left, right = tree.left[node], tree.right[node]
    apart = tree.value[left] - tree.value[right]
    most = int(np.abs(apart).argmax())
    is_one_class = not tree.schema.target.is_classes or tree.outcome[left] == tree.outcome[right]
    is_close = is_one_class and abs(apart[most]) <= CLOSE * scale
    return bool(is_close or apart[most] * (observed[left] - observed[right])[most] < 0)


def _added(tree: Tree, explained: FloatArray) -> FloatArray:
    """What each split adds to what is explained, as if its sides were leaves; 0 at a leaf."""
    below = explained[tree.left] + explained[tree.right]
    added = np.where(tree.feature == LEAF, 0.0, below - explained)
    return round_last_digits(np.maximum(added, 0.0))


def explained_at(tree: Tree, lesson: DistillationTask) -> FloatArray:
    """What every node, as a leaf, explains of the sum of the teacher's squared answers."""
    weight, answers = node_sums(tree, lesson.table, lesson.answers, lesson.weight)
    return np.asarray((answers**2).sum(axis=1) / np.maximum(weight, 1.0))
