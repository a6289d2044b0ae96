"""Trees laid out for the distance kernel.

Going down an edge of a tree cuts something off: a stretch of a feature's range at its upper or its lower end,
or some of its categories. What a path cuts off along one *coordinate* (the upper end of age, say) is the
union of the stretches of its edges, which follow one on another. So two paths differ by all that either cuts
off, minus twice what both do:

    d(p, q) = cut(p) + cut(q) - 2 * sum over edges e of p and f of q, on one coordinate, of |e and f|

Lengths are whole numbers: multiples of a unit, a power of two. Sums are exact in any order, equal costs are
equal, and what was added can be taken away again.
"""

import math
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import inner, int64, kernel

UNDO = 1  # last bit of a step: leave the edge again


class Ruler(NamedTuple):
    """Of every feature: the range, and which coordinates are its own."""

    low: FloatArray
    high: FloatArray
    n_categories: LongArray  # 0 for a feature with a range
    category_length: LongArray  # in units; 0 for a feature with a range
    coordinate: LongArray  # the first of its own: upper end, then lower end; or its categories. -1: not asked
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
    """The edge from its parent into every node of a forest, by the number of the node."""

    coordinate: LongArray  # -1 where nothing is cut off
    low: LongArray  # where the stretch that is cut off begins; for categories, where their bits do in `words`
    high: LongArray  # where it ends
    length: LongArray  # of what is cut off
    first_leaf: LongArray  # leaves of the tree below the node: first_leaf <= leaf < end_leaf
    end_leaf: LongArray
    cut: LongArray  # all that is cut off on the way from the root
    weight: LongArray  # of a path that ends here, if it stays unmatched ("paper")
    words: LongArray  # sets of categories, 64 bits to a word
    steps: LongArray  # walks through the trees: node * 2, + UNDO
    step_start: LongArray  # (trees + 1,)


@inner
def half_share(one: float, other: float, low: float, high: float, unit: float) -> int:
    """Half of the share of the range between two of its numbers, in units."""
    part, whole = abs(one - other), high - low
    if math.isinf(whole):
        part, whole = abs(one / 2 - other / 2), high / 2 - low / 2
    return int64(np.floor(part / whole * (0.5 * unit) + 0.5))


@kernel
def lay_out(forest: Forest, ruler: Ruler, n_words: int) -> Edges:
    """The edges of a forest, and a walk through each tree that leaves every edge again."""
    n_nodes, n_trees = len(forest.feature), len(forest.start) - 1
    coordinate, length = np.full(n_nodes, -1), np.zeros(n_nodes, np.int64)
    low, high = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    first_leaf, end_leaf = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    cut, weight = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    words, steps = np.zeros(n_words, np.int64), np.empty(2 * n_nodes, np.int64)
    step_start = np.zeros(n_trees + 1, np.int64)
    parent, depth = np.full(n_nodes, -1), np.zeros(n_nodes, np.int64)
    bound = np.zeros(n_nodes)  # the end of the range that the edge leaves
    restricts = np.zeros(n_nodes, np.bool_)  # does the edge leave less than the whole range or set?
    n_steps, next_word, one = int64(0), int64(0), int64(ruler.unit)
    for tree in range(n_trees):
        begin, end, leaf = forest.start[tree], forest.start[tree + 1], int64(0)
        last = int64(-1)  # the edge that the walk is on
        for node in range(begin, end):
            while last >= 0 and depth[last] >= depth[node]:
                steps[n_steps] = last * 2 + UNDO
                n_steps += 1
                last = parent[last]
            steps[n_steps] = node * 2
            n_steps += 1
            last = node
            first_leaf[node] = leaf
            feature = forest.feature[node]
            if feature < 0:
                leaf += 1
                continue
            lowest, highest, n_categories = (
                ruler.low[feature],
                ruler.high[feature],
                ruler.n_categories[feature],
            )
            n_own = (n_categories + 63) // 64  # words
            for side in range(2):
                child = begin + (forest.left[node] if side == 0 else forest.right[node])
                parent[child], depth[child] = node, depth[node] + 1
                axis = ruler.coordinate[feature]
                was_restricted, above = False, int64(node)
                if n_categories > 0:
                    coordinate[child], low[child] = axis, next_word
                    for category in range(n_categories):
                        goes_left = forest.in_set[forest.set_start[node] + category]
                        if goes_left != (side == 0):
                            words[next_word + (category >> 6)] |= int64(1) << (category & 63)
                    while above >= 0:
                        if coordinate[above] == axis:
                            was_restricted = was_restricted or restricts[above]
                            for k in range(n_own):
                                words[next_word + k] &= ~words[low[above] + k]
                        above = parent[above]
                    n_cut = int64(0)
                    for k in range(n_own):
                        n_cut += count_bits(words[next_word + k])
                    restricts[child] = n_cut > 0
                    length[child] = n_cut * ruler.category_length[feature]
                    next_word += n_own
                elif lowest < highest:
                    own = axis + side
                    limit = min(max(forest.threshold[node], lowest), highest)
                    edge_of_range = highest if side == 0 else lowest
                    before, opposite = math.nan, math.nan  # the nearest cuts at either end
                    while above >= 0:
                        if coordinate[above] == own and math.isnan(before):
                            before = bound[above]
                        if coordinate[above] == axis + 1 - side and math.isnan(opposite):
                            opposite = bound[above]
                        if coordinate[above] == axis or coordinate[above] == axis + 1:
                            was_restricted = was_restricted or restricts[above]
                        above = parent[above]
                    before = edge_of_range if math.isnan(before) else before
                    # A threshold beyond the other end leaves nothing: an interval without length.
                    if side == 0:
                        limit = limit if math.isnan(opposite) else max(limit, opposite)
                        after = min(before, limit)
                    else:
                        limit = limit if math.isnan(opposite) else min(limit, opposite)
                        after = max(before, limit)
                    coordinate[child], bound[child], restricts[child] = own, after, after != edge_of_range
                    low[child] = half_share(edge_of_range, before, lowest, highest, ruler.unit)
                    high[child] = half_share(edge_of_range, after, lowest, highest, ruler.unit)
                    length[child] = high[child] - low[child]
                cut[child] = cut[node] + length[child]
                # The width that is left: what is cut off an interval counts half on either end.
                weight[child] = weight[node] - length[child] * (1 if n_categories > 0 else 2)
                if restricts[child] and not was_restricted:
                    weight[child] += one
        for node in range(end - 1, begin - 1, -1):
            is_leaf = forest.feature[node] < 0
            end_leaf[node] = first_leaf[node] + 1 if is_leaf else end_leaf[begin + forest.right[node]]
        step_start[tree + 1] = n_steps
    return Edges(
        coordinate,
        low,
        high,
        length,
        first_leaf,
        end_leaf,
        cut,
        weight,
        words,
        steps[:n_steps].copy(),
        step_start,
    )


@inner
def count_bits(word: int) -> int:
    """How many bits of the word are set."""
    n = int64(0)
    while word != 0:
        word &= word - 1
        n += 1
    return n


@kernel
def lay_profiles(
    tree: LongArray,
    coordinate: LongArray,
    high: LongArray,
    first_leaf: LongArray,
    end_leaf: LongArray,
    place: LongArray,
) -> LongArray:
    """What the paths of each tree cut off along each coordinate, given the edges that cut, in preorder.

    Fills place[tree, coordinate] with the first leaf that is cut, the last one + 1, and where they begin in
    what comes back.
    """
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
    profile = np.zeros(size, np.int64)
    for edge in range(len(tree)):  # a deeper edge cuts off more, and comes later
        here = place[tree[edge], coordinate[edge]]
        for leaf in range(first_leaf[edge], end_leaf[edge]):
            profile[here[2] + leaf - here[0]] = high[edge]
    return profile
