"""Trees whose leaves say a quantile: which one the criterion stands for, and its words.

A tree knows it by the name of its criterion: "absolute_error" is the median, "quantile 0.9" says which one.
"""

from math import isfinite

ABSOLUTE_ERROR = "absolute_error"
QUANTILE = "quantile"
MEDIAN = 0.5


def quantile_name(fraction: float) -> str:
    """The criterion of trees whose leaves say this quantile.

    >>> quantile_name(0.9)
    'quantile 0.9'
    """
    return f"{QUANTILE} {float(fraction)!r}"


def quantile_of(criterion: str) -> float | None:
    """The quantile that the leaves of a tree with this criterion say; None if they say something else.

    >>> quantile_of("absolute_error"), quantile_of("quantile 0.9"), quantile_of("squared_error")
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


def statistic_words(criterion: str) -> str:
    """What the leaves of a tree of numbers say, in words.

    >>> statistic_words("squared_error"), statistic_words("absolute_error"), statistic_words("quantile 0.9")
    ('mean', 'median', '0.9 quantile')
    """
    fraction = quantile_of(criterion)
    if fraction is None:
        return "mean"
    return "median" if fraction == MEDIAN else f"{fraction!r} quantile"
