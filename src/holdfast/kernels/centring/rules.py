"""From the questions of a subtree to the costs of its rules against all rules of the references."""

import numpy as np

from holdfast.arrays import FloatArray, KeyArray
from holdfast.kernels.centring.problem import LEAF, Nodes, Points, Questions
from holdfast.kernels.jit import inner, int64, uint64

UNIT = 2.0**30  # coordinates are multiples of its inverse


@inner
def move(costs: FloatArray, at: FloatArray, old: float, new: float) -> None:
    """Add what it costs, against each rule, that a coordinate moves."""
    for p in range(len(costs)):
        costs[p] += abs(new - at[p]) - abs(old - at[p])


@inner
def count_bits(word: int) -> int:
    """How many bits of the word are set. No branches: the compiler counts several words at once."""
    pairs = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
    fours = (pairs & uint64(0x3333333333333333)) + ((pairs >> uint64(2)) & uint64(0x3333333333333333))
    bytes_ = (fours + (fours >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    shorts = bytes_ + (bytes_ >> uint64(8))
    halves = shorts + (shorts >> uint64(16))
    return int64((halves + (halves >> uint64(32))) & uint64(0x7F))


@inner
def remove(costs: FloatArray, allowed: KeyArray, removed: int, share: float) -> None:
    """Add what it costs, against each rule, that these categories are no longer allowed: their share each.

    A rule that allows one of them is farther away from now on, one that does not is nearer.
    """
    n_removed = count_bits(removed)
    for p in range(len(costs)):
        costs[p] += share * (2 * count_bits(allowed[p] & removed) - n_removed)


@inner
def copy_row(source: FloatArray, to: FloatArray) -> None:
    """Copy one array into another."""
    for p in range(len(to)):
        to[p] = source[p]


@inner
def narrow(
    questions: Questions, points: Points, q: int, goes_left: bool, box: FloatArray, costs: FloatArray
) -> None:
    """The point of a node, and its costs, become those of its child on one side of a question."""
    f = questions.feature[q]
    d = questions.coordinate[f]
    if questions.n_categories[f] == 0:
        cut = min(max(questions.cut[q], box[d]), box[d + 1])
        d += goes_left
        move(costs, points.at[d], box[d], cut)
        box[d] = cut
        return
    n_categories, word = questions.n_categories[f], questions.word[f]
    for begin in range(0, n_categories, 64):
        removed = uint64(0)
        for c in range(begin, min(begin + 64, n_categories)):
            if questions.goes_left[q, c] != goes_left and box[d + c] > 0.0:
                removed |= uint64(1) << uint64(c - begin)
                box[d + c] = 0.0
        if removed != 0:
            remove(costs, points.allowed[word + begin // 64], removed, points.whole[d])


@inner
def price_outcome(points: Points, n_features: int, stats: FloatArray, costs: FloatArray) -> None:
    """Add what the outcome of a leaf costs; `stats` are its rows, its weight and the sums of its answers."""
    if stats[1] <= 0.0:
        return  # no row reaches it: its value is not of these rows
    n_values = len(stats) - 2
    if not points.is_label:
        for s in range(n_values):
            value = np.rint(stats[2 + s] / stats[1] * points.value_scale * UNIT) / UNIT
            move(costs, points.at[n_features + s], 0.0, value)
        return
    label = 0
    if n_values == 1:
        has_two = len(points.at) - n_features > 1
        label = int(has_two and stats[2] * points.value_scale * 2.0 > stats[1])
    else:
        for s in range(1, n_values):
            if stats[2 + s] > stats[2 + label]:
                label = s
    move(costs, points.at[n_features + label], 0.0, points.outcome_weight / 2.0)


@inner
def weight_of(questions: Questions, points: Points, box: FloatArray) -> float:
    """What the rule costs if it is matched with none."""
    total = 0.0
    if points.is_metric:
        for d in range(questions.coordinate[len(questions.n_categories)]):
            total += abs(box[d] - points.whole[d])
        return total + points.outcome_weight / 2.0
    for f in range(len(questions.n_categories)):
        d, end = questions.coordinate[f], questions.coordinate[f + 1]
        changed = False
        for place in range(d, end):
            changed |= box[place] != points.whole[place]
        if not changed:
            continue
        if questions.n_categories[f] == 0:
            total += 2.0 * (box[d + 1] - box[d])
        else:
            for place in range(d, end):
                total += box[place]
    return total


@inner
def price_subtree(
    questions: Questions,
    points: Points,
    nodes: Nodes,
    stats: FloatArray,
    boxes: FloatArray,
    node_costs: FloatArray,
    costs: FloatArray,
    weights: FloatArray,
) -> int:
    """Fill costs[i] and weights[i] of the rules, from left to right, and return how many there are.

    Nodes are numbered in preorder from 0, whose entries of `boxes` and `node_costs` are filled; those of the
    other nodes are filled here.
    """
    n_features = questions.coordinate[len(questions.n_categories)]
    n_nodes, n_leaves, node = 1, 0, 0
    while node < n_nodes:
        q = nodes.ask[node]
        if q == LEAF:
            copy_row(node_costs[node], costs[n_leaves])
            price_outcome(points, n_features, stats[n_leaves], costs[n_leaves])
            weights[n_leaves] = weight_of(questions, points, boxes[node])
            n_leaves += 1
        else:
            for child in (node + 1, nodes.right[node]):
                copy_row(boxes[node], boxes[child])
                copy_row(node_costs[node], node_costs[child])
                narrow(questions, points, q, child == node + 1, boxes[child], node_costs[child])
                n_nodes += 1
        node += 1
    return n_leaves
