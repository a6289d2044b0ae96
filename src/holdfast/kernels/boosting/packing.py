"""Gradients and hessians as integers, whose sums are the same in any order."""

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, LongArray
from holdfast.kernels.boosting.losses import LEARNT
from holdfast.kernels.jit import int64, kernel


@kernel
def greatest(
    gradient: FloatArray,
    hessian: FloatArray,
    importance: FloatArray,
    role: ByteArray,
    first: int,
    last: int,
    out: FloatArray,
) -> None:
    """out = the greatest gradient, without its sign, and hessian of the rows learnt from, weighted."""
    most_gradient, most_hessian = 0.0, 0.0
    for row in range(first, last):
        if role[row] == LEARNT:
            most_gradient = max(most_gradient, abs(gradient[row]) * importance[row])
            most_hessian = max(most_hessian, hessian[row] * importance[row])
    out[0], out[1] = most_gradient, most_hessian


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
