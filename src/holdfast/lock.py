"""One process at a time: a lock by filelock, and beside it a file that names the process that holds it."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from holdfast.errors import DataError, HoldfastError
from holdfast.files import has_ended, process_start, run_cleanup


@contextmanager
def locked(
    lock: Path,
    refusal: str,
    *,
    way_out: str = "give another folder",
    seconds: float = 0.0,
    error_type: type[HoldfastError] = DataError,
) -> Iterator[None]:
    """Hold the lock within the block; an error, which begins with `refusal`, names another holder.

    A lock whose process has ended, however it ended, is free. For another holder it waits `seconds`.
    """
    held = FileLock(lock, timeout=seconds, poll_interval=0.01, thread_local=False)
    try:
        _acquire(held, lock)
        _sign(lock)
        yield
    except Timeout as timeout:
        if timeout.lock_file != str(lock):
            raise
        holder = lock_holder(lock)
        who = "another process writes to it"
        if holder is not None:
            who = f"process {holder.pid} on {holder.host} has been at it since {holder.since}"
        raise error_type(f"{refusal}: {who}. Wait for its end, or {way_out}.") from None
    finally:
        run_cleanup(partial(_release, held, lock))


def _acquire(held: FileLock, lock: Path) -> None:
    while True:
        lock.parent.mkdir(exist_ok=True)
        try:
            held.acquire()
        except FileNotFoundError:  # another process has ended just now, and removed the folder
            continue
        return


def _sign(lock: Path) -> None:
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
        "start": process_start(os.getpid()),
        "inode": lock.stat().st_ino,
    }
    try:
        with _holder_file(lock).open("w") as file:
            json.dump(holder, file)
    except OSError as error:
        error.filename = str(lock)
        raise


def _release(held: FileLock, lock: Path) -> None:
    if not held.is_locked:  # interrupted while it was acquired: the file may be there
        with suppress(Timeout, OSError):
            held.acquire(timeout=0)
    if held.is_locked:  # filelock acquires no lock whose file was removed meanwhile
        _holder_file(lock).unlink(missing_ok=True)
        if os.name != "nt":  # which removes no file that is open
            lock.unlink(missing_ok=True)
        held.release()
        if os.name == "nt":
            with suppress(OSError):
                lock.unlink(missing_ok=True)


def _holder_file(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.json")


@dataclass(frozen=True)
class LockHolder:
    """The process that a lock names."""

    pid: int
    host: str
    since: str
    is_there: bool | None  # None: of another machine nobody here can tell


def lock_holder(lock: Path) -> LockHolder | None:
    """Return the process that the lock names, which may have ended; None if it names none."""
    try:
        holder: Any = json.loads(_holder_file(lock).read_bytes())
        if holder["inode"] != lock.stat().st_ino:  # a copy, which its holder knows nothing of
            return None
        pid, host = int(holder["pid"]), str(holder["host"])
        is_here = host == socket.gethostname() and os.name != "nt"
        is_there = not has_ended(pid, holder["start"]) if is_here else None
        return LockHolder(pid, host, str(holder["since"]), is_there)
    except (OSError, ValueError, KeyError, TypeError):
        return None
