"""Columns drawn at a node by name: a hash of the node and of the column says whose turn it is.

The columns with the smallest hashes come first. So a column that is added or left out changes the draw of
those nodes alone where it is among the first, and the order of the columns never matters.
"""

from holdfast.arrays import LongArray
from holdfast.kernels.growth.sort import sort_keys
from holdfast.kernels.jit import inner, int64

POSITION_BITS = 31  # of an entry of the queue; the hash stands above them
POSITION_MASK = (1 << POSITION_BITS) - 1


@inner
def mix(x: int) -> int:
    """A 32-bit integer that looks unrelated to x."""
    x = (x ^ (x >> 16)) * 0x2C1B3C6D & 0xFFFFFFFF
    x = (x ^ (x >> 12)) * 0x297A2D39 & 0xFFFFFFFF
    return x ^ (x >> 15)


@inner
def child_seed(seed: int, side: int) -> int:
    """The seed of a node's child, 0 left and 1 right: so a seed stands for the path from the root."""
    return mix(seed + 1 + side & 0xFFFFFFFF)


@inner
def queue_columns(name_keys: LongArray, seed: int, n_least: int, queue: LongArray, waiting: LongArray) -> int:
    """Write the first columns, the one with the smallest hash first; how many they are.

    About a quarter more than `n_least`, or all of them: a sort of all columns, of which few are asked, took a
    fifth of the time in wide tables. Asked for more, it writes the same ones and others after them.
    """
    n, n_ready = len(name_keys), int64(0)
    limit = (n_least + n_least // 4 + 3 << 32) // n
    for i in range(n):
        # Written in any case, and kept if it is small: a branch would be guessed wrong too often.
        x = mix(seed ^ name_keys[i])
        queue[n_ready] = x << POSITION_BITS | i
        n_ready += x < limit
    sort_keys(queue, int64(0), n_ready, waiting)
    return n_ready


@inner
def column_at(queue: LongArray, i: int) -> int:
    """The column that stands at a place of the queue."""
    return int64(queue[i] & POSITION_MASK)
