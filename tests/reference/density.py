"""What a question about unlabelled rows gains, by the definition: densities row by row, no sums kept.

Every value is known only to within a step, so that its log density is the mean over a measurement variance b
around it: of a Gaussian of variance s2, the log density at the value minus b / (2 s2).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True, eq=False)
class Rows:
    """Standardised numbers and codes of categories; NaN and -1 where missing."""

    numbers: np.ndarray  # (rows, numeric)
    codes: np.ndarray  # (rows, categorical)
    weight: np.ndarray
    measurement_variance: np.ndarray  # (numeric,)


def log_likelihood(rows: Rows, inside: np.ndarray) -> float:
    """Weighted log likelihood of these rows under the Gaussians and frequencies fitted to them."""
    total = 0.0
    for column, measurement_variance in zip(rows.numbers.T, rows.measurement_variance, strict=True):
        known = inside & ~np.isnan(column)
        if known.any():
            values, weight = column[known], rows.weight[known]
            mean = np.average(values, weights=weight)
            variance = np.average((values - mean) ** 2, weights=weight) + measurement_variance
            densities = norm.logpdf(values, mean, np.sqrt(variance)) - measurement_variance / (2 * variance)
            total += float(weight @ densities)
    for column in rows.codes.T:
        known = inside & (column >= 0)
        for code in np.unique(column[known]):
            weight = rows.weight[known & (column == code)].sum()
            total += weight * np.log(weight / rows.weight[known].sum())
    return total


def gain(rows: Rows, goes_left: np.ndarray) -> float:
    """How much more likely the rows are as two groups than as one."""
    everywhere = np.ones(len(goes_left), bool)
    parts = log_likelihood(rows, goes_left) + log_likelihood(rows, ~goes_left)
    return parts - log_likelihood(rows, everywhere)


@dataclass(frozen=True)
class Question:
    """Values up to `cut`, or the categories in `cut`, go left."""

    gain: float
    cut: float | frozenset[int]
    missing_left: bool


def best_threshold(rows: Rows, asked: np.ndarray, min_rows: int) -> Question | None:
    """The best of all thresholds of one column, missing values on the right if that makes no difference."""
    values = np.unique(asked[~np.isnan(asked)])
    found = [
        Question(gain(rows, left), float(cut), missing_left)
        for missing_left in ((False, True) if np.isnan(asked).any() else (False,))
        for cut in values[:-1]
        for left in [(asked <= cut) | (np.isnan(asked) & missing_left)]
        if min(left.sum(), (~left).sum()) >= min_rows
    ]
    return _first_best(found)


def best_set(rows: Rows, asked: np.ndarray, min_rows: int) -> Question | None:
    """The best of all sets of the categories that are there; the first of them is always on the left."""
    there = sorted(set(asked[asked >= 0].tolist()))
    found = []
    for missing_left in (False, True) if (asked < 0).any() else (False,):
        for size in range(len(there) - 1):
            for others in combinations(there[1:], size):
                members = frozenset({there[0], *others})
                left = np.isin(asked, list(members)) | ((asked < 0) & missing_left)
                if min(left.sum(), (~left).sum()) >= min_rows:
                    found.append(Question(gain(rows, left), members, missing_left))
    return _first_best(found)


def _first_best(found: list[Question]) -> Question | None:
    best = None
    for question in found:
        if best is None or question.gain > best.gain + 1e-9:
            best = question
    return best
