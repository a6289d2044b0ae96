"""Sums by bin, and bounds of the distance, of every question at every node."""

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.kernels.consensus.costs import (
    NO_BOUND,
    SearchState,
    bound_of_all,
    change_of,
    copy_nodes,
    distance_after,
)
from holdfast.kernels.consensus.moves import (
    begin_of,
    end_of,
    price_candidate,
    route_both_ways,
    route_candidate,
)
from holdfast.kernels.consensus.problem import Bounds, Problem, fill_histograms, split_stats
from holdfast.kernels.consensus.search import settle
from holdfast.kernels.jit import kernel
from holdfast.stable.consensus.search import make_work
from reference.consensus_search import SmallSearch, below, paths_of, replaced

pytestmark = pytest.mark.kernel


@kernel
def settled(problem: Problem, work: SearchState) -> None:
    settle(problem, work)


@kernel
def replace_split(problem: Problem, work: SearchState, v: int, q: int, out: FloatArray) -> None:
    """out = the bound and the sum of distances if node v asks question q; stats by histograms are kept."""
    current, candidate, scratch = work.current, work.candidate, work.scratch
    first, middle, end = current.first_leaf[v], current.end_leaf[v + 1], current.end_leaf[v]
    chosen, sides = current.order[begin_of(current, v) : end_of(current, v)], (middle - first, end - middle)
    change = change_of(current, v, end - first)
    route_both_ways(problem, work, v)
    fill_histograms(problem.splits, problem.rows, chosen, problem.splits.feature[q], sides, scratch.sums)
    split_stats(problem.splits, q, sides, scratch.sums, candidate.stats)
    for i in range(end - first):
        for s in range(candidate.stats.shape[1]):
            out[2 + i * candidate.stats.shape[1] + s] = candidate.stats[i, s]
    copy_nodes(current.nodes, v, 2 * (end - first) - 1, candidate.nodes)
    candidate.nodes.split[0] = q
    route_candidate(problem, current, v, candidate)
    price_candidate(problem, current, v, candidate)
    out[0] = bound_of_all(problem.points, current, candidate, change, NO_BOUND)
    out[1] = distance_after(problem.points, current, candidate, change, NO_BOUND, scratch)


@pytest.mark.parametrize("kind", [{}, {"n_classes": 0}, {"n_classes": 3, "matching": "metric"}])
def test_every_split_has_the_cost_of_its_rows_and_a_valid_lower_bound(kind: dict) -> None:
    small = SmallSearch(8, **kind)
    parts, shape = small.search.problem, small.shape(small.student)
    bounds = Bounds(4, 0.0, np.inf, 0.0, 1.0)
    given = parts.splits.packed, parts.rows, parts.points, parts.grafts
    problem = Problem(*given, bounds, parts.fixed_paths, parts.guide)
    work = make_work(parts, small.search.student.nodes)
    settled(problem, work)
    assert work.current.total.sum() / 5 == pytest.approx(small.distances([small.student])[0], abs=1e-6)
    for v, path in enumerate(paths_of(shape)):
        here = below(shape, path)
        if not here:
            continue
        for q in range(len(parts.splits.keys)):
            out = np.zeros(200)
            with np.errstate(invalid="ignore"):  # leaves without rows
                replace_split(problem, work, np.int64(v), np.int64(q), out)
            tree = small.tree(replaced(shape, path, (q, *here[1:])))
            n, stats = int(work.current.end_leaf[v] - work.current.first_leaf[v]), work.candidate.stats
            # The sums by bins are those of the rows one by one, and of the tree's own count.
            assert out[2 : 2 + n * stats.shape[1]].tolist() == stats[:n].ravel().tolist()
            counts = np.bincount(small.tree_leaves(tree), minlength=tree.n_leaves)
            first = int(work.current.first_leaf[v])
            assert stats[:n, 0].tolist() == counts[first : first + n].tolist()
            assert out[0] <= out[1]
            if counts.min() > 0:
                assert out[1] / 5 == pytest.approx(small.distances([tree])[0], abs=1e-6)
