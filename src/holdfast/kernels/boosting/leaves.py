"""The leaves of a boosted tree: sums over their rows, their steps, and the scores after these."""

import math

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.boosting.losses import MULTINOMIAL, exp, exponent, loss_at, loss_terms
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import CUT, END, FEATURE, LEFT, MISSING_LEFT, NONE, RIGHT, SET_START, START
from holdfast.kernels.jit import inner, int64, kernel, uint64

SURE_STEP = 1.79  # a Newton step up to this long never raises the loss: e^t - t - 1 <= t^2
LONGEST_STEP = 30.0  # log odds of a leaf are at most 30


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
    """Write the sums over the rows of each leaf among some nodes, (nodes, 4).

    Weights and repeats are empty if every row counts once.
    """
    for node in range(first, last):
        if fields[node, FEATURE] != NONE:
            continue
        start, end = fields[node, START], fields[node, END]
        first_sum, second_sum, own, n_rows = 0.0, 0.0, 0.0, int64(0)
        if len(weight) == 0:
            for i in range(start, end):
                row = uint64(rows[uint64(i)])
                first_sum += gradient[row]
                second_sum += hessian[row]
            own, n_rows = float(end - start), end - start
        else:
            for i in range(start, end):
                row = uint64(rows[uint64(i)])
                first_sum += gradient[row] * weight[row]
                second_sum += hessian[row] * weight[row]
                own += weight[row]
                n_rows += repeats[row]
        sums[node, 0], sums[node, 1], sums[node, 2], sums[node, 3] = first_sum, second_sum, own, n_rows


@kernel
def add_upwards(fields: LongArray, sums: FloatArray) -> None:
    """Add the line of every node to all nodes above it."""
    for node in range(len(fields) - 1, -1, -1):  # children come after their parent
        if fields[node, FEATURE] != NONE:
            for k in range(sums.shape[1]):
                sums[node, k] += sums[fields[node, LEFT], k] + sums[fields[node, RIGHT], k]


@kernel
def check_steps(
    fields: LongArray,
    rows: IntArray,
    loss: int,
    label: float,
    y: FloatArray,
    score: FloatArray,
    gradient: FloatArray,
    weight: FloatArray,
    value: FloatArray,
) -> None:
    """Shorten the steps of leaves that would raise the loss, and those that are too long.

    `label` is the class whose score the tree moves, for the multinomial loss.
    """
    for node in range(len(fields)):
        if fields[node, FEATURE] != NONE or abs(value[node]) <= SURE_STEP:
            continue
        step = max(min(value[node], LONGEST_STEP), -LONGEST_STEP)
        more = 0.0
        for i in range(fields[node, START], fields[node, END]):
            row = rows[i]
            if loss == MULTINOMIAL:
                is_label = 1.0 if y[row] == label else 0.0
                own = math.log1p((gradient[row] + is_label) * math.expm1(step)) - is_label * step
                more += weight[row] * own
            else:
                before = weight[row] * loss_at(loss, 0.0, y[row], score[row])
                more += weight[row] * loss_at(loss, 0.0, y[row], score[row] + step) - before
        value[node] = step if more < 0.0 else shorten_step(value[node])


@inner
def shorten_step(step: float) -> float:
    """Return a step that surely lowers the loss, where a Newton step of this length may not.

    The third derivative of these losses is never larger than the second, so that the hessian grows by less
    than e^t over a step t. A leaf with gradient G and hessian H then loses at most H (e^t - t - 1) - G t
    more. That is below 0 up to t = G / H if this is at most SURE_STEP, and at 1 + log(G / H) if it is at
    least 1.
    """
    return math.copysign(1.0 + math.log(abs(step)), step) if abs(step) > SURE_STEP else step


@kernel
def refine(
    fields: LongArray,
    rows: IntArray,
    loss: int,
    is_quadratic: bool,
    y: FloatArray,
    score: FloatArray,
    weight: FloatArray,
    n_steps: int,
    l2: float,
    value: FloatArray,
) -> None:
    """Take further Newton steps from the value of every leaf towards its least loss.

    A quadratic loss is least at the end of its Newton step, however long.
    """
    for node in range(len(fields)):
        if fields[node, FEATURE] != NONE:
            continue
        for _ in range(n_steps):
            first_sum, second_sum = l2 * value[node], l2
            for i in range(fields[node, START], fields[node, END]):
                row = rows[i]
                moved = score[row] + value[node]
                power = exp(exponent(loss, y[row], moved))
                _excess, _rest, first, second = loss_terms(loss, 0.0, y[row], moved, power)
                first_sum += weight[row] * first
                second_sum += weight[row] * second
            if second_sum <= 0.0:
                break
            step = first_sum / second_sum
            value[node] -= step if is_quadratic else shorten_step(step)
        if not is_quadratic:
            value[node] = max(min(value[node], LONGEST_STEP), -LONGEST_STEP)


@kernel
def add_values(
    fields: LongArray, rows: IntArray, value: FloatArray, first: int, last: int, score: FloatArray
) -> None:
    """Add the value of each leaf among some nodes to the scores of its rows."""
    for node in range(first, last):
        if fields[node, FEATURE] == NONE:
            own = value[node]
            for i in range(fields[node, START], fields[node, END]):
                score[uint64(rows[uint64(i)])] += own


@kernel
def add_routed(
    coded: Coded, fields: LongArray, in_set: BoolArray, rows: IntArray, value: FloatArray, score: FloatArray
) -> None:
    """Add the value of the leaf that each row reaches to its score, for rows not used for training."""
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
