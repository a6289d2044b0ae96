"""Losses row by row: what is lost, its slope and its curvature in the score; and sums of them over leaves."""

import math

import numpy as np

from holdfast.arrays import BoolArray, ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.growth.grow import CUT, END, FEATURE, LEFT, MISSING_LEFT, NONE, RIGHT, SET_START, START
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.jit import inner, int64, kernel

SQUARED, ABSOLUTE, HUBER, QUANTILE, POISSON, LOGISTIC, EXPONENTIAL, MULTINOMIAL = range(8)
# What a row does in a round of boosting; the last has no weight.
LEARNT, LEFT_OUT, HELD_OUT, UNUSED = range(4)
N_ROLES = 4
SURE_STEP = 1.79  # a Newton step up to this long never raises the loss: e^t - t - 1 <= t^2
LONGEST_STEP = 30.0  # no leaf is surer than that: e^30 to one
HIGHEST = 500.0  # scores beyond it are as good as this one, and no exponential of it overflows


@inner
def derived(loss: int, alpha: float, y: float, score: float) -> tuple[float, float, float]:
    """The loss at a score, and its first and second derivative; 1 where there is no second."""
    if loss == LOGISTIC:
        small = math.exp(-abs(score))  # at most 1
        p = 1.0 / (1.0 + small) if score >= 0.0 else small / (1.0 + small)
        return (
            math.log1p(small) + (max(score, 0.0) - y * score),
            p - y,
            small / ((1.0 + small) * (1.0 + small)),
        )
    if loss == POISSON:
        rate = math.exp(min(score, HIGHEST))
        return rate - y * score, rate - y, rate
    if loss == EXPONENTIAL:
        side = 2.0 * y - 1.0
        lost = math.exp(min(-side * score, HIGHEST))
        return lost, -side * lost, lost
    residual = y - score
    if loss == SQUARED:
        return 0.5 * residual * residual, -residual, 1.0
    size = abs(residual)
    if loss == HUBER and size <= alpha:
        return 0.5 * residual * residual, -residual, 1.0
    if loss == HUBER:
        return alpha * (size - 0.5 * alpha), -alpha if residual > 0.0 else alpha, 1.0
    if loss == QUANTILE:
        if residual > 0.0:
            return alpha * residual, -alpha, 1.0
        return (alpha - 1.0) * residual, 1.0 - alpha, 1.0
    slope = -1.0 if residual > 0.0 else 1.0 if residual < 0.0 else 0.0
    return size, slope, 1.0


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

    Scores are (classes, rows), with a single class but for the multinomial loss, where y is the class.
    """
    n_classes = len(score)
    for each in range(N_ROLES):
        sums[each] = 0.0
    for row in range(first, last):
        own = weight[row]
        if loss != MULTINOMIAL:
            value, slope, bend = derived(loss, alpha, y[row], score[0, row])
            if loss == HUBER:  # by one measure in all rounds
                value = derived(loss, first_alpha, y[row], score[0, row])[0]
            gradient[0, row], hessian[0, row], lost[row] = slope, bend, own * value
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


@kernel
def greatest(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    role: ByteArray,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """out = the greatest gradient, without its sign, and hessian of the rows learnt from, weighted."""
    most_gradient, most_hessian = 0.0, 0.0
    for row in range(first, last):
        if role[row] == LEARNT:
            most_gradient = max(most_gradient, abs(gradient[row]) * importance[row])
            most_hessian = max(most_hessian, hessian[row] * importance[row])
    out[0], out[1] = most_gradient, most_hessian


@kernel
def pack(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    role: ByteArray,
    first: int,
    last: int,
    units: tuple[float, float],
    packed: LongArray,
) -> None:
    """Write gradients and hessians, weighted, as integers of units: 32 bits each."""
    of_gradient, of_hessian = units
    for row in range(first, last):
        if role[row] == LEARNT:
            slope, bend = gradient[row] * importance[row], hessian[row] * importance[row]
            packed[row] = int64(np.rint(slope * of_gradient)) << 32 | int64(np.rint(bend * of_hessian))


@kernel
def leaf_sums(
    fields: LongArray,
    rows: IntArray,
    gradient: FloatArray,
    hessian: FloatArray,
    weight: FloatArray,
    repeats: IntArray,
    first: int,
    last: int,
    sums: FloatArray,
) -> None:
    """Write what the rows of each leaf among some nodes add up to, (nodes, 4)."""
    for node in range(first, last):
        if fields[node, FEATURE] != NONE:
            continue
        slope, bend, own, n_rows = 0.0, 0.0, 0.0, int64(0)
        for i in range(fields[node, START], fields[node, END]):
            row = rows[i]
            slope += gradient[row] * weight[row]
            bend += hessian[row] * weight[row]
            own += weight[row]
            n_rows += repeats[row]
        sums[node, 0], sums[node, 1], sums[node, 2], sums[node, 3] = slope, bend, own, n_rows


@kernel
def add_upwards(fields: LongArray, sums: FloatArray) -> None:
    """Add what every node holds, one line each, to all nodes above it."""
    for node in range(len(fields) - 1, -1, -1):  # children stand after their parent
        if fields[node, FEATURE] != NONE:
            for k in range(sums.shape[1]):
                sums[node, k] += sums[fields[node, LEFT], k] + sums[fields[node, RIGHT], k]


@inner
def shortened(step: float) -> float:
    """A step that lowers the loss for sure, where a Newton step of this length may not.

    The third derivative of these losses is never larger than the second, so that the curvature grows by less
    than e^t over a step t. A leaf of slope G and curvature H then loses at most H (e^t - t - 1) - G t more.
    That is below 0 up to t = G / H if this is at most SURE_STEP, and at 1 + log(G / H) if it is at least 1.
    """
    return math.copysign(1.0 + math.log(abs(step)), step) if abs(step) > SURE_STEP else step


@kernel
def check_steps(
    fields: LongArray,
    rows: IntArray,
    loss: int,
    label: float,
    y: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    weight: FloatArray,
    value: FloatArray,
) -> None:
    """Shorten the steps of leaves that would lose more by them, and those without a measure.

    `label` is the class whose score the tree moves, for the losses of shares.
    """
    for node in range(len(fields)):
        if fields[node, FEATURE] != NONE or abs(value[node]) <= SURE_STEP:
            continue
        step = max(min(value[node], LONGEST_STEP), -LONGEST_STEP)
        more = 0.0
        for i in range(fields[node, START], fields[node, END]):
            row = rows[i]
            if loss == POISSON:
                own = hessian[row] * math.expm1(step) - y[row] * step
            elif loss == EXPONENTIAL:
                own = hessian[row] * math.expm1(-step if y[row] > 0.0 else step)
            else:
                is_label = 1.0 if y[row] == label else 0.0
                own = math.log1p((gradient[row] + is_label) * math.expm1(step)) - is_label * step
            more += weight[row] * own
        value[node] = step if more < 0.0 else shortened(value[node])


@kernel
def refine(
    fields: LongArray,
    rows: IntArray,
    loss: int,
    y: FloatArray,
    score: FloatArray,
    weight: FloatArray,
    n_steps: int,
    l2: float,
    value: FloatArray,
) -> None:
    """Take further Newton steps from the value of every leaf towards the one that loses least."""
    for node in range(len(fields)):
        if fields[node, FEATURE] != NONE:
            continue
        for _ in range(n_steps):
            slope, bend = l2 * value[node], l2
            for i in range(fields[node, START], fields[node, END]):
                row = rows[i]
                _lost, first, second = derived(loss, 0.0, y[row], score[row] + value[node])
                slope += weight[row] * first
                bend += weight[row] * second
            if bend <= 0.0:
                break
            value[node] -= shortened(slope / bend) if loss != SQUARED else slope / bend
        if loss != SQUARED:
            value[node] = max(min(value[node], LONGEST_STEP), -LONGEST_STEP)


@kernel
def add_values(
    fields: LongArray, rows: IntArray, value: FloatArray, first: int, last: int, score: FloatArray
) -> None:
    """Add the value of each leaf among some nodes to the scores of its rows."""
    for node in range(first, last):
        if fields[node, FEATURE] == NONE:
            for i in range(fields[node, START], fields[node, END]):
                score[rows[i]] += value[node]


@kernel
def add_routed(
    coded: Coded, fields: LongArray, in_set: BoolArray, rows: IntArray, value: FloatArray, score: FloatArray
) -> None:
    """Add to the scores of rows that the tree did not learn from the value of the leaf that each reaches."""
    for i in range(len(rows)):
        row, node = rows[i], int64(0)
        while fields[node, FEATURE] != NONE:
            feature = fields[node, FEATURE]
            rank = int64(coded.ranks[feature, row])
            if rank < 0:
                goes_left = fields[node, MISSING_LEFT] == 1
            elif coded.is_subset[feature]:
                goes_left = in_set[fields[node, SET_START] + rank]
            else:
                goes_left = rank <= fields[node, CUT]
            node = fields[node, LEFT] if goes_left else fields[node, RIGHT]
        score[row] += value[node]
