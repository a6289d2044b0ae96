"""scikit-learn's own checks of bagging and forests, all of them: none is expected to fail."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast.estimators.forest import BaggingClassifier, BaggingRegressor, ForestClassifier, ForestRegressor


@pytest.fixture(autouse=True)
def array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn skips its check of array inputs from other libraries unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@parametrize_with_checks(
    [
        BaggingClassifier(6),
        BaggingRegressor(6, max_samples=0.7, criterion="poisson"),
        ForestClassifier(6, voting="hard", class_weight="balanced", bootstrap=False, max_samples=0.8),
        ForestRegressor(6),
        ForestClassifier(8, oob_score="auc", permutation_importance=True, n_jobs=2),
        ForestRegressor(5, max_features="cv", cv=2),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
