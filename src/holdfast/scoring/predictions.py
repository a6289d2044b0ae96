"""What a metric reads of a model."""

from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, IntArray
from holdfast.scoring.metric import Metric
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


def predict_for_metric(metric: Metric, model: Tree | Ensemble, X: Any) -> FloatArray:
    """Predict rows as the metric needs: class fractions, labels or numbers."""
    if isinstance(model, Tree):
        return predict_at_nodes(metric, model, model.apply(X))
    values = model.values(X)
    if metric.by_labels and model.loss_matrix is not None:
        return np.asarray(np.eye(values.shape[1])[model.decided(values)], np.float64)
    return values


def predict_at_nodes(metric: Metric, tree: Tree, nodes: IntArray) -> FloatArray:
    """Return the same predictions for rows at these nodes of a tree.

    A metric of labels gets a 1 for the class that the node predicts, since fractions do not tell it in a tie.
    """
    if metric.by_labels and tree.schema.target.is_classes:
        return np.asarray(np.eye(tree.value.shape[1])[tree.outcome[nodes]], np.float64)
    return np.asarray(tree.value[nodes], np.float64)
