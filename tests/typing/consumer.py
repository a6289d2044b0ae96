"""A program of a user, which mypy reads strictly with the library: `make types`. Nothing runs it."""

from typing import assert_type

import pandas as pd

from holdfast import (
    Ensemble,
    ForestClassifier,
    StableTreeClassifier,
    Tree,
    TreeClassifier,
    TreeRegressor,
    load,
    save,
    tree_distance,
)


def use(X: pd.DataFrame, y: list[str]) -> float:
    """Fit, look, compare, save and load."""
    model = TreeClassifier(max_depth=2, monotonic_cst={"age": 1}).fit(X, y)
    assert_type(model, TreeClassifier)
    assert_type(model.tree_, Tree)
    assert_type(model.tree_.n_leaves, int)
    assert_type(model.tree_.rules(), str)

    other = TreeRegressor(criterion="absolute_error").fit(X[["age"]], [1.0, 2.0, 3.0, 4.0])
    assert_type(other, TreeRegressor)

    stable = StableTreeClassifier(random_state=1).fit(X, y)
    assert_type(stable, StableTreeClassifier)
    assert_type(ForestClassifier(n_estimators=10).fit(X, y), ForestClassifier)

    save(model, "model.json")
    loaded = load("model.json")
    assert not isinstance(loaded, Ensemble)
    return tree_distance(model.tree_, stable.tree_).total
