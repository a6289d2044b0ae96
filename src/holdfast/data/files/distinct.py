"""Cells that are alike, found by whole arrays: each is a few numbers of eight bytes, looked up by a hash."""

import numpy as np

from holdfast.arrays import KeyArray, LongArray

_BYTES = 8  # of a word
WIDEST = 16 * _BYTES  # of the cells that are compared in this way, in bytes

_KEPT = np.array([2 ** (8 * n) - 1 for n in range(_BYTES + 1)], np.uint64)  # the first n bytes of a word
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and its bits look random: 2**64 over the golden ratio
_FURTHER = np.uint64(2**32)  # to the next factor
_HALF = np.uint64(32)


def pack_words(data: bytes, starts: LongArray, ends: LongArray) -> KeyArray:
    """Pack the bytes of each cell into machine words, (words, cells), padded with zeros.

    There must be no zeros among the bytes themselves, and `WIDEST` more of them after the last start.
    """
    at_each_byte = np.ndarray((len(data) - _BYTES + 1,), "<u8", data, strides=(1,))
    lengths = ends - starts
    n_words = max(-(-int(lengths.max()) // _BYTES), 1)
    words = np.empty((n_words, len(starts)), np.uint64)
    for place, word in enumerate(words):
        kept = np.clip(lengths - _BYTES * place, 0, _BYTES)
        np.bitwise_and(at_each_byte[starts + _BYTES * place], _KEPT[kept], out=word)
    return words


def find_first_equal(words: KeyArray) -> LongArray:
    """For each cell, find the first equal cell.

    >>> find_first_equal(np.array([[7, 5, 7, 5, 9]], np.uint64)).tolist()
    [0, 1, 0, 1, 4]
    """
    n_bits = words.shape[1].bit_length() + 1
    first = np.empty(words.shape[1], np.int64)
    left, its_words, factor = np.arange(words.shape[1]), words, _FACTOR
    while len(left):
        found = _first_in_slot(_hashed(its_words, factor, n_bits), left, n_bits)
        same = (words[:, found] == its_words).all(axis=0)
        if len(left) == len(first) and same.all():
            return found  # few different cells: the usual case
        first[left[same]] = found[same]
        left = left[~same]  # shares its slot with another cell, which is settled now: once more without that
        its_words, factor = words[:, left], factor + _FURTHER
    return first


def _first_in_slot(slots: LongArray, cells: LongArray, n_bits: int) -> LongArray:
    """For each cell, find the first with the same slot."""
    table = np.empty(2**n_bits, np.int64)
    table[slots[::-1]] = cells[::-1]  # of those that are written to one place, the last one stays
    return table[slots]


def _hashed(words: KeyArray, factor: np.uint64, n_bits: int) -> LongArray:
    """Hash each cell to a slot."""
    mixed = words[0] * factor
    for word in words[1:]:
        mixed = (mixed ^ (mixed >> _HALF) ^ word) * factor
    return np.asarray(mixed >> np.uint64(64 - n_bits), np.int64)
