"""The other ways to compute a tree distance: how long they take, and whether they agree with ours."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from holdfast import Schema, Tree
from holdfast.distance.distance import distance_matrix
from holdfast.exports import to_sklearn
from holdfast.tree.tree import LEAF

TOLERANCE = 1e-9
DT_TOLERANCE = 1e-6  # its linear programme is solved to about this
_T = TypeVar("_T")
Costs = Callable[["Boxes", "Boxes"], np.ndarray]


@dataclass(frozen=True)
class Boxes:
    """The paths of a tree of numeric features, in fractions of the features' ranges."""

    ends: np.ndarray  # (leaves, 2 * features): lower ends, then upper ends, halved
    is_used: np.ndarray  # (2 * features,): does any path move this end?
    weight: np.ndarray  # (leaves,) cost of leaving the path unmatched
    outcome: np.ndarray  # (leaves,)


def collection_boxes(trees: Sequence[Tree]) -> list[Boxes]:
    """The paths of every tree, without the ends that no tree of the collection moves."""
    collection = [_boxes(tree) for tree in trees]
    matters = np.any([boxes.is_used for boxes in collection], axis=0)
    return [
        replace(boxes, ends=np.ascontiguousarray(boxes.ends[:, matters]), is_used=boxes.is_used[matters])
        for boxes in collection
    ]


def _boxes(tree: Tree) -> Boxes:
    low, high = np.array([(feature.low, feature.high) for feature in tree.schema.features]).T
    n = len(low)
    shares = np.zeros((tree.n_nodes, 2 * n))
    shares[0, n:] = 1.0
    for node in np.flatnonzero(tree.feature != LEAF):  # preorder: a parent stands before its children
        j, left, right = tree.feature[node], tree.left[node], tree.right[node]
        shares[left] = shares[right] = shares[node]
        shares[left, n + j] = shares[right, j] = (tree.threshold[node] - low[j]) / (high[j] - low[j])
    ends = shares[tree.feature == LEAF]
    is_restricted = (ends[:, :n] > 0.0) | (ends[:, n:] < 1.0)
    weight = np.where(is_restricted, ends[:, n:] - ends[:, :n], 0.0).sum(axis=1)
    return Boxes(ends / 2, (ends != shares[0]).any(axis=0), weight, tree.outcome[tree.feature == LEAF])


# -- numpy and scipy ------------------------------------------------------------------------------------


def broadcast_costs(small: Boxes, large: Boxes) -> np.ndarray:
    """One broadcast for each end that either tree moves, in memory that is used again."""
    cost, gap = np.zeros((2, len(small.outcome), len(large.outcome)))
    for k in np.flatnonzero(small.is_used | large.is_used):
        np.subtract(small.ends[:, k, None], large.ends[:, k], out=gap)
        cost += np.abs(gap, out=gap)
    return cost


def stacked_costs(small: Boxes, large: Boxes) -> np.ndarray:
    """All ends at once, by scipy's compiled city-block distance: picking those that move takes longer."""
    return cdist(small.ends, large.ends, "cityblock")


def assigned_distance(a: Boxes, b: Boxes, label_weight: float, costs: Costs) -> float:
    """The distance of two trees, matching "paper", by scipy's assignment."""
    # scipy copies a matrix that has more rows than columns.
    small, large = (a, b) if len(a.outcome) <= len(b.outcome) else (b, a)
    cost = costs(small, large)
    cost += label_weight * (small.outcome[:, None] != large.outcome)
    unmatched = 0.0
    if len(small.outcome) < len(large.outcome):
        cost -= large.weight
        unmatched = large.weight.sum()
    return float(cost[linear_sum_assignment(cost)].sum() + unmatched)


def assigned_distances(
    pairs: Sequence[tuple[Boxes, Boxes]], label_weight: float, costs: Costs
) -> list[float]:
    return [assigned_distance(a, b, label_weight, costs) for a, b in pairs]


# -- dt-distance ----------------------------------------------------------------------------------------


def parameters(schema: Schema) -> Any:
    """What dt-distance wants to know about the data."""
    from dt_distance.problem_params import ProblemParams

    indices = range(len(schema.features))
    return ProblemParams(
        feature_index=list(indices),
        feature_types=dict.fromkeys(indices, "numerical"),
        feature_lower_bounds={j: schema.features[j].low for j in indices},
        feature_upper_bounds={j: schema.features[j].high for j in indices},
        feature_num_categories={},
        problem_type="classification",
    )


def rounded(tree: Tree) -> Tree:
    """The tree with the thresholds that scikit-learn can hold."""
    is_leaf = tree.feature == LEAF
    return tree.replace(threshold=np.where(is_leaf, np.nan, to_sklearn(tree).tree_.threshold))


def parsed_paths(tree: Tree, problem: Any) -> Any:
    """The paths of the tree as dt-distance reads them from a scikit-learn tree."""
    from dt_distance.tree_parser import TreeParser

    return TreeParser(to_sklearn(tree), problem).get_paths()


def covering_distance(a: Any, b: Any, problem: Any) -> float:
    """The distance of two lists of paths, matching "cover" with label weight 1, to nine digits."""
    from dt_distance.distance_calculator import DistanceCalculator

    options = {"normalize_distance": False, "outcome_weight_in_path": 1, "round_digits": 9}
    return float(DistanceCalculator(a, b, problem, **options).compute_tree_distance())


# -- measuring ------------------------------------------------------------------------------------------


def timed(work: Callable[[], _T], repeats: int = 3) -> tuple[float, _T]:
    """The shortest of several runs in seconds, since noise only ever adds, and what came out of them."""
    return timed_in_turns({"work": work}, repeats)["work"]


def timed_in_turns(works: dict[str, Callable[[], _T]], repeats: int = 3) -> dict[str, tuple[float, _T]]:
    """The same for several works, one after another in each round: other load falls on all of them alike."""
    best: dict[str, tuple[float, _T]] = {}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            result = work()
            seconds = time.perf_counter() - start
            best[name] = min(seconds, best.get(name, (np.inf, result))[0]), result
    return best


def check_agreement(ours: np.ndarray, theirs: Sequence[float], tolerance: float, peer: str) -> None:
    gaps = np.abs(ours - np.array(theirs)) / np.maximum(1.0, np.abs(ours))
    if not (gaps <= tolerance).all():
        worst = int(np.argmax(gaps))
        raise SystemExit(
            f"The distances disagree: pair {worst} is {ours[worst]!r} here and {theirs[worst]!r} by {peer}. "
            "Find out which is wrong before any timing is believed."
        )


def dt_seconds(a: Sequence[Tree], b: Sequence[Tree], pairs: np.ndarray) -> float:
    """Seconds a pair by dt-distance; paths are extracted beforehand, which it would take longest for."""
    try:
        problem = parameters(a[0].schema)
    except ImportError:
        return np.nan
    lefts, rights = ([trees[k] for k in side] for trees, side in zip((a, b), pairs.T, strict=True))
    chosen = [[parsed_paths(tree, problem) for tree in pair] for pair in zip(lefts, rights, strict=True)]
    seconds, totals = timed(lambda: [covering_distance(*paths, problem) for paths in chosen], 1)
    same_thresholds = ([rounded(tree) for tree in trees] for trees in (lefts, rights))
    ours = distance_matrix(*same_thresholds, matching="cover", label_weight=1.0).diagonal()
    check_agreement(ours, totals, DT_TOLERANCE, "dt-distance")
    return seconds / len(chosen)
