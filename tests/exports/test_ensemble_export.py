"""Ensembles that take a mean become genuine forests of scikit-learn, or weighted votes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)

from holdfast import check_export
from holdfast.adapters import forest_trees
from holdfast.data.table import Table
from holdfast.errors import ExportError
from holdfast.exports.sklearn import to_sklearn
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree
from reference.gaps import with_gaps

IRIS, SPECIES = load_iris(return_X_y=True)
NAMED = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)


def grown(X: object, y: object, criterion: str = "gini", n_estimators: int = 5) -> Ensemble:
    """The mean of trees of different depths, grown on the same rows."""
    table = Table.from_arrays(X, y)
    trees = tuple(
        grow(table, GrowthRules(criterion, max_depth=depth)) for depth in range(1, n_estimators + 1)
    )
    return mean_of(*trees)


def mean_of(*trees: Tree) -> Ensemble:
    """The mean of the trees."""
    n_estimators, n_outputs = len(trees), trees[0].value.shape[1]
    start = np.zeros(n_outputs)
    return Ensemble(trees[0].schema, trees, np.ones(n_estimators), np.zeros(n_estimators), start, "mean")


@pytest.mark.parametrize(
    ("X", "y"), [(IRIS, NAMED), (with_gaps(CELLS), MALIGNANT == 1)], ids=["text", "missing"]
)
def test_a_mean_of_class_trees_is_a_random_forest(X: np.ndarray, y: np.ndarray) -> None:
    ensemble = grown(X, y)
    forest = to_sklearn(ensemble)
    assert isinstance(forest, RandomForestClassifier)
    assert forest.predict(X).tolist() == ensemble.predict(X).tolist()
    assert forest.predict_proba(X) == pytest.approx(ensemble.predict_proba(X), abs=1e-14)
    assert np.array_equal(forest.apply(X), ensemble.leaves(X))
    assert forest.feature_importances_ == pytest.approx(ensemble.importances)
    assert forest.score(X, y) > 0.9


def test_a_mean_of_number_trees_is_a_random_forest() -> None:
    ensemble = grown(with_gaps(PATIENTS), PROGRESSION, "squared_error")
    forest = to_sklearn(ensemble)
    assert isinstance(forest, RandomForestRegressor)
    rows = with_gaps(PATIENTS)
    assert forest.predict(rows) == pytest.approx(ensemble.predict(rows), rel=1e-13)


def test_the_forest_is_a_genuine_one() -> None:
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    forest = to_sklearn(grown(frame, NAMED))
    assert forest.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert len(forest) == forest.n_estimators == 5
    expected = forest.predict(frame)
    assert pickle.loads(pickle.dumps(forest)).predict(frame).tolist() == expected.tolist()
    assert clone(forest).fit(frame, NAMED).score(frame, NAMED) > 0.9
    back = mean_of(*forest_trees(forest))
    assert back.predict(frame).tolist() == expected.tolist()


def test_a_forest_of_scikit_learn_survives_the_journey() -> None:
    original = RandomForestClassifier(10, random_state=0).fit(CELLS, MALIGNANT)
    forest = to_sklearn(mean_of(*forest_trees(original)))
    assert np.array_equal(forest.predict_proba(CELLS), original.predict_proba(CELLS))


def test_trees_that_vote_become_a_forest_whose_leaves_are_certain() -> None:
    ensemble = grown(with_gaps(CELLS), MALIGNANT).replace(votes=True)
    forest = to_sklearn(ensemble)
    assert isinstance(forest, RandomForestClassifier)
    assert forest.predict(CELLS).tolist() == ensemble.predict(CELLS).tolist()
    assert set(np.unique(forest.predict_proba(CELLS)[:, 1] * 5)) <= {0, 1, 2, 3, 4, 5}
    assert check_export(ensemble, "sklearn", with_gaps(CELLS), forest).is_equal


@pytest.mark.parametrize("votes", [False, True])
def test_trees_that_weigh_differently_become_a_vote_that_knows_their_weights(votes: bool) -> None:
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    ensemble = grown(frame, NAMED, n_estimators=3).replace(weights=[0.5, 2.0, 1.25], votes=votes)
    model = to_sklearn(ensemble)
    assert isinstance(model, VotingClassifier)
    assert model.predict(frame).tolist() == ensemble.predict(frame).tolist()
    assert model.predict_proba(frame) == pytest.approx(ensemble.predict_proba(frame), abs=1e-14)
    assert check_export(ensemble, "sklearn", frame, model).is_equal
    assert pickle.loads(pickle.dumps(model)).score(frame, NAMED) > 0.9
    assert clone(model).fit(frame, NAMED).score(frame, NAMED) > 0.9


def test_numbers_of_trees_that_weigh_differently_become_a_weighted_mean() -> None:
    ensemble = grown(PATIENTS, PROGRESSION, "squared_error", 3).replace(weights=[1.0, 2.0, 4.0])
    model = to_sklearn(ensemble)
    assert isinstance(model, VotingRegressor)
    assert check_export(ensemble, "sklearn", PATIENTS, model).is_equal


def test_a_set_of_categories_is_refused_with_the_number_of_the_tree() -> None:
    frame = pd.DataFrame({"site": ["a", "b", "c", "a"] * 10, "age": np.arange(40.0)})
    table = Table.from_arrays(frame, ["x", "y", "x", "x"] * 10)
    lone = grow(table, GrowthRules(min_samples_split=100))
    tree = grow(table, GrowthRules(max_depth=1))
    with pytest.raises(ExportError, match=r"tree 1 of the ensemble: .*column 'site'"):
        to_sklearn(mean_of(lone, tree))
