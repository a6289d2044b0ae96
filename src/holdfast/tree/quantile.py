"""Trees whose leaves say a quantile: which one the criterion stands for, and its words.

A tree knows it by the name of its criterion: "absolute_error" is the median, "quantile 0.9" says which one.
"""

from math import isfinite

import numpy as np

from holdfast.arrays import FloatArray

ABSOLUTE_ERROR = "absolute_error"
QUANTILE = "quantile"
MEDIAN = 0.5


def format_quantile_name(fraction: float) -> str:
    """Return the criterion name of trees that predict this quantile.

    >>> format_quantile_name(0.9)
    'quantile 0.9'
    """
    return f"{QUANTILE} {float(fraction)!r}"


def parse_quantile(criterion: str) -> float | None:
    """Return the quantile of a criterion name; None if it is not a quantile criterion.

    >>> parse_quantile("absolute_error"), parse_quantile("quantile 0.9"), parse_quantile("squared_error")
    (0.5, 0.9, None)
    """
    if criterion == ABSOLUTE_ERROR:
        return MEDIAN
    name, _, text = criterion.partition(" ")
    if name != QUANTILE or not text:
        return None
    try:
        fraction = float(text)
    except ValueError:
        return None
    return fraction if isfinite(fraction) and 0.0 < fraction < 1.0 else None


def format_statistic(criterion: str) -> str:
    """Name the statistic that the leaves of a regression tree predict.

    >>> format_statistic("absolute_error"), format_statistic("quantile 0.9")
    ('median', '0.9 quantile')
    """
    fraction = parse_quantile(criterion)
    if fraction is None:
        return "mean"
    return "median" if fraction == MEDIAN else f"{fraction!r} quantile"


def weighted_quantile(values: FloatArray, weight: FloatArray, fraction: float) -> float:
    """Compute a weighted quantile, interpolated half-way where it falls between two values.

    The one definition of a quantile here: of leaves, of boosting, of scores. Any value between the two loses
    as little; half-way makes the median of two rows their mean.

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
