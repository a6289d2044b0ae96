"""Gradients and hessians added up, bin by bin."""

from typing import NamedTuple

from holdfast.arrays import IntArray, LongArray
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded
from holdfast.kernels.jit import inner, int64, kernel, uint64


class Gradients(NamedTuple):
    """What each row adds to the sums."""

    packed: LongArray  # (rows,) once, in units: the gradient in the upper 32 bits, the hessian in the lower
    repeats: IntArray  # (rows,) how many rows it stands for; empty if each is one
    count_bits: int  # in a sum, the last bits are the number of rows and those above the hessian


@inner
def place_of_missing(coded: Coded, feature: int) -> int:
    """Where the missing values of a feature are counted."""
    if coded.is_wide[feature]:
        return int64(2 * (coded.start[feature + 1] - 1))
    return int64(2 * (coded.start[feature] + MISSING_CODE))


@inner
def clear(coded: Coded, feature: int, histogram: LongArray) -> None:
    """Make the histogram of a feature empty."""
    begin = 2 * coded.start[feature]
    for i in range(begin, begin + 2 * coded.n_codes[feature]):
        histogram[i] = 0
    last = place_of_missing(coded, feature)
    histogram[last] = histogram[last + 1] = 0


@inner
def count_wide(
    coded: Coded, gradients: Gradients, rows: IntArray, feature: int, histogram: LongArray
) -> None:
    """The histogram of a feature with too many categories for a code."""
    clear(coded, feature, histogram)
    start, last = coded.start[feature], place_of_missing(coded, feature)
    for i in range(len(rows)):
        row = rows[i]
        rank = int64(coded.ranks[feature, row])
        at = 2 * (start + rank) if rank >= 0 else last
        both = gradients.packed[row]
        times = int64(gradients.repeats[row]) if len(gradients.repeats) else int64(1)
        histogram[at] += (both >> 32) * times
        histogram[at + 1] += (((both & 0xFFFFFFFF) << gradients.count_bits) + 1) * times


@inner
def count_block(coded: Coded, gradients: Gradients, rows: IntArray, block: int, histogram: LongArray) -> None:
    """The histograms of the four features of a block."""
    first = 4 * block
    n_features = coded.ranks.shape[0]
    for feature in range(first, first + 4):
        clear(coded, int64(feature), histogram)
    codes, packed, repeats, bits = coded.codes, gradients.packed, gradients.repeats, gradients.count_bits
    start_0, start_1 = uint64(2 * coded.start[first]), uint64(2 * coded.start[first + 1])
    start_2, start_3 = uint64(2 * coded.start[first + 2]), uint64(2 * coded.start[first + 3])
    at_block, one, two, is_repeated = uint64(block), uint64(1), uint64(2), len(repeats) > 0
    for i in range(len(rows)):
        row = uint64(rows[i])
        four, both = codes[at_block, row], packed[row]
        gradient, other = both >> 32, ((both & 0xFFFFFFFF) << bits) + 1
        if is_repeated:
            gradient *= int64(repeats[row])
            other *= int64(repeats[row])
        at_0 = start_0 + uint64(four & 255) * two
        at_1 = start_1 + uint64(four >> 8 & 255) * two
        at_2 = start_2 + uint64(four >> 16 & 255) * two
        at_3 = start_3 + uint64(four >> 24) * two
        histogram[at_0] += gradient
        histogram[at_0 + one] += other
        histogram[at_1] += gradient
        histogram[at_1 + one] += other
        histogram[at_2] += gradient
        histogram[at_2 + one] += other
        histogram[at_3] += gradient
        histogram[at_3 + one] += other
    for feature in range(first, min(first + 4, n_features)):
        if coded.is_wide[feature]:
            count_wide(coded, gradients, rows, int64(feature), histogram)


@kernel
def count_blocks(
    coded: Coded, gradients: Gradients, rows: IntArray, first: int, last: int, histogram: LongArray
) -> None:
    """The histograms of the features of some blocks."""
    for block in range(first, last):
        count_block(coded, gradients, rows, int64(block), histogram)


@inner
def subtract(coded: Coded, whole: LongArray, part: LongArray) -> None:
    """Take one histogram from another."""
    for feature in range(coded.ranks.shape[0]):
        begin = 2 * coded.start[feature]
        for i in range(begin, begin + 2 * coded.n_codes[feature]):
            whole[i] -= part[i]
        last = place_of_missing(coded, int64(feature))
        whole[last] -= part[last]
        whole[last + 1] -= part[last + 1]
