"""One node of a tree that is to be: what it asks, and what it says."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from math import floor, isfinite, isnan
from numbers import Real
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.text.lists import listed
from holdfast.tree.check import TOLERANCE
from holdfast.tree.tree import KNOWN


@dataclass(frozen=True)
class Node:
    """A node in a description of a tree; a leaf if it has no feature."""

    feature: str | int | None = None  # by name, or by its number in the schema
    threshold: float | None = None  # a value of at most this goes left; infinity: every known value
    categories: Collection[Label] | None = None  # that go left
    left: Any = None  # the child for yes: its number in the list, or the node itself
    right: Any = None
    missing_left: bool = False  # where do missing values go?
    value: Any = None  # the class, fractions or counts of the classes; or the mean
    count: float | None = None  # rows
    weight: float | None = None  # their weight; the count, if it is not given
    impurity: float | None = None  # variance of the target, for regression


_NAMES = tuple(field.name for field in fields(Node))


def as_node(name: str, given: Any) -> Node:
    """Convert a dictionary to a node."""
    if isinstance(given, Node):
        return given
    if not isinstance(given, Mapping):
        raise BrokenTreeError(f"{name} is {given!r}: a node is a Node or a dictionary.")
    if unknown := [key for key in given if key not in _NAMES]:
        raise BrokenTreeError(f"{name} has {listed(unknown)}: the keys of a node are {', '.join(_NAMES)}.")
    return Node(**given)


# -- what a node asks -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """A split: a threshold, or a flag per category for the left side."""

    feature: int
    threshold: float = np.nan
    goes_left: BoolArray | None = None


def make_split(schema: Schema, name: str, node: Node) -> Split | None:
    """Make the split of a node; None for a leaf."""
    asked = {word: getattr(node, word) is not None for word in ("threshold", "categories", "left", "right")}
    if node.feature is None:
        if extra := [word for word, is_there in asked.items() if is_there]:
            raise BrokenTreeError(f"{name} has no feature, so it is a leaf, but it has {listed(extra)}.")
        return None
    for word in ("left", "right"):
        if not asked[word]:
            raise BrokenTreeError(f"{name} has no child on the {word}: a split has two.")
    number = _feature_number(schema, name, node.feature)
    feature = schema.features[number]
    if asked["threshold"] and asked["categories"]:
        raise BrokenTreeError(f"{name} has a threshold and categories: a split has one of them.")
    if feature.is_subset:
        return Split(number, goes_left=_flags(name, node, feature))
    if asked["categories"] and feature.kind == "ordered":
        return Split(number, _after(name, node, feature))
    return Split(number, _threshold(name, node, feature))


def _feature_number(schema: Schema, name: str, feature: str | int) -> int:
    if isinstance(feature, str):
        if feature not in schema.names:
            raise BrokenTreeError(f"{name}: the schema has no {feature!r}; it has {listed(schema.names)}.")
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
    chosen = _known(name, categories, feature)
    return np.array([label in chosen for label in feature.categories], np.bool_)


def _after(name: str, node: Node, feature: Feature) -> float:
    """Return the threshold after the categories that go left, which must come first in their order."""
    chosen = _known(name, node.categories or (), feature)
    first = feature.categories[: len(chosen)]
    if set(first) != chosen:
        raise BrokenTreeError(
            f"{name}: the categories {listed(sorted(chosen, key=feature.categories.index))} of the ordered "
            f"feature {feature.name!r} are not the first of {listed(feature.categories)}."
        )
    return len(first) - 0.5


def _known(name: str, categories: Collection[Label], feature: Feature) -> set[Label]:
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise BrokenTreeError(f"{name}: categories is {categories!r}: it is a list, also of one category.")
    chosen = {to_python_label(label) for label in categories}
    if unknown := [label for label in chosen if label not in feature.categories]:
        raise BrokenTreeError(
            f"{name}: {feature.name!r} has no categories {listed(unknown)}; it has "
            f"{listed(feature.categories)}."
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


# -- what a node says -------------------------------------------------------------------------------------


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
                f"{name}: {target.name!r} has no classes {listed(unknown)}; it has {listed(target.classes)}."
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
