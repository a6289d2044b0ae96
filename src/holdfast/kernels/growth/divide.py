"""Which rows of a node go left, by the split that was found or by one that is prescribed."""

import math

from holdfast.arrays import FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth.guide import GIVEN, Top
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import (
    CUT,
    END,
    FEATURE,
    FIRST_RIGHT,
    LAST_LEFT,
    MISSING_LEFT,
    NONE,
    SET_START,
    START,
)
from holdfast.kernels.growth.split import Split
from holdfast.kernels.jit import inner, int64


@inner
def divide(
    coded: Coded, rows: IntArray, buffer: IntArray, fields: LongArray, node: int, in_set: SignArray
) -> int:
    """Move the rows that go left to the front, both sides in their old order; how many they are.

    Also finds the two rows on either side of the threshold, and forgets the side of missing values if there
    are none.
    """
    feature, cut, first = fields[node, FEATURE], fields[node, CUT], fields[node, SET_START]
    missing_left, ranks, is_subset = (
        fields[node, MISSING_LEFT] == 1,
        coded.ranks,
        coded.is_subset[feature] > 0,
    )
    start, n_left, n_right, any_missing = fields[node, START], int64(0), int64(0), False
    top, bottom, last_left, first_right = int64(-1), int64(1 << 40), NONE, NONE
    for i in range(start, fields[node, END]):
        row = rows[i]
        rank = int64(ranks[feature, row])
        if rank < 0:
            goes_left, any_missing = missing_left, True
        elif is_subset:
            goes_left = in_set[first + rank] == 1
        else:
            goes_left = rank <= cut
            if goes_left and rank > top:
                top, last_left = rank, int64(row)
            elif not goes_left and rank < bottom:
                bottom, first_right = rank, int64(row)
        # Written to both sides, kept on one: a branch would be guessed wrong every other time.
        rows[start + n_left] = row
        buffer[n_right] = row
        n_left += goes_left
        n_right += not goes_left
    for i in range(n_right):
        rows[start + n_left + i] = buffer[i]
    if not any_missing:
        fields[node, MISSING_LEFT] = NONE
    fields[node, LAST_LEFT], fields[node, FIRST_RIGHT] = last_left, first_right
    return n_left


@inner
def side_of_all(coded: Coded, rows: IntArray, top: Top, given: int) -> int:
    """The side to which a prescribed split sends all rows: 1 left, 0 right; NONE if it parts them."""
    feature, n_left = top.feature[given], 0
    is_subset = coded.is_subset[feature] > 0
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        if rank < 0:
            n_left += top.missing_left[given] == 1
        elif is_subset:
            n_left += top.in_set[top.set_start[given] + rank] == 1
        else:
            n_left += rank <= top.cut[given]
    if n_left == 0:
        return int64(0)
    return int64(1) if n_left == len(rows) else NONE


@inner
def find_given(coded: Coded, rows: IntArray, top: Top, guided: FloatArray, at: int) -> int:
    """The prescribed split of a node, or NONE: those that do not part its rows are passed over."""
    given = int64(guided[at, GIVEN])
    while given != NONE:
        side = side_of_all(coded, rows, top, given)
        if side == NONE:
            break
        given = top.left[given] if side == 1 else top.right[given]
    guided[at, GIVEN] = given
    return given


@inner
def take_given(coded: Coded, top: Top, given: int, in_set: SignArray) -> Split:
    """A prescribed split, as if it had been found."""
    feature, first = top.feature[given], top.set_start[given]
    if coded.is_subset[feature]:
        for code in range(coded.n_codes[feature]):
            in_set[code] = top.in_set[first + code]
    return Split(int64(0), math.inf, feature, top.cut[given], top.missing_left[given])
