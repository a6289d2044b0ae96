"""Paths of trees made by hand, and of random ones against the walk that narrows a box step by step."""

from random import Random

import pytest

from holdfast.data.schema import Feature, Target
from holdfast.distance.paths import Path, tree_paths
from holdfast.tree.tree import KNOWN, LEAF, Tree
from reference.paths import boxes
from reference.random_trees import OUTCOMES, STAY, grown_trees, random_schema, random_tree
from reference.trees import (
    AGE,
    FARE_KNOWN,
    LONE_LEAF,
    NUMERIC,
    ORDERED,
    PAIN,
    PRICE,
    QUESTION,
    SUBSET,
    SURVIVED,
    leaf,
    split,
    tree_of,
)

NO, YES = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)


def bounds_of(tree: Tree) -> list[dict[str, tuple[float, float]]]:
    return [path.bounds for path in tree_paths(tree)]


def categories_of(tree: Tree) -> list[dict[str, set[object]]]:
    return [{name: set(labels) for name, labels in path.categories.items()} for path in tree_paths(tree)]


# -- by hand ----------------------------------------------------------------------------------------------


def test_a_lone_leaf_restricts_nothing() -> None:
    (path,) = tree_paths(LONE_LEAF)
    assert (path.leaf, path.bounds, path.categories, path.outcome) == (0, {}, {}, "no")
    assert path.shares == (0.677, 0.323)
    assert (path.count, path.weight) == (2207, 2207)


def test_nested_thresholds_intersect() -> None:
    # age <= 50 ? (age <= 30 ? .. : ..) : .., on 18 to 90
    assert bounds_of(NUMERIC) == [{"age": (18.0, 30.0)}, {"age": (30.0, 50.0)}, {"age": (50.0, 90.0)}]


def test_paths_follow_the_leaves_in_preorder() -> None:
    paths = tree_paths(NUMERIC)
    assert isinstance(paths, tuple)
    assert all(isinstance(path, Path) for path in paths)
    assert [path.leaf for path in paths] == [2, 3, 4]
    assert [path.outcome for path in paths] == ["no", "yes", "no"]
    assert [path.shares for path in paths] == [(0.75, 0.25), (0.1, 0.9), (1.0, 0.0)]
    assert [path.count for path in paths] == [40, 20, 40]


def test_nested_sets_of_categories_intersect() -> None:
    # pain in {atypical, none} ? (pain = atypical ? .. : ..) : (sex = female ? .. : ..)
    assert categories_of(SUBSET) == [
        {"pain": {"atypical"}},
        {"pain": {"none"}},
        {"pain": {"other", "typical"}, "sex": {"female"}},
        {"pain": {"other", "typical"}, "sex": {"male"}},
    ]
    # {none, other, typical} of {atypical, none, other} leaves {none, other} and {atypical}.
    inner = split("pain", ("none", "other", "typical"), YES, NO)
    overlapping = tree_of(split("pain", ("atypical", "none", "other"), inner, NO), (PAIN,), SURVIVED)
    assert categories_of(overlapping)[:2] == [{"pain": {"none", "other"}}, {"pain": {"atypical"}}]


def test_a_question_restricts_its_answer_to_true_or_false() -> None:
    assert categories_of(QUESTION) == [{"bmi ** 2 < 900": {True}}, {"bmi ** 2 < 900": {False}}]


def test_ordered_categories_are_positions_with_thresholds_half_way() -> None:
    # slope at most up (2.5) ? (at most down (0.5) ? .. : ..) : .., positions 0 to 3
    assert bounds_of(ORDERED) == [{"slope": (0.0, 0.5)}, {"slope": (0.5, 2.5)}, {"slope": (2.5, 3.0)}]


def test_where_a_value_is_unknown_the_box_is_empty_at_the_top_of_the_range() -> None:
    # fare is known ? (fare <= 23.35 ? .. : ..) : .., on 0 to 512: knowing the fare restricts nothing.
    assert bounds_of(FARE_KNOWN) == [
        {"fare": (0.0, 23.35)},
        {"fare": (23.35, 512.0)},
        {"fare": (512.0, 512.0)},
    ]
    known_at_the_root = tree_of(split("age", KNOWN, YES, NO), (AGE,), SURVIVED)
    assert bounds_of(known_at_the_root) == [{}, {"age": (90.0, 90.0)}]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(120.0, [{}, {"age": (90.0, 90.0)}]), (3.0, [{"age": (18.0, 18.0)}, {}])],
    ids=["above", "below"],
)
def test_thresholds_outside_the_range_are_clipped_to_it(
    threshold: float, expected: list[dict[str, tuple[float, float]]]
) -> None:
    assert bounds_of(tree_of(split("age", threshold, YES, NO), (AGE,), SURVIVED)) == expected


def test_a_constant_column_is_never_restricted() -> None:
    constant = Feature("always 7", low=7.0, high=7.0)
    assert bounds_of(tree_of(split("always 7", 7.0, YES, NO), (constant,), SURVIVED)) == [{}, {}]


def test_a_set_of_all_categories_restricts_nothing_and_its_other_side_allows_none() -> None:
    tree = tree_of(split("pain", PAIN.categories, YES, NO), (PAIN,), SURVIVED)
    assert categories_of(tree) == [{}, {"pain": set()}]


def test_of_two_most_frequent_classes_the_first_is_the_outcome() -> None:
    (path,) = tree_paths(tree_of(leaf(10, 0.5, 0.5), (AGE,), SURVIVED))
    assert path.outcome == "no"


def test_the_outcome_of_a_regression_path_is_its_mean() -> None:
    paths = tree_paths(PRICE)
    assert [path.outcome for path in paths] == [22.6, 12.34567, 45.0]
    assert [path.shares for path in paths] == [(), (), ()]


# -- against the walk -------------------------------------------------------------------------------------


def assert_paths_are_boxes(tree: Tree) -> None:
    for path, box in zip(tree_paths(tree), boxes(tree), strict=True):
        assert tree.feature[path.leaf] == LEAF
        assert (path.leaf, path.count, path.weight) == (box.leaf, box.count, box.weight)
        assert path.bounds == box.restricted_bounds
        assert {name: set(labels) for name, labels in path.categories.items()} == box.restricted_categories
        assert path.outcome == box.outcome
        assert path.shares == tuple(box.shares.values())


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
def test_random_trees_have_the_paths_of_the_walk(target: Target) -> None:
    for seed in range(300):
        random = Random(seed)
        assert_paths_are_boxes(random_tree(random, random_schema(random, target), random.randint(1, 12)))


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
def test_grown_trees_have_the_paths_of_the_walk(target: Target) -> None:
    for seed in range(15):
        for tree in grown_trees(Random(seed), target, n_estimators=3, max_depth=6):
            assert_paths_are_boxes(tree)
