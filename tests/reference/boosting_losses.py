"""The losses of gradient boosting by their formulas: derivatives, best constants, best values of leaves."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.data.table import Table

Rows = tuple[int, ...]
SURE = 1.79  # a Newton step up to this length lowers the loss for sure
LONGEST = 30.0  # no step is longer


@dataclass(frozen=True)
class Setting:
    """What the boosting rules of the library say, under the same names."""

    loss: str
    learning_rate: float = 0.1
    n_estimators: int = 20
    max_depth: int | None = 3
    max_leaf_nodes: int | None = None
    min_samples_leaf: int = 1
    l2_regularization: float = 0.0
    second_order: bool = True
    start: str = "constant"
    alpha: float = 0.9


class Loss:
    """A loss of a target and scores: its best constant, its derivatives, and the best value of a leaf."""

    n_outputs = 1

    def __init__(self, table: Table, setting: Setting) -> None:
        given = np.ones(table.n_rows) if table.weight is None else np.asarray(table.weight, float)
        is_whole = all(float(one).is_integer() for one in given)
        self.weight = given
        self.repeats = [int(one) if is_whole else int(one > 0) for one in given]
        self.y = self.coded(np.asarray(table.target))
        self.setting = setting
        self.l2 = setting.l2_regularization

    def coded(self, target: Any) -> FloatArray:
        """The target as the formulas want it."""
        return np.asarray(target, float)

    def prepare(self, scores: FloatArray, counted: Rows) -> None:
        """What is worked out anew in each round."""

    def constant(self, counted: Rows) -> FloatArray:
        """The scores that minimise the loss if all rows share them."""
        raise NotImplementedError

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of the loss of each row, by each of its scores."""
        raise NotImplementedError

    def loss(self, scores: FloatArray) -> FloatArray:
        """The loss of each row."""
        raise NotImplementedError

    def leaf_value(self, rows: Rows, scores: FloatArray, output: int, g: FloatArray, h: FloatArray) -> float:
        """One Newton step in one of the scores."""
        curvature = math.fsum(h[row] for row in rows) + self.l2
        return -math.fsum(g[row] for row in rows) / curvature if curvature > 0 else 0.0

    def mean_loss(self, scores: FloatArray, counted: Rows) -> float:
        """The weighted mean of the loss."""
        return self.mean(self.loss(scores), counted)

    def mean(self, values: FloatArray, rows: Rows) -> float:
        """The weighted mean of the values of some rows."""
        total = math.fsum(self.weight[row] for row in rows)
        return math.fsum(self.weight[row] * values[row] for row in rows) / total

    def quantile(self, values: FloatArray, rows: Rows, fraction: float) -> float:
        """The weighted quantile; the mean of two neighbours where the fraction falls exactly between them."""
        return quantile([(float(values[row]), float(self.weight[row])) for row in rows], fraction)


class SquaredError(Loss):
    def constant(self, counted: Rows) -> FloatArray:
        return np.array([self.mean(self.y, counted)])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return scores - self.y[:, None], np.ones_like(scores)

    def loss(self, scores: FloatArray) -> FloatArray:
        return (self.y - scores[:, 0]) ** 2 / 2


class Quantile(Loss):
    @property
    def fraction(self) -> float:
        return self.setting.alpha

    def constant(self, counted: Rows) -> FloatArray:
        return np.array([self.quantile(self.y, counted, self.fraction)])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        is_above = self.y[:, None] > scores
        return np.where(is_above, -self.fraction, 1 - self.fraction), np.ones_like(scores)

    def leaf_value(self, rows: Rows, scores: FloatArray, output: int, g: FloatArray, h: FloatArray) -> float:
        return self.quantile(self.y - scores[:, output], rows, self.fraction)

    def loss(self, scores: FloatArray) -> FloatArray:
        error = self.y - scores[:, 0]
        return np.where(error > 0, self.fraction * error, (self.fraction - 1) * error)


class AbsoluteError(Quantile):
    @property
    def fraction(self) -> float:
        return 0.5

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return -np.sign(self.y[:, None] - scores), np.ones_like(scores)

    def loss(self, scores: FloatArray) -> FloatArray:
        return np.abs(self.y - scores[:, 0])


class Huber(Loss):
    delta = 0.0
    first_delta: float | None = None  # by which the loss of every round is measured

    def prepare(self, scores: FloatArray, counted: Rows) -> None:
        self.delta = self.quantile(np.abs(self.y - scores[:, 0]), counted, self.setting.alpha)
        if self.first_delta is None:
            self.first_delta = self.delta

    def constant(self, counted: Rows) -> FloatArray:
        return np.array([self.quantile(self.y, counted, 0.5)])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.clip(scores - self.y[:, None], -self.delta, self.delta), np.ones_like(scores)

    def leaf_value(self, rows: Rows, scores: FloatArray, output: int, g: FloatArray, h: FloatArray) -> float:
        residuals = [(float(self.y[row] - scores[row, output]), float(self.weight[row])) for row in rows]
        return huber_centre(residuals, self.delta)

    def loss(self, scores: FloatArray) -> FloatArray:
        error, delta = np.abs(self.y - scores[:, 0]), self.first_delta or 0.0
        return np.where(error <= delta, error**2 / 2, delta * (error - delta / 2))


class CheckedLoss(Loss):
    """A loss of exponentials, whose parabola can promise more than the loss keeps."""

    def leaf_value(self, rows: Rows, scores: FloatArray, output: int, g: FloatArray, h: FloatArray) -> float:
        """The Newton step; a long one must lower the loss of the rows, or else its logarithm counts."""
        newton = super().leaf_value(rows, scores, output, g, h)
        if abs(newton) <= SURE:
            return newton
        clipped = max(-LONGEST, min(newton, LONGEST))
        if self.lost(rows, scores, output, clipped) < self.lost(rows, scores, output, 0.0):
            return clipped
        return math.copysign(1 + math.log(abs(newton)), newton)

    def lost(self, rows: Rows, scores: FloatArray, output: int, step: float) -> float:
        """The loss of some rows after a step in one of their scores."""
        moved = scores.copy()
        moved[:, output] += step
        losses = self.loss(moved)
        return math.fsum(self.weight[row] * losses[row] for row in rows)


class Poisson(CheckedLoss):
    def constant(self, counted: Rows) -> FloatArray:
        return np.log([self.mean(self.y, counted)])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.exp(scores) - self.y[:, None], np.exp(scores)

    def loss(self, scores: FloatArray) -> FloatArray:
        return np.exp(scores[:, 0]) - self.y * scores[:, 0]


class Logistic(CheckedLoss):
    def constant(self, counted: Rows) -> FloatArray:
        fraction = self.mean(self.y, counted)
        return np.array([math.log(fraction / (1 - fraction))])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = 1 / (1 + np.exp(-scores))
        return p - self.y[:, None], p * (1 - p)

    def loss(self, scores: FloatArray) -> FloatArray:
        return np.log1p(np.exp(scores[:, 0])) - self.y * scores[:, 0]


class Exponential(Logistic):
    def coded(self, target: Any) -> FloatArray:
        return np.where(np.asarray(target) == 1, 1.0, -1.0)

    def constant(self, counted: Rows) -> FloatArray:
        fraction = (self.mean(self.y, counted) + 1) / 2
        return np.array([math.log(fraction / (1 - fraction)) / 2])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        loss = np.exp(-self.y[:, None] * scores)
        return -self.y[:, None] * loss, loss

    def loss(self, scores: FloatArray) -> FloatArray:
        return np.exp(-self.y * scores[:, 0])


class Multinomial(CheckedLoss):
    def __init__(self, table: Table, setting: Setting) -> None:
        super().__init__(table, setting)
        self.n_outputs = len(table.schema.target.classes)

    def constant(self, counted: Rows) -> FloatArray:
        return np.log([self.mean((self.y == k).astype(float), counted) for k in range(self.n_outputs)])

    def derivatives(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        return p - (self.y[:, None] == np.arange(self.n_outputs)), p * (1 - p)

    def loss(self, scores: FloatArray) -> FloatArray:
        own = scores[np.arange(len(scores)), self.y.astype(int)]
        return np.log(np.exp(scores).sum(axis=1)) - own


def log_loss(table: Table, setting: Setting) -> Loss:
    """Logistic for two classes, multinomial for more."""
    return (Logistic if len(table.schema.target.classes) == 2 else Multinomial)(table, setting)


LOSSES: dict[str, Callable[[Table, Setting], Loss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "log_loss": log_loss,
    "exponential": Exponential,
}


def quantile(weighted: list[tuple[float, float]], fraction: float) -> float:
    """The averaged inverse of the distribution of (value, weight) pairs."""
    pairs = sorted(pair for pair in weighted if pair[1] > 0)
    total = math.fsum(weight for _, weight in pairs)
    below = 0.0
    for (value, weight), (following, _) in zip(pairs, [*pairs[1:], pairs[-1]], strict=True):
        below += weight
        if abs(below - fraction * total) <= 1e-12 * total:
            return (value + following) / 2
        if below > fraction * total:
            return value
    return pairs[-1][0]


def huber_centre(weighted: list[tuple[float, float]], delta: float) -> float:
    """Where the derivative of the summed Huber loss of (residual, weight) pairs is 0; the middle of many."""

    def slope(centre: float) -> float:
        return math.fsum(weight * min(max(centre - residual, -delta), delta) for residual, weight in weighted)

    total = math.fsum(weight for _, weight in weighted)
    corners = sorted({residual + side for residual, _ in weighted for side in (-delta, delta)})
    flat = [corner for corner in corners if abs(slope(corner)) <= 1e-13 * total * delta]
    if flat:
        return (flat[0] + flat[-1]) / 2
    below = max(corner for corner in corners if slope(corner) < 0)
    above = min(corner for corner in corners if slope(corner) > 0)
    return below + (above - below) * slope(below) / (slope(below) - slope(above))
