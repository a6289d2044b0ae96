"""The JSON document of a tree, of several or of an ensemble: its fields, its text and its checksum."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import asdict, replace

from holdfast.data.schema import Kind

FORMAT: Final = "holdfast-model"
VERSION: Final = 1
_BLOCKS = ("schema", "nodes", "trees")  # the entries with several lines

_NodeIndex = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
_CategoryIndex = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
# JSON tells 1, 1.0, true and "1" apart, and so does msgspec: a label comes back as the type it was.
_Label = str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | float | bool


class _Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of the document. Every field is there and nothing else is."""


class FeaturePart(_Part):
    """A feature of the schema."""

    name: str
    kind: Kind
    low: float
    high: float
    categories: tuple[_Label, ...]


class TargetPart(_Part):
    """What is predicted."""

    name: str
    classes: tuple[_Label, ...]
    low: float
    high: float


class SchemaPart(_Part):
    """The ruler."""

    features: tuple[FeaturePart, ...]
    target: TargetPart


class NodesPart(_Part):
    """The nodes of a tree: one entry for each node in every list."""

    feature: list[_NodeIndex]
    threshold: list[float | None]  # null where the tree has NaN
    left: list[_NodeIndex]
    right: list[_NodeIndex]
    missing_left: list[bool]
    categories_left: list[list[_CategoryIndex] | None]
    value: list[list[float]]
    count: list[float]
    weight: list[float]
    impurity: list[float]


class TreeDocument(_Part):
    """The whole document of a tree, its fields in the order in which they are written."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["tree"]
    checksum: str  # of the text without this line
    criterion: str
    notes: tuple[str, ...]
    schema: SchemaPart
    nodes: NodesPart


class TreePart(_Part):
    """One of several trees."""

    criterion: str
    notes: tuple[str, ...]
    nodes: NodesPart


class TreesDocument(_Part):
    """The whole document of several trees, which share a schema."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["trees"]
    checksum: str  # of the text without this line
    schema: SchemaPart
    trees: list[TreePart]


class MemberPart(_Part):
    """One tree of an ensemble, on the features of its schema."""

    target: TargetPart | None  # null where the tree predicts what the ensemble does
    criterion: str
    notes: tuple[str, ...]
    nodes: NodesPart


class EnsembleDocument(_Part):
    """The whole document of an ensemble."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["ensemble"]
    checksum: str  # of the text without this line
    link: Literal["mean", "identity", "exp", "logistic", "double_logistic", "softmax"]
    votes: bool
    start: list[float]
    weights: list[float]
    outputs: list[_NodeIndex]
    notes: tuple[str, ...]
    schema: SchemaPart
    trees: list[MemberPart]


Document = TreeDocument | TreesDocument | EnsembleDocument


# -- the text -----------------------------------------------------------------------------------------


def text_of(document: Document) -> bytes:
    """One line for each entry, each feature and each array, so that a line of a diff is one change.

    Of several trees, one line for each.
    """
    entries = {name: _line(entry) for name, entry in asdict(document).items() if name not in _BLOCKS}
    if not document.checksum:
        del entries["checksum"]
    features = _block("[]", map(_line, document.schema.features), indent=4)
    entries["schema"] = _object({"features": features, "target": _line(document.schema.target)}, indent=2)
    if isinstance(document, TreesDocument | EnsembleDocument):
        entries["trees"] = _block("[]", map(_line, document.trees), indent=2)
    else:
        arrays = {name: _line(array) for name, array in asdict(document.nodes).items()}
        entries["nodes"] = _object(arrays, indent=2)
    return _object(entries, indent=0).encode() + b"\n"


def _object(entries: dict[str, str], indent: int) -> str:
    return _block("{}", (f'"{name}": {entry}' for name, entry in entries.items()), indent)


def _block(brackets: str, entries: Iterable[str], indent: int) -> str:
    margin = "\n" + " " * indent
    inside = ",".join(f"{margin}  {entry}" for entry in entries)
    return f"{brackets[0]}{inside}{margin}{brackets[1]}" if inside else brackets


def _line(entry: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(entry), indent=0).decode()


def checksum_of(document: Document) -> str:
    """SHA-256 of the text that holdfast would write, without the line of the checksum.

    Of the content rather than the bytes: other line ends, or another indent, do no harm.
    """
    return "sha256:" + sha256(text_of(replace(document, checksum=""))).hexdigest()
