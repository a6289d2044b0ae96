"""The change register: JSON lines, each with the hash of the one before, so that what was written stays.

A line begins with its own hash, which is that of all the rest. What the chain proves, and what not, stands in
docs/decisions/0031-hash-chain.md.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from holdfast.errors import DataError, RegisterError
from holdfast.files import append_to_file, aside, check_is_file, resolved
from holdfast.lock import locked
from holdfast.shown import shown
from holdfast.storage.change_record import ChangeRecord, record_content, record_in, software_versions
from holdfast.storage.hashes import hash_of, hash_start

SECONDS = 10.0  # that a writer waits for another one
MOST_BYTES = 2**24  # of a line
_LINE = re.compile(rb'\{"hash":"(sha256:[0-9a-f]{64})",(.*)\}\n', re.DOTALL)


@dataclass(frozen=True)
class RegisterCheck:
    """What a look at a register found: all records, or those before the first that is broken."""

    path: str
    records: tuple[ChangeRecord, ...]
    broken: int | None = None  # its place, from 1; None if all is well
    reason: str = ""  # what is wrong with it

    @property
    def is_sound(self) -> bool:
        """True if every record is as it was written, and follows the one before."""
        return self.broken is None

    def __bool__(self) -> bool:
        return self.is_sound

    def __str__(self) -> str:
        return shown("register_check_text", self)

    def _repr_html_(self) -> str:
        return shown("register_check_html", self)


def append_record(path: str | os.PathLike[str], record: ChangeRecord) -> ChangeRecord:
    """Add a record to the register at `path`, which is made if need be; the record as it stands there.

    The whole line is on the disk, or none of it. Processes write one after the other. A register that is
    broken takes no record, and a RegisterError says where it is.
    """
    with opened_register(path) as append:
        return append(record)


@contextmanager
def opened_register(path: str | os.PathLike[str]) -> Iterator[Callable[[ChangeRecord], ChangeRecord]]:
    """Within it no other process writes to the register at `path`; what it gives adds a record.

    A RegisterError says that another process has it, or that it is broken.
    """
    refusal = f"Cannot add to the register '{os.fspath(path)}'"
    target = resolved(path, RegisterError)
    if not target.parent.is_dir():
        raise RegisterError(f"{refusal}: there is no folder '{target.parent}'. Make it first.")
    lock = aside(target, ".lock")
    with locked(lock, refusal, way_out="try again", seconds=SECONDS, error_type=RegisterError):
        records = _sound_records(target, refusal) if target.exists() else []

        def append(record: ChangeRecord) -> ChangeRecord:
            line, added = _chained(record, records[-1] if records else None)
            append_to_file(target, line)
            records.append(added)
            return added

        yield append


def _sound_records(target: Path, refusal: str) -> list[ChangeRecord]:
    check = check_register(target)
    if not check:
        raise RegisterError(
            f"{refusal}: record {check.broken} is broken: {check.reason} Keep the file as it is, and begin "
            "another register."
        )
    return list(check.records)


def read_register(path: str | os.PathLike[str]) -> tuple[ChangeRecord, ...]:
    """The records of a register, the oldest first; a RegisterError if it is broken."""
    check = check_register(path)
    if not check:
        raise RegisterError(
            f"Cannot read the register '{check.path}': record {check.broken} is broken: {check.reason}"
        )
    return check.records


def check_register(path: str | os.PathLike[str], *, head: str | None = None) -> RegisterCheck:
    """Whether every record is as it was written, and follows the one before; if not, the first that does not.

    `head` is the hash of a record that is known from elsewhere, the last one, say, and has to be there:
    without it nobody can tell whether records at the end were removed. Its first digits will do.
    """
    start = None if head is None else hash_start(head, RegisterError)
    target = _register_file(path)
    records: list[ChangeRecord] = []
    try:
        for line in _lines(target):
            records.append(_record(line, records))
        if start is not None and not any((record.hash or "").startswith(start) for record in records):
            raise RegisterError(f"no record has the hash {start}: the end was removed, or written anew.")
    except RegisterError as error:
        return RegisterCheck(os.fspath(path), tuple(records), len(records) + 1, str(error))
    return RegisterCheck(os.fspath(path), tuple(records))


# -- lines ------------------------------------------------------------------------------------------------


def _chained(record: ChangeRecord, last: ChangeRecord | None) -> tuple[bytes, ChangeRecord]:
    """The line of the record after the last one, and the record that it holds."""
    placed = replace(
        record,
        time=record.time or datetime.now(UTC).isoformat(timespec="seconds"),
        software=record.software or software_versions(),
        number=1 if last is None else (last.number or 0) + 1,
        previous=None if last is None else last.hash,
        hash=None,
    )
    content = record_content(placed)
    own_hash = hash_of(content)
    line = b'{"hash":"%b",%b\n' % (own_hash.encode(), content[1:])
    if len(line) > MOST_BYTES:
        raise RegisterError(f"Cannot make a record of {len(line)} bytes: a line has at most {MOST_BYTES}.")
    return line, replace(record_in(content), hash=own_hash)


def _register_file(path: str | os.PathLike[str]) -> Path:
    target = resolved(path, RegisterError)
    try:
        check_is_file(target)
    except DataError as error:
        raise RegisterError(f"Cannot read the register '{os.fspath(path)}': {error}") from None
    return target


def _lines(target: Path) -> Iterator[bytes]:
    """The lines of the file, none of which is without end."""
    with target.open("rb") as file:
        while line := file.readline(MOST_BYTES):
            yield line


def _record(line: bytes, before: list[ChangeRecord]) -> ChangeRecord:
    """The record of a line that follows these; a RegisterError says why it does not."""
    if not line.endswith(b"\n"):
        raise RegisterError("it is cut off: its line has no end.")
    found = _LINE.fullmatch(line)
    if found is None:
        raise RegisterError("its line is none that a register has: it was changed.")
    stated, content = found[1].decode(), b"{%b}" % found[2]
    if hash_of(content) != stated:
        raise RegisterError("it was changed: its content has another hash than it states.")
    record = replace(record_in(content), hash=stated)
    if record.number != len(before) + 1:
        raise RegisterError(f"record {record.number} stands in its place: records were removed or moved.")
    if record.previous != (before[-1].hash if before else None):
        raise RegisterError(
            f"it follows {record.previous}, and the record before it is "
            f"{before[-1].hash if before else 'none'}: one of them was written anew."
        )
    return record
