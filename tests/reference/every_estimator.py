"""Every estimator, in the variants that go ways of their own, and the bytes of a fitted one."""

from collections.abc import Callable
from typing import Any

from holdfast import (
    C45,
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    BoostingClassifier,
    BoostingRegressor,
    DensityTree,
    Ensemble,
    ForestClassifier,
    ForestRegressor,
    StableTreeClassifier,
    StableTreeRegressor,
    Tree,
    TreeClassifier,
    TreeRegressor,
)
from holdfast.io.model_file import model_to_json

FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
TOLD: dict[str, Any] = FEW | {"n_estimators": 12, "oob_score": True, "permutation_importance": True}

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "tree": TreeClassifier,
    "balanced tree": lambda: TreeClassifier(class_weight="balanced"),
    "tree that draws features": lambda: TreeClassifier(max_features=1, random_state=0),
    "C4.5": lambda: TreeClassifier(growth_rules=C45),
    "tree of a size by folds": lambda: TreeClassifier(ccp_alpha="cv", scoring="accuracy"),
    "tree pruned by rows held out": lambda: TreeClassifier(reduced_error=0.3),
    "bagging": lambda: BaggingClassifier(**FEW),
    "forest": lambda: ForestClassifier(**FEW),
    "forest scored out of the bag": lambda: ForestClassifier(n_estimators=30, oob_score=True, random_state=0),
    "boosting": lambda: BoostingClassifier(min_samples_leaf=2, **FEW),
    "boosting between bins": lambda: BoostingClassifier(min_samples_leaf=2, splits="binned", **FEW),
    "boosting on samples": lambda: BoostingClassifier(subsample=0.6, min_samples_leaf=2, **FEW),
    "boosting that stops": lambda: BoostingClassifier(early_stopping=True, min_samples_leaf=2, **FEW),
    "AdaBoost": lambda: AdaBoostClassifier(**FEW),
    "stable tree": lambda: StableTreeClassifier(method="bootstrap", n_estimators=3, max_depth=3),
    "consensus tree": lambda: StableTreeClassifier(n_estimators=3, max_leaf_nodes=4, teacher="linear"),
    "density": DensityTree,
}

# Boosting squares the target: see test_a_target_that_cannot_be_squared_is_refused.
AVERAGES: dict[str, Callable[[], Any]] = {
    "tree": TreeRegressor,
    "pruned tree": lambda: TreeRegressor(ccp_alpha=1e-3),
    "tree of a size by folds": lambda: TreeRegressor(max_depth="cv"),
    "tree pruned by rows held out": lambda: TreeRegressor(reduced_error=0.3),
    "bagging": lambda: BaggingRegressor(**FEW),
    "forest": lambda: ForestRegressor(**FEW),
    "forest scored out of the bag": lambda: ForestRegressor(n_estimators=30, oob_score=True, random_state=0),
    "stable tree": lambda: StableTreeRegressor(method="bootstrap", n_estimators=3, max_depth=3),
    "consensus tree": lambda: StableTreeRegressor(n_estimators=3, max_leaf_nodes=4, teacher="linear"),
}
BOOSTED: dict[str, Callable[[], Any]] = {
    "boosting": lambda: BoostingRegressor(min_samples_leaf=2, **FEW),
    "boosting between bins": lambda: BoostingRegressor(min_samples_leaf=2, splits="binned", **FEW),
    "boosting on samples": lambda: BoostingRegressor(subsample=0.6, min_samples_leaf=2, **FEW),
    "boosting that stops": lambda: BoostingRegressor(early_stopping=True, min_samples_leaf=2, **FEW),
    "boosting by absolute error": lambda: BoostingRegressor(loss="absolute_error", min_samples_leaf=2, **FEW),
    "boosting by Huber's loss": lambda: BoostingRegressor(loss="huber", min_samples_leaf=2, **FEW),
    "boosting of a quantile": lambda: BoostingRegressor(loss="quantile", min_samples_leaf=2, **FEW),
}
REGRESSORS = {**AVERAGES, **BOOSTED}


def model_of(fitted: Any) -> Tree | Ensemble:
    """What the fitted estimator predicts by."""
    model: Tree | Ensemble = fitted.ensemble_ if hasattr(fitted, "ensemble_") else fitted.tree_
    return model


def trees_of(fitted: Any) -> list[Tree]:
    """The trees of the fitted estimator."""
    model = model_of(fitted)
    return [model] if isinstance(model, Tree) else list(model)


def bytes_of(fitted: Any) -> bytes:
    """The model file, apart from the notes."""
    model = model_of(fitted)
    return model_to_json(model)
