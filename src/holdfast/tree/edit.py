"""What was changed in a tree by hand: where, what was there before, who did it and why."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from holdfast.shown import shown
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.tree.node import Node

EditKind = Literal["threshold", "categories", "question", "pruned", "grown", "value"]
YES, NO = "L", "R"  # the letters of a path: left and right
STALE = "Counts and values below an edited node are from before the edit: no rows were given to fit them to."


@dataclass(frozen=True)
class Edit:
    """A manual change of a tree: what was changed from what to what, by whom and why."""

    kind: EditKind
    path: str  # from the root to the node: L for each yes, R for each no; the root has none
    before: "Node"  # what the node asked or, of a leaf, what it said
    after: "Node"
    by: str = ""  # who
    why: str = ""
    when: str = ""  # as the caller wrote it: trees know no clock
    stale: bool = False  # made without rows: counts and values below it are those from before

    def __str__(self) -> str:
        return shown("edit_text", self)


def edited_nodes(tree: Tree) -> tuple[int, ...]:
    """List the nodes that still are as a person edited them.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    tuple of int
        Without nodes that were removed or changed again.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"]))
    >>> edited_nodes(tree), edited_nodes(tree.with_threshold(0, 45, by="Ada"))
    ((), (0,))
    """
    return tuple(sorted({node for node, _ in find_valid_edits(tree)}))


def find_valid_edits(tree: Tree) -> Iterator[tuple[int, Edit]]:
    """List the edits that are still in force, each with its node."""
    for edit in tree.edits:
        node = _node_on(tree, edit.path)
        if node is not None and _holds(tree, node, edit):
            yield node, edit


def _holds(tree: Tree, node: int, edit: Edit) -> bool:
    if edit.kind == "pruned":  # rows may have given it another value
        return bool(tree.feature[node] == LEAF)
    return describe_node(tree, node) == edit.after


def _node_on(tree: Tree, path: str) -> int | None:
    """Return the node at the end of the path; None if the tree ends before it."""
    node = 0
    for letter in path:
        if tree.feature[node] == LEAF:
            return None
        node = int(tree.left[node] if letter == YES else tree.right[node])
    return node


def trace_path(tree: Tree, node: int) -> str:
    """Return the path from the root to the node, as in `Edit.path`."""
    letters = []
    while (parent := int(tree.parent[node])) != -1:
        letters.append(YES if tree.left[parent] == node else NO)
        node = parent
    return "".join(reversed(letters))


def describe_node(tree: Tree, node: int) -> "Node":
    """Describe a split, or the value of a leaf, by names, independently of the schema."""
    from holdfast.tree.node import Node

    if tree.feature[node] == LEAF:
        return Node(value=_value_at(tree, node))
    feature, missing_left = tree.schema.features[tree.feature[node]], bool(tree.missing_left[node])
    if feature.kind == "numeric":
        return Node(feature.name, threshold=float(tree.threshold[node]), missing_left=missing_left)
    if feature.is_subset:
        goes_left = tree.left_categories(node).tolist()
    else:
        goes_left = (np.arange(len(feature.categories)) <= tree.threshold[node]).tolist()
    categories = tuple(label for label, yes in zip(feature.categories, goes_left, strict=True) if yes)
    return Node(feature.name, categories=categories, missing_left=missing_left)


def _value_at(tree: Tree, node: int) -> Any:
    value = tree.value[node].tolist()
    classes = tree.schema.target.classes
    return dict(zip(classes, value, strict=True)) if classes else value[0]


def carry_edits(edits: tuple[Edit, ...], old: Tree, new: Tree) -> tuple[Edit, ...]:
    """Translate edits that are in force to a tree with the same nodes on another schema."""
    held = {id(edit): node for node, edit in find_valid_edits(old)}
    return tuple(
        replace(edit, after=describe_node(new, held[id(edit)]))
        if id(edit) in held and edit.kind != "pruned"
        else edit
        for edit in edits
    )


def record_edit(tree: Tree, edit: Edit) -> Tree:
    """Append an edit to the record, with a note if it left outdated numbers."""
    return update_edit_notes(tree.replace(edits=(*tree.edits, edit)))


def update_edit_notes(tree: Tree) -> Tree:
    """Add or remove the note on outdated numbers, as the edits in force require."""
    is_stale = any(edit.stale for _, edit in find_valid_edits(tree))
    others = tuple(note for note in tree.notes if note != STALE)
    return tree.replace(notes=(*others, STALE) if is_stale else others)
