"""Which decision threshold costs least, on rows that the model has not seen."""

import math
from dataclasses import dataclass

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, round_last_digits
from holdfast._text import label_text, quoted
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.scoring.formulas import Estimate, ScoredRows, weighted_mean
from holdfast.tree.monotone import REACHED, compute_threshold


def threshold_costs(
    probabilities: FloatArray, is_positive: BoolArray, weight: FloatArray, losses: FloatArray, positive: int
) -> tuple[FloatArray, FloatArray]:
    """Compute the cost per row of thresholds midway between probabilities, and beyond all of them.

    Returns the thresholds, ascending and strictly between 0 and 1, and their costs.
    `probabilities` are those of the class `positive`; a row with at least the threshold is taken for it.

    >>> levels, truth, ones = np.array([0.1, 0.4, 0.6]), np.array([False, True, True]), np.ones(3)
    >>> thresholds, costs = threshold_costs(levels, truth, ones, np.array([[0.0, 1.0], [4.0, 0.0]]), 1)
    >>> thresholds.round(3).tolist(), costs.round(3).tolist()
    ([0.05, 0.25, 0.5, 0.8], [0.333, 0.0, 1.333, 2.667])
    """
    levels, place = np.unique(round_last_digits(probabilities), return_inverse=True)
    missed = np.bincount(place, weight * is_positive) * losses[positive, 1 - positive]
    wrongly = np.bincount(place, weight * ~is_positive) * losses[1 - positive, positive]
    # At threshold number k the k lowest probabilities fall short of it.
    total = np.append(0.0, np.cumsum(missed)) + np.append(np.cumsum(wrongly[::-1])[::-1], 0.0)
    ends = np.concatenate([[0.0], levels, [1.0]])
    thresholds = (ends[:-1] + ends[1:]) / 2
    inside = (thresholds > 0.0) & (thresholds < 1.0)
    return thresholds[inside], round_last_digits(total[inside] / weight.sum())


def cheapest_threshold(thresholds: FloatArray, costs: FloatArray, losses: FloatArray, positive: int) -> float:
    """Return the threshold of least cost; of several, the nearest to the theoretical one."""
    best = thresholds[costs == costs.min()]
    return float(best[np.abs(best - compute_threshold(losses, positive)).argmin()])


# -- What decisions cost or bring ----------------------------------------------------------------------------

NET_BENEFIT = "net_benefit"
_FORM = "'net_benefit@0.2', or 'net_benefit@0.2:CLASS' for another class"


@dataclass(frozen=True)
class ExpectedLoss:
    """Mean loss of predicted classes, negated; rows of the matrix are true classes."""

    losses: tuple[tuple[float, ...], ...]

    def __call__(self, labels: FloatArray, rows: ScoredRows) -> Estimate:
        """Of rows with a 1 for the class that is predicted."""
        losses = np.array(self.losses)
        return weighted_mean(-losses[rows.values, labels.argmax(axis=1)], rows)


@dataclass(frozen=True)
class NetBenefit:
    """Net benefit at a threshold: true positives minus false ones at its odds, per row.

    Who acts at a probability of 0.2 takes four false alarms for one hit: a false one costs a quarter of it.
    """

    threshold: float
    positive: int

    def title(self, target: Target) -> str:
        """The name shown to readers."""
        return f"net benefit of {label_text(target.classes[self.positive])} at {self.threshold:g}"

    def __call__(self, probabilities: FloatArray, rows: ScoredRows) -> Estimate:
        """Of rows with the probabilities of the classes."""
        acted = probabilities[:, self.positive] >= self.threshold - REACHED
        price = self.threshold / (1.0 - self.threshold)
        return weighted_mean(np.where(acted, np.where(rows.values == self.positive, 1.0, -price), 0.0), rows)


def make_net_benefit(name: str, target: Target) -> NetBenefit:
    """Make the net benefit for a name such as "net_benefit@0.2".

    >>> make_net_benefit("net_benefit@0.2:bad", Target(classes=("bad", "good")))
    NetBenefit(threshold=0.2, positive=0)
    """
    if not target.is_classes:
        raise ParameterError(f"scoring={name!r} is for classes, and the target {target.name!r} is a number.")
    number, _, label = name.removeprefix(f"{NET_BENEFIT}@").partition(":")
    try:
        threshold = float(number)
    except ValueError:
        threshold = math.nan
    if not 0.0 < threshold < 1.0:
        raise ParameterError(
            f"scoring={name!r} has no threshold between 0 and 1, from which on one acts: write {_FORM}."
        )
    names = [str(each) for each in target.classes]
    if label and label not in names:
        raise ParameterError(f"scoring={name!r} names the class {label!r}, and there are {quoted(names)}.")
    if not label and len(names) != 2:
        raise ParameterError(f"scoring={name!r} must name one of {len(names)} classes: write {_FORM}.")
    usual = 1 if target.positive is None else target.class_place(target.positive)
    return NetBenefit(threshold, names.index(label) if label else usual)
