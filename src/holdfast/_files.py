"""Write files atomically, and lock them. Every file that holdfast writes goes through here."""

import hashlib
import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from typing import Any

from filelock import FileLock, Timeout

from holdfast.errors import DataError, HoldfastError

_BLOCK = 2**24  # zeros written at a time


def replace_file(
    path: str | os.PathLike[str], data: bytes, error_type: type[HoldfastError] = DataError
) -> None:
    """Write the file at `path` atomically: after a failure the old file is intact.

    A folder or a device at `path` raises an error of this type. A killed process leaves a hidden file behind,
    which the next process on this machine that writes to `path` removes.
    """
    target = resolve_path(path, error_type)
    check_may_be_file(path, error_type)
    temporary = make_hidden_path(target, f"-{_host()}-{os.getpid()}-{token_hex(4)}.tmp")
    try:
        _remove_leftovers(target)
        # Not by tempfile, whose files are readable by their owner only.
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            copymode(target, temporary)
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            run_cleanup(partial(temporary.unlink, missing_ok=True))
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = os.fspath(path), None  # the name the user gave
        raise


def _remove_leftovers(target: Path) -> None:
    """Remove the temporary files of ended processes of this machine."""
    start = f"{make_hidden_path(target).name}-{_host()}-"
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            if entry.name.startswith(start) and entry.name.endswith(".tmp"):
                pid = entry.name.removeprefix(start).partition("-")[0]
                # Windows does not remove open files.
                if os.name == "nt" or (pid.isdecimal() and has_ended(int(pid))):
                    os.unlink(entry.path)


def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def append_to_file(path: Path, data: bytes) -> None:
    """Append the data to the file, all or nothing, and flush it to the disk.

    The caller must hold a lock. After a failure the file is unchanged.
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
                run_cleanup(
                    partial(path.unlink, missing_ok=True) if is_new else partial(os.truncate, path, size)
                )
            if isinstance(error, OSError):
                error.filename = os.fspath(path)
            raise


def create_file(path: Path, head: bytes, n_zeros: int) -> None:
    """Write a new file of these bytes and `n_zeros` zeros, with its disk space allocated.

    Otherwise a full disk would kill the process that writes to a memory map of the file.
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
    """Raise an error of this type if `path` is a folder or a device."""
    target = resolve_path(path, error_type)
    if target.exists() and not target.is_file():
        raise error_type(f"Cannot write to '{os.fspath(path)}': it is a folder or a device, not a file.")


def check_is_file(path: Path) -> None:
    """Raise a DataError unless it is a regular file: a pipe can block, and a device can be endless."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise DataError("the name holds a NUL character.") from error
    if not stat.S_ISREG(mode):
        raise DataError("it is a folder, a pipe or a device, not a file. Copy its content to a file.")


def resolve_path(path: str | os.PathLike[str], error_type: type[HoldfastError] = DataError) -> Path:
    """Resolve the links of a path; raise an error of this type if that is impossible."""
    try:
        target = Path(path).resolve()
        is_loop = target.is_symlink()
    except ValueError as error:
        raise error_type(f"Cannot use {os.fspath(path)!r}: the name holds a NUL character.") from error
    except RuntimeError:  # until Python 3.12
        is_loop = True
    if is_loop:
        raise error_type(f"Cannot use '{os.fspath(path)}': its symbolic links form a loop.")
    return target


def make_hidden_path(target: Path, ending: str = "") -> Path:
    """Return a hidden path beside the target, the same for every process, of at most 100 characters."""
    return target.with_name(f".holdfast-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}{ending}")


def run_cleanup(cleanup: Callable[[], None]) -> None:
    """Run the cleanup; repeat it once if it is interrupted."""
    try:
        cleanup()
    except KeyboardInterrupt:
        cleanup()
        raise


# -- processes -----------------------------------------------------------------------------------------------


def has_ended(pid: int, start: str | None = None) -> bool:
    """Return True if the process has ended; `start` distinguishes a later process with the same number."""
    if pid <= 0:
        return True
    try:
        os.kill(pid, 0)  # not on Windows, where it would end the process
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # of another user
        return False
    return start is not None and start != get_process_start(pid)


def get_process_start(pid: int) -> str:
    """Return the start time of the process in clock ticks; empty if unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


# -- locks ---


@contextmanager
def hold_lock(
    lock: Path,
    refusal: str,
    *,
    way_out: str = "give another folder",
    seconds: float = 0.0,
    error_type: type[HoldfastError] = DataError,
) -> Iterator[None]:
    """Hold the lock within the block; wait up to `seconds` for it.

    If another process holds it, an error that begins with `refusal` names that process. The lock of an ended
    process is free.
    """
    held = FileLock(lock, timeout=seconds, poll_interval=0.01, thread_local=False)
    try:
        _acquire(held, lock)
        _write_holder(lock)
        yield
    except Timeout as timeout:
        if timeout.lock_file != str(lock):
            raise
        holder = read_lock_holder(lock)
        who = "another process writes to it"
        if holder is not None:
            who = f"process {holder.pid} on {holder.host} has used it since {holder.since}"
        raise error_type(f"{refusal}: {who}. Wait for its end, or {way_out}.") from None
    finally:
        run_cleanup(partial(_release, held, lock))


def _acquire(held: FileLock, lock: Path) -> None:
    while True:
        lock.parent.mkdir(exist_ok=True)
        try:
            held.acquire()
        except FileNotFoundError:  # another process has just removed the folder
            continue
        return


def _write_holder(lock: Path) -> None:
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
        "start": get_process_start(os.getpid()),
        "inode": lock.stat().st_ino,
    }
    try:
        with _holder_path(lock).open("w") as file:
            json.dump(holder, file)
    except OSError as error:
        error.filename = str(lock)
        raise


def _release(held: FileLock, lock: Path) -> None:
    if not held.is_locked:  # interrupted while it was acquired: the file may be there
        with suppress(Timeout, OSError):
            held.acquire(timeout=0)
    if held.is_locked:  # filelock acquires no lock whose file was removed meanwhile
        _holder_path(lock).unlink(missing_ok=True)
        if os.name != "nt":  # which does not remove open files
            lock.unlink(missing_ok=True)
        held.release()
        if os.name == "nt":
            with suppress(OSError):
                lock.unlink(missing_ok=True)


def _holder_path(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.json")


@dataclass(frozen=True)
class LockHolder:
    """The process that a lock names."""

    pid: int
    host: str
    since: str
    is_running: bool | None  # None: unknown, on another machine


def read_lock_holder(lock: Path) -> LockHolder | None:
    """Return the process that the lock names, which may have ended; None if it names none."""
    try:
        holder: Any = json.loads(_holder_path(lock).read_bytes())
        if holder["inode"] != lock.stat().st_ino:  # a copy of the file
            return None
        pid, host = int(holder["pid"]), str(holder["host"])
        is_here = host == socket.gethostname() and os.name != "nt"
        is_running = not has_ended(pid, holder["start"]) if is_here else None
        return LockHolder(pid, host, str(holder["since"]), is_running)
    except (OSError, ValueError, KeyError, TypeError):
        return None
