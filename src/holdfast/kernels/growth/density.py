"""The best threshold for unlabelled rows: each side is modelled by one Gaussian per column.

A side is a few sums over its rows. For a numeric column they are the weight w of the known values, their sum
and their sum of squares, and the column adds -w/2 log(variance) to the log likelihood. For a categorical
column they are the weights n of the categories, and it adds the sum of n log(n/w): minus w times the entropy.
Terms that are the same for all splits of a node are left out.
"""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import allocating, inner, int64, kernel

NO_WEIGHT = 1e-9  # a smaller sum of weights is due to rounding; a row weighs about 1
# Splits that differ by less per row are tied: rounding is far below it, evidence far above.
TIE = 1e-10


class DensityRows(NamedTuple):
    """The rows in standard units."""

    numbers: FloatArray  # (rows, numeric) NaN where missing
    codes: IntArray  # (rows, categorical) category among those of all such columns; -1 where missing
    n_codes: int
    weight: FloatArray  # 1 on average, if a row represents one
    repeats: LongArray  # how many rows each represents
    measurement_variance: FloatArray  # (numeric,) variance within one step of the column


class GaussianSums(NamedTuple):
    """The sums of one side."""

    head: FloatArray  # weight and number of rows
    known: FloatArray  # (numeric,) weight of the known values
    total: FloatArray  # (numeric,)
    square: FloatArray  # (numeric,)
    known_codes: FloatArray  # (categorical,)
    counts: FloatArray  # (codes,)
    ordered: FloatArray  # (categorical,) sum of n log n over the categories


@kernel
def best_thresholds(
    rows: DensityRows,
    ranks: IntArray,
    orders: IntArray,
    least: int,
    likelihood: FloatArray,
    places: LongArray,
    missing_left: LongArray,
    stop: ByteArray,
) -> None:
    """Write for every column the best likelihood, the last place on the left, and the side of missing values.

    `ranks` are those of all rows and `orders` the rows of the node, missing values last, for each column that
    can be split; each side keeps at least `least` rows. A place of -1: no split.
    """
    for f in range(len(orders)):
        if stop[0]:
            return
        order = orders[f]
        n_known = len(order)
        while n_known > 0 and ranks[f, order[n_known - 1]] < 0:
            n_known -= 1
        best, place = scan(rows, ranks[f], order, n_known, least, False)
        side = int64(0)
        if n_known < len(order):
            other, other_place = scan(rows, ranks[f], order, n_known, least, True)
            if other_place >= 0 and (place < 0 or other > best + TIE * len(order)):
                best, place, side = other, other_place, int64(1)
        likelihood[f], places[f], missing_left[f] = best, place, side


@inner
def scan(
    rows: DensityRows, ranks: IntArray, order: IntArray, n_known: int, least: int, missing_left: bool
) -> tuple[float, int]:
    """Return the greatest likelihood of two sides, and the place of the last row on the left, or -1."""
    left, right = empty_sums(rows), empty_sums(rows)
    for i in range(len(order)):
        if i >= n_known and missing_left:
            add_row(rows, left, order[i], 1.0)
        else:
            add_row(rows, right, order[i], 1.0)
    tie = TIE * (left.head[0] + right.head[0])
    best, place = -math.inf, int64(-1)
    for i in range(n_known - 1):
        add_row(rows, left, order[i], 1.0)
        add_row(rows, right, order[i], -1.0)
        if ranks[order[i]] == ranks[order[i + 1]] or left.head[1] < least or right.head[1] < least:
            continue
        value = log_likelihood(rows, left) + log_likelihood(rows, right)
        if value > best + tie:
            best, place = value, int64(i)
    return best, place


@allocating
def empty_sums(rows: DensityRows) -> GaussianSums:
    """Return the sums of no rows."""
    n_numeric, n_categorical = rows.numbers.shape[1], rows.codes.shape[1]
    return GaussianSums(
        np.zeros(2),
        np.zeros(n_numeric),
        np.zeros(n_numeric),
        np.zeros(n_numeric),
        np.zeros(n_categorical),
        np.zeros(rows.n_codes),
        np.zeros(n_categorical),
    )


@inner
def add_row(rows: DensityRows, sums: GaussianSums, row: int, sign: float) -> None:
    """Add the row (sign 1) or remove it (sign -1)."""
    weight = sign * rows.weight[row]
    sums.head[0] += weight
    sums.head[1] += sign * rows.repeats[row]
    for k in range(rows.numbers.shape[1]):
        number = rows.numbers[row, k]
        if number == number:
            sums.known[k] += weight
            sums.total[k] += weight * number
            sums.square[k] += weight * number * number
    for k in range(rows.codes.shape[1]):
        code = rows.codes[row, k]
        if code >= 0:
            sums.known_codes[k] += weight
            before = sums.counts[code]
            sums.counts[code] = before + weight
            sums.ordered[k] += x_log_x(before + weight) - x_log_x(before)


@inner
def x_log_x(x: float) -> float:
    """Return x log(x), 0 at 0."""
    return x * math.log(x) if x > NO_WEIGHT else 0.0


@inner
def log_likelihood(rows: DensityRows, sums: GaussianSums) -> float:
    """Return the log likelihood of the side's rows, up to terms that all splits share."""
    total = 0.0
    for k in range(len(sums.known)):
        weight = sums.known[k]
        if weight > NO_WEIGHT:
            mean = sums.total[k] / weight
            variance = max(sums.square[k] / weight - mean * mean, 0.0) + rows.measurement_variance[k]
            total -= 0.5 * weight * math.log(variance)
    for k in range(len(sums.known_codes)):
        total += sums.ordered[k] - x_log_x(sums.known_codes[k])
    return total
