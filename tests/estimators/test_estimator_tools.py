"""The estimators in the hands of scikit-learn's tools."""

import pickle
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from patients import DAYS, NUMBERS, PATIENTS, STAY
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.exports.sklearn import to_sklearn

MODELS = [
    pytest.param(TreeClassifier(max_depth=3), STAY, id="classifier"),
    pytest.param(TreeRegressor(max_depth=3), DAYS, id="regressor"),
]


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_a_copy_through_pickle_and_joblib_predicts_the_same(model: Any, y: Any, tmp_path: Any):
    model = clone(model).fit(PATIENTS, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copied in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert (copied.predict(PATIENTS) == model.predict(PATIENTS)).all()
        assert str(copied.tree_) == str(model.tree_)


def test_a_clone_has_the_parameters_and_no_tree():
    model = TreeClassifier(max_depth=3, class_weight={"long": 2.0}, custom_features=["age > 60"]).fit(
        PATIENTS, STAY
    )
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "tree_")


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_cross_validation_takes_frames_with_text_and_gaps(model: Any, y: Any):
    assert cross_val_score(model, PATIENTS, y, cv=3, error_score="raise").mean() > 0.3


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_a_grid_search_sets_the_parameters(model: Any, y: Any):
    grid = {"max_depth": np.array([1, 4]), "min_samples_leaf": [1, 0.1], "min_impurity_decrease": [0.0, 0.01]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(PATIENTS, y)
    assert search.best_estimator_.get_depth() <= search.best_params_["max_depth"]


def test_a_pipeline_ends_in_a_tree():
    one_hot = OneHotEncoder(sparse_output=False)
    encode = ColumnTransformer([("ward", one_hot, ["ward"])], remainder="passthrough")
    pipeline = make_pipeline(encode, SimpleImputer(), TreeClassifier()).fit(PATIENTS, STAY)
    assert pipeline.score(PATIENTS, STAY) == 1.0
    pipeline.set_output(transform="pandas").fit(PATIENTS, STAY)
    assert "ward__ward_C" in pipeline[-1].feature_names_in_


def test_weights_are_routed_to_fit_and_score():
    weight = np.where(STAY == "long", 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TreeClassifier(max_depth=2).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        scores = cross_validate(
            model, PATIENTS, STAY, params={"sample_weight": weight}, cv=2, return_estimator=True
        )
    trained = [float(fitted.tree_.weight[0]) for fitted in scores["estimator"]]
    assert sum(trained) == weight.sum()


def test_a_frozen_tree_is_not_grown_again():
    model = TreeClassifier(max_depth=3).fit(PATIENTS, STAY)
    frozen = FrozenEstimator(model).fit(PATIENTS[:5], STAY[:5])
    assert (frozen.predict(PATIENTS) == model.predict(PATIENTS)).all()


def test_probabilities_are_calibrated():
    model = CalibratedClassifierCV(TreeClassifier(max_depth=2), cv=3).fit(PATIENTS, STAY)
    assert model.predict_proba(PATIENTS).shape == (60, 2)
    assert model.feature_names_in_.tolist() == ["age", "ward", "bmi"]


def test_shuffling_an_important_column_costs_accuracy():
    model = TreeClassifier(max_depth=3).fit(PATIENTS, STAY)
    result = permutation_importance(model, PATIENTS, STAY, n_repeats=3, random_state=0)
    assert result.importances_mean[0] > 0.1


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_partial_dependence_follows_a_number_and_a_category(model: Any, y: Any):
    model = clone(model).fit(PATIENTS, y)
    result = partial_dependence(model, PATIENTS, ["age"], grid_resolution=5, kind="average")
    assert result["average"].shape == (1, 5)
    result = partial_dependence(model, PATIENTS, ["ward"], categorical_features=["ward"])
    assert result["average"].shape == (1, 3)


def test_columns_are_selected_by_importance():
    selection = SelectFromModel(
        TreeClassifier(custom_features=["age > bmi"]), max_features=1, threshold=-np.inf
    )
    selection.fit(PATIENTS, STAY)
    assert selection.get_feature_names_out().shape == (1,)


def test_trees_are_members_of_a_bag_of_scikit_learn():
    bag = BaggingClassifier(TreeClassifier(max_features=1), n_estimators=3, random_state=0).fit(NUMBERS, STAY)
    assert len({str(member.tree_) for member in bag.estimators_}) == 3


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_the_tree_of_scikit_learn_predicts_the_same(model: Any, y: Any):
    ages = PATIENTS[["age"]]
    model = clone(model).fit(ages, y)
    assert (to_sklearn(model).predict(ages) == model.predict(ages)).all()
