"""Dividing the rows of a node, in parts that several threads take.

A part first writes the rows that go left and those that go right to two buffers; when it is known how many
they are in every part, they are put in their place. Both sides keep their order, so that parts change nothing.
The gradients of the smaller side are put side by side on the way: the features are counted from there.
"""

from holdfast.arrays import IntArray, LongArray, SignArray
from holdfast.kernels.boosting.histogram import Gradients
from holdfast.kernels.growth.grow import CUT, END, FEATURE, FIRST_RIGHT, LAST_LEFT, MISSING_LEFT, NONE, START
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.jit import inner, int64

# What is known of a part: how many of its rows go left, the two rows next to the threshold behind their
# ranks, the lowest rank, which is below 0 if a value is missing, and the sums of the rows gathered.
N_LEFT, HIGHEST_LEFT, LOWEST_RIGHT, LOWEST_RANK, HESSIANS, GRADIENT = range(6)
N_NOTES = 8  # a line of the cache
MOST_PARTS = 64
ROW_BITS = 32
LAST_ROW = (1 << 31) - 1


@inner
def bounds_of_part(first: int, last: int, part: int, n_parts: int) -> tuple[int, int]:
    """The rows of a part."""
    n_rows = last - first
    return first + n_rows * part // n_parts, first + n_rows * (part + 1) // n_parts


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
    """Write the rows of a part with a rank up to `cut` to `lefts`, the others to `rights`."""
    n_left = n_right = int64(0)
    # A missing value has the rank -1: the lowest, or one more than any other as an unsigned number.
    shift = int64(1) if missing_left else int64(0)
    highest_left, lowest_right, lowest = int64(-1), int64(1) << 62, int64(0)
    for i in range(first, last):
        row = rows[i]
        rank = int64(ranks[row])
        goes_left = ((rank + shift) & 0xFFFFFFFF) <= cut + shift
        # Of several rows with the rank, the first.
        as_left = rank << ROW_BITS | (LAST_ROW - row)
        as_right = (rank & LAST_ROW) << ROW_BITS | row
        highest_left = as_left if goes_left and as_left > highest_left else highest_left
        lowest_right = as_right if not goes_left and as_right < lowest_right else lowest_right
        lowest = min(lowest, rank)
        # Written to both sides, kept on one: a branch would be guessed wrong every other time.
        lefts[first + n_left] = row
        rights[first + n_right] = row
        n_left += goes_left
        n_right += not goes_left
    note[N_LEFT], note[LOWEST_RANK] = n_left, lowest
    note[HIGHEST_LEFT], note[LOWEST_RIGHT] = highest_left, lowest_right


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
    """The same for a set of categories: `sides` has 1 for those that go left, missing values before them."""
    n_left, n_right, lowest = int64(0), int64(0), int64(0)
    for i in range(first, last):
        row = rows[i]
        rank = int64(ranks[row])
        goes_left = sides[rank + 1] == 1
        lowest = min(lowest, rank)
        lefts[first + n_left] = row
        rights[first + n_right] = row
        n_left += goes_left
        n_right += not goes_left
    note[N_LEFT], note[LOWEST_RANK] = n_left, lowest
    note[HIGHEST_LEFT], note[LOWEST_RIGHT] = int64(-1), int64(1) << 62


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
    n_left, highest_left, lowest_right, lowest = int64(0), int64(-1), int64(1) << 62, int64(0)
    for part in range(n_parts):
        n_left += notes[part, N_LEFT]
        highest_left = max(highest_left, notes[part, HIGHEST_LEFT])
        lowest_right = min(lowest_right, notes[part, LOWEST_RIGHT])
        lowest = min(lowest, notes[part, LOWEST_RANK])
    if lowest >= 0:
        fields[node, MISSING_LEFT] = NONE
    is_known = lowest_right >> ROW_BITS < LAST_ROW
    fields[node, LAST_LEFT] = LAST_ROW - (highest_left & LAST_ROW) if highest_left >= 0 else NONE
    fields[node, FIRST_RIGHT] = lowest_right & LAST_ROW if is_known else NONE
    return n_left


@inner
def gather(
    gradients: Gradients, rows: IntArray, first: int, last: int, ordered: LongArray, note: LongArray
) -> None:
    """Put the gradients of some rows side by side, at the places of the rows, and add them up."""
    sum_, other, is_repeated = int64(0), int64(0), len(gradients.repeats) > 0
    bits, packed, repeats = gradients.count_bits, gradients.packed, gradients.repeats
    for i in range(first, last):
        both = packed[rows[i]]
        ordered[i] = both
        times = int64(repeats[rows[i]]) if is_repeated else int64(1)
        sum_ += (both >> 32) * times
        other += (((both & 0xFFFFFFFF) << bits) + 1) * times
    note[HESSIANS], note[GRADIENT] = other, sum_


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
        for i in range(own):
            rows[to_left + i] = buffer[1, first + i]
    for i in range(n_right):
        rows[to_right + i] = buffer[0, first + i]
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
