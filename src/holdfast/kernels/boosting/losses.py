"""The losses of boosting, row by row: the loss at a score, and its first two derivatives there.

To add a loss, write its function, a number, a line in `loss_terms`, and one in `exponent` if it needs an
exponential; `holdfast.ensembles.losses` gives it a name, a start and a link. No other kernel depends on which
loss it is.
"""

import math
from typing import NamedTuple

from holdfast._arrays import ByteArray, FloatArray, IntArray
from holdfast.kernels.boosting.histogram import N_ROLES, TRAINING, summarize_block
from holdfast.kernels.jit import SHIFT, by_reference, inlined, inner, int64, kernel, power_of_two, uint64

# From POISSON on, a loss needs an exponential.
SQUARED, ABSOLUTE, HUBER, QUANTILE, POISSON, LOGISTIC, EXPONENTIAL, MULTINOMIAL = range(8)
ROWS_PER_SUM = 2**13  # of a block over which floats are summed, the same for any number of threads
LARGE_PRODUCT = 2.0**500
HIGHEST = 500.0  # greater scores are clipped, so that no exponential overflows


class LossRows(NamedTuple):
    """The rows without their scores; the three arrays of weights are empty if all rows count once."""

    y: FloatArray  # the number, or the class
    weight: FloatArray
    importance: FloatArray  # the weight of one repetition
    repeats: IntArray
    role: ByteArray


# -- Each loss -----------------------------------------------------------------------------------------------
# Value, gradient and hessian, which is 1 if there is no second derivative. The value has two parts: it is
# log(1 + first) + second, with the first from 0 to 1. The logarithm takes more time than all the rest, but
# many rows can share one: that of their product.


@inner
def squared(y: float, score: float) -> tuple[float, float, float, float]:
    """Half the squared error."""
    residual = y - score
    return 0.0, 0.5 * residual * residual, -residual, 1.0


@inner
def absolute(y: float, score: float) -> tuple[float, float, float, float]:
    """The absolute error."""
    residual = y - score
    return 0.0, abs(residual), -1.0 if residual > 0.0 else 1.0 if residual < 0.0 else 0.0, 1.0


@inner
def huber(alpha: float, y: float, score: float) -> tuple[float, float, float, float]:
    """Half the squared error up to a residual of alpha, and linear beyond it."""
    residual = y - score
    size = abs(residual)
    if size <= alpha:
        return 0.0, 0.5 * residual * residual, -residual, 1.0
    return 0.0, alpha * (size - 0.5 * alpha), -alpha if residual > 0.0 else alpha, 1.0


@inner
def quantile(alpha: float, y: float, score: float) -> tuple[float, float, float, float]:
    """The pinball loss, least at the quantile alpha."""
    residual = y - score
    if residual > 0.0:
        return 0.0, alpha * residual, -alpha, 1.0
    return 0.0, (alpha - 1.0) * residual, 1.0 - alpha, 1.0


@inner
def poisson(y: float, score: float, rate: float) -> tuple[float, float, float, float]:
    """Half the Poisson deviance up to a constant; the rate is e^score."""
    return 0.0, rate - y * score, rate - y, rate


@inner
def logistic(y: float, score: float, small: float) -> tuple[float, float, float, float]:
    """The log loss of a class y of 0 or 1, the score being its log odds; `small` is e^-|score|."""
    p = (1.0 if score >= 0.0 else small) / (1.0 + small)
    return small, max(score, 0.0) - y * score, p - y, small / ((1.0 + small) * (1.0 + small))


@inner
def exponential(y: float, lost: float) -> tuple[float, float, float, float]:
    """AdaBoost's loss of a class y of 0 or 1, the score being half its log odds."""
    return 0.0, lost, -(2.0 * y - 1.0) * lost, lost


@inlined
def exponent(loss: int, y: float, score: float) -> float:
    """Return the number whose exponential a loss needs; the exponentials of all rows are computed first."""
    if loss == LOGISTIC:
        power = -abs(score)
    elif loss == POISSON:
        power = score
    elif loss == EXPONENTIAL:
        power = (1.0 - 2.0 * y) * score
    else:
        power = 0.0
    return min(max(power, LOWEST), HIGHEST)


@inlined
def loss_terms(
    loss: int, alpha: float, y: float, score: float, power: float
) -> tuple[float, float, float, float]:
    """Return the loss with this number at a score, in two parts, its gradient and its hessian.

    `power` is the exponential of `exponent`.
    """
    if loss == LOGISTIC:
        return logistic(y, score, power)
    if loss == POISSON:
        return poisson(y, score, power)
    if loss == EXPONENTIAL:
        return exponential(y, power)
    if loss == SQUARED:
        return squared(y, score)
    if loss == HUBER:
        return huber(alpha, y, score)
    if loss == QUANTILE:
        return quantile(alpha, y, score)
    return absolute(y, score)


@inner
def total_loss(excess: float, rest: float) -> float:
    """Return a loss from its two parts."""
    return math.log1p(excess) + rest if excess > 0.0 else rest


@inner
def loss_at(loss: int, alpha: float, y: float, score: float) -> float:
    """Return the loss with this number at a score."""
    power = exp(exponent(loss, y, score))
    excess, rest, _gradient, _hessian = loss_terms(loss, alpha, y, score, power)
    return total_loss(excess, rest)


# -- All rows ------------------------------------------------------------------------------------------------


@inner
def compute_block(
    loss: int,
    alpha: float,
    first_alpha: float,
    rows: LossRows,
    score: FloatArray,
    first: int,
    last: int,
    gradient: FloatArray,
    hessian: FloatArray,
    lost: FloatArray,
    sums: FloatArray,
) -> None:
    """Compute the derivatives of a loss with one score."""
    y, weight, role, keeps = rows.y, rows.weight, rows.role, len(lost) > 0
    shares_logarithm = len(weight) == 0 and not keeps and alpha == first_alpha
    product, training_loss = 1.0, 0.0
    # Until they are computed, `hessian` holds the exponentials.
    if loss >= POISSON:
        for row in range(first, last):
            hessian[row] = exponent(loss, y[row], score[row])
        for i in range(uint64(first), uint64(last)):
            hessian[uint64(i)] = exp(hessian[uint64(i)])
    for row in range(first, last):
        power = hessian[row]
        excess, rest, gradient[row], hessian[row] = loss_terms(loss, alpha, y[row], score[row], power)
        if shares_logarithm and role[row] == TRAINING:
            training_loss += rest
            product *= 1.0 + excess
            if product > LARGE_PRODUCT:
                training_loss += math.log(product)
                product = 1.0
            continue
        own = (
            loss_at(loss, first_alpha, y[row], score[row])
            if alpha != first_alpha
            else total_loss(excess, rest)
        )
        own *= weight[row] if len(weight) > 0 else 1.0
        if keeps:
            lost[row] = own
        sums[role[row]] += own
    sums[TRAINING] += training_loss + math.log(product)


@inner
def compute_classes(
    rows: LossRows,
    score: FloatArray,
    first: int,
    last: int,
    gradient: FloatArray,
    hessian: FloatArray,
    lost: FloatArray,
    sums: FloatArray,
) -> None:
    """Compute the derivatives of the multinomial loss, where each class has a score."""
    n_classes = len(score)
    for row in range(first, last):
        highest, total, label = score[0, row], 0.0, int64(rows.y[row])
        for k in range(1, n_classes):
            highest = max(highest, score[k, row])
        for k in range(n_classes):
            gradient[k, row] = math.exp(score[k, row] - highest)
            total += gradient[k, row]
        own = rows.weight[row] if len(rows.weight) > 0 else 1.0
        own *= math.log(total) + highest - score[label, row]
        if len(lost) > 0:
            lost[row] = own
        sums[rows.role[row]] += own
        for k in range(n_classes):
            p = gradient[k, row] / total
            gradient[k, row] = p - (1.0 if label == k else 0.0)
            hessian[k, row] = p * (1.0 - p)


@kernel
def compute_derivatives(
    loss: int,
    alpha: float,
    first_alpha: float,
    rows: LossRows,
    score: FloatArray,
    first: int,
    last: int,
    gradient: FloatArray,
    hessian: FloatArray,
    lost: FloatArray,
    sums: FloatArray,
    spread: FloatArray,
) -> None:
    """Write gradient and hessian of the rows of some blocks, and the sums of the loss by role of each block.

    Scores are (classes, rows), with a single class but for the multinomial loss, where y is the class. For a
    single one, `spread` gets the result of `summarize_blocks`. The loss itself is measured with the first
    alpha, so that all rounds can be compared. `lost` gets weight times loss of every row, or is empty.
    """
    rows = by_reference(rows)
    for block in range(first, last):
        begin, end = ROWS_PER_SUM * block, min(ROWS_PER_SUM * (block + 1), len(rows.y))
        own = sums[block]
        for each in range(N_ROLES):
            own[each] = 0.0
        if loss == MULTINOMIAL:
            compute_classes(rows, score, begin, end, gradient, hessian, lost, own)
            continue
        first_line, second_line = gradient[0], hessian[0]
        compute_block(
            loss, alpha, first_alpha, rows, score[0], begin, end, first_line, second_line, lost, own
        )
        importance, repeats, role = rows.importance, rows.repeats, rows.role
        summarize_block(first_line, second_line, importance, repeats, role, begin, end, spread[block])


# -- The exponential function, several numbers at once -------------------------------------------------------

LOWEST, HIGHEST_EXPONENT = -708.0, 709.0  # beyond them the result is no normal number
PER_LOG_2 = 1.4426950408889634
LOG_2_BEGIN, LOG_2_REST = 6.93145751953125e-1, 1.42860682030941723212e-6  # the first times 2^10 is exact


@inlined
def exp(x: float) -> float:
    """Return e^x for x from LOWEST to HIGHEST, accurate to the last digit or two.

    The nearest power of two, and the Taylor series of the rest: up to 0.35, where 13 terms are enough.
    """
    shifted = x * PER_LOG_2 + SHIFT
    n_twos = shifted - SHIFT
    r = (x - n_twos * LOG_2_BEGIN) - n_twos * LOG_2_REST
    square = r * r
    fourth = square * square
    # In pairs, which do not depend on each other.
    low = (1.0 + r) + square * (1 / 2 + r * (1 / 6))
    middle = (1 / 24 + r * (1 / 120)) + square * (1 / 720 + r * (1 / 5040))
    high = (1 / 40320 + r * (1 / 362880)) + square * (1 / 3628800 + r * (1 / 39916800))
    high += fourth * (1 / 479001600 + r * (1 / 6227020800))
    return (low + fourth * (middle + fourth * high)) * power_of_two(shifted)
