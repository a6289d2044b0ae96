"""Trees laid out for the distance kernel.

Going down an edge of a tree cuts something off: a stretch of a feature's range at its upper or its lower end,
or some of its categories. What a rule cuts off along one *coordinate* (the upper end of age, for example) is
the union of the stretches of its edges, which follow one after another. So two rules differ by all that
either cuts off, minus twice what both do:

    d(p, q) = cut(p) + cut(q) - 2 * sum over edges e of p and f of q, on one coordinate, of |e and f|

Lengths are integers: multiples of a unit, a power of two. Sums are exact in any order, equal costs are equal,
and what was added can be subtracted again.
"""

import math
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel

UNDO = 1  # last bit of a step: leave the edge again


class FeatureScales(NamedTuple):
    """The range and the coordinates of every feature."""

    low: FloatArray
    high: FloatArray
    n_categories: LongArray  # 0 for a feature with a range
    category_length: LongArray  # in units; 0 for a feature with a range
    coordinate: LongArray  # its first one: upper end, then lower end; or its categories. -1: unused
    unit: float  # how many units make 1


class Forest(NamedTuple):
    """The nodes of many trees, one after another, each tree in preorder."""

    start: LongArray  # (trees + 1,) where each tree begins
    feature: IntArray  # -1 at a leaf
    threshold: FloatArray
    left: IntArray  # children, counted from the start of the tree
    right: IntArray
    set_start: LongArray  # where the node's flags begin
    in_set: BoolArray


class Edges(NamedTuple):
    """The edge from its parent into every node of a forest, by node."""

    parent: LongArray  # -1 for a root
    coordinate: LongArray  # -1 if nothing is cut off
    low: LongArray  # begin of the stretch that is cut off; of categories, of their bits in `words`
    high: LongArray  # end of the stretch
    length: LongArray  # of the part that is cut off
    bound: FloatArray  # end of the remaining range
    restricts: BoolArray  # True if the remaining range, or set, is not the whole
    first_leaf: LongArray  # leaves of the tree below the node: first_leaf <= leaf < end_leaf
    end_leaf: LongArray
    cut: LongArray  # total length cut off from the root to here
    weight: LongArray  # cost of an unmatched rule that ends here ("paper")
    words: LongArray  # sets of categories, 64 bits to a word


def allocate_edges(n_nodes: int, n_words: int) -> Edges:
    """Allocate the edges of a forest."""
    numbers = np.zeros((7, n_nodes), np.int64)
    return Edges(
        parent=np.full(n_nodes, -1),
        coordinate=np.full(n_nodes, -1),
        low=numbers[0],
        high=numbers[1],
        length=numbers[2],
        bound=np.zeros(n_nodes),
        restricts=np.zeros(n_nodes, np.bool_),
        first_leaf=numbers[3],
        end_leaf=numbers[4],
        cut=numbers[5],
        weight=numbers[6],
        words=np.zeros(n_words, np.int64),
    )


@kernel
def lay_out(forest: Forest, scales: FeatureScales, edges: Edges) -> None:
    """Fill in the edges of a forest."""
    next_word = int64(0)
    for tree in range(len(forest.start) - 1):
        begin, end, leaf = forest.start[tree], forest.start[tree + 1], int64(0)
        for node in range(begin, end):
            edges.first_leaf[node] = leaf
            feature = forest.feature[node]
            if feature < 0:
                leaf += 1
                continue
            for side in range(2):
                child = begin + (forest.left[node] if side == 0 else forest.right[node])
                edges.parent[child] = node
                was_restricted, double = False, int64(2)
                if scales.n_categories[feature] > 0:
                    was_restricted = cut_categories(forest, scales, edges, node, child, side, next_word)
                    double = 1
                    next_word += (scales.n_categories[feature] + 63) // 64
                elif scales.low[feature] < scales.high[feature]:
                    was_restricted = cut_range(forest, scales, edges, node, child, side)
                edges.cut[child] = edges.cut[node] + edges.length[child]
                # The remaining width: a length cut off an interval counts half at either end.
                edges.weight[child] = edges.weight[node] - double * edges.length[child]
                if edges.restricts[child] and not was_restricted:
                    edges.weight[child] += int64(scales.unit)
        for node in range(end - 1, begin - 1, -1):
            last = edges.first_leaf[node] + 1
            edges.end_leaf[node] = (
                last if forest.feature[node] < 0 else edges.end_leaf[begin + forest.right[node]]
            )


@inner
def cut_range(forest: Forest, scales: FeatureScales, edges: Edges, node: int, child: int, side: int) -> bool:
    """Fill in an edge that cuts off one end of a range; return whether the feature was restricted before."""
    feature = forest.feature[node]
    lowest, highest, axis = scales.low[feature], scales.high[feature], scales.coordinate[feature]
    outer = highest if side == 0 else lowest
    above, opposite = nearest_edge(edges, node, axis + side), nearest_edge(edges, node, axis + 1 - side)
    before = edges.bound[above] if above >= 0 else outer
    limit = min(max(forest.threshold[node], lowest), highest)
    if opposite >= 0:  # a threshold beyond the other end leaves an interval of length 0
        limit = max(limit, edges.bound[opposite]) if side == 0 else min(limit, edges.bound[opposite])
    after = min(before, limit) if side == 0 else max(before, limit)
    edges.coordinate[child], edges.bound[child], edges.restricts[child] = axis + side, after, after != outer
    edges.low[child] = half_fraction(outer, before, lowest, highest, scales.unit)
    edges.high[child] = half_fraction(outer, after, lowest, highest, scales.unit)
    edges.length[child] = edges.high[child] - edges.low[child]
    return (above >= 0 and edges.restricts[above]) or (opposite >= 0 and edges.restricts[opposite])


@inner
def cut_categories(
    forest: Forest, scales: FeatureScales, edges: Edges, node: int, child: int, side: int, first_word: int
) -> bool:
    """Fill in an edge that cuts off categories; return whether the feature was restricted before."""
    feature, words, was_restricted = forest.feature[node], edges.words, False
    axis, n_categories = scales.coordinate[feature], scales.n_categories[feature]
    for category in range(n_categories):
        if forest.in_set[forest.set_start[node] + category] != (side == 0):
            words[first_word + (category >> 6)] |= int64(1) << (category & 63)
    n_words, n_cut = (n_categories + 63) // 64, int64(0)
    above = nearest_edge(edges, node, axis)
    while above >= 0:
        was_restricted = was_restricted or edges.restricts[above]
        for k in range(n_words):
            words[first_word + k] &= ~words[edges.low[above] + k]
        above = nearest_edge(edges, edges.parent[above], axis)
    for k in range(n_words):
        n_cut += count_bits(words[first_word + k])
    edges.coordinate[child], edges.low[child], edges.restricts[child] = axis, first_word, n_cut > 0
    edges.length[child] = n_cut * scales.category_length[feature]
    return was_restricted


@inner
def nearest_edge(edges: Edges, node: int, coordinate: int) -> int:
    """Return the nearest edge along the coordinate on the path from the node to the root, or -1."""
    while node >= 0 and edges.coordinate[node] != coordinate:
        node = edges.parent[node]
    return node


@inner
def half_fraction(one: float, other: float, low: float, high: float, unit: float) -> int:
    """Return half of the fraction of the range between two of its numbers, in units."""
    part, whole = abs(one - other), high - low
    if math.isinf(whole):
        part, whole = abs(one / 2 - other / 2), high / 2 - low / 2
    return int64(np.floor(part / whole * (0.5 * unit) + 0.5))


@inner
def count_bits(word: int) -> int:
    """Return the number of bits set in the word."""
    n = int64(0)
    while word != 0:
        word &= word - 1
        n += 1
    return n


@kernel
def walk(forest: Forest, edges: Edges, start: LongArray, steps: LongArray) -> None:
    """Write a walk through each tree, down every edge and up again: node * 2, + UNDO on the way up.

    Fills `start` with the begin of each tree's walk and, last, the end. Two steps per node are enough room.
    """
    n_steps = int64(0)
    for tree in range(len(start) - 1):
        start[tree] = n_steps
        here = int64(-1)
        for node in range(forest.start[tree], forest.start[tree + 1]):
            while here >= 0 and here != edges.parent[node]:
                steps[n_steps] = here * 2 + UNDO
                n_steps += 1
                here = edges.parent[here]
            steps[n_steps] = node * 2
            n_steps += 1
            here = int64(node)
    start[-1] = n_steps


class Cuts(NamedTuple):
    """The edges that cut off part of a range, tree after tree in preorder."""

    tree: LongArray
    coordinate: LongArray
    high: LongArray
    first_leaf: LongArray
    end_leaf: LongArray


@kernel
def place_profiles(cuts: Cuts, place: LongArray) -> int:
    """Place the profile of each tree along each coordinate; return the length of all profiles.

    Fills place[tree, coordinate] with the first leaf that is cut, the last one + 1, and the begin.
    """
    tree, coordinate, first_leaf, end_leaf = cuts.tree, cuts.coordinate, cuts.first_leaf, cuts.end_leaf
    for edge in range(len(tree)):
        here = place[tree[edge], coordinate[edge]]
        is_new = here[1] == 0
        here[0] = first_leaf[edge] if is_new else min(here[0], first_leaf[edge])
        here[1] = max(here[1], end_leaf[edge])
    size = int64(0)
    for t in range(place.shape[0]):
        for c in range(place.shape[1]):
            place[t, c, 2] = size
            size += place[t, c, 1] - place[t, c, 0]
    return size


@kernel
def lay_profiles(cuts: Cuts, place: LongArray, profile: LongArray) -> None:
    """Write what the rules of each tree cut off along each coordinate to `profile`, which is 0 before."""
    for edge in range(len(cuts.tree)):  # a deeper edge comes later and overwrites
        here = place[cuts.tree[edge], cuts.coordinate[edge]]
        for leaf in range(cuts.first_leaf[edge], cuts.end_leaf[edge]):
            profile[here[2] + leaf - here[0]] = cuts.high[edge]
