"""The sequence of candidates, one for each stage, that loses and moves least: a shortest path.

Every candidate of a stage is linked to every candidate of the next one; a link is as long as what the second
one loses plus the distance between the two times a weight. Bertsimas, Digalakis, Ma and Paschalidis, "Towards
Stable Machine Learning Model Retraining via Slowly Varying Sequences", arXiv 2403.19871.
"""

from collections.abc import Sequence
from math import ceil, log2

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray

DIGITS = 52  # binary ones of the greatest total: sums of whole numbers are exact, so that ties are ties
NEVER = 2**60  # longer than any path


def shortest_path(
    losses: FloatArray,
    distances: Sequence[FloatArray],
    weight: float,
    allowed: BoolArray,
    possible: Sequence[BoolArray] | None = None,
) -> list[int]:
    """The candidate of every stage.

    `losses` and `allowed` are (stages, candidates), `distances[s]` is from the candidates of stage s to those
    of the next, and `possible[s]` tells which of these links may be used; None: all. Of sequences equally
    long that which moves less comes first, then that with the lowest numbers, from the last stage back.

    >>> losses, near = np.array([[0.0, 0.1], [0.3, 0.0]]), np.array([[0.0, 5.0], [5.0, 0.0]])
    >>> shortest_path(losses, [near], 0.01, np.ones((2, 2), bool))
    [0, 1]
    >>> shortest_path(losses, [near], 0.03, np.ones((2, 2), bool))
    [1, 1]
    """
    n_stages = len(losses)
    greatest = n_stages * float(np.abs(losses[allowed]).max(initial=0.0))
    farthest = sum(float(each.max(initial=0.0)) for each in distances)
    unit, step_unit = _unit(greatest + weight * farthest), _unit(farthest)
    length = np.where(allowed[0], _whole(losses[0], unit), NEVER)
    moved = np.zeros(len(length), np.int64)
    before: list[LongArray] = []
    for stage in range(1, n_stages):
        links = distances[stage - 1]
        lengths = length[:, None] + _whole(weight * links, unit)
        if possible is not None:
            lengths = np.where(possible[stage - 1], lengths, NEVER)
        moves = moved[:, None] + _whole(links, step_unit)
        is_best = lengths == lengths.min(axis=0)
        first = np.where(is_best, moves, NEVER).argmin(axis=0)
        before.append(first)
        every = np.arange(len(first))
        moved = moves[first, every]
        length = np.where(allowed[stage], lengths[first, every] + _whole(losses[stage], unit), NEVER)
    last = int(np.lexsort((moved, length))[0])
    path = [last]
    for first in reversed(before):
        path.append(int(first[path[-1]]))
    return path[::-1]


def _unit(greatest: float) -> float:
    """A power of two of which the greatest number has so many."""
    return float(2.0 ** max(ceil(log2(greatest)) - DIGITS, -1000)) if greatest > 0 else 1.0


def _whole(values: FloatArray, unit: float) -> LongArray:
    return np.rint(values / unit).astype(np.int64)
