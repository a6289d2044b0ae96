"""Every kind of leaf value keeps to the direction of a feature, also where leaves are joined."""

import numpy as np
import pytest

from holdfast import StableTreeClassifier, TreeClassifier, TreeRegressor
from holdfast.tree import class_counts
from holdfast.tree.monotone import count_violations

RNG = np.random.default_rng(8)
X = RNG.normal(size=(260, 3))
Y = np.where(RNG.random(260) < 1 / (1 + np.exp(-X[:, 0] - np.sin(3 * X[:, 1]))), "yes", "no")
GRID = np.linspace(-3, 3, 41)


def falls(model) -> int:
    """How often a prediction falls as the first feature rises, of 60 rows on a grid."""
    predict = (
        model.predict if isinstance(model, TreeRegressor) else lambda rows: model.predict_proba(rows)[:, 1]
    )
    said = [predict(np.column_stack([np.full(60, value), X[:60, 1:]])) for value in GRID]
    return int((np.diff(said, axis=0) < 0).sum())


@pytest.mark.parametrize("kind", ["labels", "shrunk", "honest"])
@pytest.mark.parametrize("merged", [False, "similar"])
def test_no_prediction_of_a_tree_falls_against_its_direction(kind: str, merged: bool | str) -> None:
    rules = {"monotonic_cst": [1, 0, 0], "leaf_values": kind, "merge_leaves": merged, "cv": 3}
    model = TreeClassifier(**rules, max_leaf_nodes=14).fit(X, Y)
    assert model.get_n_leaves() > 2
    assert falls(model) == count_violations(model.tree_) == 0


@pytest.mark.parametrize("kind", ["shrunk", "honest"])
def test_no_mean_of_a_tree_falls_against_its_direction(kind: str) -> None:
    target = X[:, 0] + 2 * np.sin(3 * X[:, 1]) + RNG.normal(size=260)
    model = TreeRegressor(monotonic_cst=[1, 0, 0], leaf_values=kind, max_leaf_nodes=14, cv=3).fit(X, target)
    assert falls(model) == count_violations(model.tree_) == 0


@pytest.mark.parametrize("kind", ["teacher", "labels", "shrunk", "honest"])
def test_no_candidate_of_stable_trees_breaks_its_direction(kind: str) -> None:
    small = {"teacher": "linear", "max_leaf_nodes": 6, "n_estimators": 6}
    model = StableTreeClassifier(**small, monotonic_cst=[1, 0, 0], leaf_values=kind, random_state=0).fit(X, Y)
    assert [count_violations(tree) for tree in model.candidate_trees_] == [0] * len(model.candidate_trees_)
    assert falls(model) == 0


def test_rows_of_each_class_stay_known_where_leaves_are_shrunk() -> None:
    plain, shrunk = (
        TreeClassifier(min_samples_leaf=5, leaf_values=kind, cv=3).fit(X, Y).tree_
        for kind in ("labels", "shrunk")
    )
    assert np.array_equal(class_counts(plain), class_counts(shrunk))
    assert not np.allclose(plain.value, shrunk.value)
