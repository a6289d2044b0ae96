"""What an edit does to the nodes of a tree: another question, another value, another subtree."""

from dataclasses import replace

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.errors import EditError
from holdfast.shown import shown
from holdfast.text.lists import listed
from holdfast.text.numbers import number_text
from holdfast.tree.builder import Nodes, build_preorder
from holdfast.tree.node import Split
from holdfast.tree.outcome import majority, set_outcome
from holdfast.tree.prune import prune_at
from holdfast.tree.rule import Condition, iterate_conditions, list_conditions, split_condition
from holdfast.tree.tree import KNOWN, LEAF, Tree

# -- another question -------------------------------------------------------------------------------------


def replace_split(tree: Tree, node: int, split: Split, missing_left: bool) -> Tree:
    """Replace the split of an inner node; known values must still reach both of its sides."""
    loose = _loose(tree)
    feature, threshold, missing = loose.feature.copy(), loose.threshold.copy(), loose.missing_left.copy()
    feature[node], threshold[node], missing[node] = split.feature, split.threshold, missing_left
    sets = {place: flags for place, flags in loose.sets.items() if place != node}
    if split.goes_left is not None:
        sets[node] = split.goes_left
    asked = replace(loose, feature=feature, threshold=threshold, missing_left=missing, sets=sets)
    changed = _built(tree, replace(asked, split_support=_support_elsewhere(tree, node)))
    _check_reach(tree, changed, node)
    if split.feature != tree.feature[node]:  # what is recorded of another feature, only rows can tell
        return changed
    return changed.replace(not_recorded=tree.not_recorded, seen=tree.seen)


def _support_elsewhere(tree: Tree, node: int) -> FloatArray | None:
    """Return the support of the splits that keep their rows after an edit of the node."""
    if tree.split_support is None:
        return None
    support = tree.split_support.copy()
    support[node : tree.subtree_end[node]] = np.nan
    return support


def _check_reach(old: Tree, new: Tree, node: int) -> None:
    """Raise an EditError if a side that known values could reach becomes unreachable."""
    dead = sorted(find_unreachable(new) - find_unreachable(old))
    if not dead:
        return
    where, side = dead[0]
    asked, way = shown("answer_text", new, node, True), "yes" if side else "no"
    if where == node:
        raise EditError(
            f"Cannot ask {asked!r} at node {node}: no known value would go to {way}. What reaches the node "
            f"is {_reaching_text(new, node)}: choose a split within it, or prune the node."
        )
    raise EditError(
        f"Cannot ask {asked!r} at node {node}: node {where} below it asks "
        f"{shown('answer_text', old, where, True)!r}, and no known value would go to {way} there. Edit or "
        f"prune node {where} first."
    )


def _reaching_text(tree: Tree, node: int) -> str:
    """Describe the values of the node's feature that can reach it."""
    feature = tree.schema.features[tree.feature[node]]
    reaching = list_conditions(tree, node).get(int(tree.feature[node]), Condition(feature))
    if feature.kind == "numeric":
        low, high = reaching.bounds
        return f"{feature.name!r} from {number_text(low)} to {number_text(high)}"
    return f"{feature.name!r} in {listed(reaching.categories or feature.categories)}"


def find_unreachable(tree: Tree) -> set[tuple[int, bool]]:
    """List nodes and sides (True for yes) that no known value within the schema can reach.

    Where a node asks whether the value is known, the missing ones have a side of their own.
    """
    found = set()
    for node, conditions in enumerate(iterate_conditions(tree)):
        if tree.feature[node] == LEAF:
            continue
        before = conditions.get(int(tree.feature[node]))
        for side in (True, False):
            condition = split_condition(tree, node, side)
            if tree.threshold[node] >= KNOWN and condition.missing:
                continue
            if not _is_possible(condition if before is None else condition.within(before)):
                found.add((node, side))
    return found


def _is_possible(condition: Condition) -> bool:
    """Return True if a known value within the schema meets the condition."""
    feature = condition.feature
    if feature.kind != "numeric":
        return bool(condition.categories)
    return condition.low < min(condition.high, feature.high) and condition.high >= feature.low


# -- another value ----------------------------------------------------------------------------------------


def set_leaf_values(tree: Tree, changed: BoolArray, value: FloatArray) -> Tree:
    """Set the values of the flagged nodes; predictions of other leaves stay."""
    values = np.where(changed[:, None], value, tree.value)
    new = tree.replace(value=values, given_outcome=None)
    if tree.given_outcome is None:
        return new
    return set_outcome(new, np.where(changed, majority(new), tree.given_outcome))


# -- another subtree --------------------------------------------------------------------------------------


def replace_subtree(tree: Tree, node: int, subtree: Tree) -> Tree:
    """Replace a node by another tree on the same schema; counts and weights become 0."""
    trunk = prune_at(tree, np.arange(tree.n_nodes) == node)
    above, below = (
        replace(_loose(_uncounted(each)), outcome=each.outcome if each.schema.target.is_classes else None)
        for each in (trunk, subtree)
    )
    n_above = len(above.feature)
    # The root of the other tree takes the node's place; the rest stands behind all nodes that are there.
    place = np.concatenate([[node], np.arange(n_above, n_above + len(below.feature) - 1)]).astype(np.int32)
    children = np.append(place, np.int32(LEAF))  # LEAF is -1: the last entry

    def joined(name: str) -> np.ndarray:
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
        outcome = joined("outcome")
    arrays = {name: joined(name) for name in names}
    nodes = Nodes(**arrays, sets=sets, outcome=outcome, loss_matrix=tree.loss_matrix)
    if above.teacher_mean is not None:
        graft = below.value if below.teacher_mean is None else below.teacher_mean
        teacher_mean = np.concatenate([above.teacher_mean, graft[1:]])
        teacher_mean[node] = graft[0]
        nodes = replace(nodes, teacher_mean=teacher_mean)
    if above.split_support is not None:
        unknown = np.full(len(nodes.feature) - n_above, np.nan)
        nodes = replace(nodes, split_support=np.concatenate([above.split_support, unknown]))
    return _built(tree, nodes)


def _uncounted(tree: Tree) -> Tree:
    nothing = np.zeros(tree.n_nodes)
    return tree.replace(count=nothing, weight=nothing, observed=None, effective=None, rows_mean=None)


# -- loose nodes ------------------------------------------------------------------------------------------


def _loose(tree: Tree) -> Nodes:
    return Nodes(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.left,
        right=tree.right,
        missing_left=tree.missing_left,
        value=tree.value,
        count=tree.count,
        weight=tree.weight,
        impurity=tree.impurity,
        sets={node: tree.left_categories(node) for node in np.flatnonzero(tree.set_start >= 0).tolist()},
        outcome=tree.given_outcome,
        loss_matrix=tree.loss_matrix,
        observed=tree.observed,
        effective=tree.effective,
        deviation=tree.deviation,
        rows_mean=tree.rows_mean,
        teacher_mean=tree.teacher_mean,
        split_support=tree.split_support,
    )


def _built(tree: Tree, nodes: Nodes) -> Tree:
    """Build and check the tree, keeping everything else that the original knows."""
    return build_preorder(nodes, tree.schema, tree.criterion, tree.notes).replace(
        edits=tree.edits, monotone=tree.monotone
    )
