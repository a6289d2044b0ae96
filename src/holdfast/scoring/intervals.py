"""Intervals that a fraction, or a mean, is likely to lie in."""

from math import inf, sqrt
from statistics import NormalDist

import numpy as np

from holdfast._arrays import FloatArray, LongArray
from holdfast._random import make_generator

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

    It reaches 0 without events, and 1 if there are only events.

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


def poisson_interval(events: float, expected: float, level: float = 0.95) -> tuple[float, float]:
    """Compute the interval of the ratio of observed to expected events, by Byar's approximation.

    >>> low, high = poisson_interval(10, 20)
    >>> f"{low:.3f} to {high:.3f}"
    '0.239 to 0.920'
    """
    if expected <= 0:
        return 0.0, inf
    reach = NormalDist().inv_cdf((1 + level) / 2) / 3
    above = events + 1
    low = 0.0 if events <= 0 else events * max(1 - 1 / (9 * events) - reach / sqrt(events), 0.0) ** 3
    return low / expected, above * (1 - 1 / (9 * above) + reach / sqrt(above)) ** 3 / expected


def t_interval(mean: float, deviation: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Compute Student's interval for a mean; infinite for fewer than two numbers.

    The deviation is the root of the mean square, as in a tree, not of the sum over n - 1.

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

    Rows are resampled in proportion to their weights, as many as the effective sample size by Kish.
    """
    total = float(weight.sum())
    n = round(total**2 / float((weight**2).sum())) if total > 0 else 0
    mean = float((values * weight).sum() / total) if total > 0 else 0.0
    deviation = sqrt(float(((values - mean) ** 2 * weight).sum() / total)) if total > 0 else 0.0
    if n < 2 or deviation == 0:
        return (-inf, inf) if n < 2 else (mean, mean)
    drawn = values[make_generator(seed).choice(len(values), (N_RESAMPLES, n), p=weight / total)]
    deviations = drawn.std(axis=1)
    known = deviations > 0
    pivots = (drawn[known].mean(axis=1) - mean) / deviations[known]
    low, high = np.quantile(pivots, [0.5 + level / 2, 0.5 - level / 2])
    return mean - float(low) * deviation, mean - float(high) * deviation


# -- Effective sample sizes of weights and groups ------------------------------------------------


def design_effect(values: FloatArray, weight: FloatArray, groups: LongArray | None) -> float:
    """Compute the design effect of weights and groups, at least 1.

    `values` is (rows, 1) numbers, or (rows, classes) with a 1 for the class of each row. Weights count by
    Kish: the mean of their squares over the square of their mean. Groups count by the variance of
    their sums relative to that of independent rows. A group of equal rows counts as one row.

    >>> heads = np.array([[1.0], [1.0], [0.0], [0.0]])
    >>> design_effect(heads, np.ones(4), None), design_effect(heads, np.ones(4), np.array([0, 0, 1, 1]))
    (1.0, 2.0)
    """
    if not weight.max(initial=0.0) > 0:
        return 1.0
    # The scale does not matter, and squares of extreme numbers would overflow or vanish.
    values, weight = scale_to_unit(values)[0], scale_to_unit(weight)[0]
    total = float(weight.sum())
    of_weights = len(weight) * float((weight**2).sum()) / total**2
    if groups is None:
        return max(1.0, of_weights)
    group = np.unique(groups, return_inverse=True)[1]
    in_group = np.bincount(group, weight)
    # The upper bound: as if all rows of a group were one.
    most = len(weight) * float((in_group**2).sum()) / total**2
    rest = values - (weight[:, None] * values).sum(axis=0) / total
    alone = float(np.square(weight[:, None] * rest).sum())
    n_groups = len(in_group)
    if n_groups < 2 or not alone > 0:
        return max(1.0, most)
    sums = [np.bincount(group, weight * column) for column in rest.T]
    together = n_groups / (n_groups - 1) * float(np.square(sums).sum())
    return float(np.clip(of_weights * together / alone, 1.0, max(1.0, most)))


def scale_to_unit(values: FloatArray) -> tuple[FloatArray, int]:
    """Scale values by a power of two to a greatest value in [0.5, 1); return the exponent, too.

    >>> scale_to_unit(np.array([12.0, -3.0]))
    (array([ 0.75  , -0.1875]), 4)
    """
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent
