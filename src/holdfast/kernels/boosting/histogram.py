"""Histograms of gradients and hessians, by bin."""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded
from holdfast.kernels.jit import add_two, inner, int64, kernel, uint64


class Gradients(NamedTuple):
    """What each row adds to the sums."""

    packed: LongArray  # (rows,) in units: the gradient in the upper 32 bits, the hessian in the lower
    repeats: IntArray  # (rows,) how many rows it represents; empty if each is one
    count_bits: int  # in a sum, the last bits are the number of rows and those above the hessian


@inner
def place_of_missing(coded: Coded, feature: int) -> int:
    """Return the place of a feature's missing values in a histogram."""
    if coded.is_wide[feature]:
        return int64(2 * (coded.start[feature + 1] - 1))
    return int64(2 * (coded.start[feature] + MISSING_CODE))


@inner
def clear(coded: Coded, feature: int, histogram: LongArray) -> None:
    """Clear the histogram of a feature."""
    begin = 2 * coded.start[feature]
    for i in range(begin, begin + 2 * coded.n_codes[feature]):
        histogram[uint64(i)] = 0
    last = place_of_missing(coded, feature)
    histogram[last] = histogram[last + 1] = 0


@inner
def count_wide(
    coded: Coded, gradients: Gradients, rows: IntArray, ordered: LongArray, feature: int, histogram: LongArray
) -> None:
    """Fill the histogram of a feature with too many categories for a code."""
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
    coded: Coded, gradients: Gradients, rows: IntArray, ordered: LongArray, feature: int, histogram: LongArray
) -> None:
    """Fill the histogram of one feature of a block; features that only pad the block are not counted."""
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
    coded: Coded, gradients: Gradients, rows: IntArray, ordered: LongArray, block: int, histogram: LongArray
) -> None:
    """Fill the histograms of the features of a block; `ordered` holds what each row adds."""
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
    coded: Coded, gradients: Gradients, rows: IntArray, ordered: LongArray, block: int, histogram: LongArray
) -> None:
    """Fill the histograms of the four features of a block, which are clear."""
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
    """Subtract one histogram from another, for the features of a block."""
    for feature in range(4 * block, min(4 * block + 4, coded.ranks.shape[0])):
        begin = 2 * coded.start[feature]
        for i in range(begin, begin + 2 * coded.n_codes[feature]):
            whole[uint64(i)] -= part[uint64(i)]
        last = place_of_missing(coded, int64(feature))
        whole[last] -= part[last]
        whole[last + 1] -= part[last + 1]


# -- Gradients and hessians as integers, whose sums are the same in any order --------------------------------

N_SPREAD = 4  # figures of the summary of a block of rows


class Unpacked(NamedTuple):
    """Gradients and hessians as floats, and the number of units per 1."""

    gradient: FloatArray
    hessian: FloatArray
    importance: FloatArray  # the weight of one repetition; empty if all are 1
    gradient_units: float
    hessian_units: float


@inner
def summarize_block(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    repeats: IntArray,
    role: ByteArray,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """Write the summary of one block: see `summarize_blocks`."""
    most_gradient, most_hessian, squares, below = 0.0, 0.0, 0.0, 0.0
    for row in range(first, last):
        if role[row] != TRAINING:
            continue
        own_gradient, own_hessian, times = gradient[row], hessian[row], 1.0
        if len(importance) > 0:
            own_gradient, own_hessian = own_gradient * importance[row], own_hessian * importance[row]
            times = float(repeats[row])
        most_gradient = max(most_gradient, abs(own_gradient))
        most_hessian = max(most_hessian, own_hessian)
        squares += times * (own_gradient * own_gradient)
        below += times * own_hessian
    out[0], out[1], out[2], out[3] = most_gradient, most_hessian, squares, below


@kernel
def summarize_blocks(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    repeats: IntArray,
    role: ByteArray,
    size: int,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """Summarize the weighted training rows of some blocks of that size, for packing them.

    The greatest absolute gradient and the greatest hessian; the sums of the squared gradients and of the
    hessians.
    """
    for block in range(first, last):
        begin, end = size * block, min(size * (block + 1), len(role))
        summarize_block(gradient, hessian, importance, repeats, role, begin, end, out[block])


@inner
def pack(unpacked: Unpacked, rows: IntArray, first: int, last: int, packed: LongArray) -> None:
    """Write gradients and hessians of some rows, weighted, as multiples of the units, 32 bits each."""
    gradient, hessian, importance = unpacked.gradient, unpacked.hessian, unpacked.importance
    gradient_units, hessian_units = unpacked.gradient_units, unpacked.hessian_units
    is_weighted = len(importance) > 0
    for i in range(first, last):
        row = uint64(rows[uint64(i)])
        slope, bend = gradient[row], hessian[row]
        if is_weighted:
            slope, bend = slope * importance[row], bend * importance[row]
        packed[row] = int64(np.rint(slope * gradient_units)) << 32 | int64(np.rint(bend * hessian_units))


# -- The role of a row in a round of boosting ----------------------------------------------------------------

TRAINING, OUT_OF_BAG, HELD_OUT, UNUSED = range(4)  # UNUSED: without weight
N_ROLES = 4
