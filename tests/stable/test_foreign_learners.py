"""Learners of others, estimators and functions: they get the same samples as our own rules."""

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
from holdfast.data.resampling import Units
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.collections import list_combinations
from holdfast.growth.grow import grow
from holdfast.stable.candidates import make_foreign_learner
from holdfast.tree.tree import Tree
from reference.resampling import draw_counts

ONE = ({},)
random = np.random.default_rng(3)
X = random.integers(0, 12, (80, 3)).astype(float)  # small integers: exact in float32 too
LABELS = np.array(["low", "mid", "top"])[np.clip((X[:, 0] + X[:, 1]) // 8, 0, 2).astype(int)]
NUMBERS = X[:, 0] * 2 + X[:, 1] + random.normal(size=80)
WEIGHT = random.random(80) * 3 + 0.01
TABLE = Table.from_arrays(X, LABELS)
NUMBER_TABLE = Table.from_arrays(X, NUMBERS)


def samples_of(learner: Any, n_samples: int) -> list[Any]:
    return [draw_counts(learner.repeats, Units.of(TABLE), (5, number)) for number in range(n_samples)]


def drawing(tree: Tree) -> tuple[Any, ...]:
    """Everything that decides about predictions."""
    return tuple(
        getattr(tree, name).tobytes() for name in ("feature", "threshold", "left", "right", "in_set", "value")
    )


# -- estimators -------------------------------------------------------------------------------------------

CLASSIFIERS = [DecisionTreeClassifier(max_depth=3), ExtraTreeClassifier(max_depth=3)]
REGRESSORS = [DecisionTreeRegressor(max_depth=3), ExtraTreeRegressor(max_depth=3)]


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=lambda it: type(it).__name__)
def test_an_estimator_is_fitted_on_the_repeated_rows_with_the_seed(estimator: Any):
    is_classes = estimator in CLASSIFIERS
    table, y = (TABLE, LABELS) if is_classes else (NUMBER_TABLE, NUMBERS)
    learner = make_foreign_learner(table, estimator, list_combinations({"min_samples_leaf": [1, 6]}))
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
    learner = make_foreign_learner(TABLE, DecisionTreeClassifier(), ONE)
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
    learner = make_foreign_learner(table, DecisionTreeClassifier(max_depth=2), ONE)
    assert learner.repeats.tolist() == (np.arange(80) % 3).tolist()
    assert learner.importance is None


def test_fractional_weights_are_given_to_an_estimator():
    table = Table.from_arrays(X, LABELS, WEIGHT)
    learner = make_foreign_learner(table, DecisionTreeClassifier(max_depth=3), ONE)
    (counts,) = samples_of(learner, 1)
    rows = np.repeat(np.arange(80), counts)
    model = DecisionTreeClassifier(max_depth=3, random_state=4).fit(X[rows], LABELS[rows], WEIGHT[rows])
    (tree,) = learner.trees(0, [counts], [4])
    assert tree.predict_proba(X) == pytest.approx(model.predict_proba(X))


def test_missing_values_reach_an_estimator():
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    learner = make_foreign_learner(Table.from_arrays(gaps, LABELS), DecisionTreeClassifier(max_depth=3), ONE)
    (tree,) = learner.trees(0, [learner.repeats], [0])
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(gaps, LABELS)
    assert tree.predict(gaps).tolist() == model.predict(gaps).tolist()


def test_categories_are_not_given_to_an_estimator_as_numbers():
    rows = [[1.0, "icu"], [2.0, "er"], [3.0, "icu"]]
    with pytest.raises(ParameterError, match=r"DecisionTreeClassifier would take the categories of 'x1'"):
        make_foreign_learner(Table.from_arrays(rows, ["a", "b", "a"]), DecisionTreeClassifier(), ONE)


def test_questions_of_the_user_do_not_disturb_an_estimator():
    table = Table.from_arrays(X, LABELS, custom_features=["x0 > x1"])
    learner = make_foreign_learner(table, DecisionTreeClassifier(max_depth=2), ONE)
    (tree,) = learner.trees(0, [learner.repeats], [0])
    assert tree.schema is table.schema
    assert tree.predict(X).tolist() == DecisionTreeClassifier(max_depth=2).fit(X, LABELS).predict(X).tolist()


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:pystreed")
def test_optimal_trees_of_pystreed_can_stand_in():
    pystreed = pytest.importorskip("pystreed")
    binary = Table.from_arrays(X, X[:, 0] > 5)
    learner = make_foreign_learner(
        binary, pystreed.STreeDClassifier(), list_combinations({"max_depth": [1, 2]})
    )
    samples = samples_of(learner, 2)
    for place, depth in enumerate((1, 2)):
        for tree, counts in zip(learner.trees(place, samples, [0, 1]), samples, strict=True):
            rows = np.repeat(np.arange(80), counts)
            model = pystreed.STreeDClassifier(max_depth=depth).fit(X[rows], X[rows, 0] > 5)
            assert tree.predict(X).tolist() == model.predict(X).astype(bool).tolist()


@pytest.mark.parametrize("learner", [3, "tree", None])
def test_what_cannot_grow_trees_is_no_learner(learner: Any):
    with pytest.raises(TypeError, match="learner is a"):
        make_foreign_learner(TABLE, learner, ONE)


def test_a_class_of_estimators_is_no_learner_but_an_instance_is():
    with pytest.raises(TypeError, match="learner"):
        make_foreign_learner(TABLE, DecisionTreeClassifier, ONE)


# -- functions --------------------------------------------------------------------------------------------


def test_a_function_gets_rows_labels_seed_and_combination():
    asked = []

    def stump(rows: Any, y: Any, seed: int, depth: int) -> Any:
        asked.append((rows.shape, y.shape, seed, depth))
        return DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(rows, y)

    learner = make_foreign_learner(TABLE, stump, list_combinations({"depth": [1, 2]}))
    counts = samples_of(learner, 1)[0]
    trees = [learner.trees(place, [counts], [9])[0] for place in range(2)]
    n_drawn = int(counts.sum())
    assert asked == [((n_drawn, 3), (n_drawn,), 9, 1), ((n_drawn, 3), (n_drawn,), 9, 2)]
    assert [tree.depth for tree in trees] == [1, 2]


def test_a_function_may_return_a_tree_and_gets_categories_as_numbers():
    rows = [[1.0, "icu"], [2.0, "er"], [3.0, "icu"], [4.0, "er"]]
    table = Table.from_arrays(rows, ["a", "b", "a", "b"])
    seen = []

    def same_tree(matrix: Any, y: Any, seed: int) -> Tree:
        seen.append((matrix.tolist(), y.tolist()))
        return grow(table)

    learner = make_foreign_learner(table, same_tree, ONE)
    (tree,) = learner.trees(0, [np.array([2, 1, 0, 0], np.int32)], [0])
    assert seen == [([[1.0, 1.0], [1.0, 1.0], [2.0, 0.0]], ["a", "a", "b"])]
    assert tree.n_leaves == 2


def test_a_function_gets_fractional_weights():
    seen = []

    def weighed(rows: Any, y: Any, seed: int, sample_weight: Any) -> Any:
        seen.append(sample_weight)
        return DecisionTreeClassifier(max_depth=1).fit(rows, y, sample_weight)

    table = Table.from_arrays(X, LABELS, WEIGHT)
    learner = make_foreign_learner(table, weighed, ONE)
    learner.trees(0, [np.full(80, 2, np.int32)], [0])
    assert seen[0].tolist() == np.repeat(WEIGHT, 2).tolist()


def test_models_of_others_become_trees_on_the_schema_of_the_table():
    learner = make_foreign_learner(NUMBER_TABLE, DecisionTreeRegressor(max_depth=2), ONE)
    (tree,) = learner.trees(0, [learner.repeats], [0])
    model = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, NUMBERS)
    assert drawing(tree) == drawing(as_tree(model, schema=NUMBER_TABLE.schema))
