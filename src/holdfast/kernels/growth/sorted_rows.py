"""The rows of small nodes in the order of every feature: sorted once, and divided with each split.

A node of a few hundred rows is searched faster row by row than by bins, if its rows need not be sorted for
it: both sides of a split keep the order that their parent has.
"""

from typing import NamedTuple

from holdfast.arrays import ByteArray, IntArray, LongArray
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded
from holdfast.kernels.growth.sort import ROW_MASK, sort_keys
from holdfast.kernels.jit import inner, int64

ROWS_TO_PLACE = 256  # with fewer rows, sorting all keys at once is faster


class SortedRows(NamedTuple):
    """The row numbers of nodes, feature by feature: those of a node stand where they do among all rows."""

    rows: IntArray  # (features, places) by rank, missing values first
    is_kept: ByteArray  # (features,) 1 for numbers of more than a few values
    goes_left: ByteArray  # (rows,) by the split at hand
    place: LongArray  # (2,) where the node that is searched begins and ends; 0 and 0 if it is not sorted
    few: IntArray  # (rows,) those of a node that is sorted by itself
    most_rows: int  # of a node that is sorted, to be divided with it


@inner
def write_keys(
    coded: Coded, rows: IntArray, feature: int, keys: LongArray, starts: LongArray, waiting: LongArray
) -> None:
    """Write the ranks of a feature, each with its row, in their order: missing values first."""
    ranks, n_rows = coded.ranks, int64(len(rows))
    if n_rows < ROWS_TO_PLACE:
        for i in range(n_rows):
            row = int64(rows[i])
            keys[i] = (int64(ranks[feature, row]) << 32) | row
        sort_keys(keys, int64(0), n_rows, waiting)
        return
    # Codes are in the order of ranks: keys are put in their order, and only those of one code are compared.
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
def divide_sorted(own: SortedRows, rows: IntArray, first: int, n_left: int, buffer: IntArray) -> None:
    """Move the rows that went left to the front, feature by feature, both sides in their order.

    `rows` are those of the node, divided already.
    """
    n_rows, goes_left, ordered = len(rows), own.goes_left, own.rows
    for i in range(n_rows):
        goes_left[rows[i]] = i < n_left
    for feature in range(len(own.is_kept)):
        if not own.is_kept[feature]:
            continue
        left, n_right = first, int64(0)
        for i in range(first, first + n_rows):
            # Written to both sides, kept on one: a branch would be guessed wrong every other time.
            row = ordered[feature, i]
            is_left = int64(goes_left[row])
            ordered[feature, left] = row
            buffer[n_right] = row
            left += is_left
            n_right += 1 - is_left
        for i in range(n_right):
            ordered[feature, left + i] = buffer[i]
