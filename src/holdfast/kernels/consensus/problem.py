"""What the search for a central tree is given.

Distances are sums of absolute differences. A rule is a point: the two ends of what it allows of every ranged
feature, one coordinate for every category, and what its leaf predicts, each scaled so that the distance of
two rules is the sum over the coordinates. All numbers are whole multiples of one small power of two, and none
is large: sums of them are exact, so that nothing depends on their order.
"""

from typing import NamedTuple

from holdfast._arrays import BoolArray, ByteArray, FloatArray, KeyArray, LongArray
from holdfast.kernels.growth.constraints import Guide
from holdfast.kernels.jit import inner

LEAF = -1
NO_PATH = 0
MOST_PATH = 2**61  # the path of a node further down has no number: NO_PATH


class Questions(NamedTuple):
    """The questions that may be asked, in the order that breaks ties."""

    feature: LongArray  # (questions,)
    goes_left: BoolArray  # (questions, bins): by the bin of the row; the last bin of a feature is "missing"
    last_bin: LongArray  # (questions,) of a range: bins up to it go left; -1 for a set
    cut: FloatArray  # (questions,) of a range: where it is cut, as a coordinate
    # Of every feature
    first: LongArray  # (features + 1,) its questions are those from `first[f]` to `first[f + 1]`
    coordinate: LongArray  # (features + 1,) where its coordinates begin: low end and high end, or categories
    n_categories: LongArray  # (features,) 0 for a range
    n_bins: LongArray  # (features,) without the one for missing values
    word: LongArray  # (features,) where the words begin that hold its categories, in Points.allowed


class Rows(NamedTuple):
    """What the tree is to fit: the rows as bins, and the teacher's answers."""

    bin: LongArray  # (features, rows)
    answer: FloatArray  # (rows, values) in units, times the weight: whole numbers
    weight: FloatArray  # (rows,) whole numbers
    times: FloatArray  # (rows,) how many rows a row stands for


class Points(NamedTuple):
    """The rules of the reference trees, each once."""

    at: FloatArray  # (coordinates, rules): those of the features, then those of the outcome
    allowed: KeyArray  # (words, rules): the categories that a rule allows, 64 to a word
    weight: FloatArray  # (rules,) what a rule costs that is matched with none
    rule: LongArray  # (trees, width): the rules of each tree
    n_rules: LongArray  # (trees,) how many there are
    whole: FloatArray  # (coordinates,) the point of the rule that allows everything, without an outcome
    is_metric: bool  # how a rule is weighed that is matched with none: as "metric" does it, or the paper
    is_label: bool  # the outcome is one of the classes, not numbers
    outcome_weight: float  # of an entirely different outcome
    value_scale: float  # coordinates of an outcome per unit of the teacher's answers; of a label, that unit


class Nodes(NamedTuple):
    """A tree in preorder, from node 0: the left child of a node is the next one."""

    ask: LongArray  # (nodes,) the question, or LEAF
    right: LongArray  # (nodes,) the right child


class Grafts(NamedTuple):
    """Trees as nodes, to take subtrees from."""

    ask: LongArray  # (trees, nodes): the question, or LEAF
    right: LongArray  # (trees, nodes): the right child; the left one is the next node
    path: LongArray  # (trees, nodes): 1 at the root, 2 p and 2 p + 1 below p; NO_PATH where there is no node
    n_leaves: LongArray  # (trees, nodes): below the node
    is_first: BoolArray  # (trees, nodes): no earlier tree has the same subtree at the same place
    place: LongArray  # (trees, nodes): where the sums of its leaves are, in Grafted


class Bounds(NamedTuple):
    """What a tree must keep to."""

    most_leaves: int  # 0: the tree is measured, and does not move
    least_rows: float  # in a leaf
    most_loss: float  # sum of squared differences from the teacher
    square_sum: float  # of the teacher's answers, weighted: the loss of a tree that explains nothing
    unit: float  # of `Rows.answer`


class Problem(NamedTuple):
    """All of it."""

    questions: Questions
    rows: Rows
    points: Points
    grafts: Grafts
    bounds: Bounds
    held: LongArray  # paths of the nodes that stay as they are, and of all nodes above them
    guide: Guide  # what may be asked where


# -- How well a tree fits the teacher's answers --------------------------------------------------------------


class SideSums(NamedTuple):
    """The rows at a node by the leaves that they would reach through either of its children."""

    leaf_left: LongArray  # (rows,) the leaf below the left child, from 0
    leaf_right: LongArray  # (rows,)
    totals: FloatArray  # (leaves, 2 + values) of the leaves below the right child if all rows went there
    on_left: FloatArray  # (bins, leaves, 2 + values)
    on_right: FloatArray  # (bins, leaves, 2 + values)


@inner
def leaf_reached(questions: Questions, rows: Rows, nodes: Nodes, top: int, row: int) -> int:
    """The leaf that a row reaches from a node."""
    node = top
    while nodes.ask[node] != LEAF:
        q = nodes.ask[node]
        goes_left = questions.goes_left[q, rows.bin[questions.feature[q], row]]
        node = node + 1 if goes_left else nodes.right[node]
    return node


@inner
def add_row(rows: Rows, row: int, stats: FloatArray) -> None:
    """Add a row to the rows, the weight and the sums of answers of a leaf."""
    stats[0] += rows.times[row]
    stats[1] += rows.weight[row]
    for s in range(len(stats) - 2):
        stats[2 + s] += rows.answer[row, s]


@inner
def leaf_explains(stats: FloatArray, unit: float) -> float:
    """What one leaf explains of the sum of squares; nothing if it has no rows."""
    squares = 0.0
    for s in range(2, len(stats)):
        total = stats[s] * unit
        squares += total * total
    return squares / stats[1] if stats[1] > 0.0 else 0.0


@inner
def explained(stats: FloatArray, n_leaves: int, bounds: Bounds) -> float:
    """What the leaves explain of the sum of squares; -1 if one of them has too few rows."""
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
    """Add n entries, or take them away, from the entry `first` on."""
    for i in range(n):
        for s in range(more.shape[1]):
            stats[first + i, s] += sign * more[i, s]


@inner
def fill_histograms(
    questions: Questions, rows: Rows, chosen: LongArray, f: int, sides: tuple[int, int], sums: SideSums
) -> None:
    """Sums by bin of a feature and by the leaf that a row reaches through the left child, and the right one.

    Of a range the sums run on from bin to bin; the bin of missing values, the last, stands alone.
    """
    on_left, on_right, n_bins = sums.on_left, sums.on_right, questions.n_bins[f]
    for b in range(n_bins + 1):
        clear_stats(on_left[b], sides[0])
        clear_stats(on_right[b], sides[1])
    for i in range(len(chosen)):
        b = rows.bin[f, chosen[i]]
        add_row(rows, chosen[i], on_left[b, sums.leaf_left[i]])
        add_row(rows, chosen[i], on_right[b, sums.leaf_right[i]])
    if questions.n_categories[f] == 0:
        for b in range(1, n_bins):
            add_stats(on_left[b], on_left[b - 1], 0, sides[0], 1.0)
            add_stats(on_right[b], on_right[b - 1], 0, sides[1], 1.0)


@inner
def split_stats(
    questions: Questions, q: int, sides: tuple[int, int], sums: SideSums, stats: FloatArray
) -> None:
    """The sums of all leaves below a node if it asks question q: those of the left child first."""
    n_left, n_right = sides
    n_bins, last = questions.n_bins[questions.feature[q]], questions.last_bin[q]
    clear_stats(stats, n_left + n_right)
    add_stats(stats, sums.totals, n_left, n_right, 1.0)
    for b in range(n_bins + 1):
        # Of a range the last bin that goes left has the sums of all before it.
        counts = b == last if last >= 0 and b < n_bins else questions.goes_left[q, b]
        if counts:
            add_stats(stats, sums.on_left[b], 0, n_left, 1.0)
            add_stats(stats, sums.on_right[b], n_left, n_right, -1.0)


# -- Whether a subtree keeps to what may be asked where ------------------------------------------------------


@inner
def mark_path(problem: Problem, nodes: Nodes, at: int, is_used: ByteArray) -> int:
    """Flag the features that are asked above a node of a tree; how many questions that takes."""
    node, depth = 0, 0
    while node != at:
        is_used[problem.questions.feature[nodes.ask[node]]] = 1
        depth += 1
        node = node + 1 if at < nodes.right[node] else nodes.right[node]
    return depth


@inner
def stand_together(problem: Problem, is_used: ByteArray) -> bool:
    """True if the flagged features may stand on one path."""
    guide, n_used, n_features = problem.guide, 0, len(is_used)
    for f in range(n_features):
        n_used += is_used[f]
    if n_used > guide.most_together:
        return False
    if len(guide.groups) == 0:
        return True
    for g in range(len(guide.groups)):
        n_own = 0
        for f in range(n_features):
            n_own += is_used[f] & guide.groups[g, f]
        if n_own == n_used:
            return True
    return False


@inner
def may_ask(
    problem: Problem, nodes: Nodes, v: int, subtree: Nodes, n_leaves: int, is_used: ByteArray
) -> bool:
    """True if a subtree of so many leaves may take the place of node v of a tree."""
    for node in range(2 * n_leaves - 1):
        if subtree.ask[node] == LEAF:
            continue
        for f in range(len(is_used)):
            is_used[f] = 0
        depth = mark_path(problem, nodes, v, is_used) + mark_path(problem, subtree, node, is_used)
        feature = problem.questions.feature[subtree.ask[node]]
        if len(problem.guide.first_depth) > 0 and depth < problem.guide.first_depth[feature]:
            return False
        is_used[feature] = 1
        if not stand_together(problem, is_used):
            return False
    return True
