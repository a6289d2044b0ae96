"""What density trees fit to rows: standard units, the statistics of groups, and the model of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze
from holdfast.data.binning import write_dense_ranks
from holdfast.data.folds import draw_positions, select_below
from holdfast.data.row_keys import group_copies, unit_keys
from holdfast.data.row_order import MOST_ROWS, find_fixed_order
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions
from holdfast.growth.sample import scale_importance, split_weight
from holdfast.kernels.growth.density import NO_WEIGHT, DensityRows

LEAST_VARIANCE = 1e-6  # fraction of a column's variance that every group keeps at least
LEAST_STEP = 1e-9  # fraction of a column's range; closer values differ by rounding only
FINE = 10  # steps per distinct value above which equal values are taken for copies
HALF = 0.5  # pseudo-count of every category, so that none has probability 0
LEAST_EIGENVALUE = 1e-6  # correlations from different rows may not form a positive definite matrix
LOG_2_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class StandardUnits:
    """Units of the columns: mean and standard deviation of numbers, codes of categories.

    A number recorded in steps stands for all numbers within a step; their variance is the measurement
    variance.
    """

    numeric: LongArray  # numeric features with at least two values
    categorical: LongArray  # nominal and ordered features, without custom features
    centre: FloatArray  # (numeric,) mean
    scale: FloatArray  # (numeric,)
    measurement_variance: FloatArray  # (numeric,) variance within one step, in standard units
    start: LongArray  # (categorical + 1,) where the categories of each begin

    def numbers(self, columns: tuple[FloatArray, ...]) -> FloatArray:
        """Numeric columns in standard units; NaN where missing."""
        numbers = np.empty((len(columns[0]), len(self.numeric)))
        for k, feature in enumerate(self.numeric.tolist()):
            # Halves, so that the difference of two huge numbers stays finite.
            numbers[:, k] = (columns[feature] / 2 - self.centre[k] / 2) / self.scale[k] * 2
        return numbers

    def codes(self, columns: tuple[FloatArray, ...]) -> IntArray:
        """Categorical columns as positions among all their categories; -1 where missing."""
        codes = np.empty((len(columns[0]), len(self.categorical)), np.int32)
        for k, feature in enumerate(self.categorical.tolist()):
            column = columns[feature]
            codes[:, k] = np.where(np.isnan(column), -1, column + self.start[k])
        return codes


def fit_units(table: Table, weight: FloatArray) -> StandardUnits:
    """Fit the units to all rows of a table."""
    features = table.schema.features
    of_numbers = [index for index, feature in enumerate(features) if feature.kind == "numeric"]
    fitted = {index: _fit_column(table.columns[index], weight) for index in of_numbers}
    numeric = [index for index in of_numbers if fitted[index] is not None]
    centre, scale, within = np.array([fitted[index] for index in numeric], np.float64).reshape(-1, 3).T
    categorical = [index for index, feature in enumerate(features) if feature.kind in ("nominal", "ordered")]
    sizes = [len(features[index].categories) for index in categorical]
    start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return StandardUnits(
        numeric=np.array(numeric, np.int64),
        categorical=np.array(categorical, np.int64),
        centre=centre,
        scale=scale,
        measurement_variance=within,
        start=start.astype(np.int64),
    )


def _fit_column(column: FloatArray, weight: FloatArray) -> tuple[float, float, float] | None:
    """Return mean, standard deviation and scale_importance measurement variance; None without two values."""
    known = ~np.isnan(column)
    values, steps = np.unique(column[known], return_inverse=True)
    if len(values) < 2:
        return None
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.ldexp(values, -exponent)
    of_value = np.bincount(steps, weight[known])
    mean = float(np.average(values, weights=of_value))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=of_value)))
    if deviation == 0.0:  # two values that differ in the last digit only
        return None
    gaps = np.diff(values)
    step = float(gaps[gaps > LEAST_STEP * (values[-1] - values[0])].min()) / deviation
    # Numbers spread evenly over a step have 1/12 of its square as their variance.
    return (
        float(np.ldexp(mean, exponent)),
        float(np.ldexp(deviation, exponent)),
        max(step * step / 12, LEAST_VARIANCE),
    )


# -- rows in canonical order -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """Rows in canonical order and standard units, copies joined."""

    table: Table
    units: StandardUnits
    rows: DensityRows
    ranks: IntArray  # (features, rows) of the values of each column; -1 where missing
    copy_numbers: LongArray | None  # equal for copies of one row; None if no row is a copy

    @property
    def schema(self) -> Schema:
        """The schema of the table."""
        return self.table.schema

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return self.table.n_rows if self.copy_numbers is None else int(self.copy_numbers.max()) + 1


def prepare_rows(table: Table) -> UnlabelledRows:
    """Sort the rows of a table and convert them to standard units."""
    table, copies = _sort_rows(table)
    repeats, importance = split_weight(table.weight, table.n_rows)
    importance, _ = scale_importance(importance, repeats)
    weight = repeats * (importance / np.average(importance, weights=repeats))
    units = fit_units(table, weight)
    rows = DensityRows(
        numbers=freeze(units.numbers(table.columns)),
        codes=freeze(units.codes(table.columns)),
        n_codes=int(units.start[-1]),
        weight=freeze(weight),
        repeats=freeze(repeats.astype(np.int64)),
        measurement_variance=freeze(units.measurement_variance),
    )
    ranks = np.empty((table.n_features, table.n_rows), np.int32)
    for feature, column in enumerate(table.columns):
        write_dense_ranks(column, ranks[feature])
    return UnlabelledRows(table, units, rows, freeze(ranks), copies)


def draw_holdout(data: UnlabelledRows, fraction: float, seed: int) -> BoolArray:
    """Draw the held-out rows: about this fraction, by the seed."""
    strata = np.zeros(data.table.n_rows, np.int64)
    keys = unit_keys(data.table, group_copies(data.table, data.copy_numbers))
    return select_below(draw_positions(strata, keys, (seed,)), fraction)


def _sort_rows(table: Table) -> tuple[Table, LongArray | None]:
    """Sort rows; whole weights become copies, other copies are joined into one row."""
    order = find_fixed_order(table)
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    table = table.subset(order)
    kind, is_copy = _number_distinct(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if not are_repetitions(weight) or weight[~is_copy].sum() > max(MOST_ROWS, table.n_rows):
        numbers = np.where(is_copy, kind, kind.max() + 1 + np.arange(len(kind)))
        return table, np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    is_first = np.append(True, kind[1:] != kind[:-1])
    times = np.where(is_copy, is_first, weight).astype(np.int64)
    rows = np.repeat(np.arange(table.n_rows), times)
    joint = np.where(is_copy, np.bincount(kind, weight)[kind], 1.0)[rows]
    columns = tuple(column[rows] for column in table.columns)
    identity = None if table.identity is None else table.identity[rows]
    return Table(table.schema, columns, table.target[rows], joint, identity), None


def _number_distinct(table: Table) -> tuple[LongArray, BoolArray]:
    """Number the distinct rows of sorted rows, and flag the rows that are copies.

    Equal rows are copies if a value of a finely measured column occurs in no other row. Otherwise they are
    observations that happen to be equal, as in a table of categories or ages.
    """
    differs = np.zeros(table.n_rows, np.bool_)
    ranks = np.empty((table.n_features, table.n_rows), np.int32)
    for column, rank in zip(table.columns, ranks, strict=True):
        write_dense_ranks(column, rank)
        differs[1:] |= np.diff(rank) != 0
    kind = np.cumsum(differs)
    first = np.append(True, differs[1:])
    is_copy = np.zeros(table.n_rows, np.bool_)
    for feature, column, rank in zip(table.schema.features, table.columns, ranks, strict=True):
        if feature.kind == "numeric" and _is_fine(column):
            n_kinds = np.bincount(rank[first & (rank >= 0)], minlength=int(rank.max()) + 1)
            is_copy |= (rank >= 0) & (np.append(n_kinds, 0)[rank] == 1)
    return kind.astype(np.int64), is_copy


def _is_fine(column: FloatArray) -> bool:
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return False
    values = values / np.abs(values).max()
    return float(values[-1] - values[0]) > FINE * len(values) * float(np.diff(values).min())


# -- statistics of groups ----------------------------------------------------------------------------------


class GroupSums(NamedTuple):
    """Sufficient statistics of several groups; the first axis is the group."""

    weight: FloatArray  # (groups,)
    rows: FloatArray  # (groups,) numbers of rows
    known: FloatArray  # (groups, numeric) weight of the known values
    total: FloatArray  # (groups, numeric)
    square: FloatArray  # (groups, numeric)
    counts: FloatArray  # (groups, codes)
    # (groups, 3, numeric, numeric) products, totals, weights where both are known; (groups, 0, ...) if unused
    pairs: FloatArray

    def map(self, change: Callable[[FloatArray], FloatArray]) -> GroupSums:
        """Apply a function to every array."""
        return GroupSums(*map(change, self))

    def add(self, other: GroupSums) -> GroupSums:
        """Add the statistics of other rows."""
        return GroupSums(*(own + part for own, part in zip(self, other, strict=True)))

    def subtract(self, other: GroupSums) -> GroupSums:
        """Remove the statistics of rows that are part of these groups."""
        return GroupSums(*(own - part for own, part in zip(self, other, strict=True)))


def add_up_groups(
    rows: DensityRows, taken: IntArray, group: LongArray, n_groups: int, *, full: bool
) -> GroupSums:
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
    pairs = np.empty((n_groups, 3 if full else 0, n_numeric, n_numeric))
    known_sum, total, square = (np.empty((n_groups, n_numeric)) for _ in range(3))
    for i, part in enumerate(parts):
        there, values, heavy = known[part].astype(np.float64), filled[part], filled[part] * weight[part, None]
        known_sum[i], total[i] = weight[part] @ there, weight[part] @ values
        square[i] = (heavy * values).sum(axis=0)
        if full:
            pairs[i] = heavy.T @ values, heavy.T @ there, (there * weight[part, None]).T @ there
    return GroupSums(
        np.bincount(group, weight, n_groups).astype(np.float64),
        np.bincount(group, rows.repeats[taken], n_groups).astype(np.float64),
        known_sum,
        total,
        square,
        counts,
        pairs,
    )


@dataclass(frozen=True)
class ModelFamily:
    """The family of models of a group."""

    measurement_variance: FloatArray  # (numeric,)
    start: LongArray  # (categorical + 1,)
    full: bool = False
    shrinkage: float | None = None  # of the correlations; None: estimated from their variances

    def log_likelihood(self, sums: GroupSums) -> FloatArray:
        """Log likelihood of every group, up to a constant of the same rows."""
        variance = _moments(sums)[1] + self.measurement_variance
        total = -0.5 * (sums.known * np.log(variance)).sum(axis=1)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            counts = sums.counts[:, first:last]
            total = total + _x_log_x(counts).sum(axis=1) - _x_log_x(counts.sum(axis=1))
        if self.full and len(self.measurement_variance) > 1:
            before = np.linalg.eigvalsh(correlations(sums, variance))
            after = self._shrink(before, self.intensity(sums, variance))
            fit = np.log(after) + before / after - 1.0
            # Exact where nothing is missing; else the pairs known on average.
            total = total - 0.5 * _pair_weight(sums) * fit.sum(axis=1)
        return np.asarray(total, np.float64)

    def intensity(self, sums: GroupSums, variance: FloatArray) -> FloatArray:
        """Shrinkage of the correlations of every group, from 0 (none) to 1 (independence).

        Unless it is fixed, the intensity of Schaefer and Strimmer: the sum of the variances of the
        correlations over the sum of their squares, with the variance of Gaussian rows, (1 - r^2)^2 / (n - 1).
        """
        if self.shrinkage is not None:
            return np.full(len(sums.weight), self.shrinkage)
        r = correlations(sums, variance)
        apart = ~np.eye(r.shape[1], dtype=np.bool_)
        squares = r[:, apart] ** 2
        uncertain = ((1.0 - np.minimum(squares, 1.0)) ** 2).sum(axis=1) / np.maximum(
            _pair_weight(sums) - 1.0, NO_WEIGHT
        )
        total = squares.sum(axis=1)
        intensity = np.divide(uncertain, total, where=total > 0, out=np.ones(len(r)))
        return np.asarray(np.clip(intensity, 0.0, 1.0), np.float64)

    def _shrink(self, eigenvalues: NDArray[Any], intensity: FloatArray) -> FloatArray:
        shrunk = (1.0 - intensity)[:, None] * eigenvalues + intensity[:, None]
        lowest = shrunk.min(axis=1)
        more = np.where(
            lowest < LEAST_EIGENVALUE, (LEAST_EIGENVALUE - lowest) / (1.0 - np.minimum(lowest, 0.5)), 0.0
        )
        return np.asarray((1.0 - more)[:, None] * shrunk + more[:, None], np.float64)

    def models(self, sums: GroupSums) -> list[ClusterModel]:
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
        if self.full and len(self.measurement_variance) > 1:
            r = correlations(sums, variance)
            intensity = self.intensity(sums, variance)
            values, vectors = np.linalg.eigh(r)
            after = self._shrink(values, intensity)
            deviation = np.sqrt(variance)
            covariance = np.einsum("gij,gj,gkj->gik", vectors, after, vectors)
            covariance = covariance * deviation[:, :, None] * deviation[:, None, :]
        return [
            ClusterModel(*parts, self.measurement_variance, self.full)
            for parts in zip(mean, covariance, np.log(frequency), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class ClusterModel:
    """A Gaussian with category frequencies, in standard units."""

    mean: FloatArray  # (numeric,)
    covariance: FloatArray  # (numeric, numeric)
    log_frequency: FloatArray  # (codes,)
    measurement_variance: FloatArray  # (numeric,)
    full: bool

    def log_density(self, numbers: FloatArray, codes: IntArray, *, rounded: bool = False) -> FloatArray:
        """Log density of every row; missing values are left out.

        With `rounded` it is averaged over the measurement variance of the numbers.
        """
        within = self.measurement_variance if rounded else np.zeros(len(self.mean))
        total = self._full_density(numbers, within) if self.full else self._diagonal_density(numbers, within)
        for code in codes.T:
            total += np.where(code >= 0, np.append(self.log_frequency, 0.0)[code], 0.0)
        return total

    def _diagonal_density(self, numbers: FloatArray, within: FloatArray) -> FloatArray:
        variance = np.diagonal(self.covariance)
        parts = (numbers - self.mean) ** 2 / variance + (within / variance + np.log(variance) + LOG_2_PI)
        return np.asarray(-0.5 * np.nansum(parts, axis=1), np.float64)

    def _full_density(self, numbers: FloatArray, within: FloatArray) -> FloatArray:
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


def correlations(sums: GroupSums, variance: FloatArray) -> FloatArray:
    """Estimate the correlations of every group from rows where both numbers are known."""
    product, total, weight = (sums.pairs[:, i] for i in range(3))
    weight = np.maximum(weight, NO_WEIGHT)
    covariance = product / weight - (total / weight) * (total.swapaxes(1, 2) / weight)
    deviation = np.sqrt(variance)
    r = np.clip(covariance / (deviation[:, :, None] * deviation[:, None, :]), -1.0, 1.0)
    diagonal = np.arange(r.shape[1])
    r[:, diagonal, diagonal] = 1.0
    return np.asarray(r, np.float64)


def _pair_weight(sums: GroupSums) -> FloatArray:
    apart = ~np.eye(sums.pairs.shape[2], dtype=np.bool_)
    return np.asarray(sums.pairs[:, 2][:, apart].mean(axis=1), np.float64)


def _moments(sums: GroupSums) -> tuple[FloatArray, FloatArray]:
    weight = np.maximum(sums.known, NO_WEIGHT)
    mean = sums.total / weight
    return mean, np.maximum(sums.square / weight - mean * mean, 0.0)


def _x_log_x(x: FloatArray) -> FloatArray:
    return np.asarray(np.where(x > NO_WEIGHT, x * np.log(np.maximum(x, NO_WEIGHT)), 0.0), np.float64)
