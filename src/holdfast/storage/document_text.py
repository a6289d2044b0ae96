"""The text of a document, which a person can read and git can compare, and its checksum."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from holdfast.storage.document import (
    FORMS,
    Document,
    EnsembleDocument,
    EstimatorPart,
    MemberPart,
    NodesPart,
    TablePart,
    TreePart,
    TreesDocument,
)
from holdfast.storage.json_array import Form, respelt

_Spelling = Callable[[msgspec.Raw, Form, str], msgspec.Raw]


def text_of(document: Document) -> bytes:
    """One line for each entry, each feature and each array, so that a line of a diff is one change.

    Of several trees, one line for each. The checksum is that of all other lines.
    """
    content = b"".join(_content(document, _as_it_is))
    kind = b'\n  "kind": %b,' % msgspec.json.encode(document.kind)
    return content.replace(kind, kind + _checksum_line(_digest([content])), 1)


def is_unchanged(document: Document, data: bytes) -> bool:
    """True if the bytes, or what they say, have the checksum that the document in them states.

    What they say counts as holdfast writes it: other line ends, or another indent, do no harm.
    """
    written = data.replace(_checksum_line(document.checksum), b"", 1)
    return document.checksum == _digest([written]) or document.checksum == checksum_of(document)


def checksum_of(document: Document) -> str:
    """SHA-256 of the text that holdfast would write, without the line of the checksum."""
    return _digest(_content(document, respelt))


def _digest(pieces: Iterable[bytes]) -> str:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return "sha256:" + digest.hexdigest()


def _checksum_line(checksum: str) -> bytes:
    return b'\n  "checksum": %b,' % msgspec.json.encode(checksum)


# -- the lines ----------------------------------------------------------------------------------------


def _content(document: Document, spelling: _Spelling) -> Iterator[bytes]:
    """The text without the checksum, in pieces: no more than one array, or one tree, is held at a time."""
    lines: dict[str, Iterable[bytes]] = {}
    for name, entry in asdict(document).items():
        if isinstance(entry, EstimatorPart):
            lines[name] = _estimator_lines(entry)
        elif name == "edits" and entry is not msgspec.UNSET:
            lines[name] = _block(b"[]", map(_line, entry), indent=2)
        elif entry is not msgspec.UNSET and name not in ("checksum", "edits", "schema", "nodes", "trees"):
            is_array = isinstance(entry, msgspec.Raw)
            lines[name] = _line(spelling(entry, FORMS[name], name) if is_array else entry)
    features = _block(b"[]", map(_line, document.schema.features), indent=4)
    schema = {"features": features, "target": _line(document.schema.target)}
    lines["schema"] = _object(schema.items(), indent=2)
    if isinstance(document, TreesDocument | EnsembleDocument):
        trees: Sequence[TreePart | MemberPart] = document.trees
        of_trees = (_tree_line(tree, spelling, position) for position, tree in enumerate(trees))
        lines["trees"] = _block(b"[]", of_trees, indent=2)
    else:
        arrays = ((name, _line(array)) for name, array in _spelt(document.nodes, spelling, "nodes"))
        lines["nodes"] = _object(arrays, indent=2)
    yield from _object(lines.items(), indent=0)
    yield b"\n"


def _estimator_lines(part: EstimatorPart) -> Iterator[bytes]:
    """A line for each parameter, each attribute and each array."""
    blocks = ("parameters", "attributes", "tables", "permutation", "choice", "density")
    lines: dict[str, Iterable[bytes]] = {}
    for name, entry in asdict(part).items():
        lines[name] = _lines_of(entry, indent=4) if name in blocks and entry is not None else _line(entry)
    return _object(lines.items(), indent=2)


def _lines_of(part: Any, indent: int) -> Iterator[bytes]:
    """A line for each entry; tables and their columns are blocks of their own."""
    entries = part if isinstance(part, dict) else asdict(part)
    named = (
        (name, _lines_of(entry, indent + 2) if isinstance(entry, dict | TablePart) else _line(entry))
        for name, entry in entries.items()
    )
    return _object(named, indent)


def _tree_line(tree: TreePart | MemberPart, spelling: _Spelling, position: int) -> Iterator[bytes]:
    arrays = dict(_spelt(tree.nodes, spelling, f"trees[{position}].nodes"))
    return _line(replace(tree, nodes=NodesPart(**arrays)))


def _spelt(nodes: NodesPart, spelling: _Spelling, place: str) -> Iterator[tuple[str, msgspec.Raw]]:
    for name, array in asdict(nodes).items():
        if array is msgspec.UNSET:
            continue
        yield name, spelling(array, FORMS[name], f"{place}.{name}")


def _as_it_is(array: msgspec.Raw, form: Form, place: str) -> msgspec.Raw:
    return array


def _object(entries: Iterable[tuple[str, Iterable[bytes]]], indent: int) -> Iterator[bytes]:
    named = (chain([b"%b: " % msgspec.json.encode(name)], entry) for name, entry in entries)
    return _block(b"{}", named, indent)


def _block(brackets: bytes, entries: Iterable[Iterable[bytes]], indent: int) -> Iterator[bytes]:
    margin = b"\n" + b" " * indent
    before = brackets[:1]
    for entry in entries:
        yield before + margin + b"  "
        yield from entry
        before = b","
    yield margin + brackets[1:] if before == b"," else brackets


def _line(entry: Any) -> Iterator[bytes]:
    yield msgspec.json.format(msgspec.json.encode(entry), indent=0)
