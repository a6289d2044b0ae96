"""Search for the consensus tree: from a tree to one nearer to the references, by the best move each time.

A move replaces the split of a node and keeps the subtrees, makes the node a leaf, or grafts the subtree that
a reference has in its place. It must keep to the limits on leaves, rows in a leaf, and loss. The search ends
when no move lowers the mean distance to the references. Fixed nodes do not change.
"""

from holdfast._arrays import ByteArray
from holdfast.kernels.consensus.costs import (
    NO_BOUND,
    SearchState,
    change_of,
    copy_nodes,
    distance_after,
    forget_below,
    is_fixed,
    number_nodes,
    price_subtree,
    replace_nodes,
    settle_distances,
    sort_rows,
)
from holdfast.kernels.consensus.moves import (
    begin_of,
    best_move,
    end_of,
    fill_graft_stats,
    price_candidate,
    route_both_ways,
    route_candidate,
)
from holdfast.kernels.consensus.problem import (
    LEAF,
    NO_PATH,
    Nodes,
    Problem,
    explained,
    fill_histograms,
    is_allowed,
    leaf_explains,
    split_stats,
)
from holdfast.kernels.jit import by_reference, inner, kernel

LEAST_GAIN = 1e-9  # of the sum of squares: a smaller gain is rounding
FLOOR = 0.05  # the least added distance that a move is counted with


# -- The search ----------------------------------------------------------------------------------------------


@kernel
def find_consensus(problem: Problem, state: SearchState, stop: ByteArray) -> None:
    """Change the tree in `state.current` until no move lowers the sum of its distances.

    Of moves that are equally good the first is made: by node, in preorder, then splits, the leaf, and
    subtrees. Ends early once `stop[0]` is set.
    """
    problem, state = by_reference(problem), by_reference(state)
    current, least = state.current, state.scratch.least
    settle(problem, state)
    while problem.bounds.most_leaves > 0:
        least[0] = 0.0
        for r in range(len(current.total)):
            least[0] += current.total[r]
        place, n_new, n_nodes = 0, 0, 2 * current.n_leaves[0] - 1
        for v in range(n_nodes):
            if stop[0]:
                return
            if is_fixed(problem.fixed, current.path[v]):
                continue
            found = best_move(problem, state, v)
            if found > 0:
                place, n_new = v, found
        if n_new == 0:
            return
        forget_below(problem.grafts, state.scratch.graft_sums, current.path[place])
        n_before = 2 * (current.end_leaf[place] - current.first_leaf[place]) - 1
        replace_nodes(current.nodes, n_nodes, place, n_before, state.chosen, 2 * n_new - 1)
        settle(problem, state)


@inner
def settle(problem: Problem, state: SearchState) -> None:
    """Update all that is known of the current tree."""
    current = state.current
    number_nodes(current)
    sort_rows(problem, current, state.scratch.sums.leaf_left)
    price_subtree(
        problem.splits,
        problem.points,
        current.nodes,
        current.stats,
        current.boxes,
        current.node_costs,
        current.costs,
        current.weights,
    )
    settle_distances(problem.points, current, state.candidate, state.scratch)


# -- One step from a deployed tree ---------------------------------------------------------------------------


@kernel
def take_step(problem: Problem, state: SearchState, stop: ByteArray) -> None:
    """Make the move with the highest gain of fit per added distance, if any move gains.

    Of moves that are equally good the first is made, in the order of the search for a consensus tree. A move
    must keep to the limits on leaves and on rows in a leaf. Ends early once `stop[0]` is set.
    """
    problem, state = by_reference(problem), by_reference(state)
    current = state.current
    settle(problem, state)
    state.scratch.least[0] = 0.0
    place, n_new, n_nodes = 0, 0, 2 * current.n_leaves[0] - 1
    for v in range(n_nodes):
        if stop[0]:
            return
        if is_fixed(problem.fixed, current.path[v]):
            continue
        found = best_step(problem, state, v)
        if found > 0:
            place, n_new = v, found
    if n_new > 0:
        n_before = 2 * (current.end_leaf[place] - current.first_leaf[place]) - 1
        replace_nodes(current.nodes, n_nodes, place, n_before, state.chosen, 2 * n_new - 1)
        settle(problem, state)


@inner
def best_step(problem: Problem, state: SearchState, v: int) -> int:
    """Put the best step at node v in `state.chosen` if it is the best so far; return its leaves, or 0."""
    current, before, found = state.current, 0.0, 0
    for i in range(current.first_leaf[v], current.end_leaf[v]):
        before += leaf_explains(current.stats[i], problem.bounds.unit)
    if current.nodes.split[v] != LEAF:
        found = step_by_split(problem, state, v, before)
        state.candidate.nodes.split[0] = LEAF
        route_candidate(problem, current, v, state.candidate)
        pruned = try_step(problem, state, v, 1, before)
        found = pruned if pruned > 0 else found
    n_grafted = step_by_graft(problem, state, v, before)
    return n_grafted if n_grafted > 0 else found


@inner
def step_by_split(problem: Problem, state: SearchState, v: int, before: float) -> int:
    """Try every other split at node v, keeping its subtrees; return the leaves below, or 0."""
    splits, current, candidate = problem.splits, state.current, state.candidate
    sums = state.scratch.sums
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    sides, found = (middle - first, end - middle), 0
    chosen = current.order[begin_of(current, v) : end_of(current, v)]
    route_both_ways(problem, state, v)
    copy_nodes(current.nodes, v, 2 * (end - first) - 1, candidate.nodes)
    for f in range(len(splits.n_categories)):
        if splits.first[f] == splits.first[f + 1]:
            continue
        fill_histograms(splits, problem.rows, chosen, f, sides, sums)
        for q in range(splits.first[f], splits.first[f + 1]):
            if q != current.nodes.split[v]:
                split_stats(splits, q, sides, sums, candidate.stats)
                candidate.nodes.split[0] = q
                found = max(found, try_step(problem, state, v, end - first, before))
    return found


@inner
def try_step(problem: Problem, state: SearchState, v: int, n_new: int, before: float) -> int:
    """Keep the candidate, a subtree of n_new leaves, if its gain per distance is the highest so far.

    `before` is the sum of squares that the leaves below node v explain. Returns n_new, or 0.
    """
    current, candidate, scratch, bounds = state.current, state.candidate, state.scratch, problem.bounds
    if problem.constraints.is_set and not is_allowed(
        problem, current.nodes, v, candidate.nodes, n_new, scratch.is_used
    ):
        return 0
    gain = explained(candidate.stats, n_new, bounds) - before
    if gain <= LEAST_GAIN * bounds.square_sum or gain <= scratch.least[0] * FLOOR:
        return 0
    price_candidate(problem, current, v, candidate)
    change, total = change_of(current, v, n_new), 0.0
    for r in range(len(current.total)):
        total += current.total[r]
    added = distance_after(problem.points, current, candidate, change, NO_BOUND, scratch) - total
    ratio = gain / max(added, FLOOR)
    if ratio <= scratch.least[0]:
        return 0
    scratch.least[0] = ratio
    copy_nodes(candidate.nodes, 0, 2 * n_new - 1, state.chosen)
    return n_new


@inner
def step_by_graft(problem: Problem, state: SearchState, v: int, before: float) -> int:
    """Try the subtrees that other trees have in the place of node v; return the leaves of the best, or 0."""
    grafts, current, found = problem.grafts, state.current, 0
    room = problem.bounds.most_leaves - current.n_leaves[0] + current.end_leaf[v] - current.first_leaf[v]
    for r in range(len(grafts.split)):
        for node in range(grafts.split.shape[1]):
            n_leaves = grafts.n_leaves[r, node]
            is_here = current.path[v] != NO_PATH and grafts.path[r, node] == current.path[v]
            if is_here and grafts.split[r, node] != LEAF and grafts.is_first[r, node] and n_leaves <= room:
                copy_nodes(
                    Nodes(grafts.split[r], grafts.right[r]), node, 2 * n_leaves - 1, state.candidate.nodes
                )
                fill_graft_stats(problem, state, v, r, node)
                taken = try_step(problem, state, v, n_leaves, before)
                found = taken if taken > 0 else found
    return found
