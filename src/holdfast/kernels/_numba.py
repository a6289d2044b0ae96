"""All uses of numba's internal interfaces, with a switch that turns them off.

numba alone compiles the kernels correctly, but not as fast, and its cache is not safe for many processes.
Four changes to it are made here, and nowhere else:

- The cache. numba indexes the files of a kernel in one more file, which several processes can overwrite for
  each other, and it stops the program if there is no folder to write to or a file is broken. `KernelCache`
  writes one file per kernel, argument types and processor, each with a digest of its content and of the
  sources that the kernel depends on; a kernel is compiled again if anything is wrong with its file. Without
  a file of its own for this processor, code that the wheel carries is used (`shipped.py`).
- The linking of inner functions. numba compiles and optimises every function by itself, and then again in
  each kernel that calls it. `InnerLibrary` only holds the code of an inner function; `KernelLibrary` links
  all of them into the kernel, as internal functions that the compiler may inline or specialise, and
  optimises once.
- Unsigned indices. numba tests every index for being negative, to count from the end. `UnsignedIndices` is a
  compiler pass that gives index variables an unsigned type, so that there is no test; constants like -1 still
  count from the end.
- References. A named tuple of arrays is passed by value, field by field. `by_reference` passes one pointer.

A fifth part uses public interfaces: atomic operations, and instructions of the processor without a name in
Python.

With the environment variable HOLDFAST_PLAIN_NUMBA=1 the four changes are off, and numba's own compiler and
cache are used. Results are the same; compiling and running take longer. Use it to find out whether a problem
comes from these changes.
"""

import hashlib
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Self

import numba
from llvmlite import binding
from llvmlite import ir as llvm
from llvmlite.binding import Linkage
from numba import extending
from numba.core import cgutils, imputils, ir, ir_utils, types
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.serialize import dumps
from numba.core.typed_passes import PreLowerStripPhis
from numba.core.typing.templates import AttributeTemplate

from holdfast._files import replace_file
from holdfast.errors import CacheWarning
from holdfast.kernels import notice
from holdfast.kernels.shipped import file_name, find_code, has_shipped_code, hash_sources

IS_PLAIN = os.environ.get("HOLDFAST_PLAIN_NUMBA", "0") not in ("", "0")

_DIGEST = hashlib.sha256().digest_size


# No fastmath: floating-point sums keep their order, so that no bit depends on the width of vector registers.
_FLAGS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}
_compile: Any = numba.njit  # numba's own annotations leave out some of its flags
_parts: dict[Callable[..., Any], Any] = {}  # the compiled inner functions and instructions
_linking = threading.RLock()


def compile_kernel(function: Callable[..., Any], *, is_cached: bool = True) -> Any:
    """Return numba's dispatcher of a kernel, whose inner functions are ready to be compiled too."""
    with _linking:
        _link(function, set())
        options = {} if IS_PLAIN else {"pipeline_class": KernelCompiler, "_nrt": True}
        compiled = _compile(**options, **_FLAGS)(function)
    if is_cached:
        keep_on_disk(compiled)
    return compiled


def _link(function: Any, seen: set[int]) -> None:
    """Put dispatchers in the place of the inner functions that a function can call, and link these too."""
    for cell in function.__closure__ or ():
        cell.cell_contents = _linked(cell.cell_contents, seen)
    _link_names(function.__globals__, seen)


def _link_names(names: dict[str, Any], seen: set[int]) -> None:
    if id(names) in seen:
        return
    seen.add(id(names))
    for name, value in list(names.items()):
        if isinstance(value, ModuleType) and value.__name__.startswith(f"{__package__}."):
            _link_names(vars(value), seen)
        elif isinstance(value, FunctionType):
            names[name] = _linked(value, seen)


def _linked(value: Any, seen: set[int]) -> Any:
    """Return the dispatcher of an inner function, or the instruction; any other value as it is."""
    if hasattr(value, "kernel_instruction"):
        return _INSTRUCTIONS[value.__name__]
    if not isinstance(value, FunctionType) or not hasattr(value, "kernel_options"):
        return value
    if value not in _parts:
        _parts[value] = _compile_part(value)
        _link(value, seen)
    return _parts[value]


def _compile_part(function: Any) -> Any:
    if IS_PLAIN:
        return _compile(**_FLAGS)(function)
    # Without wrappers for Python, which cost more to compile than the function.
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options["_nrt"] = function.kernel_options.get("allocates", False)
    if function.kernel_options.get("always_inlines"):
        options["forceinline"] = True
    return _compile(pipeline_class=InnerCompiler, **options, **_FLAGS)(function)


def keep_on_disk(compiled: Any) -> None:
    """Make the dispatcher of a kernel look for its code on disk, and store it there."""
    if IS_PLAIN:
        compiled.enable_caching()
    else:
        compiled._cache = KernelCache(compiled.py_func)


def has_code_on_disk(compiled: Any) -> bool:
    """True if code of the kernel is stored."""
    if IS_PLAIN:
        return os.path.exists(compiled._cache._cache_file._index_path)
    return bool(compiled._cache.has_code)


class KernelCache(_Cache):
    """The files of the code of one kernel. If anything is wrong with them, the kernel is compiled again."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._code = _CODE(function)
        self._module, self._name = function.__module__, function.__qualname__
        self._folder: Path | None = None  # of a wheel that is built

    @cached_property
    def _stamp(self) -> tuple[str, ...]:
        if self._module.startswith(f"{__package__}."):
            return numba.__version__, sys.version, hash_sources(self._module)
        # Of a test, say: it may call anything of the package.
        source = str(self._code.locator.get_source_stamp())
        return numba.__version__, sys.version, hash_sources(), source

    @cached_property
    def _stamp_digest(self) -> bytes:
        """A digest of the stamp; in the file it follows the digest of everything after it."""
        return hashlib.sha256(repr(self._stamp).encode()).digest()

    def write_to(self, folder: Path) -> None:
        """Compile whatever is on disk, and write the code to a folder of a wheel instead."""
        self._folder = folder

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(self._code.locator.get_cache_path())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for these argument types; None if there is no valid file."""
        target_context.refresh()
        if self._folder is not None:
            return None
        key = self._key(sig, target_context.codegen())
        code = self._read(self._file(key), key, target_context)
        if code is None and (shipped := find_code(self._module, self._name, sig)) is not None:
            code = self._read(shipped, sig, target_context)
        if code is None:
            notice.begin(self._name)
        return code

    def _read(self, path: Path, key: Any, target_context: Any) -> Any:
        try:
            content = path.read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                return None
            stored_key, code = pickle.loads(content[2 * _DIGEST :])
            return self._code.rebuild(target_context, code) if stored_key == key else None
        except Exception:  # of any kind: the kernel is compiled instead
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled code; warn once if that fails."""
        notice.end(self._name)
        if not self._code.check_cachable(data):
            return
        if self._folder is not None:
            self._write(self._folder / file_name(self._module, self._name, sig), sig, data)
            return
        key = self._key(sig, data.codegen)
        try:
            os.makedirs(self.cache_path, exist_ok=True)
            self._write(self._file(key), key, data)
        except (OSError, ValueError) as error:
            _warn_once(str(error))

    def _write(self, path: Path, key: Any, data: Any) -> None:
        content = self._stamp_digest + _DUMPS((key, self._code.reduce(data)))
        replace_file(path, hashlib.sha256(content).digest() + content)

    @property
    def has_code(self) -> bool:
        """True if there is code of the current sources, for some argument types, here or in the wheel."""
        if has_shipped_code(self._module, self._name):
            return True
        try:
            files = list(Path(self.cache_path).glob(f"{self._code.filename_base}.*.kernel"))
            return any(self._stamp_digest == _stamp_of(file) for file in files)
        except OSError:
            return False

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""

    def flush(self) -> None:
        """Do nothing: stale files are overwritten."""

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return self._stamp, sig, codegen.magic_tuple()

    def _file(self, key: tuple[Any, ...]) -> Path:
        name = hashlib.sha256(repr(key[1:]).encode()).hexdigest()[:16]
        return Path(self.cache_path, f"{self._code.filename_base}.{name}.kernel")


def _stamp_of(file: Path) -> bytes:
    """Return the digest of the sources of a file's code, without reading the code."""
    with file.open("rb") as content:
        return content.read(2 * _DIGEST)[_DIGEST:]


class _BesideTheSource:
    """The last place that is tried: a cache that cannot be written to may still be readable."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self:
        """Return the place of the function, whether or not it can be written to."""
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        """Return the folder in which Python itself keeps compiled modules."""
        return os.path.join(os.path.dirname(self._py_file), "__pycache__")

    def get_source_stamp(self) -> bytes:
        """Return a digest of the source; nothing if there is no file."""
        try:
            return hashlib.sha256(Path(self._py_file).read_bytes()).digest()
        except OSError:
            return b""

    def get_disambiguator(self) -> str:
        """Return what distinguishes functions of one name."""
        return str(self._line)


_PLACES: list[Any] = CompileResultCacheImpl._locator_classes
_USER_FOLDER: Any = next(each for each in _PLACES if "UserProvided" in each.__name__)


class _ExistingUserFolder(_USER_FOLDER):  # type: ignore[misc]
    """The folder of NUMBA_CACHE_DIR, if it exists: numba skips a folder that is read-only."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self | None:
        """Return the place of the function, whether or not it can be written to; None without a folder."""
        if not numba.config.CACHE_DIR:  # type: ignore[attr-defined]
            return None
        place = cls(py_func, py_file)
        return place if os.path.isdir(place.get_cache_path()) else None


def _places() -> list[Any]:
    """List the places of a kernel: NUMBA_CACHE_DIR, beside the source, and the user's cache."""
    # Without a home directory, numba would make a folder called '~'.
    has_home = os.path.isabs(os.path.expanduser("~")) or "XDG_CACHE_HOME" in os.environ
    every = [each for each in _PLACES if has_home or "UserWide" not in each.__name__]
    return [_ExistingUserFolder, *every, _BesideTheSource]


class _Code(CompileResultCacheImpl):
    """How numba serializes code, and the first place that can be written to."""

    _locator_classes = _places()


_CODE: Any = _Code  # numba is not annotated
_DUMPS: Any = dumps


_problems: list[str] = []  # with storing kernels, the first one only


def is_kept() -> bool:
    """True unless storing compiled kernels has failed in this process."""
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


# -- Linking inner functions into the kernels that call them -------------------------------------------------

_LIBRARY: Any = JITCodeLibrary  # numba is not annotated
_COMPILER: Any = Compiler


class KernelLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of a kernel and of all inner functions that it calls, directly or not."""

    def finalize(self) -> None:
        """Link, optimise, and make machine code."""
        needed: dict[Any, None] = {}
        _gather(self, needed)
        self._linking_libraries = list(needed)
        super().finalize()

    def serialize_using_object_code(self) -> Any:
        """Return the name, the machine code, and bitcode with no more than the names that the code defines.

        numba stores all of the bitcode, which is most of the file, for functions that link this one. Nothing
        links a kernel.
        """
        self._ensure_finalized()
        module = self._get_module_for_linking()
        names = [each.name for each in module.functions if not each.is_declaration]
        stubs = [f'define void @"{name}"() {{ ret void }}' for name in names]
        bitcode = binding.parse_assembly("\n".join(stubs)).as_bitcode()
        return self.name, "object", (self._get_compiled_object(), bitcode)

    def _optimize_final_module(self) -> None:
        # The compiler may inline internal functions and drop their arguments. And kernels compiled in
        # different processes cannot call each other's copy of a function.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class InnerLibrary(_LIBRARY):  # type: ignore[misc]
    """The code of one inner function, to be linked into kernels."""

    def finalize(self) -> None:
        """Nothing is linked or optimised here."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Return an object that ignores the function's environment.

        Only Python objects need one; inner functions of kernels loaded from disk have none either.
        """
        return _NoEnvironment()


class _NoEnvironment:
    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing."""


def _gather(library: Any, needed: dict[Any, None]) -> None:
    """Add all libraries that the library needs, each once."""
    for each in library._linking_libraries:
        if each not in needed:
            needed[each] = None
            if isinstance(each, InnerLibrary):
                _gather(each, needed)


class KernelCompiler(_COMPILER):  # type: ignore[misc]
    """numba's compiler with the unsigned index pass, into a library of this kind."""

    library = KernelLibrary

    def define_pipelines(self) -> list[Any]:
        """Return the usual steps, and the unsigned index pass."""
        (steps,) = super().define_pipelines()
        steps.add_pass_after(UnsignedIndices, PreLowerStripPhis)
        steps.finalize()
        return [steps]

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile the function."""
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class InnerCompiler(KernelCompiler):
    """The same for an inner function."""

    library = InnerLibrary


# -- Unsigned indices ----------------------------------------------------------------------------------------

_PASS: Any = FunctionPass  # numba is not annotated
_register: Any = register_pass
_types: Any = types
_ir_utils: Any = ir_utils


@_register(mutates_CFG=False, analysis_only=False)
class UnsignedIndices(_PASS):  # type: ignore[misc]
    """Make the type of every array index that is a variable unsigned, after type inference."""

    _name = "holdfast_unsigned_indices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change the signature of each indexing operation; return whether anything changed."""
        changed = {
            at: _unsigned(call)
            for at, call in state.calltypes.items()
            if _is_item(at, call) and not _counts_from_end(state.func_ir, at.index)
        }
        state.calltypes.update(changed)
        return bool(changed)


def _is_item(at: Any, call: Any) -> bool:
    """True if this operation reads or writes an item of an array."""
    is_read = isinstance(at, ir.Expr) and at.op == "getitem"
    return (is_read or isinstance(at, ir.SetItem)) and isinstance(call.args[0], types.Array)


def _counts_from_end(function: Any, index: Any) -> bool:
    """True if the index, or a part of it, is a negative constant."""
    definition = _ir_utils.guard(_ir_utils.get_definition, function, index)
    is_tuple = isinstance(definition, ir.Expr) and definition.op == "build_tuple"
    parts = [
        _ir_utils.guard(_ir_utils.find_const, function, part)
        for part in (definition.items if is_tuple else [index])
    ]
    return any(isinstance(part, int) and part < 0 for part in parts)


def _unsigned(call: Any) -> Any:
    array, index, *value = call.args
    return call.replace(args=(array, _without_sign(index), *value))


def _without_sign(index: Any) -> Any:
    """Return the unsigned type of the index, or of each part of it; slices stay as they are."""
    if isinstance(index, _types.BaseTuple):
        return _types.Tuple([_without_sign(part) for part in index])
    return types.uintp if isinstance(index, types.Integer) else index


# -- Named tuples of arrays, passed as one pointer -----------------------------------------------------------

# numba is not annotated
_api: Any = extending
_cgutils: Any = cgutils
_imputils: Any = imputils
_TYPE: Any = types.Type
_FIELDS: Any = AttributeTemplate
_MODEL: Any = extending.models.PrimitiveModel


class Reference(_TYPE):  # type: ignore[misc]
    """The type of a reference to a named tuple."""

    def __init__(self, target: Any) -> None:
        self.target = target
        super().__init__(name=f"Reference({target})")

    def place(self, name: str) -> int:
        """Return the place of the field in the tuple."""
        return int(self.target.fields.index(name))

    def field(self, name: str) -> Any:
        """Return the type of a field of the reference; for a tuple, again a reference."""
        member = self.target[self.place(name)]
        return Reference(member) if isinstance(member, types.BaseNamedTuple) else member


class _Model(_MODEL):  # type: ignore[misc]
    """In memory: a pointer to the tuple."""

    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.target).get_value_type().as_pointer())


class _Fields(_FIELDS):  # type: ignore[misc]
    """Type inference of `reference.name`."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        """Return the type of the field; None if there is none."""
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


def _use(typing_context: Any, target: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_dummy_value()

    return types.void(target), code


def _itself(target: Any) -> Any:
    return target


_api.register_model(Reference)(_Model)
_api.infer_getattr(_Fields)
_api.lower_getattr_generic(Reference)(_load_field)

# -- Instructions without a name in Python -------------------------------------------------------------------

_LONG = llvm.IntType(64)


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of an item: the first argument is the array, the second the index."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


# Each builder gets types, and returns a signature and a function that writes the code.


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
            declared = builder.module.globals.get("sched_yield")
            builder.call(declared or llvm.Function(builder.module, kind, "sched_yield"), [])
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


# What a kernel calls in the place of the functions of these names in `jit.py`.
_INSTRUCTIONS = {
    "by_reference": _api.register_jitable(_itself) if IS_PLAIN else _api.intrinsic(_refer),
    "keep": _api.register_jitable(_itself) if IS_PLAIN else _api.intrinsic(_use),
    "read": _api.intrinsic(_build_read),
    "write": _api.intrinsic(_build_write),
    "add": _api.intrinsic(_build_add),
    "give_way": _api.intrinsic(_build_give_way),
    "add_two": _api.intrinsic(_build_add_two),
    "power_of_two": _api.intrinsic(_build_power_of_two),
}
