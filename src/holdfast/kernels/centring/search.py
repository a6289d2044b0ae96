"""The search: from a tree to one nearer to the references, by the best move of all, again and again.

A move gives a node another question of the references and keeps what is below, makes it a leaf, or puts in
its place the subtree that a reference has there. It must keep to the bounds: leaves, rows in a leaf, loss.
The search ends when no move lowers the mean distance to the references. Nodes that are held do not change.
"""

from holdfast.arrays import ByteArray
from holdfast.kernels.centring.distance import settle_distances
from holdfast.kernels.centring.moves import best_move
from holdfast.kernels.centring.problem import Problem
from holdfast.kernels.centring.rules import price_subtree
from holdfast.kernels.centring.state import (
    Work,
    forget_below,
    is_held,
    number_nodes,
    replace_nodes,
    sort_rows,
)
from holdfast.kernels.jit import inner, kernel
from holdfast.kernels.reference import by_reference


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
