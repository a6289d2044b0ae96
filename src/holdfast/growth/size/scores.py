"""What rows held out say of the subtrees of a path, each a part of the one before."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.data.table import Table
from holdfast.growth.pruning.path import PruningPath
from holdfast.scoring.formulas import ScoredRows, auc, joint_auc
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.predictions import predict_at_nodes

_Nodes = TypeVar("_Nodes", IntArray, LongArray)


def subtree_scores(
    path: PruningPath,
    values: FloatArray,
    table: Table,
    metric: Metric,
    *,
    groups: LongArray | None = None,
    with_error: bool = False,
) -> list[Score]:
    """Score the subtrees for these parameter values on the held-out table; losses are negated.

    Errors are 0 unless they are asked for.
    """
    true_values, leaf = TrueValues.of(table, groups), path.tree.apply(table)
    places_asked = [path.place_of(value) for value in values.tolist()]
    places = sorted(set(places_asked))
    if metric.formula is auc and len(true_values.target.classes) == 2 and not with_error:
        scores = _aucs(path, places, leaf[true_values.counted], true_values.rows)
    else:
        scores = _by_rows(path, places, leaf, true_values, metric, with_error=with_error)
    found = dict(zip(places, scores, strict=True))
    return [found[place] for place in places_asked]


# -- two classes ------------------------------------------------------------------------------------------


def _aucs(path: PruningPath, places: Sequence[int], leaf: IntArray, rows: ScoredRows) -> list[Score]:
    """Compute the AUC of each subtree from the class weights at its leaves."""
    tree = path.tree
    cells = np.bincount(leaf * np.int64(2) + rows.values, rows.weight, 2 * tree.n_nodes)
    node = np.flatnonzero(np.bincount(leaf, minlength=tree.n_nodes))
    weights = np.asarray(cells.reshape(-1, 2)[node].T, np.float64)
    scores = []
    for place in places:
        node = _climbed(path, node, place)
        scores.append(Score(joint_auc(tree.value[node, 1], *weights), 0.0))
        node, weights = _merged(node, weights)
    return scores


def _merged(node: LongArray, weights: FloatArray) -> tuple[LongArray, FloatArray]:
    """Merge equal neighbouring nodes, and add up their class weights."""
    is_first = np.append(True, node[1:] != node[:-1])
    number = is_first.cumsum() - 1
    return node[is_first], np.array([np.bincount(number, of_class) for of_class in weights])


# -- anything else ----------------------------------------------------------------------------------------


def _by_rows(
    path: PruningPath,
    places: Sequence[int],
    node: IntArray,
    true_values: TrueValues,
    metric: Metric,
    *,
    with_error: bool,
) -> list[Score]:
    """Score each subtree by the predictions of all rows."""
    can_join = metric.formula is not None and true_values.target.is_classes and not with_error
    scores = []
    for place in places:
        if can_join:  # the score is the same, and there are fewer rows
            node, true_values = _joined(node, true_values)
        node = _climbed(path, node, place)
        predicted = predict_at_nodes(metric, path.tree, node)
        scores.append(
            metric.score(predicted, true_values)
            if with_error
            else Score(metric.value(predicted, true_values), 0.0)
        )
    return scores


def _joined(node: IntArray, true_values: TrueValues) -> tuple[IntArray, TrueValues]:
    """Join rows of one node and class into one row; return nodes and true values."""
    n_classes = len(true_values.target.classes)
    weight = np.ones(len(node)) if true_values.weight is None else true_values.weight
    cells, place = np.unique(node * np.int64(n_classes) + true_values.values, return_inverse=True)
    values = (cells % n_classes).astype(np.int32)
    joint = np.bincount(place, weight).astype(np.float64)
    return (cells // n_classes).astype(np.int32), TrueValues(true_values.target, values, joint)


def _climbed(path: PruningPath, node: _Nodes, place: int) -> _Nodes:
    """Map leaves of a larger subtree to leaves of this one."""
    parent, node = path.tree.parent, node.copy()
    rising = np.flatnonzero(path.gone[node] <= place)
    while len(rising):
        node[rising] = parent[node[rising]]
        rising = rising[path.gone[node[rising]] <= place]
    return node
