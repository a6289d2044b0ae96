"""The JSON document of a tree, or of several: its fields, its text and its checksum."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

import msgspec
import numpy as np
from msgspec.structs import asdict, replace

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature, Kind, Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.tree.check import check_features, set_lengths
from holdfast.tree.tree import Tree

FORMAT: Final = "holdfast-model"
VERSION: Final = 1
MAX_FLAGS = 2**28  # of all sets of categories together
_BLOCKS = ("schema", "nodes", "trees")  # the entries with several lines

_NodeIndex = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
_CategoryIndex = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
# JSON tells 1, 1.0, true and "1" apart, and so does msgspec: a label comes back as the type it was.
_Label = str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | float | bool


class _Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of the document. Every field is there and nothing else is."""


class _Feature(_Part):
    name: str
    kind: Kind
    low: float
    high: float
    categories: tuple[_Label, ...]


class _Target(_Part):
    name: str
    classes: tuple[_Label, ...]
    low: float
    high: float


class _Schema(_Part):
    features: tuple[_Feature, ...]
    target: _Target


class _Nodes(_Part):
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
    schema: _Schema
    nodes: _Nodes


class TreePart(_Part):
    """One of several trees."""

    criterion: str
    notes: tuple[str, ...]
    nodes: _Nodes


class TreesDocument(_Part):
    """The whole document of several trees, which share a schema."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["trees"]
    checksum: str  # of the text without this line
    schema: _Schema
    trees: list[TreePart]


# -- between a tree and its document --------------------------------------------------------------------


def document_of(tree: Tree) -> TreeDocument:
    """The document of a sound tree, with its checksum."""
    document = TreeDocument(
        format=FORMAT,
        version=VERSION,
        kind="tree",
        checksum="",
        criterion=str(tree.criterion),
        notes=tuple(map(str, tree.notes)),
        schema=_schema_part(tree.schema),
        nodes=_nodes_part(tree),
    )
    document.checksum = checksum_of(document)
    return document


def collection_of(trees: Sequence[Tree]) -> TreesDocument:
    """The document of one or more sound trees that share a schema, with its checksum."""
    document = TreesDocument(
        format=FORMAT,
        version=VERSION,
        kind="trees",
        checksum="",
        schema=_schema_part(trees[0].schema),
        trees=[
            TreePart(
                criterion=str(tree.criterion), notes=tuple(map(str, tree.notes)), nodes=_nodes_part(tree)
            )
            for tree in trees
        ],
    )
    document.checksum = checksum_of(document)
    return document


def _schema_part(schema: Schema) -> _Schema:
    features = [
        _Feature(
            name=str(feature.name),
            kind=feature.kind,
            low=float(feature.low),
            high=float(feature.high),
            categories=feature.categories,
        )
        for feature in schema.features
    ]
    target = schema.target
    return _Schema(
        features=tuple(features),
        target=_Target(
            name=str(target.name), classes=target.classes, low=float(target.low), high=float(target.high)
        ),
    )


def _nodes_part(tree: Tree) -> _Nodes:
    categories: list[list[int] | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        categories[node] = np.flatnonzero(tree.left_categories(node)).tolist()
    return _Nodes(
        feature=tree.feature.tolist(),
        threshold=[None if number != number else number for number in tree.threshold.tolist()],
        left=tree.left.tolist(),
        right=tree.right.tolist(),
        missing_left=tree.missing_left.tolist(),
        categories_left=categories,
        value=tree.value.tolist(),
        count=tree.count.tolist(),
        weight=tree.weight.tolist(),
        impurity=tree.impurity.tolist(),
    )


def schema_in(part: _Schema) -> Schema:
    """The schema as the document says it is: whether it is a sound one remains to be checked."""
    features = tuple(Feature(**asdict(feature)) for feature in part.features)
    return Schema(features, Target(**asdict(part.target)))


def tree_in(part: TreeDocument | TreePart, schema: Schema, max_flags: int = MAX_FLAGS) -> Tree:
    """The tree as the document says it is: whether it is a sound one remains to be checked.

    Its sets of categories may need `max_flags` flags: a few bytes can ask for a thousand million.
    """
    nodes = part.nodes
    for name, column in asdict(nodes).items():
        if len(column) != len(nodes.feature):
            raise BrokenTreeError(f"{name} has {len(column)} nodes and feature has {len(nodes.feature)}.")
    feature = np.array(nodes.feature, np.int32)
    set_start, in_set = _sets_in(nodes, schema, feature, max_flags)
    return Tree(
        schema,
        feature,
        np.array(nodes.threshold, np.float64),  # None becomes NaN
        np.array(nodes.left, np.int32),
        np.array(nodes.right, np.int32),
        np.array(nodes.missing_left, np.bool_),
        set_start,
        in_set,
        _value_in(nodes, max(len(schema.target.classes), 1)),
        np.array(nodes.count, np.float64),
        np.array(nodes.weight, np.float64),
        np.array(nodes.impurity, np.float64),
        part.criterion,
        part.notes,
    )


def _sets_in(nodes: _Nodes, schema: Schema, feature: IntArray, max_flags: int) -> tuple[LongArray, BoolArray]:
    check_features(schema, feature)
    has_set, lengths = set_lengths(schema, feature)
    # A few bytes are enough for that: many categories, and many nodes with an empty set.
    if lengths.sum() > max_flags:
        raise BrokenTreeError(f"categories_left needs {lengths.sum()} flags: the limit is {max_flags}.")
    starts = np.cumsum(lengths) - lengths
    in_set = np.zeros(lengths.sum(), np.bool_)
    for node, (indices, is_set) in enumerate(zip(nodes.categories_left, has_set.tolist(), strict=True)):
        if (indices is not None) != is_set:
            found = "null" if indices is None else indices
            split = "a split on categories" if is_set else "no split on categories"
            raise BrokenTreeError(f"categories_left[{node}] is {found}: node {node} is {split}.")
        if indices:
            if indices != sorted(set(indices)) or indices[-1] >= lengths[node]:
                raise BrokenTreeError(
                    f"categories_left[{node}] is {indices}: it must list what goes left, each category once "
                    f"and in order, and there are {lengths[node]} of them."
                )
            in_set[starts[node] + np.array(indices)] = True
    return np.where(has_set, starts, -1), in_set


def _value_in(nodes: _Nodes, width: int) -> FloatArray:
    for node, row in enumerate(nodes.value):
        if len(row) != width:
            raise BrokenTreeError(f"value[{node}] has {len(row)} numbers: the target needs {width}.")
    return np.array(nodes.value, np.float64).reshape(-1, width)


# -- the text -----------------------------------------------------------------------------------------


def text_of(document: TreeDocument | TreesDocument) -> bytes:
    """One line for each entry, each feature and each array, so that a line of a diff is one change.

    Of several trees, one line for each.
    """
    entries = {name: _line(entry) for name, entry in asdict(document).items() if name not in _BLOCKS}
    if not document.checksum:
        del entries["checksum"]
    features = _block("[]", map(_line, document.schema.features), indent=4)
    entries["schema"] = _object({"features": features, "target": _line(document.schema.target)}, indent=2)
    if isinstance(document, TreesDocument):
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


def checksum_of(document: TreeDocument | TreesDocument) -> str:
    """SHA-256 of the text that holdfast would write, without the line of the checksum.

    Of the content rather than the bytes: other line ends, or another indent, do no harm.
    """
    return "sha256:" + sha256(text_of(replace(document, checksum=""))).hexdigest()
