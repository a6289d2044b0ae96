"""Hierarchical shrinkage: leaf values shrunk towards those of the nodes above.

Agarwal, Tan, Ronen, Singh and Yu, "Hierarchical Shrinkage: improving the accuracy and interpretability of
tree-based methods", ICML 2022. The splits of the tree stay as they are.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast.data.folds import subset_groups
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.size_search import Folds, divide_rows
from holdfast.parallel.tasks import run_all
from holdfast.scoring.metric import Metric, TrueValues, make_metric
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.stats import ALIKE, keep_own_counts
from holdfast.tree.tree import Tree

# In rows. None is 0, so that no observed class gets probability 0 at a leaf.
STRENGTHS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)

Fit = Callable[[Table, LongArray | None], Tree]


def shrink_tree(tree: Tree, strength: float) -> Tree:
    """Shrink each node towards its parent, the more the fewer rows it has.

    The difference between a node of n rows and its child is multiplied by n / (n + strength). A strength of 0
    changes nothing; with increasing strength all leaves approach the value of the root. Class counts and
    monotone constraints are kept.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]))
    >>> shrink_tree(tree, 4).value[1:]
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if not strength >= 0 or not np.isfinite(strength):
        raise ParameterError(
            f"strength={strength!r} is out of range: it must be a number of rows, at least 0."
        )
    own = keep_own_counts(tree)
    if np.abs(own.observed_mean - tree.value).max() > ALIKE:  # the rows have different weights
        own = own.replace(rows_mean=tree.value)
    return enforce_monotonicity(own.replace(value=shrink_values(tree, [strength])[0], given_outcome=None))


def shrink_values(tree: Tree, strengths: Sequence[float]) -> FloatArray:
    """Compute node values at every strength, (strengths, nodes, values)."""
    strength = np.asarray(strengths, np.float64)[:, None]
    # A node without rows takes the value of the node above.
    evidence = tree.weight if tree.schema.target.is_survival else tree.count  # events expected, or rows
    rows = np.broadcast_to(evidence, (len(strength), tree.n_nodes))
    kept = np.divide(rows, rows + strength, out=np.zeros(rows.shape), where=rows > 0)
    values = np.empty((len(strength), *tree.value.shape))
    values[:, 0] = tree.value[0]
    for node, above in enumerate(tree.parent.tolist()):  # preorder: a parent stands before its children
        if node:
            step = tree.value[node] - tree.value[above]
            values[:, node] = values[:, above] + kept[:, above, None] * step
    if tree.schema.target.is_classes:
        values = np.maximum(values, 0.0)  # rounding
        values /= values.sum(axis=2, keepdims=True)
    return values


class Strengths(NamedTuple):
    """Held-out scores of all shrinkage strengths; greater is better, losses are negated."""

    strengths: tuple[float, ...]
    scores: FloatArray  # (strengths, folds)
    metric: Metric

    @property
    def chosen(self) -> float:
        """The strength of the best mean score; the greatest if several are best."""
        mean = np.round(self.scores.mean(axis=1), 12)
        return self.strengths[int(np.flatnonzero(mean == mean.max())[-1])]


def choose_strength(
    table: Table, fit: Fit, *, groups: LongArray | None = None, cv: Any = 10, seed: int = 0
) -> Strengths:
    """Score all strengths by log loss or squared error of trees grown without each fold.

    `fit` grows the tree of some of the rows. Every tree is grown and walked once, for all strengths.
    """
    metric = loss_of(table)
    folds = divide_rows(table, groups, cv, seed)
    scores = run_all(partial(_fold_scores, folds, fit, metric), range(len(folds.held_out)), 1)
    return Strengths(STRENGTHS, np.array(scores).T, metric)


def shared_strength(table: Table, pairs: Sequence[tuple[Tree, BoolArray]]) -> float:
    """Choose the strength that serves several trees best, each on its held-out rows."""
    metric = loss_of(table)
    scores = [strength_scores(tree, table.subset(held_out), metric) for tree, held_out in pairs]
    return Strengths(STRENGTHS, np.array(scores).T, metric).chosen


def loss_of(table: Table) -> Metric:
    """Return the proper score by which leaf values are chosen."""
    target = table.schema.target
    if target.is_survival:
        return make_metric("deviance", target)
    return make_metric("log_loss" if target.is_classes else "squared_error", target)


def _fold_scores(folds: Folds, fit: Fit, metric: Metric, number: int) -> list[float]:
    learned, held_out = folds.times[number] > 0, folds.held_out[number]
    tree = fit(folds.table.subset(learned), subset_groups(folds.groups, learned))
    return strength_scores(tree, folds.table.subset(held_out), metric)


def strength_scores(tree: Tree, held_out: Table, metric: Metric) -> list[float]:
    """Score the tree at every strength on held-out rows."""
    true_values, leaves = TrueValues.of(held_out), tree.apply(held_out)
    return [metric.value(values[leaves], true_values) for values in shrink_values(tree, STRENGTHS)]
