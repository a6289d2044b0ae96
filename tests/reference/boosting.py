"""Gradient boosting by trying every split, in plain sums: the slow twin of `holdfast.ensembles.boosting`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.tree.tree import KNOWN
from reference.boosting_losses import LOSSES, Rows, Setting
from reference.names import by_name

MISSING = -1  # as a category
TIED = 1e-9  # of the best gain: two splits that differ by less are equally good
NOTHING = 1e-13  # of the sums: a gain below this is a rounding error


@dataclass(frozen=True)
class Split:
    """One way to divide the rows of a node: a threshold, or the categories that go left."""

    feature: int
    threshold: float  # NaN for a set
    missing_left: bool
    categories: frozenset[int]  # that go left, MISSING perhaps among them; empty for a threshold
    left: Rows
    right: Rows
    gain: float = 0.0


@dataclass
class Node:
    """A node: a leaf as long as it has no split."""

    rows: Rows
    depth: int
    best: Split | None  # what would be split next
    split: Split | None = None
    left: "Node | None" = None
    right: "Node | None" = None
    value: float = 0.0

    def leaves(self) -> "list[Node]":
        """The leaves below, from left to right."""
        if self.left is None or self.right is None:
            return [self]
        return self.left.leaves() + self.right.leaves()


@dataclass
class Boosted:
    """The trees of every round, one for each output, and the scores of the rows."""

    start: FloatArray  # (outputs,)
    scores: FloatArray  # (rows, outputs)
    trees: list[list[Node]] = field(default_factory=list)
    train_loss: list[float] = field(default_factory=list)


def boosted(table: Table, setting: Setting, row_sets: Sequence[Rows] | None = None) -> Boosted:
    """The whole run; `row_sets` are the rows that each round grows its trees on, all of them by default."""
    loss = LOSSES[setting.loss](table, setting)
    counted = tuple(row for row in range(table.n_rows) if loss.weight[row] > 0)
    start = loss.constant(counted) if setting.start == "constant" else np.zeros(loss.n_outputs)
    run = Boosted(start, np.tile(start, (table.n_rows, 1)))
    for number in range(setting.n_estimators):
        rows = counted if row_sets is None else row_sets[number]
        loss.prepare(run.scores, counted)
        gradient, hessian = loss.derivatives(run.scores)
        steps = np.zeros_like(run.scores)
        trees = []
        for output in range(loss.n_outputs):
            g, h = loss.weight * gradient[:, output], loss.weight * hessian[:, output]
            growing = Growing(table, setting, g, h if setting.second_order else loss.weight, loss.repeats)
            tree = growing.tree(rows)
            for leaf in tree.leaves():
                leaf.value = loss.leaf_value(leaf.rows, run.scores, output, g, h)
            for row in range(table.n_rows):
                steps[row, output] = reached(tree, table, row).value
            trees.append(tree)
        run.scores = run.scores + setting.learning_rate * steps
        run.trees.append(trees)
        run.train_loss.append(loss.mean_loss(run.scores, counted))
    return run


def reached(node: Node, table: Table, row: int) -> Node:
    """The leaf that a row reaches; a category that the node did not see goes where missing values go."""
    while node.split is not None and node.left is not None and node.right is not None:
        node = node.left if goes_left(node, table, row) else node.right
    return node


def goes_left(node: Node, table: Table, row: int) -> bool:
    """True if the answer of the row is yes."""
    assert node.split is not None
    value = float(table.columns[node.split.feature][row])
    if row in node.rows:
        return row in node.split.left
    if math.isnan(value):
        return node.split.missing_left
    if node.split.categories:
        return int(value) in node.split.categories
    return value <= node.split.threshold


# -- trees ------------------------------------------------------------------------------------------------


@dataclass
class Growing:
    """What one tree grows on: the gradient and hessian of every row, each times the weight of the row."""

    table: Table
    setting: Setting
    g: FloatArray
    h: FloatArray
    repeats: list[int]

    def tree(self, rows: Rows) -> Node:
        """The tree: the node with the greatest gain is split next, the oldest of them in a tie."""
        root = self._node(rows, 0)
        nodes, n_leaves = [root], 1
        most = self.setting.max_leaf_nodes or math.inf
        while n_leaves < most:
            waiting = [node for node in nodes if node.split is None and node.best is not None]
            if not waiting:
                break
            node = max(waiting, key=lambda each: each.best.gain if each.best else 0.0)
            node.split = node.best
            assert node.split is not None
            node.left = self._node(node.split.left, node.depth + 1)
            node.right = self._node(node.split.right, node.depth + 1)
            nodes += [node.left, node.right]
            n_leaves += 1
        return root

    def _node(self, rows: Rows, depth: int) -> Node:
        is_deep = self.setting.max_depth is not None and depth >= self.setting.max_depth
        return Node(rows, depth, None if is_deep else self.best_split(rows))

    def best_split(self, rows: Rows) -> Split | None:
        """The split of greatest gain; ties go by the name of the feature, threshold, then missing right."""
        whole = self._half(rows)
        found = []
        for split in self.candidates(rows):
            if min(self._count(split.left), self._count(split.right)) < self.setting.min_samples_leaf:
                continue
            parts = self._half(split.left) + self._half(split.right)
            if parts - whole > NOTHING * parts:
                found.append(Split(**{**vars(split), "gain": parts - whole}))
        if not found:
            return None
        highest = max(split.gain for split in found)
        return next(split for split in found if split.gain >= highest * (1 - TIED))

    def candidates(self, rows: Rows) -> Iterator[Split]:
        """Every split of the rows, in the order in which ties are decided."""
        for feature in by_name(self.table.schema):
            described = self.table.schema.features[feature]
            column = self.table.columns[feature]
            if described.is_subset:
                yield from self._sets(rows, feature, column)
            else:
                yield from self._thresholds(rows, feature, column, described.kind == "ordered")

    def _thresholds(self, rows: Rows, feature: int, column: FloatArray, is_ordered: bool) -> Iterator[Split]:
        missing = tuple(row for row in rows if math.isnan(column[row]))
        values = sorted({float(column[row]) for row in rows if row not in missing})
        for below, above in pairwise(values):
            threshold = below / 2 + above / 2
            if is_ordered:
                threshold = math.floor(threshold) + 0.5
            low = tuple(row for row in rows if column[row] <= below)
            high = tuple(row for row in rows if column[row] >= above)
            yield Split(feature, threshold, False, frozenset(), low, high + missing)
            if missing:
                yield Split(feature, threshold, True, frozenset(), low + missing, high)
        if missing and values:
            known = tuple(row for row in rows if row not in missing)
            yield Split(feature, KNOWN, False, frozenset(), known, missing)

    def _sets(self, rows: Rows, feature: int, column: FloatArray) -> Iterator[Split]:
        category = {row: MISSING if math.isnan(column[row]) else int(column[row]) for row in rows}
        first, *others = sorted(set(category.values()), key=lambda code: (code == MISSING, code))
        for pattern in range(2 ** len(others) - 1):  # the last pattern would send all of them left
            chosen = frozenset([first, *(code for bit, code in enumerate(others) if pattern >> bit & 1)])
            left = tuple(row for row in rows if category[row] in chosen)
            right = tuple(row for row in rows if category[row] not in chosen)
            yield Split(feature, math.nan, MISSING in chosen, chosen, left, right)

    def _half(self, rows: Rows) -> float:
        """G^2 / (H + l2) of some rows."""
        g, h = math.fsum(self.g[row] for row in rows), math.fsum(self.h[row] for row in rows)
        h += self.setting.l2_regularization
        return g * g / h if h > 0 else 0.0

    def _count(self, rows: Rows) -> int:
        return sum(self.repeats[row] for row in rows)
