"""Machine code that a wheel carries: the levels of processors it is made for, and the file of each kernel.

A file is used if this processor has the features of its level, and if numba, llvmlite, Python and the sources
that the kernel depends on are those that it was compiled from. All of these are in the name of the file, so
that anything else is a file that does not exist, and the kernel is compiled. Code is read from the package's
own folder only, and its digest is checked.
"""

import hashlib
import os
import platform
import re
import sys
from functools import cache
from pathlib import Path

import llvmlite
import numba
from llvmlite import binding

PACKAGE = Path(__file__).parent
FOLDER = PACKAGE / "built"
# The levels of each kind of machine, the best first, and the features that code of a level uses.
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"), "x86-64": ()},
    "arm64": {"generic": ()},
}
MACHINES = {"amd64": "x86_64", "aarch64": "arm64"}  # other names of them
# Settings of numba that change no code. With any other one, code that was compiled without it is not used.
HARMLESS = {
    *("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY"),
    *("NUMBA_WARNINGS", "NUMBA_DISABLE_PERFORMANCE_WARNINGS", "NUMBA_CAPTURED_ERRORS", "NUMBA_COLOR_SCHEME"),
}
_IMPORT = re.compile(
    r"^from holdfast\.kernels(?:\.([\w.]+))? import (?:\(([\w,\s]*)\)|([\w, ]*))", re.MULTILINE
)


def machine() -> str:
    """Return the kind of this machine, as `LEVELS` has it."""
    name = platform.machine().lower()
    return MACHINES.get(name, name)


@cache
def usable_levels() -> tuple[str, ...]:
    """Return the levels in the wheel that this processor can run, the best first."""
    # Code that was compiled without a setting is not used with it.
    settings = {name for name, value in os.environ.items() if name.startswith("NUMBA_") and value}
    if settings - HARMLESS or not FOLDER.is_dir() or Path(".numba_config.yaml").exists():
        return ()
    known = LEVELS.get(machine(), {})
    features = dict(binding.get_host_cpu_features())
    return tuple(
        level
        for level, needed in known.items()
        if (FOLDER / level).is_dir() and all(features.get(each) for each in needed)
    )


def file_name(module: str, kernel: str, signature: object) -> str:
    """Return the name of the file of a kernel that was compiled for a signature, whatever the level."""
    parts = (numba.__version__, llvmlite.__version__, sys.implementation.cache_tag, hash_sources(module))
    digest = hashlib.sha256(repr((*parts, signature)).encode()).hexdigest()
    return f"{module.removeprefix('holdfast.kernels.')}.{kernel}.{digest[:20]}.kernel"


def find_code(module: str, kernel: str, signature: object) -> Path | None:
    """Return the file of the best usable level; None if the kernel has to be compiled."""
    for level in usable_levels():
        path = FOLDER / level / file_name(module, kernel, signature)
        if path.is_file():
            return path
    return None


def has_shipped_code(module: str, kernel: str) -> bool:
    """True if the wheel has code of a kernel, of the present sources, that this processor can run."""
    if not usable_levels():
        return False
    from holdfast.kernels.signatures import recorded_signatures

    signatures = recorded_signatures().get(f"{module}.{kernel}", [])
    return any(find_code(module, kernel, signature) is not None for signature in signatures)


@cache
def hash_sources(module: str | None = None) -> str:
    """Return a digest of the sources of a module and of those that it imports; or of all."""
    seen: set[Path] = set()
    waiting = sorted(PACKAGE.rglob("*.py")) if module is None else [_path(module)]
    waiting += [PACKAGE / "_numba.py", PACKAGE / "jit.py"]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name, several, members in _IMPORT.findall(path.read_text(encoding="utf-8")):
            waiting.extend(_modules(name, several or members))
    digest = hashlib.sha256()
    for path in sorted(seen):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_text(encoding="utf-8").encode())  # line ends differ between systems
    return digest.hexdigest()


def _path(module: str) -> Path:
    return PACKAGE.joinpath(*module.removeprefix("holdfast.kernels.").split(".")).with_suffix(".py")


def _modules(name: str, members: str) -> list[Path]:
    """The files that `from holdfast.kernels.NAME import MEMBERS` reads: a module, or those of a folder."""
    path = PACKAGE.joinpath(*name.split("."))
    if path.is_dir():
        files = [path / f"{each.split(' as ')[0].strip()}.py" for each in members.split(",")]
        return [each for each in files if each.is_file()]
    return [path.with_suffix(".py")]
