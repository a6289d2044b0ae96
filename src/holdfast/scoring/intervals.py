"""Intervals that a fraction, or a mean, is likely to lie in."""

from math import inf, sqrt
from statistics import NormalDist

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.random_streams import generator

N_RESAMPLES = 2000


def wilson_interval(count: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's interval for a proportion; 0 to 1 without observations.

    >>> low, high = wilson_interval(17, 44)
    >>> f"{low:.3f} to {high:.3f}"
    '0.257 to 0.534'
    """
    if n <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    fraction = count / n
    middle = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(fraction * (1 - fraction) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def jeffreys_interval(count: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Compute Jeffreys' interval for a proportion (uninformative prior).

    It reaches 0 if none were seen, and 1 if all were.

    >>> low, high = jeffreys_interval(17, 44)
    >>> f"{low:.3f} to {high:.3f}"
    '0.253 to 0.534'
    """
    if n <= 0:
        return 0.0, 1.0
    from scipy.special import betaincinv

    seen, not_seen, tail = count + 0.5, n - count + 0.5, (1 - level) / 2
    low = 0.0 if count <= 0 else float(betaincinv(seen, not_seen, tail))
    return low, 1.0 if count >= n else float(betaincinv(seen, not_seen, 1 - tail))


def t_interval(mean: float, deviation: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Compute Student's interval for a mean; infinite for fewer than two numbers.

    The deviation is the root of the mean square, as a tree knows it, not of the sum over n - 1.

    >>> low, high = t_interval(10.0, 2.0, 5)
    >>> f"{low:.2f} to {high:.2f}"
    '7.22 to 12.78'
    """
    if n < 2:
        return -inf, inf
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.5 + level / 2)) * deviation / sqrt(n - 1)
    return mean - half, mean + half


def bootstrap_interval(
    values: FloatArray, weight: FloatArray, level: float = 0.95, *, seed: int = 0
) -> tuple[float, float]:
    """Compute the bootstrap-t interval for a mean, which allows for skewness.

    Rows are drawn again in proportion to their weights, so many times as the numbers are worth by Kish.
    """
    total = float(weight.sum())
    n = round(total**2 / float((weight**2).sum())) if total > 0 else 0
    mean = float((values * weight).sum() / total) if total > 0 else 0.0
    deviation = sqrt(float(((values - mean) ** 2 * weight).sum() / total)) if total > 0 else 0.0
    if n < 2 or deviation == 0:
        return (-inf, inf) if n < 2 else (mean, mean)
    drawn = values[generator(seed).choice(len(values), (N_RESAMPLES, n), p=weight / total)]
    deviations = drawn.std(axis=1)
    known = deviations > 0
    pivots = (drawn[known].mean(axis=1) - mean) / deviations[known]
    low, high = np.quantile(pivots, [0.5 + level / 2, 0.5 - level / 2])
    return mean - float(low) * deviation, mean - float(high) * deviation
