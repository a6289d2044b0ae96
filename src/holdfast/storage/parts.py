"""Between models and the parts of their documents."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from numpy.typing import DTypeLike, NDArray

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.storage.document import (
    FORMAT,
    FORMS,
    VERSION,
    EnsembleDocument,
    FeaturePart,
    Losses,
    MemberPart,
    NodesPart,
    SchemaPart,
    TargetPart,
    TreeDocument,
    TreePart,
    TreesDocument,
)
from holdfast.storage.edit_parts import edit_parts, edits_in
from holdfast.storage.json_array import array_in, n_entries, pieces, raw_array
from holdfast.storage.monotone_part import monotone_in, monotone_part
from holdfast.tree.check import SetSizes, check_features, check_nodes, check_schema, check_target
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.outcome import set_outcome
from holdfast.tree.tree import Tree

# -- from a model to its document -------------------------------------------------------------------------


def document_of(tree: Tree) -> TreeDocument:
    """The document of a sound tree; its checksum comes with its text."""
    return TreeDocument(
        format=FORMAT,
        version=VERSION,
        kind="tree",
        checksum="",
        criterion=str(tree.criterion),
        notes=tuple(map(str, tree.notes)),
        loss_matrix=loss_part(tree.loss_matrix),
        edits=edit_parts(tree.edits),
        monotone=monotone_part(tree.monotone),
        schema=_schema_part(tree.schema),
        nodes=_nodes_part(tree),
    )


def collection_of(trees: Sequence[Tree]) -> TreesDocument:
    """The document of one or more sound trees that share a schema; its checksum comes with its text."""
    return TreesDocument(
        format=FORMAT,
        version=VERSION,
        kind="trees",
        checksum="",
        schema=_schema_part(trees[0].schema),
        trees=[
            TreePart(
                criterion=str(tree.criterion),
                notes=tuple(map(str, tree.notes)),
                loss_matrix=loss_part(tree.loss_matrix),
                edits=edit_parts(tree.edits),
                monotone=monotone_part(tree.monotone),
                nodes=_nodes_part(tree),
            )
            for tree in trees
        ],
    )


def ensemble_document_of(ensemble: Ensemble) -> EnsembleDocument:
    """The document of a sound ensemble; its checksum comes with its text."""
    return EnsembleDocument(
        format=FORMAT,
        version=VERSION,
        kind="ensemble",
        checksum="",
        link=ensemble.link,
        votes=bool(ensemble.votes),
        start=raw_array(ensemble.start.tolist()),
        weights=raw_array(ensemble.weights.tolist()),
        outputs=raw_array(ensemble.outputs.tolist()),
        notes=tuple(map(str, ensemble.notes)),
        loss_matrix=loss_part(ensemble.loss_matrix),
        schema=_schema_part(ensemble.schema),
        trees=[_member_part(tree, ensemble.schema.target) for tree in ensemble.trees],
    )


def _member_part(tree: Tree, target: Target) -> MemberPart:
    # By their text: 1, 1.0 and True are equal in Python, but not the same class.
    is_shared = tree.schema.target is target or repr(tree.schema.target) == repr(target)
    return MemberPart(
        target=None if is_shared else _target_part(tree.schema.target),
        criterion=str(tree.criterion),
        notes=tuple(map(str, tree.notes)),
        loss_matrix=loss_part(tree.loss_matrix),
        edits=edit_parts(tree.edits),
        monotone=monotone_part(tree.monotone),
        nodes=_nodes_part(tree),
    )


def loss_part(loss_matrix: FloatArray | None) -> Losses:
    """The losses as the document has them."""
    return UNSET if loss_matrix is None else tuple(map(tuple, loss_matrix.tolist()))


def losses_in(part: Losses) -> FloatArray | None:
    """The losses as the document says they are."""
    if isinstance(part, UnsetType):
        return None
    if len({len(row) for row in part}) > 1:
        raise BrokenTreeError("loss_matrix has rows of different lengths.")
    return np.array(part, np.float64)


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
    return NodesPart(
        feature=raw_array(tree.feature.tolist()),
        threshold=_raw_gapped(tree.threshold),
        left=raw_array(tree.left.tolist()),
        right=raw_array(tree.right.tolist()),
        missing_left=raw_array(tree.missing_left.tolist()),
        categories_left=_raw_sets(tree, tree.in_set),
        value=raw_array(tree.value.tolist()),
        outcome=raw_array(tree.outcome.tolist() if tree.schema.target.is_classes else [-1] * tree.n_nodes),
        count=raw_array(tree.count.tolist()),
        weight=raw_array(tree.weight.tolist()),
        impurity=raw_array(tree.impurity.tolist()),
        observed=_raw_or_unset(tree.observed),
        effective=_raw_or_unset(tree.effective),
        deviation=_raw_or_unset(tree.deviation),
        rows_mean=_raw_or_unset(tree.rows_mean),
        teacher_mean=_raw_or_unset(tree.teacher_mean),
        not_recorded=_raw_or_unset(tree.not_recorded),
        categories_seen=UNSET if tree.seen is None else _raw_sets(tree, tree.seen),
        split_support=UNSET if tree.split_support is None else _raw_gapped(tree.split_support),
    )


def _raw_sets(tree: Tree, flags: BoolArray) -> msgspec.Raw:
    """The categories that are flagged at every node; null where it has no set."""
    categories: list[list[int] | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        start = int(tree.set_start[node])
        own = flags[start : start + len(tree.schema.features[tree.feature[node]].categories)]
        categories[node] = np.flatnonzero(own).tolist()
    return raw_array(categories)


def _raw_gapped(array: FloatArray) -> msgspec.Raw:
    """The numbers, null where one is NaN."""
    return raw_array([None if number != number else number for number in array.tolist()])


def _raw_or_unset(array: FloatArray | None) -> msgspec.Raw | msgspec.UnsetType:
    return msgspec.UNSET if array is None else raw_array(array.tolist())


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

    def array(name: str, kind: DTypeLike) -> NDArray[Any]:
        return array_in(getattr(part.nodes, name), FORMS[name], kind, f"{place}.{name}")

    def numbers_if_any(name: str) -> FloatArray | None:
        return None if getattr(part.nodes, name) is msgspec.UNSET else array(name, np.float64)

    feature = array("feature", np.int32)
    check_features(schema, feature)

    def sets(name: str) -> tuple[LongArray, BoolArray]:
        return _sets_in(getattr(part.nodes, name), name, feature, sizes, max_flags, place)

    set_start, in_set = sets("categories_left")

    def means_if_any(name: str) -> FloatArray | None:
        part_of_nodes = getattr(part.nodes, name)
        width = max(len(schema.target.classes), 1)
        return None if part_of_nodes is UNSET else _lists_in(part_of_nodes, name, width, place)

    not_recorded = part.nodes.not_recorded
    return Tree(
        schema,
        feature,
        array("threshold", np.float64),
        array("left", np.int32),
        array("right", np.int32),
        array("missing_left", np.bool_),
        set_start,
        in_set,
        _lists_in(part.nodes.value, "value", max(len(schema.target.classes), 1), place),
        array("count", np.float64),
        array("weight", np.float64),
        array("impurity", np.float64),
        part.criterion,
        part.notes,
        array("outcome", np.int32),
        _observed_in(part.nodes, len(schema.target.classes), place),
        edits_in(part.edits),
        losses_in(part.loss_matrix),
        monotone_in(part.monotone),
        numbers_if_any("effective"),
        numbers_if_any("deviation"),
        means_if_any("rows_mean"),
        None if not_recorded is UNSET else _lists_in(not_recorded, "not_recorded", 3, place),
        None if part.nodes.categories_seen is UNSET else sets("categories_seen")[1],
        numbers_if_any("split_support"),
        means_if_any("teacher_mean"),
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


def _observed_in(nodes: NodesPart, width: int, place: str) -> FloatArray | None:
    if nodes.observed is msgspec.UNSET:
        return None
    if not width:
        raise BrokenTreeError("observed counts rows of classes: the target is a number.")
    return _lists_in(nodes.observed, "observed", width, place)


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
