"""Shared by the adapters: trees and models of other libraries, columns, classes, and figures of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray
from holdfast._text import quoted
from holdfast.data.columns import to_label
from holdfast.data.schema import Feature, Label, Schema, Target, sorted_labels
from holdfast.errors import DataError, SchemaMismatch
from holdfast.tree.build import Nodes, build_preorder
from holdfast.tree.tree import KNOWN, LEAF, Tree


def read_score_trees(model: ForeignModel, schema: Schema | None) -> list[Tree]:
    """Convert the trees of a boosted model to trees of raw scores, on the features of the schema."""
    low, high = compute_span(model.values)
    features = model.features if schema is None else schema.features
    return build_trees(model, Schema(features, Target("raw score", low=low, high=high)))


def get_only_member(kind: str, members: Sequence[Any]) -> Any:
    """Return the single tree of a boosted model; a TypeError if there are more or none."""
    if len(members) != 1:
        raise TypeError(
            f"The {kind} holds {len(members)} trees, and as_tree reads one. forest_trees(model, schema) "
            "gives all of them as trees of raw scores. For a model of one tree fit with n_estimators=1, and "
            "on numbers or two classes: more classes take one tree for each."
        )
    return members[0]


def make_objective_error(kind: str, objective: str) -> DataError:
    """Make the error about an objective that a tree cannot represent."""
    return DataError(
        f"The {kind} has the objective {objective!r}, and as_tree cannot turn its raw scores into "
        "predictions. forest_trees(model, schema) gives the tree with the raw scores themselves."
    )


def is_kind(model: Any, *names: str) -> bool:
    """Return True if the model's class or one of its parents has such a name."""
    return any(kind.__name__ in names for kind in type(model).__mro__)


def read_classes(model: Any, n_classes: int) -> tuple[Label, ...]:
    """Return the classes of a classifier; a Booster numbers them."""
    if not hasattr(model, "classes_"):
        return tuple(range(n_classes))
    labels = tuple(map(to_label, model.classes_))
    if len(labels) != n_classes:
        raise DataError(
            f"The {type(model).__name__} has scores for {n_classes} classes and knows {quoted(labels)}: "
            "fit it on rows of all classes."
        )
    return labels


def make_score_note(place: int, n_estimators: int, label: Label | None) -> str:
    """Make the note on a single tree of a boosted model."""
    of_class = "" if label is None else f" for the class {label!r}"
    return (
        f"Tree {place + 1} of {n_estimators}: its values are raw scores{of_class}, which the model adds up."
    )


# -- nodes ------------------------------------------------------------------------------------------------


def sum_subtrees(numbers: NDArray[Any], left: IntArray, right: IntArray) -> FloatArray:
    """Add the numbers of all nodes below to each node; parents precede children."""
    total = np.array(numbers, np.float64)
    for node in reversed(np.flatnonzero(left != LEAF).tolist()):
        total[node] += total[left[node]] + total[right[node]]
    return total


def average_subtrees(value: FloatArray, weight: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Average the leaves below each node by weight; without weights if these are zero.

    `value` has one row per node; only its rows of leaves are used.
    """
    is_leaf = left == LEAF
    total = sum_subtrees(np.where(is_leaf[:, None], value * weight[:, None], 0.0), left, right)
    plain = sum_subtrees(np.where(is_leaf[:, None], value, 0.0), left, right)
    n_leaves = sum_subtrees(is_leaf, left, right)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(weight[:, None] > 0, total / weight[:, None], plain / n_leaves[:, None])
    return np.where(is_leaf[:, None], value, mean)


def compute_impurity(gain: FloatArray, weight: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Compute node impurities from the gains of the splits, so that importances are fractions of the gain."""
    risk = sum_subtrees(np.maximum(gain, 0.0), left, right)
    return np.divide(risk, weight, out=np.zeros(len(risk)), where=weight > 0)


# -- Trees and models of other libraries ---------------------------------------------------------------------

_Node = TypeVar("_Node")


class CategorySet(NamedTuple):
    """Categories that a split sends to one side; all others go to the other."""

    labels: frozenset[Label]
    go_left: bool = True


@dataclass(frozen=True, eq=False)
class ForeignTree:
    """A tree of another library: its features are columns of the model, its category sets are labels."""

    nodes: Nodes
    chosen: Mapping[int, CategorySet] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """Columns, classes and trees of a fitted model of another library."""

    features: tuple[Feature, ...]  # in the order of the model's columns
    labels: tuple[Label, ...]  # none if it predicts numbers
    members: Sequence[ForeignTree]
    criterion: str

    @property
    def values(self) -> FloatArray:
        """Values of all nodes of all trees."""
        return np.concatenate([member.nodes.value.ravel() for member in self.members])


def build_trees(model: ForeignModel, schema: Schema | None) -> list[Tree]:
    """Build the trees on the schema, or on the one that the model implies."""
    if schema is None:
        low, high = compute_span(model.values)
        schema = Schema(
            model.features, Target(classes=model.labels) if model.labels else Target(low=low, high=high)
        )
    moved = [_put_on_schema(member, model, schema) for member in model.members]
    if len(schema.target.classes) == 2 and schema.target.positive is None:  # one for all trees
        rows = np.sum([nodes.value[0] * nodes.count[0] for nodes in moved], axis=0)
        schema = replace(schema, target=schema.target.with_rarer_positive(rows.tolist()))
    return [
        build_preorder(nodes, schema, model.criterion, member.notes)
        for nodes, member in zip(moved, model.members, strict=True)
    ]


# -- nodes ------------------------------------------------------------------------------------------------


def walk_nodes(
    root: _Node, children: Callable[[_Node], tuple[_Node, _Node] | None]
) -> tuple[list[_Node], IntArray, IntArray]:
    """List the nodes below the root in preorder, with the places of their children."""
    nodes = [root]
    left, right = [LEAF], [LEAF]
    for place, node in enumerate(nodes):  # which grows on the way
        if pair := children(node):
            left[place], right[place] = len(nodes), len(nodes) + 1
            nodes += pair
            left += (LEAF, LEAF)
            right += (LEAF, LEAF)
    return nodes, np.array(left, np.int32), np.array(right, np.int32)


def round_down_to_float64(threshold: FloatArray) -> FloatArray:
    """Return the largest float64 that rounds, in float32, to at most the threshold."""
    below = round_to_float32(threshold)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    # Up to half-way to the next float32 all values round down, and half-way itself rounds to the even one.
    middle = below.astype(np.float64) / 2 + np.nextafter(below, np.float32(np.inf)).astype(np.float64) / 2
    is_even = below.view(np.int32) % 2 == 0
    largest = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    # No float32 lies above: the split tests whether the value is known. NaN stays, and is refused.
    return np.where(below >= np.finfo(np.float32).max, KNOWN, largest)


def round_to_float32(threshold: FloatArray) -> NDArray[np.float32]:
    """Round thresholds to float32; infinite where it cannot hold them."""
    with np.errstate(over="ignore"):
        return threshold.astype(np.float32)


# -- classes ----------------------------------------------------------------------------------------------


def read_labels(found: Iterable[Any], classes: tuple[Any, ...] | None = None) -> tuple[Label, ...]:
    """Return the classes as labels; if the model numbers them, `classes` names them."""
    labels = tuple(map(to_label, found))
    if classes is None:
        return labels
    if strange := [label for label in labels if label not in range(len(classes))]:
        raise SchemaMismatch(
            f"The model has the class {strange[0]!r}, and classes name those from 0 to {len(classes) - 1}: "
            f"{quoted(classes)}. Fit it to np.unique(labels, return_inverse=True)[1]."
        )
    return tuple(to_label(classes[int(label)]) for label in labels)


# -- columns ----------------------------------------------------------------------------------------------


def read_column_names(names: Sequence[str] | None, n_columns: int, schema: Schema | None) -> list[str]:
    """Return the model's column names; if it has none, those of the schema in order."""
    if names is not None:
        return [str(name) for name in names]
    if schema is None:
        return [f"x{index}" for index in range(n_columns)]
    known = [feature.name for feature in schema.columns]
    if len(known) != n_columns:
        raise SchemaMismatch(
            f"The model has {n_columns} columns without names, and the schema has {len(known)}: "
            f"{quoted(known)}. Fit the model on a frame with named columns, or on all columns of the schema."
        )
    return known


def span_features(names: Sequence[str], loose: Iterable[Nodes]) -> tuple[Feature, ...]:
    """Make numeric features that range from lowest to highest threshold."""
    loose = list(loose)
    feature = np.concatenate([nodes.feature for nodes in loose])
    threshold = np.concatenate([nodes.threshold for nodes in loose])
    return tuple(
        Feature(name, "numeric", *compute_span(threshold[(feature == index) & (threshold < KNOWN)]))
        for index, name in enumerate(names)
    )


def make_nominal(name: str, labels: Iterable[Label]) -> Feature:
    """Make a nominal feature with these categories."""
    return Feature(name, "nominal", categories=sorted_labels(set(labels)))


def compute_span(numbers: FloatArray) -> tuple[float, float]:
    """Return the smallest and greatest number; zeros if there are none."""
    return (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)


# -- on a schema ------------------------------------------------------------------------------------------


def _put_on_schema(member: ForeignTree, model: ForeignModel, schema: Schema) -> Nodes:
    """Renumber features, categories and classes by the schema."""
    nodes = member.nodes
    used = np.unique(nodes.feature[nodes.feature != LEAF])
    names = [feature.name for feature in model.features]
    _check_columns([model.features[index] for index in used], schema)
    _check_labels(model.labels, schema.target)
    position = {feature.name: index for index, feature in enumerate(schema.columns)}
    places = np.array([*(position.get(name, LEAF) for name in names), LEAF], np.int32)
    feature = places[nodes.feature]  # LEAF is -1, and so is the last of `places`
    value, outcome = nodes.value, None
    if model.labels:
        columns = np.array([schema.target.classes.index(label) for label in model.labels])
        value = np.zeros((len(feature), len(schema.target.classes)))
        value[:, columns] = nodes.value
        # Of tied classes other libraries predict the first, unless their adapter has set another.
        outcome = columns[nodes.value.argmax(axis=1) if nodes.outcome is None else nodes.outcome]
    return replace(
        nodes,
        feature=feature,
        value=value,
        outcome=outcome,
        threshold=_round_ordered(nodes.threshold, feature, schema),
        sets=_list_sets(member, feature, model.features, schema),
    )


def _round_ordered(threshold: FloatArray, feature: IntArray, schema: Schema) -> FloatArray:
    """Place thresholds on ordered features half-way between two categories."""
    is_ordered = np.array([*(each.kind == "ordered" for each in schema.features), False])[feature]
    return np.where(is_ordered & (threshold < KNOWN), np.floor(threshold) + 0.5, threshold)


def _list_sets(
    member: ForeignTree, feature: IntArray, known: Sequence[Feature], schema: Schema
) -> dict[int, BoolArray]:
    """Return a flag per category for each split of a nominal feature."""
    is_subset = np.array([*(each.is_subset for each in schema.features), False])[feature]
    sets = {}
    for node in np.flatnonzero(is_subset | np.isin(np.arange(len(feature)), list(member.chosen))).tolist():
        theirs = known[member.nodes.feature[node]]
        ours = schema.features[feature[node]]
        _check_kinds(theirs, ours, is_set=node in member.chosen)
        if node in member.chosen:
            labels, go_left = member.chosen[node]
            flags = [(label in labels) == go_left for label in ours.categories]
        else:
            flags = [float(label) <= member.nodes.threshold[node] for label in ours.categories]
        sets[node] = np.array(flags, np.bool_)
    return sets


def _check_columns(used: Sequence[Feature], schema: Schema) -> None:
    """Raise a SchemaMismatch if the schema lacks columns of the model or orders them otherwise."""
    features = {feature.name: feature for feature in schema.columns}
    lost = [feature.name for feature in used if feature.name not in features]
    if lost:
        raise SchemaMismatch(
            f"The model uses the columns {quoted(lost)}, and the columns of the schema are "
            f"{quoted(features)}. Fit the model on data with the column names of the schema."
        )
    for theirs in used:
        ours = features[theirs.name]
        if theirs.kind == "ordered" and theirs.categories != ours.categories:
            raise SchemaMismatch(
                f"The model orders the categories of column {ours.name!r} as {quoted(theirs.categories)}, "
                f"the schema as {quoted(ours.categories)}. Give both one list of ordered categories."
            )


def _check_kinds(theirs: Feature, ours: Feature, *, is_set: bool) -> None:
    """Raise a SchemaMismatch if a split does not fit the kind of its feature."""
    if not is_set and any(isinstance(label, str) for label in ours.categories):
        raise SchemaMismatch(
            f"The model compares column {ours.name!r} with a number, and in the schema it is nominal, with "
            f"the categories {quoted(ours.categories)}. Fit the model on one-hot columns and "
            "read the table from the same columns."
        )
    if is_set and ours.kind != "nominal":
        raise SchemaMismatch(
            f"The model splits column {ours.name!r} into sets of categories, and in the schema it is "
            f"{ours.kind}. Read the table with categorical_features=[{ours.name!r}]."
        )
    if is_set and theirs.categories and not set(theirs.categories) & set(ours.categories):
        raise SchemaMismatch(
            f"The model has the categories {quoted(theirs.categories)} of column {ours.name!r}, and the "
            f"schema has none of them: {quoted(ours.categories)}. Code the column in both in the same way."
        )


def _check_labels(labels: tuple[Label, ...], target: Target) -> None:
    if bool(labels) != target.is_classes:
        sides = ("classes", "numbers") if labels else ("numbers", "classes")
        raise SchemaMismatch(
            f"The model predicts {sides[0]}, and the target {target.name!r} of the schema holds {sides[1]}. "
            "Read the table with the task of the model: Table.from_arrays(X, y, task=...)."
        )
    lost = [label for label in labels if label not in target.classes]
    if lost:
        raise SchemaMismatch(
            f"The model predicts the classes {quoted(labels)}, and the target {target.name!r} of the schema "
            f"has the classes {quoted(target.classes)}. Widen the schema: schema.widened(other.schema). "
            "A member of a forest only numbers its classes: there use forest_trees(forest, schema)."
        )
