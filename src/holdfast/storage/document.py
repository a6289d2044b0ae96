"""The JSON document of a tree, of several, of an ensemble or of an estimator: what its fields hold."""

from typing import Final, Literal

import msgspec

from holdfast.data.schema import Kind
from holdfast.storage.estimator_parts import EstimatorPart
from holdfast.storage.json_array import GAPPED_LISTS, GAPPED_NUMBERS, INDICES, LISTS, NUMBERS, TRUTHS
from holdfast.storage.part import LabelEntry, Part
from holdfast.tree.edit import EditKind

FORMAT: Final = "holdfast-model"
VERSION: Final = 1


class FeaturePart(Part):
    """A feature of the schema."""

    name: str
    kind: Kind
    low: float
    high: float
    categories: tuple[LabelEntry, ...]


class TargetPart(Part):
    """What is predicted."""

    name: str
    classes: tuple[LabelEntry, ...]
    low: float
    high: float
    positive: LabelEntry | msgspec.UnsetType = msgspec.UNSET  # only where it was said


class SchemaPart(Part):
    """The features and the target."""

    features: tuple[FeaturePart, ...]
    target: TargetPart


class NodesPart(Part):
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
    observed: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only where value and count do not tell it
    effective: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only where rows weigh unlike, or have groups
    deviation: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only where the impurity does not tell it
    rows_mean: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only where observed and value do not tell it
    teacher_mean: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only of posterior values
    # Leaf, feature and rows that lack its value: not one entry for each node. Only where it is known.
    not_recorded: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    # Those of the categories that training rows had at the node; only where that is known.
    categories_seen: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    split_support: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # only of trees with references


class EditedNodePart(Part):
    """What a node asked or, where it has no feature, said before an edit or after it."""

    feature: str | None
    threshold: float | None
    categories: tuple[LabelEntry, ...] | None  # those that went left
    missing_left: bool
    classes: tuple[LabelEntry, ...]  # whose fractions the value has; none of a number
    value: tuple[float, ...]  # none where the node asked a question


class EditPart(Part):
    """One change that was made by hand."""

    kind: EditKind
    path: str
    before: EditedNodePart
    after: EditedNodePart
    by: str
    why: str
    when: str
    stale: bool


Losses = tuple[tuple[float, ...], ...] | msgspec.UnsetType  # only where there are some
Edits = tuple[EditPart, ...] | msgspec.UnsetType  # only where there are some


class MonotonePart(Part):
    """Which way the values of a tree go along features."""

    features: tuple[str, ...]
    directions: tuple[Literal[-1, 1], ...]
    outcome: LabelEntry | None  # the class whose fraction it is; null for a number


Promise = MonotonePart | msgspec.UnsetType  # only where there is one


class TreeDocument(Part, kw_only=True):
    """The whole document of a tree, its fields in the order in which they are written."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["tree"]
    checksum: str  # of the text without this line
    criterion: str
    notes: tuple[str, ...]
    loss_matrix: Losses = msgspec.UNSET
    edits: Edits = msgspec.UNSET
    monotone: Promise = msgspec.UNSET
    estimator: EstimatorPart | msgspec.UnsetType = msgspec.UNSET  # only where one was saved
    schema: SchemaPart
    nodes: NodesPart


class TreePart(Part, kw_only=True):
    """One of several trees."""

    criterion: str
    notes: tuple[str, ...]
    loss_matrix: Losses = msgspec.UNSET
    edits: Edits = msgspec.UNSET
    monotone: Promise = msgspec.UNSET
    nodes: NodesPart


class TreesDocument(Part):
    """The whole document of several trees, which share a schema."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["trees"]
    checksum: str  # of the text without this line
    schema: SchemaPart
    trees: list[TreePart]


class MemberPart(Part, kw_only=True):
    """One tree of an ensemble, on the features of its schema."""

    target: TargetPart | None  # null where the tree predicts what the ensemble does
    criterion: str
    notes: tuple[str, ...]
    loss_matrix: Losses = msgspec.UNSET
    edits: Edits = msgspec.UNSET
    monotone: Promise = msgspec.UNSET
    nodes: NodesPart


class EnsembleDocument(Part, kw_only=True):
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
    loss_matrix: Losses = msgspec.UNSET
    estimator: EstimatorPart | msgspec.UnsetType = msgspec.UNSET  # only where one was saved
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
    "observed": LISTS,
    "effective": NUMBERS,
    "deviation": NUMBERS,
    "rows_mean": LISTS,
    "teacher_mean": LISTS,
    "split_support": GAPPED_NUMBERS,
    "not_recorded": LISTS,
    "categories_seen": GAPPED_LISTS,
    "start": NUMBERS,
    "weights": NUMBERS,
    "outputs": INDICES,
}
