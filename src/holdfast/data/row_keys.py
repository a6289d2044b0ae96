"""A number for every row that depends on what the row holds, and on nothing else."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import LongArray
from holdfast.data.table import Table

Keys = NDArray[np.uint64]

_MISSING = np.uint64(0x7FF8000000000000)  # one pattern for all that is not a number
_STEP = np.uint64(0x9E3779B97F4A7C15)


def row_keys(table: Table, marks: Sequence[LongArray] = ()) -> Keys:
    """A 64-bit hash of each row: its columns by name, marks (a stage, a group) and target.

    The same for a row wherever it stands, in whatever order the columns are, and whatever it weighs.

    >>> keys = row_keys(Table.from_arrays([[1.0], [2.0], [1.0]], ["no", "no", "no"]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    columns = [table.columns[index] for index in table.schema.name_order]
    keys = np.zeros(table.n_rows, np.uint64)
    for values in (*columns, *marks, table.target):
        keys = _mixed((keys + _STEP) ^ _bits(values))
    return keys


def content_order(table: Table, marks: Sequence[LongArray] = ()) -> LongArray:
    """The rows in an order that depends on what they hold, and not on the order they came in."""
    weight = [] if table.weight is None else [table.weight]
    return np.asarray(np.lexsort([*weight, row_keys(table, marks)]), np.int64)


def _bits(values: NDArray[Any]) -> Keys:
    numbers = values.astype(np.float64) + 0.0  # there is one zero
    return np.where(np.isnan(numbers), _MISSING, numbers.view(np.uint64))


def _mixed(keys: Keys) -> Keys:
    """Each key as one that looks unrelated to it, and differs wherever it does."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)), np.uint64)
