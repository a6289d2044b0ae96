"""A tree on its way from one edit to the next: what is asked for, checked, done, refitted and recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from holdfast._check import is_number
from holdfast.arrays import FloatArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import BrokenTreeError, EditError, SchemaMismatch
from holdfast.grown import grown
from holdfast.text.lists import listed
from holdfast.tree.check import TOLERANCE
from holdfast.tree.class_counts import keep_own_counts
from holdfast.tree.edit import (
    Edit,
    EditKind,
    carry_edits,
    describe_node,
    find_valid_edits,
    record_edit,
    trace_path,
    update_edit_notes,
)
from holdfast.tree.edits import replace_split, replace_subtree, set_leaf_values
from holdfast.tree.monotone import count_violations, enforce_monotonicity
from holdfast.tree.node import Node, make_split, to_python_label
from holdfast.tree.prune import prune_at
from holdfast.tree.tree import LEAF, Tree

NUMBERS = "tree.numbered(), or holdfast show --nodes"  # where the numbers of nodes are to be seen
_QUESTIONS = ("threshold", "categories", "question", "grown")  # edits after which rows go other ways


@dataclass(frozen=True, eq=False, repr=False)
class TreeEditor:
    """A tree under edit: each method returns the next editor, `tree` is the result.

    Nodes go by their numbers in `tree` as it is at that step: `tree.numbered()` shows them.
    """

    tree: Tree
    table: Table | None = None  # the rows that counts and values are fitted to; None: they stay
    rules: Any = None  # growth rules: how `grown_at` grows, and how classes are weighted
    keep_values: bool = False  # where the rows would give others
    by: str = ""
    why: str = ""
    when: str = ""

    def __post_init__(self) -> None:
        if self.table is not None:
            object.__setattr__(self, "table", _fitting(self.tree.schema, self.table))

    def __repr__(self) -> str:
        return f"<Editing: {self.tree!r}, {len(self.tree.edits)} edits on record>"

    # -- what is asked ------------------------------------------------------------------------------------

    def with_threshold(self, node: int, threshold: float) -> "TreeEditor":
        """Change the threshold of the node."""
        feature = self._feature_at(node)
        return self._asking("threshold", node, Node(feature.name, threshold=threshold))

    def with_categories(self, node: int, categories: Any) -> "TreeEditor":
        """Change the categories that go left at the node."""
        feature = self._feature_at(node)
        return self._asking("categories", node, Node(feature.name, categories=categories))

    def with_question(
        self,
        node: int,
        feature: str | int,
        *,
        threshold: float | None = None,
        categories: Any = None,
        missing_left: bool | None = None,
    ) -> "TreeEditor":
        """Change the split at the node; its children stay."""
        self._feature_at(node)
        question = Node(feature, threshold=threshold, categories=categories)
        return self._asking("question", node, question, missing_left)

    def _asking(
        self, kind: EditKind, node: int, question: Node, missing_left: bool | None = None
    ) -> "TreeEditor":
        try:
            split = make_split(self.tree.schema, f"node {node}", replace(question, left=0, right=0))
        except BrokenTreeError as error:
            raise EditError(f"Cannot edit {error}") from error
        assert split is not None
        if missing_left is None:
            missing_left = bool(self.tree.missing_left[node])
        return self._recorded(kind, node, replace_split(self.tree, node, split, bool(missing_left)))

    # -- what stands below --------------------------------------------------------------------------------

    def pruned_at(self, node: int) -> "TreeEditor":
        """Make the node a leaf with the value it has."""
        self._feature_at(node)
        return self._recorded("pruned", node, prune_at(self.tree, np.arange(self.tree.n_nodes) == node))

    def grown_at(self, node: int) -> "TreeEditor":
        """Replace the node by a subtree grown on the rows that reach it."""
        _check_node(self.tree, node)
        if self.table is None:
            raise EditError(f"Cannot grow node {node} without rows: give a table.")
        subtree = grown("subtree_at", self.tree, node, self.table, self.rules)
        if subtree.n_leaves == 1 and self.tree.feature[node] == LEAF:
            raise EditError(
                f"Nothing grows at node {node}: the rules find no split for the rows that reach it."
            )
        changed = replace_subtree(self.tree, node, subtree)
        return self._recorded("grown", node, changed.replace(notes=(*changed.notes, *subtree.notes)))

    # -- what is said -------------------------------------------------------------------------------------

    def with_leaf_value(self, node: int, value: Any) -> "TreeEditor":
        """Change the value of a leaf."""
        _check_node(self.tree, node)
        if self.tree.feature[node] != LEAF:
            raise EditError(f"Node {node} asks a question, and only leaves are given values: prune it first.")
        is_node = np.arange(self.tree.n_nodes) == node
        line = _value_line(node, value, self.tree.schema.target)
        values = np.tile(line, (len(is_node), 1))
        return self._recorded("value", node, set_leaf_values(keep_own_counts(self.tree), is_node, values))

    # -- what all edits have in common --------------------------------------------------------------------

    def _feature_at(self, node: int) -> Feature:
        """Return the feature that the node splits on; an EditError if it is a leaf."""
        _check_node(self.tree, node)
        if self.tree.feature[node] == LEAF:
            raise EditError(
                f"Node {node} is a leaf and asks nothing: give the number of a node that asks a question "
                f"({NUMBERS})."
            )
        return self.tree.schema.features[int(self.tree.feature[node])]

    def _recorded(self, kind: EditKind, node: int, changed: Tree) -> "TreeEditor":
        """Refit numbers to the rows, if there are any, and record the edit."""
        edit = Edit(
            kind,
            trace_path(self.tree, node),
            before=describe_node(self.tree, node),
            after=describe_node(changed, node),
            by=_text("by", self.by),
            why=_text("why", self.why),
            when=_text("when", self.when),
            stale=self.table is None and kind in _QUESTIONS,
        )
        new = record_edit(changed, edit)
        if self.table is not None:
            new = self._refitted(new, node if kind in _QUESTIONS else None)
        return replace(self, tree=_kept_in_order(new, kind, node))

    def _refitted(self, tree: Tree, edited: int | None) -> Tree:
        """Refit counts and weights everywhere, and values below this edit and earlier ones without rows.

        Elsewhere the same rows arrive as before, and the values may be others than theirs: a teacher's.
        """
        held = list(find_valid_edits(tree))
        below = np.zeros(tree.n_nodes, np.bool_)
        for node in {edited, *(node for node, edit in held if edit.stale)} - {None}:
            below[node : tree.subtree_end[node]] = True
        for node, edit in held:
            if edit.kind == "value":
                below[node] = False
        fitted = grown("refitted_at", tree, self.table, below, self.rules, self.keep_values)
        edits = tuple(replace(edit, stale=False) for edit in carry_edits(tree.edits, tree, fitted))
        return update_edit_notes(fitted.replace(edits=edits))


def _kept_in_order(tree: Tree, kind: EditKind, node: int) -> Tree:
    """Enforce monotone constraints; an EditError if a value set by a person violates them."""
    if kind == "value" and (n_broken := count_violations(tree)):
        assert tree.monotone is not None
        features = listed([name for name, _ in tree.monotone.directions])
        raise EditError(
            f"The value of node {node} breaks what the tree promises of {features}: {n_broken} pairs of "
            "leaves would be out of order. Give a value between those of the leaves on either side."
        )
    return enforce_monotonicity(tree)


def _check_node(tree: Tree, node: Any) -> None:
    if not isinstance(node, int | np.integer) or isinstance(node, bool):
        raise EditError(f"The node is {node!r}: give its number ({NUMBERS}).")
    if not 0 <= node < tree.n_nodes:
        raise EditError(
            f"There is no node {node}: the nodes of the tree are 0 to {tree.n_nodes - 1} ({NUMBERS})."
        )


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise EditError(f"{name}={given!r} must be a text.")
    return given


def _fitting(schema: Schema, table: Any) -> Table:
    """Return the table on the tree's schema; a SchemaMismatch if they differ."""
    if not isinstance(table, Table):
        raise TypeError(
            f"The rows are a {type(table).__name__}: make a table of them, "
            "Table.from_arrays(X, y, schema=tree.schema)."
        )
    way_out = "Read them with schema=tree.schema."
    for tree_feature, feature in zip(schema.features, table.schema.features, strict=False):
        if _code(tree_feature) != _code(feature):
            raise SchemaMismatch(
                f"The rows do not fit the tree: its column {tree_feature.name!r} is {tree_feature.kind}, and "
                f"in its place they have {feature.name!r}, {feature.kind}, or other categories. {way_out}"
            )
    n_own, n_other = len(schema.features), len(table.schema.features)
    if n_own != n_other:
        raise SchemaMismatch(f"The rows have {n_other} columns, and the tree has {n_own}. {way_out}")
    own, other = schema.target, table.schema.target
    if own.classes != other.classes:
        raise SchemaMismatch(
            f"The rows have the classes {listed(other.classes)}, and the tree has {listed(own.classes)}. "
            f"{way_out}"
        )
    return table if table.schema == schema else replace(table, schema=schema)


def _code(feature: Feature) -> tuple[object, ...]:
    return feature.name, feature.kind, feature.categories


# -- the value of a leaf ----------------------------------------------------------------------------------


def _value_line(node: int, given: Any, target: Target) -> FloatArray:
    """Read fractions of the classes, or the mean; an EditError if they are invalid."""
    if not target.is_classes:
        return np.array([_number(node, given)])
    if not isinstance(given, Mapping):
        if len(target.classes) != 2:
            raise EditError(
                f"The value for node {node} is {given!r}, and {target.name!r} has {len(target.classes)} "
                "classes: give a mapping from classes to fractions."
            )
        given = {target.classes[1] if target.positive is None else target.positive: given}
    amounts = {to_python_label(label): _number(node, amount) for label, amount in given.items()}
    if unknown := [label for label in amounts if label not in target.classes]:
        raise EditError(
            f"The value for node {node} names {listed(unknown)}: the classes of {target.name!r} are "
            f"{listed(target.classes)}."
        )
    unsaid = [label for label in target.classes if label not in amounts]
    left = 1.0 - sum(amounts.values())
    if len(unsaid) == 1:
        amounts[unsaid[0]] = left if abs(left) > TOLERANCE else 0.0
        left = 0.0
    if unsaid[1:] or abs(left) > TOLERANCE or min(amounts.values()) < 0:
        raise EditError(
            f"The value for node {node} is {given!r}: give fractions from 0 to 1 of all classes, or of all "
            "but one, that sum to 1."
        )
    return np.array([amounts[label] for label in target.classes])


def _number(node: int, given: Any) -> float:
    if not is_number(given) or not isfinite(given):
        raise EditError(f"The value for node {node} is {given!r}: it is a finite number.")
    return float(given)
