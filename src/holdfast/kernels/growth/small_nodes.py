"""The rows of small nodes in the order of every feature: sorted once, and divided with each split.

A node of a few hundred rows is searched faster row by row than by bins if its rows need not be sorted first:
both sides of a split keep the order of their parent.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded, Sample
from holdfast.kernels.growth.sorting import ROW_MASK, sort_keys
from holdfast.kernels.jit import inner, int64

ROWS_TO_PLACE = 256  # with fewer rows, sorting all keys at once is faster


class SortedRows(NamedTuple):
    """Row numbers by feature; those of a node are in the same range as among all rows."""

    rows: IntArray  # (features, places) by rank, missing values first
    is_kept: ByteArray  # (features,) 1 for numbers with more than a few values
    goes_left: ByteArray  # (rows,) by the current split
    place: LongArray  # (2,) begin and end of the node that is searched; 0 and 0 if it is not sorted
    few: IntArray  # (rows,) of a node that is sorted on its own
    most_rows: int  # of a node that is sorted


class CompactRows(NamedTuple):
    """Room for the rows of one node side by side: they fit in a cache that the whole table does not.

    `coded` and `sample` are the same memory, which only `move_to_compact` writes to.
    """

    coded: Coded
    sample: Sample
    codes: NDArray[np.uint32]  # (features / 4, rows)
    ranks: IntArray  # (features, rows)
    weight: LongArray  # (rows,)
    total: LongArray
    square: LongArray
    target: FloatArray
    repeats: IntArray
    origin: IntArray  # (rows,) which row of the table each is


# -- Sorted rows ---------------------------------------------------------------------------------------------


@inner
def sort_rows(
    coded: Coded,
    rows: IntArray,
    first: int,
    keys: LongArray,
    starts: LongArray,
    waiting: LongArray,
    out: SortedRows,
) -> None:
    """Write the rows of a node in the order of each feature, from the place `first` on."""
    for feature in range(len(out.is_kept)):
        if out.is_kept[feature]:
            write_keys(coded, rows, int64(feature), keys, starts, waiting)
            for i in range(len(rows)):
                out.rows[feature, first + i] = keys[i] & ROW_MASK


@inner
def write_keys(
    coded: Coded, rows: IntArray, feature: int, keys: LongArray, starts: LongArray, waiting: LongArray
) -> None:
    """Write the ranks of a feature, each with its row, in sorted order: missing values first."""
    ranks, n_rows = coded.ranks, int64(len(rows))
    if n_rows < ROWS_TO_PLACE:
        for i in range(n_rows):
            row = int64(rows[i])
            keys[i] = (int64(ranks[feature, row]) << 32) | row
        sort_keys(keys, int64(0), n_rows, waiting)
        return
    # Codes are in the order of ranks: keys are distributed by code, and only keys of one code are compared.
    codes, lane, block, n_codes = coded.codes, 8 * (feature % 4), feature // 4, int64(coded.n_codes[feature])
    for code in range(n_codes):
        starts[code] = 0
    starts[MISSING_CODE] = 0
    for i in range(n_rows):
        starts[codes[block, rows[i]] >> lane & 255] += 1
    place, starts[MISSING_CODE] = starts[MISSING_CODE], 0
    for code in range(n_codes):
        starts[code], place = place, place + starts[code]
    for i in range(n_rows):
        row = int64(rows[i])
        code = codes[block, row] >> lane & 255
        keys[starts[code]] = (int64(ranks[feature, row]) << 32) | row
        starts[code] += 1
    begin = starts[MISSING_CODE]
    for code in range(n_codes):
        sort_keys(keys, begin, starts[code], waiting)
        begin = starts[code]


@inner
def divide_sorted(own: SortedRows, rows: IntArray, first: int, n_left: int, buffer: IntArray) -> None:
    """Move the rows that went left to the front, feature by feature, both sides in their order.

    `rows` are those of the node, already divided.
    """
    n_rows, goes_left, ordered = len(rows), own.goes_left, own.rows
    for i in range(n_rows):
        goes_left[rows[i]] = i < n_left
    for feature in range(len(own.is_kept)):
        if not own.is_kept[feature]:
            continue
        left, n_right = first, int64(0)
        for i in range(first, first + n_rows):
            # Written to both sides and kept on one: a branch would be mispredicted every other time.
            row = ordered[feature, i]
            is_left = int64(goes_left[row])
            ordered[feature, left] = row
            buffer[n_right] = row
            left += is_left
            n_right += 1 - is_left
        for i in range(n_right):
            ordered[feature, left + i] = buffer[i]


# -- The rows of a small node, copied side by side -----------------------------------------------------------


@inner
def move_to_compact(plan: Plan, coded: Coded, sample: Sample, rows: IntArray, compact: CompactRows) -> None:
    """Copy the rows, and number them from 0 in their order."""
    for i in range(len(rows)):
        row = rows[i]
        compact.origin[i] = row
        compact.weight[i] = sample.weight[row]
        if plan.n_classes == 0:
            compact.total[i], compact.square[i] = sample.total[row], sample.square[row]
            compact.target[i] = sample.target[row]
        if plan.counts_apart:
            compact.repeats[i] = sample.repeats[row]
    # Row slices first: in a loop that writes, the compiler would reload the start of a row for every number.
    for block in range(coded.codes.shape[0]):
        codes, own_codes = coded.codes[block], compact.codes[block]
        for i in range(len(rows)):
            own_codes[i] = codes[rows[i]]
    for feature in range(coded.ranks.shape[0]):
        ranks, own_ranks = coded.ranks[feature], compact.ranks[feature]
        for i in range(len(rows)):
            own_ranks[i] = ranks[rows[i]]
    for i in range(len(rows)):
        rows[i] = i
