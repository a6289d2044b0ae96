"""The JSON document of a tree, of several or of an ensemble: its fields and what they hold."""

from typing import Annotated, Final, Literal

import msgspec

from holdfast.data.schema import Kind
from holdfast.storage.json_array import GAPPED_LISTS, GAPPED_NUMBERS, INDICES, LISTS, NUMBERS, TRUTHS

FORMAT: Final = "holdfast-model"
VERSION: Final = 1

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
    """The nodes of a tree: one entry for each node in every array. `FORMS` says what the entries are."""

    feature: msgspec.Raw
    threshold: msgspec.Raw  # null where the tree has NaN
    left: msgspec.Raw
    right: msgspec.Raw
    missing_left: msgspec.Raw
    categories_left: msgspec.Raw
    value: msgspec.Raw
    outcome: msgspec.Raw  # index of the class that the node predicts; -1 where the target is a number
    count: msgspec.Raw
    weight: msgspec.Raw
    impurity: msgspec.Raw


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
    start: msgspec.Raw
    weights: msgspec.Raw
    outputs: msgspec.Raw
    notes: tuple[str, ...]
    schema: SchemaPart
    trees: list[MemberPart]


Document = TreeDocument | TreesDocument | EnsembleDocument

# What the entries of each array are.
FORMS = {
    "feature": INDICES,
    "threshold": GAPPED_NUMBERS,
    "left": INDICES,
    "right": INDICES,
    "missing_left": TRUTHS,
    "categories_left": GAPPED_LISTS,
    "value": LISTS,
    "outcome": INDICES,
    "count": NUMBERS,
    "weight": NUMBERS,
    "impurity": NUMBERS,
    "start": NUMBERS,
    "weights": NUMBERS,
    "outputs": INDICES,
}
