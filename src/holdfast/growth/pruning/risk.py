"""What a node would cost as a leaf."""

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.errors import ParameterError
from holdfast.growth.criteria import CLASS_CRITERIA, class_impurity
from holdfast.tree.outcome import expected_losses
from holdfast.tree.tree import Tree

_ERRORS = ("misclassification", "purity")


def least_loss(tree: Tree) -> FloatArray:
    """Compute the expected cost per row of the class that each node predicts."""
    assert tree.loss_matrix is not None
    expected = expected_losses(tree.value, tree.loss_matrix)
    return np.asarray(expected[np.arange(tree.n_nodes), tree.outcome], np.float64)


def node_risk(tree: Tree, risk: str | None = None) -> FloatArray:
    """Compute impurity times weight fraction of every node; those of the leaves sum to the tree's risk.

    `risk` names a criterion for classes, such as "misclassification"; None takes that of the tree. Numbers
    have that of their tree: squared error, half the Poisson deviance, or the loss around a quantile. Of a
    tree with a loss matrix, errors cost what it says, and None takes that.
    """
    impurity = tree.impurity
    if tree.schema.target.is_classes:
        if tree.loss_matrix is not None and risk in (None, *_ERRORS):
            check_counts(tree)
            return np.asarray(least_loss(tree) * (tree.weight / tree.weight[0]), np.float64)
        name = tree.criterion if risk is None else risk
        if risk is None and name not in CLASS_CRITERIA:
            raise ParameterError(
                f"The tree was grown by {name!r}, which is not a risk of its leaves: give one such as 'gini'."
            )
        if name not in CLASS_CRITERIA:
            raise ParameterError(
                f"risk={name!r} is not one for classes: choose one of {sorted(CLASS_CRITERIA)}."
            )
        impurity = class_impurity(CLASS_CRITERIA[name], tree.value)
    elif risk not in (None, tree.criterion):
        raise ParameterError(
            f"risk={risk!r} is not known of this tree of numbers, which was grown by {tree.criterion!r}: "
            "leave it None."
        )
    check_counts(tree)
    return np.asarray(impurity * (tree.weight / tree.weight[0]), np.float64)


def check_counts(tree: Tree) -> None:
    """Raise a ParameterError unless the tree knows the row counts of its nodes."""
    if not tree.weight[0] > 0:
        raise ParameterError(
            "The tree does not know how many rows reach its nodes, so that it cannot be pruned."
        )
