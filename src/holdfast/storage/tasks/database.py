"""The SQLite file of a store: its tables, what makes it ours, and what becomes of a file that is damaged."""

import errno
import hashlib
import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple, Protocol

from holdfast.errors import DataError, StoreWarning

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


class Listed(Protocol):
    """How far a list of tasks is."""

    number: int
    name: str
    total: int
    done: int
    kept: int


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
        self, results: Mapping[bytes, bytes], lists: Sequence[Listed], replaced: Sequence[bytes] = ()
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
