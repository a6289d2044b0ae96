"""The status of a run: finished, running or stopped, with the results that are kept."""

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
from holdfast.runs.folder import REQUIRED, make_parents, remove_empty, unfinished

State = Literal["finished", "running", "stopped"]


@dataclass(frozen=True)
class RunStatus:
    """The status of a run, known without opening it."""

    path: Path
    finished: str | None  # when a finished run was written, or None
    holder: LockHolder | None  # the process that writes it, or did when it was killed
    kept: StoreContent | None  # results of an unfinished run
    store: Path  # their file

    @property
    def state(self) -> State:
        """Running, if a process works on it; else stopped, if results are kept; else finished."""
        if self.holder is not None and self.holder.is_running is not False:
            return "running"
        return "stopped" if self.kept is not None or self.finished is None else "finished"

    def to_dict(self) -> dict[str, Any]:
        """The status as plain data."""
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
    """Return how far a run is.

    Parameters
    ----------
    path : path
        The folder or the file that the run is written to.

    Returns
    -------
    RunStatus
        Its state, the results that are kept, its process, and the command that continues it.

    Raises
    ------
    DataError
        If there is no run, finished or not.
    """
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


# -- work that can be continued ---------------------------------------------------------------------------

STORE, LOCK = "tasks.sqlite", "tasks.lock"  # in the hidden folder beside what is written
_AGAIN = "the same command continues from there."
_MENDED = "once that is fixed, the command continues from there."
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def resumable(
    path: str | os.PathLike[str], *, restart: bool = False, command: str = ""
) -> Iterator[StoreContent | None]:
    """Keep the results of long work on disk, so that work that was stopped can be continued.

    If the work within the block is stopped, by Ctrl-C, a kill or a full disk, the same block continues it,
    and ends with the same bits. Results are used again only for the same data, settings and version of
    holdfast. They are removed when the block ends without an error.

    Parameters
    ----------
    path : path
        The folder or the file that the work writes in the end, within the block. Results are kept beside it.
    restart : bool
        Remove the results of work that was stopped first.
    command : str
        A command that continues the work, for `run_status`.

    Yields
    ------
    StoreContent or None
        The results of work that was stopped; None if there are none.

    Examples
    --------
    >>> import tempfile
    >>> from holdfast import TreeClassifier
    >>> with tempfile.TemporaryDirectory() as folder, resumable(f"{folder}/run"):
    ...     TreeClassifier().fit([[20.0], [70.0]], ["no", "yes"]).get_n_leaves()
    2
    """
    path = Path(path)
    target = resolve_path(path)
    made = make_parents(target)
    work = make_hidden_path(target)
    try:
        with ExitStack() as stack:
            with _rename_errors(work, path):
                refusal = f"Cannot work on '{path}'"
                stack.enter_context(hold_lock(work / LOCK, refusal, way_out="give another name"))
                if restart:
                    Database.remove(work / STORE)
                before = read_store(work / STORE) if (work / STORE).exists() else None
                store = TaskStore(work / STORE, {"command": command})
            n_before = store.n_kept
            with _keep_results(store, path):
                yield before if n_before else None
        if n_before and not store.is_of_use:
            were = "result that was kept is" if n_before == 1 else f"{n_before:,} results that were kept are"
            warnings.warn(f"The {were} of other data or settings, and not used.", StoreWarning, stacklevel=3)
    finally:
        run_cleanup(partial(remove_empty, (work, *made)))


@contextmanager
def _rename_errors(work: Path, path: Path) -> Iterator[None]:
    """Let errors of files in the hidden folder name the output instead."""
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
def _keep_results(store: TaskStore, path: Path) -> Iterator[None]:
    """Keep results in the store, and remove it if no error occurs."""
    try:
        with cache_results_in(store):
            yield
    except BaseException as error:
        n_kept = _close(store)
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


def _close(store: TaskStore) -> int:
    """Write pending results as far as there is room, close the store, and count its results."""
    with suppress(HoldfastError, OSError):
        run_cleanup(store.write)
    n_kept = store.n_kept
    if n_kept:
        store.close()
    else:
        store.remove()
    return n_kept


# -- text -------------------------------------------------------------------------------------------------

_STATES = {"finished": "finished", "running": "running", "stopped": "stopped before its end"}


def run_status_text(status: RunStatus) -> str:
    """Return the state and a line for each known detail."""
    head = f"{printable(str(status.path))}: {_STATES[status.state]}"
    lines = [f"  {name:9} {printable(text)}" for name, text in _lines(status)]
    return "\n".join([head, *lines])


def _lines(status: RunStatus) -> Iterator[tuple[str, str]]:
    if status.finished is not None:
        earlier = "" if status.state == "finished" else " by an earlier run, which stays until this run ends"
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
        yield "continue", _continue_text(status)


def _process(status: RunStatus) -> str:
    holder = status.holder
    assert holder is not None
    start = f"{holder.pid} on {holder.host}, since {holder.since}"
    if holder.is_running is None:
        return f"{start}; only that machine knows whether it still runs"
    return start if holder.is_running else f"{start}; it has ended"


def _continue_text(status: RunStatus) -> str:
    command = "" if status.kept is None else status.kept.facts.get("command", "")
    if not status.kept:
        return "nothing is kept: the same command starts again"
    return command or "run the same program again"


def size_text(n_bytes: int) -> str:
    """Format a size with its unit.

    >>> size_text(999), size_text(12_300_000)
    ('999 bytes', '12.3 MB')
    """
    if n_bytes < 1000:
        return pluralize(n_bytes, "byte")
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    raise AssertionError
