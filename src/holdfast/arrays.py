"""Names for the array types, and the one way to freeze an array."""

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
