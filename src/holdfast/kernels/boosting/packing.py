"""Gradients and hessians as integers, whose sums are the same in any order."""

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.boosting.losses import LEARNT
from holdfast.kernels.jit import int64, kernel


@kernel
def greatest(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    role: ByteArray,
    repeats: IntArray,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """Of the rows learnt from, weighted: the greatest gradient, without its sign, and the greatest hessian.

    Where `out` has room for four numbers, also the sums of the squared gradients and of the hessians.
    """
    most_gradient, most_hessian, squares, below = 0.0, 0.0, 0.0, 0.0
    is_summed = len(out) > 2
    for row in range(first, last):
        if role[row] == LEARNT:
            own_gradient, own_hessian = gradient[row] * importance[row], hessian[row] * importance[row]
            most_gradient = max(most_gradient, abs(own_gradient))
            most_hessian = max(most_hessian, own_hessian)
            if is_summed:
                squares += repeats[row] * (own_gradient * own_gradient)
                below += repeats[row] * own_hessian
    out[0], out[1] = most_gradient, most_hessian
    if is_summed:
        out[2], out[3] = squares, below


@kernel
def pack(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    role: ByteArray,
    first: int,
    last: int,
    units: tuple[float, float],
    packed: LongArray,
) -> None:
    """Write gradients and hessians, weighted, as integers: multiples of the units, 32 bits each."""
    of_gradient, of_hessian = units
    for row in range(first, last):
        if role[row] == LEARNT:
            slope, bend = gradient[row] * importance[row], hessian[row] * importance[row]
            packed[row] = int64(np.rint(slope * of_gradient)) << 32 | int64(np.rint(bend * of_hessian))
