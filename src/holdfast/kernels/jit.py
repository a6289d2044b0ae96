"""Decorators that compile kernels and their inner functions, with the compiler options in one place."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
import numpy as np

from holdfast.kernels._numba import has_code_on_disk, inner_options, keep_on_disk, kernel_options
from holdfast.parallel.interruption import call_in_thread, is_main_thread

_F = TypeVar("_F", bound=Callable[..., Any])
_compile: Any = numba.njit  # numba's own annotations leave out some of its flags

# Scalars of a fixed width, or each literal type compiles its own copy of a function. The type checker treats
# them as integers.
int64 = cast(Callable[[Any], int], np.int64)
uint64 = cast(Callable[[Any], int], np.uint64)

# No fastmath: floating-point sums keep their order, so that no bit depends on the width of vector registers.
_FLAGS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}

# What a kernel may return. While a signal is pending, numba cannot convert anything else to a Python object:
# a tuple is a SystemError, and a NamedTuple a crash. So kernels fill arrays that the caller made.
RETURNS = (None, int, float, bool)


def kernel(function: _F) -> _F:
    """Compile a function that Python calls: on first use, and kept on disk."""
    _check_name(function)
    if function.__annotations__.get("return", tuple) not in RETURNS:
        raise TypeError(f"kernel {function.__name__}: it must return nothing or one number, and fill arrays.")
    compiled = _compile(**kernel_options(), **_FLAGS)(function)
    if not hasattr(compiled, "overloads"):  # NUMBA_DISABLE_JIT
        return function
    keep_on_disk(compiled)
    return cast(_F, Kernel(compiled))


class Kernel:
    """A compiled function.

    In the main thread, compilation runs in another thread, so that Ctrl-C is not delayed.
    """

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self.__doc__ = compiled.__doc__
        self.__name__ = compiled.__name__

    @property
    def is_on_disk(self) -> bool:
        """True if its code is stored, so that it need not be compiled."""
        return has_code_on_disk(self.compiled)

    @property
    def folder(self) -> str:
        """The folder of its code."""
        return str(self.compiled._cache.cache_path)

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        if self.compiled.overloads:
            return self.compiled(*args)
        with _collector_at_rest():
            return call_in_thread(self.compiled, args) if is_main_thread() else self.compiled(*args)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Pause the cyclic garbage collector: it takes a tenth of compile time, and finds nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def inner(function: _F) -> _F:
    """Compile a function that only kernels call, as a part of them.

    It makes no arrays, and does not count references to its arguments: that took a sixth of the time of
    growing a forest.
    """
    _check_name(function)
    return cast(_F, _compile(**inner_options(), **_FLAGS)(function))


def inlined(function: _F) -> _F:
    """Compile an inner function that is inlined at every call, which saves 2 to 6 ns.

    The compiler inlines small functions by itself; in a loop over all rows it always pays.
    """
    _check_name(function)
    return cast(_F, _compile(**inner_options(always_inlines=True), **_FLAGS)(function))


def allocating(function: _F) -> _F:
    """Compile an inner function that makes arrays."""
    _check_name(function)
    return cast(_F, _compile(**inner_options(allocates=True), **_FLAGS)(function))


def _check_name(function: Callable[..., Any]) -> None:
    """Refuse a function named by the function it is made in: all functions made there share that name.

    Compiled code identifies functions by module, name and a number that is counted up in every process. Of
    two with one name, kernels that were compiled in different processes, and are loaded from disk into a
    third, can call each other's.
    """
    if "<locals>" in function.__qualname__:
        raise TypeError(f"kernel {function.__qualname__}: give it a name of its own, by __qualname__.")
