"""Between trees or ensembles and their documents."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import chain
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from msgspec.structs import astuple as struct_tuple

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Schema, Target
from holdfast.data.survival import EventTable
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.explain.firmness import ReferenceTrees
from holdfast.io.document import (
    FORMAT,
    FORMS,
    GAPPED_LISTS,
    GAPPED_NUMBERS,
    LISTS,
    VERSION,
    CandidatePart,
    EditedNodePart,
    EditPart,
    EnsembleDocument,
    EstimatorPart,
    EventCurvePart,
    FeaturePart,
    HazardPart,
    MemberPart,
    MonotonePart,
    NodesPart,
    SchemaPart,
    TargetPart,
    TreeDocument,
    TreePart,
    TreesDocument,
    count_entries,
    encode_array,
    read_array,
    read_pieces,
)
from holdfast.io.references import pack_references, unpack_references
from holdfast.tree.build import Node
from holdfast.tree.check import SetSizes, check_features, check_nodes, check_schema, check_target
from holdfast.tree.edit import Edit
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.monotone import Monotone
from holdfast.tree.stats import set_outcome
from holdfast.tree.tree import Tree

_ATTRIBUTES = {"categories_left": "in_set", "categories_seen": "seen"}  # where a tree has another name

# -- from a model to its document -------------------------------------------------------------------------


def make_document(
    model: Tree | Ensemble,
    estimator: EstimatorPart | UnsetType = UNSET,
    references: ReferenceTrees | None = None,
    candidates: Mapping[int, Tree] = MappingProxyType({}),
) -> TreeDocument | EnsembleDocument:
    """Make the document of a sound tree or ensemble; its checksum comes with its text."""
    schema = _schema_part(model.schema)
    if isinstance(model, Tree):
        others = [CandidatePart(candidate=i, **_tree_fields(tree)) for i, tree in candidates.items()]
        return TreeDocument(
            **_head("tree"),
            estimator=estimator,
            schema=schema,
            **_tree_fields(model),
            references=UNSET if references is None else pack_references(references),
            candidates=others or UNSET,
        )
    target, members = model.schema.target, []
    for tree in model.trees:
        # By their text: 1, 1.0 and True are equal in Python, but not the same class.
        is_shared = tree.schema.target is target or repr(tree.schema.target) == repr(target)
        own = None if is_shared else _target_part(tree.schema.target)
        members.append(MemberPart(target=own, **_tree_fields(tree)))
    return EnsembleDocument(
        **_head("ensemble"),
        link=model.link,
        votes=bool(model.votes),
        start=encode_array(model.start.tolist()),
        weights=encode_array(model.weights.tolist()),
        outputs=encode_array(model.outputs.tolist()),
        notes=tuple(map(str, model.notes)),
        loss_matrix=_loss_part(model.loss_matrix),
        estimator=estimator,
        schema=schema,
        trees=members,
    )


def make_trees_document(trees: Sequence[Tree]) -> TreesDocument:
    """Make the document of sound trees that share a schema; its checksum comes with its text."""
    parts = [TreePart(**_tree_fields(tree)) for tree in trees]
    return TreesDocument(**_head("trees"), schema=_schema_part(trees[0].schema), trees=parts)


def _head(kind: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "kind": kind, "checksum": ""}


def _schema_part(schema: Schema) -> SchemaPart:
    features = [
        FeaturePart(
            name=str(feature.name),
            kind=feature.kind,
            low=float(feature.low),
            high=float(feature.high),
            categories=feature.categories,
        )
        for feature in schema.features
    ]
    return SchemaPart(features=tuple(features), target=_target_part(schema.target))


def _target_part(target: Target) -> TargetPart:
    hazard = None if target.hazard is None else HazardPart(*astuple(target.hazard))
    return TargetPart(
        str(target.name), target.classes, float(target.low), float(target.high), target.positive, hazard
    )


def _tree_fields(tree: Tree) -> dict[str, Any]:
    """Make what the document has of every tree, alone or among others."""
    monotone = tree.monotone
    return {
        "criterion": str(tree.criterion),
        "notes": tuple(map(str, tree.notes)),
        "loss_matrix": _loss_part(tree.loss_matrix),
        "edits": tuple(map(_edit_part, tree.edits)) or UNSET,
        "monotone": MonotonePart(monotone.directions, monotone.outcome) if monotone else UNSET,
        "curves": tuple(EventCurvePart(*curve) for curve in tree.curves) if tree.curves else UNSET,
        "nodes": _nodes_part(tree),
    }


def _loss_part(loss_matrix: FloatArray | None) -> tuple[tuple[float, ...], ...] | UnsetType:
    return UNSET if loss_matrix is None else tuple(map(tuple, loss_matrix.tolist()))


def _edit_part(edit: Edit) -> EditPart:
    before, after = _edited_node_part(edit.before), _edited_node_part(edit.after)
    by, why, when = map(str, (edit.by, edit.why, edit.when))
    return EditPart(edit.kind, edit.path, before, after, by, why, when, edit.stale)


def _edited_node_part(node: Node) -> EditedNodePart:
    return EditedNodePart(
        feature=None if node.feature is None else str(node.feature),
        threshold=node.threshold,
        categories=None if node.categories is None else tuple(node.categories),
        missing_left=node.missing_left,
        value=tuple(node.value.items()) if isinstance(node.value, dict) else node.value,
    )


def _nodes_part(tree: Tree) -> NodesPart:
    arrays = {}
    for name in NodesPart.__struct_fields__:
        array = getattr(tree, _ATTRIBUTES.get(name, name))
        if array is None:
            continue
        if FORMS[name] is GAPPED_LISTS:
            entries: list[Any] = _list_sets(tree, array)
        elif FORMS[name] is GAPPED_NUMBERS:
            entries = [None if number != number else number for number in array.tolist()]
        elif name == "outcome" and not tree.schema.target.is_classes:
            entries = [-1] * tree.n_nodes
        else:
            entries = array.tolist()
        arrays[name] = encode_array(entries)
    return NodesPart(**arrays)


def _list_sets(tree: Tree, flags: BoolArray) -> list[Any]:
    """List the categories flagged at every node; None where it has no set."""
    categories: list[list[int] | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        start = int(tree.set_start[node])
        own = flags[start : start + len(tree.schema.features[tree.feature[node]].categories)]
        categories[node] = np.flatnonzero(own).tolist()
    return categories


# -- from a document to its model -------------------------------------------------------------------------


def build_tree(document: TreeDocument, max_flags: int) -> Tree:
    """Build the tree of a document, checked in full; its sets of categories may have `max_flags` flags."""
    schema = _to(Schema, document.schema)
    try:
        check_schema(schema)
        return _build_tree(document, schema, SetSizes.of(schema), max_flags, "nodes")
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound tree: {error}") from error


def build_references(document: TreeDocument, schema: Schema, max_flags: int) -> ReferenceTrees | None:
    """Build the reference trees of a document on the schema of its tree; None if it has none."""
    if isinstance(document.references, UnsetType):
        return None
    return unpack_references(document.references, schema, max_flags)


def build_candidates(document: TreeDocument, schema: Schema, max_flags: int) -> dict[int, Tree]:
    """Build the candidates of a document by number, on the schema of its tree and checked in full."""
    parts = document.candidates or ()
    numbers = [part.candidate for part in parts]
    if len(set(numbers)) < len(numbers):
        raise ModelFileError("at candidates: a number is there twice.")
    try:
        return dict(zip(numbers, _build_members(parts, schema, max_flags, "candidates"), strict=True))
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound candidates: {error}") from error


def build_trees(document: TreesDocument, max_flags: int) -> list[Tree]:
    """Build the trees of a document, on one schema and checked in full."""
    if not document.trees:
        raise ModelFileError("it holds no trees.")
    try:
        return _build_members(document.trees, _to(Schema, document.schema), max_flags)
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound trees: {error}") from error


def build_ensemble(document: EnsembleDocument, max_flags: int) -> Ensemble:
    """Build the ensemble of a document, checked in full."""
    schema = _to(Schema, document.schema)
    try:
        return Ensemble(
            schema,
            tuple(_build_members(document.trees, schema, max_flags)),
            read_array(document.weights, FORMS["weights"], "weights"),
            read_array(document.outputs, FORMS["outputs"], "outputs"),
            read_array(document.start, FORMS["start"], "start"),
            document.link,
            document.votes,
            document.notes,
            _read_losses(document.loss_matrix),
        )
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound ensemble: {error}") from error


def _to(kind: Any, part: msgspec.Struct) -> Any:
    """Make the dataclass with the fields of the part."""
    return msgspec.convert(part, kind, from_attributes=True)


def _build_members(
    parts: Sequence[TreePart | MemberPart], schema: Schema, max_flags: int, name: str = "trees"
) -> list[Tree]:
    """Build trees on the features of one schema, which are checked once, however many trees there are."""
    check_schema(schema)
    sizes, shared = SetSizes.of(schema), schema
    trees: list[Tree] = []
    for position, part in enumerate(parts):
        try:
            own = shared
            if isinstance(part, MemberPart) and part.target:
                own = Schema(schema.features, _to(Target, part.target))
                check_target(own.target)
            tree = _build_tree(part, own, sizes, max_flags, f"{name}[{position}].nodes")
        except BrokenTreeError as error:
            raise ModelFileError(f"its {name[:-1]} {position} is not sound: {error}") from error
        if own is shared:  # a file may lack the positive class: all trees then have that of the first
            shared = tree.schema
        max_flags -= len(tree.in_set)
        trees.append(tree)
    return trees


def _build_tree(
    part: TreeDocument | TreePart | MemberPart, schema: Schema, sizes: SetSizes, max_flags: int, place: str
) -> Tree:
    """Build a tree and check all but its schema."""
    arrays: dict[str, Any] = {}
    for name in NodesPart.__struct_fields__:  # the features come first
        array, form = getattr(part.nodes, name), FORMS[name]
        if array is UNSET:
            continue
        if name == "observed" and not schema.target.is_classes:
            raise BrokenTreeError("observed counts rows of classes: the target is a number.")
        attribute = _ATTRIBUTES.get(name, name)
        if form is GAPPED_LISTS:
            sets = _read_sets(array, name, arrays["feature"], sizes, max_flags, place)
            arrays["set_start"], arrays[attribute] = sets
        elif form is LISTS:
            width = 3 if name == "not_recorded" else max(len(schema.target.classes), 1)
            arrays[attribute] = _read_lists(array, name, width, place)
        else:
            arrays[attribute] = read_array(array, form, f"{place}.{name}")
        if name == "feature":
            check_features(schema, arrays["feature"])
    outcome = arrays.pop("outcome")
    tree = Tree(
        schema,
        given_outcome=outcome if schema.target.is_classes or (outcome != -1).any() else None,
        criterion=part.criterion,
        notes=part.notes,
        edits=tuple(_read_edit(edit, f"edits[{index}]") for index, edit in enumerate(part.edits or ())),
        loss_matrix=_read_losses(part.loss_matrix),
        monotone=_read_monotone(part.monotone),
        curves=tuple(EventTable(*struct_tuple(curve)) for curve in part.curves) if part.curves else None,
        **arrays,
    )
    check_nodes(tree, sizes)
    # The classes of nodes are kept only where ties need them.
    return tree if tree.given_outcome is None else set_outcome(tree, outcome)


def _read_sets(
    array: msgspec.Raw, name: str, feature: IntArray, sizes: SetSizes, max_flags: int, place: str
) -> tuple[LongArray, BoolArray]:
    has_set, lengths = sizes.of_nodes(feature)
    # A few bytes are enough for that: many categories, and many nodes with an empty set.
    if lengths.sum() > max_flags:
        raise BrokenTreeError(f"{name} needs {lengths.sum()} flags: the limit is {max_flags}.")
    starts = np.cumsum(lengths) - lengths
    in_set = np.zeros(lengths.sum(), np.bool_)
    sets = chain.from_iterable(read_pieces(array, FORMS[name], f"{place}.{name}"))
    for node, (indices, is_set) in enumerate(zip(sets, has_set.tolist(), strict=True)):
        if (indices is not None) != is_set:
            found = "null" if indices is None else _shorten(indices)
            split = "a split on categories" if is_set else "no split on categories"
            raise BrokenTreeError(f"{name}[{node}] is {found}: node {node} is {split}.")
        if indices:
            if indices != sorted(set(indices)) or indices[-1] >= lengths[node]:
                raise BrokenTreeError(
                    f"{name}[{node}] is {_shorten(indices)}: it must list categories, each once and in "
                    f"order, and there are {lengths[node]} of them."
                )
            in_set[starts[node] + np.array(indices)] = True
    return np.where(has_set, starts, -1), in_set


def _shorten(indices: list[int]) -> str:
    return str(indices) if len(indices) <= 20 else f"{str(indices[:20])[:-1]}, ...]"


def _read_lists(array: msgspec.Raw, name: str, width: int, place: str) -> FloatArray:
    """Read the numbers of every node, `width` each."""
    n_nodes = count_entries(array, FORMS[name])
    if 2 * n_nodes * width > len(bytes(array)):
        raise BrokenTreeError(f"{name} has too few numbers: {n_nodes} nodes need {width} each.")
    numbers = np.empty((n_nodes, width))
    node = 0
    for rows in read_pieces(array, FORMS[name], f"{place}.{name}"):
        for row in rows:
            if len(row) != width:
                raise BrokenTreeError(f"{name}[{node}] has {len(row)} numbers: the target needs {width}.")
            node += 1
        numbers[node - len(rows) : node] = rows
    return numbers


def _read_losses(part: tuple[tuple[float, ...], ...] | UnsetType) -> FloatArray | None:
    if isinstance(part, UnsetType):
        return None
    if len({len(row) for row in part}) > 1:
        raise BrokenTreeError("loss_matrix has rows of different lengths.")
    return np.array(part, np.float64)


def _read_edit(part: EditPart, place: str) -> Edit:
    before = _read_edited_node(part.before, f"{place}.before")
    after = _read_edited_node(part.after, f"{place}.after")
    return Edit(**{**asdict(part), "before": before, "after": after})


def _read_edited_node(part: EditedNodePart, place: str) -> Node:
    value: Any = dict(part.value) if isinstance(part.value, tuple) else part.value
    if isinstance(part.value, tuple) and len(value) < len(part.value):
        raise BrokenTreeError(f"{place}.value has a class twice.")
    return Node(**{**asdict(part), "value": value})


def _read_monotone(part: MonotonePart | UnsetType) -> Monotone | None:
    if isinstance(part, UnsetType):
        return None
    if len(dict(part.directions)) < len(part.directions):
        raise BrokenTreeError("monotone has a feature twice.")
    return Monotone(part.directions, part.outcome)
