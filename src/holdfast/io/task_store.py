"""The store: results of tasks in a SQLite file, by the keys of the tasks.

One process writes, in transactions, so that the file is sound whenever the process is killed. Results are
checked when they are read: a damaged one is computed again.
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
    BrokenResultError,
    TaskKeys,
    UnhashableTaskError,
    UnstorableResultError,
    decode_result,
    encode_result,
    environment,
)

LEAST_SECONDS = 0.002  # results of faster tasks are not kept
MOST_SHARE = 0.25  # of the time of a task that encoding its result may take
PAUSE = 1.0  # seconds between two transactions
LONG = 0.1  # results of tasks that take this many seconds are written at once


@dataclass
class TaskList:
    """Progress of a list of tasks."""

    name: str
    total: int
    number: int = 0  # of the list
    done: int = 0  # tasks with a result, kept or not
    kept: int = 0


@dataclass
class _Pending:
    """Results and progress that are not written yet."""

    results: dict[bytes, bytes] = field(default_factory=dict)  # contents, by their keys
    replaced: list[bytes] = field(default_factory=list)  # keys of results that are no longer needed
    lists: dict[int, TaskList] = field(default_factory=dict)  # by their numbers
    since: float = 0.0  # when the last transaction ended


class TaskStore:
    """Results by the keys of their tasks. The file is made with the first result worth keeping."""

    def __init__(self, path: Path, about: dict[str, str] | None = None) -> None:
        self.path = path
        self._about = about or {}
        self._database: Database | None = None
        self._keys = TaskKeys()
        self._pending = _Pending()
        self._n_lists = 0
        self._open: list[list[bytes]] = []  # per enclosing task the keys of the lists within it
        self._is_off = False  # True where the file cannot be written
        self._added: set[bytes] = set()  # keys of results of this process
        self._n_reused = 0  # results of earlier processes
        self._lock = threading.RLock()
        if path.exists():
            self._database = Database.open(path, environment(), self._about)

    @property
    def n_kept(self) -> int:
        """Number of results in the file."""
        return 0 if self._database is None else self._database.n_results

    @property
    def is_of_use(self) -> bool:
        """False if there were lists of tasks, and no result of an earlier process was reused."""
        return self._n_lists == 0 or self._n_reused > 0

    def tasks(self, name: str, task: Callable[[Any], Any], items: Sequence[Any]) -> "StoredTasks | None":
        """Make the list of these tasks; None if they have no keys."""
        with self._lock:
            try:
                start = self._keys.key(environment(), task)
                keys = [self._keys.key(start, item) for item in items]
            except UnhashableTaskError:
                return None
            self._n_lists += 1
            for within in self._open:
                within.extend(keys)
            return StoredTasks(self, TaskList(name, len(items), self._n_lists), keys)

    def read(self, listed: TaskList, keys: Sequence[bytes]) -> dict[int, Any]:
        """Read the results that exist, by the positions of their keys."""
        with self._lock:
            contents = {} if self._database is None else self._database.contents(keys)
            contents |= self._pending.results
            found: dict[int, Any] = {}
            for place, key in enumerate(keys):
                if key in contents:
                    try:
                        found[place] = decode_result(contents[key])
                    except BrokenResultError:
                        continue
            listed.done = listed.kept = len(found)
            self._n_reused += sum(keys[place] not in self._added for place in found)
            self._pending.lists[listed.number] = listed
            return found

    @contextmanager
    def replacing(self, keys: list[bytes]) -> Iterator[None]:
        """Collect the keys of all lists that begin within it."""
        self._open.append(keys)
        try:
            yield
        finally:
            self._open.remove(keys)

    def add(
        self, listed: TaskList, key: bytes, result: Any, seconds: float, replaced: Sequence[bytes]
    ) -> None:
        """Keep the result if it is worth it, and write pending results if it is time."""
        with self._lock:
            listed.done += 1
            self._pending.lists[listed.number] = listed
            if (content := _encode_if_slow(result, seconds)) is not None:
                listed.kept += 1
                self._pending.results[key] = content
                self._added.add(key)
                self._pending.replaced += replaced
            if seconds >= LONG or time.monotonic() - self._pending.since >= PAUSE:
                self.write()

    def write(self) -> None:
        """Write pending results in one transaction."""
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
        """Make the file with the first results; nothing is kept if that fails."""
        if self._is_off:
            return
        try:
            database = Database.open(self.path, environment(), self._about)
            database.write(pending.results, list(pending.lists.values()), pending.replaced)
        except (OSError, DataError) as error:
            self._is_off = True
            reason = str(error)
            if isinstance(error, OSError):  # of a full disk, which has room again for what was begun
                Database.remove(self.path)
                reason = f"{error.strerror}."
            warnings.warn(
                f"Results cannot be kept in '{self.path.parent.parent}': {reason} The work goes on; if it is "
                "stopped, it starts from the beginning.",
                StoreWarning,
                stacklevel=2,
            )
        else:
            self._database = database

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def remove(self) -> None:
        """Remove the file."""
        self.close()
        Database.remove(self.path)


@dataclass(frozen=True)
class StoredTasks:
    """One list of tasks in a store."""

    store: TaskStore
    listed: TaskList
    keys: Sequence[bytes]
    replaced: list[bytes] = field(default_factory=list)  # keys of results that this one makes unnecessary

    def known(self) -> dict[int, Any]:
        """Read the results that exist, by the positions of their items."""
        return self.store.read(self.listed, self.keys)

    def add(self, place: int, result: Any, seconds: float) -> None:
        """Keep the result of an item, which took this many seconds."""
        self.store.add(self.listed, self.keys[place], result, seconds, self.replaced)

    def replacing(self) -> AbstractContextManager[None]:
        """Remove the results of lists that begin within it once this list has its result."""
        return self.store.replacing(self.replaced)


def _encode_if_slow(result: Any, seconds: float) -> bytes | None:
    """Encode the result; None if it cannot be stored, or computing it is as fast."""
    if seconds < LEAST_SECONDS:
        return None
    start = time.perf_counter()
    try:
        content = encode_result(result)
    except UnstorableResultError:
        return None
    return content if time.perf_counter() - start <= MOST_SHARE * seconds else None


VERSION = 1
_APPLICATION = 0x48464153  # "HFAS", the application id of the file
_SUFFIXES = ("", "-wal", "-shm", "-journal")  # of the file and those that SQLite puts beside it
_LEAST_FREE = 1 << 16  # bytes; with less, errors of input and output mean a full disk
_MOST_PAGES = 256  # of 4 KB in the write-ahead log
_AT_ONCE = 500  # keys in one query
_TABLES = """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE lists (number INTEGER PRIMARY KEY, name TEXT NOT NULL, total INTEGER NOT NULL,
                        done INTEGER NOT NULL, kept INTEGER NOT NULL);
    CREATE TABLE results (key BLOB PRIMARY KEY, digest BLOB NOT NULL, content BLOB NOT NULL);
"""


class StoredList(NamedTuple):
    """Progress of a list of tasks at the last write."""

    name: str
    total: int
    done: int
    kept: int  # of the tasks that are done


@dataclass(frozen=True)
class StoreContent:
    """Content of a store."""

    n_results: int
    stages: tuple[StoredList, ...]  # in the order in which they began
    facts: dict[str, str]
    n_bytes: int

    @property
    def written(self) -> str:
        """Time of the last write."""
        return self.facts.get("written", "")


class Database:
    """The tables of a store, open for the one process that writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self.n_results = _count_results(connection)

    @classmethod
    def open(cls, path: Path, environment: bytes, about: Mapping[str, str]) -> "Database":
        """Open the file, or make it.

        A damaged file, or one of another version of holdfast, is replaced with a StoreWarning. A DataError
        for a database of another program.
        """
        with _errors(path):
            try:
                reason = _explain_unusable(path, environment)
            except sqlite3.DatabaseError as error:
                if _is_full(path, error):
                    raise
                reason = f"is damaged ({error})"
            if reason:
                warnings.warn(
                    f"The stored results of a stopped run cannot be used: the file {reason}. "
                    "All is computed again.",
                    StoreWarning,
                    stacklevel=2,
                )
                cls.remove(path)
            connection = _connect(path)
            with suppress(sqlite3.OperationalError):  # on drives that cannot have it
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_MOST_PAGES}")  # beside the file
            if not _has_tables(connection):
                _make_tables(connection)
            own = cls(path, connection)
            own._begin({**about, "environment": environment.hex()})
            return own

    def _begin(self, facts: Mapping[str, str]) -> None:
        with self._connection as connection:
            connection.execute("DELETE FROM lists")
            _put_facts(connection, facts)

    def contents(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Read the contents that exist and are intact, by their keys."""
        found: dict[bytes, bytes] = {}
        with _errors(self._path):
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._connection.execute(
                    f"SELECT key, digest, content FROM results WHERE key IN ({marks})", some
                )
                found |= {
                    key: content for key, digest, content in rows if digest == compute_digest(key, content)
                }
        return found

    def write(
        self, results: Mapping[bytes, bytes], lists: Sequence[TaskList], replaced: Sequence[bytes] = ()
    ) -> None:
        """Add results, remove replaced ones and record the progress of lists, all or nothing."""
        rows = [(key, compute_digest(key, content), content) for key, content in results.items()]
        progress = [(each.number, each.name, each.total, each.done, each.kept) for each in lists]
        with _errors(self._path), self._connection as connection:
            connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", rows)
            connection.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in replaced])
            connection.executemany("INSERT OR REPLACE INTO lists VALUES (?, ?, ?, ?, ?)", progress)
            _put_facts(connection, {"written": datetime.now().astimezone().isoformat(" ", "seconds")})
        self.n_results = _count_results(self._connection)

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):  # of a full disk: the write-ahead log holds everything
            self._connection.close()

    @staticmethod
    def remove(path: Path) -> None:
        """Remove the file and those that SQLite has put beside it."""
        for ending in _SUFFIXES:
            Path(f"{path}{ending}").unlink(missing_ok=True)


def read_store(path: Path) -> StoreContent | None:
    """Read the content of a store, also while a process writes to it; None if it is damaged or no store."""
    try:
        with closing(_connect(path, only_read=True)) as connection:
            if _read_application(connection) != (_APPLICATION, VERSION):
                return None
            n_results = _count_results(connection)
            stages = connection.execute("SELECT name, total, done, kept FROM lists ORDER BY number")
            facts = dict(connection.execute("SELECT name, value FROM facts"))
            return StoreContent(
                n_results, tuple(StoredList(*row) for row in stages), facts, _count_bytes(path)
            )
    except sqlite3.Error:
        return None


def compute_digest(key: bytes, content: bytes) -> bytes:
    """Hash key and content, to detect damage."""
    return hashlib.sha256(key + content).digest()


# -- the file ---------------------------------------------------------------------------------------------


def _connect(path: Path, *, only_read: bool = False) -> sqlite3.Connection:
    if only_read:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
    return sqlite3.connect(path, check_same_thread=False)


def _explain_unusable(path: Path, environment: bytes) -> str:
    """Explain why the file cannot be used; empty if it can. A DataError for another program's database."""
    if not path.exists():
        return ""
    with closing(_connect(path)) as connection:
        tables = _has_tables(connection)
        application, version = _read_application(connection)
        if tables and application != _APPLICATION:
            raise DataError(f"'{path}' is a database of another program. Move it, or give another name.")
        if not tables:
            return ""
        if version != VERSION:
            return f"has the format {version}, and this holdfast writes {VERSION}"
        if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            return f"is damaged ({found})"
        known = connection.execute("SELECT value FROM facts WHERE name = 'environment'").fetchone()
        if known is None or known[0] != environment.hex():
            return "was computed by another version of holdfast or its libraries, or on another machine"
    return ""


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _count_results(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])


def _read_application(connection: sqlite3.Connection) -> tuple[int, int]:
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return application, version


def _make_tables(connection: sqlite3.Connection) -> None:
    own = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {VERSION};"
    connection.executescript(f"BEGIN; {own} {_TABLES} COMMIT;")


def _put_facts(connection: sqlite3.Connection, facts: Mapping[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))


def _count_bytes(path: Path) -> int:
    sizes = 0
    for ending in _SUFFIXES:
        with suppress(OSError):
            sizes += Path(f"{path}{ending}").stat().st_size
    return sizes


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Raise the errors of SQLite as an OSError of a full disk, or a DataError."""
    try:
        yield
    except sqlite3.Error as error:
        if _is_full(path, error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise DataError(
            f"Cannot write to '{path}': {error}. Remove it; its results are computed again."
        ) from error


def _is_full(path: Path, error: sqlite3.Error) -> bool:
    code: Any = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL:
        return True
    trouble = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
    return code & 0xFF in trouble and disk_usage(path.parent).free < _LEAST_FREE
