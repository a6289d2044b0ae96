"""The search: from a tree to one nearer to the references, by the best move of all, again and again.

A move gives a node another question of the references and keeps what is below, makes it a leaf, or puts in
its place the subtree that a reference has there. It must keep to the bounds: leaves, rows in a leaf, loss.
The search ends when no move lowers the mean distance to the references. Nodes that are held do not change.
"""

from holdfast._arrays import ByteArray
from holdfast.kernels._numba import by_reference
from holdfast.kernels.consensus.costs import (
    NO_BOUND,
    Work,
    change_of,
    copy_nodes,
    distance_after,
    forget_below,
    is_held,
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
    leaf_explains,
    may_ask,
    split_stats,
)
from holdfast.kernels.jit import inner, kernel


@inner
def settle(problem: Problem, work: Work) -> None:
    """Bring all that is known of the current tree up to date."""
    current = work.current
    number_nodes(current)
    sort_rows(problem, current, work.scratch.sums.leaf_left)
    price_subtree(
        problem.questions,
        problem.points,
        current.nodes,
        current.stats,
        current.boxes,
        current.node_costs,
        current.costs,
        current.weights,
    )
    settle_distances(problem.points, current, work.candidate, work.scratch)


@kernel
def centre(problem: Problem, work: Work, stop: ByteArray) -> None:
    """Move the tree in `work.current` until no move lowers the sum of its distances.

    Of moves as good as each other the first is made: by node, in preorder, then questions, the leaf, and
    subtrees. Ends early once `stop[0]` is raised.
    """
    problem, work = by_reference(problem), by_reference(work)
    current, least = work.current, work.scratch.least
    settle(problem, work)
    while problem.bounds.most_leaves > 0:
        least[0] = 0.0
        for r in range(len(current.total)):
            least[0] += current.total[r]
        place, n_new, n_nodes = 0, 0, 2 * current.n_leaves[0] - 1
        for v in range(n_nodes):
            if stop[0]:
                return
            if is_held(problem.held, current.path[v]):
                continue
            found = best_move(problem, work, v)
            if found > 0:
                place, n_new = v, found
        if n_new == 0:
            return
        forget_below(problem.grafts, work.scratch.grafted, current.path[place])
        n_before = 2 * (current.end_leaf[place] - current.first_leaf[place]) - 1
        replace_nodes(current.nodes, n_nodes, place, n_before, work.chosen, 2 * n_new - 1)
        settle(problem, work)


# -- One step from a deployed tree ---------------------------------------------------------------------------

LEAST_GAIN = 1e-9  # of the sum of squares: less is rounding
FLOOR = 0.05  # of distance: a move that adds less, or takes distance away, is counted as if it added that


@inner
def try_step(problem: Problem, work: Work, v: int, n_new: int, before: float) -> int:
    """Keep the candidate, a subtree of n_new leaves, if none before it gained more per unit of distance.

    `before` is what the leaves below node v explain. Returns n_new, or 0.
    """
    current, candidate, scratch, bounds = work.current, work.candidate, work.scratch, problem.bounds
    if problem.guide.is_set and not may_ask(
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
    copy_nodes(candidate.nodes, 0, 2 * n_new - 1, work.chosen)
    return n_new


@inner
def step_by_question(problem: Problem, work: Work, v: int, before: float) -> int:
    """Try every other question at node v, with what is below kept; the leaves below, or 0."""
    questions, current, candidate, sums = (
        problem.questions,
        work.current,
        work.candidate,
        work.scratch.sums,
    )
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    sides, found = (middle - first, end - middle), 0
    chosen = current.order[begin_of(current, v) : end_of(current, v)]
    route_both_ways(problem, work, v)
    copy_nodes(current.nodes, v, 2 * (end - first) - 1, candidate.nodes)
    for f in range(len(questions.n_categories)):
        if questions.first[f] == questions.first[f + 1]:
            continue
        fill_histograms(questions, problem.rows, chosen, f, sides, sums)
        for q in range(questions.first[f], questions.first[f + 1]):
            if q != current.nodes.ask[v]:
                split_stats(questions, q, sides, sums, candidate.stats)
                candidate.nodes.ask[0] = q
                found = max(found, try_step(problem, work, v, end - first, before))
    return found


@inner
def step_by_graft(problem: Problem, work: Work, v: int, before: float) -> int:
    """Try the subtrees that other trees have in the place of node v; the leaves of the best, or 0."""
    grafts, current, found = problem.grafts, work.current, 0
    room = problem.bounds.most_leaves - current.n_leaves[0] + current.end_leaf[v] - current.first_leaf[v]
    for r in range(len(grafts.ask)):
        for node in range(grafts.ask.shape[1]):
            n_leaves = grafts.n_leaves[r, node]
            is_here = current.path[v] != NO_PATH and grafts.path[r, node] == current.path[v]
            if is_here and grafts.ask[r, node] != LEAF and grafts.is_first[r, node] and n_leaves <= room:
                copy_nodes(
                    Nodes(grafts.ask[r], grafts.right[r]), node, 2 * n_leaves - 1, work.candidate.nodes
                )
                fill_graft_stats(problem, work, v, r, node)
                taken = try_step(problem, work, v, n_leaves, before)
                found = taken if taken > 0 else found
    return found


@inner
def best_step(problem: Problem, work: Work, v: int) -> int:
    """The best step at node v, in `work.chosen`, if it is better than the best so far: its leaves, or 0."""
    current, before, found = work.current, 0.0, 0
    for i in range(current.first_leaf[v], current.end_leaf[v]):
        before += leaf_explains(current.stats[i], problem.bounds.unit)
    if current.nodes.ask[v] != LEAF:
        found = step_by_question(problem, work, v, before)
        work.candidate.nodes.ask[0] = LEAF
        route_candidate(problem, current, v, work.candidate)
        pruned = try_step(problem, work, v, 1, before)
        found = pruned if pruned > 0 else found
    grafted = step_by_graft(problem, work, v, before)
    return grafted if grafted > 0 else found


@kernel
def take_step(problem: Problem, work: Work, stop: ByteArray) -> None:
    """Make the move that gains most fit per unit of distance that it adds, if any move gains.

    Of moves as good as each other the first is made, in the order of the search for a central tree. A move
    must keep to the most leaves and the fewest rows in a leaf. Ends early once `stop[0]` is raised.
    """
    problem, work = by_reference(problem), by_reference(work)
    current = work.current
    settle(problem, work)
    work.scratch.least[0] = 0.0
    place, n_new, n_nodes = 0, 0, 2 * current.n_leaves[0] - 1
    for v in range(n_nodes):
        if stop[0]:
            return
        if is_held(problem.held, current.path[v]):
            continue
        found = best_step(problem, work, v)
        if found > 0:
            place, n_new = v, found
    if n_new > 0:
        n_before = 2 * (current.end_leaf[place] - current.first_leaf[place]) - 1
        replace_nodes(current.nodes, n_nodes, place, n_before, work.chosen, 2 * n_new - 1)
        settle(problem, work)
