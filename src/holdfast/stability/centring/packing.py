"""Rows and reference trees as the arrays that the search reads."""

import math
from collections.abc import Sequence

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, KeyArray, LongArray
from holdfast.data.table import Table
from holdfast.distance.costs import fraction_of_range
from holdfast.distance.packing import freeze_fields
from holdfast.distance.settings import DistanceSettings
from holdfast.kernels.centring.problem import MOST_PATH, NO_PATH, Grafts, Nodes, Points, Questions, Rows
from holdfast.kernels.centring.rules import UNIT as COORDINATES
from holdfast.stability.centring.questions import QuestionList, exact
from holdfast.stability.centring.students import UNIT
from holdfast.tree.sums import add_to_ancestors
from holdfast.tree.tree import LEAF, Tree

MOST_WEIGHT = 2.0**38  # of all rows: sums of their answers in units have no more than 53 bits


def packed_rows(bins: IntArray, answers: FloatArray, weight: FloatArray, repeats: IntArray) -> Rows:
    """The rows as the kernel adds them up: those that no question tells apart are one.

    Weights become whole numbers, so that no sum depends on the order of the rows.
    """
    whole = whole_weights(weight)
    cell = _cells(bins)
    n_cells, first = int(cell.max()) + 1, np.unique(cell, return_index=True)[1]
    units = np.rint(_learnt(answers) / UNIT) * whole[:, None]
    return freeze_fields(
        Rows(
            bin=np.ascontiguousarray(bins[:, first], np.int64),
            answer=np.stack([np.bincount(cell, each, n_cells) for each in units.T], axis=1),
            weight=np.bincount(cell, whole, n_cells).astype(np.float64),
            times=np.bincount(cell, repeats, n_cells).astype(np.float64),
        )
    )


def square_sum(answers: FloatArray, weight: FloatArray) -> float:
    """The weighted sum of the squared answers, which a perfect tree would explain."""
    units = np.rint(_learnt(answers) / UNIT)
    return math.fsum((units**2).sum(axis=1) * whole_weights(weight)) * UNIT**2


def node_sums(
    tree: Tree, table: Table, answers: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The weight of the rows at every node, and the sums of their answers."""
    whole = whole_weights(weight)
    units = np.rint(_learnt(answers) / UNIT) * whole[:, None]
    sums = np.zeros((tree.n_nodes, 1 + units.shape[1]))
    np.add.at(sums, tree.apply(table), np.column_stack([whole, units]))
    add_to_ancestors(tree, sums)
    return sums[:, 0], sums[:, 1:] * UNIT


def whole_weights(weight: FloatArray) -> FloatArray:
    """Weights as whole numbers, in proportion to the given ones."""
    if (weight == np.rint(weight)).all() and weight.sum() < MOST_WEIGHT:
        return weight
    # Not by the sum: it would depend on the order of the rows.
    return np.asarray(np.rint(weight / weight.max() * np.floor(MOST_WEIGHT / len(weight))), np.float64)


def _learnt(answers: FloatArray) -> FloatArray:
    return answers[:, -1:] if answers.shape[1] <= 2 else answers


def _cells(bins: IntArray) -> LongArray:
    """For every row a number, the same for rows that are in the same bins of all features."""
    cell = np.zeros(bins.shape[1], np.int64)
    for bin_of_row in bins:
        if bin_of_row.min() < bin_of_row.max():
            combined = cell * (int(bin_of_row.max()) + 1) + bin_of_row
            cell = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return cell


def whole_point(questions: Questions, n_outcomes: int) -> FloatArray:
    """The rule that allows everything, without an outcome."""
    ends = [np.full(n, exact(1 / n)) if n else np.array([0.0, 0.5]) for n in questions.n_categories.tolist()]
    return np.concatenate([*ends, np.zeros(n_outcomes)])


def packed_points(
    trees: Sequence[Tree], questions: QuestionList, settings: DistanceSettings
) -> tuple[Points, FloatArray]:
    """The rules of the trees that are to be near, and what the whole space costs against each rule."""
    target = questions.table.schema.target
    packed, n_outcomes = questions.packed, max(len(target.classes), 1)
    whole = whole_point(packed, n_outcomes)
    width = max(tree.n_leaves for tree in trees)
    at = np.zeros((len(trees), width, len(whole)))
    for r, tree in enumerate(trees):
        nodes = questions.nodes_of(tree, tree.n_nodes)
        leaves = np.flatnonzero(tree.feature == LEAF)
        at[r, : len(leaves)] = _boxes(nodes, tree.n_nodes, packed, whole)[leaves]
        at[r, : len(leaves), -n_outcomes:] = _outcomes(tree, leaves, settings)
    rules, number = np.unique(at.reshape(-1, len(whole)), axis=0, return_inverse=True)
    rules = np.ascontiguousarray(rules.T)
    is_label, is_metric = settings.outcome == "label", settings.matching == "metric"
    # The fraction of the second of two classes is all that the rows hold; a label needs it in units.
    scale = UNIT if is_label else UNIT * _outcome_scale(settings, len(target.classes))
    points = Points(
        at=rules,
        allowed=_allowed(rules, packed),
        weight=_weights(rules, packed, whole, settings),
        rule=number.reshape(len(trees), width).astype(np.int64),
        n_rules=np.array([tree.n_leaves for tree in trees], np.int64),
        whole=whole,
        is_metric=is_metric,
        is_label=is_label,
        outcome_weight=exact(settings.label_weight),
        value_scale=scale,
    )
    return freeze_fields(points), np.abs(whole[:, None] - rules).sum(axis=0)


def packed_grafts(
    trees: Sequence[Tree], questions: QuestionList, places: Sequence[int] | None = None
) -> Grafts:
    """The nodes of the trees that subtrees are taken from.

    `places` are the paths of their roots in the tree that takes them; None: they are whole trees.
    """
    shape = (len(trees), max(tree.n_nodes for tree in trees))
    grafts = Grafts(
        ask=np.full(shape, LEAF, np.int64),
        right=np.zeros(shape, np.int64),
        path=np.zeros(shape, np.int64),
        n_leaves=np.zeros(shape, np.int64),
        is_first=np.zeros(shape, np.bool_),
        place=np.zeros(shape, np.int64),
    )
    seen: set[tuple[int, object]] = set()
    for r, tree in enumerate(trees):
        grafts.path[r, 0] = 1 if places is None else places[r]
        _fill_grafts(grafts, r, questions.nodes_of(tree, shape[1]), tree, seen)
    used = (grafts.n_leaves * grafts.is_first).ravel()
    grafts.place[:] = (np.cumsum(used) - used).reshape(shape)
    return freeze_fields(grafts)


def _allowed(at: FloatArray, questions: Questions) -> KeyArray:
    """The categories that each rule allows, as bits."""
    words = []
    for f, n in enumerate(questions.n_categories.tolist()):
        flags = at[questions.coordinate[f] : questions.coordinate[f] + n] > 0.0
        for begin in range(0, n, 64):
            bit = np.uint64(1) << np.arange(min(64, n - begin), dtype=np.uint64)
            words.append((flags[begin : begin + 64] * bit[:, None]).sum(axis=0, dtype=np.uint64))
    return np.stack(words) if words else np.zeros((0, at.shape[1]), np.uint64)


def _outcome_scale(settings: DistanceSettings, n_classes: int) -> float:
    return settings.label_weight / 2 if n_classes > 2 else settings.label_weight


def _outcomes(tree: Tree, leaves: LongArray, settings: DistanceSettings) -> FloatArray:
    """The coordinates of what the leaves predict."""
    target = tree.schema.target
    if settings.outcome == "label":
        # Of tied classes the first, as in the search, which does not look at the nodes above.
        label = tree.value[leaves].argmax(axis=1)
        flags: BoolArray = label[:, None] == np.arange(len(target.classes))
        return np.where(flags, exact(settings.label_weight / 2), 0.0)
    value = tree.value[leaves]
    if target.is_classes:
        learnt = value[:, -1:] if len(target.classes) <= 2 else value
    else:
        low, high = target.low, target.high
        learnt = fraction_of_range(value, low, low, high) if low < high else np.zeros_like(value)
    scaled = np.rint(learnt * _outcome_scale(settings, len(target.classes)) * COORDINATES) / COORDINATES
    padded = np.zeros((len(leaves), max(len(target.classes), 1)))
    padded[:, : scaled.shape[1]] = scaled
    return padded


def _boxes(nodes: Nodes, n_nodes: int, questions: Questions, whole: FloatArray) -> FloatArray:
    """The point of every node, without an outcome."""
    boxes = np.zeros((n_nodes, len(whole)))
    boxes[0] = whole
    for node in range(n_nodes):
        q = nodes.ask[node]
        if q == LEAF:
            continue
        f = questions.feature[q]
        d, n = questions.coordinate[f], questions.n_categories[f]
        for child, is_left in ((node + 1, True), (nodes.right[node], False)):
            boxes[child] = boxes[node]
            if n:
                boxes[child, d : d + n][questions.goes_left[q, :n] != is_left] = 0.0
            else:
                boxes[child, d + is_left] = np.clip(questions.cut[q], boxes[node, d], boxes[node, d + 1])
    return boxes


def _weights(
    rules: FloatArray, questions: Questions, whole: FloatArray, settings: DistanceSettings
) -> FloatArray:
    """What each rule costs that is matched with none."""
    boxes, everything = rules[: questions.coordinate[-1]], whole[: questions.coordinate[-1], None]
    if settings.matching == "metric":
        return np.asarray(np.abs(boxes - everything).sum(axis=0) + exact(settings.label_weight) / 2)
    total = np.zeros(rules.shape[1])
    for f, n in enumerate(questions.n_categories.tolist()):
        own = slice(questions.coordinate[f], questions.coordinate[f + 1])
        is_asked = (boxes[own] != everything[own]).any(axis=0)
        size = boxes[own].sum(axis=0) if n else 2 * (boxes[own][1] - boxes[own][0])
        total += np.where(is_asked, size, 0.0)
    return total


def _fill_grafts(grafts: Grafts, r: int, nodes: Nodes, tree: Tree, seen: set[tuple[int, object]]) -> None:
    """Enter a tree, whose root has its path; `seen` has the subtrees of those before, each with its place."""
    n_nodes = tree.n_nodes
    path, n_leaves = grafts.path[r], grafts.n_leaves[r]
    grafts.ask[r], grafts.right[r] = nodes.ask, nodes.right
    for node in np.flatnonzero(nodes.ask[:n_nodes] != LEAF):
        if NO_PATH < path[node] <= MOST_PATH:
            path[node + 1], path[nodes.right[node]] = 2 * path[node], 2 * path[node] + 1
    subtree: dict[int, object] = {}
    for place in range(n_nodes - 1, -1, -1):
        if nodes.ask[place] == LEAF:
            n_leaves[place], subtree[place] = 1, ()
            continue
        right = int(nodes.right[place])
        n_leaves[place] = n_leaves[place + 1] + n_leaves[right]
        subtree[place] = (int(nodes.ask[place]), subtree[place + 1], subtree[right])
        key = (int(path[place]), subtree[place])
        grafts.is_first[r, place] = key not in seen
        seen.add(key)
