"""The covering matching against dt-distance 0.1.4, which computes it for numeric features and classes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from holdfast.adapters import as_tree
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.distance.distance import tree_distance

distance_calculator = pytest.importorskip("dt_distance.distance_calculator")

N_PAIRS = 50  # of each data set


def grown_models(X: np.ndarray, y: np.ndarray, seed: int) -> list[DecisionTreeClassifier]:
    """Two trees of unequal size, each on its own two thirds of the rows."""
    generator = np.random.default_rng(seed)
    sizes = generator.choice(np.arange(2, 15), 2, replace=False)
    models = []
    for leaves in sizes:
        rows = generator.permutation(len(y))[: 2 * len(y) // 3]
        model = DecisionTreeClassifier(
            max_leaf_nodes=leaves, max_features=0.5, random_state=int(generator.integers(1000))
        )
        models.append(model.fit(X[rows], y[rows]))
    return models


def their_distance(models: list[DecisionTreeClassifier], X: np.ndarray, y: np.ndarray) -> float:
    # A feature reaches from its smallest to its greatest value in X.
    calculator = distance_calculator.DistanceCalculator(
        *models, X=X, y=y, normalize_distance=False, outcome_weight_in_path=1, round_digits=12
    )
    return float(calculator.compute_tree_distance())


def our_distance(models: list[DecisionTreeClassifier], schema: Schema) -> float:
    a, b = (as_tree(model, schema=schema) for model in models)
    return tree_distance(a, b, matching="cover", label_weight=1.0).total


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_covering_distances_are_those_of_dt_distance(load: Callable[..., Any]) -> None:
    X, y = load(return_X_y=True)
    schema = Table.from_arrays(X, y).schema
    is_unequal = []
    for seed in range(N_PAIRS):
        models = grown_models(X, y, seed)
        # Our thresholds are the largest float64 that go left: off theirs by the rounding to float32.
        assert our_distance(models, schema) == pytest.approx(their_distance(models, X, y), rel=1e-6, abs=1e-6)
        is_unequal.append(models[0].get_n_leaves() != models[1].get_n_leaves())
    assert np.mean(is_unequal) > 0.7
