"""The store: results of tasks in a SQLite file, each under the key of its task.

One process writes, in transactions of at most a second, so that one that is killed at any moment leaves a
whole file behind. What is read is checked: a result that is damaged is computed again.
"""

import errno
import hashlib
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple

from holdfast.errors import DataError, StoreWarning
from holdfast.io.task_keys import (
    BrokenContentError,
    Keys,
    NoContentError,
    NoKeyError,
    content_of,
    environment,
    result_in,
)

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


VERSION = 1
_OURS = 0x48464153  # "HFAS", the application id of the file
_BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite puts beside a file
_LEAST_FREE = 1 << 16  # bytes; with less, errors of input and output mean a full disk
_MOST_PAGES = 256  # of 4 KB: what waits beside the file takes room twice
_AT_ONCE = 500  # keys in one question
_TABLES = """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE lists (number INTEGER PRIMARY KEY, name TEXT NOT NULL, total INTEGER NOT NULL,
                        done INTEGER NOT NULL, kept INTEGER NOT NULL);
    CREATE TABLE results (key BLOB PRIMARY KEY, digest BLOB NOT NULL, content BLOB NOT NULL);
"""


class Stage(NamedTuple):
    """A list of tasks, as far as it was when something was last written."""

    name: str
    total: int
    done: int
    kept: int  # of those that are done: the others were not worth it


@dataclass(frozen=True)
class StoreContent:
    """What a store says of itself."""

    n_results: int
    stages: tuple[Stage, ...]  # in the order in which they began
    facts: dict[str, str]
    n_bytes: int

    @property
    def written(self) -> str:
        """When something was last written."""
        return self.facts.get("written", "")


class Database:
    """The tables of a store, open for the one process that writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self.n_results = _n_results(connection)

    @classmethod
    def opened(cls, path: Path, environment: bytes, about: Mapping[str, str]) -> "Database":
        """The file, made if it is not there.

        One that is damaged, or of another version of holdfast, is begun anew, and a StoreWarning says so. A
        DataError for one that is not ours.
        """
        with _errors(path):
            try:
                reason = _unusable(path, environment)
            except sqlite3.DatabaseError as error:
                if _is_full(path, error):
                    raise
                reason = f"is damaged ({error})"
            if reason:
                warnings.warn(
                    f"What was kept of a run that stopped {reason}: all is computed anew.",
                    StoreWarning,
                    stacklevel=2,
                )
                cls.remove(path)
            connection = _connected(path)
            with suppress(sqlite3.OperationalError):  # on drives that cannot have it
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_MOST_PAGES}")  # beside the file
            if not _has_tables(connection):
                _make(connection)
            own = cls(path, connection)
            own._begin({**about, "environment": environment.hex()})
            return own

    def _begin(self, facts: Mapping[str, str]) -> None:
        with self._connection as connection:
            connection.execute("DELETE FROM lists")
            _put_facts(connection, facts)

    def contents(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The contents that are there and whole, by their keys."""
        found: dict[bytes, bytes] = {}
        with _errors(self._path):
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._connection.execute(
                    f"SELECT key, digest, content FROM results WHERE key IN ({marks})", some
                )
                found |= {key: content for key, digest, content in rows if digest == digest_of(key, content)}
        return found

    def write(
        self, results: Mapping[bytes, bytes], lists: Sequence[TaskList], replaced: Sequence[bytes] = ()
    ) -> None:
        """Add the results, remove those replaced, and say how far the lists are, all or nothing."""
        rows = [(key, digest_of(key, content), content) for key, content in results.items()]
        far = [(each.number, each.name, each.total, each.done, each.kept) for each in lists]
        with _errors(self._path), self._connection as connection:
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", rows)
            connection.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in replaced])
            connection.executemany("INSERT OR REPLACE INTO lists VALUES (?, ?, ?, ?, ?)", far)
            _put_facts(connection, {"written": datetime.now().astimezone().isoformat(" ", "seconds")})
        self.n_results = _n_results(self._connection)

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):  # of a full disk: what SQLite puts beside the file holds all
            self._connection.close()

    @staticmethod
    def remove(path: Path) -> None:
        """Remove the file, and what SQLite has put beside it."""
        for ending in _BESIDE:
            Path(f"{path}{ending}").unlink(missing_ok=True)


def store_content(path: Path) -> StoreContent | None:
    """What the store says of itself, also while a process writes to it; None if it is damaged, or none."""
    try:
        with closing(_connected(path, only_read=True)) as connection:
            if _application(connection) != (_OURS, VERSION):
                return None
            n_results = _n_results(connection)
            stages = connection.execute("SELECT name, total, done, kept FROM lists ORDER BY number")
            facts = dict(connection.execute("SELECT name, value FROM facts"))
            return StoreContent(n_results, tuple(Stage(*row) for row in stages), facts, _n_bytes(path))
    except sqlite3.Error:
        return None


def digest_of(key: bytes, content: bytes) -> bytes:
    """What tells that the content is whole, and belongs to the key."""
    return hashlib.sha256(key + content).digest()


# -- the file ---------------------------------------------------------------------------------------------


def _connected(path: Path, *, only_read: bool = False) -> sqlite3.Connection:
    if only_read:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
    return sqlite3.connect(path, check_same_thread=False)


def _unusable(path: Path, environment: bytes) -> str:
    """Why nothing in the file can be used; empty if it can, or there is none. A DataError: it is not ours."""
    if not path.exists():
        return ""
    with closing(_connected(path)) as connection:
        tables = _has_tables(connection)
        application, version = _application(connection)
        if tables and application != _OURS:
            raise DataError(f"'{path}' is a database, and none of holdfast's. Move it, or give another name.")
        if not tables:
            return ""
        if version != VERSION:
            return f"has another form ({version}, and this holdfast writes {VERSION})"
        if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            return f"is damaged ({found})"
        known = connection.execute("SELECT value FROM facts WHERE name = 'environment'").fetchone()
        if known is None or known[0] != environment.hex():
            return "was computed by another version of holdfast or its libraries, or on another machine"
    return ""


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _n_results(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])


def _application(connection: sqlite3.Connection) -> tuple[int, int]:
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return application, version


def _make(connection: sqlite3.Connection) -> None:
    own = f"PRAGMA application_id = {_OURS}; PRAGMA user_version = {VERSION};"
    connection.executescript(f"BEGIN; {own} {_TABLES} COMMIT;")


def _put_facts(connection: sqlite3.Connection, facts: Mapping[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))


def _n_bytes(path: Path) -> int:
    sizes = 0
    for ending in _BESIDE:
        with suppress(OSError):
            sizes += Path(f"{path}{ending}").stat().st_size
    return sizes


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Within it, what SQLite says of a full disk becomes what the system says of one."""
    try:
        yield
    except sqlite3.Error as error:
        if _is_full(path, error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise DataError(
            f"Cannot write to '{path}': {error}. Remove it; what it keeps is computed anew."
        ) from error


def _is_full(path: Path, error: sqlite3.Error) -> bool:
    code: Any = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL:
        return True
    trouble = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
    return code & 0xFF in trouble and disk_usage(path.parent).free < _LEAST_FREE
