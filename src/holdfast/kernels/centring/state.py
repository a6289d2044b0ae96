"""The tree that the search stands at, and the memory for the moves that it tries."""

from typing import NamedTuple

from holdfast.arrays import BoolArray, ByteArray, FloatArray, LongArray
from holdfast.kernels.centring.assignment import Matching
from holdfast.kernels.centring.fit import SideSums, add_row, clear_stats, leaf_reached
from holdfast.kernels.centring.problem import LEAF, MOST_PATH, NO_PATH, Grafts, Nodes, Problem
from holdfast.kernels.jit import inner


class Current(NamedTuple):
    """What is known of the tree that the search stands at."""

    nodes: Nodes
    n_leaves: LongArray  # (1,)
    path: LongArray  # (nodes,) as in Grafts
    first_leaf: LongArray  # (nodes,) the leaves below a node are those from the first
    end_leaf: LongArray  # (nodes,) to the one before the end
    order: LongArray  # (rows,) sorted by leaf
    row_start: LongArray  # (leaves + 1,)
    stats: FloatArray  # (leaves, 2 + values) rows, weight and sums of answers
    boxes: FloatArray  # (nodes, coordinates)
    node_costs: FloatArray  # (nodes, rules) of a rule that ends at the node, without its outcome
    costs: FloatArray  # (leaves, rules)
    weights: FloatArray  # (leaves,)
    u: FloatArray  # (trees, width) prices of the rules, then of "none"
    v: FloatArray  # (trees, width)
    column: LongArray  # (trees, width)
    total: FloatArray  # (trees,) distances
    none_price: FloatArray  # (trees,)


class Candidate(NamedTuple):
    """A subtree that may take the place of another, and its rules."""

    nodes: Nodes
    leaf_place: LongArray  # (nodes,) the number of each leaf
    stats: FloatArray  # (leaves, 2 + values)
    boxes: FloatArray  # (nodes, coordinates)
    node_costs: FloatArray  # (nodes, rules)
    costs: FloatArray  # (leaves, rules)
    weights: FloatArray  # (leaves,)


class Grafted(NamedTuple):
    """The sums of the leaves of grafts, as long as the same rows reach their place."""

    is_known: BoolArray  # (trees, nodes)
    stats: FloatArray  # (leaves of all grafts, 2 + values)


class Scratch(NamedTuple):
    """Memory for one matching, and for the moves at one node."""

    matrix: FloatArray  # (width, width)
    matching: Matching
    sums: SideSums
    grafted: Grafted
    tree_bound: FloatArray  # (trees,)
    bound: FloatArray  # (questions,)
    least: FloatArray  # (1,) the sum of distances after the best move so far
    is_used: ByteArray  # (features,) those that are asked on a path


class Work(NamedTuple):
    """The tree, the move that is tried, the best move so far, and memory."""

    current: Current
    candidate: Candidate
    chosen: Nodes
    scratch: Scratch


@inner
def number_nodes(current: Current) -> None:
    """Fill the paths and the leaves of the nodes, and the number of leaves."""
    ask, right = current.nodes.ask, current.nodes.right
    current.path[0] = 1
    n_nodes, n_leaves, node = 1, 0, 0
    while node < n_nodes:
        if ask[node] == LEAF:
            current.first_leaf[node], current.end_leaf[node] = n_leaves, n_leaves + 1
            n_leaves += 1
        else:
            path = current.path[node]
            is_deep = path == NO_PATH or path > MOST_PATH
            current.path[node + 1] = NO_PATH if is_deep else 2 * path
            current.path[right[node]] = NO_PATH if is_deep else 2 * path + 1
            n_nodes += 2
        node += 1
    for node in range(n_nodes - 1, -1, -1):
        if ask[node] != LEAF:
            current.first_leaf[node] = current.first_leaf[node + 1]
            current.end_leaf[node] = current.end_leaf[right[node]]
    current.n_leaves[0] = n_leaves


@inner
def sort_rows(problem: Problem, current: Current, leaf_of_row: LongArray) -> None:
    """Sort the rows by leaf, and fill the sums of the leaves."""
    rows, start, n_leaves = problem.rows, current.row_start, current.n_leaves[0]
    clear_stats(current.stats, n_leaves)
    for i in range(n_leaves + 1):
        start[i] = 0
    for row in range(len(rows.weight)):
        leaf = current.first_leaf[leaf_reached(problem.questions, rows, current.nodes, 0, row)]
        leaf_of_row[row] = leaf
        start[leaf + 1] += 1
        add_row(rows, row, current.stats[leaf])
    for i in range(n_leaves):
        start[i + 1] += start[i]
    for row in range(len(rows.weight)):
        leaf = leaf_of_row[row]
        current.order[start[leaf]] = row
        start[leaf] += 1
    for i in range(n_leaves, 0, -1):
        start[i] = start[i - 1]
    start[0] = 0


@inner
def is_held(held: LongArray, path: int) -> bool:
    """True if the node of this path stays as it is."""
    found = False
    for each in held:
        found |= each == path
    return found


@inner
def forget_below(grafts: Grafts, grafted: Grafted, path: int) -> None:
    """Other rows reach the places below that one from now on."""
    for r in range(len(grafts.path)):
        for node in range(grafts.path.shape[1]):
            above = grafts.path[r, node]
            while above > path:
                above >>= 1
                if above == path:
                    grafted.is_known[r, node] = False


@inner
def copy_nodes(source: Nodes, top: int, n_nodes: int, to: Nodes) -> None:
    """Copy a subtree, which becomes a tree of its own."""
    for i in range(n_nodes):
        to.ask[i] = source.ask[top + i]
        to.right[i] = source.right[top + i] - top


@inner
def replace_nodes(nodes: Nodes, n_nodes: int, v: int, n_before: int, subtree: Nodes, n_after: int) -> None:
    """Put a subtree of n_after nodes in the place of the one at v, which has n_before of them."""
    shift = n_after - n_before
    after = v + n_before
    for k in range(n_nodes - after):
        i = after + k if shift < 0 else n_nodes - 1 - k  # what is still needed is not written over
        nodes.ask[i + shift] = nodes.ask[i]
        nodes.right[i + shift] = nodes.right[i] + shift
    for i in range(v):
        if nodes.right[i] > v:
            nodes.right[i] += shift
    for i in range(n_after):
        nodes.ask[v + i] = subtree.ask[i]
        nodes.right[v + i] = subtree.right[i] + v
