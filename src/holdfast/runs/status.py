"""How far a run is: finished, under way, or stopped, and what is kept of it."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from holdfast.errors import DataError
from holdfast.files import aside, resolved
from holdfast.lock import LockHolder, lock_holder
from holdfast.runs.folder import REQUIRED, unfinished
from holdfast.runs.resumable import LOCK, STORE
from holdfast.shown import shown
from holdfast.storage.tasks.store import StoreContent, store_content

State = Literal["finished", "running", "stopped"]


@dataclass(frozen=True)
class RunStatus:
    """What is known of a run without opening it."""

    path: Path
    finished: str | None  # when a finished run was written there; None if there is none
    holder: LockHolder | None  # the process that works on it, or did when it was killed
    kept: StoreContent | None  # what there is of one that is not finished
    store: Path  # where that is

    @property
    def state(self) -> State:
        """Under way, if a process is at it; or else stopped, if something is kept; or else finished."""
        if self.holder is not None and self.holder.is_there is not False:
            return "running"
        return "stopped" if self.kept is not None or self.finished is None else "finished"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        kept = self.kept
        return {
            "path": os.fspath(self.path),
            "state": self.state,
            "finished": self.finished,
            "process": None if self.holder is None else asdict(self.holder),
            "stages": [] if kept is None else [stage._asdict() for stage in kept.stages],
            "kept": 0 if kept is None else kept.n_results,
            "bytes": 0 if kept is None else kept.n_bytes,
            "written": None if kept is None else kept.written,
            "command": None if kept is None else kept.facts.get("command") or None,
            "store": None if kept is None else os.fspath(self.store),
        }

    def __str__(self) -> str:
        return shown("run_status_text", self)


def run_status(path: str | os.PathLike[str]) -> RunStatus:
    """How far the run is that is written to this folder or file; a DataError if nothing is known of one."""
    path = Path(path)
    work = aside(resolved(path))
    holder = next(filter(None, map(lock_holder, (work / LOCK, work / "lock"))), None)
    store = work / STORE
    status = RunStatus(path, _finished(path), holder, store_content(store) if store.exists() else None, store)
    if status.finished is None and status.kept is None and holder is None:
        raise DataError(
            f"There is no run at '{path}', finished or not. Give the folder or the file that one writes to."
        )
    return status


def _finished(path: Path) -> str | None:
    """When the run, or the file, was written."""
    for file in _last_files(unfinished(path)):
        if file.is_file():
            return datetime.fromtimestamp(file.stat().st_mtime).astimezone().isoformat(" ", "seconds")
    return None


def _last_files(path: Path) -> Iterator[Path]:
    yield path
    yield from (path / names[-1] for names in REQUIRED)
