"""Between the edits of a tree and the parts of its document."""

from typing import Any

import msgspec

from holdfast.errors import BrokenTreeError
from holdfast.storage.document import EditedNodePart, EditPart, Edits
from holdfast.tree.edit import Edit
from holdfast.tree.node import Node


def edit_parts(edits: tuple[Edit, ...]) -> Edits:
    """The part of the document on the edits; nothing if there are none."""
    if not edits:
        return msgspec.UNSET
    return tuple(
        EditPart(
            kind=edit.kind,
            path=edit.path,
            before=_node_part(edit.before),
            after=_node_part(edit.after),
            by=str(edit.by),
            why=str(edit.why),
            when=str(edit.when),
            stale=edit.stale,
        )
        for edit in edits
    )


def edits_in(parts: Edits) -> tuple[Edit, ...]:
    """The edits as the document says they are: whether they are sound remains to be checked."""
    if parts is msgspec.UNSET:
        return ()
    return tuple(
        Edit(
            part.kind,
            part.path,
            _node_in(f"edits[{position}].before", part.before),
            _node_in(f"edits[{position}].after", part.after),
            part.by,
            part.why,
            part.when,
            part.stale,
        )
        for position, part in enumerate(parts)
    )


def _node_part(node: Node) -> EditedNodePart:
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


def _node_in(place: str, part: EditedNodePart) -> Node:
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
