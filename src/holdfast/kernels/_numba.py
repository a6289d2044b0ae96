"""Compiled kernels on disk: a file for every kernel, types of arguments and processor.

numba's own cache has an index of the files of a kernel, which several processes can overwrite for each other,
and it ends the program where it finds no place to write to or a file that is broken.
"""

import hashlib
import math
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numba
from llvmlite import ir as llvm
from llvmlite.binding import Linkage
from numba import extending
from numba.core import cgutils, config, imputils, ir, ir_utils, types
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]  # numba has no types
from numba.core.serialize import dumps
from numba.core.typed_passes import PreLowerStripPhis
from numba.core.typing.templates import AttributeTemplate
from numba.extending import intrinsic

from holdfast._arrays import LongArray
from holdfast._files import replace_file
from holdfast.errors import CacheWarning

_DIGEST = hashlib.sha256().digest_size


def keep_on_disk(compiled: Any) -> None:
    """Let the dispatcher of a kernel look for its code on disk, and leave it there."""
    if hasattr(compiled, "py_func"):  # or compilation is turned off
        compiled._cache = KernelCache(compiled.py_func)


class KernelCache(_Cache):
    """Where the code of one kernel is kept. Whatever is wrong there, the kernel is compiled anew."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._code = _CODE(function)
        self._stamp = (numba.__version__, _sources(), self._code.locator.get_source_stamp())
        # It stands in the file after the digest of all that follows.
        self._stamp_digest = hashlib.sha256(repr(self._stamp).encode()).digest()

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(self._code.locator.get_cache_path())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for these types of arguments; None if it is not there or not sound."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        try:
            content = self._file(key).read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                return None
            known, code = pickle.loads(content[2 * _DIGEST :])
            return self._code.rebuild(target_context, code) if known == key else None
        except Exception:  # of any kind: it can be compiled, after all
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code; where that fails, one warning says so."""
        if not self._code.check_cachable(data):
            return
        key = self._key(sig, data.codegen)
        content = self._stamp_digest + _DUMPS((key, self._code.reduce(data)))
        try:
            os.makedirs(self.cache_path, exist_ok=True)
            replace_file(self._file(key), hashlib.sha256(content).digest() + content)
        except (OSError, ValueError) as error:
            _warn_once(str(error))

    @property
    def is_there(self) -> bool:
        """True if there is code of the present sources, for some types of arguments."""
        try:
            files = list(Path(self.cache_path).glob(f"{self._code.filename_base}.*.kernel"))
            return any(self._stamp_digest == _stamp_of(file) for file in files)
        except OSError:
            return False

    def enable(self) -> None:
        """Nothing: it is always on."""

    def disable(self) -> None:
        """Nothing: it is always on."""

    def flush(self) -> None:
        """Nothing: what is stale is rewritten."""

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return self._stamp, sig, codegen.magic_tuple()

    def _file(self, key: tuple[Any, ...]) -> Path:
        name = hashlib.sha256(repr(key[1:]).encode()).hexdigest()[:16]
        return Path(self.cache_path, f"{self._code.filename_base}.{name}.kernel")


def _stamp_of(file: Path) -> bytes:
    """What a file says of the sources of its code, without reading the code."""
    with file.open("rb") as content:
        return content.read(2 * _DIGEST)[_DIGEST:]


class _BesideTheSource:
    """The last place that is tried: a cache that cannot be written to may still be there to be read."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self:
        """The place of the function, whether or not it can be written to."""
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        """The folder in which Python itself keeps what it compiles."""
        return os.path.join(os.path.dirname(self._py_file), "__pycache__")

    def get_source_stamp(self) -> bytes:
        """What tells the code of one source from that of another; nothing if there is no file."""
        try:
            return hashlib.sha256(Path(self._py_file).read_bytes()).digest()
        except OSError:
            return b""

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return str(self._line)


_PLACES: list[Any] = CompileResultCacheImpl._locator_classes
_GIVEN: Any = next(each for each in _PLACES if "UserProvided" in each.__name__)


class _GivenAndUsed(_GIVEN):  # type: ignore[misc]
    """The folder of NUMBA_CACHE_DIR, if it is in use: numba passes it by where it can only be read."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self | None:
        """The place of the function, whether or not it can be written to; None if nothing is there."""
        if not numba.config.CACHE_DIR:  # type: ignore[attr-defined]
            return None
        place = cls(py_func, py_file)
        return place if os.path.isdir(place.get_cache_path()) else None


def _places() -> list[Any]:
    """Where numba keeps a kernel: NUMBA_CACHE_DIR, beside the source, the user's own cache; and the last."""
    # Where nobody knows the user's home, numba would make a folder that is called '~'.
    has_home = os.path.isabs(os.path.expanduser("~")) or "XDG_CACHE_HOME" in os.environ
    every = [each for each in _PLACES if has_home or "UserWide" not in each.__name__]
    return [_GivenAndUsed, *every, _BesideTheSource]


class _Code(CompileResultCacheImpl):
    """How numba turns code into bytes, and the first place for them that can be written to."""

    _locator_classes = _places()


_CODE: Any = _Code  # numba is not annotated
_DUMPS: Any = dumps


@cache
def _sources() -> str:
    """What all kernels are made from: a change in any of them makes all that is kept stale."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_problems: list[str] = []  # with keeping them, the first one only


def is_kept() -> bool:
    """True if compiled kernels are kept on disk, as far as this process has tried."""
    return not _problems


def _warn_once(problem: str) -> None:
    if not _problems:
        _problems.append(problem)
        warnings.warn(
            f"Compiled kernels cannot be kept on disk ({problem}): every process compiles its own, which can "
            "take a minute. Set NUMBA_CACHE_DIR to a folder that can be written to.",
            CacheWarning,
            stacklevel=2,
        )


# -- Compiling inner functions as parts of the kernels that call them, and not by themselves -----------------

_LIBRARY: Any = JITCodeLibrary  # numba is not annotated
_COMPILER: Any = Compiler


class KernelLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of a kernel and of all inner functions that it leads to."""

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        found: dict[Any, None] = {}
        _gather(self, found)
        self._linking_libraries = list(found)
        super().finalize()

    def _optimize_final_module(self) -> None:
        # What no other code can call may be written out where it is called, or lose arguments. And kernels
        # that were compiled apart cannot come to call each other's copy of a function.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class InnerLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of one inner function, ready to be linked."""

    def finalize(self) -> None:
        """Nothing is linked or optimised here."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Who is told where the function's environment is, which is nowhere.

        Only Python's objects need one; in kernels that are loaded from disk inner functions have none either.
        """
        return _NoEnvironment()


class _NoEnvironment:
    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing."""


def _gather(library: Any, found: dict[Any, None]) -> None:
    """Add all libraries that the library leads to, each once."""
    for each in library._linking_libraries:
        if each not in found:
            found[each] = None
            if isinstance(each, InnerLibrary):
                _gather(each, found)


class KernelCompiler(_COMPILER):  # type: ignore[misc]
    """The usual steps of the compiler, into a library of this kind."""

    library = KernelLibrary

    def define_pipelines(self) -> list[Any]:
        """The usual steps, and indices without a sign."""
        (steps,) = super().define_pipelines()
        steps.add_pass_after(UnsignedIndices, PreLowerStripPhis)
        steps.finalize()
        return [steps]

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The function, compiled."""
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class InnerCompiler(KernelCompiler):
    """The same for an inner function."""

    library = InnerLibrary


# -- Indices without a sign ----------------------------------------------------------------------------------

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


# -- A named tuple of arrays, passed on as one pointer -------------------------------------------------------

_T = TypeVar("_T")
# numba is not annotated
_api: Any = extending
_cgutils: Any = cgutils
_imputils: Any = imputils
_config: Any = config
_TYPE: Any = types.Type
_FIELDS: Any = AttributeTemplate
_MODEL: Any = extending.models.PrimitiveModel


class Reference(_TYPE):  # type: ignore[misc]
    """The type of a reference to a named tuple."""

    def __init__(self, target: Any) -> None:
        self.target = target
        super().__init__(name=f"Reference({target})")

    def place(self, name: str) -> int:
        """The place of the field among those of the tuple."""
        return int(self.target.fields.index(name))

    def field(self, name: str) -> Any:
        """The type of what a reference gives for this name; for a tuple, that is again a reference."""
        member = self.target[self.place(name)]
        return Reference(member) if isinstance(member, types.BaseNamedTuple) else member


class _Model(_MODEL):  # type: ignore[misc]
    """In memory: a pointer to the tuple."""

    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.target).get_value_type().as_pointer())


class _Fields(_FIELDS):  # type: ignore[misc]
    """What `reference.name` may be."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        """Its type; None if there is no such field."""
        return reference.field(name) if name in reference.target.fields else None


def _load_field(context: Any, builder: Any, reference: Reference, pointer: Any, name: str) -> Any:
    at = _cgutils.gep_inbounds(builder, pointer, 0, reference.place(name))
    field = reference.field(name)
    if isinstance(field, Reference):
        return at
    return _imputils.impl_ret_borrowed(context, builder, field, builder.load(at))


def _refer(typing_context: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _cgutils.alloca_once_value(builder, values[0])

    return Reference(target)(target), code


def _nothing(typing_context: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_dummy_value()

    return types.void(target), code


def _itself(target: Any) -> Any:
    return target


_api.register_model(Reference)(_Model)
_api.infer_getattr(_Fields)
_api.lower_getattr_generic(Reference)(_load_field)

# What a kernel calls once for each of its tuples. A reference keeps nothing alive: arrays that the kernel
# itself has made are freed where their tuple is last named. So it is named once more, by `keep`, at the end.
by_reference: Callable[[_T], _T]
keep: Callable[[Any], None]
if _config.DISABLE_JIT:
    by_reference = keep = _itself
else:
    by_reference, keep = _api.intrinsic(_refer), _api.intrinsic(_nothing)

# -- Instructions of the processor that Python has no word for -----------------------------------------------

_F = TypeVar("_F", bound=Callable[..., Any])
_LONG = llvm.IntType(64)
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
            kind = llvm.FunctionType(llvm.IntType(32), [])
            known = builder.module.globals.get("sched_yield")
            builder.call(known or llvm.Function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), write


def _build_add_two(_typing: Any, cells: Any, at: Any, first: Any, second: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        both = llvm.VectorType(_LONG, 2)
        address = builder.bitcast(_address(context, builder, signature, args), both.as_pointer())
        added = llvm.Constant(both, llvm.Undefined)
        for place in range(2):
            added = builder.insert_element(added, args[2 + place], llvm.Constant(llvm.IntType(32), place))
        before = builder.load(address, align=8)
        builder.store(builder.add(before, added), address, align=8)
        return context.get_dummy_value()

    return types.void(cells, types.uint64, types.int64, types.int64), write


def _build_power_of_two(_typing: Any, shifted: Any) -> Any:
    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.add(builder.bitcast(args[0], _LONG), llvm.Constant(_LONG, 1023))
        return builder.bitcast(builder.shl(exponent, llvm.Constant(_LONG, 52)), llvm.DoubleType())

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
