"""The rows of a small node, sorted by every feature once and divided with each split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast._arrays import ByteArray, IntArray
from holdfast.data.binning import code_columns
from holdfast.data.schema import Feature
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.small_nodes import SortedRows, divide_sorted, sort_rows
from holdfast.kernels.jit import compile_uncached, int64

# Kernels for kernels have no door to Python: each is called through a small one that has.


@compile_uncached
def sort_and_divide(
    coded: Coded, rows: IntArray, goes_left: ByteArray, first: int, out: SortedRows, divided: IntArray
) -> None:
    """Sort the rows from a place on; then divide them, after `divided` has been written in two parts."""
    n_rows = len(rows)
    keys, starts, waiting = np.empty(n_rows, np.int64), np.empty(256, np.int64), np.empty(128, np.int64)
    sort_rows(coded, rows, first, keys, starts, waiting, out)
    n_left = 0
    for side in range(2):
        for i in range(n_rows):
            if goes_left[rows[i]] == 1 - side:
                divided[n_left] = rows[i]
                n_left += 1
    n_left = 0
    for i in range(n_rows):
        n_left += int64(goes_left[rows[i]])
    divide_sorted(out, divided, first, n_left, np.empty(n_rows, np.int32))


@pytest.mark.kernel
@given(st.integers(2, 400) | st.integers(600, 1200), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_rows_of_both_sides_stand_in_the_order_of_every_feature(n_rows: int, first: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    columns = [draw.normal(size=n_rows), draw.integers(0, 20, n_rows).astype(float)]
    columns[1][draw.random(n_rows) < 0.2] = np.nan
    coded = code_columns([Feature("smooth"), Feature("tied")], columns)
    rows = np.sort(draw.permutation(n_rows)[: max(n_rows // 2, 2)]).astype(np.int32)
    goes_left = (draw.random(n_rows) < 0.5).astype(np.uint8)
    places = np.full((2, first + len(rows) + 2), -7, np.int32)
    out = SortedRows(
        places,
        np.ones(2, np.uint8),
        np.empty(n_rows, np.uint8),
        np.zeros(2, np.int64),
        np.empty(48, np.int32),
        np.int64(48),
    )
    sort_and_divide(coded, rows, goes_left, first, out, np.empty(len(rows), np.int32))
    for feature in range(2):
        ranks = coded.ranks[feature]
        in_order = sorted(rows.tolist(), key=lambda row: (ranks[row], row))
        left = [row for row in in_order if goes_left[row]]
        right = [row for row in in_order if not goes_left[row]]
        assert places[feature].tolist() == [-7] * first + left + right + [-7, -7]
