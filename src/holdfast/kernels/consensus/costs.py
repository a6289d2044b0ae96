"""The sum of distances to the references, for the current tree and for trees one move away from it."""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, ByteArray, FloatArray, KeyArray, LongArray
from holdfast.kernels.consensus.problem import (
    LEAF,
    MOST_PATH,
    NO_PATH,
    CandidateSplits,
    Grafts,
    Nodes,
    Points,
    Problem,
    SideSums,
    add_row,
    clear_stats,
    leaf_reached,
)
from holdfast.kernels.jit import inner, int64, uint64

FREE = -1
FAR = 1e300


class Matching(NamedTuple):
    """A matching with its prices, and memory for shortest paths."""

    u: FloatArray  # (rows,)
    v: FloatArray  # (columns,)
    column: LongArray  # (rows,) that the row has, or FREE
    owner: LongArray  # (columns,) the row that has the column, or FREE
    distance: FloatArray  # (columns,)
    via: LongArray  # (columns,)
    done: BoolArray  # (columns,)


@inner
def clear(matching: Matching, n: int) -> None:
    """Clear the matching and set all prices to 0."""
    for i in range(n):
        matching.u[i] = matching.v[i] = 0.0
        matching.column[i] = matching.owner[i] = FREE


@inner
def complete(cost: FloatArray, n: int, matching: Matching) -> float:
    """Match every row that has no column; return the least total cost of the first n rows and columns."""
    u, v, column, owner = matching.u, matching.v, matching.column, matching.owner
    distance, via, done = matching.distance, matching.via, matching.done
    for start in range(n):
        if column[start] != FREE:
            continue
        for j in range(n):
            distance[j], done[j] = FAR, False
        row, length, here = start, 0.0, FREE
        while True:
            lowest, here = FAR, FREE
            shift = length - u[row]
            for j in range(n):
                if done[j]:
                    continue
                reached = cost[row, j] - v[j] + shift
                if reached < distance[j]:
                    distance[j], via[j] = reached, row
                if distance[j] < lowest or (distance[j] == lowest and owner[j] == FREE):
                    lowest, here = distance[j], j
            length, done[here] = lowest, True
            if owner[here] == FREE:
                break
            row = owner[here]
        u[start] += length
        for j in range(n):
            if done[j] and j != here:
                u[owner[j]] += length - distance[j]
                v[j] -= length - distance[j]
        while True:
            row = via[here]
            owner[here] = row
            here, column[row] = column[row], here
            if row == start:
                break
    total = 0.0
    for i in range(n):
        total += cost[i, column[i]]
    return total


# -- The costs of the rules of a subtree against all rules of the references ---------------------------------

UNIT = 2.0**30  # coordinates are multiples of its inverse


@inner
def move(costs: FloatArray, at: FloatArray, old: float, new: float) -> None:
    """Add the change of cost against each rule when a coordinate moves."""
    for p in range(len(costs)):
        costs[p] += abs(new - at[p]) - abs(old - at[p])


@inner
def count_bits(word: int) -> int:
    """Return the number of bits set in the word. No branches: the compiler vectorizes it."""
    pairs = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
    fours = (pairs & uint64(0x3333333333333333)) + ((pairs >> uint64(2)) & uint64(0x3333333333333333))
    bytes_ = (fours + (fours >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    shorts = bytes_ + (bytes_ >> uint64(8))
    halves = shorts + (shorts >> uint64(16))
    return int64((halves + (halves >> uint64(32))) & uint64(0x7F))


@inner
def remove(costs: FloatArray, allowed: KeyArray, removed: int, share: float) -> None:
    """Add the change of cost against each rule when these categories are no longer allowed: a share each.

    A rule that allows one of them is farther away afterwards, one that does not is nearer.
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
    splits: CandidateSplits, points: Points, q: int, goes_left: bool, box: FloatArray, costs: FloatArray
) -> None:
    """Turn the point and the costs of a node into those of its child on one side of a split."""
    f = splits.feature[q]
    d = splits.coordinate[f]
    if splits.n_categories[f] == 0:
        cut = min(max(splits.cut[q], box[d]), box[d + 1])
        d += goes_left
        move(costs, points.at[d], box[d], cut)
        box[d] = cut
        return
    n_categories, word = splits.n_categories[f], splits.word[f]
    for begin in range(0, n_categories, 64):
        removed = uint64(0)
        for c in range(begin, min(begin + 64, n_categories)):
            if splits.goes_left[q, c] != goes_left and box[d + c] > 0.0:
                removed |= uint64(1) << uint64(c - begin)
                box[d + c] = 0.0
        if removed != 0:
            remove(costs, points.allowed[word + begin // 64], removed, points.whole[d])


@inner
def price_outcome(points: Points, n_features: int, stats: FloatArray, costs: FloatArray) -> None:
    """Add the cost of a leaf's outcome; `stats` are its rows, its weight and its target sums."""
    if stats[1] <= 0.0:
        return  # no row reaches it: its value is not estimated from these rows
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
def weight_of(splits: CandidateSplits, points: Points, box: FloatArray) -> float:
    """Return the cost of the rule if it is unmatched."""
    total = 0.0
    if points.is_metric:
        for d in range(splits.coordinate[len(splits.n_categories)]):
            total += abs(box[d] - points.whole[d])
        return total + points.outcome_weight / 2.0
    for f in range(len(splits.n_categories)):
        d, end = splits.coordinate[f], splits.coordinate[f + 1]
        changed = False
        for place in range(d, end):
            changed |= box[place] != points.whole[place]
        if not changed:
            continue
        if splits.n_categories[f] == 0:
            total += 2.0 * (box[d + 1] - box[d])
        else:
            for place in range(d, end):
                total += box[place]
    return total


@inner
def price_subtree(
    splits: CandidateSplits,
    points: Points,
    nodes: Nodes,
    stats: FloatArray,
    boxes: FloatArray,
    node_costs: FloatArray,
    costs: FloatArray,
    weights: FloatArray,
) -> int:
    """Fill costs[i] and weights[i] of the rules, from left to right, and return their number.

    Nodes are numbered in preorder from 0, whose entries of `boxes` and `node_costs` are set by the caller;
    those of the other nodes are filled here.
    """
    n_features = splits.coordinate[len(splits.n_categories)]
    n_nodes, n_leaves, node = 1, 0, 0
    while node < n_nodes:
        q = nodes.split[node]
        if q == LEAF:
            copy_row(node_costs[node], costs[n_leaves])
            price_outcome(points, n_features, stats[n_leaves], costs[n_leaves])
            weights[n_leaves] = weight_of(splits, points, boxes[node])
            n_leaves += 1
        else:
            for child in (node + 1, nodes.right[node]):
                copy_row(boxes[node], boxes[child])
                copy_row(node_costs[node], node_costs[child])
                narrow(splits, points, q, child == node + 1, boxes[child], node_costs[child])
                n_nodes += 1
        node += 1
    return n_leaves


# -- The state of the search ---------------------------------------------------------------------------------


class Current(NamedTuple):
    """The current tree of the search, with all that is derived from it."""

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
    """A subtree that may replace another, and its rules."""

    nodes: Nodes
    leaf_place: LongArray  # (nodes,) the number of each leaf
    stats: FloatArray  # (leaves, 2 + values)
    boxes: FloatArray  # (nodes, coordinates)
    node_costs: FloatArray  # (nodes, rules)
    costs: FloatArray  # (leaves, rules)
    weights: FloatArray  # (leaves,)


class GraftSums(NamedTuple):
    """The leaf sums of grafts, valid while the same rows reach their place."""

    is_known: BoolArray  # (trees, nodes)
    stats: FloatArray  # (leaves of all grafts, 2 + values)


class ConsensusScratch(NamedTuple):
    """Memory for one matching, and for the moves at one node."""

    matrix: FloatArray  # (width, width)
    matching: Matching
    sums: SideSums
    graft_sums: GraftSums
    tree_bound: FloatArray  # (trees,)
    bound: FloatArray  # (splits,)
    least: FloatArray  # (1,) the sum of distances after the best move so far
    is_used: ByteArray  # (features,) 1 if used on a path


class SearchState(NamedTuple):
    """The current tree, the move that is tried, the best move so far, and memory."""

    current: Current
    candidate: Candidate
    chosen: Nodes
    scratch: ConsensusScratch


@inner
def number_nodes(current: Current) -> None:
    """Fill the paths and the leaves of the nodes, and the number of leaves."""
    split, right = current.nodes.split, current.nodes.right
    current.path[0] = 1
    n_nodes, n_leaves, node = 1, 0, 0
    while node < n_nodes:
        if split[node] == LEAF:
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
        if split[node] != LEAF:
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
        leaf = current.first_leaf[leaf_reached(problem.splits, rows, current.nodes, 0, row)]
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
def is_fixed(fixed: LongArray, path: int) -> bool:
    """True if the node with this path must not change."""
    found = False
    for each in fixed:
        found |= each == path
    return found


@inner
def forget_below(grafts: Grafts, graft_sums: GraftSums, path: int) -> None:
    """Invalidate the sums of grafts below that path: other rows reach them now."""
    for r in range(len(grafts.path)):
        for node in range(grafts.path.shape[1]):
            above = grafts.path[r, node]
            while above > path:
                above >>= 1
                if above == path:
                    graft_sums.is_known[r, node] = False


@inner
def copy_nodes(source: Nodes, top: int, n_nodes: int, to: Nodes) -> None:
    """Copy a subtree as a tree of its own."""
    for i in range(n_nodes):
        to.split[i] = source.split[top + i]
        to.right[i] = source.right[top + i] - top


@inner
def replace_nodes(nodes: Nodes, n_nodes: int, v: int, n_before: int, subtree: Nodes, n_after: int) -> None:
    """Put a subtree of n_after nodes in place of the n_before nodes at v."""
    shift = n_after - n_before
    after = v + n_before
    for k in range(n_nodes - after):
        i = after + k if shift < 0 else n_nodes - 1 - k  # overwrites nothing that is still needed
        nodes.split[i + shift] = nodes.split[i]
        nodes.right[i + shift] = nodes.right[i] + shift
    for i in range(v):
        if nodes.right[i] > v:
            nodes.right[i] += shift
    for i in range(n_after):
        nodes.split[v + i] = subtree.split[i]
        nodes.right[v + i] = subtree.right[i] + v


# -- The sum of distances to the references, of the tree and of the trees one move away from it --------------

NO_BOUND = 1e300


class Change(NamedTuple):
    """The rules `first` to `end` of the tree are replaced by `n_new` rules of a candidate."""

    first: int
    end: int
    n_new: int
    n_before: int  # rules of the tree
    n_rules: int  # rules of the tree after the change


@inner
def change_of(current: Current, v: int, n_new: int) -> Change:
    """Return the change that replaces the rules below node v by n_new rules."""
    first, end, n_before = current.first_leaf[v], current.end_leaf[v], current.n_leaves[0]
    return Change(first, end, n_new, n_before, n_before - (end - first) + n_new)


@inner
def no_change(current: Current) -> Change:
    """Return the empty change."""
    return Change(0, 0, 0, current.n_leaves[0], current.n_leaves[0])


@inner
def set_matrix(
    points: Points, r: int, current: Current, candidate: Candidate, change: Change, matrix: FloatArray
) -> int:
    """Fill the square matrix of costs against reference r after the change; return its size.

    The surplus of one side is matched with "none", at the cost of its weight.
    """
    first, n_new, n_rules, m = change.first, change.n_new, change.n_rules, points.n_rules[r]
    gone = change.end - first
    size: int = max(n_rules, m)
    for i in range(n_rules):
        if first <= i < first + n_new:
            costs, weight = candidate.costs[i - first], candidate.weights[i - first]
        else:
            before = i if i < first else i - n_new + gone
            costs, weight = current.costs[before], current.weights[before]
        for j in range(m):
            matrix[i, j] = costs[points.rule[r, j]]
        for j in range(m, size):
            matrix[i, j] = weight
    for i in range(n_rules, size):
        for j in range(m):
            matrix[i, j] = points.weight[points.rule[r, j]]
    return size


@inner
def settle_distances(
    points: Points, current: Current, candidate: Candidate, scratch: ConsensusScratch
) -> None:
    """Match the tree with every reference; keep the distances, the prices and the matchings."""
    matching = scratch.matching
    for r in range(len(points.n_rules)):
        size = set_matrix(points, r, current, candidate, no_change(current), scratch.matrix)
        clear(matching, size)
        current.total[r] = complete(scratch.matrix, size, matching)
        current.none_price[r] = NO_BOUND
        for j in range(size):
            current.u[r, j], current.v[r, j] = matching.u[j], matching.v[j]
            current.column[r, j] = matching.column[j]
            if j < points.n_rules[r]:
                price = points.weight[points.rule[r, j]] - matching.v[j]
                current.none_price[r] = min(current.none_price[r], price)


@inner
def bound_of(points: Points, r: int, current: Current, candidate: Candidate, change: Change) -> float:
    """Return a lower bound of the distance to reference r after the change.

    The prices of the reference's rules stay: each new rule pays at least its least cost beyond them.
    """
    m = points.n_rules[r]
    if max(change.n_before, change.n_rules) > m:
        return 0.0
    total = current.total[r] + (change.n_before - change.n_rules) * current.none_price[r]
    for i in range(change.first, change.end):
        total -= current.u[r, i]
    for i in range(change.n_new):
        lowest = NO_BOUND
        for j in range(m):
            lowest = min(lowest, candidate.costs[i, points.rule[r, j]] - current.v[r, j])
        total += lowest
    found: float = max(total, 0.0)  # never below 0: sums of bounds only grow
    return found


@inner
def bound_of_all(
    points: Points, current: Current, candidate: Candidate, change: Change, limit: float
) -> float:
    """Return a lower bound of the sum of the distances after the change; or a number above the limit."""
    total = 0.0
    for r in range(len(points.n_rules)):
        total += bound_of(points, r, current, candidate, change)
        if total >= limit:
            break
    return total


@inner
def load_matching(current: Current, r: int, change: Change, size: int, scratch: ConsensusScratch) -> None:
    """Load the matching with reference r as far as it remains valid: new rules are unmatched."""
    matching, shift = scratch.matching, change.end - change.first - change.n_new
    for j in range(size):
        matching.v[j] = current.v[r, j]
    for i in range(size):
        before = i if i < change.first else i + shift
        if change.first <= i < change.first + change.n_new or before >= size:
            continue
        matching.u[i] = current.u[r, before]
        matching.column[i] = current.column[r, before]
        matching.owner[matching.column[i]] = i


@inner
def distance_after(
    points: Points,
    current: Current,
    candidate: Candidate,
    change: Change,
    limit: float,
    scratch: ConsensusScratch,
) -> float:
    """Return the sum of the distances after the change; or a number that is not below the limit."""
    n_trees, rest = len(points.n_rules), 0.0
    for r in range(n_trees):
        bound = bound_of(points, r, current, candidate, change)
        scratch.tree_bound[r] = bound
        rest += bound
        if rest >= limit:
            return rest
    total = 0.0
    for r in range(n_trees):
        size = set_matrix(points, r, current, candidate, change, scratch.matrix)
        clear(scratch.matching, size)
        if max(change.n_before, change.n_rules) <= points.n_rules[r]:
            load_matching(current, r, change, size, scratch)
        total += complete(scratch.matrix, size, scratch.matching)
        rest -= scratch.tree_bound[r]
        if total + rest >= limit:
            break
    return total + rest
