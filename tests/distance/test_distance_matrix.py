"""Whole collections: the matrix is the distances of the pairs, bit for bit, however it is computed."""

from functools import cache
from random import Random
from typing import Any

import joblib
import numpy as np
import pytest

from holdfast.data.schema import Target
from holdfast.distance.costs import complete_settings
from holdfast.distance.distance import distance_matrix, distances_between, mean_distance, tree_distance
from holdfast.errors import ParameterError
from holdfast.tree.tree import Tree
from reference.distances import MATCHINGS
from reference.random_trees import OUTCOMES, STAY, grown_trees, random_schema, random_tree, reorder

WAYS: list[dict[str, Any]] = [
    *({"matching": matching} for matching in MATCHINGS),
    {"matching": "paper", "normalised": True},
    {"matching": "metric", "label_weight": 0.7, "outcome": "distribution"},
    {"matching": "cover", "label_weight": 0.0, "normalised": True, "depth": 7},
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way.values())))


@cache
def collection(target: Target = OUTCOMES) -> tuple[Tree, ...]:
    """Grown trees and others on one schema, the first of them twice."""
    grown = grown_trees(Random(7), target, n_estimators=8, max_depth=5)
    random = Random(8)
    others = [random_tree(random, grown[0].schema, n_leaves) for n_leaves in (1, 2, 9, 17)]
    return (*grown, *others, grown[0])


def greatest_depth(*trees: Tree) -> int:
    return max(1, *(tree.depth for tree in trees))


# -- pairs ------------------------------------------------------------------------------------------------


@every_way
def test_every_entry_is_the_distance_of_its_pair(way: dict[str, Any]) -> None:
    trees = collection()
    matrix = distance_matrix(trees, **way)
    assert (matrix.dtype, matrix.shape) == (np.float64, (len(trees), len(trees)))
    of_pairs = {"depth": greatest_depth(*trees)} | way  # one depth for the collection
    pairs = [[tree_distance(a, b, **of_pairs).total for b in trees] for a in trees]
    assert matrix.tolist() == pairs


@every_way
def test_own_trees_and_settings_that_are_complete_need_no_reading(way: dict[str, Any]) -> None:
    early, late = collection()[:3], collection()[5:]
    options: dict[str, Any] = {"label_weight": None, "outcome": None, "normalised": False, "depth": None}
    settings = complete_settings([*early, *late], **(options | way))
    of_pairs = {"depth": greatest_depth(*early, *late)} | way
    between = distances_between(early, late, settings)
    assert between.tolist() == [[tree_distance(a, b, **of_pairs).total for b in late] for a in early]
    among = distances_between(early, None, settings)
    assert among.tolist() == [[tree_distance(a, b, **of_pairs).total for b in early] for a in early]


@every_way
def test_two_collections_share_the_depth_of_the_deepest_tree(way: dict[str, Any]) -> None:
    early, late = collection()[:3], collection()[5:]
    matrix = distance_matrix(early, late, **way)
    assert matrix.shape == (len(early), len(late))
    of_pairs = {"depth": greatest_depth(*early, *late)} | way
    assert matrix.tolist() == [[tree_distance(a, b, **of_pairs).total for b in late] for a in early]
    assert np.array_equal(distance_matrix(late, early, **way), matrix.T)


def test_values_are_compared_in_collections_of_regression_trees() -> None:
    trees = collection(STAY)
    depth = greatest_depth(*trees)
    pairs = [[tree_distance(a, b, depth=depth).total for b in trees] for a in trees]
    assert distance_matrix(trees).tolist() == pairs


@every_way
def test_the_matrix_is_symmetric_with_zeros_on_its_diagonal(way: dict[str, Any]) -> None:
    trees = collection()
    matrix = distance_matrix(trees, **way)
    assert np.array_equal(matrix, matrix.T)
    assert not matrix.diagonal().any()
    assert np.array_equal(matrix, distance_matrix(trees, trees, **way))


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_the_number_of_jobs_changes_no_bit(n_jobs: int) -> None:
    trees = collection()
    assert np.array_equal(distance_matrix(trees, n_jobs=n_jobs), distance_matrix(trees))
    apart = distance_matrix(trees[:5], trees[3:], matching="cover", n_jobs=n_jobs)
    assert np.array_equal(apart, distance_matrix(trees[:5], trees[3:], matching="cover"))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_collections_of_thousands_of_pairs_keep_their_bits(n_jobs: int) -> None:
    random = Random(11)
    schema = random_schema(random)
    trees = [random_tree(random, schema, random.randint(2, 9)) for _ in range(100)]
    matrix = distance_matrix(trees, depth=9, n_jobs=n_jobs)
    assert np.array_equal(matrix, distance_matrix(trees, trees, depth=9, n_jobs=n_jobs))
    assert np.array_equal(matrix, distance_matrix(trees[::-1], depth=9)[::-1, ::-1])
    for _ in range(100):
        a, b = random.randrange(100), random.randrange(100)
        assert matrix[a, b] == tree_distance(trees[a], trees[b], depth=9).total


def test_a_tree_that_stands_twice_has_the_same_distances_twice() -> None:
    matrix = distance_matrix(collection())
    assert collection()[0] is collection()[-1]
    assert np.array_equal(matrix[0], matrix[-1])
    assert matrix[0, -1] == 0.0


def test_the_order_of_features_and_the_places_of_classes_change_no_bit() -> None:
    trees = collection()
    turned = [reorder(tree, Random(place)) for place, tree in enumerate(trees)]
    assert np.array_equal(distance_matrix(trees, turned), distance_matrix(trees))
    assert np.array_equal(distance_matrix(turned), distance_matrix(trees))


def test_lists_and_tuples_of_trees_are_both_collections() -> None:
    trees = collection()
    assert np.array_equal(distance_matrix(list(trees)), distance_matrix(trees))


# -- few trees --------------------------------------------------------------------------------------------


def test_one_tree_is_a_collection() -> None:
    (tree, other), one_entry = collection()[:2], (1, 1)
    assert distance_matrix([tree]).tolist() == [[0.0]]
    single = distance_matrix([tree], [other])
    assert single.shape == one_entry
    assert single[0, 0] == tree_distance(tree, other).total


def test_collections_may_be_empty() -> None:
    trees = collection()[:3]
    assert distance_matrix([]).shape == (0, 0)
    assert distance_matrix([], trees).shape == (0, 3)
    assert distance_matrix(trees, []).shape == (3, 0)
    assert distance_matrix([], []).dtype == np.float64


def test_lone_leaves_are_compared_by_their_labels_alone() -> None:
    random = Random(0)
    schema = random_schema(random)
    trees = [random_tree(random, schema, 1) for _ in range(6)]
    labels = [int(tree.outcome[0]) for tree in trees]
    assert distance_matrix(trees).tolist() == [[2.0 * (a != b) for b in labels] for a in labels]


# -- means ------------------------------------------------------------------------------------------------


@every_way
def test_means_are_the_means_of_the_rows_of_the_matrix(way: dict[str, Any]) -> None:
    candidates, references = collection()[2:], collection()[:6]
    means = mean_distance(candidates, references, **way)
    assert (means.dtype, means.shape) == (np.float64, (len(candidates),))
    matrix = distance_matrix(candidates, references, **way)
    np.testing.assert_allclose(means, matrix.mean(axis=1), rtol=1e-12, atol=1e-12)


@every_way
def test_a_limit_gives_up_only_on_trees_above_it(way: dict[str, Any]) -> None:
    candidates, references = collection()[2:], collection()[:6]
    means = mean_distance(candidates, references, **way)
    for limit in (0.0, *means.tolist(), np.inf):
        limited = mean_distance(candidates, references, **way, at_most=limit)
        kept = means <= limit
        assert np.array_equal(limited[kept], means[kept])
        assert np.all(np.isinf(limited[~kept]) | (limited[~kept] == means[~kept]))


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
@pytest.mark.parametrize("matching", MATCHINGS)
def test_a_limit_never_gives_up_on_a_tree_that_just_meets_it(matching: str, target: Target) -> None:
    for seed in range(25):
        random = Random(seed)
        schema = random_schema(random, target)
        trees = [random_tree(random, schema, random.randint(1, 10)) for _ in range(7)]
        way: dict[str, Any] = {
            "matching": matching,
            "label_weight": random.choice((None, 0.0, 0.4, 3.0, 40.0)),
        }
        means = mean_distance(trees[:4], trees[3:], **way)
        for limit in means.tolist():
            limited = mean_distance(trees[:4], trees[3:], **way, at_most=limit)
            assert np.array_equal(limited[means <= limit], means[means <= limit])


def test_a_limit_holds_where_normalising_leaves_next_to_nothing() -> None:
    candidates, references = collection()[2:], collection()[:6]
    means = mean_distance(candidates, references, normalised=True, depth=1000, at_most=1.0)
    assert (means < 1e-290).all()


@pytest.mark.parametrize("limit", [-1.0, np.nan, "2"])
def test_a_limit_is_a_number_from_zero_up(limit: Any) -> None:
    with pytest.raises(ParameterError, match="at_most"):
        mean_distance(collection()[:2], collection()[:2], at_most=limit)


def test_a_collection_may_come_from_a_generator() -> None:
    trees = collection()[:4]
    assert np.array_equal(distance_matrix(iter(trees), iter(trees)), distance_matrix(trees))
    assert np.array_equal(mean_distance(iter(trees), iter(trees)), mean_distance(trees, trees))


def test_what_is_one_tree_or_no_trees_is_no_collection() -> None:
    tree = collection()[0]
    for thing in (tree, {"a": tree}, "trees"):
        with pytest.raises(TypeError, match="list of trees"):
            distance_matrix(thing)


def test_other_processes_find_the_same_bits() -> None:
    trees = collection()[:8]
    try:
        joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(abs)(number) for number in (1, 2))
    except OSError as error:
        pytest.skip(f"no processes can be started here: {error}")
    with joblib.parallel_config(backend="loky", n_jobs=2):
        elsewhere = distance_matrix(trees)
    assert np.array_equal(elsewhere, distance_matrix(trees))


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_number_of_jobs_changes_no_mean(n_jobs: int) -> None:
    candidates, references = collection()[2:], collection()[:6]
    parallel = mean_distance(candidates, references, n_jobs=n_jobs)
    assert np.array_equal(parallel, mean_distance(candidates, references))


def test_no_trees_have_no_means() -> None:
    assert mean_distance([], collection()[:2]).shape == (0,)


@pytest.mark.usefixtures("eager_progress")
def test_progress_is_shown_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    trees = collection()[:6]
    assert np.array_equal(distance_matrix(trees, verbose=True), distance_matrix(trees))
    shown = capsys.readouterr()
    assert "Distances" in shown.err
