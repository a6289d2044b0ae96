"""scikit-learn's own checks, all of them: none is expected to fail and none is skipped."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast.estimators.tree import TreeClassifier, TreeRegressor
from holdfast.growth.rules import GrowthRules

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {
        "max_features": "sqrt",
        "random_state": 0,
        "min_samples_leaf": 0.1,
        "growth_rules": GrowthRules(max_nodes=9),
    },
)


@pytest.fixture(autouse=True)
def array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn skips its check of array inputs from other libraries unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning", "ignore::holdfast.errors.GrowthWarning")
@parametrize_with_checks(
    [
        *(TreeClassifier(**setting) for setting in SETTINGS),
        *(TreeRegressor(**setting) for setting in SETTINGS),
        TreeClassifier(criterion="gain_ratio", class_weight="balanced"),
        TreeRegressor(criterion="poisson", max_leaf_nodes=5),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
