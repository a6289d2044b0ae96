"""Which decision threshold costs least, on rows that the model has not seen."""

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, without_last_digits
from holdfast.tree.threshold import compute_threshold


def threshold_costs(
    probabilities: FloatArray, is_positive: BoolArray, weight: FloatArray, losses: FloatArray, positive: int
) -> tuple[FloatArray, FloatArray]:
    """Compute the cost per row of thresholds midway between probabilities, and beyond all of them.

    Returns the thresholds, ascending and strictly between 0 and 1, and their costs.
    `probabilities` are those of the class `positive`; a row with at least the threshold is taken for it.

    >>> said, truth, ones = np.array([0.1, 0.4, 0.6]), np.array([False, True, True]), np.ones(3)
    >>> thresholds, costs = threshold_costs(said, truth, ones, np.array([[0.0, 1.0], [4.0, 0.0]]), 1)
    >>> thresholds.round(3).tolist(), costs.round(3).tolist()
    ([0.05, 0.25, 0.5, 0.8], [0.333, 0.0, 1.333, 2.667])
    """
    said, place = np.unique(without_last_digits(probabilities), return_inverse=True)
    missed = np.bincount(place, weight * is_positive) * losses[positive, 1 - positive]
    wrongly = np.bincount(place, weight * ~is_positive) * losses[1 - positive, positive]
    # At threshold number k the k lowest probabilities fall short of it.
    total = np.append(0.0, np.cumsum(missed)) + np.append(np.cumsum(wrongly[::-1])[::-1], 0.0)
    ends = np.concatenate([[0.0], said, [1.0]])
    thresholds = (ends[:-1] + ends[1:]) / 2
    inside = (thresholds > 0.0) & (thresholds < 1.0)
    return thresholds[inside], without_last_digits(total[inside] / weight.sum())


def cheapest_threshold(thresholds: FloatArray, costs: FloatArray, losses: FloatArray, positive: int) -> float:
    """Return the threshold of least cost; of several, the nearest to the theoretical one."""
    best = thresholds[costs == costs.min()]
    return float(best[np.abs(best - compute_threshold(losses, positive)).argmin()])
