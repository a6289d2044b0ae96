"""The bytes of a model file: read within a limit, told from foreign files, decoded strictly."""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict

from holdfast.errors import ModelFileError
from holdfast.io.document import FORMAT, VERSION, EnsembleDocument, TreeDocument, TreesDocument, is_unchanged
from holdfast.io.limits import check_document, check_estimator, check_texts

MAX_BYTES = 256 * 2**20
KINDS = ("tree", "trees", "ensemble")

# What people give as a model by mistake, known by its first bytes.
_FOREIGN = (
    (re.compile(rb"\x80[\x02-\x05]"), "it looks like a pickle, which can run code: it is never loaded"),
    (re.compile(rb"\x1f\x8b"), "it is compressed with gzip: unpack it first"),
    (re.compile(rb"PK\x03\x04"), "it is a zip archive: unpack it first"),
    (re.compile(rb"\xef\xbb\xbf"), "it starts with a byte order mark: store it as UTF-8 without one"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "it is UTF-16: store it as UTF-8"),
)

# A text, and the colon after it if it is a key.
_TEXT = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*:)?')
LONGEST_MESSAGE = 1000  # characters

_D = TypeVar("_D")
_Document = TypeVar("_Document", TreeDocument, TreesDocument, EnsembleDocument)


class _Header(msgspec.Struct):
    """What every version of the file has, whatever else is in it."""

    format: str = ""
    version: int = 0
    kind: str = ""


class _WithEstimator(msgspec.Struct):
    """The part of the estimator, still unread."""

    estimator: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


@contextmanager
def refusals_of(what: str) -> Iterator[None]:
    """Within it, a ModelFileError also says what could not be loaded."""
    try:
        yield
    except ModelFileError as error:
        reason = str(error)
        if len(reason) > LONGEST_MESSAGE:  # a list or a name in the file can be as long as the file
            reason = f"{reason[:LONGEST_MESSAGE]} ..."
        raise ModelFileError(f"Cannot load {what}: {reason}") from error.__cause__


def content_of(path: Path, max_bytes: int) -> bytes:
    """All bytes of the file, unless it has more than allowed or is no file at all."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:
        raise ModelFileError("the name holds a NUL character.") from error
    if stat.S_ISDIR(mode):
        raise ModelFileError("it is a folder. Give the path of the file in it.")
    if not stat.S_ISREG(mode):
        # A pipe can block for ever, and a device can be endless.
        raise ModelFileError("it is a pipe or a device, not a file. Copy its content to a file.")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise ModelFileError(
                f"it has {size} bytes, and the limit is {max_bytes}. If it is a model, raise the limit: "
                f"max_bytes={size}."
            )
        return file.read(size)


def kind_of(data: bytes) -> str:
    """Which of the KINDS of model the bytes say they are."""
    _raise_for_foreign(data)
    header = _decoded(data, _Header)
    if header.format != FORMAT:
        found = repr(header.format[:40]) if header.format else "missing"
        raise ModelFileError(f"it is JSON, but no holdfast model: its format is {found}, not {FORMAT!r}.")
    if header.version > VERSION:
        versions = f"format {header.version}, this one reads {VERSION}"
        raise ModelFileError(f"it was written by a newer holdfast ({versions}): upgrade holdfast.")
    if header.kind not in KINDS:
        raise ModelFileError(
            f"its kind is {header.kind[:40]!r}, and this holdfast loads: {', '.join(KINDS)}."
        )
    return header.kind


def document_in(data: bytes, kind: type[_Document], edited: bool) -> _Document:
    """The document that the bytes are, as it was written unless `edited` allows changes since."""
    check_texts(data)
    check_estimator(_decoded(data, _WithEstimator).estimator)
    document = _decoded(data, kind)
    check_document(document, len(data))
    _raise_for_repeated_keys(data, document)
    if not edited and not is_unchanged(document, data):
        raise ModelFileError(
            "its checksum does not match: the file was changed after it was written. Take it from a copy, or "
            "save the model again; if you meant the change, load it with edited=True and save it."
        )
    return document


# -- what the bytes are -------------------------------------------------------------------------------


def _raise_for_foreign(data: bytes) -> None:
    if not data.strip():
        raise ModelFileError("it is empty. Save the model again.")
    for start, reason in _FOREIGN:
        if start.match(data):
            raise ModelFileError(f"{reason}.")


def _decoded(data: bytes, content: type[_D]) -> _D:
    try:
        return msgspec.json.decode(data, type=content)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise ModelFileError(f"at {place.strip('.`') or 'its top'}: {problem[:200]}.") from error
    except msgspec.DecodeError as error:
        raise ModelFileError(_malformed(data, str(error))) from error
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is not UTF-8 at {_place(data, _first_bad_byte(data))}.") from error
    except RecursionError as error:
        raise ModelFileError("its brackets are nested too deeply for a model.") from error


def _malformed(data: bytes, problem: str) -> str:
    byte = re.search(r"\(byte (\d+)\)$", problem)
    if byte is None:
        return f"it is cut off at {_place(data, len(data))}: the rest is missing."
    reason = problem[: byte.start()].removeprefix("JSON is malformed: ").strip()
    return f"it is not JSON at {_place(data, int(byte[1]))}: {reason}."


def _place(data: bytes, byte: int) -> str:
    line = data.count(b"\n", 0, byte) + 1
    column = byte - data.rfind(b"\n", 0, byte)
    nearby = data[max(byte - 10, 0) : byte + 10].decode(errors="replace")
    return f"line {line}, column {column}, near {nearby!r}"


def _first_bad_byte(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _raise_for_repeated_keys(data: bytes, document: msgspec.Struct) -> None:
    """msgspec takes the last of two equal keys, and a person who reads the file may take the first.

    No key can be missing or unknown in what was decoded: so one that occurs too often is repeated.
    """
    written = Counter(match[1] for match in _TEXT.finditer(data) if match[2])
    names: Counter[str] = Counter()
    for key, times in written.items():
        names[msgspec.json.decode(key)] += times
    if repeated := names - Counter(_keys_of(document)):
        raise ModelFileError(f"it has the key {next(iter(repeated))[:40]!r} twice in one object.")


def _keys_of(part: Any) -> Iterator[str]:
    """The keys of all objects in a part of the document."""
    if isinstance(part, msgspec.Struct):
        part = {name: entry for name, entry in asdict(part).items() if entry is not msgspec.UNSET}
    if isinstance(part, dict):
        yield from part
        part = part.values()
    for each in part:
        if isinstance(each, msgspec.Struct | dict | list | tuple):
            yield from _keys_of(each)
