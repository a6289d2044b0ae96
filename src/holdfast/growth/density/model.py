"""What a group of unlabelled rows looks like: a Gaussian for its numbers, frequencies for its categories."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.growth.density import NO_WEIGHT, DensityRows

HALF = 0.5  # rows that every category is given beforehand, so that none is impossible
LEAST_EIGENVALUE = 1e-6  # of correlations taken from different rows, which need not fit together
LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Sums:
    """Sufficient statistics of several groups; the first axis is the group."""

    weight: FloatArray  # (groups,)
    count: FloatArray  # (groups,) rows
    known: FloatArray  # (groups, numeric) weight of the known values
    total: FloatArray  # (groups, numeric)
    square: FloatArray  # (groups, numeric)
    counts: FloatArray  # (groups, codes)
    pairs: FloatArray | None  # (groups, 3, numeric, numeric) products, totals, weights where both are known

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> "Sums":
        """Apply a function to every array."""
        pairs = None if self.pairs is None else change(self.pairs)
        parts = (self.weight, self.count, self.known, self.total, self.square, self.counts)
        weight, count, known, total, square, counts = map(change, parts)
        return Sums(weight, count, known, total, square, counts, pairs)

    def without(self, other: "Sums") -> "Sums":
        """Subtract the statistics of the rows that the other holds."""
        pairs = None if self.pairs is None or other.pairs is None else self.pairs - other.pairs
        return Sums(
            self.weight - other.weight,
            self.count - other.count,
            self.known - other.known,
            self.total - other.total,
            self.square - other.square,
            self.counts - other.counts,
            pairs,
        )


def add_up_groups(rows: DensityRows, taken: IntArray, group: LongArray, n_groups: int, *, full: bool) -> Sums:
    """Compute the statistics of the selected rows by group."""
    numbers, weight = rows.numbers[taken], rows.weight[taken]
    known = ~np.isnan(numbers)
    filled = np.where(known, numbers, 0.0)
    counts = np.zeros((n_groups, rows.n_codes))
    for code in rows.codes[taken].T:
        np.add.at(counts, (group[code >= 0], code[code >= 0]), weight[code >= 0])
    by_group = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[by_group], np.arange(n_groups + 1))
    parts = [by_group[ends[i] : ends[i + 1]] for i in range(n_groups)]
    n_numeric = numbers.shape[1]
    pairs = np.empty((n_groups, 3, n_numeric, n_numeric)) if full else None
    known_sum, total, square = (np.empty((n_groups, n_numeric)) for _ in range(3))
    for i, part in enumerate(parts):
        there, values, heavy = known[part].astype(np.float64), filled[part], filled[part] * weight[part, None]
        known_sum[i], total[i] = weight[part] @ there, weight[part] @ values
        square[i] = (heavy * values).sum(axis=0)
        if pairs is not None:
            pairs[i] = heavy.T @ values, heavy.T @ there, (there * weight[part, None]).T @ there
    return Sums(
        _summed(group, weight, n_groups),
        _summed(group, rows.repeats[taken], n_groups),
        known_sum,
        total,
        square,
        counts,
        pairs,
    )


@dataclass(frozen=True)
class Family:
    """The family of models of a group."""

    measurement_variance: FloatArray  # (numeric,)
    start: LongArray  # (categorical + 1,)
    full: bool = False
    shrinkage: float | None = None  # of the correlations; None: by how uncertain they are

    def log_likelihood(self, sums: Sums) -> FloatArray:
        """Log likelihood of every group, up to a constant of the same rows."""
        variance = _moments(sums)[1] + self.measurement_variance
        total = -0.5 * (sums.known * np.log(variance)).sum(axis=1)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            counts = sums.counts[:, first:last]
            total = total + _x_log_x(counts).sum(axis=1) - _x_log_x(counts.sum(axis=1))
        if self.full and sums.pairs is not None and len(self.measurement_variance) > 1:
            before = np.linalg.eigvalsh(correlations(sums, variance))
            after = self._shrunk(before, self.intensity(sums, variance))
            fit = np.log(after) + before / after - 1.0
            # Exact where nothing is missing; else the pairs known on average.
            total = total - 0.5 * _pair_weight(sums) * fit.sum(axis=1)
        return np.asarray(total, np.float64)

    def intensity(self, sums: Sums, variance: FloatArray) -> FloatArray:
        """Shrinkage of the correlations of every group, from 0 (none) to 1 (independence).

        By itself the intensity of Schaefer and Strimmer: the sum of the variances of the correlations over
        the sum of their squares. The variance is that of Gaussian rows, (1 - r^2)^2 / (n - 1).
        """
        if self.shrinkage is not None:
            return np.full(len(sums.weight), self.shrinkage)
        r = correlations(sums, variance)
        apart = ~np.eye(r.shape[1], dtype=np.bool_)
        squares = r[:, apart] ** 2
        uncertain = ((1.0 - np.minimum(squares, 1.0)) ** 2).sum(axis=1) / np.maximum(
            _pair_weight(sums) - 1.0, NO_WEIGHT
        )
        found = np.divide(uncertain, squares.sum(axis=1), where=squares.sum(axis=1) > 0, out=np.ones(len(r)))
        return np.asarray(np.clip(found, 0.0, 1.0), np.float64)

    def _shrunk(self, eigenvalues: NDArray[Any], intensity: FloatArray) -> FloatArray:
        shrunk = (1.0 - intensity)[:, None] * eigenvalues + intensity[:, None]
        lowest = shrunk.min(axis=1)
        more = np.where(
            lowest < LEAST_EIGENVALUE, (LEAST_EIGENVALUE - lowest) / (1.0 - np.minimum(lowest, 0.5)), 0.0
        )
        return np.asarray((1.0 - more)[:, None] * shrunk + more[:, None], np.float64)

    def models(self, sums: Sums) -> list["Model"]:
        """Fit the model of every group."""
        mean, variance = _moments(sums)
        known = sums.known > NO_WEIGHT
        mean = np.where(known, mean, 0.0)
        variance = np.where(known, variance, 1.0) + self.measurement_variance
        frequency = np.empty_like(sums.counts)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            counts = sums.counts[:, first:last]
            frequency[:, first:last] = (counts + HALF) / (counts + HALF).sum(axis=1, keepdims=True)
        covariance = variance[:, :, None] * np.eye(len(self.measurement_variance))
        if self.full and sums.pairs is not None and len(self.measurement_variance) > 1:
            r = correlations(sums, variance)
            intensity = self.intensity(sums, variance)
            values, vectors = np.linalg.eigh(r)
            after = self._shrunk(values, intensity)
            deviation = np.sqrt(variance)
            covariance = np.einsum("gij,gj,gkj->gik", vectors, after, vectors)
            covariance = covariance * deviation[:, :, None] * deviation[:, None, :]
        return [
            Model(*parts, self.measurement_variance, self.full)
            for parts in zip(mean, covariance, np.log(frequency), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Model:
    """A Gaussian with category frequencies, in standard units."""

    mean: FloatArray  # (numeric,)
    covariance: FloatArray  # (numeric, numeric)
    log_frequency: FloatArray  # (codes,)
    measurement_variance: FloatArray  # (numeric,)
    full: bool

    def log_density(self, numbers: FloatArray, codes: IntArray, *, rounded: bool = False) -> FloatArray:
        """Log density of every row; missing values are left out.

        With `rounded` it is the mean over all numbers that a recorded one stands for.
        """
        within = self.measurement_variance if rounded else np.zeros(len(self.mean))
        total = self._of_full(numbers, within) if self.full else self._of_diagonal(numbers, within)
        for code in codes.T:
            total += np.where(code >= 0, np.append(self.log_frequency, 0.0)[code], 0.0)
        return total

    def _of_diagonal(self, numbers: FloatArray, within: FloatArray) -> FloatArray:
        variance = np.diagonal(self.covariance)
        parts = (numbers - self.mean) ** 2 / variance + (within / variance + np.log(variance) + LOG_2_PI)
        return np.asarray(-0.5 * np.nansum(parts, axis=1), np.float64)

    def _of_full(self, numbers: FloatArray, within: FloatArray) -> FloatArray:
        total = np.empty(len(numbers))
        patterns, which = np.unique(~np.isnan(numbers), axis=0, return_inverse=True)
        for i, known in enumerate(patterns):
            rows = np.flatnonzero(which == i)
            part = self.covariance[np.ix_(known, known)]
            inverse = np.linalg.inv(part)
            shift = numbers[rows][:, known] - self.mean[known]
            square = np.einsum("ni,ij,nj->n", shift, inverse, shift) + np.diagonal(inverse) @ within[known]
            total[rows] = -0.5 * (square + np.linalg.slogdet(part)[1] + known.sum() * LOG_2_PI)
        return total


def _summed(group: LongArray, values: NDArray[Any], n_groups: int) -> FloatArray:
    return np.bincount(group, values, n_groups).astype(np.float64)


def correlations(sums: Sums, variance: FloatArray) -> FloatArray:
    """Estimate correlations of every group from rows where both numbers are known."""
    assert sums.pairs is not None
    product, total, weight = (sums.pairs[:, i] for i in range(3))
    weight = np.maximum(weight, NO_WEIGHT)
    covariance = product / weight - (total / weight) * (total.swapaxes(1, 2) / weight)
    deviation = np.sqrt(variance)
    found = np.clip(covariance / (deviation[:, :, None] * deviation[:, None, :]), -1.0, 1.0)
    diagonal = np.arange(found.shape[1])
    found[:, diagonal, diagonal] = 1.0
    return np.asarray(found, np.float64)


def _pair_weight(sums: Sums) -> FloatArray:
    assert sums.pairs is not None
    apart = ~np.eye(sums.pairs.shape[2], dtype=np.bool_)
    return np.asarray(sums.pairs[:, 2][:, apart].mean(axis=1), np.float64)


def _moments(sums: Sums) -> tuple[FloatArray, FloatArray]:
    weight = np.maximum(sums.known, NO_WEIGHT)
    mean = sums.total / weight
    return mean, np.maximum(sums.square / weight - mean * mean, 0.0)


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(np.where(x > NO_WEIGHT, x * np.log(np.maximum(x, NO_WEIGHT)), 0.0), np.float64)
