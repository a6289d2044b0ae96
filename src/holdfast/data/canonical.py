"""Rows in one fixed order, whatever order they came in, and as often as their weights say."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import LongArray
from holdfast.data.table import Table

MOST_ROWS = 2_000_000  # whole weights that add up to more than this, and to more than the rows, stay weights


def canonical(table: Table, marks: Sequence[LongArray] = ()) -> tuple[Table, list[LongArray]]:
    """The table with its rows sorted, each of them as often as its weight says if all weights are whole.

    Marks (a stage, a group) come after the columns in the order of sorting, and come back row by row. So
    random choices among the rows do not depend on the order of the data, and a weight of 2 is a row twice.
    Rows without weight are left out.
    """
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    order = np.lexsort([weight, *marks[::-1], table.target, *table.columns[::-1]])
    order = order[weight[order] > 0]
    if _are_repetitions(weight):
        rows = np.repeat(order, weight[order].astype(np.int64))
        settled = Table(table.schema, tuple(column[rows] for column in table.columns), table.target[rows])
    else:
        rows, settled = order, table.taken(order)
    return settled, [mark[rows] for mark in marks]


def _are_repetitions(weight: NDArray[np.float64]) -> bool:
    with np.errstate(over="ignore"):
        is_few = weight.sum() <= max(MOST_ROWS, len(weight))
    return bool(is_few and np.all(weight == np.rint(weight)))
