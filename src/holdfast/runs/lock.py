"""One process at a time: a lock that names its holder, and ends with it."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from holdfast.errors import DataError
from holdfast.files import hold, is_at, to_the_end


@contextmanager
def locked(lock: Path, refusal: str) -> Iterator[None]:
    """Within it this process holds the lock; a DataError, which begins with `refusal`, names another holder.

    A lock whose process has ended, however it ended, is taken over.
    """
    file = _taken(lock, refusal)
    try:
        _sign(file, lock)
        yield
    finally:
        to_the_end(partial(_give_back, file, lock))


def _taken(lock: Path, refusal: str) -> BinaryIO:
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
            raise DataError(f"{refusal}: {_named(_holder(file))}.") from None
        if (is_held or is_new) and is_at(file, lock):
            return file
        holder = _holder(file)
        file.close()
        if not is_held:
            _remove_ended(lock, holder, refusal)


def _sign(file: BinaryIO, lock: Path) -> None:
    try:
        file.truncate(0)
        file.write(json.dumps(_this_process()).encode())
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


def _remove_ended(lock: Path, holder: dict[str, Any], refusal: str) -> None:
    """Where the system has no locks, and the file is all there is: remove it if its process has ended."""
    try:
        if _has_ended(holder):
            lock.unlink(missing_ok=True)
            return
    except PermissionError:  # of Windows: the process has it open
        pass
    raise DataError(f"{refusal}: {_named(holder)}. If that process has ended, remove '{lock}'.")


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


def _named(holder: dict[str, Any]) -> str:
    if not holder:
        return "another process writes to it. Wait for its end, or give another folder"
    return (
        f"process {holder.get('pid')} on {holder.get('host')} has been at it since {holder.get('since')}. "
        "Wait for its end, or give another folder"
    )


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
