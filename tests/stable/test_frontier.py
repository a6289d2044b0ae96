"""The frontier against its definition, and its columns against plain loops over the distances."""

from dataclasses import asdict
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frontiers import dominated, frontier_of_points
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import Table
from holdfast.distance.distance import mean_distance, tree_distance
from holdfast.errors import DataError
from holdfast.growth.rules import GrowthRules
from holdfast.stable.frontier import hypervolume, pareto_frontier
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import StableTrees, train

few_values = st.sampled_from((-1.0, 0.0, 0.1, 0.3, 0.5, 1.0, 2.0))
points = st.lists(st.tuples(few_values, few_values), min_size=1, max_size=12)
any_points = st.lists(st.tuples(st.floats(0, 50), st.floats(-5, 1)), min_size=1, max_size=30)


# -- efficient --------------------------------------------------------------------------------------------


@given(points | any_points)
def test_efficient_is_what_no_other_beats(drawn: list[tuple[float, float]]):
    d, a = zip(*drawn, strict=True)
    assert pareto_frontier(d, a).tolist() == [not beaten for beaten in dominated(d, a)]


@given(points)
def test_along_the_frontier_every_step_costs_stability_and_brings_score(drawn: list[tuple[float, float]]):
    frontier = frontier_of_points(*zip(*drawn, strict=True))
    order = frontier.efficient_order.tolist()
    assert frontier.efficient[order].all()
    for one, other in pairwise(order):
        assert frontier.instability[one] < frontier.instability[other]
        assert frontier.score[one] < frontier.score[other]
    efficient = np.flatnonzero(frontier.efficient)
    assert {drawn[place] for place in efficient} == {drawn[place] for place in order}
    # Of those alike in both, the first grown.
    assert all(place == drawn.index(drawn[place]) for place in order)


def test_trees_alike_in_both_are_efficient_together():
    assert pareto_frontier([1.0, 1.0, 1.0], [0.5, 0.5, 0.4]).tolist() == [True, True, False]
    assert pareto_frontier([0.0, -0.0], [0.5, 0.5]).tolist() == [True, True]


@pytest.mark.parametrize(("n_estimators", "expected"), [(0, []), (1, [True])])
def test_no_tree_and_one_tree_have_a_frontier(n_estimators: int, expected: list[bool]):
    assert pareto_frontier([1.0] * n_estimators, [0.5] * n_estimators).tolist() == expected


@pytest.mark.parametrize(
    ("d", "a"), [([1.0, 2.0], [0.5]), ([[1.0]], [[0.5]]), (1.0, 0.5), ([np.nan], [0.5]), ([1.0], [np.inf])]
)
def test_what_is_no_pair_of_lists_of_numbers_is_refused(d: Any, a: Any):
    with pytest.raises(DataError, match="instability and score must be"):
        pareto_frontier(d, a)


# -- hypervolume ------------------------------------------------------------------------------------------


def area_by_rectangles(d: list[float], a: list[float]) -> float:
    """Every cell between neighbouring values counts if some tree is at least as good as both its sides."""
    width, height = max(d) - min(d), max(a) - min(a)
    if not (width and height):
        return 1.0
    area = 0.0
    for left, right in pairwise(sorted(set(d))):
        for low, high in pairwise(sorted(set(a))):
            if any(e <= left and b >= high for e, b in zip(d, a, strict=True)):
                area += (right - left) * (high - low)
    return area / (width * height)


@given(points | any_points)
def test_the_hypervolume_is_the_area_of_the_rectangles_that_trees_dominate(drawn: Any):
    d, a = map(list, zip(*drawn, strict=True))
    found = hypervolume(np.array(d), np.array(a))
    assert found == pytest.approx(area_by_rectangles(d, a), abs=1e-9)
    assert -1e-12 <= found <= 1 + 1e-12
    assert frontier_of_points(d, a).hypervolume == found


def test_the_hypervolume_of_three_points_by_hand():
    # The box is 2 by 1. The middle point dominates the half of it right of 1, up to 3/4 of the height.
    assert hypervolume(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.75, 1.0])) == 0.375


# -- as a table -------------------------------------------------------------------------------------------

NAMES = {
    "instability",
    "instability_error",
    "normalised",
    "size_adjusted",
    "per_rule",
    "score",
    "score_error",
    "n_leaves",
    "depth",
    "mean_path_length",
    "combination",
    "division",
    "efficient",
}


def test_columns_have_one_entry_per_candidate():
    frontier = frontier_of_points([1.0, 2.0, 3.0], [0.7, 0.9, 0.8])
    columns = frontier.columns()
    assert next(iter(columns)) == "candidate"
    assert set(columns) >= NAMES
    assert len(frontier) == 3
    assert columns["candidate"] == [0, 1, 2]
    assert columns["efficient"] == [True, True, False]
    assert columns["score"] == [0.7, 0.9, 0.8]


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_frames_of_every_library_hold_the_columns(backend: str, kind: type):
    frontier = frontier_of_points([1.0, 2.0, 3.0], [0.7, 0.9, 0.8])
    frame = frontier.to_frame(backend)
    assert isinstance(frame, kind)
    arrow = frame if backend == "pyarrow" else pa.table({name: list(frame[name]) for name in frame.columns})
    assert arrow.to_pydict() == frontier.columns()


def test_nothing_in_a_frontier_can_be_written_to():
    frontier = frontier_of_points([1.0, 2.0], [0.7, 0.9])
    with pytest.raises(ValueError, match="read-only"):
        frontier.score[0] = 1.0


# -- a trained one, with plain loops ----------------------------------------------------------------------


@cache
def trained(matching: str = "paper") -> StableTrees:
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3))
    y = (X[:, 0] + X[:, 1] * random.random(90) > 0).astype(int)
    chosen = StabilitySettings(
        method="bootstrap", rules=GrowthRules(max_depth=4), n_estimators=17, matching=matching
    )
    return train(Table.from_arrays(X, y), chosen)


@pytest.mark.parametrize("matching", ["paper", "metric"])
def test_instabilities_are_means_of_distances_pair_by_pair(matching: str):
    model = trained(matching)
    # The grid goes to depth 4 and the label weighs 2 * 4, however deep the trees came out.
    assert (model.distance_settings.depth, model.distance_settings.label_weight) == (4, 8.0)
    for place, candidate in enumerate(model.candidates.trees):
        distances, shares = [], []
        for reference in model.references.trees:
            distance = tree_distance(candidate, reference, matching=matching, depth=4, label_weight=8.0).total
            distances.append(distance)
            shares.append(distance / max(candidate.n_leaves, reference.n_leaves))
        mean = sum(distances) / 17
        variance = sum((distance - mean) ** 2 for distance in distances) / 16
        frontier = model.frontier
        assert frontier.instability[place] == pytest.approx(mean)
        assert frontier.instability_error[place] == pytest.approx((variance / 17) ** 0.5)
        assert frontier.per_rule[place] == pytest.approx(sum(shares) / 17)
        assert frontier.normalised[place] == pytest.approx(mean / (2**4 * (2 * 4 + 8)))


def test_sizes_are_those_of_the_trees():
    model = trained()
    for place, tree in enumerate(model.candidates.trees):
        leaves = np.flatnonzero(tree.feature == -1)
        asked = sum(tree.node_depth[leaf] * tree.weight[leaf] for leaf in leaves) / tree.weight[leaves].sum()
        assert model.frontier.n_leaves[place] == len(leaves)
        assert model.frontier.depth[place] == tree.node_depth.max()
        assert model.frontier.mean_path_length[place] == pytest.approx(asked)
    assert model.frontier.combination.tolist() == model.candidates.combination.tolist()
    assert model.frontier.division.tolist() == model.candidates.division.tolist()


def usual_instability(model: StableTrees, n_leaves: int) -> float:
    """The monotone fit by its definition: the greatest of the least means, over sizes below and above."""
    sizes = sorted({tree.n_leaves for tree in model.candidates.trees})
    of_size = model.frontier.n_leaves
    return max(
        min(
            float(model.frontier.instability[(of_size >= low) & (of_size <= high)].mean())
            for high in sizes
            if high >= n_leaves
        )
        for low in sizes
        if low <= n_leaves
    )


def test_instabilities_are_compared_with_those_of_trees_of_the_same_size():
    model = trained()
    for place, n_leaves in enumerate(model.frontier.n_leaves.tolist()):
        usual = usual_instability(model, n_leaves)
        assert model.frontier.size_adjusted[place] == pytest.approx(model.frontier.instability[place] / usual)


def test_any_trees_have_an_instability_by_the_settings_of_the_frontier():
    model = trained()
    options = asdict(model.distance_settings)
    means = mean_distance(model.candidates.trees, model.references.trees, **options)
    assert means.tolist() == model.frontier.instability.tolist()


def test_a_single_reference_tree_has_no_standard_error():
    model = train(
        Table.from_arrays(np.arange(20.0)[:, None], [0, 1] * 10),
        StabilitySettings(method="bootstrap", n_estimators=1),
    )
    assert model.frontier.instability_error.tolist() == [0.0]
