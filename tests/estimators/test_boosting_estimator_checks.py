"""scikit-learn's own checks of gradient boosting, all of them: none is expected to fail."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast.estimators.boosting import BoostingClassifier, BoostingRegressor

FEW = {"n_estimators": 5, "learning_rate": 0.4}


@pytest.fixture(autouse=True)
def array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn skips its check of array inputs from other libraries unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@parametrize_with_checks(
    [
        BoostingClassifier(n_estimators=10),
        BoostingRegressor(n_estimators=10),
        BoostingClassifier(splits="binned", n_jobs=2, **FEW),
        BoostingRegressor(splits="binned", l2_regularization=1.0, **FEW),
        BoostingClassifier(
            max_depth=None, max_leaf_nodes=6, max_features="sqrt", class_weight="balanced", **FEW
        ),
        BoostingRegressor(early_stopping="cv", cv=2, **FEW),
        BoostingRegressor(loss="poisson", **FEW),
        BoostingRegressor(loss="quantile", **FEW),
        BoostingClassifier(loss="exponential", **FEW),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
