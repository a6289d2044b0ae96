"""What the record of edits promises: texts that can be shown, paths that can be followed, plain nodes."""

from math import isfinite
from typing import Any, get_args

from holdfast.errors import BrokenTreeError
from holdfast.tree.check import check_labels, check_text
from holdfast.tree.edit import NO, YES, Edit, EditKind
from holdfast.tree.node import Node
from holdfast.tree.tree import Tree


def check_edits(tree: Tree) -> None:
    """Raise a BrokenTreeError that names the edit and the value, unless all edits are valid."""
    for position, edit in enumerate(tree.edits):
        place = f"edits[{position}]"
        if not isinstance(edit, Edit):
            raise BrokenTreeError(f"{place} is a {type(edit).__name__}: it must be an Edit.")
        if edit.kind not in get_args(EditKind):
            raise BrokenTreeError(
                f"{place}.kind is {edit.kind!r}: it is one of {', '.join(get_args(EditKind))}."
            )
        for name in ("path", "by", "why", "when"):
            check_text(f"{place}.{name}", getattr(edit, name))
        if strange := set(edit.path) - {YES, NO}:
            raise BrokenTreeError(
                f"{place}.path has {min(strange)!r}: a path is written with {YES} and {NO}."
            )
        if not isinstance(edit.stale, bool):
            raise BrokenTreeError(f"{place}.stale is {edit.stale!r}: it must be True or False.")
        for name in ("before", "after"):
            _check_node(f"{place}.{name}", getattr(edit, name))


def _check_node(place: str, node: Any) -> None:
    """A node by names: a feature with a threshold or categories, or a value."""
    if not isinstance(node, Node):
        raise BrokenTreeError(f"{place} is a {type(node).__name__}: it must be a Node.")
    if not isinstance(node.missing_left, bool):
        raise BrokenTreeError(f"{place}.missing_left is {node.missing_left!r}: it must be True or False.")
    if node.feature is None:
        if node.value is None or node.threshold is not None or node.categories is not None:
            raise BrokenTreeError(f"{place} has no feature: it is a leaf, with a value and nothing else.")
        _check_value(f"{place}.value", node.value)
        return
    check_text(f"{place}.feature", node.feature)  # type: ignore[arg-type]
    if (node.threshold is None) == (node.categories is None) or node.value is not None:
        raise BrokenTreeError(f"{place} has a feature: it has a threshold or categories, and nothing else.")
    if node.threshold is not None:
        _check_number(f"{place}.threshold", node.threshold)
    if node.categories is not None:
        check_labels(f"{place}.categories", tuple(node.categories))


def _check_value(place: str, value: Any) -> None:
    if not isinstance(value, dict):
        _check_number(place, value)
        return
    check_labels(place, tuple(value))
    if not value:
        raise BrokenTreeError(f"{place} is empty: it has a fraction for each class.")
    for label, fraction in value.items():
        _check_number(f"{place}[{label!r}]", fraction)


def _check_number(place: str, number: Any) -> None:
    if not isinstance(number, float) or not isfinite(number):
        raise BrokenTreeError(f"{place} is {number!r}: it must be a finite number.")
