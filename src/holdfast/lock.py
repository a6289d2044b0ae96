"""One process at a time: a lock that names its holder, and ends with it."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from holdfast.errors import DataError, HoldfastError
from holdfast.files import hold, is_at, to_the_end

POLL = 0.01  # seconds between two looks at a lock that another process holds


@contextmanager
def locked(
    lock: Path,
    refusal: str,
    *,
    way_out: str = "give another folder",
    seconds: float = 0.0,
    error_type: type[HoldfastError] = DataError,
) -> Iterator[None]:
    """Within it this process holds the lock; an error, which begins with `refusal`, names another holder.

    A lock whose process has ended, however it ended, is taken over. For a holder that is there it waits so
    many `seconds`.
    """
    file = _waited_for(lock, time.monotonic() + seconds, _Refusal(refusal, way_out, error_type))
    try:
        _sign(file, lock)
        yield
    finally:
        to_the_end(partial(_give_back, file, lock))


@dataclass(frozen=True)
class _Refusal:
    """What is said where another process holds the lock."""

    start: str
    way_out: str
    error_type: type[HoldfastError]

    def error(self, holder: dict[str, Any], more: str = "") -> HoldfastError:
        """The error that names the holder."""
        who = "another process writes to it"
        if holder:
            since = f"has been at it since {holder.get('since')}"
            who = f"process {holder.get('pid')} on {holder.get('host')} {since}"
        return self.error_type(f"{self.start}: {who}. Wait for its end, or {self.way_out}.{more}")


@dataclass(frozen=True)
class LockHolder:
    """The process that a lock names."""

    pid: int
    host: str
    since: str
    is_there: bool | None  # None: of another machine nobody here can tell


def lock_holder(lock: Path) -> LockHolder | None:
    """The process that the lock names, which may have ended; None if there is no lock, or it names none.

    Nothing is locked by it: whoever wants the lock meanwhile gets it.
    """
    try:
        with lock.open("rb") as file:
            named, inode = _holder(file), os.fstat(file.fileno()).st_ino
    except OSError:
        return None
    if named.get("inode", inode) != inode:  # a copy of the lock, which its holder knows nothing of
        return None
    pid, host = named.get("pid"), named.get("host")
    if not isinstance(pid, int) or not isinstance(host, str):
        return None
    is_here = host == socket.gethostname() and os.name != "nt"
    return LockHolder(pid, host, str(named.get("since")), not _has_ended(named) if is_here else None)


class _HeldError(Exception):
    """Another process holds the lock; the argument is the error that says so."""


def _waited_for(lock: Path, deadline: float, refusal: _Refusal) -> BinaryIO:
    """The lock as an open file, which is ours by the deadline."""
    while True:
        try:
            return _taken(lock, refusal)
        except _HeldError as held:
            if time.monotonic() >= deadline:
                raise held.args[0] from None
        time.sleep(POLL)


def _taken(lock: Path, refusal: _Refusal) -> BinaryIO:
    """The lock as an open file, which is ours."""
    while True:
        lock.parent.mkdir(exist_ok=True)
        try:
            is_new, file = _opened(lock)
        except FileNotFoundError:  # another process has ended just now, and removed it
            continue
        try:
            is_held = hold(file)
        except BlockingIOError:
            with file:
                raise _HeldError(refusal.error(_holder(file))) from None
        if (is_held or is_new) and is_at(file, lock):
            return file
        holder = _holder(file)
        file.close()
        if not is_held:
            _remove_ended(lock, holder, refusal)


def _sign(file: BinaryIO, lock: Path) -> None:
    try:
        file.truncate(0)
        inode = os.fstat(file.fileno()).st_ino
        file.write(json.dumps({**_this_process(), "inode": inode}).encode())
        file.flush()
    except OSError as error:
        error.filename = str(lock)
        raise


def _give_back(file: BinaryIO, lock: Path) -> None:
    if os.name == "nt":  # which removes no file that is open
        file.close()
    if file.closed or is_at(file, lock):
        lock.unlink(missing_ok=True)
    with suppress(OSError):  # of a full disk, once more
        file.close()


def _opened(lock: Path) -> tuple[bool, BinaryIO]:
    """True if the file was not there, and the file."""
    try:
        return True, cast(BinaryIO, lock.open("x+b"))
    except FileExistsError:
        return False, cast(BinaryIO, lock.open("r+b"))


def _remove_ended(lock: Path, holder: dict[str, Any], refusal: _Refusal) -> None:
    """Where the system has no locks, and the file is all there is: remove it if its process has ended."""
    try:
        if _has_ended(holder):
            lock.unlink(missing_ok=True)
            return
    except PermissionError:  # of Windows: the process has it open
        pass
    raise _HeldError(refusal.error(holder, f" If that process has ended, remove '{lock}'."))


# -- processes --------------------------------------------------------------------------------------------


def _this_process() -> dict[str, Any]:
    now = datetime.now().astimezone()
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": now.isoformat(" ", "seconds"),
        "start": _start(os.getpid()),
    }


def _holder(file: BinaryIO) -> dict[str, Any]:
    """What the lock says of its process; empty if it says nothing yet."""
    file.seek(0)
    try:
        holder = json.loads(file.read(4096))
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _has_ended(holder: dict[str, Any]) -> bool:
    """True if the process is known to have ended: of another machine nobody here can tell."""
    pid = holder.get("pid")
    if holder.get("host") != socket.gethostname() or not isinstance(pid, int) or pid <= 0:
        return False
    if os.name == "nt":  # where a signal of 0 would end it; trying to remove the file will tell
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's, and so there
        return False
    return holder.get("start") != _start(pid)


def _start(pid: int) -> str:
    """When the process began, in the system's own count: numbers of processes are used again."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
