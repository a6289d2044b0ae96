"""Between models and the parts of their documents."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.storage.document import (
    FORMAT,
    FORMS,
    VERSION,
    EditedNodePart,
    EditPart,
    Edits,
    EnsembleDocument,
    FeaturePart,
    Losses,
    MemberPart,
    MonotonePart,
    NodesPart,
    Promise,
    SchemaPart,
    TargetPart,
    TreeDocument,
    TreePart,
    TreesDocument,
)
from holdfast.storage.json_array import (
    GAPPED_LISTS,
    GAPPED_NUMBERS,
    LISTS,
    array_in,
    n_entries,
    pieces,
    raw_array,
)
from holdfast.tree.check import SetSizes, check_features, check_nodes, check_schema, check_target
from holdfast.tree.edit import Edit
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.monotone import Monotone
from holdfast.tree.node import Node
from holdfast.tree.outcome import set_outcome
from holdfast.tree.tree import Tree

_ATTRIBUTES = {"categories_left": "in_set", "categories_seen": "seen"}  # where a tree has another name

# -- from a model to its document -------------------------------------------------------------------------


def document_of(tree: Tree) -> TreeDocument:
    """The document of a sound tree; its checksum comes with its text."""
    schema = _schema_part(tree.schema)
    return TreeDocument(**_head("tree"), schema=schema, **_tree_fields(tree))


def collection_of(trees: Sequence[Tree]) -> TreesDocument:
    """The document of one or more sound trees that share a schema; its checksum comes with its text."""
    parts = [TreePart(**_tree_fields(tree)) for tree in trees]
    return TreesDocument(**_head("trees"), schema=_schema_part(trees[0].schema), trees=parts)


def ensemble_document_of(ensemble: Ensemble) -> EnsembleDocument:
    """The document of a sound ensemble; its checksum comes with its text."""
    target, members = ensemble.schema.target, []
    for tree in ensemble.trees:
        # By their text: 1, 1.0 and True are equal in Python, but not the same class.
        is_shared = tree.schema.target is target or repr(tree.schema.target) == repr(target)
        own = None if is_shared else _target_part(tree.schema.target)
        members.append(MemberPart(target=own, **_tree_fields(tree)))
    return EnsembleDocument(
        **_head("ensemble"),
        link=ensemble.link,
        votes=bool(ensemble.votes),
        start=raw_array(ensemble.start.tolist()),
        weights=raw_array(ensemble.weights.tolist()),
        outputs=raw_array(ensemble.outputs.tolist()),
        notes=tuple(map(str, ensemble.notes)),
        loss_matrix=_loss_part(ensemble.loss_matrix),
        schema=_schema_part(ensemble.schema),
        trees=members,
    )


def _head(kind: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "kind": kind, "checksum": ""}


def _tree_fields(tree: Tree) -> dict[str, Any]:
    """What the document has of every tree, alone or among others."""
    return {
        "criterion": str(tree.criterion),
        "notes": tuple(map(str, tree.notes)),
        "loss_matrix": _loss_part(tree.loss_matrix),
        "edits": tuple(map(_edit_part, tree.edits)) or UNSET,
        "monotone": _monotone_part(tree.monotone),
        "nodes": _nodes_part(tree),
    }


def _loss_part(loss_matrix: FloatArray | None) -> Losses:
    """The losses as the document has them."""
    return UNSET if loss_matrix is None else tuple(map(tuple, loss_matrix.tolist()))


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
    return TargetPart(
        name=str(target.name),
        classes=target.classes,
        low=float(target.low),
        high=float(target.high),
        positive=msgspec.UNSET if target.positive is None else target.positive,
    )


def _nodes_part(tree: Tree) -> NodesPart:
    arrays = {}
    for name in NodesPart.__struct_fields__:
        array = getattr(tree, _ATTRIBUTES.get(name, name))
        if array is None:
            continue
        if FORMS[name] is GAPPED_LISTS:
            arrays[name] = _raw_sets(tree, array)
        elif FORMS[name] is GAPPED_NUMBERS:
            arrays[name] = raw_array([None if number != number else number for number in array.tolist()])
        elif name == "outcome" and not tree.schema.target.is_classes:
            arrays[name] = raw_array([-1] * tree.n_nodes)
        else:
            arrays[name] = raw_array(array.tolist())
    return NodesPart(**arrays)


def _raw_sets(tree: Tree, flags: BoolArray) -> msgspec.Raw:
    """The categories that are flagged at every node; null where it has no set."""
    categories: list[list[int] | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        start = int(tree.set_start[node])
        own = flags[start : start + len(tree.schema.features[tree.feature[node]].categories)]
        categories[node] = np.flatnonzero(own).tolist()
    return raw_array(categories)


def _edit_part(edit: Edit) -> EditPart:
    return EditPart(
        kind=edit.kind,
        path=edit.path,
        before=_edited_node_part(edit.before),
        after=_edited_node_part(edit.after),
        by=str(edit.by),
        why=str(edit.why),
        when=str(edit.when),
        stale=edit.stale,
    )


def _edited_node_part(node: Node) -> EditedNodePart:
    value: Any = node.value
    is_classes = isinstance(value, dict)
    return EditedNodePart(
        feature=None if node.feature is None else str(node.feature),
        threshold=node.threshold,
        categories=None if node.categories is None else tuple(node.categories),
        missing_left=node.missing_left,
        classes=tuple(value) if is_classes else (),
        value=tuple(value.values()) if is_classes else () if value is None else (value,),
    )


def _monotone_part(monotone: Monotone | None) -> Promise:
    if monotone is None:
        return UNSET
    names, directions = zip(*monotone.directions, strict=True)
    return MonotonePart(features=names, directions=directions, outcome=monotone.outcome)


# -- from a document to its model -------------------------------------------------------------------------


def schema_in(part: SchemaPart) -> Schema:
    """The schema as the document says it is: whether it is a sound one remains to be checked."""
    features = tuple(Feature(**asdict(feature)) for feature in part.features)
    return Schema(features, target_in(part.target))


def target_in(part: TargetPart) -> Target:
    """The target as the document says it is."""
    said = {name: entry for name, entry in asdict(part).items() if entry is not msgspec.UNSET}
    return Target(**said)


def trees_in(
    parts: Sequence[TreePart | MemberPart], schema: Schema, targets: Sequence[Target], max_flags: int
) -> list[Tree]:
    """The trees of the parts, each with its target, on the features of one schema; all checked in full.

    The features are checked once, however many trees there are.
    """
    check_schema(schema)
    sizes, shared = SetSizes.of(schema), schema
    trees: list[Tree] = []
    for position, (part, target) in enumerate(zip(parts, targets, strict=True)):
        try:
            own = shared if target is schema.target else Schema(schema.features, target)
            if own is not shared:
                check_target(target)
            tree = tree_in(part, own, sizes, max_flags, f"trees[{position}].nodes")
            tree = sound_tree(tree, sizes)
        except BrokenTreeError as error:
            raise ModelFileError(f"its tree {position} is not sound: {error}") from error
        if own is shared:  # an old file may lack the positive class: all trees then have that of the first
            shared = tree.schema
        max_flags -= len(tree.in_set)
        trees.append(tree)
    return trees


def tree_in(
    part: TreeDocument | TreePart | MemberPart, schema: Schema, sizes: SetSizes, max_flags: int, place: str
) -> Tree:
    """The tree as the document says it is: whether it is a sound one remains to be checked.

    Its sets of categories may need `max_flags` flags: a few bytes can ask for a thousand million.
    """

    arrays: dict[str, Any] = {}
    width = max(len(schema.target.classes), 1)
    for name in NodesPart.__struct_fields__:  # the features come first
        array, form = getattr(part.nodes, name), FORMS[name]
        if array is UNSET:
            continue
        if name == "observed" and not schema.target.is_classes:
            raise BrokenTreeError("observed counts rows of classes: the target is a number.")
        attribute = _ATTRIBUTES.get(name, name)
        if form is GAPPED_LISTS:
            sets = _sets_in(array, name, arrays["feature"], sizes, max_flags, place)
            arrays["set_start"], arrays[attribute] = sets
        elif form is LISTS:
            arrays[attribute] = _lists_in(array, name, 3 if name == "not_recorded" else width, place)
        else:
            arrays[attribute] = array_in(array, form, f"{place}.{name}")
        if name == "feature":
            check_features(schema, arrays["feature"])
    return Tree(
        schema,
        given_outcome=arrays.pop("outcome"),
        criterion=part.criterion,
        notes=part.notes,
        edits=_edits_in(part.edits),
        loss_matrix=losses_in(part.loss_matrix),
        monotone=_monotone_in(part.monotone),
        **arrays,
    )


def sound_tree(tree: Tree, sizes: SetSizes) -> Tree:
    """The tree of a document, checked in full, with the classes of its nodes where ties need them."""
    outcome = tree.given_outcome
    assert outcome is not None
    if not tree.schema.target.is_classes and (outcome == -1).all():
        tree = tree.replace(given_outcome=None)
    check_nodes(tree, sizes)
    return tree if tree.given_outcome is None else set_outcome(tree, outcome)


def _sets_in(
    array: msgspec.Raw, name: str, feature: IntArray, sizes: SetSizes, max_flags: int, place: str
) -> tuple[LongArray, BoolArray]:
    has_set, lengths = sizes.of_nodes(feature)
    # A few bytes are enough for that: many categories, and many nodes with an empty set.
    if lengths.sum() > max_flags:
        raise BrokenTreeError(f"{name} needs {lengths.sum()} flags: the limit is {max_flags}.")
    starts = np.cumsum(lengths) - lengths
    in_set = np.zeros(lengths.sum(), np.bool_)
    sets = chain.from_iterable(pieces(array, FORMS[name], f"{place}.{name}"))
    for node, (indices, is_set) in enumerate(zip(sets, has_set.tolist(), strict=True)):
        if (indices is not None) != is_set:
            found = "null" if indices is None else _clipped(indices)
            split = "a split on categories" if is_set else "no split on categories"
            raise BrokenTreeError(f"{name}[{node}] is {found}: node {node} is {split}.")
        if indices:
            if indices != sorted(set(indices)) or indices[-1] >= lengths[node]:
                raise BrokenTreeError(
                    f"{name}[{node}] is {_clipped(indices)}: it must list categories, each once and in "
                    f"order, and there are {lengths[node]} of them."
                )
            in_set[starts[node] + np.array(indices)] = True
    return np.where(has_set, starts, -1), in_set


def _lists_in(array: msgspec.Raw, name: str, width: int, place: str) -> FloatArray:
    """The numbers of every node, `width` each."""
    n_nodes = n_entries(array, FORMS[name])
    if 2 * n_nodes * width > len(bytes(array)):
        raise BrokenTreeError(f"{name} has too few numbers: {n_nodes} nodes need {width} each.")
    numbers = np.empty((n_nodes, width))
    node = 0
    for rows in pieces(array, FORMS[name], f"{place}.{name}"):
        for row in rows:
            if len(row) != width:
                raise BrokenTreeError(f"{name}[{node}] has {len(row)} numbers: the target needs {width}.")
            node += 1
        numbers[node - len(rows) : node] = rows
    return numbers


def _clipped(indices: list[int]) -> str:
    return str(indices) if len(indices) <= 20 else f"{str(indices[:20])[:-1]}, ...]"


def losses_in(part: Losses) -> FloatArray | None:
    """The losses as the document says they are."""
    if isinstance(part, UnsetType):
        return None
    if len({len(row) for row in part}) > 1:
        raise BrokenTreeError("loss_matrix has rows of different lengths.")
    return np.array(part, np.float64)


def _edits_in(parts: Edits) -> tuple[Edit, ...]:
    if isinstance(parts, UnsetType):
        return ()
    return tuple(
        Edit(
            **{
                **asdict(part),
                "before": _edited_node_in(f"edits[{position}].before", part.before),
                "after": _edited_node_in(f"edits[{position}].after", part.after),
            }
        )
        for position, part in enumerate(parts)
    )


def _edited_node_in(place: str, part: EditedNodePart) -> Node:
    value: Any = None
    if part.classes:
        if len(part.classes) != len(part.value):
            raise BrokenTreeError(
                f"{place} has {len(part.classes)} classes and {len(part.value)} fractions: one for each."
            )
        value = dict(zip(part.classes, part.value, strict=True))
        if len(value) < len(part.classes):
            raise BrokenTreeError(f"{place}.classes has one of them twice.")
    elif part.value:
        if len(part.value) > 1:
            raise BrokenTreeError(f"{place}.value has {len(part.value)} numbers, and there are no classes.")
        value = part.value[0]
    return Node(part.feature, part.threshold, part.categories, missing_left=part.missing_left, value=value)


def _monotone_in(part: Promise) -> Monotone | None:
    if isinstance(part, UnsetType):
        return None
    if len(part.features) != len(part.directions) or len(set(part.features)) != len(part.features):
        raise BrokenTreeError("monotone must have one direction for each of its features, each there once.")
    return Monotone(tuple(zip(part.features, part.directions, strict=True)), part.outcome)
