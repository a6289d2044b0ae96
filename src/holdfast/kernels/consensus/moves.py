"""The moves at one node: another question, a leaf, or the subtree that a reference has there."""

from holdfast._arrays import FloatArray
from holdfast.kernels.consensus.costs import (
    NO_BOUND,
    Candidate,
    Current,
    Work,
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
    leaf_explains,
    leaf_reached,
    may_ask,
    split_stats,
)
from holdfast.kernels.jit import inner

STEP = 2.0**-32  # less than any two sums of distances differ by


@inner
def begin_of(current: Current, v: int) -> int:
    """Where the rows that reach node v begin, in the order of the rows."""
    begin: int = current.row_start[current.first_leaf[v]]
    return begin


@inner
def end_of(current: Current, v: int) -> int:
    """Where the rows that reach node v end."""
    end: int = current.row_start[current.end_leaf[v]]
    return end


@inner
def price_candidate(problem: Problem, current: Current, v: int, candidate: Candidate) -> None:
    """Fill the costs of the candidate's rules if it takes the place of node v."""
    copy_row(current.boxes[v], candidate.boxes[0])
    copy_row(current.node_costs[v], candidate.node_costs[0])
    price_subtree(
        problem.questions,
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
        if candidate.nodes.ask[node] == LEAF:
            candidate.leaf_place[node] = n_leaves
            n_leaves += 1
        else:
            n_nodes += 2
        node += 1
    for i in range(len(chosen)):
        leaf = leaf_reached(problem.questions, problem.rows, candidate.nodes, 0, chosen[i])
        add_row(problem.rows, chosen[i], candidate.stats[candidate.leaf_place[leaf]])


@inner
def try_candidate(
    problem: Problem, work: Work, v: int, n_new: int, least_explained: float, limit: float
) -> int:
    """Keep the candidate, a subtree of n_new leaves, if its distances sum to less than the limit.

    Returns n_new, or 0.
    """
    current, candidate, scratch = work.current, work.candidate, work.scratch
    if explained(candidate.stats, n_new, problem.bounds) < least_explained:
        return 0
    if problem.guide.is_set and not may_ask(
        problem, current.nodes, v, candidate.nodes, n_new, scratch.is_used
    ):
        return 0
    price_candidate(problem, current, v, candidate)
    change = change_of(current, v, n_new)
    distance = distance_after(problem.points, current, candidate, change, limit, scratch)
    if distance >= limit:
        return 0
    scratch.least[0] = distance
    copy_nodes(candidate.nodes, 0, 2 * n_new - 1, work.chosen)
    return n_new


@inner
def route_both_ways(problem: Problem, work: Work, v: int) -> None:
    """For every row at node v the leaves that it would reach through its children; the sums of the right."""
    current, sums, nodes = work.current, work.scratch.sums, work.current.nodes
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    chosen = current.order[begin_of(current, v) : end_of(current, v)]
    clear_stats(sums.totals, end - middle)
    for i in range(len(chosen)):
        left = leaf_reached(problem.questions, problem.rows, nodes, v + 1, chosen[i])
        right = leaf_reached(problem.questions, problem.rows, nodes, nodes.right[v], chosen[i])
        sums.leaf_left[i] = current.first_leaf[left] - first
        sums.leaf_right[i] = current.first_leaf[right] - middle
        add_row(problem.rows, chosen[i], sums.totals[sums.leaf_right[i]])


@inner
def bound_questions(problem: Problem, work: Work, v: int, least_explained: float) -> None:
    """For every question at node v a bound of the sum of distances; NO_BOUND where it cannot be better."""
    questions, points = problem.questions, problem.points
    current, candidate, scratch = work.current, work.candidate, work.scratch
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    sides = (middle - first, end - middle)
    change = change_of(current, v, end - first)
    route_both_ways(problem, work, v)
    copy_nodes(current.nodes, v, 2 * (end - first) - 1, candidate.nodes)
    for f in range(len(questions.n_categories)):
        if questions.first[f] == questions.first[f + 1]:
            continue
        fill_histograms(
            questions,
            problem.rows,
            current.order[begin_of(current, v) : end_of(current, v)],
            f,
            sides,
            scratch.sums,
        )
        for q in range(questions.first[f], questions.first[f + 1]):
            scratch.bound[q] = NO_BOUND
            if q == current.nodes.ask[v]:
                continue
            split_stats(questions, q, sides, scratch.sums, candidate.stats)
            if explained(candidate.stats, end - first, problem.bounds) < least_explained:
                continue
            candidate.nodes.ask[0] = q
            price_candidate(problem, current, v, candidate)
            bound = bound_of_all(points, current, candidate, change, scratch.least[0])
            if bound < scratch.least[0]:
                scratch.bound[q] = bound


@inner
def lowest_place(numbers: FloatArray) -> int:
    """Where the lowest number is; of equal ones the first."""
    place = 0
    for i in range(1, len(numbers)):
        if numbers[i] < numbers[place]:
            place = i
    return place


@inner
def best_question(problem: Problem, work: Work, v: int, least_explained: float) -> int:
    """Try all questions at node v, the most promising first; the number of leaves below, or 0.

    Of questions as good as each other the first in their order is kept.
    """
    current, scratch, best = work.current, work.scratch, -1
    n_leaves = current.end_leaf[v] - current.first_leaf[v]
    bound_questions(problem, work, v, least_explained)
    while True:
        q = lowest_place(scratch.bound)
        if scratch.bound[q] >= scratch.least[0] + STEP:
            return n_leaves if best >= 0 else 0
        limit = scratch.least[0] + (STEP if q < best else 0.0)
        if scratch.bound[q] < limit:
            copy_nodes(current.nodes, v, 2 * n_leaves - 1, work.candidate.nodes)
            work.candidate.nodes.ask[0] = q
            route_candidate(problem, current, v, work.candidate)
            if try_candidate(problem, work, v, n_leaves, least_explained, limit) > 0:
                best = q
        scratch.bound[q] = NO_BOUND


@inner
def fill_graft_stats(problem: Problem, work: Work, v: int, r: int, node: int) -> None:
    """Fill the sums of the leaves of the candidate, the graft of a node of reference r, if not yet known."""
    grafted, candidate, place = work.scratch.grafted, work.candidate, problem.grafts.place[r, node]
    if not grafted.is_known[r, node]:
        route_candidate(problem, work.current, v, candidate)
    for i in range(problem.grafts.n_leaves[r, node]):
        if grafted.is_known[r, node]:
            copy_row(grafted.stats[place + i], candidate.stats[i])
        else:
            copy_row(candidate.stats[i], grafted.stats[place + i])
    grafted.is_known[r, node] = True


@inner
def best_graft(problem: Problem, work: Work, v: int, least_explained: float) -> int:
    """Try the subtrees that the references have in the place of node v; the leaves of the best, or 0."""
    grafts, current, found = problem.grafts, work.current, 0
    room = problem.bounds.most_leaves - current.n_leaves[0] + current.end_leaf[v] - current.first_leaf[v]
    if current.path[v] == NO_PATH:
        return 0
    for r in range(len(grafts.ask)):
        node = 0
        while node < grafts.ask.shape[1] and grafts.path[r, node] != current.path[v]:
            node += 1
        if node == grafts.ask.shape[1] or grafts.ask[r, node] == LEAF or not grafts.is_first[r, node]:
            continue
        n_leaves = grafts.n_leaves[r, node]
        if n_leaves > room:
            continue
        copy_nodes(Nodes(grafts.ask[r], grafts.right[r]), node, 2 * n_leaves - 1, work.candidate.nodes)
        fill_graft_stats(problem, work, v, r, node)
        better = try_candidate(problem, work, v, n_leaves, least_explained, work.scratch.least[0])
        if better > 0:
            found = better
    return found


@inner
def best_move(problem: Problem, work: Work, v: int) -> int:
    """The best move at node v, in `work.chosen`, if it is better than the best so far: its leaves, or 0."""
    current, bounds = work.current, problem.bounds
    others = 0.0
    for i in range(current.n_leaves[0]):
        if not current.first_leaf[v] <= i < current.end_leaf[v]:
            others += leaf_explains(current.stats[i], bounds.unit)
    least_explained = max(bounds.square_sum - bounds.most_loss - others, 0.0)
    found = 0
    if current.nodes.ask[v] != LEAF:
        found = best_question(problem, work, v, least_explained)
        work.candidate.nodes.ask[0] = LEAF
        route_candidate(problem, current, v, work.candidate)
        pruned = try_candidate(problem, work, v, 1, least_explained, work.scratch.least[0])
        found = pruned if pruned > 0 else found
    grafted = best_graft(problem, work, v, least_explained)
    return grafted if grafted > 0 else found
