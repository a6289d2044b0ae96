"""Has the population changed: the population stability index of parts, and of the values of a column."""

from dataclasses import dataclass, replace
from math import fsum, log, nan

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Feature, Label

BINS = 10  # of a column of numbers, about as many rows in each before
LITTLE, MUCH = 0.1, 0.25  # of an index, by custom
HALF_A_ROW = 0.5  # is added to each part, so that one without rows has a logarithm


def stability_index(before: FloatArray, after: FloatArray) -> float:
    """Compute the population stability index of two divisions into the same parts.

    It is the sum over the parts of the difference of their fractions times the difference of the logarithms
    of these: 0 for the same fractions, and by custom little below 0.1 and much above 0.25. Both are numbers
    of rows, one for each part; half a row is added to each.

    >>> round(stability_index(np.array([50.0, 50.0]), np.array([70.0, 30.0])), 3)
    0.166
    """
    return fsum(compute_index_parts(before, after).tolist())


def compute_index_parts(before: FloatArray, after: FloatArray) -> FloatArray:
    """Compute the contribution of each part to the population stability index."""
    old, new = (_fractions(weights) for weights in (before, after))
    return np.array([(b - a) * (log(b) - log(a)) for a, b in zip(old, new, strict=True)])


def _fractions(weights: FloatArray) -> list[float]:
    added = [float(weight) + HALF_A_ROW for weight in weights]
    total = fsum(added)
    return [weight / total for weight in added]


@dataclass(frozen=True)
class ColumnProfile:
    """Row counts by part of a column, kept for indices of later rows.

    Numbers up to a border, which belongs to the part, are in one, and a last one has those above all borders.
    """

    name: str
    borders: tuple[float, ...] | None  # of numbers; None for categories
    categories: tuple[Label, ...]
    counts: tuple[int, ...]  # of each part; or of each category
    missing: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.counts) + self.missing

    def counted_by(self, other: "ColumnProfile") -> FloatArray:
        """Return counts in the order of another profile's categories; borders must be equal."""
        if self.borders is not None:
            return np.array(self.counts, np.float64)
        known = dict(zip(self.categories, self.counts, strict=True))
        return np.array([known.get(each, 0) for each in other.categories], np.float64)


def column_profile(
    feature: Feature, values: FloatArray, borders: tuple[float, ...] | None = None
) -> ColumnProfile:
    """Profile a column by category, by deciles, or by the given borders.

    >>> column_profile(Feature("age"), np.array([30.0, 40.0, 50.0, np.nan]), (35.0,))
    ColumnProfile(name='age', borders=(35.0,), categories=(), counts=(1, 2), missing=1)
    """
    known = values[~np.isnan(values)]
    missing = int(len(values) - len(known))
    if feature.kind != "numeric":
        counts = np.bincount(known.astype(np.int64), minlength=len(feature.categories))
        return ColumnProfile(feature.name, None, feature.categories, tuple(counts.tolist()), missing)
    edges = _tenths(known) if borders is None else np.array(borders, np.float64)
    counts = np.bincount(np.searchsorted(edges, known, side="left"), minlength=len(edges) + 1)
    return ColumnProfile(feature.name, tuple(edges.tolist()), (), tuple(counts.tolist()), missing)


def _tenths(known: FloatArray) -> FloatArray:
    """Return the distinct decile borders of the column."""
    steps = np.arange(1, BINS) / BINS
    return np.unique(np.quantile(known, steps, method="lower")) if len(known) else np.zeros(0)


def profile_index(before: ColumnProfile, feature: Feature, values: FloatArray) -> float:
    """Compute the population stability index of a column against an earlier profile.

    Missing values are a part of their own, and so is each category that only one of both times has. NaN if
    the column was of another kind.
    """
    if (before.borders is None) == (feature.kind == "numeric"):
        return nan
    after = column_profile(feature, values, before.borders)
    every = replace(after, categories=tuple(dict.fromkeys((*before.categories, *after.categories))))
    counts = [profile.counted_by(every) for profile in (before, after)]
    if before.missing or after.missing:
        gaps = before.missing, after.missing
        counts = [np.append(count, gap) for count, gap in zip(counts, gaps, strict=True)]
    return stability_index(*counts)


def column_index(feature: Feature, before: FloatArray, after: FloatArray) -> float:
    """Compute the population stability index by category, or by the earlier deciles."""
    return profile_index(column_profile(feature, before), feature, after)
