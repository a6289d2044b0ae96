"""All splits of a node and what each gains, by the definition of the criteria."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

CLASS_CRITERIA = ("gini", "entropy")


@dataclass(frozen=True, eq=False)
class Node:
    """The rows of one node: numeric features, a target (class numbers, or numbers) and weights."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    criterion: str
    min_rows: int = 1

    @cached_property
    def risk(self) -> float:
        """Weight times impurity."""
        if self.criterion in CLASS_CRITERIA:
            return float(_risk(self._stats.sum(axis=0), self.criterion))
        mean = np.average(self.y, weights=self.weight)
        if self.criterion == "squared_error":
            return float(self.weight @ (self.y - mean) ** 2)
        known = self.y > 0
        return float((self.weight * self.y)[known] @ np.log(self.y[known] / mean)) if known.any() else 0.0

    @property
    def is_pure(self) -> bool:
        """True if all rows have the same target."""
        return bool((self.y == self.y[0]).all())

    @cached_property
    def splits(self) -> list["Split"]:
        """All splits between two values, with missing values on either side, or of known from missing."""
        return [split for feature in range(self.X.shape[1]) for split in self._splits_of(feature)]

    def gain(self, goes_left: np.ndarray) -> float:
        """Decrease of weight times impurity if these rows are parted from the others."""
        left, total = self._stats[goes_left].sum(axis=0), self._stats.sum(axis=0)
        return float(self._gains(left, total))

    @cached_property
    def _stats(self) -> np.ndarray:
        """What each row adds: the weight of its class, or its weight and its weighted target."""
        weight = self.weight.astype(np.longdouble)
        if self.criterion in CLASS_CRITERIA:
            return weight[:, None] * (self.y[:, None] == np.unique(self.y))
        middle = np.average(self.y, weights=self.weight) if self.criterion == "squared_error" else 0.0
        return np.stack([weight, weight * (self.y - middle)], axis=1)

    def _gains(self, left: np.ndarray, total: np.ndarray) -> np.ndarray:
        parts = _risk(left, self.criterion) + _risk(total - left, self.criterion)
        return _risk(total, self.criterion) - parts

    def _splits_of(self, feature: int) -> list["Split"]:
        x = self.X[:, feature]
        order = np.argsort(x, kind="stable")  # missing values last
        n_known = len(x) - int(np.isnan(x).sum())
        if n_known == 0:
            return []
        values, sums = x[order], np.cumsum(self._stats[order], axis=0)
        total, missing = sums[-1], sums[-1] - sums[n_known - 1]
        cuts = np.flatnonzero(values[1:n_known] > values[: n_known - 1])
        gaps = len(x) - n_known
        found = self._tried(feature, values, cuts, sums[cuts], total, cuts + 1, missing_left=False)
        if gaps:
            with_gaps = sums[cuts] + missing
            found += self._tried(feature, values, cuts, with_gaps, total, cuts + 1 + gaps, missing_left=True)
            last = np.array([n_known - 1])
            found += self._tried(feature, values, last, sums[last], total, last + 1, missing_left=False)
        return found

    def _tried(
        self,
        feature: int,
        values: np.ndarray,
        cuts: np.ndarray,
        left: np.ndarray,
        total: np.ndarray,
        n_left: np.ndarray,
        *,
        missing_left: bool,
    ) -> list["Split"]:
        gains = self._gains(left, total)
        allowed = (n_left >= self.min_rows) & (len(values) - n_left >= self.min_rows)
        if self.criterion == "poisson":  # a rate of zero is refused
            allowed &= (left[:, 1] > 0) & (total[1] - left[:, 1] > 0)
        return [
            Split(feature, float(values[cut]), float(values[cut + 1]), missing_left, float(gain))
            for cut, gain in zip(cuts[allowed], gains[allowed], strict=True)
        ]


@dataclass(frozen=True)
class Split:
    """Values up to `below` go left, and the next value in the node is `above`, NaN where there is none."""

    feature: int
    below: float
    above: float
    missing_left: bool
    gain: float

    def goes_left(self, X: np.ndarray) -> np.ndarray:
        """One flag per row."""
        x = X[:, self.feature]
        return (x <= self.below) | (np.isnan(x) & self.missing_left)


def _risk(stats: np.ndarray, criterion: str) -> np.ndarray:
    """Weight times impurity, up to a term that is the same for all splits of a node."""
    if criterion in CLASS_CRITERIA:
        weight = stats.sum(axis=-1)
        if criterion == "gini":
            return weight - (stats**2).sum(axis=-1) / np.maximum(weight, 1e-300)
        return _x_log_x(weight) - _x_log_x(stats).sum(axis=-1)
    weight, total = stats[..., 0], stats[..., 1]
    if criterion == "squared_error":
        return -(total**2) / np.maximum(weight, 1e-300)
    positive = total > 0
    return -np.where(positive, total * np.log(np.where(positive, total, 1) / np.maximum(weight, 1e-300)), 0)


def _x_log_x(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x * np.log2(np.where(x > 0, x, 1)), 0)
