"""How far a run is: finished, under way, or stopped, and what is kept of it."""

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from holdfast._files import (
    LockHolder,
    hold_lock,
    make_hidden_path,
    read_lock_holder,
    resolve_path,
    run_cleanup,
)
from holdfast._text import pluralize, printable
from holdfast.errors import DataError, FullDiskError, HoldfastError, StoreWarning
from holdfast.io.task_store import Database, StoreContent, TaskStore, read_store
from holdfast.parallel.tasks import cache_results_in
from holdfast.runs.folder import REQUIRED, made_parents, remove_empty, unfinished

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
        if self.holder is not None and self.holder.is_running is not False:
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
        return run_status_text(self)


def run_status(path: str | os.PathLike[str]) -> RunStatus:
    """How far the run is that is written to this folder or file; a DataError if nothing is known of one."""
    path = Path(path)
    work = make_hidden_path(resolve_path(path))
    holder = next(filter(None, map(read_lock_holder, (work / LOCK, work / "lock"))), None)
    store = work / STORE
    status = RunStatus(path, _finished(path), holder, read_store(store) if store.exists() else None, store)
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


# -- Work that can be stopped at any moment, and goes on where it was when it is done again ------------------

STORE, LOCK = "tasks.sqlite", "tasks.lock"  # in the hidden folder beside what is written
_AGAIN = "the same command goes on from there."
_MENDED = "once that is mended, the command goes on from there."
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def resumable(
    path: str | os.PathLike[str], *, restart: bool = False, command: str = ""
) -> Iterator[StoreContent | None]:
    """Within it, the results of long work are kept beside `path` as they come.

    Work that stops, by Ctrl-C, a kill or a full disk, is done again in another such block: it goes on where
    it was, and ends with the same bits. What is kept belongs to the data, the settings and the version of
    holdfast that it came from, and is used for nothing else. When the block ends well it is removed. `path`
    is the folder or the file that will be written in the end: write it within the block. What comes in is
    what is known of work that stopped there, None if there was none; `restart` removes it first.

    >>> import tempfile
    >>> from holdfast import TreeClassifier
    >>> with tempfile.TemporaryDirectory() as folder, resumable(f"{folder}/run"):
    ...     TreeClassifier().fit([[20.0], [70.0]], ["no", "yes"]).get_n_leaves()
    2
    """
    path = Path(path)
    target = resolve_path(path)
    made = made_parents(target)
    work = make_hidden_path(target)
    try:
        with ExitStack() as stack:
            with _named(work, path):
                refusal = f"Cannot work on '{path}'"
                stack.enter_context(hold_lock(work / LOCK, refusal, way_out="give another name"))
                if restart:
                    Database.remove(work / STORE)
                before = read_store(work / STORE) if (work / STORE).exists() else None
                store = TaskStore(work / STORE, {"command": command})
            n_before = store.n_kept
            with _kept(store, path):
                yield before if n_before else None
        if n_before and not store.is_of_use:
            were = "result that was kept is" if n_before == 1 else f"{n_before:,} results that were kept are"
            warnings.warn(f"The {were} of other data or settings: none was used.", StoreWarning, stacklevel=3)
    finally:
        run_cleanup(partial(remove_empty, (work, *made)))


@contextmanager
def _named(work: Path, path: Path) -> Iterator[None]:
    """Within it, errors of files in the hidden folder speak of the output, which the user knows."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise FullDiskError(
                f"The disk of '{path}' is full: make room, or write to another place."
            ) from error
        if error.filename is not None and Path(error.filename).is_relative_to(work):
            error.filename, error.filename2 = os.fspath(path), None
        raise


@contextmanager
def _kept(store: TaskStore, path: Path) -> Iterator[None]:
    """Within it, results are kept in the store, which is removed if it ends well."""
    try:
        with cache_results_in(store):
            yield
    except BaseException as error:
        n_kept = _let_go(store)
        if isinstance(error, OSError) and error.filename == os.fspath(store.path):
            error.filename = os.fspath(path)  # the name that the user knows
        if n_kept:
            kept = f"{pluralize(n_kept, 'result')} {'is' if n_kept == 1 else 'are'} kept"
            if isinstance(error, OSError) and error.errno in _FULL and error.filename is not None:
                raise FullDiskError(
                    f"The disk of '{path}' is full. {kept}: make room, and {_AGAIN}"
                ) from error
            error.add_note(f"{kept}: {_MENDED if isinstance(error, HoldfastError) else _AGAIN}")
        raise
    else:
        store.remove()


def _let_go(store: TaskStore) -> int:
    """Write what waits, as far as there is room, and close the store; the number of results in it."""
    with suppress(HoldfastError, OSError):
        run_cleanup(store.write)
    n_kept = store.n_kept
    if n_kept:
        store.close()
    else:
        store.remove()
    return n_kept


# -- How far a run is, in lines ------------------------------------------------------------------------------

_STATES = {"finished": "finished", "running": "under way", "stopped": "stopped before its end"}


def run_status_text(status: RunStatus) -> str:
    """What became of the run, and a line for each thing that is known."""
    head = f"{printable(str(status.path))}: {_STATES[status.state]}"
    lines = [f"  {name:9} {printable(text)}" for name, text in _lines(status)]
    return "\n".join([head, *lines])


def _lines(status: RunStatus) -> Iterator[tuple[str, str]]:
    if status.finished is not None:
        earlier = "" if status.state == "finished" else " by an earlier run, which stays until this one ends"
        yield "written", f"{status.finished}{earlier}"
    if (kept := status.kept) is not None:
        if kept.stages:
            last = kept.stages[-1]
            yield "stage", f"{len(kept.stages)}, {last.name.lower()}: {last.done:,} of {last.total:,} tasks"
        yield "kept", f"{pluralize(kept.n_results, 'result')}, {size_text(kept.n_bytes)}"
        yield "last kept", kept.written
    if status.holder is not None:
        yield "process", _process(status)
    if status.state == "stopped":
        yield "go on", _way_on(status)


def _process(status: RunStatus) -> str:
    holder = status.holder
    assert holder is not None
    start = f"{holder.pid} on {holder.host}, since {holder.since}"
    if holder.is_running is None:
        return f"{start}; whether it is still there, only that machine can tell"
    return start if holder.is_running else f"{start}; it has ended"


def _way_on(status: RunStatus) -> str:
    command = "" if status.kept is None else status.kept.facts.get("command", "")
    if not status.kept:
        return "nothing is kept: the same command begins anew"
    return command or "run the same program again"


def size_text(n_bytes: int) -> str:
    """A size as people say it.

    >>> size_text(999), size_text(12_300_000)
    ('999 bytes', '12.3 MB')
    """
    if n_bytes < 1000:
        return pluralize(n_bytes, "byte")
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    raise AssertionError
