"""The change register: JSON lines, each with the hash of the one before, so that changes are detected.

A line begins with its own hash, which covers the rest of the line. docs/decisions/0031-hash-chain.md explains
what the chain proves, and what not.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from holdfast._files import append_to_file, check_is_file, hold_lock, make_hidden_path, resolve_path
from holdfast._text import join_parts, pluralize, printable, wrap_lines
from holdfast._version import __version__
from holdfast._view import TextTable, View, format_table
from holdfast.data.row_keys import encode_cells, make_codebook
from holdfast.data.table import Table
from holdfast.errors import DataError, HoldfastError, ModelFileError, RegisterError
from holdfast.io.content import MAX_BYTES, loading, read_bytes, read_document
from holdfast.io.document import Integer, Part, checksum_of
from holdfast.io.model_file import model_to_json

if TYPE_CHECKING:
    from holdfast.governance.verdict import PolicyVerdict

SECONDS = 10.0  # that a process waits for another one
MOST_BYTES = 2**24  # of a line
_LINE = re.compile(rb'\{"hash":"(sha256:[0-9a-f]{64})",(.*)\}\n', re.DOTALL)
FORMAT = 1  # of the lines of a register
LIBRARIES = ("numpy", "scikit-learn", "numba")
_STATED = re.compile(rb'"checksum":\s*"(sha256:[0-9a-f]{64})"')
_START = 4096  # bytes of a model file in which its checksum is stated
FEWEST_DIGITS = 8  # of a short hash in the input
Hash = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
_GIVEN = re.compile(r"(?:sha256:)?([0-9a-f]{1,64})")
DIGITS = 12  # of a short hash
WIDTH = 100
TONES = {"failed": "bad", "forced": "bad"}
HEADS = ["", "time", "old model", "new model", "rows", "policy", "change"]


@dataclass(frozen=True)
class ChangeRecord:
    """One change of a deployed model. The last fields are filled in when it joins a register."""

    old_model: str | None  # hash, see `model_hash`; None where the new one is the first
    new_model: str
    data: str | None = None  # hash of the rows, see `data_fingerprint`
    n_rows: int | None = None
    policy: Mapping[str, Any] | None = None  # the lines of the change policy
    verdict: Mapping[str, Any] | None = None  # as PolicyVerdict.to_dict() gives it
    taken: bool = True  # False: the old model stayed in use
    forced: bool = False  # taken although a line of the policy failed
    who: str | None = None
    why: str | None = None
    seed: int | None = None
    time: str | None = None  # UTC
    software: Mapping[str, str] = field(default_factory=dict)  # versions
    number: int | None = None  # place in the register, from 1
    previous: str | None = None  # hash of the record before
    hash: str | None = None  # of this record

    @property
    def policy_hash(self) -> str | None:
        """SHA-256 of the lines of the policy; None without one."""
        return None if self.policy is None else json_hash(self.policy)

    @property
    def passed(self) -> bool | None:
        """Whether all lines of the policy passed; None without a verdict."""
        return None if self.verdict is None else bool(self.verdict.get("passed"))

    def _repr_html_(self) -> str:
        known = {
            "old model": self.old_model,
            "new model": self.new_model,
            "data": self.data,
            "rows": None if self.n_rows is None else f"{self.n_rows:,}",
            "policy": _cells(self)[5],
            "change": _cells(self)[6],
            "who": self.who,
            "why": self.why,
            "time": self.time,
            "seed": None if self.seed is None else str(self.seed),
            "software": ", ".join(f"{name} {version}" for name, version in self.software.items()),
            "previous record": self.previous,
            "hash": self.hash,
        }
        number = "A change" if self.number is None else f"Record {self.number}"
        rows = [[name, printable(text)] for name, text in known.items() if text]
        return View(TextTable(["", number], rows, tones=TONES)).to_html()


def change_record(
    old: Any,
    new: Any,
    table: Table | None = None,
    *,
    verdict: "PolicyVerdict | None" = None,
    taken: bool = True,
    forced: bool = False,
    who: str | None = None,
    why: str | None = None,
    seed: int | None = None,
) -> ChangeRecord:
    """Make the record of a change from one model to another.

    Parameters
    ----------
    old, new : Tree, estimator or path
        Models, or the paths of their files; `old` is None for the first model.
    table : Table, optional
        The rows that the new model was updated on.
    verdict : PolicyVerdict, optional
        The verdict of a change policy.
    taken : bool, default True
        Whether the new model is used.
    forced : bool, default False
        Whether it is used although a line of the policy failed.
    who, why : str, optional
        Author and reason.
    seed : int, optional
        Random state of the update.

    Returns
    -------
    ChangeRecord
        A record that `append_record` adds to a register.

    Examples
    --------
    >>> from holdfast import grow
    >>> table = Table.from_arrays([[1.0], [2.0]], ["no", "yes"])
    >>> change_record(None, grow(table), table, who="Ada").n_rows
    2
    """
    return ChangeRecord(
        old_model=None if old is None else model_hash(old),
        new_model=model_hash(new),
        data=None if table is None else data_fingerprint(table),
        n_rows=None if table is None else table.n_rows,
        policy=None if verdict is None else verdict.policy.to_dict(),
        verdict=None if verdict is None else verdict.to_dict(),
        taken=taken,
        forced=forced,
        who=who,
        why=why,
        seed=seed,
    )


@cache
def software_versions() -> dict[str, str]:
    """Return the versions of holdfast, Python and the libraries."""
    libraries = {name: _version(name) for name in LIBRARIES}
    return {"holdfast": __version__, "python": python_version(), **libraries}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True)
class RegisterCheck:
    """The result of checking a register: all records, or those before the first broken one."""

    path: str
    records: tuple[ChangeRecord, ...]
    broken: int | None = None  # number of the first broken record, from 1; None if all are sound
    reason: str = ""  # why it is broken

    @property
    def is_sound(self) -> bool:
        """True if every record is unchanged, and follows the one before."""
        return self.broken is None

    def __bool__(self) -> bool:
        return self.is_sound

    def __str__(self) -> str:
        path, n_records = printable(self.path), len(self.records)
        if not self.is_sound:
            before = "" if n_records == 0 else f" {_sound(n_records)} before it."
            return f"{path}: record {self.broken} is broken: {self.reason}{before}"
        if not self.records:
            return f"{path}: no records."
        return f"{path}: {_sound(n_records)}, the last is {self.records[-1].hash}."

    def _repr_html_(self) -> str:
        rows = [[*_cells(each), *_author_cells(each)] for each in self.records[::-1]]
        table = TextTable([*HEADS, "who", "why"], rows, tones=TONES, whole=".records")
        return View(str(self), table if rows else "").to_html()


def append_record(path: str | os.PathLike[str], record: ChangeRecord) -> ChangeRecord:
    """Append a record to a register.

    A line is written as a whole or not at all, and processes write one after the other.

    Parameters
    ----------
    path : str or path
        The register, a file of JSON lines; it is created if need be.
    record : ChangeRecord
        As `change_record` makes it.

    Returns
    -------
    ChangeRecord
        The record as it is stored: with time, software, number and hashes.

    Raises
    ------
    RegisterError
        If the register is broken, or another process keeps it locked.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from holdfast import grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0]], ["no", "yes"]))
    >>> with TemporaryDirectory() as folder:
    ...     append_record(f"{folder}/changes.jsonl", change_record(None, tree)).number
    1
    """
    with opened_register(path) as append:
        return append(record)


@contextmanager
def opened_register(path: str | os.PathLike[str]) -> Iterator[Callable[[ChangeRecord], ChangeRecord]]:
    """Lock the register at `path`, and yield a function that appends a record.

    A RegisterError is raised if another process has it, or if it is broken.
    """
    refusal = f"Cannot add to the register '{os.fspath(path)}'"
    target = resolve_path(path, RegisterError)
    if not target.parent.is_dir():
        raise RegisterError(f"{refusal}: there is no folder '{target.parent}'. Make it first.")
    lock = make_hidden_path(target, ".lock")
    with hold_lock(lock, refusal, way_out="try again", seconds=SECONDS, error_type=RegisterError):
        records = _read_sound_records(target, refusal) if target.exists() else []

        def append(record: ChangeRecord) -> ChangeRecord:
            line, added = _chain_record(record, records[-1] if records else None)
            append_to_file(target, line)
            records.append(added)
            return added

        yield append


def _read_sound_records(target: Path, refusal: str) -> list[ChangeRecord]:
    check = check_register(target)
    if not check:
        raise RegisterError(
            f"{refusal}: record {check.broken} is broken: {check.reason} Keep the file as it is, and begin "
            "another register."
        )
    return list(check.records)


def read_register(path: str | os.PathLike[str]) -> tuple[ChangeRecord, ...]:
    """Read the records of a register.

    Parameters
    ----------
    path : str or path
        The register.

    Returns
    -------
    tuple of ChangeRecord
        The oldest first.

    Raises
    ------
    RegisterError
        If the register is broken, or cannot be read.
    """
    check = check_register(path)
    if not check:
        raise RegisterError(
            f"Cannot read the register '{check.path}': record {check.broken} is broken: {check.reason}"
        )
    return check.records


def check_register(path: str | os.PathLike[str], *, head: str | None = None) -> RegisterCheck:
    """Check that every record of a register is unchanged, and follows the one before.

    Parameters
    ----------
    path : str or path
        The register.
    head : str, optional
        Hash of a record that must be there, such as the last one known, or its first digits. Without it,
        records that were removed from the end go unnoticed.

    Returns
    -------
    RegisterCheck
        The sound records, and the first broken one. It is false if the register is broken.
    """
    start = None if head is None else hash_start(head, RegisterError)
    target = _register_file(path)
    records: list[ChangeRecord] = []
    try:
        for line in _lines(target):
            records.append(_decode_line(line, records))
        if start is not None and not any((record.hash or "").startswith(start) for record in records):
            raise RegisterError(f"no record has the hash {start}: the end was removed, or rewritten.")
    except RegisterError as error:
        return RegisterCheck(os.fspath(path), tuple(records), len(records) + 1, str(error))
    return RegisterCheck(os.fspath(path), tuple(records))


# -- in words --------------------------------------------------------------------------------------------


def register_text(records: Sequence[ChangeRecord]) -> str:
    """Format a line for each record, followed by who changed the model and why, if known."""
    grid = [HEADS, *(_cells(record) for record in records)]
    head, *lines = format_table(grid).splitlines()
    parts = [head]
    for record, line in zip(records, lines, strict=True):
        parts += [line, *_note(record)]
    return "\n".join(parts)


def _sound(n_records: int) -> str:
    return f"{pluralize(n_records, 'record')} {'is' if n_records == 1 else 'are'} sound"


def _author_cells(record: ChangeRecord) -> list[str]:
    return [printable(each or "") for each in (record.who, record.why)]


def _cells(record: ChangeRecord) -> list[str]:
    return [
        "" if record.number is None else str(record.number),
        record.time or "",
        "none" if record.old_model is None else short_hash(record.old_model),
        short_hash(record.new_model),
        "" if record.n_rows is None else f"{record.n_rows:,}",
        {None: "none", True: "passed", False: "failed"}[record.passed],
        "forced" if record.forced else ("taken" if record.taken else "not taken"),
    ]


def short_hash(text: str) -> str:
    """Shorten a hash to its first digits.

    >>> short_hash("sha256:0123456789abcdef")
    '0123456789ab'
    """
    return text.removeprefix("sha256:")[:DIGITS]


def _note(record: ChangeRecord) -> list[str]:
    words = ": ".join(printable(part) for part in (record.who, record.why) if part)
    return wrap_lines(words, WIDTH, "   ", "   ") if words else []


# -- lines ------------------------------------------------------------------------------------------------


def _chain_record(record: ChangeRecord, last: ChangeRecord | None) -> tuple[bytes, ChangeRecord]:
    """Make the line of a record that follows the last one, and the record as it is stored."""
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
    target = resolve_path(path, RegisterError)
    try:
        check_is_file(target)
    except DataError as error:
        raise RegisterError(f"Cannot read the register '{os.fspath(path)}': {error}") from None
    return target


def _lines(target: Path) -> Iterator[bytes]:
    """Read the lines of the file, each of limited length."""
    with target.open("rb") as file:
        while line := file.readline(MOST_BYTES):
            yield line


def _decode_line(line: bytes, before: list[ChangeRecord]) -> ChangeRecord:
    """Decode the record of a line that follows these; raise a RegisterError if it is broken."""
    if not line.endswith(b"\n"):
        raise RegisterError("it is cut off: its line has no end.")
    found = _LINE.fullmatch(line)
    if found is None:
        raise RegisterError("its line is malformed: it was changed.")
    stated, content = found[1].decode(), b"{%b}" % found[2]
    if hash_of(content) != stated:
        raise RegisterError("it was changed: its content does not match its hash.")
    record = replace(record_in(content), hash=stated)
    if record.number != len(before) + 1:
        raise RegisterError(f"record {record.number} stands in its place: records were removed or moved.")
    if record.previous != (before[-1].hash if before else None):
        raise RegisterError(
            f"it follows {record.previous}, and the record before it is "
            f"{before[-1].hash if before else 'none'}: one of them was rewritten."
        )
    return record


# -- as JSON ----------------------------------------------------------------------------------------------


class PolicyPart(Part):
    """A change policy in a record."""

    hash: Hash
    lines: dict[str, Any]


class RecordPart(Part):
    """The fields of a line without its own hash, in the order in which they are written."""

    previous: Hash | None
    number: Annotated[int, msgspec.Meta(ge=1)]
    format: int
    time: str
    old_model: Hash | None
    new_model: Hash
    data: Hash | None
    n_rows: Annotated[int, msgspec.Meta(ge=0)] | None
    policy: PolicyPart | None
    verdict: dict[str, Any] | None
    taken: bool
    forced: bool
    who: str | None
    why: str | None
    software: dict[str, str]
    seed: Integer | None


def record_content(record: ChangeRecord) -> bytes:
    """Encode a record as JSON, without its own hash; raise a RegisterError if it is invalid."""
    named = {**asdict(record), "format": FORMAT}
    if record.policy is not None:
        named["policy"] = {"hash": record.policy_hash, "lines": record.policy}
    content = {name: named[name] for name in RecordPart.__struct_fields__}
    try:
        written = json_line(content)
    except (TypeError, ValueError) as error:
        raise RegisterError(f"Cannot make a record: {error}. A record holds only what JSON can.") from error
    record_in(written)
    return written


def record_in(content: bytes) -> ChangeRecord:
    """Decode a record from JSON without its own hash; raise a RegisterError if it is invalid."""
    try:
        part = msgspec.json.decode(content, type=RecordPart)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem, _, place = str(error).partition(" - at `$.")
        where = f" at {place.strip('`')}" if place else ""
        raise RegisterError(f"it is not a record{where}: {problem}.") from error
    if part.format > FORMAT:
        raise RegisterError(
            f"it was written by a newer holdfast (format {part.format}, this one reads {FORMAT}): upgrade."
        )
    if part.forced and not part.taken:
        raise RegisterError("it was forced and not taken: a forced change is taken.")
    named = {name: getattr(part, name) for name in part.__struct_fields__ if name != "format"}
    lines = None if part.policy is None else part.policy.lines
    record = ChangeRecord(**{**named, "policy": lines})
    if record.passed is False and record.taken and not record.forced:
        raise RegisterError("its verdict failed and it was taken: set forced=True, or taken=False.")
    if part.policy is not None and part.policy.hash != record.policy_hash:
        raise RegisterError("the hash of its policy does not match the lines.")
    return record


# -- which model, and which rows -------------------------------------------------------------------------


def model_hash(model: Any, *, max_bytes: int = MAX_BYTES) -> str:
    """Compute SHA-256 of the content of a model.

    A model and its file have the same hash, for any indentation and line ends of the file.

    Parameters
    ----------
    model : Tree, Ensemble, estimator or path
        A model, or the path of its file.
    max_bytes : int, optional
        Greatest size of a file.

    Returns
    -------
    str
        "sha256:" and 64 digits.

    Raises
    ------
    ModelFileError
        If the file was changed after it was written.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0]], ["no", "yes"]))
    >>> model_hash(tree)[:7], model_hash(tree) == model_hash(tree.replace(notes=("by hand",)))
    ('sha256:', False)
    """
    if not isinstance(model, str | os.PathLike):
        return content_hash(model_to_json(model))
    with loading(f"the model file '{os.fspath(model)}'"):
        return content_hash(read_bytes(Path(model), max_bytes))


def content_hash(data: bytes) -> str:
    """Hash the model in a model file of this content."""
    return checksum_of(read_document(data))


def find_model(hash: str, folder: str | os.PathLike[str]) -> Path:  # noqa: A002 (the word of the register)
    """Find the file of the model with this hash, in a folder and the folders in it.

    Parameters
    ----------
    hash : str
        The hash, or at least its first eight digits, if no other model has them.
    folder : str or path
        Where to search.

    Returns
    -------
    Path
        The model file.

    Raises
    ------
    ModelFileError
        If no model has this hash, or several have these digits.
    """
    start = hash_start(hash, ModelFileError)
    found: dict[str, Path] = {}
    for path in _model_files(Path(folder)):
        if _stated(path).startswith(start):
            found.setdefault(model_hash(path), path)
    if not found:
        raise ModelFileError(
            f"No file in '{os.fspath(folder)}' holds the model {hash}. Look in another folder."
        )
    if len(found) > 1:
        raise ModelFileError(f"{hash} may be {join_parts(sorted(found))}: give more of its digits.")
    return next(iter(found.values()))


def _model_files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise ModelFileError(f"'{folder}' is not a folder: give the one with the models.")
    yield from (path for path in sorted(folder.rglob("*.json")) if path.is_file())


def _stated(path: Path) -> str:
    """Read the checksum that the file states; empty if it states none."""
    with path.open("rb") as file:
        stated = _STATED.search(file.read(_START))
    return stated[1].decode() if stated else ""


def data_fingerprint(table: Table) -> str:
    """Compute SHA-256 of columns, target and weights, for any order of rows and columns.

    Numbers count by their value and categories by their text, so that a file of another format, or a wider
    schema, changes nothing. Custom features follow from the columns and do not count.

    Parameters
    ----------
    table : Table
        The rows.

    Returns
    -------
    str
        "sha256:" and 64 digits.

    Examples
    --------
    >>> table = Table.from_arrays([[1.0, "a"], [2.0, "b"]], ["no", "yes"])
    >>> data_fingerprint(table) == data_fingerprint(table.subset(np.array([1, 0])))
    True
    """
    features = table.schema.features
    places = [place for place in table.schema.name_order if features[place].kind != "custom"]
    target = table.schema.target
    columns = [(table.columns[place], features[place].categories) for place in places]
    times = [] if table.survival is None else table.survival.keys
    columns += [(each, ()) for each in times] or [(table.target.astype(np.float64), target.classes)]
    if table.weight is not None:
        columns.append((table.weight, ()))
    cells = [encode_cells(values, make_codebook(labels)) for values, labels in columns]
    rows = np.column_stack(cells).astype("<u8")
    kinds = [(features[place].name, "categories" if features[place].categories else "") for place in places]
    header = [*kinds, (target.name, "classes" if target.is_classes else ""), table.weight is not None]
    digest = sha256(json.dumps(header).encode())
    # A hash for each row, and these in their order: no two orders of the rows differ.
    digest.update(b"".join(sorted(sha256(row.tobytes()).digest() for row in rows)))
    return f"sha256:{digest.hexdigest()}"


# -- hashes ----------------------------------------------------------------------------------------------


def hash_of(data: bytes) -> str:
    """Compute SHA-256 of the bytes."""
    return f"sha256:{sha256(data).hexdigest()}"


def json_hash(content: Any) -> str:
    """Compute SHA-256 of the content as JSON, with sorted names."""
    return hash_of(json_line(content, sort_keys=True))


def json_line(content: Any, *, sort_keys: bool = False) -> bytes:
    """Encode the content as JSON in one line; raise a ValueError or TypeError if JSON cannot."""
    options: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    text = json.dumps(content, sort_keys=sort_keys, **options)
    return text.encode("utf-8", "replace")  # a lone surrogate becomes a question mark


def hash_start(text: str, error_type: type[HoldfastError]) -> str:
    """Normalise a whole or short hash of the user; raise an error of this type if it is malformed.

    >>> from holdfast.errors import RegisterError
    >>> hash_start("B0AEB3F7", RegisterError)
    'sha256:b0aeb3f7'
    """
    digits = _GIVEN.fullmatch(text.strip().lower())
    if digits is None or len(digits[1]) < FEWEST_DIGITS:
        raise error_type(
            f"{text!r} is not a hash: give sha256: and 64 digits, or at least the first {FEWEST_DIGITS}."
        )
    return f"sha256:{digits[1]}"
