"""The change register: JSON lines, each with the hash of the one before, so that what was written stays.

A line begins with its own hash, which is that of all the rest. What the chain proves, and what not, stands in
docs/decisions/0031-hash-chain.md.
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
from holdfast.data.row_keys import cell_bits, make_codebook
from holdfast.data.table import Table
from holdfast.errors import DataError, HoldfastError, ModelFileError, RegisterError
from holdfast.io.content import MAX_BYTES, loading, read_bytes, read_document
from holdfast.io.document import Integer, Part, checksum_of
from holdfast.io.model_file import model_to_json

if TYPE_CHECKING:
    from holdfast.governance.verdict import PolicyVerdict

SECONDS = 10.0  # that a writer waits for another one
MOST_BYTES = 2**24  # of a line
_LINE = re.compile(rb'\{"hash":"(sha256:[0-9a-f]{64})",(.*)\}\n', re.DOTALL)
FORMAT = 1  # of the lines of a register
LIBRARIES = ("numpy", "scikit-learn", "numba")
_STATED = re.compile(rb'"checksum":\s*"(sha256:[0-9a-f]{64})"')
_START = 4096  # bytes of a model file in which its checksum is stated
FEWEST_DIGITS = 8  # of a hash that is given in short
Hash = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
_GIVEN = re.compile(r"(?:sha256:)?([0-9a-f]{1,64})")
DIGITS = 12  # of a hash, which tell it from all others
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
    """The record of a change from one model to another: models, or the paths of their files.

    `old` is None for the first model, and `table` has the rows that the new one was updated on.
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
    """The versions of what made a model."""
    libraries = {name: _version(name) for name in LIBRARIES}
    return {"holdfast": __version__, "python": python_version(), **libraries}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


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
        path, n_records = printable(self.path), len(self.records)
        if not self.is_sound:
            before = "" if n_records == 0 else f" {_sound(n_records)} before it."
            return f"{path}: record {self.broken} is broken: {self.reason}{before}"
        if not self.records:
            return f"{path}: no records."
        return f"{path}: {_sound(n_records)}, the last is {self.records[-1].hash}."

    def _repr_html_(self) -> str:
        rows = [[*_cells(each), *_people(each)] for each in self.records[::-1]]
        table = TextTable([*HEADS, "who", "why"], rows, tones=TONES, whole=".records")
        return View(str(self), table if rows else "").to_html()


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
    target = resolve_path(path, RegisterError)
    if not target.parent.is_dir():
        raise RegisterError(f"{refusal}: there is no folder '{target.parent}'. Make it first.")
    lock = make_hidden_path(target, ".lock")
    with hold_lock(lock, refusal, way_out="try again", seconds=SECONDS, error_type=RegisterError):
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


# -- in words --------------------------------------------------------------------------------------------


def register_text(records: Sequence[ChangeRecord]) -> str:
    """A line for each record, and below it who changed the model and why, if that is known."""
    grid = [HEADS, *(_cells(record) for record in records)]
    head, *lines = format_table(grid).splitlines()
    parts = [head]
    for record, line in zip(records, lines, strict=True):
        parts += [line, *_note(record)]
    return "\n".join(parts)


def _sound(n_records: int) -> str:
    return f"{pluralize(n_records, 'record')} {'is' if n_records == 1 else 'are'} sound"


def _people(record: ChangeRecord) -> list[str]:
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
    """The first digits of a hash.

    >>> short_hash("sha256:0123456789abcdef")
    '0123456789ab'
    """
    return text.removeprefix("sha256:")[:DIGITS]


def _note(record: ChangeRecord) -> list[str]:
    words = ": ".join(printable(part) for part in (record.who, record.why) if part)
    return wrap_lines(words, WIDTH, "   ", "   ") if words else []


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
    target = resolve_path(path, RegisterError)
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


# -- as JSON ----------------------------------------------------------------------------------------------


class PolicyPart(Part):
    """A change policy in a record."""

    hash: Hash
    lines: dict[str, Any]


class RecordPart(Part):
    """The line of a record, but for its own hash; in the order in which it is written."""

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
    """The record as JSON, without its own hash; a RegisterError for what no register takes."""
    named = {**asdict(record), "format": FORMAT}
    if record.policy is not None:
        named["policy"] = {"hash": record.policy_hash, "lines": record.policy}
    content = {name: named[name] for name in RecordPart.__struct_fields__}
    try:
        written = json_line(content)
    except (TypeError, ValueError) as error:
        raise RegisterError(f"Cannot make a record: {error}. A record holds what JSON does.") from error
    record_in(written)
    return written


def record_in(content: bytes) -> ChangeRecord:
    """The record that JSON without its own hash describes; a RegisterError says what is wrong."""
    try:
        part = msgspec.json.decode(content, type=RecordPart)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem, _, place = str(error).partition(" - at `$.")
        where = f" at {place.strip('`')}" if place else ""
        raise RegisterError(f"it is no record{where}: {problem}.") from error
    if part.format > FORMAT:
        raise RegisterError(
            f"it was written by a newer holdfast (format {part.format}, this one reads {FORMAT}): upgrade."
        )
    if part.forced and not part.taken:
        raise RegisterError("it was forced and not taken: what is forced is taken.")
    named = {name: getattr(part, name) for name in part.__struct_fields__ if name != "format"}
    lines = None if part.policy is None else part.policy.lines
    record = ChangeRecord(**{**named, "policy": lines})
    if record.passed is False and record.taken and not record.forced:
        raise RegisterError("its verdict failed and it was taken: say forced=True, or taken=False.")
    if part.policy is not None and part.policy.hash != record.policy_hash:
        raise RegisterError("the hash of its policy is another one than that of the lines.")
    return record


# -- which model, and which rows -------------------------------------------------------------------------


def model_hash(model: Any, *, max_bytes: int = MAX_BYTES) -> str:
    """SHA-256 of the content of a model's file: of a tree, an ensemble, an estimator, or the path of a file.

    A model and its file have one hash, whatever the indent and the line ends of the file. A file that was
    changed after it was written is a ModelFileError.

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
    """The hash of the model that a model file of this content holds."""
    return checksum_of(read_document(data))


def find_model(hash: str, folder: str | os.PathLike[str]) -> Path:  # noqa: A002 (the word of the register)
    """The file in the folder, or in a folder in it, that holds the model of this hash.

    The first digits of the hash will do, if they are at least eight and no other model has them.
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
        raise ModelFileError(f"'{folder}' is no folder: give the one that the models are in.")
    yield from (path for path in sorted(folder.rglob("*.json")) if path.is_file())


def _stated(path: Path) -> str:
    """The checksum that the file states; nothing if it states none."""
    with path.open("rb") as file:
        stated = _STATED.search(file.read(_START))
    return stated[1].decode() if stated else ""


def data_fingerprint(table: Table) -> str:
    """SHA-256 of what the rows say: columns, target and weights, in whatever order rows and columns stand.

    Numbers count by their value and categories by their text, so that a file of another format, or a wider
    schema, changes nothing. Questions follow from the columns.

    >>> table = Table.from_arrays([[1.0, "a"], [2.0, "b"]], ["no", "yes"])
    >>> data_fingerprint(table) == data_fingerprint(table.subset(np.array([1, 0])))
    True
    """
    features = table.schema.features
    places = [place for place in table.schema.name_order if features[place].kind != "question"]
    target = table.schema.target
    columns = [(table.columns[place], features[place].categories) for place in places]
    columns.append((table.target.astype(np.float64), target.classes))
    if table.weight is not None:
        columns.append((table.weight, ()))
    cells = [cell_bits(values, make_codebook(labels)) for values, labels in columns]
    rows = np.column_stack(cells).astype("<u8")
    kinds = [(features[place].name, "categories" if features[place].categories else "") for place in places]
    header = [*kinds, (target.name, "classes" if target.is_classes else ""), table.weight is not None]
    digest = sha256(json.dumps(header).encode())
    # A hash for each row, and these in their order: no two orders of the rows differ.
    digest.update(b"".join(sorted(sha256(row.tobytes()).digest() for row in rows)))
    return f"sha256:{digest.hexdigest()}"


# -- hashes ----------------------------------------------------------------------------------------------


def hash_of(data: bytes) -> str:
    """SHA-256 of the bytes."""
    return f"sha256:{sha256(data).hexdigest()}"


def json_hash(content: Any) -> str:
    """SHA-256 of the content as JSON, whatever the order of its names."""
    return hash_of(json_line(content, sort_keys=True))


def json_line(content: Any, *, sort_keys: bool = False) -> bytes:
    """The content as JSON in one line; a ValueError or TypeError for what JSON has no word for."""
    options: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    text = json.dumps(content, sort_keys=sort_keys, **options)
    return text.encode("utf-8", "replace")  # half a character, which UTF-8 has not, is a question mark


def hash_start(text: str, error_type: type[HoldfastError]) -> str:
    """What the hash that a user gives, whole or in short, begins with; an error of this type if it is none.

    >>> from holdfast.errors import RegisterError
    >>> hash_start("B0AEB3F7", RegisterError)
    'sha256:b0aeb3f7'
    """
    digits = _GIVEN.fullmatch(text.strip().lower())
    if digits is None or len(digits[1]) < FEWEST_DIGITS:
        raise error_type(
            f"{text!r} is no hash: give sha256: and 64 digits, or at least the first {FEWEST_DIGITS} of them."
        )
    return f"sha256:{digits[1]}"
