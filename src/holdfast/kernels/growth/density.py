"""The best threshold for unlabelled rows: both sides as likely as one Gaussian per column makes them.

A side is a handful of sums over its rows. Of a column of numbers they are the weight w of the known values,
their sum and their sum of squares, and the column adds -w/2 log(variance) to the log likelihood. Of a column
of categories they are the weights n of the categories, and it adds the sum of n log(n/w): minus w times the
entropy. What is the same for all questions of a node is left out.
"""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import allocating, inner, int64, kernel

NO_WEIGHT = 1e-9  # below it a sum of weights is what rounding left; a row weighs about 1
# Questions that differ by less for every row are tied: rounding lies far below it, evidence far above.
TIE = 1e-10


class DensityRows(NamedTuple):
    """The rows in standard units."""

    numbers: FloatArray  # (rows, numeric) NaN where missing
    codes: IntArray  # (rows, categorical) category among those of all such columns; -1 where missing
    n_codes: int
    weight: FloatArray  # 1 on average, where a row stands for one
    repeats: LongArray  # how many rows each stands for
    measurement_variance: FloatArray  # (numeric,) variance within one step of the column


class Tally(NamedTuple):
    """The sums of one side."""

    head: FloatArray  # weight and number of rows
    known: FloatArray  # (numeric,) weight of the known values
    total: FloatArray  # (numeric,)
    square: FloatArray  # (numeric,)
    known_codes: FloatArray  # (categorical,)
    counts: FloatArray  # (codes,)
    ordered: FloatArray  # (categorical,) sum of n log n over the categories


@inner
def x_log_x(x: float) -> float:
    """x log x, continued to 0."""
    return x * math.log(x) if x > NO_WEIGHT else 0.0


@allocating
def empty_tally(rows: DensityRows) -> Tally:
    """The sums of no rows."""
    n_numeric, n_categorical = rows.numbers.shape[1], rows.codes.shape[1]
    return Tally(
        np.zeros(2),
        np.zeros(n_numeric),
        np.zeros(n_numeric),
        np.zeros(n_numeric),
        np.zeros(n_categorical),
        np.zeros(rows.n_codes),
        np.zeros(n_categorical),
    )


@inner
def add_row(rows: DensityRows, tally: Tally, row: int, sign: float) -> None:
    """Take the row in (sign 1) or out (sign -1)."""
    weight = sign * rows.weight[row]
    tally.head[0] += weight
    tally.head[1] += sign * rows.repeats[row]
    for k in range(rows.numbers.shape[1]):
        number = rows.numbers[row, k]
        if number == number:
            tally.known[k] += weight
            tally.total[k] += weight * number
            tally.square[k] += weight * number * number
    for k in range(rows.codes.shape[1]):
        code = rows.codes[row, k]
        if code >= 0:
            tally.known_codes[k] += weight
            before = tally.counts[code]
            tally.counts[code] = before + weight
            tally.ordered[k] += x_log_x(before + weight) - x_log_x(before)


@inner
def log_likelihood(rows: DensityRows, tally: Tally) -> float:
    """Log likelihood of the side's rows, up to what all questions have in common."""
    total = 0.0
    for k in range(len(tally.known)):
        weight = tally.known[k]
        if weight > NO_WEIGHT:
            mean = tally.total[k] / weight
            variance = max(tally.square[k] / weight - mean * mean, 0.0) + rows.measurement_variance[k]
            total -= 0.5 * weight * math.log(variance)
    for k in range(len(tally.known_codes)):
        total += tally.ordered[k] - x_log_x(tally.known_codes[k])
    return total


@inner
def scan(
    rows: DensityRows, ranks: IntArray, order: IntArray, n_known: int, least: int, missing_left: bool
) -> tuple[float, int]:
    """The greatest likelihood of two sides, and the place in the order of the last row on the left; or -1."""
    left, right = empty_tally(rows), empty_tally(rows)
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
    """Of every column: the best likelihood of two sides, the last place on the left, and where gaps go.

    `ranks` are those of all rows and `orders` the rows of the node, missing values last, for each column that
    can be asked about; `least` is the number of rows that each side must keep. A place of -1: no question.
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
