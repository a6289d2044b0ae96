"""Array types and helpers."""

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
KeyArray = NDArray[np.uint64]

_A = TypeVar("_A", bound=NDArray[Any])

DIGITS = 12  # kept where values are compared, far above rounding errors
LEAST_ROUNDED = 1e-10  # smaller powers of ten are not exact


def freeze(array: _A) -> _A:
    """Return the array as a contiguous, read-only one."""
    array = np.ascontiguousarray(array)  # type: ignore[assignment]
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def sum_rows(matrix: FloatArray) -> FloatArray:
    """Sum every row; for two columns twenty times as fast as numpy, with the same bits.

    >>> sum_rows(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    sums: FloatArray = matrix[:, 0] + matrix[:, 1] if matrix.shape[1] == 2 else matrix.sum(axis=1)
    return sums


def max_rows(matrix: FloatArray) -> FloatArray:
    """Return the maximum of every row; for two columns several times as fast as numpy.

    >>> max_rows(np.array([[1.0, 2.0], [4.0, 3.0]]))
    array([2., 4.])
    """
    if matrix.shape[1] == 2:
        return np.maximum(matrix[:, 0], matrix[:, 1])
    return np.asarray(matrix.max(axis=1), np.float64)


def stable_argsort(keys: NDArray[Any]) -> LongArray:
    """Return the indices that sort the keys, stably; none may be NaN.

    Distinct keys are sorted by quicksort, in a third of the time of a stable sort.

    >>> stable_argsort(np.array([3, 1, 3, 2]))
    array([1, 3, 0, 2])
    """
    distinct, ranks = np.unique(keys, return_inverse=True)
    if len(distinct) < len(keys):
        return np.argsort(keys, kind="stable")
    order = np.empty(len(keys), np.int64)
    order[ranks] = np.arange(len(keys))
    return order


def round_last_digits(values: FloatArray) -> FloatArray:
    """Round the values to twelve digits of the greatest, so that mathematically equal values are equal.

    Further digits depend on the processor, whose logarithms and sums differ in the last bits.

    >>> round_last_digits(np.array([0.1 + 0.2, 0.3, 1e-20]))
    array([0.3, 0.3, 0. ])
    """
    greatest = float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))
    if not LEAST_ROUNDED < greatest < 1 / LEAST_ROUNDED:
        return values
    return np.round(values, DIGITS - math.ceil(math.log10(greatest)))


def scale_to_unit(values: FloatArray) -> tuple[FloatArray, int]:
    """Scale the values by a power of two to at most 1 in size; return the exponent for `scale_back`, too.

    No digit changes, and squares and sums of the values neither overflow nor underflow.

    >>> scale_to_unit(np.array([1e300, -3e299]))[1]
    997
    """
    exponent = math.frexp(float(np.abs(values).max()))[1]
    return np.ldexp(values, -exponent), exponent


def scale_back(values: FloatArray, exponent: int) -> FloatArray:
    """Return the values times 2 ** exponent, limited to the greatest float."""
    greatest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -greatest, greatest)
