"""The cheapest matching of two sets of equal size, which starts from the matching of a similar problem.

Shortest augmenting paths. Prices of rows (u) and columns (v) keep cost - u - v >= 0, with equality where a
row has a column. All costs are multiples of one power of two, so that no sum is rounded.
"""

from typing import NamedTuple

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.kernels.jit import inner

FREE = -1
FAR = 1e300


class Matching(NamedTuple):
    """A matching with its prices, and memory for the search of a path."""

    u: FloatArray  # (rows,)
    v: FloatArray  # (columns,)
    column: LongArray  # (rows,) that the row has, or FREE
    owner: LongArray  # (columns,) the row that has the column, or FREE
    distance: FloatArray  # (columns,)
    via: LongArray  # (columns,)
    done: BoolArray  # (columns,)


@inner
def clear(matching: Matching, n: int) -> None:
    """No row has a column, and all prices are 0."""
    for i in range(n):
        matching.u[i] = matching.v[i] = 0.0
        matching.column[i] = matching.owner[i] = FREE


@inner
def complete(cost: FloatArray, n: int, matching: Matching) -> float:
    """The least total cost of the first n rows and columns; every row without a column gets one."""
    u, v, column, owner = matching.u, matching.v, matching.column, matching.owner
    distance, via, done = matching.distance, matching.via, matching.done
    for start in range(n):
        if column[start] != FREE:
            continue
        for j in range(n):
            distance[j], done[j] = FAR, False
        row, length, here = start, 0.0, FREE
        while True:
            lowest, here = FAR, FREE
            shift = length - u[row]
            for j in range(n):
                if done[j]:
                    continue
                reached = cost[row, j] - v[j] + shift
                if reached < distance[j]:
                    distance[j], via[j] = reached, row
                if distance[j] < lowest or (distance[j] == lowest and owner[j] == FREE):
                    lowest, here = distance[j], j
            length, done[here] = lowest, True
            if owner[here] == FREE:
                break
            row = owner[here]
        u[start] += length
        for j in range(n):
            if done[j] and j != here:
                u[owner[j]] += length - distance[j]
                v[j] -= length - distance[j]
        while True:
            row = via[here]
            owner[here] = row
            here, column[row] = column[row], here
            if row == start:
                break
    total = 0.0
    for i in range(n):
        total += cost[i, column[i]]
    return total
