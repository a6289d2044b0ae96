"""Has the population changed: the population stability index of parts, and of the values of a column."""

from math import fsum, log

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Feature

BINS = 10  # of a column of numbers, about as many rows in each before
HALF_A_ROW = 0.5  # is added to each part, so that one without rows has a logarithm


def stability_index(before: FloatArray, after: FloatArray) -> float:
    """The population stability index of two divisions of rows into the same parts.

    It is the sum over the parts of the difference of their fractions times the difference of the logarithms
    of these: 0 for the same fractions, and by custom little below 0.1 and much above 0.25. Both are numbers
    of rows, one for each part; half a row is added to each.

    >>> round(stability_index(np.array([50.0, 50.0]), np.array([70.0, 30.0])), 3)
    0.166
    """
    return fsum(index_parts(before, after).tolist())


def index_parts(before: FloatArray, after: FloatArray) -> FloatArray:
    """What each part adds to the population stability index."""
    old, new = (_fractions(weights) for weights in (before, after))
    return np.array([(b - a) * (log(b) - log(a)) for a, b in zip(old, new, strict=True)])


def _fractions(weights: FloatArray) -> list[float]:
    added = [float(weight) + HALF_A_ROW for weight in weights]
    total = fsum(added)
    return [weight / total for weight in added]


def column_index(feature: Feature, before: FloatArray, after: FloatArray) -> float:
    """The population stability index of a column: by category, or by tenths of the numbers before.

    Missing values are a part of their own.
    """
    if feature.kind == "numeric":
        known = before[~np.isnan(before)]
        steps = np.arange(1, BINS) / BINS
        edges = np.unique(np.quantile(known, steps, method="lower")) if len(known) else np.zeros(0)
        n_parts = len(edges) + 1
        parts = [np.searchsorted(edges, column[~np.isnan(column)], side="left") for column in (before, after)]
    else:
        n_parts = len(feature.categories)
        parts = [column[~np.isnan(column)].astype(np.int64) for column in (before, after)]
    counts = [np.bincount(part, minlength=n_parts).astype(float) for part in parts]
    gaps = [float(np.isnan(column).sum()) for column in (before, after)]
    if any(gaps):
        counts = [np.append(count, gap) for count, gap in zip(counts, gaps, strict=True)]
    return stability_index(*counts)
