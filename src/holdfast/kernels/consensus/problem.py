"""The input of the search for a consensus tree, the fit of a subtree, and its constraints.

Distances are sums of absolute differences. A rule is a point: the two ends of its range of every numeric
feature, one coordinate for every category, and the prediction of its leaf, each scaled so that the distance
of two rules is the sum over the coordinates. All numbers are multiples of one small power of two, and none is
large: their sums are exact, so that nothing depends on the order.
"""

from typing import NamedTuple

from holdfast._arrays import BoolArray, ByteArray, FloatArray, KeyArray, LongArray
from holdfast.kernels.growth.constraints import Constraints
from holdfast.kernels.jit import inner

LEAF = -1
NO_PATH = 0
MOST_PATH = 2**61  # deeper nodes have the path NO_PATH


class CandidateSplits(NamedTuple):
    """The splits that the search may use, in the order that breaks ties."""

    feature: LongArray  # (splits,)
    goes_left: BoolArray  # (splits, bins): by the bin of the row; the last bin of a feature is "missing"
    last_bin: LongArray  # (splits,) of a range: bins up to it go left; -1 for a set
    cut: FloatArray  # (splits,) of a range: the threshold as a coordinate
    # Of every feature
    first: LongArray  # (features + 1,) its splits are those from `first[f]` to `first[f + 1]`
    coordinate: LongArray  # (features + 1,) where its coordinates begin: low end and high end, or categories
    n_categories: LongArray  # (features,) 0 for a range
    n_bins: LongArray  # (features,) without the one for missing values
    word: LongArray  # (features,) begin of its words of categories in Points.allowed


class SearchRows(NamedTuple):
    """The rows as bins, and the teacher's predictions as targets."""

    bin: LongArray  # (features, rows)
    target: FloatArray  # (rows, values) the teacher's, in units, times the weight: whole numbers
    weight: FloatArray  # (rows,) whole numbers
    repeats: FloatArray  # (rows,) how many rows it represents


class Points(NamedTuple):
    """The distinct rules of the reference trees."""

    at: FloatArray  # (coordinates, rules): those of the features, then those of the outcome
    allowed: KeyArray  # (words, rules): the categories that a rule allows, 64 to a word
    weight: FloatArray  # (rules,) the cost of an unmatched rule
    rule: LongArray  # (trees, width): the rules of each tree
    n_rules: LongArray  # (trees,) how many there are
    whole: FloatArray  # (coordinates,) the rule without conditions and without an outcome
    is_metric: bool  # cost of unmatched rules as by "metric", or as by "paper"
    is_label: bool  # the outcome is one of the classes, not numbers
    outcome_weight: float  # cost of a completely different outcome
    value_scale: float  # coordinates of an outcome per unit of the target; of a label, that unit


class Nodes(NamedTuple):
    """A tree in preorder, from node 0: the left child of a node is the next one."""

    split: LongArray  # (nodes,) the split, or LEAF
    right: LongArray  # (nodes,) the right child


class Grafts(NamedTuple):
    """The trees whose subtrees may be grafted."""

    split: LongArray  # (trees, nodes): the split, or LEAF
    right: LongArray  # (trees, nodes): the right child; the left one is the next node
    path: LongArray  # (trees, nodes): 1 at the root, 2 p and 2 p + 1 below p; NO_PATH where there is no node
    n_leaves: LongArray  # (trees, nodes): below the node
    is_first: BoolArray  # (trees, nodes): no earlier tree has the same subtree at the same place
    place: LongArray  # (trees, nodes): place of the sums of its leaves in GraftSums


class Bounds(NamedTuple):
    """The limits that a tree must keep to."""

    most_leaves: int  # 0: the tree is measured only
    least_rows: float  # in a leaf
    most_loss: float  # sum of squared differences from the teacher
    square_sum: float  # weighted, of the target: the loss of a tree that explains nothing
    unit: float  # of `SearchRows.target`


class Problem(NamedTuple):
    """The complete input."""

    splits: CandidateSplits
    rows: SearchRows
    points: Points
    grafts: Grafts
    bounds: Bounds
    fixed: LongArray  # paths of the fixed nodes, and of all nodes above them
    constraints: Constraints  # on the features of a path


# -- The fit of a tree to the teacher's predictions ----------------------------------------------------------


class SideSums(NamedTuple):
    """The rows at a node by the leaves that they would reach through either of its children."""

    leaf_left: LongArray  # (rows,) the leaf below the left child, from 0
    leaf_right: LongArray  # (rows,)
    totals: FloatArray  # (leaves, 2 + values) of the leaves below the right child if all rows went there
    on_left: FloatArray  # (bins, leaves, 2 + values)
    on_right: FloatArray  # (bins, leaves, 2 + values)


@inner
def leaf_reached(splits: CandidateSplits, rows: SearchRows, nodes: Nodes, top: int, row: int) -> int:
    """Return the leaf that a row reaches from a node."""
    node = top
    while nodes.split[node] != LEAF:
        q = nodes.split[node]
        goes_left = splits.goes_left[q, rows.bin[splits.feature[q], row]]
        node = node + 1 if goes_left else nodes.right[node]
    return node


@inner
def add_row(rows: SearchRows, row: int, stats: FloatArray) -> None:
    """Add a row to the rows, the weight and the target sums of a leaf."""
    stats[0] += rows.repeats[row]
    stats[1] += rows.weight[row]
    for s in range(len(stats) - 2):
        stats[2 + s] += rows.target[row, s]


@inner
def leaf_explains(stats: FloatArray, unit: float) -> float:
    """Return the part of the sum of squares that one leaf explains; 0 without rows."""
    squares = 0.0
    for s in range(2, len(stats)):
        total = stats[s] * unit
        squares += total * total
    return squares / stats[1] if stats[1] > 0.0 else 0.0


@inner
def explained(stats: FloatArray, n_leaves: int, bounds: Bounds) -> float:
    """Return the part of the sum of squares that the leaves explain; -1 if one has too few rows."""
    total = 0.0
    for i in range(n_leaves):
        if stats[i, 0] < bounds.least_rows or stats[i, 1] <= 0.0:
            return -1.0
        total += leaf_explains(stats[i], bounds.unit)
    return total


@inner
def clear_stats(stats: FloatArray, n: int) -> None:
    """Set the first n entries to 0."""
    for i in range(n):
        for s in range(stats.shape[1]):
            stats[i, s] = 0.0


@inner
def add_stats(stats: FloatArray, more: FloatArray, first: int, n: int, sign: float) -> None:
    """Add n entries, or subtract them, from the entry `first` on."""
    for i in range(n):
        for s in range(more.shape[1]):
            stats[first + i, s] += sign * more[i, s]


@inner
def fill_histograms(
    splits: CandidateSplits,
    rows: SearchRows,
    chosen: LongArray,
    f: int,
    sides: tuple[int, int],
    sums: SideSums,
) -> None:
    """Sum by bin of a feature and by the leaf that a row reaches through the left child, and the right one.

    For a range the sums are cumulative; the bin of missing values, the last, is separate.
    """
    on_left, on_right, n_bins = sums.on_left, sums.on_right, splits.n_bins[f]
    for b in range(n_bins + 1):
        clear_stats(on_left[b], sides[0])
        clear_stats(on_right[b], sides[1])
    for i in range(len(chosen)):
        b = rows.bin[f, chosen[i]]
        add_row(rows, chosen[i], on_left[b, sums.leaf_left[i]])
        add_row(rows, chosen[i], on_right[b, sums.leaf_right[i]])
    if splits.n_categories[f] == 0:
        for b in range(1, n_bins):
            add_stats(on_left[b], on_left[b - 1], 0, sides[0], 1.0)
            add_stats(on_right[b], on_right[b - 1], 0, sides[1], 1.0)


@inner
def split_stats(
    splits: CandidateSplits, q: int, sides: tuple[int, int], sums: SideSums, stats: FloatArray
) -> None:
    """Write the sums of all leaves below a node split by q, those of the left child first."""
    n_left, n_right = sides
    n_bins, last = splits.n_bins[splits.feature[q]], splits.last_bin[q]
    clear_stats(stats, n_left + n_right)
    add_stats(stats, sums.totals, n_left, n_right, 1.0)
    for b in range(n_bins + 1):
        # For a range the last bin that goes left holds the cumulative sums.
        counts = b == last if last >= 0 and b < n_bins else splits.goes_left[q, b]
        if counts:
            add_stats(stats, sums.on_left[b], 0, n_left, 1.0)
            add_stats(stats, sums.on_right[b], n_left, n_right, -1.0)


# -- Constraints on a subtree --------------------------------------------------------------------------------


@inner
def mark_path(problem: Problem, nodes: Nodes, at: int, is_used: ByteArray) -> int:
    """Flag the features that are used above a node of a tree; return the number of splits above it."""
    node, depth = 0, 0
    while node != at:
        is_used[problem.splits.feature[nodes.split[node]]] = 1
        depth += 1
        node = node + 1 if at < nodes.right[node] else nodes.right[node]
    return depth


@inner
def stand_together(problem: Problem, is_used: ByteArray) -> bool:
    """True if the flagged features may be on one path."""
    constraints, n_used, n_features = problem.constraints, 0, len(is_used)
    for f in range(n_features):
        n_used += is_used[f]
    if n_used > constraints.most_together:
        return False
    if len(constraints.groups) == 0:
        return True
    for g in range(len(constraints.groups)):
        n_own = 0
        for f in range(n_features):
            n_own += is_used[f] & constraints.groups[g, f]
        if n_own == n_used:
            return True
    return False


@inner
def is_allowed(
    problem: Problem, nodes: Nodes, v: int, subtree: Nodes, n_leaves: int, is_used: ByteArray
) -> bool:
    """True if a subtree with this many leaves may replace node v of a tree."""
    for node in range(2 * n_leaves - 1):
        if subtree.split[node] == LEAF:
            continue
        for f in range(len(is_used)):
            is_used[f] = 0
        depth = mark_path(problem, nodes, v, is_used) + mark_path(problem, subtree, node, is_used)
        feature = problem.splits.feature[subtree.split[node]]
        if len(problem.constraints.first_depth) > 0 and depth < problem.constraints.first_depth[feature]:
            return False
        is_used[feature] = 1
        if not stand_together(problem, is_used):
            return False
    return True
