"""What grows a collection: our rules, estimators of others, functions; the same samples for all."""

from typing import Any

import numpy as np
import pytest
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from holdfast.adapters import as_tree
from holdfast.data.split.resampling import bootstrap_counts
from holdfast.data.table import Table
from holdfast.errors import RulesError
from holdfast.growth.grow import grow
from holdfast.growth.learner import combinations_of, other_learner, own_learner, paper_grid
from holdfast.growth.rules import CART, GrowthRules
from holdfast.stability.collection import grow_collection
from holdfast.tree.tree import Tree

ONE = ({},)
random = np.random.default_rng(3)
X = random.integers(0, 12, (80, 3)).astype(float)  # small integers: exact in float32 too
LABELS = np.array(["low", "mid", "top"])[np.clip((X[:, 0] + X[:, 1]) // 8, 0, 2).astype(int)]
NUMBERS = X[:, 0] * 2 + X[:, 1] + random.normal(size=80)
WEIGHT = random.random(80) * 3 + 0.01
TABLE = Table.from_arrays(X, LABELS)
NUMBER_TABLE = Table.from_arrays(X, NUMBERS)


def samples_of(learner: Any, n_samples: int) -> list[Any]:
    return [bootstrap_counts(learner.repeats, 5, number) for number in range(n_samples)]


def drawing(tree: Tree) -> tuple[Any, ...]:
    """Everything that decides about predictions."""
    return tuple(
        getattr(tree, name).tobytes() for name in ("feature", "threshold", "left", "right", "in_set", "value")
    )


# -- grids ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_depth", "n_rows", "depths", "leaves"),
    [
        (5, 100, [3, 4, 5], [3, 5, 10, 30, 50]),
        (None, 1000, list(range(3, 13)), [3, 5, 10, 30, 50]),
        (20, 1000, list(range(3, 21)), [3, 5, 10, 30, 50]),
        (3, 99, [3], [3, 5, 10, 30]),
        (2, 20, [2], [3, 5, 10]),
        (1, 6, [1], [3]),
        (4, 5, [3, 4], [1]),
        (4, 1, [3, 4], [1]),
    ],
)
def test_the_grid_of_the_paper_goes_as_far_as_depth_and_rows_allow(
    max_depth: int | None, n_rows: int, depths: list[int], leaves: list[int]
):
    assert paper_grid(max_depth, n_rows) == {"max_depth": depths, "min_samples_leaf": leaves}


def test_every_combination_is_there_with_the_last_parameter_running_fastest():
    found = combinations_of({"max_depth": [3, 4], "criterion": ("gini", "entropy")})
    assert [tuple(each.values()) for each in found] == [
        (3, "gini"),
        (3, "entropy"),
        (4, "gini"),
        (4, "entropy"),
    ]


def test_a_grid_may_be_made_of_arrays_and_generators():
    found = combinations_of(
        {"max_depth": np.array([2, 3]), "min_impurity_decrease": (gain / 10 for gain in range(2))}
    )
    assert [dict(each) for each in found] == [
        {"max_depth": depth, "min_impurity_decrease": gain} for depth in (2, 3) for gain in (0.0, 0.1)
    ]


def test_an_empty_grid_is_one_combination_of_nothing():
    assert combinations_of({}) == ({},)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"max_depth": 3}, "grid has 3 for max_depth"),
        ({"criterion": "gini"}, "grid has 'gini' for criterion"),
        ({"max_depth": None}, "grid has None for max_depth"),
        ({"max_depth": [], "min_impurity_decrease": [0.0]}, "grid has no value for max_depth"),
    ],
)
def test_a_grid_without_lists_of_values_is_refused(grid: Any, message: str):
    with pytest.raises(RulesError, match=message):
        combinations_of(grid)


# -- our own rules ----------------------------------------------------------------------------------------


def test_each_combination_changes_the_rules():
    combinations = combinations_of({"max_depth": [1, 3], "criterion": ["gini", "entropy"]})
    learner = own_learner(TABLE, GrowthRules(min_samples_leaf=2), combinations)
    for place, combination in enumerate(combinations):
        (tree,) = learner.trees(place, [learner.repeats], [0])
        expected = grow(TABLE, GrowthRules(min_samples_leaf=2, **combination))
        assert drawing(tree) == drawing(expected)
        assert tree.criterion == combination["criterion"]
        assert tree.impurity.tolist() == expected.impurity.tolist()


def test_class_weights_can_be_part_of_a_grid():
    combinations = combinations_of({"class_weight": [None, "balanced", {"low": 5.0}]})
    learner = own_learner(TABLE, CART, combinations)
    for place, combination in enumerate(combinations):
        (tree,) = learner.trees(place, [learner.repeats], [0])
        assert tree.value.tolist() == grow(TABLE, GrowthRules(**combination)).value.tolist()


def test_a_sample_is_a_table_with_its_rows_repeated():
    learner = own_learner(TABLE, GrowthRules(max_depth=4), ONE)
    samples = samples_of(learner, 6)
    for tree, counts in zip(learner.trees(0, samples, [0] * 6), samples, strict=True):
        repeated = TABLE.taken(np.repeat(np.arange(80), counts))
        assert drawing(tree) == drawing(grow(repeated, GrowthRules(max_depth=4)))


def test_a_parameter_that_is_no_rule_is_refused_with_the_rules_there_are():
    with pytest.raises(RulesError, match=r"grid has 'depth'.*'max_depth'"):
        own_learner(TABLE, CART, combinations_of({"depth": [3]}))


def test_a_value_out_of_range_is_refused_by_name():
    with pytest.raises(RulesError, match="max_depth=0 is out of range"):
        own_learner(TABLE, CART, combinations_of({"max_depth": [3, 0]}))


# -- estimators -------------------------------------------------------------------------------------------

CLASSIFIERS = [DecisionTreeClassifier(max_depth=3), ExtraTreeClassifier(max_depth=3)]
REGRESSORS = [DecisionTreeRegressor(max_depth=3), ExtraTreeRegressor(max_depth=3)]


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=lambda it: type(it).__name__)
def test_an_estimator_is_fitted_on_the_repeated_rows_with_the_seed(estimator: Any):
    is_classes = estimator in CLASSIFIERS
    table, y = (TABLE, LABELS) if is_classes else (NUMBER_TABLE, NUMBERS)
    learner = other_learner(table, estimator, combinations_of({"min_samples_leaf": [1, 6]}))
    samples = samples_of(learner, 3)
    for place, leaf in enumerate((1, 6)):
        trees = learner.trees(place, samples, [11, 12, 13])
        for tree, counts, seed in zip(trees, samples, (11, 12, 13), strict=True):
            rows = np.repeat(np.arange(80), counts)
            model = type(estimator)(max_depth=3, min_samples_leaf=leaf, random_state=seed)
            model.fit(X[rows], y[rows])
            assert tree.schema is table.schema
            assert tree.predict(X).tolist() == model.predict(X).tolist()
            assert tree.n_leaves == model.get_n_leaves()
    assert estimator.get_params()["min_samples_leaf"] == 1
    assert not hasattr(estimator, "tree_")


def test_a_class_that_a_sample_lacks_keeps_its_place():
    learner = other_learner(TABLE, DecisionTreeClassifier(), ONE)
    counts = (LABELS != "mid").astype(np.int32)
    (tree,) = learner.trees(0, [counts], [0])
    assert tree.schema.target.classes == ("low", "mid", "top")
    assert tree.value.shape[1] == 3
    assert not tree.value[:, 1].any()
    only_top = (LABELS == "top").astype(np.int32)
    (leaf,) = learner.trees(0, [only_top], [0])
    assert leaf.value.tolist() == [[0.0, 0.0, 1.0]]


def test_whole_weights_are_repetitions_for_an_estimator():
    table = Table.from_arrays(X, LABELS, np.arange(80) % 3)
    learner = other_learner(table, DecisionTreeClassifier(max_depth=2), ONE)
    assert learner.repeats.tolist() == (np.arange(80) % 3).tolist()
    assert learner.importance is None


def test_fractional_weights_are_given_to_an_estimator():
    table = Table.from_arrays(X, LABELS, WEIGHT)
    learner = other_learner(table, DecisionTreeClassifier(max_depth=3), ONE)
    (counts,) = samples_of(learner, 1)
    rows = np.repeat(np.arange(80), counts)
    model = DecisionTreeClassifier(max_depth=3, random_state=4).fit(X[rows], LABELS[rows], WEIGHT[rows])
    (tree,) = learner.trees(0, [counts], [4])
    assert tree.predict_proba(X) == pytest.approx(model.predict_proba(X))


def test_missing_values_reach_an_estimator():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    learner = other_learner(Table.from_arrays(gaps, LABELS), DecisionTreeClassifier(max_depth=3), ONE)
    (tree,) = learner.trees(0, [learner.repeats], [0])
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(gaps, LABELS)
    assert tree.predict(gaps).tolist() == model.predict(gaps).tolist()


def test_categories_are_not_given_to_an_estimator_as_numbers():
    rows = [[1.0, "icu"], [2.0, "er"], [3.0, "icu"]]
    with pytest.raises(RulesError, match=r"DecisionTreeClassifier would take the categories of 'x1'"):
        other_learner(Table.from_arrays(rows, ["a", "b", "a"]), DecisionTreeClassifier(), ONE)


def test_questions_of_the_user_do_not_disturb_an_estimator():
    table = Table.from_arrays(X, LABELS, questions=["x0 > x1"])
    learner = other_learner(table, DecisionTreeClassifier(max_depth=2), ONE)
    (tree,) = learner.trees(0, [learner.repeats], [0])
    assert tree.schema is table.schema
    assert tree.predict(X).tolist() == DecisionTreeClassifier(max_depth=2).fit(X, LABELS).predict(X).tolist()


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:pystreed")
def test_optimal_trees_of_pystreed_can_stand_in():
    pystreed = pytest.importorskip("pystreed")
    binary = Table.from_arrays(X, X[:, 0] > 5)
    learner = other_learner(binary, pystreed.STreeDClassifier(), combinations_of({"max_depth": [1, 2]}))
    samples = samples_of(learner, 2)
    for place, depth in enumerate((1, 2)):
        for tree, counts in zip(learner.trees(place, samples, [0, 1]), samples, strict=True):
            rows = np.repeat(np.arange(80), counts)
            model = pystreed.STreeDClassifier(max_depth=depth).fit(X[rows], X[rows, 0] > 5)
            assert tree.predict(X).tolist() == model.predict(X).astype(bool).tolist()


@pytest.mark.parametrize("learner", [3, "tree", None])
def test_what_cannot_grow_trees_is_no_learner(learner: Any):
    with pytest.raises(TypeError, match="learner is a"):
        other_learner(TABLE, learner, ONE)


def test_a_class_of_estimators_is_no_learner_but_an_instance_is():
    with pytest.raises(TypeError, match="learner"):
        other_learner(TABLE, DecisionTreeClassifier, ONE)


# -- functions --------------------------------------------------------------------------------------------


def test_a_function_gets_rows_labels_seed_and_combination():
    asked = []

    def stump(rows: Any, y: Any, seed: int, depth: int) -> Any:
        asked.append((rows.shape, y.shape, seed, depth))
        return DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(rows, y)

    learner = other_learner(TABLE, stump, combinations_of({"depth": [1, 2]}))
    counts = samples_of(learner, 1)[0]
    trees = [learner.trees(place, [counts], [9])[0] for place in range(2)]
    assert asked == [((80, 3), (80,), 9, 1), ((80, 3), (80,), 9, 2)]
    assert [tree.depth for tree in trees] == [1, 2]


def test_a_function_may_return_a_tree_and_gets_categories_as_numbers():
    rows = [[1.0, "icu"], [2.0, "er"], [3.0, "icu"], [4.0, "er"]]
    table = Table.from_arrays(rows, ["a", "b", "a", "b"])
    seen = []

    def same_tree(matrix: Any, y: Any, seed: int) -> Tree:
        seen.append((matrix.tolist(), y.tolist()))
        return grow(table)

    learner = other_learner(table, same_tree, ONE)
    (tree,) = learner.trees(0, [np.array([2, 1, 0, 0], np.int32)], [0])
    assert seen == [([[1.0, 1.0], [1.0, 1.0], [2.0, 0.0]], ["a", "a", "b"])]
    assert tree.n_leaves == 2


def test_a_function_gets_fractional_weights():
    seen = []

    def weighed(rows: Any, y: Any, seed: int, sample_weight: Any) -> Any:
        seen.append(sample_weight)
        return DecisionTreeClassifier(max_depth=1).fit(rows, y, sample_weight)

    table = Table.from_arrays(X, LABELS, WEIGHT)
    learner = other_learner(table, weighed, ONE)
    learner.trees(0, [np.full(80, 2, np.int32)], [0])
    assert seen[0].tolist() == np.repeat(WEIGHT, 2).tolist()


# -- any number of jobs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("estimator", [None, ExtraTreeClassifier()], ids=["own", "other"])
def test_the_number_of_jobs_changes_no_bit_of_a_collection(estimator: Any, n_jobs: int):
    combinations = combinations_of({"max_depth": [2, 4], "max_features": [1]})
    learner = (
        own_learner(TABLE, CART, combinations)
        if estimator is None
        else other_learner(TABLE, estimator, combinations)
    )
    rows = [np.arange(80) % 3 != part for part in range(3)]
    alone, together = (grow_collection(learner, rows, 13, seed=(1, 2), n_jobs=jobs) for jobs in (1, n_jobs))
    assert list(map(drawing, alone.trees)) == list(map(drawing, together.trees))
    assert len({drawing(tree) for tree in alone.trees}) > 8
    assert alone.combination.tolist() == [0, 1] * 6 + [0]


def test_the_first_trees_of_a_larger_collection_are_those_of_a_smaller():
    learner = own_learner(TABLE, CART, combinations_of({"max_depth": [2, 4]}))
    rows = [np.ones(80, np.bool_)]
    few, many = (grow_collection(learner, rows, n_estimators, seed=(1, 2)) for n_estimators in (5, 12))
    assert list(map(drawing, many.trees[:5])) == list(map(drawing, few.trees))


def test_trees_see_the_rows_of_their_division_alone():
    learner = own_learner(TABLE, GrowthRules(max_depth=2), ONE)
    rows = [np.arange(80) < 40, np.arange(80) >= 40]
    grown = grow_collection(learner, rows, 8, seed=(3, 4))
    for place, tree in enumerate(grown.trees):
        counts = bootstrap_counts(rows[grown.division[place]].astype(np.int32), 3, (4, place))
        repeated = TABLE.taken(np.repeat(np.arange(80), counts))
        assert drawing(tree) == drawing(grow(repeated, GrowthRules(max_depth=2)))


def test_models_of_others_become_trees_on_the_schema_of_the_table():
    learner = other_learner(NUMBER_TABLE, DecisionTreeRegressor(max_depth=2), ONE)
    (tree,) = learner.trees(0, [learner.repeats], [0])
    model = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, NUMBERS)
    assert drawing(tree) == drawing(as_tree(model, schema=NUMBER_TABLE.schema))
