"""Columns drawn at a node by name: a hash of the node and of the column says whose turn it is.

The columns with the smallest hashes come first. So a column that is added or left out changes the draw of
those nodes alone where it is among the first, and the order of the columns never matters.
"""

from holdfast.arrays import LongArray
from holdfast.kernels.growth.sort import sort_keys
from holdfast.kernels.jit import inner, int64

POSITION_BITS = 31  # of an entry of the queue; the hash stands above them
POSITION_MASK = (1 << POSITION_BITS) - 1
MOST_SOUGHT = 32  # columns of a queue in which the next one is looked for; a longer one is sorted


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
def queue_columns(
    name_keys: LongArray, seed: int, n_least: int, n_had: int, queue: LongArray, waiting: LongArray
) -> int:
    """Write the columns with the smallest hashes, of which `n_had` have had their turn; how many they are.

    About a quarter more than `n_least`, or all of them: a sort of all columns, of which few are asked, took a
    fifth of the time in wide tables. Asked for more, it writes the same ones and others.
    """
    n, n_ready = len(name_keys), int64(0)
    limit = (n_least + n_least // 4 + 3 << 32) // n
    for i in range(n):
        # Written in any case, and kept if it is small: a branch would be guessed wrong too often.
        x = mix(seed ^ name_keys[i])
        queue[n_ready] = x << POSITION_BITS | i
        n_ready += x < limit
    if n_ready > MOST_SOUGHT:
        sort_keys(queue, int64(0), n_ready, waiting)
    for i in range(min(n_had, n_ready)):
        take_column(queue, int64(i), n_ready)
    return n_ready


@inner
def take_column(queue: LongArray, i: int, n_ready: int) -> int:
    """The column whose turn it is at a place of the queue, after those of all places before it."""
    if n_ready <= MOST_SOUGHT:  # without a branch that would be guessed wrong
        least, place = queue[i], i
        for j in range(i + 1, n_ready):
            place = j if queue[j] < least else place
            least = min(least, queue[j])
        queue[place] = queue[i]
        queue[i] = least
    return int64(queue[i] & POSITION_MASK)
