"""Do predictions mean what they say: calibration intercept and slope, observed over expected."""

from dataclasses import dataclass
from math import exp, fsum, log, nan, sqrt

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.scoring.metric import TrueValues

LEAST = 0.001  # the least probability: its log odds count as those of this one
MOST_STEPS = 100
MOST_SLOPE = 1e3  # beyond, the rows are told apart without error, and no slope is the best


@dataclass(frozen=True)
class Calibration:
    """How well predictions are calibrated; NaN for what the rows cannot tell.

    Of a probability, the intercept is what its log odds lack on the whole (0 is right) and the slope what
    they should be multiplied by (1 is right; below 1, they are too extreme). Of a number, both are of the
    straight line from the predictions to what came true; the intercept is what they lack on the whole.
    """

    intercept: float
    slope: float
    observed: float  # mean of what came true
    expected: float  # mean of what was predicted

    @property
    def ratio(self) -> float:
        """Observed over expected: above 1, more came true than was said."""
        return self.observed / self.expected if self.expected else nan


UNKNOWN = Calibration(nan, nan, nan, nan)


def calibration(predicted: FloatArray, true_values: TrueValues, positive: int | None = None) -> Calibration:
    """The calibration of the probability of one class, or of numbers.

    `predicted` is (rows, classes) or (rows, 1), as metrics want it; `positive` the number of the class. Of
    classes without a positive one nothing is told. Weights count as numbers of rows.

    >>> from holdfast import Target
    >>> true_values = TrueValues(Target(classes=("no", "yes")), np.array([0, 0, 0, 1, 0, 1, 1, 1]))
    >>> said = np.repeat([[0.75, 0.25], [0.25, 0.75]], 4, axis=0)
    >>> right = calibration(said, true_values, positive=1)
    >>> round(right.intercept, 6) + 0.0, round(right.slope, 6), right.ratio
    (0.0, 1.0, 1.0)
    """
    rows = true_values.rows
    column = positive if true_values.target.is_classes else 0
    if column is None:
        return UNKNOWN
    said = predicted[true_values.counted, column]
    truth = (rows.values == column).astype(float) if true_values.target.is_classes else rows.values
    levels = _levels(said, truth, rows.weight)
    if true_values.target.is_classes:
        return _of_probabilities(*levels)
    return _of_numbers(*levels)


def _levels(
    said: FloatArray, truth: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The different predictions, the weight of each, and the weighted mean of what came true."""
    values, place = np.unique(said, return_inverse=True)
    # Sums in one order, whatever that of the rows: a tree says few different things.
    order = np.lexsort((weight, truth, place))
    parts = np.split(order, np.cumsum(np.bincount(place))[:-1])
    weights = np.array([fsum(weight[part].tolist()) for part in parts])
    means = np.array([fsum((weight[part] * truth[part]).tolist()) for part in parts]) / weights
    return values, weights, means


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return fsum((values * weights).tolist()) / fsum(weights.tolist())


# -- probabilities ----------------------------------------------------------------------------------------


def _of_probabilities(said: FloatArray, weights: FloatArray, rates: FloatArray) -> Calibration:
    clipped = np.clip(said, LEAST, 1 - LEAST)
    odds = np.log(clipped / (1 - clipped))
    observed, expected = _mean(rates, weights), _mean(said, weights)
    if not 0 < observed < 1:
        return Calibration(nan, nan, observed, expected)
    return Calibration(_intercept(odds, weights, observed), _slope(odds, weights, rates), observed, expected)


def _intercept(odds: FloatArray, weights: FloatArray, observed: float) -> float:
    """The shift of the log odds with which as much is predicted as was observed; by halving an interval."""
    reach = float(np.abs(odds).max()) + abs(log(observed / (1 - observed))) + 1.0
    low, high = -reach, reach
    for _ in range(MOST_STEPS):
        middle = (low + high) / 2
        if _mean(_chance(odds + middle), weights) < observed:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _slope(odds: FloatArray, weights: FloatArray, rates: FloatArray) -> float:
    """The slope of the logistic regression of what came true on the log odds; NaN if there is none."""
    if len(np.unique(odds)) < 2:
        return nan
    shift, slope = 0.0, 1.0
    for _ in range(MOST_STEPS):
        chances = _chance(shift + slope * odds)
        missing, curve = weights * (rates - chances), weights * chances * (1 - chances)
        gradient = fsum(missing.tolist()), fsum((missing * odds).tolist())
        a, b, c = (fsum((curve * odds**power).tolist()) for power in (0, 1, 2))
        determinant = a * c - b * b
        if not determinant > 0 or abs(slope) > MOST_SLOPE:
            return nan
        step = (
            (c * gradient[0] - b * gradient[1]) / determinant,
            (a * gradient[1] - b * gradient[0]) / determinant,
        )
        longest = max(1.0, sqrt(step[0] ** 2 + step[1] ** 2))  # at most 1 at a time: it cannot overshoot far
        shift, slope = shift + step[0] / longest, slope + step[1] / longest
        if max(map(abs, step)) < 1e-12:
            break
    return slope


def _chance(odds: FloatArray) -> FloatArray:
    return np.array([1 / (1 + exp(-each)) if each > -700 else 0.0 for each in odds.tolist()])


# -- numbers ----------------------------------------------------------------------------------------------


def _of_numbers(said: FloatArray, weights: FloatArray, means: FloatArray) -> Calibration:
    observed, expected = _mean(means, weights), _mean(said, weights)
    spread = _mean(np.square(said - expected), weights)
    shared = _mean((said - expected) * (means - observed), weights)
    return Calibration(
        observed - expected, shared / spread if len(said) > 1 and spread > 0 else nan, observed, expected
    )
