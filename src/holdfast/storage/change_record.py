"""One record of a change register: which model took the place of which, by which rows, and judged how."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from holdfast._version import __version__
from holdfast.data.table import Table
from holdfast.errors import RegisterError
from holdfast.shown import shown
from holdfast.storage.data_fingerprint import data_fingerprint
from holdfast.storage.hashes import Hash, content_hash, json_line
from holdfast.storage.model_hash import model_hash
from holdfast.storage.part import Integer, Part

if TYPE_CHECKING:
    from holdfast.stability.policy.verdict import PolicyVerdict

FORMAT = 1  # of the lines of a register
LIBRARIES = ("numpy", "scikit-learn", "numba")


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
        return None if self.policy is None else content_hash(self.policy)

    @property
    def passed(self) -> bool | None:
        """Whether all lines of the policy passed; None without a verdict."""
        return None if self.verdict is None else bool(self.verdict.get("passed"))

    def _repr_html_(self) -> str:
        return shown("change_record_html", self)


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
