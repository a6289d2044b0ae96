"""Losses of boosting: their start, leaf values, and link from scores to predictions.

A loss is a function in `holdfast.kernels.boosting.losses`, a name, and a line in the tables at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.errors import DataError, ParameterError
from holdfast.kernels.boosting import losses as kernels
from holdfast.tree.check import Link
from holdfast.tree.stats import weighted_quantile

NumberLoss = Literal["squared_error", "absolute_error", "huber", "quantile", "poisson"]
ClassLoss = Literal["log_loss", "exponential"]
LossName = NumberLoss | ClassLoss
Best = Callable[[FloatArray, FloatArray, float], float]  # a constant, of values, weights and alpha

MOST_TARGET = 1e150  # greatest absolute target; sums of 10^12 squared residuals are finite


@dataclass(frozen=True)
class Loss:
    """A loss of target and score.

    `start` computes the constant score of least loss; None: one per class, from the class fractions.
    `leaf_value` computes the best shift of the residuals of a leaf if the loss has no second derivative;
    other losses take Newton steps.
    """

    number: int  # in the kernels
    link: Link
    start: Best | None = None
    leaf_value: Best | None = None
    is_quadratic: bool = False  # then a Newton step is exact, however long
    alpha_of_residuals: bool = False  # alpha is this quantile of the absolute residuals of every round
    check: Callable[[Target, FloatArray], None] | None = None  # raises a DataError for unsuitable targets

    @property
    def is_per_class(self) -> bool:
        """True if every class has a score, and a tree in every round."""
        return self.start is None


def make_loss(name: str, target: Target) -> Loss:
    """Make the loss of that name for the target."""
    own, others = (_CLASS_LOSSES, _NUMBER_LOSSES) if target.is_classes else (_NUMBER_LOSSES, _CLASS_LOSSES)
    if not isinstance(name, str) or name not in own:
        is_other = isinstance(name, str) and name in others
        held = "classes" if target.is_classes else "numbers"
        why = f"is not for {held}, which {target.name!r} holds" if is_other else "is unknown"
        raise ParameterError(f"loss={name!r} {why}: choose one of {sorted(own)}.")
    if (name == "log_loss" and len(target.classes) != 2) or len(target.classes) == 1:
        return _MULTINOMIAL
    if name == "exponential" and len(target.classes) > 2:
        raise ParameterError(
            f"Only binary classification is supported. loss='exponential' is for two classes, and "
            f"{target.name!r} has {len(target.classes)}: use loss='log_loss', or AdaBoostClassifier."
        )
    return own[name]


def check_magnitude(target: Target, values: NDArray[np.float64]) -> None:
    """Raise a DataError where squares of the target overflow or vanish."""
    greatest = float(np.abs(values).max())
    if greatest != 0.0 and not 1 / MOST_TARGET <= greatest <= MOST_TARGET:
        raise DataError(
            f"Boosting sums squares, and {target.name!r} has absolute values up to {greatest:g}, whose "
            "square is out of range. Measure the target in another unit, so that its greatest absolute value "
            f"is between {1 / MOST_TARGET:g} and {MOST_TARGET:g}."
        )


def _check_counts(target: Target, values: NDArray[np.float64]) -> None:
    if values.min() < 0:
        raise DataError(
            f"loss='poisson' needs targets of at least 0, and {target.name!r} goes down to {values.min():g}."
        )
    if not np.any(values > 0):
        raise DataError(f"loss='poisson' needs a target above 0, and all of {target.name!r} are 0.")


def huber_center(residuals: FloatArray, weight: FloatArray, delta: float) -> float:
    """Compute the shift of least Huber loss.

    Its derivative is piecewise linear with corners at r - delta and r + delta of every residual r: a scan
    over the corners finds its zero.
    """
    if delta <= 0.0:
        return weighted_quantile(residuals, weight, 0.5)
    corners = np.concatenate([residuals - delta, residuals + delta])
    order = np.argsort(corners, kind="stable")
    corners, changes = corners[order], np.concatenate([weight, -weight])[order]
    hessian = np.cumsum(changes)  # from each corner to the next
    steps = np.concatenate([[0.0], np.cumsum(hessian[:-1] * np.diff(corners))])
    gradient = steps - delta * weight.sum()  # at each corner
    lowest = np.flatnonzero(np.abs(gradient) <= 1e-12 * delta * weight.sum())
    if len(lowest):  # the loss is constant between these corners: the middle
        return float(corners[lowest[0]] / 2 + corners[lowest[-1]] / 2)
    place = int(np.searchsorted(gradient, 0.0))  # the gradient never falls
    return float(corners[place - 1] - gradient[place - 1] / hessian[place - 1])


def best_constant(
    loss: Loss, y: FloatArray, weight: FloatArray, alpha: float, n_classes: int
) -> FloatArray | float:
    """Compute the constant score, or scores, of least loss."""
    if loss.start is not None:
        return loss.start(y, weight, alpha)
    of_class = np.bincount(y.astype(np.int64), weight, n_classes)
    return np.asarray(np.log(np.maximum(of_class / of_class.sum(), _LEAST_FRACTION)), np.float64)


def _mean(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return float(np.average(y, weights=weight))


def _median(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return weighted_quantile(y, weight, 0.5)


def _log_mean(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return float(np.log(np.average(y, weights=weight)))


def _log_odds(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    fraction = float(np.clip(np.average(y, weights=weight), _LEAST_FRACTION, 1 - _LEAST_FRACTION))
    return float(np.log(fraction / (1 - fraction)))


def _half_log_odds(y: FloatArray, weight: FloatArray, alpha: float) -> float:
    return _log_odds(y, weight, alpha) / 2


_LEAST_FRACTION = 1e-12  # of a class without rows, so that its log odds are finite

_NUMBER_LOSSES: dict[str, Loss] = {
    "squared_error": Loss(kernels.SQUARED, "identity", _mean, is_quadratic=True),
    "absolute_error": Loss(kernels.ABSOLUTE, "identity", _median, _median),
    "huber": Loss(kernels.HUBER, "identity", _median, huber_center, alpha_of_residuals=True),
    "quantile": Loss(kernels.QUANTILE, "identity", weighted_quantile, weighted_quantile),
    "poisson": Loss(kernels.POISSON, "exp", _log_mean, check=_check_counts),
}
_CLASS_LOSSES: dict[str, Loss] = {
    "log_loss": Loss(kernels.LOGISTIC, "logistic", _log_odds),
    "exponential": Loss(kernels.EXPONENTIAL, "double_logistic", _half_log_odds),
}
_MULTINOMIAL = Loss(kernels.MULTINOMIAL, "softmax")
