"""A decision threshold: the probability of one of two classes from which on it is predicted.

It is the same thing as a loss matrix of two classes, and models have it as one.
"""

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.tree import Tree

REACHED = 1e-9  # a probability as near below the threshold reaches it


def make_threshold_losses(threshold: float, positive: int, total: float = 1.0) -> FloatArray:
    """Make the loss matrix that predicts class `positive` from this probability on.

    Its two losses add up to `total`.

    >>> make_threshold_losses(0.2, positive=1).round(6)
    array([[0. , 0.2],
           [0.8, 0. ]])
    """
    share = max(threshold - REACHED, threshold / 2)
    losses = np.zeros((2, 2))
    losses[1 - positive, positive], losses[positive, 1 - positive] = total * share, total * (1.0 - share)
    return losses


def compute_threshold(losses: FloatArray, positive: int) -> float:
    """Compute the probability from which predicting class `positive` costs less.

    >>> compute_threshold(np.array([[0.0, 1.0], [4.0, 0.0]]), positive=1)
    0.2
    """
    wrongly, missed = losses[1 - positive, positive], losses[positive, 1 - positive]
    return float(wrongly / (wrongly + missed))


def decision_threshold(tree: Tree, positive: int) -> float:
    """Return the probability from which the tree predicts the class; 0.5 without losses."""
    return 0.5 if tree.loss_matrix is None else compute_threshold(tree.loss_matrix, positive)


def set_losses(tree: Tree, losses: FloatArray) -> Tree:
    """Make the tree predict the class of least expected loss."""
    return enforce_monotonicity(tree.replace(loss_matrix=losses, given_outcome=None))
