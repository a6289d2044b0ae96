"""What a kernel may return: numba crashes on anything but one number while a signal waits to be handled."""

from typing import NamedTuple

import pytest

from holdfast.arrays import FloatArray
from holdfast.kernels.jit import kernel

pytestmark = pytest.mark.kernel


class Pair(NamedTuple):
    """Two numbers."""

    one: float
    other: float


def array_back(x: FloatArray) -> FloatArray:
    """Returns an array."""
    return x


def tuple_back(x: FloatArray) -> tuple[float, float]:
    """Returns a tuple."""
    return x[0], x[1]


def pair_back(x: FloatArray) -> Pair:
    """Returns a NamedTuple."""
    return Pair(x[0], x[1])


def unsaid(x: FloatArray):  # type: ignore[no-untyped-def]
    """Does not say what it returns."""
    return x


@pytest.mark.parametrize("function", [array_back, tuple_back, pair_back, unsaid])
def test_a_kernel_that_returns_more_than_a_number_is_refused(function: object) -> None:
    with pytest.raises(TypeError, match="must return nothing or one number"):
        kernel(function)  # type: ignore[type-var]
