"""The cheapest assignment of rows to columns, in integers: exact, and the same on every machine.

Shortest augmenting paths. Every row takes one column; with more columns than rows some stay unowned. Prices
of rows (u) and columns (v) keep cost - u - v >= 0, with equality where a row owns a column. No column price
exceeds `level`, and the columns that stay unowned have exactly that price. They would be owned by virtual
rows of cost 0, one for each surplus column: these are not stored, only their price, which is -level.

The innermost loops run over `width` columns, a multiple of AT_ONCE, so that vectorized loops have no
remainder: the columns beyond the last have the cost PAD, and no path reaches them.

Nothing overflows if the costs times the number of columns are within 2 ** 59. Where row i owns column j, v[k]
- v[j] <= cost[i, k] - cost[i, j], so that no column price is further from 0 than twice the range of the
costs: reduced costs, and all distances, stay far below PAD.
"""

from typing import NamedTuple

from holdfast._arrays import ByteArray, LongArray
from holdfast.kernels.jit import inner, int64

FREE = int64(-1)
PAD = int64(2**60)  # above all costs, prices and distances
FAR = int64(2**61)  # beyond every distance
CLOSED = int64(2**62)  # subtracted from the price of a column whose distance is final
OWNED = int64(2**32)  # above all columns
AT_ONCE = 16  # columns per iteration of a vectorized loop


class Prices(NamedTuple):
    """Memory for one assignment, reused for the next."""

    u: LongArray  # (rows,)
    v: LongArray  # (columns,) before the call: the lowest cost of each column
    owner: LongArray  # (columns,) the row that has the column, or FREE
    column: LongArray  # (rows,) the column that the row has
    distance: LongArray  # (columns,) from the row without a column; FAR once it is final
    final: LongArray  # (columns,) the final distance
    via: LongArray  # (columns,) the row from which the column was reached; n_rows for the virtual row
    place: LongArray  # (columns,) its own number, + OWNED if a row has it


@inner
def padded_width(m: int) -> int:
    """Return the width for m columns."""
    return (m + AT_ONCE - 1) // AT_ONCE * AT_ONCE


@inner
def reduce_costs(cost: LongArray, m: int, prices: Prices) -> int:
    """Set first prices for a matrix with m columns and no more rows; return a lower bound of the cost."""
    u, v, (n, width) = prices.u, prices.v, cost.shape
    level = nth_smallest(v, n - 1, prices.distance, m)
    bound = int64(0)
    for j in range(m):
        v[j] = min(v[j] - level, 0)
        bound += v[j]
    for j in range(m, width):
        v[j] = 0
    for i in range(n):
        lowest = FAR
        for j in range(width):
            lowest = min(lowest, cost[i, j] - v[j])
        u[i] = lowest
        bound += lowest
    return bound


@inner
def nth_smallest(numbers: LongArray, n: int, scratch: LongArray, count: int) -> int:
    """Return the n-th smallest, counted from 0, of the first `count` numbers."""
    for i in range(count):
        scratch[i] = numbers[i]
    low, high = int64(0), int64(count - 1)
    while low < high:
        pivot = scratch[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while scratch[i] < pivot:
                i += 1
            while scratch[j] > pivot:
                j -= 1
            if i <= j:
                scratch[i], scratch[j] = scratch[j], scratch[i]
                i += 1
                j -= 1
        if n <= j:
            high = j
        elif n >= i:
            low = i
        else:
            break
    found: int = scratch[n]
    return found


@inner
def assign(cost: LongArray, m: int, prices: Prices, stop: ByteArray) -> int:
    """Return the lowest total cost of giving every row of a matrix with m columns a column of its own.

    Starts from the prices of `reduce_costs`; leaves the final ones, and the columns of the rows in `column`.
    Returns 0 once `stop[0]` is set.
    """
    u, v, owner, column, (n, width) = prices.u, prices.v, prices.owner, prices.column, cost.shape
    distance, final, via, place = prices.distance, prices.final, prices.via, prices.place
    surplus, level, n_level = m - n, int64(0), int64(0)  # n_level: unowned columns at the level
    for j in range(width):
        owner[j], place[j] = FREE, j
    for j in range(m):
        n_level += v[j] == 0
    for i in range(n):
        found, price, highest = FAR, u[i], int64(0) if n_level > surplus else int64(-1)
        for j in range(width):
            is_takeable = (cost[i, j] - v[j] == price) & (v[j] <= highest)
            found = min(found, place[j] if is_takeable else FAR)
        column[i] = FREE
        if found < OWNED:
            owner[found], place[found], column[i] = i, found + OWNED, found
            n_level -= v[found] == 0
    for start in range(n):
        if stop[0]:
            return int64(0)
        if column[start] != FREE:
            continue
        for j in range(width):
            distance[j] = FAR
        row, lowest, way_out, virtual_distance = int64(start), int64(0), FREE, FAR
        while True:
            shift = lowest - u[row]
            lowest, here = FAR, FAR
            for j in range(width):
                reached, before = cost[row, j] - v[j] + shift, distance[j]
                via[j] = row if reached < before else via[j]
                distance[j] = nearest = min(before, reached)
                lowest = min(lowest, nearest)
            for j in range(width):
                here = min(here, place[j] if distance[j] == lowest else FAR)
            if here < OWNED and v[here] == level and n_level == surplus:
                # A virtual row owns it, and would take any other column for it.
                way_out, virtual_distance = here, lowest
                shift = lowest + level
                lowest, here = FAR, FAR
                for j in range(m):
                    if owner[j] == FREE and v[j] == level:
                        distance[j], final[j] = FAR, virtual_distance
                        v[j] -= CLOSED
                        continue
                    if shift - v[j] < distance[j]:
                        distance[j], via[j] = shift - v[j], n
                    if distance[j] < lowest:
                        lowest, here = distance[j], place[j]
            if here < OWNED:
                break
            here -= OWNED
            row, final[here], distance[here] = owner[here], lowest, FAR
            v[here] -= CLOSED
        # Update the prices of everything nearer than the end of the path.
        u[start] += lowest
        for j in range(m):
            if v[j] < -PAD:
                v[j] += CLOSED - (lowest - final[j])
                if owner[j] != FREE:
                    u[owner[j]] += lowest - final[j]
        if virtual_distance != FAR:
            level -= lowest - virtual_distance
        while here != FREE:
            row = via[here]
            if row == n:
                owner[here], place[here] = FREE, here
                here = way_out  # it replaces the way out among the unowned columns
            else:
                owner[here], place[here] = row, here + OWNED
                here, column[row] = column[row], here
        n_level = int64(0)
        for j in range(m):
            n_level += (owner[j] == FREE) & (v[j] == level)
    total = int64(0)
    for i in range(n):
        total += cost[i, column[i]]
    return total
