"""What boosting lowers: where it starts, what a leaf adds, and how scores become predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.errors import DataError, RulesError
from holdfast.kernels.boosting import losses as kernels
from holdfast.tree.ensemble_check import Link

LossName = Literal[
    "squared_error", "absolute_error", "huber", "quantile", "poisson", "log_loss", "exponential"
]

MOST_TARGET = 1e150  # in size; sums of squares of a million million residuals are finite


@dataclass(frozen=True)
class Loss:
    """A loss of a target and a score.

    `start` gives the constant score that loses least, if it is a single one. `leaf_value`, where the loss has
    no curvature to step by, gives the best shift of the residuals of a leaf; others take Newton steps.
    """

    number: int  # the kernels' name of it
    link: Link
    start: Callable[[FloatArray, FloatArray, float], float] | None = None  # of targets, weights and alpha
    leaf_value: Callable[[FloatArray, FloatArray, float], float] | None = None  # of residuals, weights, alpha


def loss_of(name: str, target: Target) -> Loss:
    """The loss of that name for the target."""
    own, others = (_OF_CLASSES, _OF_NUMBERS) if target.is_classes else (_OF_NUMBERS, _OF_CLASSES)
    if not isinstance(name, str) or name not in own:
        is_other = isinstance(name, str) and name in others
        held = "classes" if target.is_classes else "numbers"
        why = f"is not for {held}, which {target.name!r} holds" if is_other else "is unknown"
        raise RulesError(f"loss={name!r} {why}: choose one of {sorted(own)}.")
    if (name == "log_loss" and len(target.classes) != 2) or len(target.classes) == 1:
        return _MULTINOMIAL
    if name == "exponential" and len(target.classes) > 2:
        raise RulesError(
            f"Only binary classification is supported. loss='exponential' is for two classes, and "
            f"{target.name!r} has {len(target.classes)}: use loss='log_loss', or AdaBoostClassifier."
        )
    return own[name]


def check_size(target: Target, values: NDArray[np.float64]) -> None:
    """Raise a DataError where squares of the target are too large or too small for a number."""
    greatest = float(np.abs(values).max())
    if greatest != 0.0 and not 1 / MOST_TARGET <= greatest <= MOST_TARGET:
        raise DataError(
            f"Boosting adds up squares, and {target.name!r} goes up to {greatest:g} in size, whose square no "
            "number can hold. Measure the target in another unit, so that it goes up to something between "
            f"{1 / MOST_TARGET:g} and {MOST_TARGET:g}."
        )


def check_targets(name: str, target: Target, values: NDArray[np.float64]) -> None:
    """Raise a DataError where the loss has no meaning for some of the targets."""
    if name != "poisson":
        return
    if values.min() < 0:
        raise DataError(
            f"loss='poisson' needs targets of at least 0, and {target.name!r} goes down to {values.min():g}."
        )
    if not np.any(values > 0):
        raise DataError(f"loss='poisson' needs a target above 0, and all of {target.name!r} are 0.")


# -- quantiles ------------------------------------------------------------------------------------------


def weighted_quantile(values: FloatArray, weight: FloatArray, fraction: float) -> float:
    """The value below which that fraction of the weight lies; half-way between two values if it ends there.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4), 0.5)
    2.5
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    wanted = fraction * below[-1]
    place = int(np.searchsorted(below, wanted * (1 - 1e-12)))  # rounding must not hide the end of a value
    own = float(values[order[place]])
    if below[place] > wanted * (1 + 1e-12):
        return own
    after = np.flatnonzero(weight[order[place + 1 :]] > 0)
    return own if len(after) == 0 else own / 2 + float(values[order[place + 1 + after[0]]]) / 2


def huber_centre(residuals: FloatArray, weight: FloatArray, delta: float) -> float:
    """The shift that loses least by Huber's loss.

    Its slope is a sum of lines cut off at both ends: it grows between r - delta and r + delta of every
    residual r, so that the zero is found by walking over these corners.
    """
    if delta <= 0.0:
        return weighted_quantile(residuals, weight, 0.5)
    corners = np.concatenate([residuals - delta, residuals + delta])
    order = np.argsort(corners, kind="stable")
    corners, bends = corners[order], np.concatenate([weight, -weight])[order]
    slopes = np.cumsum(bends)
    rise = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(corners))]) - delta * weight.sum()
    level = np.flatnonzero(np.abs(rise) <= 1e-12 * delta * weight.sum())
    if len(level):  # nothing between these corners loses less or more: the middle
        return float(corners[level[0]] / 2 + corners[level[-1]] / 2)
    place = int(np.searchsorted(rise, 0.0))  # the slope of the loss never falls
    return float(corners[place - 1] - rise[place - 1] / slopes[place - 1])


def log_shares(y: FloatArray, weight: FloatArray, n_classes: int) -> FloatArray:
    """The logarithms of the fractions of the classes, of one that no row has too."""
    of_class = np.bincount(y.astype(np.int64), weight, n_classes)
    return np.asarray(np.log(np.maximum(of_class / of_class.sum(), _LEAST_SHARE)), np.float64)


# -- the constants that lose least ----------------------------------------------------------------------


def _mean(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return float(np.average(y, weights=weight))


def _median(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return weighted_quantile(y, weight, 0.5)


def _log_mean(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return float(np.log(np.average(y, weights=weight)))


def _log_odds(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    fraction = float(np.clip(np.average(y, weights=weight), _LEAST_SHARE, 1 - _LEAST_SHARE))
    return float(np.log(fraction / (1 - fraction)))


def _half_log_odds(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return _log_odds(y, weight, alpha) / 2


def _half(residuals: FloatArray, weight: FloatArray, alpha: float) -> float:
    return weighted_quantile(residuals, weight, 0.5)


_LEAST_SHARE = 1e-12  # of a class that no row has: its log odds are finite

_OF_NUMBERS = {
    "squared_error": Loss(kernels.SQUARED, "identity", _mean),
    "absolute_error": Loss(kernels.ABSOLUTE, "identity", _median, _half),
    "huber": Loss(kernels.HUBER, "identity", _median, huber_centre),
    "quantile": Loss(kernels.QUANTILE, "identity", weighted_quantile, weighted_quantile),
    "poisson": Loss(kernels.POISSON, "exp", _log_mean),
}
_OF_CLASSES = {
    "log_loss": Loss(kernels.LOGISTIC, "logistic", _log_odds),
    "exponential": Loss(kernels.EXPONENTIAL, "double_logistic", _half_log_odds),
}
_MULTINOMIAL = Loss(kernels.MULTINOMIAL, "softmax")
