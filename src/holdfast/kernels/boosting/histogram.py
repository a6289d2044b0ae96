"""Gradients and hessians added up, bin by bin."""

from typing import NamedTuple

from holdfast.arrays import IntArray, LongArray
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded
from holdfast.kernels.instructions import add_two
from holdfast.kernels.jit import inner, int64, uint64


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
        histogram[uint64(i)] = 0
    last = place_of_missing(coded, feature)
    histogram[last] = histogram[last + 1] = 0


@inner
def count_wide(
    coded: Coded,
    gradients: Gradients,
    rows: IntArray,
    ordered: LongArray,
    feature: int,
    histogram: LongArray,
) -> None:
    """The histogram of a feature with too many categories for a code."""
    clear(coded, feature, histogram)
    start, last = coded.start[feature], place_of_missing(coded, feature)
    for i in range(len(rows)):
        row, both = rows[i], ordered[i]
        rank = int64(coded.ranks[feature, row])
        at = 2 * (start + rank) if rank >= 0 else last
        times = int64(gradients.repeats[row]) if len(gradients.repeats) else int64(1)
        histogram[at] += (both >> 32) * times
        histogram[at + 1] += (((both & 0xFFFFFFFF) << gradients.count_bits) + 1) * times


@inner
def count_column(
    coded: Coded,
    gradients: Gradients,
    rows: IntArray,
    ordered: LongArray,
    feature: int,
    histogram: LongArray,
) -> None:
    """The histogram of one feature of a block: those that only fill a block up need not be counted."""
    at_block, shift = uint64(feature >> 2), 8 * (feature & 3)
    codes, repeats, bits = coded.codes, gradients.repeats, gradients.count_bits
    start, is_repeated = uint64(2 * coded.start[feature]), len(repeats) > 0
    for i in range(len(rows)):
        row, both = uint64(rows[i]), ordered[i]
        gradient, other = both >> 32, ((both & 0xFFFFFFFF) << bits) + 1
        if is_repeated:
            gradient *= int64(repeats[row])
            other *= int64(repeats[row])
        add_two(histogram, start + uint64(codes[at_block, row] >> shift & 255) * uint64(2), gradient, other)


@inner
def count_block(
    coded: Coded,
    gradients: Gradients,
    rows: IntArray,
    ordered: LongArray,
    block: int,
    histogram: LongArray,
) -> None:
    """The histograms of the features of a block; `ordered` has what each row adds."""
    first = 4 * block
    n_features = coded.ranks.shape[0]
    for feature in range(first, first + 4):
        clear(coded, int64(feature), histogram)
    if n_features - first <= 2:
        for feature in range(first, n_features):
            count_column(coded, gradients, rows, ordered, int64(feature), histogram)
    else:
        count_four(coded, gradients, rows, ordered, block, histogram)
    for feature in range(first, min(first + 4, n_features)):
        if coded.is_wide[feature]:
            count_wide(coded, gradients, rows, ordered, int64(feature), histogram)


@inner
def count_four(
    coded: Coded,
    gradients: Gradients,
    rows: IntArray,
    ordered: LongArray,
    block: int,
    histogram: LongArray,
) -> None:
    """The histograms of the four features of a block, which are empty."""
    first = 4 * block
    codes, repeats, bits = coded.codes, gradients.repeats, gradients.count_bits
    start_0, start_1 = uint64(2 * coded.start[first]), uint64(2 * coded.start[first + 1])
    start_2, start_3 = uint64(2 * coded.start[first + 2]), uint64(2 * coded.start[first + 3])
    at_block, two, is_repeated = uint64(block), uint64(2), len(repeats) > 0
    for i in range(len(rows)):
        row, both = uint64(rows[i]), ordered[i]
        four = codes[at_block, row]
        gradient, other = both >> 32, ((both & 0xFFFFFFFF) << bits) + 1
        if is_repeated:
            gradient *= int64(repeats[row])
            other *= int64(repeats[row])
        add_two(histogram, start_0 + uint64(four & 255) * two, gradient, other)
        add_two(histogram, start_1 + uint64(four >> 8 & 255) * two, gradient, other)
        add_two(histogram, start_2 + uint64(four >> 16 & 255) * two, gradient, other)
        add_two(histogram, start_3 + uint64(four >> 24) * two, gradient, other)


@inner
def subtract(coded: Coded, block: int, whole: LongArray, part: LongArray) -> None:
    """Take one histogram from another, for the features of a block."""
    for feature in range(4 * block, min(4 * block + 4, coded.ranks.shape[0])):
        begin = 2 * coded.start[feature]
        for i in range(begin, begin + 2 * coded.n_codes[feature]):
            whole[uint64(i)] -= part[uint64(i)]
        last = place_of_missing(coded, int64(feature))
        whole[last] -= part[last]
        whole[last + 1] -= part[last + 1]
