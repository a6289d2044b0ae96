"""The one place for compiler flags."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
import numpy as np

from holdfast.kernels._numba import InnerCompiler, KernelCompiler, keep_on_disk
from holdfast.parallel.interruption import call_in_thread, is_main_thread

_F = TypeVar("_F", bound=Callable[..., Any])
_compile: Any = numba.njit  # numba's own annotations leave out some of its flags

# Scalars of a fixed width, or the compiler makes a copy of a kernel for each literal. The type checker takes
# them for plain integers.
int64 = cast(Callable[[Any], int], np.int64)
uint64 = cast(Callable[[Any], int], np.uint64)

# Functions that kernels call: no wrappers for Python, which cost more to compile.
_INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InnerCompiler,
}
# No fastmath: floating-point sums keep their order, so that the bits never depend on the machine's vectors.
_FLAGS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}


# What a kernel may return. While a signal waits to be handled, numba cannot turn anything else into a Python
# object: a tuple is a SystemError, and a NamedTuple a crash. So kernels fill arrays that the caller made.
RETURNS = (None, int, float, bool)


def kernel(function: _F) -> _F:
    """A function called from Python: compiled on first use and kept on disk."""
    _check_name(function)
    if function.__annotations__.get("return", tuple) not in RETURNS:
        raise TypeError(f"kernel {function.__name__}: it must return nothing or one number, and fill arrays.")
    compiled = _compile(pipeline_class=KernelCompiler, _nrt=True, **_FLAGS)(function)
    if not hasattr(compiled, "overloads"):  # the compiler is switched off
        return function
    keep_on_disk(compiled)
    return cast(_F, Kernel(compiled))


class Kernel:
    """A compiled function.

    What is to be compiled in the main thread is compiled in another one, or Ctrl-C would have to wait for it.
    """

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self.__doc__ = compiled.__doc__
        self.__name__ = compiled.__name__

    @property
    def is_on_disk(self) -> bool:
        """True if code of it was kept, so that it need not be compiled."""
        return bool(self.compiled._cache.is_there)

    @property
    def folder(self) -> str:
        """Where its code is kept."""
        return str(self.compiled._cache.cache_path)

    def __call__(self, *args: Any) -> Any:
        """What the compiled function returns."""
        if self.compiled.overloads:
            return self.compiled(*args)
        with _collector_at_rest():
            return call_in_thread(self.compiled, args) if is_main_thread() else self.compiled(*args)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Hold back the search for cyclic garbage: it takes a tenth of the time of compiling, and finds none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def inner(function: _F) -> _F:
    """A function called from kernels alone, and compiled as a part of them.

    It makes no arrays, and does not count who refers to those that it is given: that took a sixth of the time
    of growing a forest.
    """
    _check_name(function)
    return cast(_F, _compile(_nrt=False, **_INNER, **_FLAGS)(function))


def inlined(function: _F) -> _F:
    """An inner function that is written out wherever it is called: a call takes 2 to 6 ns.

    The compiler does that by itself with small functions; in a loop over all rows it always pays.
    """
    _check_name(function)
    return cast(_F, _compile(_nrt=False, forceinline=True, **_INNER, **_FLAGS)(function))


def allocating(function: _F) -> _F:
    """An inner function that makes arrays."""
    _check_name(function)
    return cast(_F, _compile(_nrt=True, **_INNER, **_FLAGS)(function))


def _check_name(function: Callable[..., Any]) -> None:
    """Refuse a function that has its name from the one it is made in: all that are made there have the same.

    Compiled code knows functions by module, name and a number that is counted up in every process. Of two
    with one name, kernels that were compiled in different processes, and are loaded from disk into a third,
    can call each other's.
    """
    if "<locals>" in function.__qualname__:
        raise TypeError(f"kernel {function.__qualname__}: give it a name of its own, by __qualname__.")
