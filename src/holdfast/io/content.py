"""The bytes of a model file: read within limits, distinguished from other files, decoded strictly.

A model may take memory in proportion to its file, and that is checked before the memory is taken.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.io.document import (
    DOCUMENTS,
    FORMAT,
    FORMS,
    VERSION,
    CandidatePart,
    Document,
    EnsembleDocument,
    MemberPart,
    NodesPart,
    TreeDocument,
    TreePart,
    count_entries,
    decode_array,
    has_strings,
    is_unchanged,
    read_pieces,
)

MAX_BYTES = 256 * 2**20

# What people give as a model by mistake, known by its first bytes.
_FOREIGN = (
    (re.compile(rb"\x80[\x02-\x05]"), "it looks like a pickle, which can run code: it is never loaded"),
    (re.compile(rb"\x1f\x8b"), "it is compressed with gzip: unpack it first"),
    (re.compile(rb"PK\x03\x04"), "it is a zip archive: unpack it first"),
    (re.compile(rb"\xef\xbb\xbf"), "it starts with a byte order mark: store it as UTF-8 without one"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "it is UTF-16: store it as UTF-8"),
)

# A string, and the colon after it if it is a key.
_STRING = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*:)?')
LONGEST_MESSAGE = 1000  # characters

_Content = TypeVar("_Content")


class _Header(msgspec.Struct):
    """The fields that every version of the file has."""

    format: str = ""
    version: int = 0
    kind: str = ""


class _WithEstimator(msgspec.Struct):
    """The part of the estimator, still undecoded."""

    estimator: msgspec.Raw | UnsetType = UNSET


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Add what could not be loaded to the message of a ModelFileError."""
    try:
        yield
    except ModelFileError as error:
        reason = str(error)
        if len(reason) > LONGEST_MESSAGE:  # a list or a name in the file can be as long as the file
            reason = f"{reason[:LONGEST_MESSAGE]} ..."
        raise ModelFileError(f"Cannot load {what}: {reason}") from error.__cause__


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Read all bytes of the file; a ModelFileError if they are too many, or it is no regular file."""
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


def read_kind(data: bytes) -> str:
    """Read the kind of document, a key of DOCUMENTS; a ModelFileError for other files."""
    if not data.strip():
        raise ModelFileError("it is empty. Save the model again.")
    for start, reason in _FOREIGN:
        if start.match(data):
            raise ModelFileError(f"{reason}.")
    header = _decode(data, _Header)
    if header.format != FORMAT:
        found = repr(header.format[:40]) if header.format else "missing"
        raise ModelFileError(f"it is JSON, but no holdfast model: its format is {found}, not {FORMAT!r}.")
    if header.version > VERSION:
        versions = f"format {header.version}, this one reads {VERSION}"
        raise ModelFileError(f"it was written by a newer holdfast ({versions}): upgrade holdfast.")
    if header.kind not in DOCUMENTS:
        raise ModelFileError(
            f"its kind is {header.kind[:40]!r}, and this holdfast loads: {', '.join(DOCUMENTS)}."
        )
    return header.kind


def read_document(data: bytes, *, edited: bool = False) -> Document:
    """Decode the document, which must be as it was written unless `edited` allows changes since."""
    kind = read_kind(data)
    _check_size(len(data), data.count(b'"') // 2, TEXT, "texts")
    part = _decode(data, _WithEstimator).estimator
    if part is not UNSET:
        text = bytes(part)
        _check_size(len(text), text.count(b",") + text.count(b"["), ENTRY, "entries of an estimator")
    document = _decode(data, DOCUMENTS[kind])
    _check_arrays(document, len(data))
    _check_repeated_keys(data, document)
    if not edited and not is_unchanged(document, data):
        raise ModelFileError(
            "its checksum does not match: the file was changed after it was written. Take it from a copy, or "
            "save the model again; if you meant the change, load it with edited=True and save it."
        )
    return document


# -- JSON ----------------------------------------------------------------------------------------------------


def _decode(data: bytes, content: type[_Content]) -> _Content:
    try:
        return msgspec.json.decode(data, type=content, dec_hook=decode_array)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise ModelFileError(f"at {place.strip('.`') or 'its top'}: {problem[:200]}.") from error
    except msgspec.DecodeError as error:
        raise ModelFileError(_explain_malformed(data, str(error))) from error
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is not UTF-8 at {_find_place(data, _first_bad_byte(data))}.") from error
    except RecursionError as error:
        raise ModelFileError("its brackets are nested too deeply for a model.") from error


def _explain_malformed(data: bytes, problem: str) -> str:
    byte = re.search(r"\(byte (\d+)\)$", problem)
    if byte is None:
        return f"it is cut off at {_find_place(data, len(data))}: the rest is missing."
    reason = problem[: byte.start()].removeprefix("JSON is malformed: ").strip()
    return f"it is not JSON at {_find_place(data, int(byte[1]))}: {reason}."


def _find_place(data: bytes, byte: int) -> str:
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


def _check_repeated_keys(data: bytes, document: msgspec.Struct) -> None:
    """Raise a ModelFileError if an object has a key twice: msgspec takes the last, a reader the first.

    No key can be missing or unknown in what was decoded: so one that occurs too often is repeated.
    """
    written = Counter(match[1] for match in _STRING.finditer(data) if match[2])
    names: Counter[str] = Counter()
    for key, times in written.items():
        names[msgspec.json.decode(key)] += times
    if repeated := names - Counter(_list_keys(document)):
        raise ModelFileError(f"it has the key {next(iter(repeated))[:40]!r} twice in one object.")


def _list_keys(part: Any) -> Iterator[str]:
    """List the keys of all objects in a part of the document."""
    if isinstance(part, msgspec.Struct):
        part = {name: entry for name, entry in asdict(part).items() if entry is not UNSET}
    if isinstance(part, dict):
        yield from part
        part = part.values()
    for each in part:
        if isinstance(each, msgspec.Struct | dict | list | tuple):
            yield from _list_keys(each)


# -- Limits: memory in proportion to the bytes of the file ---------------------------------------------------

# A model may take so many bytes, and so many more for every byte of its file. Few letters can ask for a lot:
# a text of one letter takes 64 bytes, and a tree of one leaf 4,096.
LEAST, FACTOR = 64 * 2**20, 8
TEXT, LABEL, TREE, ENTRY = 64, 128, 4096, 64
FLAGS_FACTOR = 4  # the same for the flags of sets of categories, of which prediction makes a second copy


def _check_size(n_bytes: int, number: int, each: int, what: str) -> None:
    limit = LEAST + FACTOR * n_bytes
    if number * each > limit:
        raise ModelFileError(
            f"it holds {number} {what}, too many for its {n_bytes} bytes: they would take {number * each} "
            f"bytes of memory, and the limit is {limit}."
        )


def max_flags(n_bytes: int) -> int:
    """Return how many flags the sets of categories of a file of this size may have in all."""
    return LEAST + FLAGS_FACTOR * n_bytes


def check_flags(n_flags: int, n_bytes: int) -> None:
    """Raise a BrokenTreeError if a model has more flags than a file of its size may."""
    if n_flags > max_flags(n_bytes):
        raise BrokenTreeError(
            f"the sets of categories need {n_flags} flags, and a file of {n_bytes} bytes may have "
            f"{max_flags(n_bytes)}: columns with fewer categories, or smaller trees, need fewer."
        )


def _check_arrays(document: Document, n_bytes: int) -> None:
    """Check the numbers of trees, labels and nodes before any array is decoded."""
    trees: Sequence[TreeDocument | TreePart | MemberPart]
    trees = [document, *(document.candidates or ())] if isinstance(document, TreeDocument) else document.trees
    _check_size(n_bytes, len(trees), TREE, "trees")
    labels: list[tuple[Any, ...]] = [document.schema.target.classes]
    labels += [feature.categories for feature in document.schema.features]
    for tree in trees:
        if isinstance(tree, MemberPart) and tree.target:
            labels.append(tree.target.classes)
        for edit in tree.edits or ():
            for node in (edit.before, edit.after):
                labels += [node.categories or (), node.value if isinstance(node.value, tuple) else ()]
    _check_size(n_bytes, sum(map(len, labels)), LABEL, "categories and classes")
    for position, tree in enumerate(trees):
        place = "nodes" if tree is document else f"trees[{position}].nodes"
        if isinstance(tree, CandidatePart):
            place = f"candidates[{position - 1}].nodes"
        _check_lengths(tree.nodes, place)
    if isinstance(document, EnsembleDocument):
        for name in ("weights", "outputs"):
            if (length := count_entries(getattr(document, name), FORMS[name])) != len(trees):
                raise ModelFileError(f"{name} has {length} numbers: there are {len(trees)} trees.")


def _check_lengths(nodes: NodesPart, place: str) -> None:
    n_nodes = count_entries(nodes.feature, FORMS["feature"])
    for name, array in asdict(nodes).items():
        if array is UNSET:
            continue
        if has_strings(array):
            for _ in read_pieces(array, FORMS[name], f"{place}.{name}"):
                pass  # the error names the entry
        # Rows without values are listed by leaf and feature, of which there may be any number.
        if name != "not_recorded" and (length := count_entries(array, FORMS[name])) != n_nodes:
            raise ModelFileError(f"at {place}: {name} has {length} nodes and feature has {n_nodes}.")
