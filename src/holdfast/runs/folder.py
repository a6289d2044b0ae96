"""The folder of a run, written in one step."""

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from shutil import rmtree

from holdfast._files import check_may_be_file, hold_lock, make_hidden_path, resolve_path, run_cleanup
from holdfast.errors import DataError

# The files of a run, which distinguish it from other folders.
FILES = frozenset(
    (
        *("model.json", "summary.json", "frontier.csv", "collections", "tree.svg", "importances.csv"),
        *("report.html", "report.json"),
        *("update.json", "path.json", "proposal.json", "diff.txt", "update.html"),
    )
)
FACTS = ("summary.json", "update.json")  # of a fit, or of an update
REQUIRED = tuple(("model.json", name) for name in FACTS)


def model_file(path: Path) -> Path:
    """The model of a run folder; any other path as it is.

    A folder that is missing because its process was killed while it changed two names is found, too.
    """
    there = unfinished(path)
    model = there / "model.json"
    return model if model.is_file() else there


def is_run(path: Path) -> bool:
    """True if the path is the folder of a fit or of an update."""
    there = unfinished(path)
    return any((there / name).is_file() for name in FACTS)


def unfinished(path: Path) -> Path:
    """Where the path is now if it is in a run, or is one, that waits for another to take its place."""
    for folder in (path, *path.parents):
        if folder.name and not os.path.lexists(folder):
            old = make_hidden_path(folder) / "old"
            if old.is_dir():
                return old / path.relative_to(folder)
    return path


def check_output(output: Path, *inputs: Path) -> None:
    """Raise a DataError if there is no place for the output, or it would replace what it is made from."""
    target = resolve_path(output)
    check_may_be_file(output)
    for path in inputs:
        if target in (resolve_path(path), resolve_path(model_file(path))):
            raise DataError(f"Cannot write to '{output}': it is what is read. Give another name.")
    if not target.parent.is_dir():
        raise DataError(f"Cannot write to '{output}': there is no folder '{output.parent}'. Make it first.")


def check_apart(folder: Path, *inputs: Path) -> None:
    """Raise a DataError if what is read lies in the folder that a run is written to, which is replaced."""
    target = resolve_path(folder)
    for path in inputs:
        if any(each.is_relative_to(target) for each in (resolve_path(path), resolve_path(model_file(path)))):
            raise DataError(
                f"Cannot write the run to '{folder}': '{path}' is in it, and is used. Give another folder."
            )


def check_place(folder: Path) -> None:
    """Raise a DataError unless a run can be written there: to a new folder, an empty one, an earlier run."""
    refusal = f"Cannot write the run to '{folder}'"
    target = resolve_path(folder)
    above = next(path for path in (target, *target.parents) if os.path.lexists(path))
    if not above.is_dir():
        what = "it" if above == target else f"'{above}'"
        raise DataError(f"{refusal}: {what} is a file. Give a folder.")
    if above == target:
        _check_content(target, refusal)
        above = target.parent  # where folders will be renamed
    if not os.access(above, os.W_OK | os.X_OK):
        raise DataError(f"{refusal}: nothing may be written to '{above}'. Give another folder.")


def _check_content(target: Path, refusal: str) -> None:
    if target == Path.cwd() or target.is_mount():
        raise DataError(
            f"{refusal}: the folder as a whole is replaced, and this one cannot be. "
            f"Give a folder in it, such as '{target / 'run'}'."
        )
    entries = {entry.name for entry in target.iterdir()}
    if entries and not any(entries.issuperset(names) for names in REQUIRED):
        raise DataError(
            f"{refusal}: it holds other things, such as '{min(entries)}', and is no earlier run of holdfast. "
            "Give a new folder, or an empty one."
        )


@contextmanager
def reserved(folder: Path) -> Iterator["Place"]:
    """Within it no other process can write a run there; a DataError names one that does.

    What an earlier process left unfinished, because it was killed, is cleaned up first.
    """
    check_place(folder)
    target = resolve_path(folder)
    made = make_parents(target)
    place = Place(folder, target, make_hidden_path(target))
    try:
        with hold_lock(place.work / "lock", f"Cannot write the run to '{folder}'"):
            try:
                place.clean_up()
                yield place
            finally:
                run_cleanup(place.clean_up)
    except OSError as error:
        place.rename_in(error)
        raise
    finally:
        run_cleanup(partial(remove_empty, (place.work, *made)))


@contextmanager
def new_run(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` at the end. See `Place.new_run`."""
    with reserved(folder) as place, place.new_run() as draft:
        yield draft


@dataclass(frozen=True)
class Place:
    """Where a run is written to, and a hidden folder beside it for all that is not finished.

    The hidden folder holds the lock; `new`, a run that is being written; `ready`, one that is complete;
    `old`, an earlier run that waits for it to take its place; and `gone`, what is being removed. Whoever is
    killed leaves some of these behind, from which the next process recovers.
    """

    folder: Path  # as the user calls it
    target: Path
    work: Path

    @contextmanager
    def new_run(self) -> Iterator[Path]:
        """An empty folder to fill, which takes the place of the target at the end, in one step.

        After a failure, Ctrl-C included, nothing of it is left, and an earlier run is intact. Files that
        others have put into that run stay in the folder.
        """
        draft = self.work / "new"
        try:
            draft.mkdir()
            yield draft
            self._put(draft.rename(self.work / "ready"))
        finally:
            self.clean_up()

    def clean_up(self) -> None:
        """Leave a whole run at the target, if there is any, and nothing else.

        Idempotent: it decides from the files present, so that it can run after a crash.
        """
        gone = self.work / "gone"
        rmtree(gone, ignore_errors=True)
        for former in (self.work / "old", self.work / "ready"):
            if former.is_dir() and not self.target.exists():
                former.rename(self.target)
            elif former.is_dir():
                _keep_foreign(former, self.target)
                former.rename(gone)
                rmtree(gone, ignore_errors=True)
        rmtree(self.work / "new", ignore_errors=True)

    def rename_in(self, error: OSError) -> None:
        """Let an error name the folder that the user knows."""
        name = error.filename
        if isinstance(name, str | os.PathLike) and Path(name).is_relative_to(self.work):
            parts = Path(name).relative_to(self.work).parts[1:]  # without `new`
            error.filename, error.filename2 = str(self.folder.joinpath(*parts)), None

    def _put(self, ready: Path) -> None:
        """Let the complete run take the place of the target; what stood there is left to `clean_up`."""
        if self.target.exists() and exchange(ready, self.target):
            return
        if self.target.exists():
            self.target.rename(self.work / "old")
        ready.rename(self.target)


def _keep_foreign(former: Path, target: Path) -> None:
    """Move the files that others have put into the former run to the new one."""
    for entry in former.iterdir():
        if entry.name not in FILES:
            names = chain([entry.name], (f"{entry.name}.{number}" for number in count(1)))
            entry.rename(next(target / name for name in names if not os.path.lexists(target / name)))


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove the folders that are empty, the innermost first."""
    for folder in folders:
        with suppress(OSError):  # unless there is something in it
            folder.rmdir()


def make_parents(target: Path) -> list[Path]:
    """Make the folders above the target, and return the new ones, the innermost first."""
    absent = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    return absent


# -- exchange of two folders in one step ------------------------------------------------------------------

_HERE = -100  # names are relative to the folder one stands in
_EXCHANGE = 2  # the same number in Linux and in macOS


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False if the system cannot."""
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        system = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(system.renamex_np(first, second, _EXCHANGE) == 0)
        return bool(system.renameat2(_HERE, first, _HERE, second, _EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):  # there is no such call
        return False
