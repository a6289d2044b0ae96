"""The leaf values of stable trees: shrunk and honest."""

from copy import deepcopy

import numpy as np
import pytest

from holdfast import ParameterError, StableTreeClassifier, StableTreeRegressor

RNG = np.random.default_rng(3)
X = RNG.normal(size=(240, 3))
Y = np.where(RNG.random(240) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
SMALL = {"teacher": "linear", "max_leaf_nodes": 4, "n_estimators": 10}


@pytest.fixture(scope="module")
def shrunk() -> StableTreeClassifier:
    return StableTreeClassifier(**SMALL, leaf_values="shrunk").fit(X, Y)


def test_no_leaf_of_a_candidate_says_0_or_1(shrunk: StableTreeClassifier) -> None:
    labels = StableTreeClassifier(**SMALL, leaf_values="labels").fit(X, Y)
    assert np.array_equal(labels.tree_.feature, shrunk.tree_.feature)
    assert shrunk.shrinkage_ > 0
    for tree in shrunk.candidate_trees_:
        assert tree.value.min() > 0
    spread = [np.ptp(model.tree_.value[:, 0]) for model in (shrunk, labels)]
    assert spread[0] < spread[1]


def test_honest_leaves_rest_on_half_of_the_rows() -> None:
    model = StableTreeClassifier(**SMALL, leaf_values="honest").fit(X, Y)
    assert {float(tree.count[0]) for tree in model.candidate_trees_} <= {119.0, 120.0, 121.0}


@pytest.mark.parametrize("kind", ["shrunk", "honest"])
def test_trees_of_bootstrap_samples_can_have_them_too(kind: str) -> None:
    settings = {"method": "bootstrap", "n_estimators": 10, "scoring": "log_loss", "max_depth": 3}
    model = StableTreeClassifier(**settings, leaf_values=kind).fit(X, Y)
    if kind == "shrunk":
        assert min(tree.value.min() for tree in model.candidate_trees_) > 0
        X_new = RNG.normal(size=(4000, 3))
        risk, predicted = 1 / (1 + np.exp(-2 * X_new[:, 0])), model.predict_proba(X_new)[:, 1]
        loss = -(risk * np.log(predicted) + (1 - risk) * np.log(1 - predicted)).mean()
        promised = -model.frontier_.score[model.choice_.candidate]
        assert promised == pytest.approx(loss, abs=0.08)  # without shrinkage .38 is promised, and comes to .6
    else:
        assert model.tree_.count[0] < 125


def test_an_update_shrinks_as_the_training_did(shrunk: StableTreeClassifier) -> None:
    X_new = RNG.normal(size=(120, 3))
    y_new = np.where(X_new[:, 0] > 0, "yes", "no")  # without shrinkage leaves would predict 0 or 1
    updated = deepcopy(shrunk).update(X_new, y_new, strategy="refit", prior_rows=0, validation=None)
    assert updated.shrinkage_ == shrunk.shrinkage_
    assert 0 < updated.tree_.value.min() < updated.tree_.value.max() < 1


def test_numbers_are_shrunk_too() -> None:
    model = StableTreeRegressor(**SMALL, leaf_values="shrunk").fit(X, X[:, 0] + RNG.normal(size=240))
    assert model.shrinkage_ > 0


def test_what_no_method_can_do_is_refused() -> None:
    with pytest.raises(ParameterError, match="'shrunk' is for method='consensus' or 'bootstrap'"):
        StableTreeClassifier(method="pruned", leaf_values="shrunk").fit(X, Y)
    with pytest.raises(ParameterError, match="validation=None holds out none"):
        StableTreeClassifier(**SMALL, leaf_values="shrunk", validation=None).fit(X, Y)
    with pytest.raises(ParameterError, match="leaf_values='frozen' is unknown"):
        StableTreeClassifier(**SMALL, leaf_values="frozen").fit(X, Y)
