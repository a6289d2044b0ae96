"""What a kernel may return, and how it may be called: what else numba cannot cope with is refused."""

from typing import Any, NamedTuple

import pytest

from holdfast._arrays import FloatArray
from holdfast.kernels.jit import allocating, inner, kernel

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


def nothing_back(x: FloatArray) -> None:
    """Returns nothing."""


@pytest.mark.parametrize("compiled", [kernel, inner, allocating])
def test_a_function_without_a_name_of_its_own_is_refused(compiled: Any) -> None:
    # Two of one name, compiled in different processes and loaded into a third, called each other's code: the
    # walk by thresholds took the place of the walk by any question, and predictions were wrong.
    def made_here(x: FloatArray) -> None:
        """Has the name of all that are made here."""

    with pytest.raises(TypeError, match="name of its own"):
        compiled(made_here)
    compiled(nothing_back)


@pytest.mark.parametrize("function", [array_back, tuple_back, pair_back, unsaid])
def test_a_kernel_that_returns_more_than_a_number_is_refused(function: object) -> None:
    with pytest.raises(TypeError, match="must return nothing or one number"):
        kernel(function)  # type: ignore[type-var]
