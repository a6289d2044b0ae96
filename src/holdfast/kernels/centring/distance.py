"""The sum of distances to the references, of the tree and of the trees one move away from it."""

from typing import NamedTuple

from holdfast.arrays import FloatArray
from holdfast.kernels.centring.assignment import clear, complete
from holdfast.kernels.centring.problem import Points
from holdfast.kernels.centring.state import Candidate, Current, Scratch
from holdfast.kernels.jit import inner

NO_BOUND = 1e300


class Change(NamedTuple):
    """The rules of the tree from `first` to `end` make room for `n_new` rules of a candidate."""

    first: int
    end: int
    n_new: int
    n_before: int  # rules of the tree
    n_rules: int  # rules of the tree after the change


@inner
def change_of(current: Current, v: int, n_new: int) -> Change:
    """The change that puts so many rules in the place of those below node v."""
    first, end, n_before = current.first_leaf[v], current.end_leaf[v], current.n_leaves[0]
    return Change(first, end, n_new, n_before, n_before - (end - first) + n_new)


@inner
def no_change(current: Current) -> Change:
    """The tree stays as it is."""
    return Change(0, 0, 0, current.n_leaves[0], current.n_leaves[0])


@inner
def set_matrix(
    points: Points, r: int, current: Current, candidate: Candidate, change: Change, matrix: FloatArray
) -> int:
    """The square matrix of costs against reference r after the change; returns its size.

    What is too many on one side is matched with "none", at the cost of its weight.
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
def settle_distances(points: Points, current: Current, candidate: Candidate, scratch: Scratch) -> None:
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
    """No more than the distance to reference r after the change.

    The prices of the reference's rules stay: what the new rules cost beyond them at least is what they pay.
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
    """No more than the sum of the distances after the change; or some number above the limit."""
    total = 0.0
    for r in range(len(points.n_rules)):
        total += bound_of(points, r, current, candidate, change)
        if total >= limit:
            break
    return total


@inner
def load_matching(current: Current, r: int, change: Change, size: int, scratch: Scratch) -> None:
    """The matching with reference r, as far as it lasts: the new rules are matched with nothing yet."""
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
    points: Points, current: Current, candidate: Candidate, change: Change, limit: float, scratch: Scratch
) -> float:
    """The sum of the distances after the change; or some number that is not below the limit."""
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
