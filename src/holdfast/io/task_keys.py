"""Keys of tasks, hashed from their content down to the bytes of the data, and their results as bytes.

Tasks are functions of modules and partials of them; their arguments are numbers, texts, arrays, frames and
dataclasses. Anything else has no key, and then no result is kept: different tasks never share a key.
"""

import hashlib
import math
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, Literal
from weakref import ref

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast._version import __version__
from holdfast.tree.check import check_trees
from holdfast.tree.tree import Tree

# Arguments of holdfast's functions that no result depends on.
WITHOUT_EFFECT = frozenset({"n_jobs", "verbose", "progress"})
LARGE = 1 << 16  # bytes of an array whose digest is worth remembering
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class UnhashableTaskError(TypeError):
    """A task has an argument that cannot be identified by its content."""


class TaskKeys:
    """Makes keys; digests of large read-only arrays are remembered while they live."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[ref[Any], bytes]] = {}

    def key(self, *parts: Any) -> bytes:
        """Make the key of these parts; an UnhashableTaskError if one of them has none."""
        return _Hasher(self._array).of(parts)

    def _array(self, array: NDArray[Any]) -> bytes:
        if array.nbytes < LARGE or array.flags.writeable:
            return _array_digest(array)
        known, digest = self._arrays.get(id(array), (None, b""))
        if known is None or known() is not array:
            digest = _array_digest(array)
            self._arrays[id(array)] = ref(array, self._forget(id(array))), digest
        return digest

    def _forget(self, number: int) -> Callable[[Any], None]:
        return lambda _: self._arrays.pop(number, None) and None


class _Hasher:
    """Hashes one value. Objects that occur twice are hashed once."""

    def __init__(self, array: Callable[[NDArray[Any]], bytes]) -> None:
        self._array = array
        self._seen: dict[int, tuple[Any, bytes]] = {}  # with the object itself, so that it lives on
        self._open: set[int] = set()

    def of(self, value: Any) -> bytes:
        """The digest of the value."""
        if type(value) in _PLAIN:
            return _hash_parts(type(value).__name__, _encode_plain(value))
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        if id(value) in self._open:
            raise UnhashableTaskError(f"a {type(value).__name__} that contains itself")
        self._open.add(id(value))
        digest = self._digest(value)
        self._open.discard(id(value))
        self._seen[id(value)] = value, digest
        return digest

    def _digest(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray):
            return self._vector(value)
        if isinstance(value, np.generic):
            return _hash_parts("scalar", str(value.dtype), value.tobytes())
        if isinstance(value, type):
            return _hash_parts("class", *_qualify(value))
        if isinstance(value, FunctionType | BuiltinFunctionType | MethodType | partial | np.ufunc):
            return _hash_parts("function", *map(self.of, _function_parts(value)))
        kind = _hash_parts("of", *_qualify(type(value)))
        if (columns := _list_columns(value)) is not None:
            return _hash_parts("frame", kind, self.of(columns))
        return _hash_parts("object", kind, *map(self.of, _content(value)))

    def _vector(self, array: NDArray[Any]) -> bytes:
        if type(array) is not np.ndarray:
            raise UnhashableTaskError(f"an array of the type {type(array).__name__}")
        if array.dtype.hasobject:
            if array.dtype != np.dtype(object):
                raise UnhashableTaskError(f"an array of {array.dtype}")
            return _hash_parts("objects", repr(array.shape), self.of(array.ravel().tolist()))
        return self._array(array)


# -- content of objects --------------------------------------------------------------------------------


def _content(value: Any) -> Iterator[Any]:
    """List the parts of the value in a fixed order."""
    if isinstance(value, tuple | list | range):
        if isinstance(value, list | tuple) and all(type(each) is str for each in value):
            yield from ("texts", *_texts(value))  # columns of texts are long
        else:
            yield from ("entries", *value)
    elif isinstance(value, set | frozenset):
        yield from sorted(value, key=repr)
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from (name, entry)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    elif isinstance(value, Enum):
        yield value.name
    elif is_dataclass(value) and not hasattr(
        value, "get_params"
    ):  # an estimator has more than its parameters
        for field in fields(value):
            if field.name not in _ignored(value) and "without_effect" not in field.metadata:
                yield from (field.name, getattr(value, field.name))
    elif _is_ours(type(value).__module__) or hasattr(value, "get_params"):
        yield from _attributes(value)
    else:
        raise UnhashableTaskError(f"a {type(value).__module__}.{type(value).__qualname__}")


def _texts(texts: Iterable[str]) -> Iterator[Any]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    yield np.array([len(each) for each in encoded], np.int64)
    yield b"".join(encoded)


def _attributes(value: Any) -> Iterator[Any]:
    """List the attributes of an estimator: its parameters and fitted attributes."""
    if not hasattr(value, "__dict__"):
        raise UnhashableTaskError(f"a {type(value).__qualname__}")
    for name, entry in sorted(vars(value).items()):
        if name not in _ignored(value):
            yield from (name, entry)


def _ignored(value: Any) -> frozenset[str]:
    return WITHOUT_EFFECT if _is_ours(type(value).__module__) else frozenset()


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "holdfast"


def _function_parts(value: Any) -> Iterator[Any]:
    if isinstance(value, partial):
        ignored = WITHOUT_EFFECT if _is_ours(str(getattr(value.func, "__module__", ""))) else ()
        keywords = {name: entry for name, entry in value.keywords.items() if name not in ignored}
        yield from ("partial", value.func, value.args, keywords)
    elif isinstance(value, MethodType):
        yield from ("method", value.__self__, value.__name__)
    elif isinstance(value, np.ufunc):
        yield from ("ufunc", value.__name__)
    elif isinstance(value, BuiltinFunctionType):
        if not (value.__self__ is None or type(value.__self__).__name__ == "module"):
            raise UnhashableTaskError(f"the method {value.__qualname__} of an object")
        yield from _qualify(value)
    else:
        yield from _qualify(value)
        yield _code_parts(value.__code__)  # of two functions that are called <lambda>
        yield from (value.__defaults__, value.__kwdefaults__)
        yield [cell.cell_contents for cell in value.__closure__ or ()]


def _code_parts(code: CodeType) -> list[Any]:
    consts = [_code_parts(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    return [code.co_firstlineno, code.co_code, code.co_names, consts]


def _qualify(thing: Any) -> tuple[str, ...]:
    return thing.__module__ or "", thing.__qualname__, _origin(thing.__module__ or "builtins")


@cache
def _origin(module: str) -> str:
    """Identify the version of a module; empty for our own, which `environment` identifies."""
    root = module.partition(".")[0]
    if module != "__main__" and root in ("holdfast", "builtins", *sys.stdlib_module_names):
        return ""
    known = sys.modules.get(module)
    stated = str(getattr(sys.modules.get(root), "__version__", ""))
    file = getattr(known, "__file__", None)
    source = b""
    if file is not None:
        try:
            source = Path(file).read_bytes()
        except OSError as error:
            raise UnhashableTaskError(f"the module {module}, whose file cannot be read") from error
    elif not stated:
        raise UnhashableTaskError(f"something defined in {module}, which has no file")
    return f"{stated} {hashlib.sha256(source).hexdigest()}"


# -- bytes ------------------------------------------------------------------------------------------------


def _encode_plain(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        return value.hex().encode()
    return (value if isinstance(value, str) else repr(value)).encode("utf-8", "surrogatepass")


def _array_digest(array: NDArray[Any]) -> bytes:
    head = f"{array.dtype.str} {array.shape}".encode()
    if array.dtype.names is not None:
        head = f"{array.dtype.descr} {array.shape}".encode()
    digest = hashlib.sha256(b"array" + len(head).to_bytes(8) + head)
    digest.update(np.ascontiguousarray(array).data if array.size else b"")
    return digest.digest()


def _hash_parts(*parts: str | bytes) -> bytes:
    """Hash the parts, each with its length, so that different lists of parts differ."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8))
        digest.update(data)
    return digest.digest()


_FRAME_LIBRARIES = ("pandas", "polars", "narwhals", "pyarrow")


def _list_columns(value: Any) -> list[Any] | None:
    """List names, types and entries of the columns of a frame or series; None for anything else."""
    if type(value).__module__.partition(".")[0] not in _FRAME_LIBRARIES:
        return None
    import narwhals.stable.v1 as narwhals

    try:
        own = narwhals.from_native(value, eager_only=True, allow_series=True)
    except TypeError:
        return None
    if hasattr(own, "columns"):
        return [_index(value), *(part for name in own.columns for part in _series(own[name]))]
    return [_index(value), *_series(own)] if hasattr(own, "to_list") else None


def _series(series: Any) -> list[Any]:
    native = series.to_native()
    dtype = str(getattr(native, "dtype", getattr(native, "type", series.dtype)))
    entries: Any = series.to_numpy() if series.dtype.is_numeric() and not series.is_null().any() else None
    if not isinstance(entries, np.ndarray) or entries.dtype.hasobject:
        entries = [None if each is None else each for each in series.to_list()]
    categories = _categories(native)
    return [str(series.name), str(series.dtype), dtype, categories, _plain(entries)]


def _categories(native: Any) -> list[str]:
    """The categories of a column that has them, in their order."""
    known = getattr(getattr(native, "dtype", None), "categories", None)
    return [] if known is None else [repr(each) for each in list(known)]


def _plain(entries: Any) -> Any:
    """Replace entries without a key, such as dates, by their texts."""
    if isinstance(entries, np.ndarray):
        return entries
    simple = (type(None), bool, int, float, str)
    texts = [each if type(each) in simple else f"{type(each).__name__} {each!r}" for each in entries]
    is_text = all(type(each) is str for each in texts)
    return texts if is_text else [f"{type(each).__name__} {each!r}" for each in texts]


def _index(value: Any) -> list[str]:
    """List the row labels of a pandas frame."""
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return []
    return [repr(index)] if type(index).__name__ == "RangeIndex" else [repr(each) for each in list(index)]


_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "polars", "narwhals")
_PACKAGE = Path(__file__).parents[2]


@cache
def environment() -> bytes:
    """Hash holdfast's own code, the versions of the libraries, and the processor.

    Processors differ in the last digits of logarithms: results of two machines are not mixed.
    """
    from llvmlite import binding

    digest = hashlib.sha256()
    processor = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    texts = [__version__, sys.version, platform.platform(), processor, repr(os.environ.get("NUMBA_CPU_NAME"))]
    texts += [f"{name} {_version(name)}" for name in _LIBRARIES]
    parts = [text.encode() for text in texts]
    for path in sorted(_PACKAGE.rglob("*.py")):
        parts += [path.relative_to(_PACKAGE).as_posix().encode(), path.read_bytes()]
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


# -- Results as bytes and back, to the last bit --------------------------------------------------------------

_PLAIN_TYPES = (type(None), bool, float, str, bytes)
_KINDS = "biufcSUMm"  # of arrays that are nothing but their bytes
_FORMULAS = "holdfast.scoring."  # the modules of functions that results may hold
_WHOLE = 1 << 63  # whole numbers from here on are texts


class UnstorableResultError(TypeError):
    """The result has a part that cannot be stored."""


class BrokenResultError(ValueError):
    """The bytes are not a stored result."""


def encode_result(result: Any) -> bytes:
    """Encode the result; an UnstorableResultError if it has parts other than values."""
    return zlib.compress(msgspec.msgpack.encode(_Encoder().of(result)), level=1)


def decode_result(content: bytes) -> Any:
    """Decode the result, or raise a BrokenResultError if it is missing or damaged."""
    decoder = _Decoder()
    try:
        result = decoder.of(msgspec.msgpack.decode(zlib.decompress(content)))
        check_trees(decoder.trees, "tree {}")
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, zlib.error) as error:
        raise BrokenResultError(str(error)) from error
    return result


class _Encoder:
    """Encodes one result. An object that occurs twice, such as a schema, is written once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def of(self, value: Any) -> Any:
        """The value as what msgpack knows: lists begin with what they stand for."""
        kind = type(value)
        if kind in _PLAIN_TYPES:
            return value
        if kind is int:
            return value if -_WHOLE <= value < _WHOLE else ["int", str(value)]
        if kind is tuple or kind is list:
            return [kind.__name__, *map(self.of, value)]
        if kind is dict:
            return ["dict", *(self.of(each) for entry in value.items() for each in entry)]
        if kind is range:
            return ["range", value.start, value.stop, value.step]
        if kind is np.ndarray:
            return _encode_array(value)
        if isinstance(value, np.generic):
            return ["scalar", _encode_dtype(value.dtype), value.tobytes()]
        if kind is FunctionType:
            return ["function", _formula_address(value)]
        if kind is partial:
            return ["partial", self.of(value.func), self.of(value.args), self.of(value.keywords)]
        return self._object(value, _content_parts(value))

    def _object(self, value: Any, parts: list[Any]) -> Any:
        if id(value) in self._numbers:
            return ["again", self._numbers[id(value)]]
        self._numbers[id(value)] = len(self._numbers)
        return ["object", _address(type(value)), *map(self.of, parts)]


class _Decoder:
    """Decodes one result."""

    def __init__(self) -> None:
        self.trees: list[Tree] = []
        self._objects: list[Any] = []
        self._forms: dict[str, Callable[[list[Any]], Any]] = {
            "int": lambda parts: int(parts[0]),
            "tuple": lambda parts: tuple(map(self.of, parts)),
            "list": lambda parts: list(map(self.of, parts)),
            "dict": lambda parts: dict(zip(*[iter(map(self.of, parts))] * 2, strict=True)),
            "range": lambda parts: range(*parts),
            "array": _decode_array,
            "scalar": lambda parts: np.frombuffer(parts[1], _decode_dtype(parts[0]))[0],
            "function": lambda parts: _find_formula(parts[0]),
            "partial": self._partial,
            "again": lambda parts: self._objects[parts[0]],
            "object": self._object,
        }

    def of(self, written: Any) -> Any:
        """The value."""
        if not isinstance(written, list):
            return written
        return self._forms[written[0]](written[1:])

    def _partial(self, parts: list[Any]) -> Any:
        function, args, keywords = map(self.of, parts)
        if not isinstance(function, FunctionType):
            raise BrokenResultError("a partial of something else than a function")
        return partial(function, *args, **keywords)

    def _object(self, parts: list[Any]) -> Any:
        kind, place = _find_class(parts[0]), len(self._objects)
        self._objects.append(None)
        values = [self.of(part) for part in parts[1:]]
        built = self._objects[place] = _rebuild(kind, values)
        if isinstance(built, Tree):
            self.trees.append(built)
        return built


# -- our own types ----------------------------------------------------------------------------------------


def _content_parts(value: Any) -> list[Any]:
    """List the fields of a dataclass or named tuple of ours, or all attributes of an estimator."""
    kind = type(value)
    if not _is_ours(kind.__module__):
        raise UnstorableResultError(f"a {kind.__module__}.{kind.__qualname__}")
    if _is_named_tuple(kind):
        return list(value)
    if is_dataclass(kind) and not _is_estimator(kind):
        return [getattr(value, field.name) for field in fields(kind)]
    if not _is_estimator(kind):
        raise UnstorableResultError(f"a {kind.__module__}.{kind.__qualname__}")
    return [vars(value)]


def _rebuild(kind: type, values: list[Any]) -> Any:
    """Rebuild an object from its parts without running its own code."""
    if _is_named_tuple(kind):
        return kind(*values)
    entries: dict[str, Any] = values[0] if _is_estimator(kind) else {}
    if is_dataclass(kind) and not _is_estimator(kind):
        entries = dict(zip([field.name for field in fields(kind)], values, strict=True))
    built: Any = object.__new__(kind)
    for name, entry in entries.items():
        object.__setattr__(built, name, entry)
    return built


def _find_class(address: str) -> type:
    module, _, name = address.partition(":")
    if not _is_ours(module):
        raise BrokenResultError(f"{address!r} is no type of holdfast")
    kind = getattr(import_module(module), name)
    if not (isinstance(kind, type) and (is_dataclass(kind) or _is_named_tuple(kind) or _is_estimator(kind))):
        raise BrokenResultError(f"{address!r} is no type that results have")
    return kind


def _address(kind: type | FunctionType) -> str:
    if "." in kind.__qualname__:
        raise UnstorableResultError(f"a {kind.__qualname__}, which is defined in another object")
    return f"{kind.__module__}:{kind.__qualname__}"


def _formula_address(function: FunctionType) -> str:
    """Address of a formula of a score, the only functions that results hold."""
    if not function.__module__.startswith(_FORMULAS):
        raise UnstorableResultError(f"the function {function.__module__}.{function.__qualname__}")
    return _address(function)


def _find_formula(address: str) -> FunctionType:
    module, _, name = address.partition(":")
    function = getattr(import_module(module), name) if module.startswith(_FORMULAS) else None
    if not isinstance(function, FunctionType) or function.__module__ != module:
        raise BrokenResultError(f"{address!r} is no formula of a score")
    return function


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_estimator(kind: type) -> bool:
    return hasattr(kind, "get_params") and hasattr(kind, "fit")


# -- arrays -----------------------------------------------------------------------------------------------


def _encode_array(array: NDArray[Any]) -> list[Any]:
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    dtype = _encode_dtype(array.dtype)
    return ["array", dtype, list(array.shape), order, array.flags.writeable, array.tobytes(order)]


def _decode_array(parts: list[Any]) -> NDArray[Any]:
    dtype, shape, order, writeable, data = parts
    kind = _decode_dtype(dtype)
    if not isinstance(data, bytes) or len(data) != math.prod(shape) * kind.itemsize:
        raise BrokenResultError(f"an array of {len(data)} bytes, which are not {shape} of {kind}")
    array = np.ndarray(shape, kind, data, order=order).copy(order)
    array.flags.writeable = writeable is True
    return array


def _encode_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in _KINDS:
        raise UnstorableResultError(f"an array of {dtype}")
    return dtype.str


def _decode_dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in _KINDS:
        raise BrokenResultError(f"an array of {dtype}")
    return dtype
