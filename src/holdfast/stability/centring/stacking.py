"""Weights of the parts of a teacher, chosen by rows that the parts have not seen."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holdfast.arrays import FloatArray

LEAST_GAIN = 0.1  # of the squared error: less is not worth weights that change with the sample
CLEAR = 3.0  # standard errors of the gain: on few rows, a tenth is chance
PULL = 0.1  # towards the usual weights, in units of their squared error
LEAST_ERROR = 1e-6  # of the sum of squares of the truth
DIGITS = 2  # of a weight: the last digits of sums differ between machines


class HeldOutPredictions(NamedTuple):
    """What each part of a teacher predicts for rows that it was not fitted to, and what these rows were."""

    predictions: Sequence[FloatArray]  # (rows, outputs) of each part
    truth: FloatArray  # (rows, outputs): 1 for the class of the row, or the number as a fraction of its range
    weight: FloatArray | None


def stacked_weights(held_out: Sequence[HeldOutPredictions], usual: FloatArray) -> FloatArray:
    """Find weights of the parts with clearly less squared error, by a tenth at least; or else the usual ones.

    They minimise error(w) / error(usual) + 0.1 * |w - usual|^2 over w >= 0 of sum 1, and are then rounded:
    stacking as Breiman has it, drawn towards the usual weights.

    >>> truth = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> stacked_weights([HeldOutPredictions([truth, 1 - truth], truth, None)], np.array([0.5, 0.5])).tolist()
    [0.98, 0.02]
    """
    from scipy.optimize import nnls

    products = np.sum([_products(each) for each in held_out], axis=0)
    square, mixed, total = products[:-1, :-1], products[:-1, -1], products[-1, -1]

    before = float(usual @ square @ usual - 2 * usual @ mixed + total)
    if not before > LEAST_ERROR * total:  # of one class, say: what is left is rounding
        return usual
    # A heavy weight on the sum of the weights makes it 1.
    n_parts, heavy = len(usual), 1e4
    quadratic = square / before + PULL * np.eye(n_parts) + heavy
    root = np.linalg.cholesky(quadratic).T
    found, _ = nnls(root, np.linalg.solve(root.T, mixed / before + PULL * usual + heavy))
    found = np.round(found / found.sum(), DIGITS)
    gain, gain_error = _gain(held_out, usual, found / found.sum())
    return found if gain >= max(LEAST_GAIN * before, CLEAR * gain_error) else usual


def _products(held_out: HeldOutPredictions) -> FloatArray:
    """The weighted sums of products of all parts and the truth with each other, the truth last."""
    columns: FloatArray = np.stack([each.ravel() for each in (*held_out.predictions, held_out.truth)])
    weight = held_out.weight
    repeated = 1.0 if weight is None else np.repeat(weight, held_out.truth.shape[1])
    return np.asarray(np.einsum("in,jn->ij", columns * repeated, columns), np.float64)


def _gain(
    held_out: Sequence[HeldOutPredictions], usual: FloatArray, found: FloatArray
) -> tuple[float, float]:
    """How much less the squared error is with the weights found, and the standard error of that."""
    gains = []
    for each in held_out:
        errors = [
            ((np.tensordot(weights, np.array(each.predictions), 1) - each.truth) ** 2).sum(axis=1)
            for weights in (usual, found)
        ]
        gains.append((errors[0] - errors[1]) * (1.0 if each.weight is None else each.weight))
    # Rows that several divisions hold out are counted as often as in one of them.
    every, times = np.concatenate(gains), len(held_out)
    return float(every.sum()), float(every.std() * np.sqrt(len(every) / times) * times)
