"""What constraints promise, looked up the slow way: rows moved along a grid, paths walked one by one."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.tree.tree import LEAF, Tree


def falls_along(
    values: Callable[[Any], FloatArray], rows: Any, column: Any, grid: FloatArray, tolerance: float = 0.0
) -> int:
    """How often the value of a row falls as one of its columns moves up the grid."""
    lines = []
    for number in grid:
        moved = rows.copy()
        if isinstance(moved, np.ndarray):
            moved[:, column] = number
        else:
            moved[column] = number
        lines.append(values(moved))
    return sum(int((after < before - tolerance).sum()) for before, after in pairwise(lines))


def paths_of(tree: Tree) -> list[list[int]]:
    """The features asked on the way to each leaf, in order."""
    paths: list[list[int]] = []

    def walk(node: int, asked: list[int]) -> None:
        if tree.feature[node] == LEAF:
            paths.append(asked)
            return
        below = [*asked, int(tree.feature[node])]
        walk(int(tree.left[node]), below)
        walk(int(tree.right[node]), below)

    walk(0, [])
    return paths


def isotonic(value: FloatArray, weight: FloatArray) -> FloatArray:
    """The nearest values that never fall, of a chain: by the formula of greatest and least means."""
    n = len(value)

    def mean(first: int, last: int) -> float:
        part = slice(first, last + 1)
        return float(np.average(value[part], weights=weight[part]))

    return np.array([max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)])


def best_ordered_cut(
    x: FloatArray, y: FloatArray, weight: FloatArray, direction: int, low: float, high: float
) -> tuple[float, float]:
    """The cut of one column whose two clipped means, in order, leave the least squared error; and that error.

    Without missing values.
    """
    found = (np.inf, np.nan)
    for cut in np.unique(x)[:-1]:
        left = x <= cut
        own = [float(np.average(y[side], weights=weight[side])) for side in (left, ~left)]
        values = np.clip(own, low, high)
        if direction * (values[1] - values[0]) < 0 or (values[0] == values[1] and own[0] != own[1]):
            continue
        error = float((weight * (y - np.where(left, values[0], values[1])) ** 2).sum())
        if error < found[0] - 1e-9:
            found = (error, float(cut))
    return found[1], found[0]
