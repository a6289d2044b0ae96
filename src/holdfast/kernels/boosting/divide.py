"""Dividing the rows of a node, in parts that several threads take.

A part first writes the rows that go left and those that go right to two buffers; when it is known how many
they are in every part, they are put in their place. Both sides keep their order: parts change nothing.
The gradients of the smaller side are put side by side on the way: the features are counted from there.
"""

from holdfast.arrays import IntArray, LongArray, SignArray
from holdfast.kernels.boosting.histogram import Gradients
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import CUT, END, FEATURE, FIRST_RIGHT, LAST_LEFT, MISSING_LEFT, NONE, START
from holdfast.kernels.jit import inner, int64, uint64

# What is known of a part: how many of its rows go left, whether a value is missing, the two ranks next to the
# threshold and a row with each, and the sums of the rows gathered.
N_LEFT, ANY_MISSING, HIGHEST_LEFT, ROW_LEFT, LOWEST_RIGHT, ROW_RIGHT, HESSIANS, GRADIENT = range(8)
N_NOTES = 8  # a line of the cache
MOST_PARTS = 64
NO_RANK = (1 << 31) - 1  # above all ranks


@inner
def bounds_of_part(first: int, last: int, part: int, n_parts: int) -> tuple[int, int]:
    """The rows of a part."""
    n_rows = last - first
    return first + n_rows * part // n_parts, first + n_rows * (part + 1) // n_parts


@inner
def first_with(ranks: IntArray, rows: IntArray, first: int, last: int, rank: int) -> int:
    """The first of some rows that has the rank."""
    for i in range(first, last):
        row = rows[uint64(i)]
        if ranks[uint64(row)] == rank:
            return int64(row)
    return NONE


@inner
def divide_numbers(
    ranks: IntArray,
    rows: IntArray,
    cut: int,
    missing_left: bool,
    first: int,
    last: int,
    lefts: IntArray,
    rights: IntArray,
    note: LongArray,
) -> None:
    """Write the rows of a part with a rank up to `cut` to `lefts`, the others to `rights`.

    Without a branch in the loop, which would be guessed wrong every other time: a row is written to both
    sides and kept on one. That took 2.2 ns a row where branches took 3 to 7.
    """
    n_left, all_ranks = uint64(0), int64(0)
    # A missing value has the rank -1: the lowest, or one more than any other as an unsigned number.
    shift = int64(1) if missing_left else int64(0)
    highest_left, lowest_right = int64(-1), int64(NO_RANK)
    begin, end = uint64(first), uint64(last)
    for i in range(begin, end):
        at = uint64(i)
        row = rows[at]
        rank = int64(ranks[uint64(row)])
        goes_left = ((rank + shift) & 0xFFFFFFFF) <= cut + shift
        if_left = -int64(goes_left)  # all bits set, or none
        all_ranks |= rank
        highest_left = max(highest_left, rank | ~if_left)
        lowest_right = min(lowest_right, (rank | if_left) & NO_RANK)
        lefts[begin + n_left] = row
        rights[at - n_left] = row
        n_left += uint64(goes_left)
    middle = first + int64(n_left)
    note[N_LEFT], note[ANY_MISSING] = middle - first, all_ranks < 0
    note[HIGHEST_LEFT], note[LOWEST_RIGHT] = highest_left, lowest_right
    note[ROW_LEFT] = first_with(ranks, lefts, first, middle, highest_left)
    note[ROW_RIGHT] = first_with(ranks, rights, first, last - int64(n_left), lowest_right)


@inner
def divide_categories(
    ranks: IntArray,
    rows: IntArray,
    sides: SignArray,
    first: int,
    last: int,
    lefts: IntArray,
    rights: IntArray,
    note: LongArray,
) -> None:
    """The same for a set of categories: `sides` has 1 for those that go left, missing values before them.

    One loop for both would take 3.6 ns a row here instead of 2.
    """
    n_left, all_ranks = uint64(0), int64(0)
    begin, end = uint64(first), uint64(last)
    for i in range(begin, end):
        at = uint64(i)
        row = rows[at]
        rank = int64(ranks[uint64(row)])
        all_ranks |= rank
        lefts[begin + n_left] = row
        rights[at - n_left] = row
        n_left += uint64(sides[uint64(rank + 1)] == 1)
    note[N_LEFT], note[ANY_MISSING] = int64(n_left), all_ranks < 0
    note[HIGHEST_LEFT], note[LOWEST_RIGHT] = int64(-1), int64(NO_RANK)
    note[ROW_LEFT] = note[ROW_RIGHT] = NONE


@inner
def divide_part(
    coded: Coded,
    rows: IntArray,
    buffer: IntArray,
    sides: SignArray,
    fields: LongArray,
    node: int,
    part: int,
    n_parts: int,
    notes: LongArray,
) -> None:
    """Write the rows of a part of a node to the two sides; a single part leaves the left one where it was."""
    first, last = bounds_of_part(fields[node, START], fields[node, END], part, n_parts)
    feature, lefts = fields[node, FEATURE], rows if n_parts == 1 else buffer[1]
    ranks = coded.ranks[feature]
    if coded.is_subset[feature]:
        divide_categories(ranks, rows, sides, first, last, lefts, buffer[0], notes[part])
    else:
        missing_left = fields[node, MISSING_LEFT] == 1
        divide_numbers(
            ranks, rows, fields[node, CUT], missing_left, first, last, lefts, buffer[0], notes[part]
        )


@inner
def conclude(fields: LongArray, node: int, n_parts: int, notes: LongArray) -> int:
    """How many rows go left; the rows next to the threshold, and whether any value was missing, are noted."""
    n_left, highest_left, lowest_right, any_missing = int64(0), int64(-1), int64(NO_RANK), int64(0)
    fields[node, LAST_LEFT] = fields[node, FIRST_RIGHT] = NONE
    for part in range(n_parts):
        n_left += notes[part, N_LEFT]
        any_missing |= notes[part, ANY_MISSING]
        if notes[part, HIGHEST_LEFT] > highest_left:
            highest_left = notes[part, HIGHEST_LEFT]
            fields[node, LAST_LEFT] = notes[part, ROW_LEFT]
        if notes[part, LOWEST_RIGHT] < lowest_right:
            lowest_right = notes[part, LOWEST_RIGHT]
            fields[node, FIRST_RIGHT] = notes[part, ROW_RIGHT]
    if not any_missing:
        fields[node, MISSING_LEFT] = NONE
    return n_left


@inner
def gather(
    gradients: Gradients, rows: IntArray, first: int, last: int, ordered: LongArray, note: LongArray
) -> None:
    """Put the gradients of some rows side by side, at the places of the rows, and add them up."""
    sum_, other, is_repeated = int64(0), int64(0), len(gradients.repeats) > 0
    bits, packed, repeats = gradients.count_bits, gradients.packed, gradients.repeats
    for i in range(first, last):
        row = uint64(rows[uint64(i)])
        both = packed[row]
        ordered[uint64(i)] = both
        gradient, own = both >> 32, ((both & 0xFFFFFFFF) << bits) + 1
        if is_repeated:
            gradient *= int64(repeats[row])
            own *= int64(repeats[row])
        sum_ += gradient
        other += own
    note[HESSIANS], note[GRADIENT] = other, sum_


@inner
def move(origin: IntArray, first: int, n_rows: int, rows: IntArray, to: int) -> None:
    """Write some rows to another place."""
    begin, target = uint64(first), uint64(to)
    for i in range(n_rows):
        rows[target + uint64(i)] = origin[begin + uint64(i)]


@inner
def place_part(
    gradients: Gradients,
    rows: IntArray,
    buffer: IntArray,
    ordered: LongArray,
    fields: LongArray,
    node: int,
    part: int,
    n_parts: int,
    gathers_left: bool,
    notes: LongArray,
) -> None:
    """Put the two sides of a part in their place, and gather the gradients of one side."""
    start, end = fields[node, START], fields[node, END]
    first, last = bounds_of_part(start, end, part, n_parts)
    before, n_left, own = int64(0), int64(0), notes[part, N_LEFT]
    for other in range(n_parts):
        before += notes[other, N_LEFT] if other < part else 0
        n_left += notes[other, N_LEFT]
    to_left, to_right = start + before, start + n_left + (first - start - before)
    n_right = last - first - own
    if n_parts > 1:
        move(buffer[1], first, own, rows, to_left)
    move(buffer[0], first, n_right, rows, to_right)
    if gathers_left:
        gather(gradients, rows, to_left, to_left + own, ordered, notes[part])
    else:
        gather(gradients, rows, to_right, to_right + n_right, ordered, notes[part])


@inner
def add_notes(notes: LongArray, n_parts: int, total: LongArray) -> None:
    """Write what the gathered rows of all parts add up to."""
    total[0] = total[1] = 0
    for part in range(n_parts):
        total[0] += notes[part, HESSIANS]
        total[1] += notes[part, GRADIENT]
