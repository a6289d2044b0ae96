"""Trees from linked nodes in any order, and from descriptions of nodes by a user or another library."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import floor, isfinite, isnan
from numbers import Real
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast._text import quoted
from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.tree.check import TOLERANCE, check_features, check_outcome, check_schema, check_tree
from holdfast.tree.stats import set_outcome
from holdfast.tree.tree import KNOWN, LEAF, Tree


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one tree, root first, the others in any order, with the fields of a Tree."""

    feature: IntArray  # LEAF at a leaf, where threshold and children are ignored
    threshold: FloatArray  # ignored where the node splits on a set of categories
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    value: FloatArray
    count: FloatArray
    weight: FloatArray
    impurity: FloatArray
    sets: Mapping[int, BoolArray] = field(default_factory=dict)  # flags of the categories that go left
    outcome: IntArray | LongArray | None = (
        None  # class of every node; None: ties are decided by the nodes above
    )
    loss_matrix: FloatArray | None = None
    observed: FloatArray | None = None
    effective: FloatArray | None = None
    deviation: FloatArray | None = None
    rows_mean: FloatArray | None = None
    teacher_mean: FloatArray | None = None
    split_support: FloatArray | None = None


def build_preorder(
    nodes: Nodes, schema: Schema, criterion: str = "gini", notes: tuple[str, ...] = ()
) -> Tree:
    """Build a tree from linked nodes, in preorder; a BrokenTreeError if they do not form a tree."""
    check_features(schema, nodes.feature)
    order = list_visits(nodes.feature, nodes.left, nodes.right)
    place = np.empty(len(order) + 1, np.int32)
    place[order] = np.arange(len(order))
    place[LEAF] = LEAF  # the entry after the last
    inner = nodes.feature[order] != LEAF
    set_start, in_set = _sets(nodes, order)
    tree = Tree(
        schema=schema,
        feature=nodes.feature[order].astype(np.int32),
        threshold=np.where(inner & (set_start < 0), nodes.threshold[order], np.nan),
        left=place[np.where(inner, nodes.left[order], LEAF)],
        right=place[np.where(inner, nodes.right[order], LEAF)],
        missing_left=inner & nodes.missing_left[order],
        set_start=set_start,
        in_set=in_set,
        value=nodes.value[order],
        count=nodes.count[order],
        weight=nodes.weight[order],
        impurity=nodes.impurity[order],
        criterion=criterion,
        notes=notes,
        loss_matrix=nodes.loss_matrix,
        observed=None if nodes.observed is None else nodes.observed[order],
        effective=None if nodes.effective is None else nodes.effective[order],
        deviation=None if nodes.deviation is None else nodes.deviation[order],
        rows_mean=None if nodes.rows_mean is None else nodes.rows_mean[order],
        teacher_mean=None if nodes.teacher_mean is None else nodes.teacher_mean[order],
        split_support=None if nodes.split_support is None else nodes.split_support[order],
    )
    check_tree(tree)
    if nodes.outcome is None:
        return tree
    tree = set_outcome(tree, nodes.outcome[order])
    check_outcome(tree)
    return tree


def list_visits(features: IntArray, lefts: IntArray, rights: IntArray) -> LongArray:
    """List the nodes in preorder; a BrokenTreeError if they do not form a tree."""
    feature, left, right = features.tolist(), lefts.tolist(), rights.tolist()
    seen = [False] * len(feature)
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if not 0 <= node < len(feature):
            raise BrokenTreeError(f"a child is node {node}: the nodes are 0 to {len(feature) - 1}.")
        if seen[node]:
            raise BrokenTreeError(f"node {node} is the child of two nodes, or the root is a child.")
        seen[node] = True
        order.append(node)
        if feature[node] != LEAF:
            waiting += (right[node], left[node])
    if len(order) < len(feature):
        raise BrokenTreeError(
            f"node {seen.index(False)} is not reachable: the root leads to {len(order)} nodes of "
            f"{len(feature)}."
        )
    return np.array(order, np.int64)


def _sets(nodes: Nodes, order: LongArray) -> tuple[LongArray, BoolArray]:
    """Return the first flag of each node in its new order, and the flags of the categories."""
    set_start = np.full(len(order), -1, np.int64)
    flags: list[BoolArray] = [np.empty(0, np.bool_)]
    size = 0
    for place, node in enumerate(order.tolist()):
        if node in nodes.sets:
            set_start[place] = size
            flags.append(nodes.sets[node])
            size += len(nodes.sets[node])
    return set_start, np.concatenate(flags)


# -- Descriptions of nodes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A node in a description of a tree; a leaf if it has no feature."""

    feature: str | int | None = None  # by name, or by its number in the schema
    threshold: float | None = None  # values up to this go left; infinity: every known value
    categories: Collection[Label] | None = None  # that go left
    left: Any = None  # child: its number in the list, or the node itself
    right: Any = None
    missing_left: bool = False  # do missing values go left?
    value: Any = None  # class, fractions or counts of the classes, or number
    count: float | None = None  # number of rows
    weight: float | None = None  # weight of the rows; default: the count
    impurity: float | None = None  # for regression the variance of the target


_NAMES = tuple(field.name for field in fields(Node))


def as_node(name: str, given: Any) -> Node:
    """Convert a dictionary to a node."""
    if isinstance(given, Node):
        return given
    if not isinstance(given, Mapping):
        raise BrokenTreeError(f"{name} is {given!r}: a node is a Node or a dictionary.")
    if unknown := [key for key in given if key not in _NAMES]:
        raise BrokenTreeError(f"{name} has {quoted(unknown)}: the keys of a node are {', '.join(_NAMES)}.")
    return Node(**given)


# -- splits -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """A split: a threshold, or a flag per category for the left side."""

    feature: int
    threshold: float = np.nan
    goes_left: BoolArray | None = None


def make_split(schema: Schema, name: str, node: Node) -> Split | None:
    """Make the split of a node; None for a leaf."""
    has = {word: getattr(node, word) is not None for word in ("threshold", "categories", "left", "right")}
    if node.feature is None:
        if extra := [word for word, is_there in has.items() if is_there]:
            raise BrokenTreeError(f"{name} has no feature, so it is a leaf, but it has {quoted(extra)}.")
        return None
    for word in ("left", "right"):
        if not has[word]:
            raise BrokenTreeError(f"{name} has no child on the {word}: a split has two.")
    number = _feature_number(schema, name, node.feature)
    feature = schema.features[number]
    if has["threshold"] and has["categories"]:
        raise BrokenTreeError(f"{name} has a threshold and categories: a split has one of them.")
    if feature.is_subset:
        return Split(number, goes_left=_flags(name, node, feature))
    if has["categories"] and feature.kind == "ordered":
        return Split(number, _ordered_threshold(name, node, feature))
    return Split(number, _threshold(name, node, feature))


def _feature_number(schema: Schema, name: str, feature: str | int) -> int:
    if isinstance(feature, str):
        if feature not in schema.names:
            raise BrokenTreeError(f"{name}: the schema has no {feature!r}; it has {quoted(schema.names)}.")
        return schema.names.index(feature)
    if not isinstance(feature, int | np.integer) or isinstance(feature, bool):
        raise BrokenTreeError(f"{name}: feature is {feature!r}: it is a name or a number.")
    if not 0 <= feature < len(schema.features):
        last = len(schema.features) - 1
        raise BrokenTreeError(f"{name}: feature is {feature}, and those of the schema are 0 to {last}.")
    return int(feature)


def _flags(name: str, node: Node, feature: Feature) -> BoolArray:
    """For each category: does it go left?"""
    categories = (True,) if feature.kind == "question" and node.categories is None else node.categories
    if categories is None or node.threshold is not None:
        raise BrokenTreeError(f"{name}: {feature.name!r} is nominal: give the categories that go left.")
    chosen = _read_categories(name, categories, feature)
    return np.array([label in chosen for label in feature.categories], np.bool_)


def _ordered_threshold(name: str, node: Node, feature: Feature) -> float:
    """Return the threshold after the categories that go left, which must come first in their order."""
    chosen = _read_categories(name, node.categories or (), feature)
    first = feature.categories[: len(chosen)]
    if set(first) != chosen:
        raise BrokenTreeError(
            f"{name}: the categories {quoted(sorted(chosen, key=feature.categories.index))} of the ordered "
            f"feature {feature.name!r} are not the first of {quoted(feature.categories)}."
        )
    return len(first) - 0.5


def _read_categories(name: str, categories: Collection[Label], feature: Feature) -> set[Label]:
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise BrokenTreeError(f"{name}: categories is {categories!r}: it is a list, also of one category.")
    chosen = {to_python_label(label) for label in categories}
    if unknown := [label for label in chosen if label not in feature.categories]:
        raise BrokenTreeError(
            f"{name}: {feature.name!r} has no categories {quoted(unknown)}; it has "
            f"{quoted(feature.categories)}."
        )
    return chosen


def _threshold(name: str, node: Node, feature: Feature) -> float:
    if node.categories is not None:
        raise BrokenTreeError(f"{name}: {feature.name!r} is numeric: give a threshold, not categories.")
    if not isinstance(node.threshold, Real) or isnan(node.threshold) or node.threshold == -np.inf:
        raise BrokenTreeError(
            f"{name}: the threshold on {feature.name!r} is {node.threshold!r}: it is a number."
        )
    threshold = min(float(node.threshold), KNOWN)
    return floor(threshold) + 0.5 if feature.kind == "ordered" and threshold < KNOWN else threshold


def to_python_label(label: Any) -> Label:
    """Convert a numpy label to a Python one."""
    plain: Label = label.item() if isinstance(label, np.generic) else label
    return plain


# -- values -----------------------------------------------------------------------------------------------


def make_amount(name: str, word: str, given: Any) -> float | None:
    """Convert a count, weight or impurity; None if it is not given."""
    if given is None:
        return None
    if not isinstance(given, Real) or not isfinite(given) or given < 0:
        raise BrokenTreeError(f"{name}: {word} is {given!r}: it is a number, at least 0.")
    return float(given)


def make_value(name: str, given: Any, target: Target) -> Any:
    """Convert class fractions or a mean."""
    if not target.is_classes:
        if not isinstance(given, Real) or not isfinite(given):
            raise BrokenTreeError(f"{name}: value is {given!r}: {target.name!r} is a number.")
        return float(given)
    if isinstance(given, str | Real):
        given = {to_python_label(given): 1.0}
    if isinstance(given, Mapping):
        amounts = {to_python_label(label): amount for label, amount in given.items()}
        if unknown := [label for label in amounts if label not in target.classes]:
            raise BrokenTreeError(
                f"{name}: {target.name!r} has no classes {quoted(unknown)}; it has {quoted(target.classes)}."
            )
        given = [amounts.get(label, 0.0) for label in target.classes]
    return _fractions(name, given, target)


def _fractions(name: str, given: Any, target: Target) -> FloatArray:
    try:
        amounts = np.array(given, np.float64)
    except (TypeError, ValueError):
        amounts = np.empty(0)
    if amounts.shape != (len(target.classes),) or not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise BrokenTreeError(
            f"{name}: value is {given!r}: it is a class, or one number, at least 0, for each of the "
            f"{len(target.classes)} classes."
        )
    total = float(amounts.sum())
    if total <= 0:
        raise BrokenTreeError(f"{name}: value is {given!r}: one of the classes must have more than 0.")
    return amounts if abs(total - 1) <= TOLERANCE else amounts / total


# -- Trees from descriptions of nodes ------------------------------------------------------------------------


def tree_from_nodes(schema: Schema, nodes: Any) -> Tree:
    """Build a tree from nodes, see `Tree.from_nodes`; a BrokenTreeError names an invalid node."""
    check_schema(schema)
    entries, left, right = _entries(nodes)
    splits = [make_split(schema, name, node) for name, node in entries]
    feature = np.array([LEAF if split is None else split.feature for split in splits], np.int32)
    order = list_visits(feature, left, right)
    value, count, weight, impurity = _fill_numbers(schema.target, entries, left, right, order)
    linked = Nodes(
        feature=feature,
        threshold=np.array([np.nan if split is None else split.threshold for split in splits]),
        left=left,
        right=right,
        missing_left=np.array([bool(node.missing_left) for _, node in entries]),
        value=value,
        count=count,
        weight=weight,
        impurity=impurity,
        sets={
            place: split.goes_left
            for place, split in enumerate(splits)
            if split is not None and split.goes_left is not None
        },
    )
    return build_preorder(linked, schema, "gini" if schema.target.is_classes else "squared_error")


_Entry = tuple[str, Node]  # what the node is called in messages, and the node


def _entries(nodes: Any) -> tuple[list[_Entry], IntArray, IntArray]:
    """List all nodes, nested ones last, with the numbers of their children."""
    is_one = isinstance(nodes, Node | Mapping)
    if not is_one and not (isinstance(nodes, Iterable) and not isinstance(nodes, str)):
        raise TypeError(f"Nodes are a list, or the root with its children in it, not {nodes!r}.")
    given = [nodes] if is_one else list(nodes)
    if not given:
        raise BrokenTreeError("there are no nodes: a tree has at least one.")
    names = ["root"] if is_one else [f"node {place}" for place in range(len(given))]
    entries = [(name, as_node(name, each)) for name, each in zip(names, given, strict=True)]
    nested_in: list[tuple[int, ...]] = [(id(each),) for each in given]  # itself, and those around it
    children = []
    for place, (name, node) in enumerate(entries):  # which grows on the way
        pair = []
        for word in ("left", "right"):
            child = getattr(node, word)
            if isinstance(child, Node | Mapping):
                if id(child) in nested_in[place]:
                    raise BrokenTreeError(f"{name}: {word} is a node that {name} itself is nested in.")
                pair.append(len(entries))
                entries.append((f"{name}.{word}", as_node(f"{name}.{word}", child)))
                nested_in.append((*nested_in[place], id(child)))
            else:
                pair.append(LEAF if child is None else _child(name, word, child, len(given)))
        children.append(pair)
    left, right = np.array(children, np.int32).T
    return entries, left, right


def _child(name: str, word: str, child: Any, n_nodes: int) -> int:
    if not isinstance(child, int | np.integer) or isinstance(child, bool):
        raise BrokenTreeError(f"{name}: {word} is {child!r}: a child is the number of a node, or a node.")
    if not 0 <= child < n_nodes:
        raise BrokenTreeError(f"{name}: {word} is node {child}, and the nodes are 0 to {n_nodes - 1}.")
    return int(child)


def _fill_numbers(
    target: Target, entries: Sequence[_Entry], left: IntArray, right: IntArray, order: LongArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return value, count, weight and impurity of all nodes; gaps of inner nodes are filled from children."""
    values: FloatArray = np.zeros((len(entries), max(len(target.classes), 1)))
    counts, weights, impurities = np.zeros((3, len(entries)))
    for place in reversed(order.tolist()):  # children before their parents
        (name, node), pair = entries[place], [left[place], right[place]]
        is_leaf = node.feature is None
        count, weight, impurity = (
            make_amount(name, word, getattr(node, word)) for word in ("count", "weight", "impurity")
        )
        if is_leaf:
            counts[place] = (weight or 0.0) if count is None else count
            weights[place] = counts[place] if weight is None else weight
        else:
            total = float(weights[pair].sum())
            counts[place] = float(counts[pair].sum()) if count is None else count
            weights[place] = total
            if weight is not None and abs(weight - total) > TOLERANCE * weight:
                raise BrokenTreeError(
                    f"{name}: its weight is {weight:g}, and its children's are {total:g} together."
                )
        part = 0.5 if is_leaf or weights[place] <= 0 else weights[pair[0]] / weights[place]
        if node.value is not None:
            values[place] = make_value(name, node.value, target)
        elif is_leaf:
            raise BrokenTreeError(f"{name} has no value: a leaf needs one.")
        else:
            values[place] = part * values[pair[0]] + (1 - part) * values[pair[1]]
        if impurity is None and target.is_classes:
            impurity = max(1 - float(np.square(values[place]).sum()), 0.0)
        elif impurity is None and not is_leaf:  # the variance
            spread = impurities[pair] + (values[pair, 0] - values[place, 0]) ** 2
            impurity = float(part * spread[0] + (1 - part) * spread[1])
        impurities[place] = impurity or 0.0  # of a number it is unknown at a leaf
    return values, counts, weights, impurities
