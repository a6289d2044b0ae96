"""The JSON document of trees, ensembles and estimators: its fields, its text, its checksum."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace
from numpy.typing import DTypeLike, NDArray

from holdfast._arrays import FloatArray, LongArray
from holdfast.data.schema import Kind
from holdfast.ensembles.max_features import MaxFeaturesTable
from holdfast.ensembles.out_of_bag import Curve
from holdfast.errors import ModelFileError
from holdfast.growth.size_search import SizeTable
from holdfast.stable.consensus.size import SizeChoice
from holdfast.stable.frontier import Frontier
from holdfast.tree.check import Link
from holdfast.tree.edit import EditKind

FORMAT: Final = "holdfast-model"
VERSION: Final = 1

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Index = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
NodeIndex = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
# JSON distinguishes 1, 1.0, true and "1", and so does msgspec: a label keeps its type.
LabelEntry = str | Integer | float | bool


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the document. Fields are required unless their type includes UnsetType; no others exist."""


# -- Arrays of a tree, which stay text until their lengths have been checked ---------------------------------

# Bytes that are decoded at a time. A number of one digit takes two bytes in the file, and 32 as an object.
PIECE = 2**20
LONGEST_ENTRY = 2**25  # bytes: the fractions of more than a million classes


@dataclass(frozen=True)
class Form:
    """The type of the entries of an array, and the end of an entry in its text."""

    entry: Any
    end: re.Pattern[bytes]
    dtype: DTypeLike = np.float64


_QUOTE = re.compile(rb'"')
_COMMA, _COMMA_AFTER_LIST = re.compile(rb","), re.compile(rb"[\]l]\s*,")  # or after null
INDICES = Form(NodeIndex, _COMMA, np.int32)
NUMBERS = Form(float, _COMMA)
GAPPED_NUMBERS = Form(float | None, _COMMA)
FLAGS = Form(bool, _COMMA, np.bool_)
LISTS = Form(list[float], _COMMA_AFTER_LIST)
GAPPED_LISTS = Form(list[Index] | None, _COMMA_AFTER_LIST)


def encode_array(entries: list[Any]) -> msgspec.Raw:
    """Write the entries as JSON."""
    return msgspec.Raw(msgspec.json.encode(entries))


def count_entries(array: msgspec.Raw, form: Form) -> int:
    """Count the entries without decoding them; any number for text that is no array."""
    text = bytes(array)
    if b"," not in text and not text[1:-1].strip():
        return 0
    if form.end is _COMMA:
        return text.count(b",") + 1
    return text.count(b"[") - 1 + text.count(b"null")


def has_strings(array: msgspec.Raw) -> bool:
    """True if a string occurs in it, which no form of array allows."""
    return _QUOTE.search(memoryview(array)) is not None


def read_array(array: msgspec.Raw, form: Form, place: str) -> NDArray[Any]:
    """Read the entries as an array of numbers; null becomes NaN."""
    numbers = np.empty(count_entries(array, form), form.dtype)
    filled = 0
    for entries in read_pieces(array, form, place):
        numbers[filled : filled + len(entries)] = entries
        filled += len(entries)
    return numbers


def read_pieces(array: msgspec.Raw, form: Form, place: str) -> Iterator[list[Any]]:
    """Read the entries, some thousands at a time; a ModelFileError if they are of another form."""
    text = memoryview(array)
    if bytes(text[:1]) != b"[":
        raise ModelFileError(f"at {place}: it must be an array.")
    begin, n_before = 1, 0
    while begin < len(text):
        match = form.end.search(text, begin + PIECE)
        end = match.end() - 1 if match else len(text) - 1
        if end - begin > PIECE + LONGEST_ENTRY:
            raise ModelFileError(f"at {place}: an entry takes {end - begin} bytes, too many for any model.")
        entries = _read_piece(b"[%b]" % bytes(text[begin:end]), form, place, n_before)
        yield entries
        begin, n_before = end + 1, n_before + len(entries)


def _read_piece(text: bytes, form: Form, place: str, n_before: int) -> list[Any]:
    try:
        entries: list[Any] = msgspec.json.decode(text, type=list[form.entry])  # type: ignore[name-defined]
        return entries
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        index, _, rest = within.removeprefix("[").rstrip("`").partition("]")
        if index.isdigit():
            place = f"{place}[{n_before + int(index)}]{rest}"
        raise ModelFileError(f"at {place}: {problem[:200]}.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        # The file is JSON as a whole: this piece ends within a string or list that should not be there.
        raise ModelFileError(f"at {place}: its entries are of another kind.") from error


# -- Schema and trees ----------------------------------------------------------------------------------------


class FeaturePart(Part):
    """A feature of the schema."""

    name: str
    kind: Kind
    low: float
    high: float
    categories: tuple[LabelEntry, ...]


class HazardPart(Part, omit_defaults=True):
    """The hazard of all rows, to which relative risks refer."""

    times: tuple[float, ...]
    cumulative: tuple[float, ...]
    horizon: float
    time: str
    entry: str | None
    is_linear: bool
    unit: str | None = None


class TargetPart(Part, omit_defaults=True):
    """What is predicted."""

    name: str
    classes: tuple[LabelEntry, ...]
    low: float
    high: float
    positive: LabelEntry | None = None
    hazard: HazardPart | None = None  # of a time to an event


class SchemaPart(Part):
    """The features and the target."""

    features: tuple[FeaturePart, ...]
    target: TargetPart


class NodesPart(Part):
    """The nodes of a tree: one entry per node in every array but `not_recorded`."""

    feature: Annotated[msgspec.Raw, INDICES]
    threshold: Annotated[msgspec.Raw, GAPPED_NUMBERS]  # null where the tree has NaN
    left: Annotated[msgspec.Raw, INDICES]
    right: Annotated[msgspec.Raw, INDICES]
    missing_left: Annotated[msgspec.Raw, FLAGS]
    categories_left: Annotated[msgspec.Raw, GAPPED_LISTS]
    value: Annotated[msgspec.Raw, LISTS]
    outcome: Annotated[msgspec.Raw, INDICES]  # index of the predicted class; -1 where the target is a number
    count: Annotated[msgspec.Raw, NUMBERS]
    weight: Annotated[msgspec.Raw, NUMBERS]
    impurity: Annotated[msgspec.Raw, NUMBERS]
    # The others only where the tree has them: see its attributes.
    observed: Annotated[msgspec.Raw, LISTS] | UnsetType = UNSET
    effective: Annotated[msgspec.Raw, NUMBERS] | UnsetType = UNSET
    deviation: Annotated[msgspec.Raw, NUMBERS] | UnsetType = UNSET
    rows_mean: Annotated[msgspec.Raw, LISTS] | UnsetType = UNSET
    teacher_mean: Annotated[msgspec.Raw, LISTS] | UnsetType = UNSET
    not_recorded: Annotated[msgspec.Raw, LISTS] | UnsetType = UNSET  # leaf, feature, rows without its value
    categories_seen: Annotated[msgspec.Raw, GAPPED_LISTS] | UnsetType = UNSET
    split_support: Annotated[msgspec.Raw, GAPPED_NUMBERS] | UnsetType = UNSET


class EditedNodePart(Part):
    """The split of a node or, where it has no feature, the value of a leaf, before or after an edit."""

    feature: str | None
    threshold: float | None
    categories: tuple[LabelEntry, ...] | None  # those that went left
    missing_left: bool
    value: tuple[tuple[LabelEntry, float], ...] | float | None  # fractions by class, or a number


class EditPart(Part):
    """One manual change."""

    kind: EditKind
    path: str
    before: EditedNodePart
    after: EditedNodePart
    by: str
    why: str
    when: str
    stale: bool


class MonotonePart(Part):
    """Monotone constraints by feature."""

    directions: tuple[tuple[str, int], ...]
    outcome: LabelEntry | None  # the class whose fraction it is; null for a number


class EventCurvePart(Part):
    """Events and rows at risk of one node, at ascending times."""

    time: FloatArray
    at_risk: FloatArray
    events: FloatArray


class TreePart(Part, kw_only=True):
    """One of several trees."""

    criterion: str
    notes: tuple[str, ...]
    loss_matrix: tuple[tuple[float, ...], ...] | UnsetType = UNSET
    edits: tuple[EditPart, ...] | UnsetType = UNSET
    monotone: MonotonePart | UnsetType = UNSET
    curves: tuple[EventCurvePart, ...] | UnsetType = UNSET  # of every node, in a survival tree
    nodes: NodesPart


class MemberPart(Part, kw_only=True):
    """One tree of an ensemble, on the features of its schema."""

    target: TargetPart | None  # null where the tree predicts what the ensemble does
    criterion: str
    notes: tuple[str, ...]
    loss_matrix: tuple[tuple[float, ...], ...] | UnsetType = UNSET
    edits: tuple[EditPart, ...] | UnsetType = UNSET
    monotone: MonotonePart | UnsetType = UNSET
    curves: tuple[EventCurvePart, ...] | UnsetType = UNSET  # of every node, in a survival tree
    nodes: NodesPart


class CandidatePart(TreePart, kw_only=True):
    """A tree of the frontier that was not chosen."""

    candidate: Index  # its number


class ReferencesPart(Part):
    """The reference trees of a stable tree, packed: see `io/references.py`."""

    n_trees: Index
    sizes: tuple[Index, ...]  # the most leaves of smaller trees, which are subtrees
    packed: str


# -- Estimators ----------------------------------------------------------------------------------------------

Scalar = LabelEntry | None
Key = LabelEntry | tuple[LabelEntry, ...]  # also pairs of classes
List = tuple[Scalar | tuple[Scalar, ...], ...]  # also of lists, such as sets of columns


class MappingPart(Part):
    """A mapping. Its keys are labels of any type, which the keys of a JSON object are not."""

    keys: tuple[Key, ...]
    values: tuple["Scalar | List | MappingPart", ...]  # a mapping in growth rules alone


Parameter = Scalar | List | MappingPart


class MetricPart(Part):
    """The metric of scores."""

    name: str
    title: str
    is_loss: bool


class PermutationPart(Part):
    """Importances by permutation, one number per feature."""

    metric: MetricPart
    mean: FloatArray
    deviation: FloatArray
    error: FloatArray


class ChoicePart(Part):
    """The choice of a stable tree from its frontier."""

    candidate: Index
    selection_rule: str
    reason: str


class BaselinePart(Part):
    """The test against a constant, where the candidates did not pass it."""

    score: float | None
    error: float | None
    ratio: float | None
    n_rows: Index


class DensityPart(Part):
    """The clusters of a density tree, in standard units; one row per cluster in matrices."""

    numeric: LongArray  # features that are numbers
    categorical: LongArray  # features that are categories
    centre: FloatArray
    scale: FloatArray
    measurement_variance: FloatArray
    fractions: FloatArray
    mean: FloatArray
    full: bool  # with correlations; else each covariance is the variances alone
    covariance: FloatArray
    log_frequency: FloatArray
    evidence: tuple[tuple[Index, float | None, float | None, float | None], ...]  # as HeldOutGain


# Tables that fit leaves behind, by attribute, and their fields that other parts of the document hold.
TABLES: dict[str, Any] = {
    "frontier_": Frontier,
    "max_features_table_": MaxFeaturesTable,
    "oob_curve_": Curve,
    "size_choice_": SizeChoice,
    "size_table_": SizeTable,
}
_APART = ("chosen", "compared", "baseline")
# Attributes that the file holds as they are, where the estimator has them.
NUMBER_ATTRIBUTES: dict[str, Any] = {
    "ccp_alpha_": float,
    "decision_threshold_": float,
    "max_depth_": Integer,
    "max_leaf_nodes_": Integer,
    "max_features_": Integer,
    "min_samples_leaf_": Integer,
    "n_estimators_": Integer,
    "oob_score_": float,
    "oob_score_error_": float,
    "positive_class_": Integer,
    "n_rows_effective_": float,
    "shrinkage_": float,
    "teacher_loss_": float,
}
ARRAY_ATTRIBUTES = (
    "estimator_errors_",
    "oob_improvement_",
    "oob_scores_",
    "train_loss_",
    "validation_loss_",
)
TEACHER_WEIGHTS = "teacher_weights_"


def _table_part(table: type) -> Any:
    """Make the struct of a table: the columns, texts and metric among its fields."""
    hints = get_type_hints(table) | {"metric": MetricPart}
    parts: list[Any] = []
    for field in fields(table):
        if field.name not in _APART:
            optional = [UNSET] if field.default is None and field.name != "metric" else []
            hint = hints[field.name] | UnsetType if optional else hints[field.name]
            parts.append((field.name, hint, *optional))
    return msgspec.defstruct(f"{table.__name__}Part", parts, bases=(Part,), module=__name__, kw_only=True)


TABLE_PARTS = {name: _table_part(table) for name, table in TABLES.items()}
if TYPE_CHECKING:
    FittedPart: TypeAlias = Any
else:
    FittedPart = msgspec.defstruct(
        "FittedPart",
        [
            (name, kind | UnsetType, UNSET)
            for name, kind in {
                **NUMBER_ATTRIBUTES,
                **dict.fromkeys(ARRAY_ATTRIBUTES, FloatArray),
                TEACHER_WEIGHTS: dict[str, float],
                **TABLE_PARTS,
                "permutation": PermutationPart,
                "choice_": ChoicePart,
                "baseline": BaselinePart,
                "density": DensityPart,
            }.items()
        ],
        bases=(Part,),
        module=__name__,
        kw_only=True,
    )


class EstimatorPart(Part):
    """The estimator whose tree or ensemble the document holds."""

    name: str
    parameters: dict[str, Parameter]
    left_out: tuple[str, ...]  # parameters and attributes that the file does not hold
    has_feature_names: bool  # it was fitted to columns with names
    label_type: str  # of classes_; empty if it has none
    fitted: FittedPart  # attributes that fit has set


_ARRAY_ENTRIES: dict[Any, Any] = {np.float64: float | None, np.int64: Integer, np.bool_: bool}


def decode_array(kind: Any, entries: Any) -> NDArray[Any]:
    """Make a vector or matrix of the entries of a list, null as NaN; the `dec_hook` of documents."""
    (dtype,) = get_args(get_args(kind)[1])  # of numpy.ndarray[shape, numpy.dtype[...]]
    entry = _ARRAY_ENTRIES[dtype]
    is_matrix = isinstance(entries, list) and bool(entries) and isinstance(entries[0], list)
    rows: Any = list[list[entry]] if is_matrix else list[entry]  # type: ignore[valid-type]
    try:
        return np.array(msgspec.convert(entries, rows), dtype)
    except (msgspec.ValidationError, ValueError) as error:  # also of rows of different lengths
        raise ValueError("its entries are of another kind") from error


# -- Documents -----------------------------------------------------------------------------------------------


class TreeDocument(Part, kw_only=True):
    """The whole document of a tree, its fields in the order in which they are written."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["tree"]
    checksum: str  # of the text without this line
    criterion: str
    notes: tuple[str, ...]
    loss_matrix: tuple[tuple[float, ...], ...] | UnsetType = UNSET
    edits: tuple[EditPart, ...] | UnsetType = UNSET
    monotone: MonotonePart | UnsetType = UNSET
    curves: tuple[EventCurvePart, ...] | UnsetType = UNSET  # of every node, in a survival tree
    estimator: EstimatorPart | UnsetType = UNSET
    schema: SchemaPart
    nodes: NodesPart
    references: ReferencesPart | UnsetType = UNSET
    candidates: list[CandidatePart] | UnsetType = UNSET


class TreesDocument(Part):
    """The whole document of several trees, which share a schema."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["trees"]
    checksum: str  # of the text without this line
    schema: SchemaPart
    trees: list[TreePart]


class EnsembleDocument(Part, kw_only=True):
    """The whole document of an ensemble."""

    format: Literal["holdfast-model"]
    version: Literal[1]
    kind: Literal["ensemble"]
    checksum: str  # of the text without this line
    link: Link
    votes: bool
    start: Annotated[msgspec.Raw, NUMBERS]
    weights: Annotated[msgspec.Raw, NUMBERS]
    outputs: Annotated[msgspec.Raw, INDICES]
    notes: tuple[str, ...]
    loss_matrix: tuple[tuple[float, ...], ...] | UnsetType = UNSET
    estimator: EstimatorPart | UnsetType = UNSET
    schema: SchemaPart
    trees: list[MemberPart]


Document = TreeDocument | TreesDocument | EnsembleDocument
DOCUMENTS: dict[str, type[Document]] = {
    "tree": TreeDocument,
    "trees": TreesDocument,
    "ensemble": EnsembleDocument,
}


def _list_forms(hint: Any) -> Iterator[Form]:
    for each in (*get_args(hint), *getattr(hint, "__metadata__", ())):
        if isinstance(each, Form):
            yield each
        elif get_args(each):
            yield from _list_forms(each)


# The form of each array that a field holds as text.
FORMS: dict[str, Form] = {
    name: form
    for kind in (NodesPart, EnsembleDocument)
    for name, hint in get_type_hints(kind, include_extras=True).items()
    for form in _list_forms(hint)
}


# -- The text of a document, which a person can read and git can compare, and its checksum -------------------

_Rewriting = Callable[[msgspec.Raw, Form, str], msgspec.Raw]


def write_text(document: Document) -> bytes:
    """Write one line per entry, feature and array, so that a line of a diff is one change.

    Of several trees each has a line. The checksum is that of all other lines.
    """
    content = b"".join(_write_content(document, lambda array, form, place: array))
    kind = b'\n  "kind": %b,' % msgspec.json.encode(document.kind)
    return content.replace(kind, kind + _checksum_line(_digest([content])), 1)


def is_unchanged(document: Document, data: bytes) -> bool:
    """True if the bytes, or their content, have the checksum that the document in them states.

    Of the content as holdfast writes it: other line ends or another indent do no harm.
    """
    written = data.replace(_checksum_line(document.checksum), b"", 1)
    return document.checksum == _digest([written]) or document.checksum == checksum_of(document)


def checksum_of(document: Document) -> str:
    """SHA-256 of the text that holdfast would write, without the line of the checksum."""
    return _digest(_write_content(document, _rewrite_array))


def _digest(parts: Iterable[bytes]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(part)
    return "sha256:" + digest.hexdigest()


def _checksum_line(checksum: str) -> bytes:
    return b'\n  "checksum": %b,' % msgspec.json.encode(checksum)


def _rewrite_array(array: msgspec.Raw, form: Form, place: str) -> msgspec.Raw:
    """Write the array as holdfast does: 1 and 1e0 are 1.0 where the form has numbers."""
    texts = (msgspec.json.encode(entries)[1:-1] for entries in read_pieces(array, form, place))
    return msgspec.Raw(b"[%b]" % b",".join(texts))


def _write_content(document: Document, rewrite: _Rewriting) -> Iterator[bytes]:
    """Write the text without the checksum, in pieces: one array, or one tree, is held at a time."""
    lines: dict[str, Iterable[bytes]] = {}
    for name, entry in _list_entries(document):
        if isinstance(entry, EstimatorPart):
            lines[name] = _write_nested(entry, indent=2)
        elif name == "edits":
            lines[name] = _write_block(b"[]", map(_write_line, entry), indent=2)
        elif name not in ("checksum", "schema", "nodes", "trees", "references", "candidates"):
            is_array = isinstance(entry, msgspec.Raw)
            lines[name] = _write_line(rewrite(entry, FORMS[name], name) if is_array else entry)
    features = _write_block(b"[]", map(_write_line, document.schema.features), indent=4)
    schema = {"features": features, "target": _write_line(document.schema.target)}
    lines["schema"] = _write_object(schema.items(), indent=2)
    if isinstance(document, TreeDocument):
        arrays = _rewrite_nodes(document.nodes, rewrite, "nodes")
        lines["nodes"] = _write_object(((name, _write_line(array)) for name, array in arrays), indent=2)
        if document.references is not UNSET:
            lines["references"] = _write_line(document.references)
        if not isinstance(document.candidates, UnsetType):
            parts = (
                _write_tree(tree, rewrite, i, "candidates") for i, tree in enumerate(document.candidates)
            )
            lines["candidates"] = _write_block(b"[]", parts, indent=2)
    else:
        trees: Sequence[TreePart | MemberPart] = document.trees
        of_trees = (_write_tree(tree, rewrite, position) for position, tree in enumerate(trees))
        lines["trees"] = _write_block(b"[]", of_trees, indent=2)
    yield from _write_object(lines.items(), indent=0)
    yield b"\n"


def _list_entries(part: Any) -> Iterator[tuple[str, Any]]:
    for name, entry in (part if isinstance(part, dict) else asdict(part)).items():
        if entry is not UNSET:
            yield name, entry


def _write_nested(part: Any, indent: int) -> Iterator[bytes]:
    """Write a line per parameter, attribute and column; objects in them are blocks of their own."""
    named = (
        (name, _write_nested(entry, indent + 2) if _is_block(entry, indent) else _write_line(entry))
        for name, entry in _list_entries(part)
    )
    return _write_object(named, indent)


def _is_block(entry: Any, indent: int) -> bool:
    return indent < 6 and isinstance(entry, dict | msgspec.Struct) and not isinstance(entry, MappingPart)


def _write_tree(
    tree: TreePart | MemberPart, rewrite: _Rewriting, position: int, name: str = "trees"
) -> Iterator[bytes]:
    arrays = dict(_rewrite_nodes(tree.nodes, rewrite, f"{name}[{position}].nodes"))
    return _write_line(replace(tree, nodes=NodesPart(**arrays)))


def _rewrite_nodes(nodes: NodesPart, rewrite: _Rewriting, place: str) -> Iterator[tuple[str, msgspec.Raw]]:
    for name, array in _list_entries(nodes):
        yield name, rewrite(array, FORMS[name], f"{place}.{name}")


def _write_object(entries: Iterable[tuple[str, Iterable[bytes]]], indent: int) -> Iterator[bytes]:
    named = (chain([b"%b: " % msgspec.json.encode(name)], entry) for name, entry in entries)
    return _write_block(b"{}", named, indent)


def _write_block(brackets: bytes, entries: Iterable[Iterable[bytes]], indent: int) -> Iterator[bytes]:
    margin = b"\n" + b" " * indent
    before = brackets[:1]
    for entry in entries:
        yield before + margin + b"  "
        yield from entry
        before = b","
    yield margin + brackets[1:] if before == b"," else brackets


def _write_line(entry: Any) -> Iterator[bytes]:
    text = msgspec.json.encode(entry, enc_hook=lambda value: value.tolist())  # of numpy
    yield msgspec.json.format(text, indent=0)
