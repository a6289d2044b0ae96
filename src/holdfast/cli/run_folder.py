"""The folder of a run: whole, or not there at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from shutil import rmtree

from holdfast.errors import DataError

# What a run consists of, and what tells it from a folder of someone else's.
OURS = frozenset(("model.json", "summary.json", "frontier.csv", "collections", "tree.svg", "importances.csv"))
MARKS = ("model.json", "summary.json")


def model_file(path: Path) -> Path:
    """The model of a run folder; any other path as it is."""
    model = path / "model.json"
    return model if model.is_file() else path


def check_output(output: Path, *inputs: Path) -> None:
    """Raise a DataError if there is no place for the output, or it would replace what it is made from."""
    target = output.resolve()
    for path in inputs:
        if target in (path.resolve(), model_file(path).resolve()):
            raise DataError(f"Cannot write to '{output}': it is what is read. Give another name.")
    if not target.parent.is_dir():
        raise DataError(f"Cannot write to '{output}': there is no folder '{output.parent}'. Make it first.")


def check_place(folder: Path) -> None:
    """Raise a DataError unless a run can be written there: to a new folder, an empty one, an earlier run."""
    refusal = f"Cannot write the run to '{folder}'"
    target = folder.resolve()
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
    if entries and not entries.issuperset(MARKS):
        raise DataError(
            f"{refusal}: it holds other things, such as '{min(entries)}', and is no earlier run of holdfast. "
            "Give a new folder, or an empty one."
        )


@contextmanager
def new_run(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes the place of `folder` at the end.

    After a failure, Ctrl-C included, nothing of it is left, and an earlier run is intact. Files that others
    have put into that run stay in the folder.
    """
    check_place(folder)
    target = folder.resolve()
    made = _made_parents(target)
    draft = target.with_name(f".holdfast-{token_hex(8)}.tmp")
    try:
        draft.mkdir()
        yield draft
        _put(draft, target)
    except BaseException:
        rmtree(draft, ignore_errors=True)
        for parent in made:
            parent.rmdir()
        raise


def _made_parents(target: Path) -> list[Path]:
    """The folders above that had to be made, the innermost first."""
    absent = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    return absent


def _put(draft: Path, target: Path) -> None:
    """Rename the draft to the target; what stood there is put aside until it is done."""
    if not target.exists():
        draft.rename(target)
        return
    former = draft.with_suffix(".old")
    target.rename(former)
    try:
        draft.rename(target)
    except BaseException:
        former.rename(target)
        raise
    for entry in former.iterdir():
        if entry.name not in OURS:
            entry.rename(target / entry.name)
    rmtree(former)
