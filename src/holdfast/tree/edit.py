"""Manual edits of a tree: the editor, the changes of the nodes, and the record of edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, Literal, get_args

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._check import is_number
from holdfast._text import number_text, quoted
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.survival import describe_misfit
from holdfast.data.table import Table
from holdfast.errors import BrokenTreeError, EditError, SchemaMismatch
from holdfast.tree.build import Node, Nodes, Split, build_preorder, make_split, to_python_label
from holdfast.tree.check import TOLERANCE, check_labels, check_text
from holdfast.tree.monotone import count_violations, enforce_monotonicity
from holdfast.tree.prune import prune_at
from holdfast.tree.rules import Condition, iterate_conditions, list_conditions, split_condition
from holdfast.tree.stats import keep_own_counts, majority, set_outcome
from holdfast.tree.tree import KNOWN, LEAF, Tree

NUMBERS = "tree.numbered(), or holdfast show --nodes"  # where to find the numbers of nodes
_REROUTING = ("threshold", "categories", "split", "grown")  # edits that change the paths of rows


@dataclass(frozen=True, eq=False, repr=False)
class TreeEditor:
    """A tree under edit: each method returns the next editor, `tree` is the result.

    Nodes are given by their numbers in the present `tree`, see `tree.numbered()`.
    """

    tree: Tree
    table: Table | None = None  # rows to which counts and values are refitted
    rules: Any = None  # growth rules of `grow_at`, and class weights
    keep_values: bool = False  # refit counts and weights only
    by: str = ""
    why: str = ""
    when: str = ""

    def __post_init__(self) -> None:
        if self.table is not None:
            object.__setattr__(self, "table", _check_table(self.tree.schema, self.table))

    def __repr__(self) -> str:
        return f"<TreeEditor: {self.tree!r}, {len(self.tree.edits)} edits on record>"

    # -- splits -------------------------------------------------------------------------------------------

    def with_threshold(self, node: int, threshold: float) -> TreeEditor:
        """Change the threshold of the node."""
        feature = self._feature_at(node)
        return self._replace_split("threshold", node, Node(feature.name, threshold=threshold))

    def with_categories(self, node: int, categories: Any) -> TreeEditor:
        """Change the categories that go left at the node."""
        feature = self._feature_at(node)
        return self._replace_split("categories", node, Node(feature.name, categories=categories))

    def with_split(
        self,
        node: int,
        feature: str | int,
        *,
        threshold: float | None = None,
        categories: Any = None,
        missing_left: bool | None = None,
    ) -> TreeEditor:
        """Change the split at the node; its children stay."""
        self._feature_at(node)
        split = Node(feature, threshold=threshold, categories=categories)
        return self._replace_split("split", node, split, missing_left)

    def _replace_split(
        self, kind: EditKind, node: int, new: Node, missing_left: bool | None = None
    ) -> TreeEditor:
        try:
            split = make_split(self.tree.schema, f"node {node}", replace(new, left=0, right=0))
        except BrokenTreeError as error:
            raise EditError(f"Cannot edit {error}") from error
        assert split is not None
        if missing_left is None:
            missing_left = bool(self.tree.missing_left[node])
        return self._record(kind, node, replace_split(self.tree, node, split, bool(missing_left)))

    # -- subtrees -----------------------------------------------------------------------------------------

    def prune_at(self, node: int) -> TreeEditor:
        """Make the node a leaf with the value it has."""
        self._feature_at(node)
        return self._record("pruned", node, prune_at(self.tree, np.arange(self.tree.n_nodes) == node))

    def grow_at(self, node: int) -> TreeEditor:
        """Replace the node by a subtree grown on the rows that reach it."""
        from holdfast.growth.editing import grow_subtree

        _check_node(self.tree, node)
        if self.table is None:
            raise EditError(f"Cannot grow node {node} without rows: give a table.")
        subtree = grow_subtree(self.tree, node, self.table, self.rules)
        if subtree.n_leaves == 1 and self.tree.feature[node] == LEAF:
            raise EditError(
                f"Nothing grows at node {node}: the rules find no split for the rows that reach it."
            )
        changed = replace_subtree(self.tree, node, subtree)
        return self._record("grown", node, changed.replace(notes=(*changed.notes, *subtree.notes)))

    # -- values -------------------------------------------------------------------------------------------

    def with_leaf_value(self, node: int, value: Any) -> TreeEditor:
        """Change the value of a leaf."""
        _check_node(self.tree, node)
        if self.tree.feature[node] != LEAF:
            raise EditError(f"Node {node} has a split, and only leaves can be given values: prune it first.")
        is_node = np.arange(self.tree.n_nodes) == node
        line = _read_value(node, value, self.tree.schema.target)
        values = np.tile(line, (len(is_node), 1))
        return self._record("value", node, set_leaf_values(keep_own_counts(self.tree), is_node, values))

    # -- checks and records -------------------------------------------------------------------------------

    def _feature_at(self, node: int) -> Feature:
        """Return the feature that the node splits on; an EditError if it is a leaf."""
        _check_node(self.tree, node)
        if self.tree.feature[node] == LEAF:
            raise EditError(f"Node {node} is a leaf: give the number of a node with a split ({NUMBERS}).")
        return self.tree.schema.features[int(self.tree.feature[node])]

    def _record(self, kind: EditKind, node: int, changed: Tree) -> TreeEditor:
        """Refit numbers to the rows, if there are any, and record the edit."""
        edit = Edit(
            kind,
            trace_path(self.tree, node),
            before=describe_node(self.tree, node),
            after=describe_node(changed, node),
            by=_check_text("by", self.by),
            why=_check_text("why", self.why),
            when=_check_text("when", self.when),
            stale=self.table is None and kind in _REROUTING,
        )
        new = record_edit(changed, edit)
        if self.table is not None:
            new = self._refit(new, node if kind in _REROUTING else None)
        return replace(self, tree=_enforce_order(new, kind, node))

    def _refit(self, tree: Tree, edited: int | None) -> Tree:
        """Refit counts and weights everywhere, and values below this edit and earlier ones without rows.

        Elsewhere the rows are the same as before, and the values may come from a teacher.
        """
        from holdfast.growth.editing import refit_nodes

        valid = list(find_valid_edits(tree))
        below = np.zeros(tree.n_nodes, np.bool_)
        for node in {edited, *(node for node, edit in valid if edit.stale)} - {None}:
            below[node : tree.subtree_end[node]] = True
        for node, edit in valid:
            if edit.kind == "value":
                below[node] = False
        assert self.table is not None
        fitted = refit_nodes(tree, self.table, below, self.rules, self.keep_values)
        edits = tuple(replace(edit, stale=False) for edit in carry_edits(tree.edits, tree, fitted))
        return update_edit_notes(fitted.replace(edits=edits))


def _enforce_order(tree: Tree, kind: EditKind, node: int) -> Tree:
    """Enforce monotone constraints; an EditError if a value set by a person violates them."""
    if kind == "value" and (n_broken := count_violations(tree)):
        assert tree.monotone is not None
        features = quoted([name for name, _ in tree.monotone.directions])
        raise EditError(
            f"The value of node {node} violates the monotone constraints on {features}: {n_broken} pairs of "
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


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise EditError(f"{name}={value!r} must be a text.")
    return value


def _check_table(schema: Schema, table: Any) -> Table:
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
            f"The rows have the classes {quoted(other.classes)}, and the tree has {quoted(own.classes)}. "
            f"{way_out}"
        )
    if (problem := describe_misfit(own, other)) is not None:
        raise SchemaMismatch(f"{problem} {way_out}")
    return table if table.schema == schema else replace(table, schema=schema)


def _code(feature: Feature) -> tuple[object, ...]:
    return feature.name, feature.kind, feature.categories


# -- the value of a leaf ----------------------------------------------------------------------------------


def _read_value(node: int, given: Any, target: Target) -> FloatArray:
    """Read fractions of the classes, or the mean; an EditError if they are invalid."""
    if not target.is_classes:
        number = _read_number(node, given)
        if target.is_survival and number < 0:
            raise EditError(f"The value for node {node} is {given!r}: it is a relative risk, at least 0.")
        return np.array([number])
    if not isinstance(given, Mapping):
        if len(target.classes) != 2:
            raise EditError(
                f"The value for node {node} is {given!r}, and {target.name!r} has {len(target.classes)} "
                "classes: give a mapping from classes to fractions."
            )
        given = {target.classes[1] if target.positive is None else target.positive: given}
    amounts = {to_python_label(label): _read_number(node, amount) for label, amount in given.items()}
    if unknown := [label for label in amounts if label not in target.classes]:
        raise EditError(
            f"The value for node {node} names {quoted(unknown)}: the classes of {target.name!r} are "
            f"{quoted(target.classes)}."
        )
    absent = [label for label in target.classes if label not in amounts]
    left = 1.0 - sum(amounts.values())
    if len(absent) == 1:
        amounts[absent[0]] = left if abs(left) > TOLERANCE else 0.0
        left = 0.0
    if absent[1:] or abs(left) > TOLERANCE or min(amounts.values()) < 0:
        raise EditError(
            f"The value for node {node} is {given!r}: give fractions from 0 to 1 of all classes, or of all "
            "but one, that sum to 1."
        )
    return np.array([amounts[label] for label in target.classes])


def _read_number(node: int, given: Any) -> float:
    if not is_number(given) or not isfinite(given):
        raise EditError(f"The value for node {node} is {given!r}: it is a finite number.")
    return float(given)


# -- Records of edits ----------------------------------------------------------------------------------------

EditKind = Literal["threshold", "categories", "split", "pruned", "grown", "value"]
YES, NO = "L", "R"  # the letters of a path: left and right
STALE = "Counts and values below an edited node are from before the edit: no rows were given to fit them to."


@dataclass(frozen=True)
class Edit:
    """A manual change of a tree: what was changed from what to what, by whom and why."""

    kind: EditKind
    path: str  # from the root to the node: L for each yes, R for each no; empty for the root
    before: Node  # the split of the node, or the value of a leaf
    after: Node
    by: str = ""  # author
    why: str = ""
    when: str = ""  # as written by the caller
    stale: bool = False  # made without rows, so that counts and values below it are outdated

    def __str__(self) -> str:
        from holdfast.tree.rules_text import edit_text

        return edit_text(self)


def edited_nodes(tree: Tree) -> tuple[int, ...]:
    """List the nodes whose manual edits are in force.

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
        node = _follow_path(tree, edit.path)
        if node is not None and _is_in_force(tree, node, edit):
            yield node, edit


def _is_in_force(tree: Tree, node: int, edit: Edit) -> bool:
    if edit.kind == "pruned":  # its value may have been refitted
        return bool(tree.feature[node] == LEAF)
    return describe_node(tree, node) == edit.after


def _follow_path(tree: Tree, path: str) -> int | None:
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


def describe_node(tree: Tree, node: int) -> Node:
    """Describe a split, or the value of a leaf, by names, independently of the schema."""
    from holdfast.tree.build import Node

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
    nodes = {id(edit): node for node, edit in find_valid_edits(old)}
    return tuple(
        replace(edit, after=describe_node(new, nodes[id(edit)]))
        if id(edit) in nodes and edit.kind != "pruned"
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


# -- Changes of the nodes ------------------------------------------------------------------------------------


def replace_split(tree: Tree, node: int, split: Split, missing_left: bool) -> Tree:
    """Replace the split of an inner node; known values must still reach both of its sides."""
    nodes = _to_nodes(tree)
    feature, threshold, missing = nodes.feature.copy(), nodes.threshold.copy(), nodes.missing_left.copy()
    feature[node], threshold[node], missing[node] = split.feature, split.threshold, missing_left
    sets = {place: flags for place, flags in nodes.sets.items() if place != node}
    if split.goes_left is not None:
        sets[node] = split.goes_left
    support = None if tree.split_support is None else tree.split_support.copy()
    if support is not None:
        support[node : tree.subtree_end[node]] = np.nan
    nodes = replace(nodes, feature=feature, threshold=threshold, missing_left=missing, sets=sets)
    changed = _build(tree, replace(nodes, split_support=support))
    _check_reach(tree, changed, node)
    if split.feature != tree.feature[node]:  # missing values of another feature are unknown
        return changed
    return changed.replace(not_recorded=tree.not_recorded, seen=tree.seen)


def _check_reach(old: Tree, new: Tree, node: int) -> None:
    """Raise an EditError if a side that known values could reach becomes unreachable."""
    from holdfast.tree.rules_text import branch_text

    dead = sorted(find_unreachable(new) - find_unreachable(old))
    if not dead:
        return
    where, side = dead[0]
    split, way = branch_text(new, node, True), "yes" if side else "no"
    if where == node:
        raise EditError(
            f"Cannot split node {node} by {split!r}: no known value would go to {way}. The values that reach "
            f"the node are {_reaching_text(new, node)}: choose a split within them, or prune the node."
        )
    raise EditError(
        f"Cannot split node {node} by {split!r}: node {where} below it has the split "
        f"{branch_text(old, where, True)!r}, and no known value would go to {way} there. Edit or "
        f"prune node {where} first."
    )


def _reaching_text(tree: Tree, node: int) -> str:
    """Describe the values of the node's feature that can reach it."""
    feature = tree.schema.features[tree.feature[node]]
    reaching = list_conditions(tree, node).get(int(tree.feature[node]), Condition(feature))
    if feature.kind == "numeric":
        low, high = reaching.bounds
        return f"{feature.name!r} from {number_text(low)} to {number_text(high)}"
    return f"{feature.name!r} in {quoted(reaching.categories or feature.categories)}"


def find_unreachable(tree: Tree) -> set[tuple[int, bool]]:
    """List nodes and sides (True for yes) that no known value within the schema can reach.

    A split on whether the value is recorded has its own side for missing values.
    """
    unreachable = set()
    for node, conditions in enumerate(iterate_conditions(tree)):
        if tree.feature[node] == LEAF:
            continue
        before = conditions.get(int(tree.feature[node]))
        for side in (True, False):
            condition = split_condition(tree, node, side)
            if tree.threshold[node] >= KNOWN and condition.missing:
                continue
            if not _is_possible(condition if before is None else condition.within(before)):
                unreachable.add((node, side))
    return unreachable


def _is_possible(condition: Condition) -> bool:
    """Return True if a known value within the schema meets the condition."""
    feature = condition.feature
    if feature.kind != "numeric":
        return bool(condition.categories)
    return condition.low < min(condition.high, feature.high) and condition.high >= feature.low


def set_leaf_values(tree: Tree, changed: BoolArray, value: FloatArray) -> Tree:
    """Set the values of the flagged nodes; predictions of other leaves stay."""
    values = np.where(changed[:, None], value, tree.value)
    new = tree.replace(value=values, given_outcome=None)
    if tree.given_outcome is None:
        return new
    return set_outcome(new, np.where(changed, majority(new), tree.given_outcome))


def replace_subtree(tree: Tree, node: int, subtree: Tree) -> Tree:
    """Replace a node by another tree on the same schema; counts and weights become 0."""
    trunk = prune_at(tree, np.arange(tree.n_nodes) == node)
    above, below = (
        replace(_to_nodes(_uncounted(each)), outcome=each.outcome if each.schema.target.is_classes else None)
        for each in (trunk, subtree)
    )
    n_above = len(above.feature)
    # The root of the other tree takes the number of the node; its other nodes get the next free numbers.
    place = np.concatenate([[node], np.arange(n_above, n_above + len(below.feature) - 1)]).astype(np.int32)
    children = np.append(place, np.int32(LEAF))  # LEAF is -1: the last entry

    def join(name: str) -> np.ndarray:
        top, graft = getattr(above, name), getattr(below, name)
        if name in ("left", "right"):
            graft = children[graft]
        whole = np.concatenate([top, graft[1:]])
        whole[node] = graft[0]
        return whole

    names = ("feature", "threshold", "left", "right", "missing_left", "value", "count", "weight", "impurity")
    sets = {**above.sets, **{int(place[number]): flags for number, flags in below.sets.items()}}
    outcome = None
    if tree.given_outcome is not None or subtree.given_outcome is not None:
        outcome = join("outcome")
    arrays = {name: join(name) for name in names}
    nodes = Nodes(**arrays, sets=sets, outcome=outcome, loss_matrix=tree.loss_matrix)
    if above.teacher_mean is not None:
        graft = below.value if below.teacher_mean is None else below.teacher_mean
        teacher_mean = np.concatenate([above.teacher_mean, graft[1:]])
        teacher_mean[node] = graft[0]
        nodes = replace(nodes, teacher_mean=teacher_mean)
    if above.split_support is not None:
        unknown = np.full(len(nodes.feature) - n_above, np.nan)
        nodes = replace(nodes, split_support=np.concatenate([above.split_support, unknown]))
    return _build(tree, nodes)


def _uncounted(tree: Tree) -> Tree:
    nothing = np.zeros(tree.n_nodes)
    return tree.replace(count=nothing, weight=nothing, observed=None, effective=None, rows_mean=None)


def _to_nodes(tree: Tree) -> Nodes:
    common = {field.name for field in fields(Nodes)} - {"sets", "outcome"}
    sets = {node: tree.left_categories(node) for node in np.flatnonzero(tree.set_start >= 0).tolist()}
    return Nodes(**{name: getattr(tree, name) for name in common}, sets=sets, outcome=tree.given_outcome)


def _build(tree: Tree, nodes: Nodes) -> Tree:
    """Build and check the tree, keeping edits, notes and constraints of the original."""
    return build_preorder(nodes, tree.schema, tree.criterion, tree.notes).replace(
        edits=tree.edits, monotone=tree.monotone
    )


# -- Checks of the record ------------------------------------------------------------------------------------


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
            _check_edited_node(f"{place}.{name}", getattr(edit, name))


def _check_edited_node(place: str, node: Any) -> None:
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
