"""The set of categories that a column with many of them is split by, worked out in plain words and floats."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from holdfast._arrays import FloatArray

LEAST_ROWS = 10
MISSING = -1


@dataclass(frozen=True)
class Rows:
    """Rows of one column: the category of each, its target as a vector, and what it weighs.

    Of two classes the target is the indicator of the second, of more those of all, of numbers the number. In
    boosting it is -gradient / hessian, and the weight the hessian.
    """

    category: list[int]  # MISSING where there is none
    target: FloatArray  # (rows, parts)
    weight: FloatArray  # (rows,)

    @property
    def mean(self) -> FloatArray:
        """The mean of the targets."""
        return np.asarray(self.weight @ self.target / self.weight.sum())

    def of(self, categories: frozenset[int]) -> "Rows":
        """The rows of some categories."""
        kept = [row for row, category in enumerate(self.category) if category in categories]
        return Rows([self.category[row] for row in kept], self.target[kept], self.weight[kept])


def groups_of(rows: Rows, least_weight: float, variance: float) -> list[frozenset[int]]:
    """Each category that is not rare, and all others and the missing values together.

    Those others stand alone, too, if they clearly differ twice as much as by chance.
    """
    found = sorted(set(rows.category))
    rare = frozenset(
        each
        for each in found
        if each == MISSING or rows.of(frozenset([each])).weight.sum() < least_weight * (1 - 1e-12)
    )
    if not rare or spread_of(rows.of(rare)) / variance > chance_limit(len(rare)):
        return [frozenset([each]) for each in found]
    return [*(frozenset([each]) for each in found if each not in rare), rare]


def spread_of(rows: Rows) -> float:
    """How far the categories of some rows are from the mean of these rows, squared, by their weight."""
    parts = [rows.of(frozenset([each])) for each in sorted(set(rows.category))]
    return float(sum(part.weight.sum() * ((part.mean - rows.mean) ** 2).sum() for part in parts))


def chance_limit(n: int) -> float:
    """Twice the mean of chi squared of n - 1 degrees, and three standard deviations."""
    return 2 * (n - 1) + 3 * math.sqrt(2 * (n - 1))


def shrunk_means(rows: Rows, groups: list[frozenset[int]], variance: float) -> list[FloatArray]:
    """What each group is expected to have: random effects by the method of moments.

    `variance` is that of a sum of targets by chance, for a weight of 1.
    """
    parts = [rows.of(group) for group in groups]
    weight = [part.weight.sum() for part in parts]
    whole, n = sum(weight), len(groups)
    distance = [part.mean - rows.mean for part in parts]
    spread = sum(w * (d @ d) for w, d in zip(weight, distance, strict=True))
    prior = 0.0
    if n > 2:
        excess = max(spread / variance - (n - 1), 0.01)
        prior = (whole - sum(w * w for w in weight) / whole) / excess
    shrunk = [w * d / (w + prior) for w, d in zip(weight, distance, strict=True)]
    remains = sum((w / whole * d for w, d in zip(weight, shrunk, strict=True)), np.zeros(len(rows.mean)))
    return [rows.mean + d - remains for d in shrunk]


def chance_variance(rows: Rows) -> float:
    """The variance of a sum of targets by chance, for a weight of 1."""
    deviation = rows.target - rows.mean
    variance = float(rows.weight @ (deviation**2).sum(axis=1)) / rows.weight.sum()
    return variance * float(rows.weight @ rows.weight) / rows.weight.sum()


def best_set(
    rows: Rows, least_weight: float, variance: float, min_weight: float = 0.0, l2: float = 0.0
) -> frozenset[int] | None:
    """The categories on one side of the split that lowers the squared error of the shrunk means most.

    Of targets with several parts, groups stand along the first principal component of the means.
    """
    groups = groups_of(rows, least_weight, variance)
    if len(groups) < 2:
        return None
    means, weight = shrunk_means(rows, groups, variance), [rows.of(group).weight.sum() for group in groups]
    consensus = np.array([mean - rows.mean for mean in means])
    offset = np.average(consensus, axis=0, weights=weight)
    axis = np.linalg.eigh((consensus - offset).T * np.array(weight) @ (consensus - offset))[1][:, -1]
    order = sorted(range(len(groups)), key=lambda i: float(consensus[i] @ axis))
    best, gains = None, -math.inf
    for i, _ in pairwise(range(len(order) + 1)):
        left, right = order[: i + 1], order[i + 1 :]
        if not right:
            break
        sides = [
            (sum(weight[j] for j in side), sum(weight[j] * means[j] for j in side)) for side in (left, right)
        ]
        if min(w for w, _ in sides) < min_weight:
            continue
        gain = sum(float(np.dot(total, total)) / (w + l2) for w, total in sides)
        if gain > gains:
            best, gains = frozenset().union(*(groups[j] for j in left)), gain
    return best
