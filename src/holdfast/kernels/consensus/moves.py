"""The moves at one node: another split, a leaf, or the subtree that a reference has in its place."""

from holdfast._arrays import FloatArray
from holdfast.kernels.consensus.costs import (
    NO_BOUND,
    Candidate,
    Current,
    SearchState,
    bound_of_all,
    change_of,
    copy_nodes,
    copy_row,
    distance_after,
    price_subtree,
)
from holdfast.kernels.consensus.problem import (
    LEAF,
    NO_PATH,
    Nodes,
    Problem,
    add_row,
    clear_stats,
    explained,
    fill_histograms,
    is_allowed,
    leaf_explains,
    leaf_reached,
    split_stats,
)
from holdfast.kernels.jit import inner

STEP = 2.0**-32  # less than any two sums of distances differ by


@inner
def begin_of(current: Current, v: int) -> int:
    """Return where the rows that reach node v begin in the order of the rows."""
    begin: int = current.row_start[current.first_leaf[v]]
    return begin


@inner
def end_of(current: Current, v: int) -> int:
    """Return where the rows that reach node v end."""
    end: int = current.row_start[current.end_leaf[v]]
    return end


@inner
def price_candidate(problem: Problem, current: Current, v: int, candidate: Candidate) -> None:
    """Fill the costs of the candidate's rules if it replaces node v."""
    copy_row(current.boxes[v], candidate.boxes[0])
    copy_row(current.node_costs[v], candidate.node_costs[0])
    price_subtree(
        problem.splits,
        problem.points,
        candidate.nodes,
        candidate.stats,
        candidate.boxes,
        candidate.node_costs,
        candidate.costs,
        candidate.weights,
    )


@inner
def route_candidate(problem: Problem, current: Current, v: int, candidate: Candidate) -> None:
    """Fill the sums of the candidate's leaves from the rows at node v."""
    chosen = current.order[begin_of(current, v) : end_of(current, v)]
    clear_stats(candidate.stats, len(candidate.stats))
    n_leaves, node, n_nodes = 0, 0, 1
    while node < n_nodes:
        if candidate.nodes.split[node] == LEAF:
            candidate.leaf_place[node] = n_leaves
            n_leaves += 1
        else:
            n_nodes += 2
        node += 1
    for i in range(len(chosen)):
        leaf = leaf_reached(problem.splits, problem.rows, candidate.nodes, 0, chosen[i])
        add_row(problem.rows, chosen[i], candidate.stats[candidate.leaf_place[leaf]])


@inner
def try_candidate(
    problem: Problem, state: SearchState, v: int, n_new: int, least_explained: float, limit: float
) -> int:
    """Keep the candidate, a subtree of n_new leaves, if its distances sum to less than the limit.

    Returns n_new, or 0.
    """
    current, candidate, scratch = state.current, state.candidate, state.scratch
    if explained(candidate.stats, n_new, problem.bounds) < least_explained:
        return 0
    if problem.constraints.is_set and not is_allowed(
        problem, current.nodes, v, candidate.nodes, n_new, scratch.is_used
    ):
        return 0
    price_candidate(problem, current, v, candidate)
    change = change_of(current, v, n_new)
    distance = distance_after(problem.points, current, candidate, change, limit, scratch)
    if distance >= limit:
        return 0
    scratch.least[0] = distance
    copy_nodes(candidate.nodes, 0, 2 * n_new - 1, state.chosen)
    return n_new


@inner
def route_both_ways(problem: Problem, state: SearchState, v: int) -> None:
    """Find the leaves that every row at node v would reach through either child; sum those of the right."""
    current, sums, nodes = state.current, state.scratch.sums, state.current.nodes
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    chosen = current.order[begin_of(current, v) : end_of(current, v)]
    clear_stats(sums.totals, end - middle)
    for i in range(len(chosen)):
        left = leaf_reached(problem.splits, problem.rows, nodes, v + 1, chosen[i])
        right = leaf_reached(problem.splits, problem.rows, nodes, nodes.right[v], chosen[i])
        sums.leaf_left[i] = current.first_leaf[left] - first
        sums.leaf_right[i] = current.first_leaf[right] - middle
        add_row(problem.rows, chosen[i], sums.totals[sums.leaf_right[i]])


@inner
def bound_splits(problem: Problem, state: SearchState, v: int, least_explained: float) -> None:
    """Bound the sum of distances for every split at node v; NO_BOUND if it cannot be better."""
    splits, points = problem.splits, problem.points
    current, candidate, scratch = state.current, state.candidate, state.scratch
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    sides = (middle - first, end - middle)
    change = change_of(current, v, end - first)
    route_both_ways(problem, state, v)
    copy_nodes(current.nodes, v, 2 * (end - first) - 1, candidate.nodes)
    for f in range(len(splits.n_categories)):
        if splits.first[f] == splits.first[f + 1]:
            continue
        fill_histograms(
            splits,
            problem.rows,
            current.order[begin_of(current, v) : end_of(current, v)],
            f,
            sides,
            scratch.sums,
        )
        for q in range(splits.first[f], splits.first[f + 1]):
            scratch.bound[q] = NO_BOUND
            if q == current.nodes.split[v]:
                continue
            split_stats(splits, q, sides, scratch.sums, candidate.stats)
            if explained(candidate.stats, end - first, problem.bounds) < least_explained:
                continue
            candidate.nodes.split[0] = q
            price_candidate(problem, current, v, candidate)
            bound = bound_of_all(points, current, candidate, change, scratch.least[0])
            if bound < scratch.least[0]:
                scratch.bound[q] = bound


@inner
def lowest_place(numbers: FloatArray) -> int:
    """Return the index of the lowest number; of equal ones the first."""
    place = 0
    for i in range(1, len(numbers)):
        if numbers[i] < numbers[place]:
            place = i
    return place


@inner
def best_replacement(problem: Problem, state: SearchState, v: int, least_explained: float) -> int:
    """Try all splits at node v, the most promising first; return the number of leaves below, or 0.

    Of splits that are equally good the first in their order is kept.
    """
    current, scratch, best = state.current, state.scratch, -1
    n_leaves = current.end_leaf[v] - current.first_leaf[v]
    bound_splits(problem, state, v, least_explained)
    while True:
        q = lowest_place(scratch.bound)
        if scratch.bound[q] >= scratch.least[0] + STEP:
            return n_leaves if best >= 0 else 0
        limit = scratch.least[0] + (STEP if q < best else 0.0)
        if scratch.bound[q] < limit:
            copy_nodes(current.nodes, v, 2 * n_leaves - 1, state.candidate.nodes)
            state.candidate.nodes.split[0] = q
            route_candidate(problem, current, v, state.candidate)
            if try_candidate(problem, state, v, n_leaves, least_explained, limit) > 0:
                best = q
        scratch.bound[q] = NO_BOUND


@inner
def fill_graft_stats(problem: Problem, state: SearchState, v: int, r: int, node: int) -> None:
    """Fill the leaf sums of the candidate, the graft of a node of reference r, if not yet known."""
    graft_sums, candidate, place = state.scratch.graft_sums, state.candidate, problem.grafts.place[r, node]
    if not graft_sums.is_known[r, node]:
        route_candidate(problem, state.current, v, candidate)
    for i in range(problem.grafts.n_leaves[r, node]):
        if graft_sums.is_known[r, node]:
            copy_row(graft_sums.stats[place + i], candidate.stats[i])
        else:
            copy_row(candidate.stats[i], graft_sums.stats[place + i])
    graft_sums.is_known[r, node] = True


@inner
def best_graft(problem: Problem, state: SearchState, v: int, least_explained: float) -> int:
    """Try the subtrees that references have in the place of node v; return the leaves of the best, or 0."""
    grafts, current, found = problem.grafts, state.current, 0
    room = problem.bounds.most_leaves - current.n_leaves[0] + current.end_leaf[v] - current.first_leaf[v]
    if current.path[v] == NO_PATH:
        return 0
    for r in range(len(grafts.split)):
        node = 0
        while node < grafts.split.shape[1] and grafts.path[r, node] != current.path[v]:
            node += 1
        if node == grafts.split.shape[1] or grafts.split[r, node] == LEAF or not grafts.is_first[r, node]:
            continue
        n_leaves = grafts.n_leaves[r, node]
        if n_leaves > room:
            continue
        copy_nodes(Nodes(grafts.split[r], grafts.right[r]), node, 2 * n_leaves - 1, state.candidate.nodes)
        fill_graft_stats(problem, state, v, r, node)
        better = try_candidate(problem, state, v, n_leaves, least_explained, state.scratch.least[0])
        if better > 0:
            found = better
    return found


@inner
def best_move(problem: Problem, state: SearchState, v: int) -> int:
    """Put the best move at node v in `state.chosen` if it is the best so far; return its leaves, or 0."""
    current, bounds = state.current, problem.bounds
    others = 0.0
    for i in range(current.n_leaves[0]):
        if not current.first_leaf[v] <= i < current.end_leaf[v]:
            others += leaf_explains(current.stats[i], bounds.unit)
    least_explained = max(bounds.square_sum - bounds.most_loss - others, 0.0)
    found = 0
    if current.nodes.split[v] != LEAF:
        found = best_replacement(problem, state, v, least_explained)
        state.candidate.nodes.split[0] = LEAF
        route_candidate(problem, current, v, state.candidate)
        pruned = try_candidate(problem, state, v, 1, least_explained, state.scratch.least[0])
        found = pruned if pruned > 0 else found
    n_grafted = best_graft(problem, state, v, least_explained)
    return n_grafted if n_grafted > 0 else found
