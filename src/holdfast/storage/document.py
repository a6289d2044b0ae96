"""The JSON document of a tree, of several, of an ensemble or of an estimator: what its fields hold."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import msgspec

from holdfast.data.schema import Kind
from holdfast.storage.json_array import GAPPED_LISTS, GAPPED_NUMBERS, INDICES, LISTS, NUMBERS, TRUTHS, Form
from holdfast.tree.edit import EditKind

FORMAT: Final = "holdfast-model"
VERSION: Final = 1
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# JSON tells 1, 1.0, true and "1" apart, and so does msgspec: a label comes back as the type it was.
LabelEntry = str | Integer | float | bool


class Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of the document. Every field is there, unless its type says otherwise, and nothing else is."""


# -- schema and trees -------------------------------------------------------------------------------------


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
    """The nodes of a tree: one entry for each node in every array."""

    feature: Annotated[msgspec.Raw, INDICES]
    threshold: Annotated[msgspec.Raw, GAPPED_NUMBERS]  # null where the tree has NaN
    left: Annotated[msgspec.Raw, INDICES]
    right: Annotated[msgspec.Raw, INDICES]
    missing_left: Annotated[msgspec.Raw, TRUTHS]
    categories_left: Annotated[msgspec.Raw, GAPPED_LISTS]
    value: Annotated[msgspec.Raw, LISTS]
    outcome: Annotated[
        msgspec.Raw, INDICES
    ]  # index of the class that the node predicts; -1 where the target is a number
    count: Annotated[msgspec.Raw, NUMBERS]
    weight: Annotated[msgspec.Raw, NUMBERS]
    impurity: Annotated[msgspec.Raw, NUMBERS]
    observed: Annotated[msgspec.Raw, LISTS] | msgspec.UnsetType = (
        msgspec.UNSET
    )  # only where value and count do not tell it
    effective: Annotated[msgspec.Raw, NUMBERS] | msgspec.UnsetType = (
        msgspec.UNSET
    )  # only where rows weigh unlike, or have groups
    deviation: Annotated[msgspec.Raw, NUMBERS] | msgspec.UnsetType = (
        msgspec.UNSET
    )  # only where the impurity does not tell it
    rows_mean: Annotated[msgspec.Raw, LISTS] | msgspec.UnsetType = (
        msgspec.UNSET
    )  # only where observed and value do not tell it
    teacher_mean: Annotated[msgspec.Raw, LISTS] | msgspec.UnsetType = (
        msgspec.UNSET
    )  # only of posterior values
    # Leaf, feature and rows that lack its value: not one entry for each node. Only where it is known.
    not_recorded: Annotated[msgspec.Raw, LISTS] | msgspec.UnsetType = msgspec.UNSET
    # Those of the categories that training rows had at the node; only where that is known.
    categories_seen: Annotated[msgspec.Raw, GAPPED_LISTS] | msgspec.UnsetType = msgspec.UNSET
    split_support: Annotated[msgspec.Raw, GAPPED_NUMBERS] | msgspec.UnsetType = (
        msgspec.UNSET
    )  # only of trees with references


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


# -- parameters -------------------------------------------------------------------------------------------

Scalar = LabelEntry | None
Key = LabelEntry | tuple[LabelEntry, ...]  # a pair of classes, too
List = tuple[Scalar | tuple[Scalar, ...], ...]  # also of lists, such as sets of columns


class MappingPart(Part):
    """A mapping. Its keys are labels of any type, which the keys of a JSON object are not."""

    keys: tuple[Key, ...]
    values: tuple["Scalar | List | MappingPart", ...]  # a mapping in growth rules alone


Parameter = Scalar | List | MappingPart

# -- what fit left behind ---------------------------------------------------------------------------------

Index = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Numbers = tuple[float, ...]
GappedNumbers = tuple[float | None, ...]  # null where the array has NaN


class MetricPart(Part):
    """What scores were measured by."""

    name: str
    title: str
    is_loss: bool


class PermutationPart(Part):
    """The importances by permutation, one number for each feature."""

    metric: MetricPart
    mean: GappedNumbers
    deviation: GappedNumbers
    error: GappedNumbers


class ChoicePart(Part):
    """The choice of a stable tree from its frontier."""

    candidate: Index
    selection_rule: str
    reason: str


class TablePart(Part):
    """A table: its columns and its texts by name."""

    columns: dict[str, tuple[Integer | float | bool | tuple[float, ...] | None, ...]]
    texts: dict[str, str]
    metric: MetricPart | None


class DensityPart(Part):
    """The clusters of a density tree, in standard units."""

    numeric: tuple[Index, ...]  # features that are numbers
    categorical: tuple[Index, ...]  # features that are categories
    centre: Numbers
    scale: Numbers
    measurement_variance: Numbers
    fractions: Numbers
    mean: tuple[Numbers, ...]
    full: bool  # with correlations; else each covariance is the variances alone
    covariance: tuple[Numbers, ...]
    log_frequency: tuple[Numbers, ...]
    evidence: tuple[
        tuple[Index, float | None, float | None, float | None], ...
    ]  # node, count, gain, standard error


class EstimatorPart(Part):
    """The estimator whose tree or ensemble the document holds."""

    name: str
    parameters: dict[str, Parameter]
    left_out: tuple[str, ...]  # parameters and attributes that the file does not hold
    has_feature_names: bool  # it was fitted to columns with names
    label_type: str  # of classes_; empty if it has none
    attributes: dict[str, Integer | float | GappedNumbers | dict[str, float]]
    tables: dict[str, TablePart]
    permutation: PermutationPart | None
    choice: ChoicePart | None
    density: DensityPart | None


# -- documents --------------------------------------------------------------------------------------------


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
    start: Annotated[msgspec.Raw, NUMBERS]
    weights: Annotated[msgspec.Raw, NUMBERS]
    outputs: Annotated[msgspec.Raw, INDICES]
    notes: tuple[str, ...]
    loss_matrix: Losses = msgspec.UNSET
    estimator: EstimatorPart | msgspec.UnsetType = msgspec.UNSET  # only where one was saved
    schema: SchemaPart
    trees: list[MemberPart]


Document = TreeDocument | TreesDocument | EnsembleDocument


def _forms(hint: Any) -> Iterator[Form]:
    """The form of an array that a field holds as text."""
    for each in (*get_args(hint), *getattr(hint, "__metadata__", ())):
        if isinstance(each, Form):
            yield each
        elif get_args(each):
            yield from _forms(each)


# What the entries of each array are.
FORMS: dict[str, Form] = {
    name: form
    for kind in (NodesPart, EnsembleDocument)
    for name, hint in get_type_hints(kind, include_extras=True).items()
    for form in _forms(hint)
}
