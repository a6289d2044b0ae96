"""Parameters out of their range: the message names the parameter and its value."""

import math
import re
from typing import Any

import numpy as np
import pytest
from patients import DAYS, NUMBERS, PATIENTS, STAY

from holdfast.errors import DataError, ParameterError
from holdfast.estimators.boosting import BoostingClassifier, BoostingRegressor

BAD = (
    *(("n_estimators", bad) for bad in (0, -1, 2.5, "many", None, True)),
    *(("learning_rate", bad) for bad in (0, 0.0, 1.5, -0.1, math.nan, math.inf, "slow", None, True)),
    *(("max_depth", bad) for bad in (0, -2, 1.5, "deep")),
    *(("max_leaf_nodes", bad) for bad in (1, 0, 2.5)),
    *(("min_samples_leaf", bad) for bad in (0, 0.0, 1.0, -3, None)),
    *(("min_impurity_decrease", bad) for bad in (-1.0, "some", math.nan)),
    *(("l2_regularization", bad) for bad in (-0.5, math.nan, math.inf, None)),
    *(("max_features", bad) for bad in (0, -1, 1.5, "most")),
    *(("subsample", bad) for bad in (0.0, 1.01, math.nan, None, "half")),
    *(("second_order", bad) for bad in (2, "yes", None)),
    *(("leaf_steps", bad) for bad in (0, 1.5)),
    *(("splits", bad) for bad in ("best", None, 3, ["exact"])),
    *(("start", bad) for bad in ("mean", None, 0)),
    *(("early_stopping", bad) for bad in ("auto", None, 3)),
    *(("validation_fraction", bad) for bad in (0.0, 1.0, -0.1, None)),
    *(("n_iter_no_change", bad) for bad in (0, 2.5, None)),
    *(("tol", bad) for bad in (-1e-9, math.nan, math.inf, None)),
    *(("handle_unknown", bad) for bad in ("ignore", None)),
    *(("handle_missing", bad) for bad in ("drop", None)),
)
BAD_FOR_NUMBERS = (
    *(("loss", bad) for bad in ("log_loss", "exponential", "l2", None, 3, ["huber"])),
    *(("alpha", bad) for bad in (0.0, 1.0, 1.5, math.nan, "high", None)),
)
BAD_FOR_CLASSES = (
    *(("loss", bad) for bad in ("squared_error", "poisson", "deviance", None, 3, ["log_loss"])),
    *(("class_weight", bad) for bad in ("even", 3)),
)


@pytest.mark.parametrize(("name", "bad"), [*BAD, *BAD_FOR_NUMBERS])
def test_the_regressor_names_the_parameter_and_its_value(name: str, bad: Any) -> None:
    with pytest.raises(ParameterError, match=f"^{name}={re.escape(repr(bad))}"):
        BoostingRegressor(**{name: bad}).fit(PATIENTS, DAYS)


@pytest.mark.parametrize(("name", "bad"), [*BAD, *BAD_FOR_CLASSES])
def test_the_classifier_names_the_parameter_and_its_value(name: str, bad: Any) -> None:
    with pytest.raises(ParameterError, match=f"^{name}={re.escape(repr(bad))}"):
        BoostingClassifier(**{name: bad}).fit(PATIENTS, STAY)


@pytest.mark.parametrize("bad", [1, 0, -3, 1.5, math.nan, True, "kfold", None])
def test_folds_that_are_none_are_named(bad: Any) -> None:
    with pytest.raises(ParameterError, match=f"cv={re.escape(repr(bad))}"):
        BoostingRegressor(n_estimators=2, early_stopping="cv", cv=bad).fit(PATIENTS, DAYS)


def test_parameters_that_exclude_each_other_are_named_both() -> None:
    with pytest.raises(ParameterError, match="does not support l2_regularization"):
        BoostingRegressor(splits="exact", l2_regularization=0.5).fit(PATIENTS, DAYS)
    with pytest.raises(ParameterError, match="leaf_steps=2 is for a single score"):
        BoostingClassifier(leaf_steps=2).fit(NUMBERS, PATIENTS["ward"])
    with pytest.raises(ValueError, match="loss='exponential' is for two classes, and 'ward' has 3"):
        BoostingClassifier(loss="exponential").fit(NUMBERS, PATIENTS["ward"])


def test_a_weight_for_a_class_that_is_not_there_is_named() -> None:
    with pytest.raises((ParameterError, DataError), match="'Z'"):
        BoostingClassifier(class_weight={"Z": 2.0}).fit(NUMBERS, PATIENTS["ward"])
    with pytest.raises(ParameterError, match=r"class_weight of 'A' is -1\.0"):
        BoostingClassifier(class_weight={"A": -1.0}).fit(NUMBERS, PATIENTS["ward"])


@pytest.mark.parametrize(
    ("y", "words"), [(DAYS - 10, "'days' goes down to -"), (DAYS * 0, "all of 'days' are 0")]
)
def test_counts_that_have_no_rate_are_refused(y: Any, words: str) -> None:
    with pytest.raises(DataError, match=f"loss='poisson' needs .*{words}"):
        BoostingRegressor(loss="poisson").fit(PATIENTS, y)


@pytest.mark.parametrize(
    "good",
    [
        {"learning_rate": 1, "n_estimators": np.int64(3), "max_depth": np.int32(2)},
        {"min_samples_leaf": 0.1, "max_features": "sqrt"},
        {"subsample": np.float32(0.5), "early_stopping": True, "validation_fraction": 0.3},
        {"tol": 0, "l2_regularization": 1, "max_depth": None, "max_leaf_nodes": 4},
        {"min_impurity_decrease": 0, "max_features": 1.0, "early_stopping": "cv", "cv": 0.3},
        {"max_depth": None, "min_samples_leaf": 1},
    ],
    ids=lambda good: " ".join(good),
)
def test_numbers_of_any_kind_are_taken(good: dict[str, Any]) -> None:
    model = BoostingRegressor(**{"n_estimators": 3, **good}).fit(PATIENTS, DAYS)
    assert model.n_estimators_ <= 3
