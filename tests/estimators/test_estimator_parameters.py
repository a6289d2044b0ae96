from typing import Any

import numpy as np
import pytest
from patients import DAYS, NUMBERS, PATIENTS, STAY

from holdfast.errors import CustomFeatureError, ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.estimators.tree import TreeClassifier, TreeRegressor


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("criterion", "squared_error", "criterion='squared_error' is not one for classes"),
        ("max_depth", 0, "max_depth=0 is out of range: it must be an integer of at least 1"),
        ("max_leaf_nodes", 1, "max_leaf_nodes=1 is out of range: it must be an integer of at least 2"),
        ("min_samples_split", 1, "min_samples_split=1 is out of range"),
        ("min_samples_leaf", 1.5, "min_samples_leaf=1.5 is out of range"),
        ("min_weight_fraction_leaf", 0.6, "min_weight_fraction_leaf=0.6 is out of range.*between 0 and 0.5"),
        ("min_impurity_decrease", -0.1, "min_impurity_decrease=-0.1 is out of range.*of at least 0"),
        (
            "min_relative_gain",
            2.0,
            "min_relative_gain=2.0 is out of range: it must be a number between 0 and 1",
        ),
        ("max_features", "all", "max_features='all' is unknown: choose one of"),
        ("max_nodes", 0, "max_nodes=0 is out of range"),
        ("max_seconds", -1.0, "max_seconds=-1.0 is out of range"),
        (
            "handle_unknown",
            "ignore",
            r"handle_unknown='ignore' is unknown: choose one of \['missing', 'error'\]",
        ),
        ("handle_missing", "drop", r"handle_missing='drop' is unknown: choose one of \['learned', 'error'\]"),
        ("class_weight", "heavy", "class_weight='heavy' is unknown"),
        ("class_weight", [1, 2], r"class_weight=\[1, 2\] is unknown: give a mapping"),
        ("class_weight", {"long": -1.0}, "class_weight of 'long' is -1.0: it must be a positive number"),
        ("class_weight", {"Long": 2.0}, "'Long', but the classes of y are 'long', 'short'"),
    ],
)
def test_a_parameter_out_of_range_is_named_with_its_range_at_fit(name: str, value: Any, message: str):
    with pytest.raises(ParameterError, match=message):
        build_estimator(TreeClassifier, **{name: value}).fit(NUMBERS, STAY)


def test_a_regressor_refuses_a_criterion_for_classes():
    with pytest.raises(ParameterError, match="criterion='gini' is not one for a number"):
        TreeRegressor(criterion="gini").fit(NUMBERS, DAYS)


def test_a_question_about_no_column_is_refused():
    with pytest.raises(CustomFeatureError, match="weight"):
        TreeClassifier(custom_features=["weight > 80"]).fit(PATIENTS, STAY)


def test_a_seed_that_is_none_is_refused():
    with pytest.raises(ValueError, match="seed"):
        TreeClassifier(random_state="monday").fit(NUMBERS, STAY)


def test_class_weights_may_speak_of_a_class_that_these_rows_do_not_hold():
    model = TreeClassifier(class_weight={"long": 2.0, "short": 1.0, "never": 1.0}).fit(PATIENTS, STAY)
    assert model.classes_.tolist() == ["long", "short"]


@pytest.mark.filterwarnings("ignore:no tree can split")
def test_class_weights_are_found_whatever_the_type_of_the_number():
    y = np.array([0.0, 1.0, 0.0, 0.0])
    heavy = [
        TreeClassifier(max_depth=1, class_weight=weights).fit(np.ones((4, 1)), y).predict_proba([[1.0]])[0, 1]
        for weights in ({1: 3}, {1.0: 3.0}, {np.int64(1): np.int64(3)})
    ]
    assert heavy == [0.5] * 3


def test_parameters_are_given_by_name_only():
    with pytest.raises(TypeError, match="positional"):
        TreeClassifier("gini")  # type: ignore[misc]
