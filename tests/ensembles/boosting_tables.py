"""Noisy tables for boosting, and the loss of every row recounted from the predictions."""

from typing import Any

import numpy as np
from scipy.special import xlogy

from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.tree.ensemble import Ensemble

KINDS = ("squared_error", "poisson", "two classes", "three classes")
LOSSES: dict[str, Any] = {"two classes": "log_loss", "three classes": "log_loss"}
# Fast, and with enough noise to lose from some round on.
GREEDY: dict[str, Any] = {"learning_rate": 0.2, "min_samples_leaf": 2, "splits": "exact", "tol": 0.0}


def noisy(kind: str, n_rows: int = 150, weighted: bool = False) -> Table:
    """Rows with gaps, and a target that one column tells a little of."""
    generator = np.random.default_rng([KINDS.index(kind), n_rows])
    X = generator.normal(size=(n_rows, 3))
    height = X[:, 0] + generator.normal(size=n_rows)
    X[generator.random((n_rows, 3)) < 0.05] = np.nan
    weight = generator.uniform(0.2, 3.0, n_rows) if weighted else None
    if kind == "squared_error":
        return Table.from_arrays(X, height, weight, task="regression")
    if kind == "poisson":
        return Table.from_arrays(X, generator.poisson(np.exp(height / 2)), weight, task="regression")
    borders = [0.0] if kind == "two classes" else [-0.5, 0.7]
    return Table.from_arrays(X, np.digitize(height, borders), weight, task="classification")


def staged_losses(ensemble: Ensemble, table: Table, kind: str) -> FloatArray:
    """The loss of every row after every round, (rounds, rows)."""
    y = table.target
    lines = []
    for values in ensemble.staged_values(table):
        if kind == "squared_error":
            lines.append((y - values[:, 0]) ** 2 / 2)
        elif kind == "poisson":
            lines.append(values[:, 0] - xlogy(y, values[:, 0]))
        else:
            lines.append(-np.log(values[np.arange(len(y)), y]))
    return np.array(lines)


def scale_weights(table: Table) -> FloatArray:
    return np.ones(table.n_rows) if table.weight is None else table.weight
