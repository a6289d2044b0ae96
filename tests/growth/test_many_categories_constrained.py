"""Columns with many categories keep to what people know beforehand, as all others do."""

import numpy as np
import pandas as pd
import pytest

from holdfast import BoostingRegressor, ForestClassifier, TreeClassifier, TreeRegressor
from holdfast.estimators.base import build_estimator
from holdfast.tree.monotone import count_violations
from holdfast.tree.tree import LEAF
from reference.constraints import paths_of

RNG = np.random.default_rng(1)
N, N_SITES = 600, 12
SITE = RNG.permutation(np.arange(N) % N_SITES)
FRAME = pd.DataFrame(
    {
        "site": [f"s{i:02}" for i in SITE],
        "age": RNG.normal(size=N).round(1),
        "dose": RNG.normal(size=N).round(1),
    }
)
# Even sites are worse for the young and better for the old: age falls there, and may not.
EVEN = SITE % 2 == 0
SCORE = np.where(EVEN, np.where(FRAME.age < 0, 3, 2), FRAME.age > 0) + 0.1 * RNG.normal(size=N)
RISK = np.array(["low", "middle", "high"])[np.digitize(SCORE + RNG.normal(size=N) / 2, [0.5, 1.8])]

MODELS = [
    TreeClassifier(min_samples_leaf=5),
    TreeRegressor(max_depth=4),
    ForestClassifier(4, random_state=0, max_features=None, min_samples_leaf=5),
    BoostingRegressor(n_estimators=3, max_depth=4, splits="exact"),
    BoostingRegressor(n_estimators=3, max_depth=4, splits="binned"),
]


def fitted(model, frame=FRAME, **parameters):
    model = build_estimator(type(model), **{**model.get_params(), **parameters})
    return model.fit(frame, RISK if hasattr(model, "predict_proba") else SCORE)


def trees_of(model):
    return [model.tree_] if hasattr(model, "tree_") else list(model.ensemble_)


def names_on_paths(tree):
    return [[tree.schema.names[feature] for feature in path] for path in paths_of(tree)]


def roots(model):
    return {tree.schema.names[tree.feature[0]] for tree in trees_of(model)}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:60])
class TestConstraints:
    def test_what_may_not_stand_together_does_not(self, model):
        paths = [
            set(path)
            for tree in trees_of(fitted(model, interaction_cst=[{"site"}, {"age", "dose"}]))
            for path in names_on_paths(tree)
        ]
        assert {"site"} in paths
        assert all("site" not in path or path == {"site"} for path in paths)

    def test_a_dear_column_is_not_asked_first(self, model):
        assert "site" in roots(fitted(model, excluded_features=["age", "dose"]))
        assert "site" not in roots(fitted(model, feature_costs={"site": 1000.0}))

    def test_a_forbidden_column_is_never_asked(self, model):
        assert all(
            "site" not in path
            for tree in trees_of(fitted(model, excluded_features=["site"]))
            for path in names_on_paths(tree)
        )

    def test_directions_hold(self, model):
        signs = {"monotonic_cst": {"age": 1}}
        if hasattr(model, "predict_proba"):
            signs["monotonic_class"] = "high"
        trees = trees_of(fitted(model, **signs))
        assert any("site" in path for tree in trees for path in names_on_paths(tree))
        assert all(count_violations(tree) == 0 for tree in trees)


@pytest.mark.parametrize("splits", ["tree", "exact", "binned"])
def test_twelve_full_categories_are_bounded_as_the_two_that_they_come_to(splits):
    """The same partition of the rows, where the bounds of a direction matter."""
    model = (
        TreeRegressor(max_depth=3, min_samples_leaf=20)
        if splits == "tree"
        else BoostingRegressor(n_estimators=1, max_depth=3, min_samples_leaf=20, splits=splits)
    )
    two = FRAME.assign(site=np.where(EVEN, "even", "odd"))

    def leaves(frame, signs):
        (tree,) = trees_of(fitted(model, frame, monotonic_cst=signs))
        assert (tree.feature != LEAF).any()
        return pd.factorize(tree.apply(frame))[0].tolist()

    assert leaves(FRAME, {"age": 1}) == leaves(two, {"age": 1})
    assert leaves(two, {"age": 1}) != leaves(two, None)
