"""The search for a consensus tree against a slow one that makes every move and measures every tree."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import GrowthRules, Table
from holdfast._arrays import FloatArray
from holdfast.data.resampling import Units
from holdfast.distance.costs import DistanceSettings
from holdfast.stable.consensus.distil import DistillationTask
from holdfast.stable.consensus.search import ConsensusSearch
from holdfast.tree.tree import Tree
from reference.centring import SmallSearch, shape_of, small_task

pytestmark = pytest.mark.kernel

KINDS = [
    {},
    {"outcome": "distribution"},
    {"matching": "metric"},
    {"n_classes": 0},
    {"n_classes": 3},
    {"n_classes": 3, "outcome": "distribution", "matching": "metric"},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_search_makes_the_best_of_all_moves_until_there_is_none(seed: int, kind: dict) -> None:
    small = SmallSearch(seed, **kind)
    for tolerance in (0.0, 0.1):
        found = small.search.find_nearest(tolerance, [small.search.student])
        shape = small.shape(small.student)
        while (better := small.best_move(shape, tolerance)) is not None:
            shape = better
        assert shape_of(found.nodes) == shape
        assert found.distance == pytest.approx(small.distances([small.tree(shape)])[0], abs=1e-6)
        assert small.is_allowed(small.tree(shape), tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_trees_are_measured_as_the_public_distance_does(kind: dict) -> None:
    small = SmallSearch(2, **kind)
    measured = [each.distance for each in (small.search.student, *small.search.references)]
    expected = small.distances([small.student, *small.references])
    assert measured == pytest.approx(expected.tolist(), abs=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.3, 1.0])
def test_the_tree_found_is_no_farther_than_any_start_and_within_the_bounds(tolerance: float) -> None:
    small = SmallSearch(3)
    starts = small.search.starts(tolerance)
    found = small.search.find_nearest(tolerance, starts)
    assert found.distance <= min(each.distance for each in starts)
    assert small.search.fit.loss(found.explained) <= tolerance + 1e-9
    assert found.min_rows >= small.search.min_rows
    assert found.n_leaves <= small.search.problem.max_leaves


def test_threads_find_the_same_tree() -> None:
    small = SmallSearch(3)
    starts = small.search.starts(0.3)
    one, two = (small.search.find_nearest(0.3, starts, n_jobs) for n_jobs in (1, 2))
    assert shape_of(one.nodes) == shape_of(two.nodes)
    assert one.distance == two.distance


def test_starts_are_the_student_and_the_nearest_references_within_the_tolerance() -> None:
    small = SmallSearch(4)
    allowed = [
        each
        for each, tree in zip(small.search.references, small.references, strict=True)
        if small.is_allowed(tree, 0.2)
    ]
    student, *others = small.search.starts(0.2, n_starts=3)
    assert student is small.search.student
    assert [each.distance for each in others] == sorted(each.distance for each in allowed)[:2]


def consensus_tree(table: Table, predictions: FloatArray) -> Tree:
    """The consensus tree of a table."""
    ones = np.ones(table.n_rows, np.int32)
    rules = GrowthRules(max_leaf_nodes=4, min_samples_leaf=4)
    task = DistillationTask.of(table, predictions, ones, np.ones(table.n_rows), rules)
    student = task.grow_student().tree
    references = [each.tree for each in task.grow_students(Units.of(table), (0, 10), 5, 1)]
    settings = DistanceSettings.of_depth(3, "paper", "label", 3.0)
    search = ConsensusSearch.of(task, student, references, settings)
    found = search.find_nearest(0.1, search.starts(0.1))
    return task.refit([search.problem.splits.build_tree(found.nodes, found.n_leaves)])[0]


def test_rows_in_another_order_give_the_same_tree() -> None:
    table, predictions = small_task(np.random.default_rng(5), 60, 2)
    tree = consensus_tree(table, predictions)
    order = np.random.default_rng(6).permutation(60)
    shuffled = Table(table.schema, tuple(each[order] for each in table.columns), table.target[order], None)
    other = consensus_tree(shuffled, predictions[order])
    assert np.array_equal(tree.feature, other.feature)
    assert np.array_equal(tree.threshold, other.threshold, equal_nan=True)
    assert np.array_equal(tree.value, other.value)


def test_columns_in_another_order_give_the_same_tree() -> None:
    table, predictions = small_task(np.random.default_rng(5), 60, 2)
    tree = consensus_tree(table, predictions)
    schema = replace(table.schema, features=table.schema.features[::-1])
    other = consensus_tree(Table(schema, table.columns[::-1], table.target, None), predictions)
    assert [tree.schema.features[i].name for i in tree.feature if i >= 0] == [
        other.schema.features[i].name for i in other.feature if i >= 0
    ]
    assert np.array_equal(tree.threshold, other.threshold, equal_nan=True)
    assert np.array_equal(tree.value, other.value)


def test_where_the_teacher_predicts_a_constant_the_tree_is_a_leaf() -> None:
    table, predictions = small_task(np.random.default_rng(7), 30, 3)
    assert consensus_tree(table, np.tile(predictions[:1], (30, 1))).n_leaves == 1
