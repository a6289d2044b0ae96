"""From loose nodes to a tree: other libraries number their nodes in orders of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Schema
from holdfast.errors import BrokenTreeError
from holdfast.tree.check import check_features, check_outcome, check_tree
from holdfast.tree.outcome import set_outcome
from holdfast.tree.tree import LEAF, Tree


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one tree, root first, the others in any order, with the fields of a Tree."""

    feature: IntArray  # LEAF at a leaf, where thresholds and children are not looked at
    threshold: FloatArray  # not looked at where the split is a set of categories
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    value: FloatArray
    count: FloatArray
    weight: FloatArray
    impurity: FloatArray
    sets: Mapping[int, BoolArray] = field(default_factory=dict)  # at each split on categories: who goes left
    outcome: IntArray | LongArray | None = None  # the class of every node; None: ties go by the nodes above
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
    """Build a tree from linked nodes, renumbered in preorder.

    A BrokenTreeError says what is wrong if they make no tree.
    """
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
            f"node {seen.index(False)} is nobody's child: the root leads to {len(order)} nodes "
            f"of {len(feature)}."
        )
    return np.array(order, np.int64)


def _sets(nodes: Nodes, order: LongArray) -> tuple[LongArray, BoolArray]:
    """Where each node's categories begin among the flags, nodes in their new order, and the flags."""
    set_start = np.full(len(order), -1, np.int64)
    flags: list[BoolArray] = [np.empty(0, np.bool_)]
    size = 0
    for place, node in enumerate(order.tolist()):
        if node in nodes.sets:
            set_start[place] = size
            flags.append(nodes.sets[node])
            size += len(nodes.sets[node])
    return set_start, np.concatenate(flags)
