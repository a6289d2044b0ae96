"""Instructions of the processor that Python has no word for.

Numbers that several threads change, two additions at once, and powers of two. Each is a function of plain
Python where the compiler is switched off.
"""

import math
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba.core import types
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]  # numba has no types
from numba.extending import intrinsic

from holdfast.arrays import LongArray

_F = TypeVar("_F", bound=Callable[..., Any])
_LONG = ir.IntType(64)
_lock = threading.Lock()
SHIFT = 1.5 * 2.0**52  # added to a number of less than 51 bits, it leaves its whole part in the last ones


def _instruction(build: Callable[..., Any]) -> Callable[[_F], _F]:
    """A function that compiles to what `build` writes."""

    def choose(function: _F) -> _F:
        return function if DISABLE_JIT else cast(_F, intrinsic(build))

    return choose


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where the number stands: the first argument is the array, the second the place."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


# The compiler is handed types, and gives back a signature and what writes the code.


def _build_read(_typing: Any, cells: Any, at: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature, args), "acquire", 8)

    return types.int64(cells, types.int64), write


def _build_write(_typing: Any, cells: Any, at: Any, value: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _address(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(cells, types.int64, types.int64), write


def _build_add(_typing: Any, cells: Any, at: Any, value: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _address(context, builder, signature, args), args[2], "acq_rel")

    return types.int64(cells, types.int64, types.int64), write


def _build_give_way(_typing: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [])
            known = builder.module.globals.get("sched_yield")
            builder.call(known or ir.Function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), write


def _build_add_two(_typing: Any, cells: Any, at: Any, first: Any, second: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        both = ir.VectorType(_LONG, 2)
        address = builder.bitcast(_address(context, builder, signature, args), both.as_pointer())
        added = ir.Constant(both, ir.Undefined)
        for place in range(2):
            added = builder.insert_element(added, args[2 + place], ir.Constant(ir.IntType(32), place))
        before = builder.load(address, align=8)
        builder.store(builder.add(before, added), address, align=8)
        return context.get_dummy_value()

    return types.void(cells, types.uint64, types.int64, types.int64), write


def _build_power_of_two(_typing: Any, shifted: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.add(builder.bitcast(args[0], _LONG), ir.Constant(_LONG, 1023))
        return builder.bitcast(builder.shl(exponent, ir.Constant(_LONG, 52)), ir.DoubleType())

    return types.float64(types.float64), write


@_instruction(_build_read)
def read(cells: LongArray, at: int) -> int:
    """A number that another thread may have changed, and with it all that this one wrote before."""
    return int(cells[at])


@_instruction(_build_write)
def write(cells: LongArray, at: int, value: int) -> None:
    """Set a number that other threads read: those that do see all that was written before."""
    cells[at] = value


@_instruction(_build_add)
def add(cells: LongArray, at: int, value: int) -> int:
    """Add to a number that other threads change; what it was before."""
    with _lock:
        before = int(cells[at])
        cells[at] = before + value
        return before


@_instruction(_build_give_way)
def give_way() -> None:
    """Let another thread have the processor, if one waits for it."""
    time.sleep(0)


@_instruction(_build_add_two)
def add_two(cells: LongArray, at: int, first: int, second: int) -> None:
    """Add to two neighbours in one go: a fifth less time for a histogram than one after the other."""
    cells[at] += first
    cells[at + 1] += second


@_instruction(_build_power_of_two)
def power_of_two(shifted: float) -> float:
    """2 to the power of a whole number, given SHIFT more than that: so it stands in the last bits."""
    return math.ldexp(1.0, int(shifted - SHIFT))
