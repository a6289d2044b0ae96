"""Bagging and forests with the face of scikit-learn."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    BaggingClassifier as TheirBagging,
)
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import cross_val_score

from holdfast.data.table import Table
from holdfast.ensembles.bagging import Sampling, grow_bagging
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.estimators.forest import BaggingClassifier, BaggingRegressor, ForestClassifier, ForestRegressor
from holdfast.exports.sklearn import to_sklearn
from holdfast.growth.rules import C45, GrowthRules
from holdfast.tree.tree import Tree

BREAST, IS_BENIGN = load_breast_cancer(return_X_y=True)
WINE, CULTIVAR = load_wine(return_X_y=True)
DIABETES, PROGRESSION = load_diabetes(return_X_y=True)


def wards(n_rows: int = 120) -> tuple[pd.DataFrame, Any]:
    """A frame of numbers, some missing, and of text; the outcome depends on both."""
    random = np.random.default_rng(0)
    age = np.where(random.random(n_rows) < 0.1, np.nan, random.normal(50, 15, n_rows))
    ward = random.choice(["A", "B", "C"], n_rows)
    ill = np.nan_to_num(age, nan=50) / 15 + 2 * (ward == "B") + random.normal(0, 0.5, n_rows) > 4
    return pd.DataFrame({"age": age, "ward": ward}), np.where(ill, "ill", "well")


def test_a_fitted_forest_is_the_bagging_that_its_parameters_spell_out():
    model = ForestClassifier(7, max_depth=3, random_state=5).fit(WINE, CULTIVAR)
    seed = int(np.random.RandomState(5).randint(2**32, dtype=np.uint32))
    rules = GrowthRules(max_depth=3, max_features="sqrt")
    expected = grow_bagging(Table.from_arrays(WINE, CULTIVAR), rules, 7, sampling=Sampling(seed))
    assert np.array_equal(model.predict_proba(WINE), expected.ensemble.values(WINE))
    assert model.n_features_in_ == 13
    assert model.classes_.tolist() == [0, 1, 2]
    assert len(model.estimators_) == len(model.ensemble_) == 7
    assert isinstance(model.ensemble_[0], Tree)


def test_predictions_are_means_over_the_trees():
    model = ForestRegressor(9, random_state=0).fit(DIABETES, PROGRESSION)
    assert model.predict(DIABETES) == pytest.approx(
        np.mean([tree.predict(DIABETES) for tree in model.estimators_], axis=0)
    )
    stages = list(model.staged_predict(DIABETES))
    assert len(stages) == 9
    assert stages[3] == pytest.approx(
        np.mean([tree.predict(DIABETES) for tree in model.estimators_[:4]], axis=0)
    )
    leaves = model.apply(DIABETES)
    assert leaves.shape == (442, 9)
    assert np.array_equal(leaves[:, 2], model.estimators_[2].apply(DIABETES))


def test_classes_are_predicted_by_shares_or_by_votes():
    soft, hard = (
        BaggingClassifier(9, max_depth=2, voting=voting, random_state=0).fit(WINE, CULTIVAR)
        for voting in ("soft", "hard")
    )
    votes = np.array([tree.predict(WINE) for tree in hard.estimators_])
    shares = np.stack([(votes == number).mean(axis=0) for number in range(3)], axis=1)
    assert hard.predict_proba(WINE) == pytest.approx(shares)
    assert np.array_equal(hard.predict(WINE), shares.argmax(axis=1))
    assert not np.allclose(soft.predict_proba(WINE), shares)
    assert np.exp(soft.predict_log_proba(WINE)) == pytest.approx(soft.predict_proba(WINE))
    staged = list(soft.staged_predict_proba(WINE))
    assert staged[-1] == pytest.approx(soft.predict_proba(WINE))
    assert np.array_equal(next(soft.staged_predict(WINE)), soft.estimators_[0].predict(WINE))


def test_text_and_missing_values_are_read_as_they_are():
    X, y = wards()
    model = ForestClassifier(30, max_features=None, oob_score=True, random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == ["age", "ward"]
    assert np.array_equal(model.predict(X[["ward", "age"]]), model.predict(X))
    assert model.oob_score_ > 0.75
    with pytest.warns(DataWarning, match="'Z'"):
        model.predict(X.assign(ward="Z"))
    with pytest.raises(DataError, match="missing values"):
        clone(model).set_params(handle_missing="error").fit(X, y).predict(X)


# -- out of the bag ---------------------------------------------------------------------------------------


def test_the_out_of_bag_score_is_that_of_the_out_of_bag_shares():
    model = ForestClassifier(60, oob_score=True, random_state=0).fit(BREAST, IS_BENIGN)
    shares = model.oob_decision_function_
    assert shares.shape == (569, 2)
    assert model.oob_score_ == pytest.approx(accuracy_score(IS_BENIGN, shares.argmax(axis=1)))
    assert model.oob_curve_.n_estimators[-1] == 60
    assert model.oob_curve_.scores[-1] == model.oob_score_
    assert model.oob_curve_.scores[0] < model.oob_score_
    by_auc = clone(model).set_params(oob_score="roc_auc").fit(BREAST, IS_BENIGN)
    assert by_auc.oob_score_ == pytest.approx(roc_auc_score(IS_BENIGN, shares[:, 1]))


def test_numbers_out_of_the_bag_are_scored_by_the_variance_explained():
    model = BaggingRegressor(60, oob_score=True, random_state=0).fit(DIABETES, PROGRESSION)
    assert model.oob_score_ == pytest.approx(r2_score(PROGRESSION, model.oob_prediction_))
    theirs = RandomForestRegressor(60, oob_score=True, random_state=0).fit(DIABETES, PROGRESSION)
    assert model.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.05)


def test_rows_of_a_group_are_out_of_the_bag_together():
    # Ten copies of each row: alone, the copies of a row in the bag would give its random label away.
    random = np.random.default_rng(0)
    X, y = np.repeat(random.normal(size=(60, 3)), 10, axis=0), np.repeat(random.integers(0, 2, 60), 10)
    groups = np.repeat([f"patient {number}" for number in range(60)], 10)
    model = BaggingClassifier(40, oob_score=True, random_state=0)
    assert model.fit(X, y).oob_score_ > 0.95
    assert model.fit(X, y, groups=groups).oob_score_ < 0.7


def test_a_second_fit_forgets_what_was_told_of_the_first():
    model = ForestClassifier(5, oob_score=True, max_features="oob", random_state=0)
    with pytest.warns(DataWarning):
        model.fit(WINE, CULTIVAR)
    assert model.max_features_ == model.max_features_table_.chosen_value
    model.set_params(oob_score=False, max_features=3).fit(WINE, CULTIVAR)
    for name in (
        "oob_score_",
        "oob_curve_",
        "oob_decision_function_",
        "max_features_",
        "max_features_table_",
    ):
        assert not hasattr(model, name)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = ForestClassifier(5, random_state=0).fit(WINE, CULTIVAR)
    before = model.predict_proba(WINE)
    with pytest.raises(ParameterError):
        model.set_params(max_depth=0).fit(WINE[::2], CULTIVAR[::2])
    assert np.array_equal(model.predict_proba(WINE), before)


# -- importances ------------------------------------------------------------------------------------------


def test_importances_are_those_of_the_trees_and_close_to_scikit_learns():
    model = ForestClassifier(200, random_state=0, n_jobs=2).fit(WINE, CULTIVAR)
    theirs = RandomForestClassifier(200, random_state=0, n_jobs=2).fit(WINE, CULTIVAR)
    assert model.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=0.04)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.importances_.permutation is None


def test_permutation_importance_is_on_request_and_by_any_metric():
    model = ForestClassifier(20, permutation_importance=True, random_state=0).fit(WINE, CULTIVAR)
    assert model.importances_.metric.name == "accuracy"
    assert model.importances_.names[int(model.importances_.order[0])] in {"x6", "x9", "x12", "x0"}
    model.set_params(permutation_importance="log_loss").fit(WINE, CULTIVAR)
    assert model.importances_.metric.name == "log_loss"
    assert "rise of log loss" in str(model.importances_)


def test_what_a_question_brought_is_divided_among_its_columns():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] > X["b"], "yes", "no")
    model = BaggingClassifier(5, custom_features=["a > b"], random_state=0).fit(X, y)
    assert model.ensemble_.importances.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert model.feature_importances_.tolist() == [0.5, 0.5, 0.0]


# -- the number of features -------------------------------------------------------------------------------


def test_the_number_of_features_is_chosen_out_of_the_bag_or_by_folds():
    for selection_rule in ("oob", "cv"):
        model = ForestRegressor(20, max_features=selection_rule, cv=3, random_state=0).fit(
            DIABETES, PROGRESSION
        )
        assert model.max_features_table_.chosen_by == selection_rule
        assert model.max_features_table_.max_features.tolist() == [1, 3, 5, 10]  # a third of 10 is 3
        best = model.max_features_table_.max_features[int(np.argmax(model.max_features_table_.score))]
        assert model.max_features_ == best
        same = ForestRegressor(20, max_features=int(best), random_state=0).fit(DIABETES, PROGRESSION)
        assert np.array_equal(model.predict(DIABETES), same.predict(DIABETES))


# -- agreement --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "X", "y", "near"),
    [
        (ForestClassifier(40), RandomForestClassifier(40, random_state=0), BREAST, IS_BENIGN, 0.02),
        (BaggingClassifier(40), TheirBagging(n_estimators=40, random_state=0), BREAST, IS_BENIGN, 0.02),
        (ForestClassifier(40), RandomForestClassifier(40, random_state=0), WINE, CULTIVAR, 0.03),
        (
            ForestRegressor(40),
            RandomForestRegressor(40, max_features=1 / 3, min_samples_leaf=5, random_state=0),
            DIABETES,
            PROGRESSION,
            0.03,
        ),
        (BaggingRegressor(40), RandomForestRegressor(40, random_state=0), DIABETES, PROGRESSION, 0.03),
    ],
    ids=["forest", "bagging", "forest of three classes", "forest of numbers", "bagging of numbers"],
)
def test_cross_validated_scores_are_those_of_scikit_learn_within_noise(ours, theirs, X, y, near):
    scores = [
        cross_val_score(model, X, y, cv=3).mean() for model in (ours.set_params(random_state=0), theirs)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=near)


# -- parameters -------------------------------------------------------------------------------------------


def test_the_defaults_are_the_classic_ones():
    assert (ForestClassifier().max_features, ForestClassifier().min_samples_leaf) == ("sqrt", 1)
    assert (ForestRegressor().max_features, ForestRegressor().min_samples_leaf) == ("third", 5)
    assert BaggingRegressor().min_samples_leaf == 1


def test_rules_that_are_ready_are_followed():
    model = BaggingClassifier(3, growth_rules=C45, random_state=0).fit(WINE, CULTIVAR)
    assert model.ensemble_[0].criterion == "gain_ratio"


def test_rows_repeated_are_whole_weights():
    weight = np.random.default_rng(0).integers(0, 4, len(WINE))
    weighted = ForestClassifier(10, random_state=0).fit(WINE, CULTIVAR, sample_weight=weight)
    rows = np.repeat(np.arange(len(WINE)), weight)
    repeated = ForestClassifier(10, random_state=0).fit(WINE[rows], CULTIVAR[rows])
    assert np.array_equal(weighted.predict_proba(WINE), repeated.predict_proba(WINE))


def test_the_number_of_jobs_changes_no_bit():
    models = [
        ForestClassifier(40, oob_score=True, permutation_importance=True, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 2)
    ]
    one, two = (model.fit(BREAST, IS_BENIGN) for model in models)
    assert one.predict_proba(BREAST).tobytes() == two.predict_proba(BREAST).tobytes()
    assert one.oob_decision_function_.tobytes() == two.oob_decision_function_.tobytes()
    assert one.importances_.permutation.mean.tobytes() == two.importances_.permutation.mean.tobytes()


def test_a_pickled_forest_predicts_the_same():
    model = ForestClassifier(5, random_state=0).fit(WINE, CULTIVAR)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(WINE), model.predict_proba(WINE))


def test_a_forest_of_numbers_becomes_one_of_scikit_learn():
    model = ForestClassifier(5, random_state=0).fit(WINE, CULTIVAR)
    theirs = to_sklearn(model)
    assert isinstance(theirs, RandomForestClassifier)
    assert theirs.predict_proba(WINE) == pytest.approx(model.predict_proba(WINE))


@pytest.mark.usefixtures("eager_progress")
def test_progress_is_shown_on_request(capsys):
    ForestClassifier(5, verbose=1, random_state=0).fit(WINE, CULTIVAR)
    assert "Growing trees: 1 of 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0 is out of range"),
        ({"voting": "loud"}, "voting='loud' is unknown"),
        ({"max_samples": 2.0}, "max_samples=2.0 is out of range"),
        ({"max_features": "many"}, "max_features='many' is unknown"),
        ({"oob_score": True, "bootstrap": False}, "bootstrap=False leaves none out"),
        ({"max_features": "oob", "bootstrap": False}, "bootstrap=False leaves none out"),
        ({"oob_score": "r2"}, "scoring='r2' is for numbers"),
        ({"n_jobs": 0}, "n_jobs=0 is out of range"),
        ({"min_impurity_decrease": -1.0}, "min_impurity_decrease=-1.0 is out of range"),
        ({"class_weight": "equal"}, "class_weight='equal' is unknown"),
        ({"handle_unknown": "guess"}, "handle_unknown='guess' is unknown"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ForestClassifier(**{"n_estimators": 2, **parameters}).fit(WINE, CULTIVAR)


def test_nothing_is_told_before_fit():
    for ask in (lambda m: m.predict(WINE), lambda m: m.feature_importances_, lambda m: m.estimators_):
        with pytest.raises(NotFittedError):
            ask(ForestClassifier())
