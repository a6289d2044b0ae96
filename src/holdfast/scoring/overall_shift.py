"""What predictions lack on the whole: calibration in the large."""

from math import fsum, log, nan

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.scoring.calibration import LEAST
from holdfast.scoring.metric import TrueValues

STEPS = 100  # of halving: more than a float has digits


def overall_shift(predicted: FloatArray, true_values: TrueValues, place: int = 0) -> float:
    """Compute calibration-in-the-large: the shift that makes mean prediction equal observed mean.

    Of a class, `place` is its number, and it is added to the log odds; of numbers, to the number. NaN if all
    rows, or none, are of the class.

    >>> from holdfast import Target
    >>> true_values = TrueValues(Target(classes=("no", "yes")), np.array([0, 0, 0, 1]))
    >>> round(overall_shift(np.full((4, 2), 0.5), true_values, 1), 6)  # log odds of 1 to 3
    -1.098612
    """
    rows = true_values.rows
    said = predicted[true_values.counted, place]
    is_classes = true_values.target.is_classes
    truth = (rows.values == place).astype(np.float64) if is_classes else rows.values
    order = np.lexsort((truth, rows.weight, said))  # one order of adding, whatever that of the rows
    said, truth, weight = said[order], truth[order], rows.weight[order]
    observed = fsum((weight * truth).tolist()) / fsum(weight.tolist())
    if not is_classes:
        return observed - fsum((weight * said).tolist()) / fsum(weight.tolist())
    if not 0 < observed < 1:
        return nan
    values, first = np.unique(said, return_index=True)
    clipped = np.clip(values, LEAST, 1 - LEAST)
    return _shift(np.log(clipped / (1 - clipped)), np.add.reduceat(weight, first), observed)


def _shift(odds: FloatArray, weight: FloatArray, observed: float) -> float:
    """Find the shift of the log odds by bisection."""
    reach = float(np.abs(odds).max()) + abs(log(observed / (1 - observed))) + 1.0
    low, high = -reach, reach
    for _ in range(STEPS):
        middle = (low + high) / 2
        chances = 1 / (1 + np.exp(-(odds + middle)))
        if fsum((weight * chances).tolist()) < observed * fsum(weight.tolist()):
            low = middle
        else:
            high = middle
    return (low + high) / 2
