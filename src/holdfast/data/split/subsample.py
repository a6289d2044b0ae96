"""Some of the rows of a large table, drawn without a number for each of them in memory."""

import math

import numpy as np

from holdfast.arrays import KeyArray, LongArray
from holdfast.data.split.row_keys import random_bits
from holdfast.random_streams import Stream

_BLOCK = 2**18  # rows looked at together


def subsample(keys: KeyArray, stream: Stream, n_rows: int) -> LongArray:
    """Draw row numbers without replacement, in order: those with the lowest random numbers.

    Keys are those of rows, each its own: what is drawn depends neither on the order of the rows nor, but for
    some at the border, on what other rows there are.

    >>> subsample(np.arange(10, dtype=np.uint64), (0, 1), 3)
    array([1, 7, 9])
    """
    n_all = len(keys)
    if n_rows >= n_all:
        return np.arange(n_all)
    margin = 8.0 * math.sqrt(n_rows) + 8.0
    while True:
        share = min((n_rows + margin) / n_all, 1.0)
        rows, bits = _below(keys, stream, share)
        if len(rows) >= n_rows:
            return np.sort(rows[np.argsort(bits, kind="stable")[:n_rows]])
        margin *= 4.0


def _below(keys: KeyArray, stream: Stream, share: float) -> tuple[LongArray, KeyArray]:
    """Return the rows whose random number is among the lowest, with these numbers."""
    most = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    rows, found = [], []
    for start in range(0, len(keys), _BLOCK):
        bits = random_bits(keys[start : start + _BLOCK], stream)
        below = np.flatnonzero(bits <= most)
        rows.append(below + start)
        found.append(bits[below])
    return np.concatenate(rows), np.concatenate(found)
