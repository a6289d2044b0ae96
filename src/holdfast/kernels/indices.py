"""Indices without a sign: `array[i]` in a kernel reads the place i, and never counts from the end.

Python lets a negative index count from the end, so numba looks at the sign of every index that has one
before it is used. No kernel counts from the end by a variable, and the test took up to a tenth of the time
of a tree. A negative number that is written out, in `array[-1]` or `array[i, -1]`, still counts from the end.
"""

from typing import Any

from numba.core import ir, ir_utils, types
from numba.core.compiler_machinery import FunctionPass, register_pass

_PASS: Any = FunctionPass  # numba is not annotated
_register: Any = register_pass
_types: Any = types
_ir_utils: Any = ir_utils


@_register(mutates_CFG=False, analysis_only=False)
class UnsignedIndices(_PASS):  # type: ignore[misc]
    """After types are known: every index of an array that is a variable is taken as unsigned."""

    _name = "holdfast_unsigned_indices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change what numba is to call for each index; whether anything changed."""
        changed = {
            at: _unsigned(call)
            for at, call in state.calltypes.items()
            if _is_item(at, call) and not _counts_from_end(state.func_ir, at.index)
        }
        state.calltypes.update(changed)
        return bool(changed)


def _is_item(at: Any, call: Any) -> bool:
    """True if this place of a function reads or writes an item of an array, found by a variable."""
    is_read = isinstance(at, ir.Expr) and at.op == "getitem"
    return (is_read or isinstance(at, ir.SetItem)) and isinstance(call.args[0], types.Array)


def _counts_from_end(function: Any, index: Any) -> bool:
    """True if the index, or a part of it, is a negative constant."""
    made = _ir_utils.guard(_ir_utils.get_definition, function, index)
    is_tuple = isinstance(made, ir.Expr) and made.op == "build_tuple"
    parts = [
        _ir_utils.guard(_ir_utils.find_const, function, part)
        for part in (made.items if is_tuple else [index])
    ]
    return any(isinstance(part, int) and part < 0 for part in parts)


def _unsigned(call: Any) -> Any:
    array, index, *value = call.args
    return call.replace(args=(array, _without_sign(index), *value))


def _without_sign(index: Any) -> Any:
    """The type of the index, or of each part of it; slices stay as they are."""
    if isinstance(index, _types.BaseTuple):
        return _types.Tuple([_without_sign(part) for part in index])
    return types.uintp if isinstance(index, types.Integer) else index
