"""The hash of a model: by it a register names models, and the file of one is found again."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.errors import ModelFileError
from holdfast.storage.content import MAX_BYTES, content_of, document_in, kind_of, refusals_of
from holdfast.storage.document import Document, EnsembleDocument, TreeDocument, TreesDocument
from holdfast.storage.document_text import checksum_of
from holdfast.storage.hashes import hash_start
from holdfast.storage.model_file import model_to_json
from holdfast.text.lists import joined

_DOCUMENTS: dict[str, type[Any]] = {
    "tree": TreeDocument,
    "trees": TreesDocument,
    "ensemble": EnsembleDocument,
}
_STATED = re.compile(rb'"checksum":\s*"(sha256:[0-9a-f]{64})"')
_START = 4096  # bytes of a model file in which its checksum is stated


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
    with refusals_of(f"the model file '{os.fspath(model)}'"):
        return content_hash(content_of(Path(model), max_bytes))


def content_hash(data: bytes) -> str:
    """The hash of the model that a model file of this content holds."""
    return checksum_of(_document(data))


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
        raise ModelFileError(f"{hash} may be {joined(sorted(found))}: give more of its digits.")
    return next(iter(found.values()))


def _document(data: bytes) -> Document:
    document: Document = document_in(data, _DOCUMENTS[kind_of(data)], False)
    return document


def _model_files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise ModelFileError(f"'{folder}' is no folder: give the one that the models are in.")
    yield from (path for path in sorted(folder.rglob("*.json")) if path.is_file())


def _stated(path: Path) -> str:
    """The checksum that the file states; nothing if it states none."""
    with path.open("rb") as file:
        stated = _STATED.search(file.read(_START))
    return stated[1].decode() if stated else ""
