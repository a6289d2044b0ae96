"""The store: results of tasks in a SQLite file, each under the key of its task.

One process writes, in transactions of at most a second, so that one that is killed at any moment leaves a
whole file behind. What is read is checked: a result that is damaged is computed again.
"""

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.errors import DataError, StoreWarning
from holdfast.storage.tasks.content import BrokenContentError, NoContentError, content_of, result_in
from holdfast.storage.tasks.database import Database
from holdfast.storage.tasks.environment import environment
from holdfast.storage.tasks.keys import Keys, NoKeyError

LEAST_SECONDS = 0.002  # what takes less is not kept
MOST_SHARE = 0.25  # of the time that a result took: what it may take to turn it into bytes
PAUSE = 1.0  # seconds between two transactions
LONG = 0.1  # seconds of a task whose result is written at once


@dataclass
class TaskList:
    """How far a list of tasks is."""

    name: str
    total: int
    number: int = 0  # of the list
    done: int = 0  # tasks whose results are there, kept or not
    kept: int = 0


@dataclass
class _Pending:
    """What is not written yet."""

    results: dict[bytes, bytes] = field(default_factory=dict)  # contents, by their keys
    replaced: list[bytes] = field(default_factory=list)  # keys of results that nobody needs any more
    lists: dict[int, TaskList] = field(default_factory=dict)  # by their numbers
    since: float = 0.0  # when the last transaction ended


class TaskStore:
    """Results by the keys of their tasks. The file is made with the first result that is worth it."""

    def __init__(self, path: Path, about: dict[str, str] | None = None) -> None:
        self.path = path
        self._about = about or {}
        self._database: Database | None = None
        self._keys = Keys()
        self._pending = _Pending()
        self._n_lists = 0
        self._open: list[list[bytes]] = []  # of the pieces of work that lists are in: the keys of these
        self._is_off = False  # True where there is no room
        self._added: set[bytes] = set()  # keys of results of this process
        self._n_taken = 0  # results of earlier ones
        self._lock = threading.RLock()
        if path.exists():
            self._database = Database.opened(path, environment(), self._about)

    @property
    def n_kept(self) -> int:
        """How many results are on the disk."""
        return 0 if self._database is None else self._database.n_results

    @property
    def is_of_use(self) -> bool:
        """False if results were asked for, and none of those of an earlier process was among them."""
        return self._n_lists == 0 or self._n_taken > 0

    def tasks(self, name: str, task: Callable[[Any], Any], items: Sequence[Any]) -> "StoredTasks | None":
        """The list of these tasks; None if they have no keys."""
        with self._lock:
            try:
                keys = self._keys_of(task, items)
            except NoKeyError:
                return None
            self._n_lists += 1
            for within in self._open:
                within.extend(keys)
            return StoredTasks(self, TaskList(name, len(items), self._n_lists), keys)

    def _keys_of(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[bytes]:
        start = self._keys.key(environment(), task)
        return [self._keys.key(start, item) for item in items]

    def read(self, listed: TaskList, keys: Sequence[bytes]) -> dict[int, Any]:
        """The results that are there, by the places of their keys."""
        with self._lock:
            contents = {} if self._database is None else self._database.contents(keys)
            contents |= self._pending.results  # what waits to be written is there, too
            found: dict[int, Any] = {}
            for place, key in enumerate(keys):
                if key in contents:
                    try:
                        found[place] = result_in(contents[key])
                    except BrokenContentError:  # of somebody else's making: computed again
                        continue
            listed.done = listed.kept = len(found)
            self._n_taken += sum(keys[place] not in self._added for place in found)
            self._pending.lists[listed.number] = listed
            return found

    @contextmanager
    def replacing(self, keys: list[bytes]) -> Iterator[None]:
        """Within it, the keys of all lists that begin are collected."""
        self._open.append(keys)
        try:
            yield
        finally:
            self._open.remove(keys)

    def add(
        self, listed: TaskList, key: bytes, result: Any, seconds: float, replaced: Sequence[bytes]
    ) -> None:
        """Keep the result, if it is worth it, and write what waits if it is time."""
        with self._lock:
            listed.done += 1
            self._pending.lists[listed.number] = listed
            if (content := _worth_keeping(result, seconds)) is not None:
                listed.kept += 1
                self._pending.results[key] = content
                self._added.add(key)
                self._pending.replaced += replaced
            if seconds >= LONG or time.monotonic() - self._pending.since >= PAUSE:
                self.write()

    def write(self) -> None:
        """Write what waits, in one transaction."""
        with self._lock:
            pending = self._pending
            if self._database is not None:
                self._database.write(pending.results, list(pending.lists.values()), pending.replaced)
            elif pending.results:
                self._begin(pending)
            else:
                return
            self._pending = _Pending(since=time.monotonic())

    def _begin(self, pending: _Pending) -> None:
        """Make the file with the first results; where that cannot be done, nothing is kept."""
        if self._is_off:
            return
        try:
            database = Database.opened(self.path, environment(), self._about)
            database.write(pending.results, list(pending.lists.values()), pending.replaced)
        except (OSError, DataError) as error:
            self._is_off = True
            reason = str(error)
            if isinstance(error, OSError):  # of a full disk, which has room again for what was begun
                Database.remove(self.path)
                reason = f"{error.strerror}."
            warnings.warn(
                f"Results cannot be kept in '{self.path.parent.parent}': {reason} The work goes on; if it is "
                "stopped, it has to begin anew.",
                StoreWarning,
                stacklevel=2,
            )
        else:
            self._database = database

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def remove(self) -> None:
        """Remove the file: all that it was for is done."""
        self.close()
        Database.remove(self.path)


@dataclass(frozen=True)
class StoredTasks:
    """One list of tasks, and what the store knows of it."""

    store: TaskStore
    listed: TaskList
    keys: Sequence[bytes]
    replaced: list[bytes] = field(default_factory=list)  # keys of lists that the result stands for

    def known(self) -> dict[int, Any]:
        """The results that are there, by the places of their items."""
        return self.store.read(self.listed, self.keys)

    def add(self, place: int, result: Any, seconds: float) -> None:
        """Keep the result of the item at this place, which took so long."""
        self.store.add(self.listed, self.keys[place], result, seconds, self.replaced)

    def replacing(self) -> AbstractContextManager[None]:
        """Within it, what other lists keep is there only until this one has its result."""
        return self.store.replacing(self.replaced)


def _worth_keeping(result: Any, seconds: float) -> bytes | None:
    """The result as bytes; None if it cannot be kept, or is computed as fast as read."""
    if seconds < LEAST_SECONDS:
        return None
    start = time.perf_counter()
    try:
        content = content_of(result)
    except NoContentError:
        return None
    return content if time.perf_counter() - start <= MOST_SHARE * seconds else None
