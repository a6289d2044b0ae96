"""Comparisons of models made by hand: the scores are given, the rest is filled in."""

from typing import Any

import numpy as np

from holdfast import Target
from holdfast.data.folds import Fold
from holdfast.evaluate.compare import ModelComparison
from holdfast.scoring.metric import make_metric

CLASSES = Target("outcome", classes=("died", "lived"))
FOUR_FOLDS = [[0.90, 0.80, 0.85, 0.95], [0.86, 0.78, 0.84, 0.90], [0.60, 0.50, 0.55, 0.65]]


def folds_of(n_folds: int, n_rows: int = 20) -> tuple[Fold, ...]:
    """Every fold holds out a part of the same size; of one fold, a quarter."""
    part = np.arange(n_rows) * max(n_folds, 4) // n_rows
    return tuple(Fold((part != number).astype(np.int32), part == number) for number in range(n_folds))


def comparison(
    scores: Any,
    names: tuple[str, ...] = ("forest", "stable", "tree"),
    scoring: Any = ("auc",),
    **changes: Any,
) -> ModelComparison:
    """A comparison with these scores, (models, folds) or (metrics, models, folds)."""
    values = np.array(scores, float)
    values = values[np.newaxis] if values.ndim == 2 else values
    _, n_models, n_folds = values.shape
    ones = np.ones((n_models, n_folds))
    content: dict[str, Any] = {
        "names": names,
        "metrics": tuple(make_metric(name, CLASSES) for name in scoring),
        "all_scores": values,
        "is_scored": np.ones((len(values), n_folds), bool),
        "row_errors": None,
        "folds": folds_of(n_folds),
        "target": CLASSES,
        "predictions": {name: np.full((20, 2), 0.5) for name in names},
        "fit_seconds": ones,
        "predict_seconds": 0.002 * ones,
        "leaves": np.array([np.nan, 8, 90])[:n_models, np.newaxis] * ones,
        "trees": np.array([100, np.nan, np.nan])[:n_models, np.newaxis] * ones,
    }
    return ModelComparison(**(content | changes))
