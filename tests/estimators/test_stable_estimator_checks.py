"""scikit-learn's own checks of the stable estimators, all of them: none is expected to fail."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
from holdfast.growth.rules import GrowthRules
from holdfast.stable.settings import StabilityRules


@pytest.fixture(autouse=True)
def array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn skips its check of array inputs from other libraries unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@parametrize_with_checks(
    [
        StableTreeClassifier(n_estimators=4, max_leaf_nodes=6, teacher=["forest", "linear"]),
        StableTreeRegressor(n_estimators=4, max_leaf_nodes=6, teacher=["forest", "linear"]),
        StableTreeClassifier(
            method="bootstrap",
            n_estimators=6,
            validation=0.3,
            # of two columns a single one would leave the score to chance
            growth_rules=GrowthRules(
                max_features=2, min_weight_fraction_leaf=0.01
            ),  # as a check would set it
            class_weight="balanced",
            scoring="log_loss",
        ),
        StableTreeRegressor(
            method="bootstrap",
            n_estimators=6,
            criterion="poisson",
            validation=0.3,
            selection_rule="most-stable",
            stability_rules=StabilityRules(matching="metric"),
        ),
        StableTreeRegressor(
            method="bootstrap",
            n_estimators=4,
            learner=DecisionTreeRegressor(),
            stability_rules=StabilityRules(refit_leaves=False),
            scoring="squared_error",
        ),
    ]
)
def test_scikit_learn_accepts_the_stable_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
