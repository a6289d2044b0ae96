"""Sorting small arrays in place inside a kernel."""

from holdfast.arrays import FloatArray, LongArray
from holdfast.kernels.jit import inner, int64

FEW = 24  # keys that are sorted fastest by insertion
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
    """Sort order[:n] by values[order], equal values by index. Shell's gaps: n is a number of categories."""
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
