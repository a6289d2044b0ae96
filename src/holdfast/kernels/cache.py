"""Compiled kernels on disk: a file for every kernel, types of arguments and processor.

numba's own cache has an index of the files of a kernel, which several processes can overwrite for each other,
and it ends the program where it finds no place to write to or a file that is broken.
"""

import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Self

import numba
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.serialize import dumps

from holdfast.errors import CacheWarning
from holdfast.files import replace_file

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
        """Nothing: what is stale is written anew."""

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
