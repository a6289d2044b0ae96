import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from patients import DAYS, NUMBERS, PATIENTS, STAY
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, GrowthWarning
from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import load, model_to_json, save

FOUR = [[20.0], [30.0], [50.0], [60.0]]


# -- the classifier ---------------------------------------------------------------------------------------


def test_the_fitted_tree_is_the_one_that_the_rules_grow():
    model = TreeClassifier(max_depth=3, min_samples_leaf=4, min_impurity_decrease=0.01).fit(PATIENTS, STAY)
    rules = GrowthRules(max_depth=3, min_samples_leaf=4, min_impurity_decrease=0.01)
    assert str(model.tree_) == str(grow(Table.from_arrays(PATIENTS, STAY, target="stay"), rules))
    assert model.schema_ == model.tree_.schema


def test_predictions_are_the_majority_and_the_shares_of_the_leaf():
    model = TreeClassifier(max_depth=1).fit(FOUR * 2, ["no", "no", "yes", "yes", "no", "yes", "yes", "yes"])
    assert model.predict([[39.0], [41.0]]).tolist() == ["no", "yes"]
    assert model.predict_proba([[39.0], [41.0]]).tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_a_class_that_the_leaf_does_not_hold_has_the_logarithm_minus_infinity():
    model = TreeClassifier().fit(FOUR, ["no", "no", "yes", "yes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_log_proba([[20.0]]).tolist() == [[0.0, -np.inf]]


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 3, 7, 7], np.int8),
        np.array([0.0, 0.0, 1.0, 1.0], np.float32),
        np.array([False, False, True, True]),
        np.array(["no", "no", "yes", "yes"]),
        np.array(["no", "no", "yes", "yes"], object),
    ],
    ids=lambda y: str(y.dtype),
)
def test_the_classes_keep_the_dtype_of_the_target(y: Any):
    model = TreeClassifier().fit(FOUR, y)
    assert model.classes_.dtype == y.dtype
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert model.predict(FOUR).dtype == y.dtype
    assert (model.predict(FOUR) == y).all()


@pytest.mark.parametrize(
    "y",
    [
        ["no", "no", "yes", "yes"],
        ("no", "no", "yes", "yes"),
        pd.Series(["no", "no", "yes", "yes"], dtype="category"),
        pl.Series(["no", "no", "yes", "yes"], dtype=pl.Categorical),
        pl.Series(["no", "no", "yes", "yes"]).to_arrow(),
    ],
    ids=lambda y: type(y).__module__,
)
def test_labels_come_from_any_container(y: Any):
    assert TreeClassifier().fit(FOUR, y).classes_.tolist() == ["no", "yes"]


def test_numbers_and_text_stay_apart_in_a_list_of_labels():
    model = TreeClassifier().fit(FOUR, [1, 1, "yes", "yes"])
    assert model.classes_.tolist() == [1, "yes"]


def test_one_class_makes_one_leaf_with_a_warning():
    with pytest.warns(DataWarning, match="one class, 'no'"):
        model = TreeClassifier().fit(FOUR, ["no"] * 4)
    assert model.get_n_leaves() == 1
    assert model.predict_proba(FOUR).tolist() == [[1.0]] * 4
    assert (model.predict(FOUR) == "no").all()
    assert model.feature_importances_.tolist() == [0.0]


def test_a_constant_column_is_named_in_a_warning():
    with pytest.warns(DataWarning, match="'x1'"):
        TreeClassifier().fit([[20.0, 1.0], [30.0, 1.0]], ["no", "yes"])


def test_continuous_labels_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        TreeClassifier().fit(FOUR, [0.5, 1.5, 2.5, 3.5])


def test_a_heavier_class_takes_the_leaf():
    mixed = ["no", "yes", "no", "no"]
    assert TreeClassifier(max_depth=1, min_samples_leaf=2).fit(FOUR, mixed).predict([[20.0]])[0] == "no"
    model = TreeClassifier(max_depth=1, min_samples_leaf=2, class_weight={"yes": 5}).fit(FOUR, mixed)
    assert model.predict([[20.0]])[0] == "yes"
    assert model.predict_proba([[20.0]])[0, 1] == pytest.approx(5 / 6)


def test_a_weight_of_two_equals_the_row_twice():
    heavy = TreeClassifier().fit(PATIENTS, STAY, sample_weight=[2] * 10 + [1] * 50)
    twice = TreeClassifier().fit(pd.concat([PATIENTS, PATIENTS[:10]]), pd.concat([STAY, STAY[:10]]))
    assert str(heavy.tree_) == str(twice.tree_)


# -- the regressor ----------------------------------------------------------------------------------------


def test_a_regressor_predicts_the_mean_of_the_leaf():
    model = TreeRegressor(max_depth=1).fit(FOUR, [1.0, 2.0, 7.0, 8.0])
    assert model.predict([[0.0], [100.0]]).tolist() == [1.5, 7.5]
    assert not hasattr(model, "predict_proba")


def test_poisson_refuses_negative_targets():
    model = TreeRegressor(criterion="poisson")
    assert model.fit(PATIENTS, DAYS).score(PATIENTS, DAYS) > 0.9
    with pytest.raises(DataError, match="at least 0"):
        model.fit(PATIENTS, -DAYS)


# -- what both can do -------------------------------------------------------------------------------------

FITTED = [
    pytest.param(TreeClassifier(max_depth=3).fit(PATIENTS, STAY), id="classifier"),
    pytest.param(TreeRegressor(max_depth=3).fit(PATIENTS, DAYS), id="regressor"),
]


@pytest.mark.parametrize("model", FITTED)
def test_the_size_is_that_of_the_tree(model: Any):
    assert model.get_depth() == model.tree_.depth == 3
    assert model.get_n_leaves() == model.tree_.n_leaves > 3
    assert model.n_outputs_ == 1


@pytest.mark.parametrize("model", FITTED)
def test_every_row_ends_at_the_last_node_of_its_path(model: Any):
    leaves, path = model.apply(PATIENTS), model.decision_path(PATIENTS)
    assert path.shape == (60, model.tree_.n_nodes)
    assert (path.toarray()[np.arange(60), leaves] == 1).all()
    assert path.indices[path.indptr[1:] - 1].tolist() == leaves.tolist()


@pytest.mark.parametrize("model", FITTED)
def test_rules_and_drawing_speak_of_the_columns_and_the_named_target(model: Any):
    assert "age" in model.rules()
    assert "age" in str(model.tree_)
    assert model.schema_.target.name in ("stay", "days")
    assert model.schema_.target.name in model.rules()


@pytest.mark.parametrize("model", FITTED)
def test_a_notebook_shows_the_parameters_of_the_model_and_a_drawing_of_its_tree(model: Any):
    assert "max_depth" in model._repr_html_()
    assert "<svg" in model.tree_._repr_html_()


@pytest.mark.parametrize("model", FITTED)
def test_a_saved_model_comes_back_as_it_was(model: Any, tmp_path: Any):
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert type(again) is type(model)
    assert (again.predict(PATIENTS) == model.predict(PATIENTS)).all()


@pytest.mark.parametrize("model", [TreeClassifier(), TreeRegressor()])
@pytest.mark.parametrize("method", ["predict", "apply", "decision_path"])
def test_an_unfitted_model_predicts_nothing(model: Any, method: str):
    with pytest.raises(NotFittedError):
        getattr(model, method)(NUMBERS)


@pytest.mark.parametrize("method", ["get_depth", "get_n_leaves", "rules"])
def test_an_unfitted_model_has_no_tree_to_show(method: str):
    with pytest.raises(NotFittedError):
        getattr(TreeClassifier(), method)()
    assert not hasattr(TreeClassifier(), "feature_importances_")


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = TreeClassifier().fit(PATIENTS, STAY)
    before = str(model.tree_)
    with pytest.raises(DataError):
        model.fit(NUMBERS, [None] * 60)
    assert str(model.tree_) == before
    assert model.feature_names_in_.tolist() == ["age", "ward", "bmi"]


# -- importances ------------------------------------------------------------------------------------------


def test_importances_have_one_number_per_column():
    model = TreeClassifier().fit(PATIENTS, STAY)
    assert len(model.feature_importances_) == 3
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_the_importance_of_a_question_is_shared_by_the_columns_it_reads():
    X = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0], [1.0, 2.0, 0.0], [2.0, 1.0, 1.0]])
    model = TreeClassifier(custom_features=["x0 == x1"]).fit(X, ["same", "same", "other", "other"])
    assert model.get_n_leaves() == 2
    assert model.tree_.importances.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert model.feature_importances_.tolist() == [0.5, 0.5, 0.0]


# -- drawing features at random, and budgets --------------------------------------------------------------


@pytest.mark.parametrize("seed", [3, np.random.RandomState(3)], ids=["number", "generator"])
def test_the_same_seed_grows_the_same_tree(seed: Any):
    model = TreeClassifier(max_features=1, random_state=seed)
    first, second = (clone(model).fit(PATIENTS, STAY).tree_ for _ in range(2))
    assert model_to_json(first) == model_to_json(second)


def test_another_seed_grows_another_tree():
    drawings = {
        str(TreeClassifier(max_features=1, random_state=seed).fit(PATIENTS, STAY).tree_) for seed in range(5)
    }
    assert len(drawings) > 1


def test_a_generator_moves_on_only_if_features_are_drawn():
    generator = np.random.RandomState(3)
    TreeClassifier(random_state=generator).fit(PATIENTS, STAY)
    assert generator.randint(1000) == np.random.RandomState(3).randint(1000)
    model = TreeClassifier(max_features=1, random_state=generator)
    drawings = {str(model.fit(PATIENTS, STAY).tree_) for _ in range(5)}
    assert len(drawings) > 1


def test_a_budget_ends_growth_with_a_warning():
    with pytest.warns(GrowthWarning, match="3 nodes"):
        model = TreeClassifier(growth_rules=GrowthRules(max_nodes=3)).fit(PATIENTS, STAY)
    assert model.tree_.n_nodes == 3
    assert model.tree_.notes
