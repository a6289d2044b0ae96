"""The model file: flat JSON that a person can read and git can compare. Loading it never runs code."""

import os
import re
import stat
from collections.abc import Callable
from json import loads
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from typing import Any, TypeVar

import msgspec

from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.tree.check import check_tree
from holdfast.tree.document import FORMAT, VERSION, TreeDocument, checksum_of, document_of, text_of, tree_in
from holdfast.tree.tree import Tree

MAX_BYTES = 256 * 2**20

# What people give as a model by mistake, known by its first bytes.
_FOREIGN = (
    (re.compile(rb"\x80[\x02-\x05]"), "it looks like a pickle, which can run code: it is never loaded"),
    (re.compile(rb"\x1f\x8b"), "it is compressed with gzip: unpack it first"),
    (re.compile(rb"PK\x03\x04"), "it is a zip archive: unpack it first"),
    (re.compile(rb"\xef\xbb\xbf"), "it starts with a byte order mark: store it as UTF-8 without one"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "it is UTF-16: store it as UTF-8"),
)

_D = TypeVar("_D")


class _Header(msgspec.Struct):
    """What every version of the file has, whatever else is in it."""

    format: str = ""
    version: int = 0
    kind: str = ""


# -- whole files --------------------------------------------------------------------------------------


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a tree, or the tree of a fitted estimator, to the file at `path`. See `save_tree`."""
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, Tree):
        raise TypeError(
            f"Cannot save a {type(model).__name__}: it is no tree, and no estimator with a fitted tree_. "
            "Fit it first, or turn another library's model into a tree: as_tree(model)."
        )
    save_tree(tree, path)


def load(path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES) -> Tree:
    """The model in the file: a tree. See `load_tree`."""
    return load_tree(path, edited=edited, max_bytes=max_bytes)


def save_tree(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Write the tree to the file at `path`, all or nothing: after a failure an older file there is intact."""
    data = tree_to_json(tree)
    target = Path(path).resolve()  # through a link: the file it leads to is replaced, the link stays
    if target.exists() and not target.is_file():
        raise ModelFileError(f"Cannot save the model to '{path}': it is a folder or a device, not a file.")
    # Not by tempfile: its files are readable by their owner alone, and the model would stay so.
    temporary = target.with_name(f".holdfast-{token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            copymode(target, temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_tree(path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES) -> Tree:
    """The tree in the file, checked in full: it routes any row, or a ModelFileError says what is wrong where.

    `edited=True` takes a file that was changed by hand after it was written, if it is still a sound tree.
    """
    try:
        return _tree_from_json(_content(Path(path), max_bytes), edited)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load the model file '{os.fspath(path)}': {error}") from error.__cause__


def _content(path: Path, max_bytes: int) -> bytes:
    mode = path.stat().st_mode
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
                f"load(path, max_bytes={size})."
            )
        return file.read(size)


# -- a tree as bytes ----------------------------------------------------------------------------------


def tree_to_json(tree: Tree) -> bytes:
    """The content of the tree's model file: the same bytes for the same tree."""
    check_tree(tree)
    return text_of(document_of(tree))


def tree_from_json(data: bytes, *, edited: bool = False) -> Tree:
    """The tree that the bytes describe. See `load_tree`."""
    try:
        return _tree_from_json(data, edited)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load the model: {error}") from error.__cause__


def _tree_from_json(data: bytes, edited: bool) -> Tree:
    _refuse_foreign(data)
    header = _decoded(data, _Header)
    if header.format != FORMAT:
        found = repr(header.format[:40]) if header.format else "missing"
        raise ModelFileError(f"it is JSON, but no holdfast model: its format is {found}, not {FORMAT!r}.")
    if header.version > VERSION:
        versions = f"format {header.version}, this one reads {VERSION}"
        raise ModelFileError(f"it was written by a newer holdfast ({versions}): upgrade holdfast.")
    if header.kind not in _KINDS:
        raise ModelFileError(
            f"its kind is {header.kind[:40]!r}, and this holdfast loads: {', '.join(_KINDS)}."
        )
    return _KINDS[header.kind](data, edited)


def _tree(data: bytes, edited: bool) -> Tree:
    document = _decoded(data, TreeDocument)
    _refuse_repeated_keys(data)
    if not edited and document.checksum != checksum_of(document):
        raise ModelFileError(
            "its checksum does not match: the file was changed after it was written. Take it from a copy, or "
            "save the model again; if you meant the change: save(load(path, edited=True), path)."
        )
    try:
        tree = tree_in(document)
        check_tree(tree)
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound tree: {error}") from error
    return tree


# Other kinds of model are one more entry each.
_KINDS: dict[str, Callable[[bytes, bool], Tree]] = {"tree": _tree}


# -- what the bytes are -------------------------------------------------------------------------------


def _refuse_foreign(data: bytes) -> None:
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


def _refuse_repeated_keys(data: bytes) -> None:
    """msgspec takes the last of two equal keys, and a person who reads the file may take the first."""

    def check_pairs(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise ModelFileError(f"it has the key {name!r} twice in one object.")

    loads(data.decode(), object_pairs_hook=check_pairs, parse_int=float)
