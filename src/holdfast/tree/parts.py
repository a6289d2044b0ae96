"""Between models and the parts of their documents."""

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import asdict

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.tree.check import check_features, check_tree, set_lengths
from holdfast.tree.document import (
    FORMAT,
    VERSION,
    EnsembleDocument,
    FeaturePart,
    MemberPart,
    NodesPart,
    SchemaPart,
    TargetPart,
    TreeDocument,
    TreePart,
    TreesDocument,
    checksum_of,
)
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

MAX_FLAGS = 2**28  # of all sets of categories together

# -- from a model to its document -------------------------------------------------------------------------


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


def ensemble_document_of(ensemble: Ensemble) -> EnsembleDocument:
    """The document of a sound ensemble, with its checksum."""
    document = EnsembleDocument(
        format=FORMAT,
        version=VERSION,
        kind="ensemble",
        checksum="",
        link=ensemble.link,
        votes=bool(ensemble.votes),
        start=ensemble.start.tolist(),
        weights=ensemble.weights.tolist(),
        outputs=ensemble.outputs.tolist(),
        notes=tuple(map(str, ensemble.notes)),
        schema=_schema_part(ensemble.schema),
        trees=[_member_part(tree, ensemble.schema.target) for tree in ensemble.trees],
    )
    document.checksum = checksum_of(document)
    return document


def _member_part(tree: Tree, target: Target) -> MemberPart:
    # By their text: 1, 1.0 and True are equal in Python, but not the same class.
    is_shared = tree.schema.target is target or repr(tree.schema.target) == repr(target)
    return MemberPart(
        target=None if is_shared else _target_part(tree.schema.target),
        criterion=str(tree.criterion),
        notes=tuple(map(str, tree.notes)),
        nodes=_nodes_part(tree),
    )


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
        name=str(target.name), classes=target.classes, low=float(target.low), high=float(target.high)
    )


def _nodes_part(tree: Tree) -> NodesPart:
    categories: list[list[int] | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        categories[node] = np.flatnonzero(tree.left_categories(node)).tolist()
    return NodesPart(
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


# -- from a document to its model -------------------------------------------------------------------------


def schema_in(part: SchemaPart) -> Schema:
    """The schema as the document says it is: whether it is a sound one remains to be checked."""
    features = tuple(Feature(**asdict(feature)) for feature in part.features)
    return Schema(features, target_in(part.target))


def target_in(part: TargetPart) -> Target:
    """The target as the document says it is."""
    return Target(**asdict(part))


def trees_in(parts: Iterable[tuple[TreePart | MemberPart, Schema]]) -> list[Tree]:
    """The trees of the parts, each on its schema and checked in full."""
    trees: list[Tree] = []
    flags_left = MAX_FLAGS
    for position, (part, schema) in enumerate(parts):
        try:
            tree = tree_in(part, schema, flags_left)
            check_tree(tree)
        except BrokenTreeError as error:
            raise ModelFileError(f"its tree {position} is not sound: {error}") from error
        flags_left -= len(tree.in_set)
        trees.append(tree)
    return trees


def tree_in(part: TreeDocument | TreePart | MemberPart, schema: Schema, max_flags: int = MAX_FLAGS) -> Tree:
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


def _sets_in(
    nodes: NodesPart, schema: Schema, feature: IntArray, max_flags: int
) -> tuple[LongArray, BoolArray]:
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


def _value_in(nodes: NodesPart, width: int) -> FloatArray:
    for node, row in enumerate(nodes.value):
        if len(row) != width:
            raise BrokenTreeError(f"value[{node}] has {len(row)} numbers: the target needs {width}.")
    return np.array(nodes.value, np.float64).reshape(-1, width)
