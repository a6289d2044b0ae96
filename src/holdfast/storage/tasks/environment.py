"""What a result depends on besides its task: the code that computed it, and the machine."""

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from holdfast._version import __version__

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "polars", "narwhals")
_PACKAGE = Path(__file__).parents[2]


@cache
def environment() -> bytes:
    """A digest of holdfast's own code, of the libraries that it computes with, and of the processor.

    Processors differ in the last digits of logarithms, so that even bits of two machines are not mixed.
    """
    digest = hashlib.sha256()
    for part in _parts():
        digest.update(hashlib.sha256(part).digest())
    return digest.digest()


def _parts() -> Iterator[bytes]:
    yield from (__version__.encode(), sys.version.encode(), platform.platform().encode())
    yield from (_processor().encode(), repr(os.environ.get("NUMBA_CPU_NAME")).encode())
    for name in _LIBRARIES:
        yield f"{name} {_version(name)}".encode()
    for path in sorted(_PACKAGE.rglob("*.py")):
        yield path.relative_to(_PACKAGE).as_posix().encode()
        yield path.read_bytes()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
