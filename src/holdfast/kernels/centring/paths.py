"""Whether a subtree keeps to what may be asked where: depths, and features that may stand on one path."""

from holdfast.arrays import ByteArray
from holdfast.kernels.centring.problem import LEAF, Nodes, Problem
from holdfast.kernels.jit import inner


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
