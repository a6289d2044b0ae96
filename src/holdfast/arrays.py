"""Names for the array types, and the one way to freeze an array."""

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
ByteArray = NDArray[np.uint8]
BoolArray = NDArray[np.bool_]
SignArray = NDArray[np.int8]

_A = TypeVar("_A", bound=NDArray[Any])


def frozen(array: _A) -> _A:
    """The same array as a contiguous one that nobody can write to."""
    array = np.ascontiguousarray(array)  # type: ignore[assignment]
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def scaled(values: FloatArray) -> tuple[FloatArray, int]:
    """The values times a power of two, at most 1 in size, and the exponent that takes them back.

    No digit changes, and squares and sums of the values neither overflow nor vanish.

    >>> scaled(np.array([1e300, -3e299]))[1]
    997
    """
    exponent = math.frexp(float(np.abs(values).max()))[1]
    return np.ldexp(values, -exponent), exponent


def unscaled(values: FloatArray, exponent: int) -> FloatArray:
    """The values times 2 ** exponent; the greatest float where they would be infinite."""
    greatest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -greatest, greatest)
