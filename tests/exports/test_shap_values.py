"""SHAP explains what is exported: its values and the base add up to our output, row by row."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from holdfast import (
    AdaBoostClassifier,
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    TreeClassifier,
)
from holdfast.exports import to_sklearn

shap = pytest.importorskip("shap")

IRIS, SPECIES = load_iris(return_X_y=True)
CELLS, MALIGNANT = load_breast_cancer(return_X_y=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)
GAPS = np.where(np.random.default_rng(0).random(CELLS.shape) < 0.2, np.nan, CELLS)


def scores(model: Any, X: np.ndarray) -> np.ndarray:
    """The sums before the link."""
    found: np.ndarray = model.ensemble_.scores(X)
    return found[:, 0] if found.shape[1] == 1 else found


def odds(model: Any, X: np.ndarray) -> np.ndarray:
    """The logarithm of the odds of the second class."""
    found: np.ndarray = model.ensemble_.values(X)
    return np.log(found[:, 1] / found[:, 0])


def probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    """One column for each class."""
    return np.asarray(model.predict_proba(X))


def numbers(model: Any, X: np.ndarray) -> np.ndarray:
    """What is predicted."""
    return np.asarray(model.predict(X))


@pytest.mark.parametrize(
    ("model", "X", "y", "output"),
    [
        (TreeClassifier(max_depth=4), GAPS, MALIGNANT, probabilities),
        (ForestClassifier(3, max_depth=3, random_state=0), IRIS, SPECIES, probabilities),
        (ForestClassifier(3, voting="hard", max_depth=3, random_state=0), IRIS, SPECIES, probabilities),
        (ForestRegressor(3, max_depth=3, random_state=0), PATIENTS, PROGRESSION, numbers),
        (BoostingClassifier(n_estimators=3), GAPS, MALIGNANT, scores),
        (BoostingClassifier(n_estimators=3, loss="exponential"), CELLS, MALIGNANT, odds),
        (BoostingClassifier(n_estimators=3), IRIS, SPECIES, scores),
        (BoostingRegressor(n_estimators=3), PATIENTS, PROGRESSION, scores),
        (AdaBoostClassifier(n_estimators=3), CELLS, MALIGNANT, odds),
    ],
)
def test_the_values_of_a_row_add_up_to_our_output(model, X, y, output) -> None:  # type: ignore[no-untyped-def]
    model.fit(X, y)
    explained = shap.TreeExplainer(to_sklearn(model))(X[:40])
    total = explained.base_values + explained.values.sum(axis=1)
    assert total == pytest.approx(output(model, X[:40]), rel=1e-9, abs=1e-9)
