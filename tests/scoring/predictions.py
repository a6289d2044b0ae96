"""Predictions and the true_values, drawn at random, for every metric."""

from typing import Any

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.scoring.metric import Score, TrueValues, make_metric

DIED_LIVED = Target("outcome", classes=("died", "lived"))
WARDS = Target("ward", classes=("A", "B", "C"))
STAY = Target("stay", high=30.0)
CLASS_NAMES = ("accuracy", "auc", "balanced_accuracy", "brier", "log_loss")
NUMBER_NAMES = ("absolute_error", "poisson", "r2", "squared_error")
EVERY = [
    *((name, DIED_LIVED) for name in CLASS_NAMES),
    *((name, WARDS) for name in CLASS_NAMES),
    *((name, STAY) for name in NUMBER_NAMES),
]
every_metric = pytest.mark.parametrize(("name", "target"), EVERY, ids=lambda it: getattr(it, "name", it))
if_weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def drawn(target: Target, n_rows: int = 400, weighted: bool = False) -> tuple[FloatArray, TrueValues]:
    """Predictions of some skill and with ties, as those of a tree, and the true_values."""
    random = np.random.default_rng(7)
    weight = random.choice([0.0, 0.5, 1.0, 3.0], n_rows) if weighted else None
    if not target.is_classes:
        means = random.integers(1, 8, n_rows).astype(float)
        return means[:, np.newaxis], TrueValues(target, random.poisson(0.8 * means).astype(float), weight)
    leaves = random.dirichlet(np.ones(len(target.classes)), 12)
    probabilities = leaves[random.integers(12, size=n_rows)]
    values = (probabilities.cumsum(axis=1) < 0.999 * random.random((n_rows, 1))).sum(axis=1).astype(np.int32)
    return probabilities, TrueValues(target, values, weight)


def score(name: str, predicted: Any, true_values: TrueValues) -> Score:
    return make_metric(name, true_values.target).score(np.asarray(predicted, float), true_values)
