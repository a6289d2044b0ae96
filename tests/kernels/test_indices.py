"""Indices of kernels have no sign, and read and write the same places as Python's."""

import numpy as np
import pytest

from holdfast._arrays import FloatArray, LongArray
from holdfast.kernels.jit import kernel

pytestmark = pytest.mark.kernel


@kernel
def place_all(values: FloatArray, at: LongArray, table: FloatArray) -> None:
    """Write the values to the places of the first row, their sum, counted from the end, to the last."""
    for i in range(len(values)):
        table[0, at[i]] = values[i]
        table[1, at[i] : at[i] + 1] += table[0, at[i]]
    table[-1, -1] = table[0].sum()
    for i in range(1):
        table[i + 1, -2] = table[i, -1]


def test_a_kernel_reads_and_writes_where_python_does() -> None:
    values, at = np.array([3.0, 5.0, 7.0]), np.array([4, 0, 2])
    table = np.zeros((3, 5))
    place_all(values, at, table)
    placed, moved = [5.0, 0.0, 7.0, 0.0, 3.0], [5.0, 0.0, 7.0, 3.0, 3.0]
    assert table.tolist() == [placed, moved, [0.0, 0.0, 0.0, 0.0, 15.0]]
