"""Work that can be stopped at any moment, and goes on where it was when it is done again."""

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from holdfast.backends.kept import cache_results_in
from holdfast.errors import FullDiskError, HoldfastError, StoreWarning
from holdfast.files import aside, resolved, run_cleanup
from holdfast.lock import locked
from holdfast.runs.folder import made_parents, remove_empty
from holdfast.storage.tasks.store import Database, StoreContent, TaskStore, store_content
from holdfast.text.numbers import counted

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
    target = resolved(path)
    made = made_parents(target)
    work = aside(target)
    try:
        with ExitStack() as stack:
            with _named(work, path):
                refusal = f"Cannot work on '{path}'"
                stack.enter_context(locked(work / LOCK, refusal, way_out="give another name"))
                if restart:
                    Database.remove(work / STORE)
                before = store_content(work / STORE) if (work / STORE).exists() else None
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
            kept = f"{counted(n_kept, 'result')} {'is' if n_kept == 1 else 'are'} kept"
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
