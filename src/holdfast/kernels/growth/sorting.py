"""Ranks of the values of a column, by a radix sort of their bits; and small arrays sorted in place."""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, IntArray, KeyArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel, uint64

WORD_BITS = 63
DIGIT_BITS = 8  # the next places of 256 digits stay in the L1 cache; with 2,048 it took twice the time
N_DIGITS = 1 << DIGIT_BITS
N_PASSES = 4  # an even number: the words end up in their first array
SIGN = uint64(1 << 63)
INFINITE = uint64(0x7FF << 52)  # greater bits are NaN
NO_BITS, ALL_BITS = uint64(0), uint64((1 << 64) - 1)


class Layout(NamedTuple):
    """Layout of a word: the leading bits of a number, as its distance to the lowest one, and then its row."""

    lowest: int  # number, as an integer in the order of the numbers
    dropped: int  # last bits of a number that are the same in all, or for which there is no room
    is_exact: bool  # no two numbers differ in dropped bits only
    row_bits: int
    shift: int  # bits below those that the passes sort by


@kernel
def rank_bits(bits: KeyArray, row_bits: int, words: LongArray, spare: LongArray, out: IntArray) -> int:
    """Write the dense ranks of the numbers with these bits, -1 for NaN; return the number of ranks.

    Then spare[rank] is how many numbers are below the rank, and after the last rank how many there are in
    all. `words` and `spare` have room for one more than all rows, whose numbers have `row_bits`. Words are
    sorted by 32 bits in four passes; then those that are not yet in order, or not distinguished, are sorted
    by comparison.
    """
    places, waiting = np.zeros((N_PASSES, N_DIGITS), np.int64), np.empty(128, np.int64)
    layout = _layout(bits, row_bits)
    n_known = _as_words(bits, layout, words, places, out)
    for k in range(0, N_PASSES, 2):
        _sort_by_digit(words, spare, n_known, layout.shift + k * DIGIT_BITS, places[k])
        _sort_by_digit(spare, words, n_known, layout.shift + (k + 1) * DIGIT_BITS, places[k + 1])
    _sort_the_rest(words, n_known, layout.shift, waiting)
    start, n_ranks = int64(0), int64(0)
    while start < n_known:
        upper, end = words[start] >> row_bits, start + 1
        while end < n_known and words[end] >> row_bits == upper:
            end += 1
        if end > start + 1 and not layout.is_exact:
            _sort_by_dropped(bits, layout, words, start, end, waiting)
        last = int64(-1)
        for i in range(start, end):
            number = words[i] >> row_bits
            if number != last:
                spare[n_ranks] = i
                n_ranks += 1
                last = number
            out[words[i] & _last(row_bits)] = n_ranks - 1
        start = end
    spare[n_ranks] = n_known
    return n_ranks


@inner
def _last(n_bits: int) -> int:
    """Return a mask of the last bits of a word."""
    return (int64(1) << n_bits) - 1


@inner
def _is_number(bits: int) -> bool:
    return bool(bits & ~SIGN <= INFINITE)


@inner
def _in_order(bits: int) -> int:
    """Return the bits of a number as an integer in the order of the numbers; both zeros are the same."""
    if bits <= SIGN:
        return uint64(bits | SIGN)
    return uint64(bits ^ ALL_BITS)


@inner
def _layout(bits: KeyArray, row_bits: int) -> Layout:
    """Choose the layout that drops as few bits of the numbers as possible."""
    lowest, highest, in_some, in_all = ALL_BITS, NO_BITS, NO_BITS, ALL_BITS
    for row in range(len(bits)):
        if _is_number(bits[row]):
            number = _in_order(bits[row])
            lowest, highest = min(lowest, number), max(highest, number)
            in_some, in_all = in_some | number, in_all & number
    n_bits, n_shared = int64(0), int64(0)
    while n_bits < 64 and lowest < highest and (highest - lowest) >> uint64(n_bits) != NO_BITS:
        n_bits += 1
    while n_shared < n_bits and ((in_some ^ in_all) >> uint64(n_shared)) & uint64(1) == NO_BITS:
        n_shared += 1
    dropped = max(n_bits - (WORD_BITS - row_bits), n_shared)
    shift = row_bits + max(n_bits - dropped - N_PASSES * DIGIT_BITS, int64(0))
    return Layout(lowest, dropped, dropped == n_shared, row_bits, shift)


@inner
def _as_words(bits: KeyArray, layout: Layout, words: LongArray, places: LongArray, out: IntArray) -> int:
    """Write a word for every number, and where each digit of each pass begins; return how many numbers."""
    n_known = int64(0)
    for row in range(len(bits)):
        if not _is_number(bits[row]):
            out[row] = -1
            continue
        number = int64((_in_order(bits[row]) - layout.lowest) >> uint64(layout.dropped))
        word = (number << layout.row_bits) | row
        words[n_known] = word
        n_known += 1
        for k in range(N_PASSES):
            places[k, (word >> (layout.shift + k * DIGIT_BITS)) & (N_DIGITS - 1)] += 1
    for k in range(N_PASSES):
        below = int64(0)
        for digit in range(N_DIGITS):
            here = places[k, digit]
            places[k, digit] = below
            below += here
    return n_known


@inner
def _sort_by_digit(source: LongArray, target: LongArray, n: int, shift: int, place: LongArray) -> None:
    """Move words to the places of their digits, in a stable order."""
    for i in range(n):
        word = source[i]
        digit = (word >> shift) & (N_DIGITS - 1)
        target[place[digit]] = word
        place[digit] += 1


@inner
def _sort_the_rest(words: LongArray, n: int, shift: int, waiting: LongArray) -> None:
    """Sort the words that the passes left out of order: those that are equal down to `shift`."""
    for i in range(1, n):
        if words[i] < words[i - 1]:
            start, end, upper = i, i, words[i] >> shift
            while start > 0 and words[start - 1] >> shift == upper:
                start -= 1
            while end < n and words[end] >> shift == upper:
                end += 1
            sort_keys(words, start, end, waiting)


@inner
def _sort_by_dropped(
    bits: KeyArray, layout: Layout, words: LongArray, start: int, end: int, waiting: LongArray
) -> None:
    """Sort words that are equal but for their rows by the bits that were dropped."""
    is_sorted, before = True, int64(-1)
    for i in range(start, end):
        row = words[i] & _last(layout.row_bits)
        number = int64(_in_order(bits[row]) - layout.lowest) & _last(layout.dropped)
        word = (number << layout.row_bits) | row
        is_sorted = is_sorted and word > before
        words[i] = before = word
    if not is_sorted:
        sort_keys(words, start, end, waiting)


# -- Small arrays, sorted in place ---------------------------------------------------------------------------

FEW = 24  # keys that insertion sorts fastest
ROW_MASK = 0xFFFFFFFF  # the row in a key, which is below its rank


@inner
def _insert(keys: LongArray, start: int, end: int) -> None:
    for i in range(start + 1, end):
        key, place = keys[i], int64(i)
        while place > start and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@inner
def sort_keys(keys: LongArray, start: int, end: int, waiting: LongArray) -> None:
    """Sort keys[start:end], integers without repeats; `waiting` is memory for 128 of them.

    No recursion: the larger part waits. It is at most half of the one that waits before it, so 64 are enough.
    """
    waiting[0], waiting[1], n_waiting = start, end, 1
    while n_waiting > 0:
        n_waiting -= 1
        start, end = waiting[2 * n_waiting], waiting[2 * n_waiting + 1]
        while end - start > FEW:
            middle = (start + end) // 2
            a, b, c = keys[start], keys[middle], keys[end - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            i, j = start, end - 1
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    i += 1
                    j -= 1
            if j + 1 - start < end - i:
                waiting[2 * n_waiting], waiting[2 * n_waiting + 1] = i, end
                end = j + 1
            else:
                waiting[2 * n_waiting], waiting[2 * n_waiting + 1] = start, j + 1
                start = i
            n_waiting += 1
        _insert(keys, start, end)


@inner
def sort_by(order: LongArray, values: FloatArray, n: int) -> None:
    """Sort order[:n] by values[order], ties by index: a Shell sort, as n is a number of categories."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            item = order[i]
            j = i
            while j >= gap and (
                values[order[j - gap]] > values[item]
                or (values[order[j - gap]] == values[item] and order[j - gap] > item)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 3
