"""The JSON document of a tree, of several, of an ensemble or of an estimator: what its fields hold."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec.structs import asdict, replace
from numpy.typing import DTypeLike, NDArray

from holdfast.data.schema import Kind
from holdfast.errors import ModelFileError
from holdfast.tree.edit import EditKind

# Bytes that are decoded at a time. A number of one digit takes two bytes in the file, and 32 as an object.
PIECE = 2**20
LONGEST_ENTRY = 2**25  # bytes: the fractions of more than a million classes

NodeIndex = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
CategoryIndex = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


@dataclass(frozen=True)
class Form:
    """What the entries of an array are, and where one of them ends."""

    entry: Any
    end: re.Pattern[bytes]
    kind: DTypeLike = np.float64  # of an array of them

    def decoded(self, text: bytes) -> list[Any]:
        """The entries in the text of an array."""
        entries: list[Any] = msgspec.json.decode(text, type=list[self.entry])  # type: ignore[name-defined]
        return entries


_QUOTE = re.compile(rb'"')
_COMMA, _COMMA_AFTER_LIST = re.compile(rb","), re.compile(rb"[\]l]\s*,")  # or after null
INDICES = Form(NodeIndex, _COMMA, np.int32)
NUMBERS = Form(float, _COMMA)
GAPPED_NUMBERS = Form(float | None, _COMMA)
TRUTHS = Form(bool, _COMMA, np.bool_)
LISTS = Form(list[float], _COMMA_AFTER_LIST)
GAPPED_LISTS = Form(list[CategoryIndex] | None, _COMMA_AFTER_LIST)


def raw_array(entries: list[Any]) -> msgspec.Raw:
    """The entries as JSON."""
    return msgspec.Raw(msgspec.json.encode(entries))


def n_entries(array: msgspec.Raw, form: Form) -> int:
    """Number of entries, counted without decoding them: of an array that is none, any number."""
    text = bytes(array)
    if b"," not in text and not text[1:-1].strip():
        return 0
    if form.end is _COMMA:
        return text.count(b",") + 1
    return text.count(b"[") - 1 + text.count(b"null")


def holds_text(array: msgspec.Raw) -> bool:
    """True if there is a text anywhere in it, which no form of array allows."""
    return _QUOTE.search(memoryview(array)) is not None


def pieces(array: msgspec.Raw, form: Form, place: str) -> Iterator[list[Any]]:
    """The entries, some thousands at a time; a ModelFileError if they are of another form."""
    text = memoryview(array)
    if bytes(text[:1]) != b"[":
        raise ModelFileError(f"at {place}: it must be an array.")
    begin, n_before = 1, 0
    while begin < len(text):
        match = form.end.search(text, begin + PIECE)
        end = match.end() - 1 if match else len(text) - 1
        if end - begin > PIECE + LONGEST_ENTRY:
            raise ModelFileError(f"at {place}: an entry takes {end - begin} bytes, too many for any model.")
        entries = _decoded(b"[%b]" % bytes(text[begin:end]), form, place, n_before)
        yield entries
        begin, n_before = end + 1, n_before + len(entries)


def _decoded(text: bytes, form: Form, place: str, n_before: int) -> list[Any]:
    try:
        return form.decoded(text)
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        index, _, rest = within.removeprefix("[").rstrip("`").partition("]")
        if index.isdigit():
            place = f"{place}[{n_before + int(index)}]{rest}"
        raise ModelFileError(f"at {place}: {problem[:200]}.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        # The file is JSON as a whole: this piece ends within a text or a list that should not be there.
        raise ModelFileError(f"at {place}: its entries are of another kind.") from error


def array_in(array: msgspec.Raw, form: Form, place: str) -> NDArray[Any]:
    """The entries as an array of numbers; None becomes NaN."""
    numbers = np.empty(n_entries(array, form), form.kind)
    filled = 0
    for entries in pieces(array, form, place):
        numbers[filled : filled + len(entries)] = entries
        filled += len(entries)
    return numbers


def respelt(array: msgspec.Raw, form: Form, place: str) -> msgspec.Raw:
    """The array as holdfast writes it: 1 and 1e0 are 1.0 where the form has numbers."""
    texts = (msgspec.json.encode(entries)[1:-1] for entries in pieces(array, form, place))
    return msgspec.Raw(b"[%b]" % b",".join(texts))


# -- The JSON document of a tree, of several, of an ensemble or of an estimator ------------------------------

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

# -- The text of a document, which a person can read and git can compare, and its checksum -------------------

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
