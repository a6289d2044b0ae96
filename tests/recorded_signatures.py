"""A plugin that records the types that tests call kernels with.

    HOLDFAST_RECORD=FOLDER pytest -n 2 -p recorded_signatures
    python tests/recorded_signatures.py FOLDER

The second writes `kernels/signatures.json`. `conftest.py` fails a run that calls a kernel with other types.
"""

import json
import os
import pickle
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from numba.core import types

from holdfast.kernels.signatures import FILE


def called() -> dict[str, list[tuple]]:
    """The types that kernels of this process were compiled or loaded for."""
    from holdfast.kernels.jit import Kernel

    return {
        f"{name}.{each.__name__}": list(each.compiled.overloads)
        for name, module in list(sys.modules.items())
        if name.startswith("holdfast.kernels.")
        for each in list(vars(module).values())
        if isinstance(each, Kernel) and each.compiled.py_func.__module__ == name and each.compiled.overloads
    }


def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    folder = os.environ.get("HOLDFAST_RECORD")
    if folder is not None:
        Path(folder, uuid.uuid4().hex).write_bytes(pickle.dumps(called()))


def record(signatures: dict[str, list[tuple]]) -> None:
    """Write the file anew, with these signatures only."""
    tuples: dict[str, list[str]] = {}
    kernels = {
        name: sorted([_encode(each, tuples) for each in signature] for signature in signatures[name])
        for name in sorted(signatures)
    }
    content = {"tuples": dict(sorted(tuples.items())), "kernels": kernels}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _encode(kind: Any, tuples: dict[str, list[str]]) -> str:
    if isinstance(kind, types.Array):
        cells = _record_text(kind.dtype) if isinstance(kind.dtype, types.Record) else str(kind.dtype)
        return f"{'' if kind.mutable else 'readonly '}{cells} {kind.ndim}"
    if not isinstance(kind, types.BaseNamedTuple):
        return str(kind)
    fields = [_encode(each, tuples) for each in kind.types]
    python: Any = kind.instance_class
    name = base = f"{python.__module__}.{python.__qualname__}"
    number = 1
    while tuples.setdefault(name, fields) != fields:
        number += 1
        name = f"{base}#{number}"
    return name


def _record_text(record: Any) -> str:
    """The fields of a structured array, as in "threshold:float64,split:int32"."""
    return ",".join(f"{name}:{field.type}" for name, field in record.fields.items())


if __name__ == "__main__":
    found: dict[str, set[tuple]] = {}
    for file in Path(sys.argv[1]).iterdir():
        for kernel, signatures in pickle.loads(file.read_bytes()).items():
            found.setdefault(kernel, set()).update(signatures)
    record({name: list(each) for name, each in found.items()})
    print({name: len(each) for name, each in sorted(found.items())})
