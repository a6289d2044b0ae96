"""A result as bytes and back, to the last bit: numbers, texts, arrays, and our own dataclasses of them.

No pickle: what is read builds values of ours and nothing else, so that no file can run code. Trees are
checked before they are used.
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from holdfast.tree.check import check_trees
from holdfast.tree.tree import Tree

_PLAIN = (type(None), bool, float, str, bytes)
_KINDS = "biufcSUMm"  # of arrays that are nothing but their bytes
_FORMULAS = "holdfast.scoring."  # the modules of functions that results may hold
_WHOLE = 1 << 63  # whole numbers from here on are texts


class NoContentError(TypeError):
    """The result holds something that is not kept."""


class BrokenContentError(ValueError):
    """The bytes are no result that was kept."""


def content_of(result: Any) -> bytes:
    """The result as bytes; a NoContentError if there is something else in it than values."""
    return zlib.compress(msgspec.msgpack.encode(_Writing().of(result)), level=1)


def result_in(content: bytes) -> Any:
    """The result that the bytes hold; a BrokenContentError if they hold none, or trees that are not sound."""
    reading = _Reading()
    try:
        result = reading.of(msgspec.msgpack.decode(zlib.decompress(content)))
        check_trees(reading.trees, "tree {}")
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, zlib.error) as error:
        raise BrokenContentError(str(error)) from error
    return result


class _Writing:
    """One result on its way to bytes. An object that it holds twice, such as a schema, is written once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def of(self, value: Any) -> Any:
        """The value as what msgpack knows: lists begin with what they stand for."""
        kind = type(value)
        if kind in _PLAIN:
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
            return _array_written(value)
        if isinstance(value, np.generic):
            return ["scalar", _dtype_written(value.dtype), value.tobytes()]
        if kind is FunctionType:
            return ["function", _formula_address(value)]
        if kind is partial:
            return ["partial", self.of(value.func), self.of(value.args), self.of(value.keywords)]
        return self._object(value, _parts(value))

    def _object(self, value: Any, parts: list[Any]) -> Any:
        if id(value) in self._numbers:
            return ["again", self._numbers[id(value)]]
        self._numbers[id(value)] = len(self._numbers)
        return ["object", _address(type(value)), *map(self.of, parts)]


class _Reading:
    """One result on its way from bytes."""

    def __init__(self) -> None:
        self.trees: list[Tree] = []
        self._objects: list[Any] = []
        self._forms: dict[str, Callable[[list[Any]], Any]] = {
            "int": lambda parts: int(parts[0]),
            "tuple": lambda parts: tuple(map(self.of, parts)),
            "list": lambda parts: list(map(self.of, parts)),
            "dict": lambda parts: dict(zip(*[iter(map(self.of, parts))] * 2, strict=True)),
            "range": lambda parts: range(*parts),
            "array": _array_read,
            "scalar": lambda parts: np.frombuffer(parts[1], _dtype_read(parts[0]))[0],
            "function": lambda parts: _formula_at(parts[0]),
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
            raise BrokenContentError("a partial of something else than a function")
        return partial(function, *args, **keywords)

    def _object(self, parts: list[Any]) -> Any:
        kind, place = _class_at(parts[0]), len(self._objects)
        self._objects.append(None)
        values = [self.of(part) for part in parts[1:]]
        made = self._objects[place] = _made(kind, values)
        if isinstance(made, Tree):
            self.trees.append(made)
        return made


# -- our own types ----------------------------------------------------------------------------------------


def _parts(value: Any) -> list[Any]:
    """What an object of ours consists of: the fields of a dataclass or a named tuple, or all attributes."""
    kind = type(value)
    if not _is_ours(kind.__module__):
        raise NoContentError(f"a {kind.__module__}.{kind.__qualname__}")
    if _is_named_tuple(kind):
        return list(value)
    if is_dataclass(kind) and not _is_estimator(kind):
        return [getattr(value, field.name) for field in fields(kind)]
    if not _is_estimator(kind):
        raise NoContentError(f"a {kind.__module__}.{kind.__qualname__}")
    return [vars(value)]


def _made(kind: type, values: list[Any]) -> Any:
    """An object with these parts. Nothing of its own runs: what was written down is what it was."""
    if _is_named_tuple(kind):
        return kind(*values)
    entries: dict[str, Any] = values[0] if _is_estimator(kind) else {}
    if is_dataclass(kind) and not _is_estimator(kind):
        entries = dict(zip([field.name for field in fields(kind)], values, strict=True))
    made: Any = object.__new__(kind)
    for name, entry in entries.items():
        object.__setattr__(made, name, entry)
    return made


def _class_at(address: str) -> type:
    module, _, name = address.partition(":")
    if not _is_ours(module):
        raise BrokenContentError(f"{address!r} is no type of holdfast")
    kind = getattr(import_module(module), name)
    if not (isinstance(kind, type) and (is_dataclass(kind) or _is_named_tuple(kind) or _is_estimator(kind))):
        raise BrokenContentError(f"{address!r} is no type that results have")
    return kind


def _address(kind: type | FunctionType) -> str:
    if "." in kind.__qualname__:
        raise NoContentError(f"a {kind.__qualname__}, which stands in another thing")
    return f"{kind.__module__}:{kind.__qualname__}"


def _formula_address(function: FunctionType) -> str:
    """Where a formula of a score stands: the only functions that results hold."""
    if not function.__module__.startswith(_FORMULAS):
        raise NoContentError(f"the function {function.__module__}.{function.__qualname__}")
    return _address(function)


def _formula_at(address: str) -> FunctionType:
    module, _, name = address.partition(":")
    function = getattr(import_module(module), name) if module.startswith(_FORMULAS) else None
    if not isinstance(function, FunctionType) or function.__module__ != module:
        raise BrokenContentError(f"{address!r} is no formula of a score")
    return function


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "holdfast"


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_estimator(kind: type) -> bool:
    return hasattr(kind, "get_params") and hasattr(kind, "fit")


# -- arrays -----------------------------------------------------------------------------------------------


def _array_written(array: NDArray[Any]) -> list[Any]:
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    dtype = _dtype_written(array.dtype)
    return ["array", dtype, list(array.shape), order, array.flags.writeable, array.tobytes(order)]


def _array_read(parts: list[Any]) -> NDArray[Any]:
    dtype, shape, order, writeable, data = parts
    kind = _dtype_read(dtype)
    if not isinstance(data, bytes) or len(data) != math.prod(shape) * kind.itemsize:
        raise BrokenContentError(f"an array of {len(data)} bytes, which are not {shape} of {kind}")
    array = np.ndarray(shape, kind, data, order=order).copy(order)
    array.flags.writeable = writeable is True
    return array


def _dtype_written(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in _KINDS:
        raise NoContentError(f"an array of {dtype}")
    return dtype.str


def _dtype_read(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in _KINDS:
        raise BrokenContentError(f"an array of {dtype}")
    return dtype
