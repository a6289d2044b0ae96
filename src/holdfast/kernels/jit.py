"""Decorators of kernels and their inner functions, which import numba when a kernel is first called.

Until then a decorated function is plain Python with a note of how it is to be compiled, so that commands that
call no kernel, such as `holdfast show`, do not wait for numba. The compiler itself is in `_numba.py`.
"""

import gc
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from holdfast._arrays import LongArray
from holdfast.parallel.interruption import call_in_thread, is_main_thread

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")
IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

# Scalars of a fixed width, or each literal type compiles its own copy of a function. The type checker treats
# them as integers.
int64 = cast(Callable[[Any], int], np.int64)
uint64 = cast(Callable[[Any], int], np.uint64)

# What a kernel may return. While a signal is pending, numba cannot convert anything else to a Python object:
# a tuple is a SystemError, and a NamedTuple a crash. So kernels fill arrays that the caller made.
RETURNS = (None, int, float, bool)


# -- Kernels: Python calls them ------------------------------------------------------------------------------


def kernel(function: _F) -> _F:
    """Compile a function that Python calls: on first use, and kept on disk."""
    _check_name(function)
    if function.__annotations__.get("return", tuple) not in RETURNS:
        raise TypeError(f"kernel {function.__name__}: it must return nothing or one number, and fill arrays.")
    return function if IS_OFF else cast(_F, Kernel(function))


class Kernel:
    """A compiled function.

    In the main thread, compilation runs in another thread, so that Ctrl-C is not delayed.
    """

    def __init__(self, function: Callable[..., Any], *, is_cached: bool = True) -> None:
        self.function, self._is_cached = function, is_cached
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__

    @cached_property
    def compiled(self) -> Any:
        """The dispatcher of numba."""
        from holdfast.kernels._numba import compile_kernel

        with _lock:  # threads share one dispatcher
            if "compiled" not in vars(self):
                vars(self)["compiled"] = compile_kernel(self.function, is_cached=self._is_cached)
            return vars(self)["compiled"]

    @property
    def is_on_disk(self) -> bool:
        """True if its code is stored, so that it need not be compiled."""
        from holdfast.kernels._numba import has_code_on_disk

        return has_code_on_disk(self.compiled)

    @property
    def folder(self) -> str:
        """The folder of its code."""
        return str(self.compiled._cache.cache_path)

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        compiled = self.compiled
        if compiled.overloads:
            return compiled(*args)
        with _collector_at_rest():
            return call_in_thread(compiled, args) if is_main_thread() else compiled(*args)


def for_little_work(compiled: _F) -> _F:
    """Return the kernel, or its Python function if numba is not imported yet, which takes half a second."""
    return (
        cast(_F, compiled.function)
        if isinstance(compiled, Kernel) and "numba" not in sys.modules
        else compiled
    )


def compile_uncached(function: _F) -> _F:
    """Compile a function as kernels are, on first use, for tests: it may return anything."""
    return function if IS_OFF else cast(_F, Kernel(function, is_cached=False))


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


# -- Inner functions: kernels call them ----------------------------------------------------------------------


def inner(function: _F) -> _F:
    """Compile a function that only kernels call, as a part of them.

    It makes no arrays, and does not count references to its arguments: that took a sixth of the time of
    growing a forest.
    """
    return _as_part(function)


def inlined(function: _F) -> _F:
    """Compile an inner function that is inlined at every call, which saves 2 to 6 ns.

    The compiler inlines small functions by itself; in a loop over all rows it always pays.
    """
    return _as_part(function, always_inlines=True)


def allocating(function: _F) -> _F:
    """Compile an inner function that makes arrays."""
    return _as_part(function, allocates=True)


def _as_part(function: _F, **options: bool) -> _F:
    _check_name(function)
    cast(Any, function).kernel_options = options
    return function


def _check_name(function: Callable[..., Any]) -> None:
    """Refuse a function named by the function it is made in: all functions made there share that name.

    Compiled code identifies functions by module, name and a number that is counted up in every process. Of
    two with one name, kernels that were compiled in different processes, and are loaded from disk into a
    third, can call each other's.
    """
    if "<locals>" in function.__qualname__:
        raise TypeError(f"kernel {function.__qualname__}: give it a name of its own, by __qualname__.")


# -- Instructions without a name in Python: `_numba.py` writes their code ------------------------------------

_lock = threading.Lock()
SHIFT = 1.5 * 2.0**52  # added to a number of less than 51 bits, it puts the whole part into the last bits


def _instruction(function: _F) -> _F:
    cast(Any, function).kernel_instruction = True
    return function


# A kernel calls `by_reference` once for each of its tuples. A reference keeps nothing alive: arrays made by
# the kernel itself are freed after the last use of their tuple. So `keep` uses it once more at the end.


@_instruction
def by_reference(values: _T) -> _T:
    """Pass a named tuple of arrays as one pointer."""
    return values


@_instruction
def keep(values: Any) -> None:
    """Use a named tuple once more, so that its arrays live until here."""


@_instruction
def read(cells: LongArray, at: int) -> int:
    """Read a number that another thread may have changed, and see all that this thread wrote before."""
    return int(cells[at])


@_instruction
def write(cells: LongArray, at: int, value: int) -> None:
    """Set a number that other threads read: those that see it also see all that was written before."""
    cells[at] = value


@_instruction
def add(cells: LongArray, at: int, value: int) -> int:
    """Add to a number that other threads change; return its value before."""
    with _lock:
        before = int(cells[at])
        cells[at] = before + value
        return before


@_instruction
def give_way() -> None:
    """Yield the processor to another thread that waits for it."""
    time.sleep(0)


@_instruction
def add_two(cells: LongArray, at: int, first: int, second: int) -> None:
    """Add to two neighbours at once: histograms take a fifth less time."""
    cells[at] += first
    cells[at + 1] += second


@_instruction
def power_of_two(shifted: float) -> float:
    """Return 2 to the power of a whole number, given as that number plus SHIFT, in whose last bits it is."""
    return math.ldexp(1.0, int(shifted - SHIFT))
