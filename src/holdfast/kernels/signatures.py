"""The signatures that kernels are compiled for: `signatures.json` lists all that the library calls.

`python -m holdfast.kernels.build` compiles them, into a wheel or before a first fit. A plugin of the tests,
`tests/recorded_signatures.py`, checks that no fit needs another one, and records new ones.
"""

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype
from numba.core import types

from holdfast.kernels.jit import Kernel

FILE = Path(__file__).with_name("signatures.json")
_TYPES: Any = types  # numba is not annotated
# An argument is a scalar, an array ("readonly float64 2", with its number of dimensions), or a named tuple,
# which is given by its name in the table of tuples.
Signature = tuple[str, ...]
Tuples = dict[
    str, list[str]
]  # "holdfast.kernels.growth.criteria.Plan": the fields; with "#2" for a second form


def all_kernels() -> dict[str, Kernel]:
    """Import every kernel of the package, by module and name."""
    folder = Path(__file__).parent
    found = {}
    for file in sorted(folder.rglob("*.py")):
        if file.name.startswith("_") or file.stem in ("build", "notice", "shipped", "signatures"):
            continue
        name = ".".join((__package__, *file.relative_to(folder).with_suffix("").parts))
        for each in vars(import_module(name)).values():
            if isinstance(each, Kernel) and each.compiled.py_func.__module__ == name:
                found[f"{name}.{each.__name__}"] = each
    return found


@cache
def _read() -> tuple[Tuples, dict[str, list[Signature]]]:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return content["tuples"], {
        name: [tuple(each) for each in signatures] for name, signatures in content["kernels"].items()
    }


def recorded_signatures() -> dict[str, list[tuple[Any, ...]]]:
    """Return the recorded signatures of each kernel, as types of numba."""
    tuples, kernels = _read()
    return {
        name: [tuple(_decode(each, tuples) for each in signature) for signature in signatures]
        for name, signatures in kernels.items()
    }


def unrecorded_signatures() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield what this process has compiled or loaded and the file does not list."""
    known = recorded_signatures()
    for name, kernel in all_kernels().items():
        for signature in kernel.compiled.overloads if "compiled" in vars(kernel) else ():
            if signature not in known.get(name, ()):
                yield name, signature


def _cells(text: str) -> Any:
    if ":" not in text:
        return getattr(_TYPES, text)
    fields = [tuple(each.split(":")) for each in text.split(",")]
    return from_dtype(np.dtype(fields, align=True))


def _decode(text: str, tuples: Tuples) -> Any:
    *flags, kind = text.split(" ")
    if kind.isdigit():
        return _TYPES.Array(_cells(flags[-1]), int(kind), "C", readonly=flags[0] == "readonly")
    if text not in tuples:
        return getattr(_TYPES, "boolean" if text == "bool" else text)
    module, _, name = text.partition("#")[0].rpartition(".")
    fields = [_decode(each, tuples) for each in tuples[text]]
    python = getattr(import_module(module), name)
    if len(set(fields)) == 1:
        return _TYPES.NamedUniTuple(fields[0], len(fields), python)
    return _TYPES.NamedTuple(fields, python)
