"""Intervals that a fraction, or a mean, is likely to lie in."""

from math import sqrt
from statistics import NormalDist


def wilson_interval(count: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a fraction of which `count` of `n` were seen; 0 to 1 if none were.

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
