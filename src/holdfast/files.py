"""Files: written whole, or not at all. Every file that holdfast writes goes through here."""

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from typing import IO, Any, BinaryIO

from holdfast.errors import DataError, HoldfastError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_BLOCK = 2**24  # zeros written at a time


def replace_file(
    path: str | os.PathLike[str], data: bytes, error_type: type[HoldfastError] = DataError
) -> None:
    """Write the file at `path`, all or nothing: after a failure an older file there is intact.

    Where `path` is a folder or a device, an error of this type is raised. A process that is killed leaves a
    hidden file behind; the next one that writes to `path` removes it.
    """
    target = resolved(path, error_type)
    check_may_be_file(path, error_type)
    temporary = aside(target, f"-{token_hex(8)}.tmp")
    try:
        _remove_leftovers(target)
        _write(temporary, target, data)
    except BaseException as error:
        with suppress(OSError):
            to_the_end(partial(temporary.unlink, missing_ok=True))
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = os.fspath(path), None  # the name that the user knows
        raise


def append_to_file(path: Path, data: bytes) -> None:
    """Add the data at the end of the file, all or nothing; it is on the disk when this returns.

    Nobody else may write to the file meanwhile: see `lock.py`. After a failure the file is as it was.
    """
    is_new = not path.exists()
    with path.open("ab", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except BaseException as error:
            with suppress(OSError):
                to_the_end(partial(_as_it_was, path, size, is_new))
            if isinstance(error, OSError):
                error.filename = os.fspath(path)
            raise


def _as_it_was(path: Path, size: int, is_new: bool) -> None:
    os.truncate(path, size)
    if is_new:
        path.unlink(missing_ok=True)


def new_file(path: Path, head: bytes, n_zeros: int) -> None:
    """Write a new file of these bytes and so many zeros, whose space on the disk is taken already.

    Else a disk that is full would end the process that writes to a memory map of it.
    """
    with path.open("wb") as file:
        file.write(head)
        file.flush()
        if hasattr(os, "posix_fallocate") and n_zeros:
            os.posix_fallocate(file.fileno(), len(head), n_zeros)
            return
        for at in range(0, n_zeros, _BLOCK):
            file.write(bytes(min(_BLOCK, n_zeros - at)))


def check_may_be_file(path: str | os.PathLike[str], error_type: type[HoldfastError] = DataError) -> None:
    """Raise an error of this type if there is something that a file cannot replace."""
    target = resolved(path, error_type)
    if target.exists() and not target.is_file():
        raise error_type(f"Cannot write to '{os.fspath(path)}': it is a folder or a device, not a file.")


def check_is_file(path: Path) -> None:
    """Raise a DataError unless it is a file to read: a pipe can block, and a device can be endless."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise DataError("the name holds a NUL character.") from error
    if not stat.S_ISREG(mode):
        raise DataError("it is a folder, a pipe or a device, not a file. Copy its content to a file.")


def resolved(path: str | os.PathLike[str], error_type: type[HoldfastError] = DataError) -> Path:
    """The path without links; an error of this type if there is no such thing."""
    try:
        target = Path(path).resolve()
        is_loop = target.is_symlink()
    except ValueError as error:
        raise error_type(f"Cannot use {os.fspath(path)!r}: the name holds a NUL character.") from error
    except RuntimeError:  # until Python 3.12
        is_loop = True
    if is_loop:
        raise error_type(f"Cannot use '{os.fspath(path)}': the links there lead in a circle.")
    return target


def aside(target: Path, ending: str = "") -> Path:
    """A hidden name beside the target, the same for every process, however long the target's own name is."""
    return target.with_name(f".holdfast-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}{ending}")


def to_the_end(cleaning: Callable[[], None]) -> None:
    """Clean up, and begin again if Ctrl-C comes in between: what is left half-way is left for good."""
    try:
        cleaning()
    except KeyboardInterrupt:
        cleaning()
        raise


# -- files that a process holds ---------------------------------------------------------------------------


def hold(file: IO[Any]) -> bool:
    """Lock the open file until it is closed, or its process ends; False where there are no such locks.

    A BlockingIOError tells that another process holds it.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # some network drives
        return False
    return True


def is_at(file: IO[Any], path: Path) -> bool:
    """True if the open file is the one at the path: another process may have removed it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _write(temporary: Path, target: Path, data: bytes) -> None:
    """Fill the temporary file, which is held all the time, and give it the name of the target."""
    # Not by tempfile: its files are readable by their owner alone, and the file would stay so.
    with _new_held(temporary) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        if target.exists():
            copymode(target, temporary)
        if fcntl is not None:
            temporary.replace(target)
    if fcntl is None:  # Windows renames no file that is open
        temporary.replace(target)


def _new_held(path: Path) -> BinaryIO:
    while True:
        file = path.open("wb")
        hold(file)
        if is_at(file, path):  # and was not taken for a leftover before it was held
            return file
        file.close()


def _remove_leftovers(target: Path) -> None:
    """Remove the files that others have begun to write for the target and do not hold any more."""
    start = aside(target).name + "-"
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            if entry.name.startswith(start) and entry.name.endswith(".tmp"):
                _remove_unheld(Path(entry.path))


def _remove_unheld(path: Path) -> None:
    with suppress(OSError):
        if os.name == "nt":  # which removes no file that is open
            path.unlink()
            return
        with path.open("r+b") as file:
            if hold(file):
                path.unlink()
