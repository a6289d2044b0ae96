"""Gradients and hessians as integers, whose sums are the same in any order."""

from typing import NamedTuple

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.boosting.roles import LEARNT
from holdfast.kernels.jit import inner, int64, kernel, uint64

N_SPREAD = 4  # what is known of a block of rows


class Unpacked(NamedTuple):
    """Gradients and hessians as they are, and how many units make one."""

    gradient: FloatArray
    hessian: FloatArray
    importance: FloatArray  # the weight of one repetition; empty if all are 1
    of_gradient: float
    of_hessian: float


@inner
def greatest_in_block(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    repeats: IntArray,
    role: ByteArray,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """The same for one block."""
    most_gradient, most_hessian, squares, below = 0.0, 0.0, 0.0, 0.0
    for row in range(first, last):
        if role[row] != LEARNT:
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
def greatest(
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
    """Of the rows learnt from in some blocks of that size, weighted: what there is to know for packing them.

    The greatest gradient, without its sign, and the greatest hessian; the sums of the squared gradients and
    of the hessians.
    """
    for block in range(first, last):
        begin, end = size * block, min(size * (block + 1), len(role))
        greatest_in_block(gradient, hessian, importance, repeats, role, begin, end, out[block])


@inner
def pack(unpacked: Unpacked, rows: IntArray, first: int, last: int, packed: LongArray) -> None:
    """Write gradients and hessians of some rows, weighted, as multiples of the units, 32 bits each."""
    gradient, hessian, importance = unpacked.gradient, unpacked.hessian, unpacked.importance
    of_gradient, of_hessian, is_weighted = unpacked.of_gradient, unpacked.of_hessian, len(importance) > 0
    for i in range(first, last):
        row = uint64(rows[uint64(i)])
        slope, bend = gradient[row], hessian[row]
        if is_weighted:
            slope, bend = slope * importance[row], bend * importance[row]
        packed[row] = int64(np.rint(slope * of_gradient)) << 32 | int64(np.rint(bend * of_hessian))
