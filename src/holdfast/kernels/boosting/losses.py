"""The losses of boosting, row by row: the loss at a score, and its first two derivatives there.

To add one is to write its function, a number, and a line in `derived`; `holdfast.ensembles.losses` gives it a
name, a start and a link. No other kernel asks which loss it is.
"""

import math

from holdfast.arrays import ByteArray, FloatArray
from holdfast.kernels.jit import inner, int64, kernel

SQUARED, ABSOLUTE, HUBER, QUANTILE, POISSON, LOGISTIC, EXPONENTIAL, MULTINOMIAL = range(8)
# What a row does in a round of boosting; the last has no weight.
LEARNT, LEFT_OUT, HELD_OUT, UNUSED = range(4)
N_ROLES = 4
HIGHEST = 500.0  # scores beyond it are as good as this one, and no exponential of it overflows

# -- each loss: its value, gradient and hessian; 1 where there is no second derivative -----------------------


@inner
def squared(y: float, score: float) -> tuple[float, float, float]:
    """Half the squared error."""
    residual = y - score
    return 0.5 * residual * residual, -residual, 1.0


@inner
def absolute(y: float, score: float) -> tuple[float, float, float]:
    """The absolute error."""
    residual = y - score
    return abs(residual), -1.0 if residual > 0.0 else 1.0 if residual < 0.0 else 0.0, 1.0


@inner
def huber(alpha: float, y: float, score: float) -> tuple[float, float, float]:
    """Half the squared error up to a residual of alpha, and linear from there on."""
    residual = y - score
    size = abs(residual)
    if size <= alpha:
        return 0.5 * residual * residual, -residual, 1.0
    return alpha * (size - 0.5 * alpha), -alpha if residual > 0.0 else alpha, 1.0


@inner
def quantile(alpha: float, y: float, score: float) -> tuple[float, float, float]:
    """The pinball loss, least at the quantile alpha."""
    residual = y - score
    if residual > 0.0:
        return alpha * residual, -alpha, 1.0
    return (alpha - 1.0) * residual, 1.0 - alpha, 1.0


@inner
def poisson(y: float, score: float) -> tuple[float, float, float]:
    """Half the Poisson deviance, but for a constant; the rate is e^score."""
    rate = math.exp(min(score, HIGHEST))
    return rate - y * score, rate - y, rate


@inner
def logistic(y: float, score: float) -> tuple[float, float, float]:
    """The log loss of a class y of 0 or 1, the score being its log odds."""
    small = math.exp(-abs(score))  # at most 1
    p = 1.0 / (1.0 + small) if score >= 0.0 else small / (1.0 + small)
    return (
        math.log1p(small) + (max(score, 0.0) - y * score),
        p - y,
        small / ((1.0 + small) * (1.0 + small)),
    )


@inner
def exponential(y: float, score: float) -> tuple[float, float, float]:
    """AdaBoost's loss of a class y of 0 or 1, the score being half its log odds."""
    side = 2.0 * y - 1.0
    lost = math.exp(min(-side * score, HIGHEST))
    return lost, -side * lost, lost


@inner
def derived(loss: int, alpha: float, y: float, score: float) -> tuple[float, float, float]:
    """The loss of that number at a score, its gradient and its hessian."""
    if loss == LOGISTIC:
        return logistic(y, score)
    if loss == POISSON:
        return poisson(y, score)
    if loss == EXPONENTIAL:
        return exponential(y, score)
    if loss == SQUARED:
        return squared(y, score)
    if loss == HUBER:
        return huber(alpha, y, score)
    if loss == QUANTILE:
        return quantile(alpha, y, score)
    return absolute(y, score)


# -- all rows ------------------------------------------------------------------------------------------------


@kernel
def derive(
    loss: int,
    alpha: float,
    first_alpha: float,
    y: FloatArray,
    score: FloatArray,
    weight: FloatArray,
    first: int,
    last: int,
    gradient: FloatArray,
    hessian: FloatArray,
    lost: FloatArray,
    role: ByteArray,
    sums: FloatArray,
) -> None:
    """Write gradient and hessian of some rows, their loss times their weight, and the sums of that by role.

    Scores are (classes, rows), with a single class but for the multinomial loss, where y is the class. The
    loss itself is measured with the first alpha, so that all rounds can be compared.
    """
    n_classes = len(score)
    for each in range(N_ROLES):
        sums[each] = 0.0
    for row in range(first, last):
        own = weight[row]
        if loss != MULTINOMIAL:
            value, gradient[0, row], hessian[0, row] = derived(loss, alpha, y[row], score[0, row])
            if alpha != first_alpha:
                value = derived(loss, first_alpha, y[row], score[0, row])[0]
            lost[row] = own * value
            sums[role[row]] += lost[row]
            continue
        highest, total = score[0, row], 0.0
        for k in range(1, n_classes):
            highest = max(highest, score[k, row])
        for k in range(n_classes):
            gradient[k, row] = math.exp(score[k, row] - highest)
            total += gradient[k, row]
        lost[row] = own * (math.log(total) + highest - score[int64(y[row]), row])
        sums[role[row]] += lost[row]
        for k in range(n_classes):
            p = gradient[k, row] / total
            gradient[k, row] = p - (1.0 if int64(y[row]) == k else 0.0)
            hessian[k, row] = p * (1.0 - p)
