"""A plugin: no test calls a kernel with types that `kernels/signatures.json` does not list.

HOLDFAST_RECORD=FOLDER collects what is called there instead; `python tests/recorded_signatures.py FOLDER`
then writes the list.
"""

import os
import pickle
import sys
import uuid
from pathlib import Path

import pytest


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


if __name__ == "__main__":
    from holdfast.kernels.signatures import record

    found: dict[str, set[tuple]] = {}
    for file in Path(sys.argv[1]).iterdir():
        for kernel, signatures in pickle.loads(file.read_bytes()).items():
            found.setdefault(kernel, set()).update(signatures)
    record({name: list(each) for name, each in found.items()})
    print({name: len(each) for name, each in sorted(found.items())})
