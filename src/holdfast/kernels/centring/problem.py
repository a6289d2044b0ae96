"""What the search for a central tree is given.

Distances are sums of absolute differences. A rule is a point: the two ends of what it allows of every ranged
feature, one coordinate for every category, and what its leaf predicts, each scaled so that the distance of
two rules is the sum over the coordinates. All numbers are whole multiples of one small power of two, and none
is large: sums of them are exact, so that nothing depends on their order.
"""

from typing import NamedTuple

from holdfast.arrays import BoolArray, FloatArray, KeyArray, LongArray
from holdfast.kernels.growth.guide import Guide

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
