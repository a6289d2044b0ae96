"""The formulas of the scores, each with the influence of every row: how far the row pulls the score.

The influences give the standard error, for a mean, a ratio and a ranking alike. Losses come out negated, so
that greater is always better. Predictions are (rows, classes) probabilities, or (rows, 1) numbers.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, LongArray, round_last_digits, scale_to_unit
from holdfast._text import first_rows
from holdfast.data.schema import Hazard
from holdfast.data.survival import SurvivalTimes
from holdfast.errors import DataError

# Predictions are clipped to it before taking logarithms, as in scikit-learn.
LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows that predictions are scored on, all of positive weight."""

    values: NDArray[Any]  # int32 index of the class, or float64
    weight: FloatArray
    unit: LongArray  # rows of one unit are not independent; numbered without gaps
    survival: SurvivalTimes | None = None  # of a time to an event
    hazard: Hazard | None = None  # to which predicted relative risks then refer

    @cached_property
    def n_units(self) -> int:
        """Number of independent units."""
        return int(self.unit.max()) + 1

    @cached_property
    def correction(self) -> float:
        """Small-sample factor of influences."""
        return math.sqrt(self.n_units / max(self.n_units - 1, 1))

    @cached_property
    def class_correction(self) -> FloatArray:
        """Small-sample factor of each row, by units of its own class."""
        n_classes = int(self.values.max()) + 1
        pairs = np.unique(self.unit * n_classes + self.values)
        units = np.bincount(pairs % n_classes, minlength=n_classes)
        corrections: FloatArray = np.sqrt(units / np.maximum(units - 1, 1))[self.values]
        return corrections


class Estimate(NamedTuple):
    """A score and the influence of each row, whose weighted mean is 0."""

    value: float
    influence: FloatArray
    by_class: bool = False  # whether it is computed by class


def standard_error(measured: Estimate, rows: ScoredRows) -> float:
    """Compute the standard error of a score over independent units; 0 for a single one."""
    if rows.n_units == 1:
        return 0.0
    correction = rows.class_correction if measured.by_class else rows.correction
    pull = np.bincount(rows.unit, rows.weight * measured.influence * correction)
    return float(np.sqrt((pull**2).sum()) / rows.weight.sum())


# -- classes ----------------------------------------------------------------------------------------------


def accuracy(probabilities: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the fraction of rows whose most likely class (the first in a tie) is right."""
    return weighted_mean(_hits(probabilities, rows), rows)


def balanced_accuracy(probabilities: FloatArray, rows: ScoredRows) -> Estimate:
    """Average the accuracy over the classes that occur."""
    hits = _hits(probabilities, rows)
    totals = np.bincount(rows.values, rows.weight)
    present = totals > 0
    accuracies = np.bincount(rows.values, rows.weight * hits) / np.where(present, totals, 1.0)
    scale = rows.weight.sum() / (present.sum() * totals[rows.values])
    influence = (hits - accuracies[rows.values]) * scale
    return Estimate(float(accuracies[present].mean()), influence, by_class=True)


def auc(probabilities: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the probability that a row of the class ranks above a row outside it; ties count half.

    Of two classes it is that of the second; of more, the mean over all classes present. With a single class
    it is 0.5. The influences are the placements of
    DeLong, DeLong and Clarke-Pearson (1988).
    """
    present = np.flatnonzero(np.bincount(rows.values))
    if len(present) < 2:
        return Estimate(0.5, np.zeros(len(rows.values)), by_class=True)
    classes = [1] if probabilities.shape[1] == 2 else present
    rankings = [
        rank_cases(probabilities[:, number], rows.values == number, rows.weight) for number in classes
    ]
    value = sum(ranking.value for ranking in rankings) / len(rankings)
    influence = np.sum([ranking.influence for ranking in rankings], axis=0) / len(rankings)
    return Estimate(value, influence, by_class=True)


def joint_auc(scores: FloatArray, outside: FloatArray, inside: FloatArray) -> float:
    """Compute the AUC of rows joined by score, from weights outside and inside the class.

    Equal to the last bit to `auc` of the rows themselves, if their weights are added in the same order.

    >>> joint_auc(np.array([0.2, 0.7]), np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    0.625
    """
    if not inside.any() or not outside.any():
        return 0.5
    rounded = round_last_digits(scores)
    order = rounded.argsort(kind="stable")
    in_order, place = rounded[order], np.zeros(len(order), np.int64)
    place[order[1:]] = (in_order[1:] != in_order[:-1]).cumsum()
    return _pairs_won(np.bincount(place, inside), np.bincount(place, outside))[2]


def log_loss(probabilities: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean negative log probability of the true class, clipped at `LEAST`."""
    of_true_class = probabilities[np.arange(len(rows.values)), rows.values]
    return weighted_mean(np.log(np.clip(of_true_class, LEAST, 1.0)), rows)


def brier(probabilities: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean squared error of probabilities: of the second of two classes, else summed."""
    if probabilities.shape[1] == 2:
        return weighted_mean(-np.square(probabilities[:, 1] - rows.values), rows)
    truth = rows.values[:, np.newaxis] == np.arange(probabilities.shape[1])
    return weighted_mean(-np.square(probabilities - truth).sum(axis=1), rows)


def _hits(probabilities: FloatArray, rows: ScoredRows) -> FloatArray:
    hits: BoolArray = probabilities.argmax(axis=1) == rows.values
    return hits.astype(np.float64)


def rank_cases(scores: FloatArray, inside: BoolArray, weight: FloatArray) -> Estimate:
    """Compute the probability that a row inside a class scores above one outside it."""
    # p and 1 - p differ in the last digits, and must have the same ties.
    _, place = np.unique(round_last_digits(scores), return_inverse=True)
    insiders = np.bincount(place, weight * inside)
    won, total_outside, value = _pairs_won(insiders, np.bincount(place, weight * ~inside))
    upto_in = insiders.cumsum()
    total_inside = upto_in[-1]
    let = 1.0 - (upto_in - insiders / 2) / total_inside  # fraction of pairs that each position loses
    scale = weight.sum() / np.where(inside, total_inside, total_outside)
    return Estimate(value, (np.where(inside, won[place], let[place]) - value) * scale)


def _pairs_won(insiders: NDArray[Any], outsiders: NDArray[Any]) -> tuple[FloatArray, float, float]:
    """Count pairs of a row inside and one outside the class, weights by position in ascending order.

    Returns the fraction of pairs that each position wins, the weight outside, and the fraction of all pairs.
    """
    upto = outsiders.cumsum()
    # Sums and their parts are added in one order, so that rounding does not carry a fraction past 1.
    won = (upto - outsiders / 2) / upto[-1]
    return won, upto[-1], float((insiders * won).sum() / insiders.sum())


# -- numbers ----------------------------------------------------------------------------------------------


def r2(numbers: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the coefficient of determination.

    For a constant target it is 1 for exact predictions and else 0.
    """
    predicted, truth = _scaled(numbers[:, 0], rows.values)
    misses = np.square(truth - predicted)
    mean = weighted_mean(truth, rows).value
    spread = np.square(truth - mean)
    missed, spread_out = (rows.weight * misses).sum(), (rows.weight * spread).sum()
    # By rounding, the mean of a constant such as 0.1 may differ from it, with a variance above 0.
    if spread_out == 0 or truth.min() == truth.max():
        return Estimate(float(missed == 0), np.zeros(len(truth)))
    ratio = missed / spread_out
    return Estimate(float(1.0 - ratio), (ratio * spread - misses) * (rows.weight.sum() / spread_out))


def squared_error(numbers: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean squared error."""
    return weighted_mean(-np.square(numbers[:, 0] - rows.values), rows)


def absolute_error(numbers: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean absolute error."""
    return weighted_mean(-np.abs(numbers[:, 0] - rows.values), rows)


def pinball(numbers: FloatArray, rows: ScoredRows, quantile: float) -> Estimate:
    """Compute the mean pinball loss of a quantile."""
    apart = rows.values - numbers[:, 0]
    return weighted_mean(-np.where(apart > 0, quantile * apart, (quantile - 1.0) * apart), rows)


def poisson(numbers: FloatArray, rows: ScoredRows) -> Estimate:
    """Compute the mean Poisson deviance; predictions are clipped at `LEAST` where there are events."""
    truth = rows.values
    if (negative := truth < 0).any():
        raise DataError(
            f"The Poisson deviance is for counts of at least 0, and {negative.sum()} of the {len(truth)} "
            f"targets are below, {first_rows(negative)}: score by 'squared_error' or 'absolute_error'."
        )
    some = truth > 0
    means = np.maximum(numbers[:, 0], np.where(some, LEAST, 0.0))
    surprise = truth * (np.log(np.where(some, truth, 1.0)) - np.log(np.where(some, means, 1.0)))
    # By rounding, deviances near 0 may be negative.
    return weighted_mean(-2.0 * np.maximum(surprise - truth + means, 0.0), rows)


def _scaled(predicted: FloatArray, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale both by a power of two, exactly, so that squares cannot overflow."""
    both, _ = scale_to_unit(np.stack([predicted, truth]))
    return both[0], both[1]


# -- both -------------------------------------------------------------------------------------------------


def weighted_mean(row_scores: FloatArray, rows: ScoredRows) -> Estimate:
    """Average a figure over the rows, as a score."""
    value = (rows.weight * row_scores).sum() / rows.weight.sum()
    # Rounding must not carry a mean past the extremes: it may be the end of a range.
    value = float(np.clip(value, row_scores.min(), row_scores.max()))
    return Estimate(value, row_scores - value)
