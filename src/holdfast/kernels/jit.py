"""The one place for compiler flags."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from holdfast.kernels.cache import keep_on_disk

_F = TypeVar("_F", bound=Callable[..., Any])
_compile: Any = numba.njit  # numba's own annotations leave out some of its flags

# Scalars of a fixed width, or the compiler makes a copy of a kernel for each literal. The type checker takes
# them for plain whole numbers.
int64 = cast(Callable[[Any], int], np.int64)
uint64 = cast(Callable[[Any], int], np.uint64)

# No fastmath: floating-point sums keep their order, so that the bits never depend on the machine's vectors.
_FLAGS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}


def kernel(function: _F) -> _F:
    """A function called from Python: compiled on first use and kept on disk."""
    compiled = _compile(_nrt=True, **_FLAGS)(function)
    keep_on_disk(compiled)
    return cast(_F, compiled)


def inner(function: _F) -> _F:
    """A function called from kernels alone: without the wrappers for Python, which cost more to compile.

    It makes no arrays, and does not count who refers to those that it is given: that took a sixth of the time
    of growing a forest.
    """
    return cast(_F, _compile(no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, **_FLAGS)(function))


def making(function: _F) -> _F:
    """An inner function that makes arrays."""
    return cast(_F, _compile(no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=True, **_FLAGS)(function))
