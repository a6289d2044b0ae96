"""Small results to draw, as plain data."""

from typing import Any

import numpy as np

from holdfast.data.folds import Fold
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings
from holdfast.evaluate.audit import ChangingRows, Records, RetrainAudit
from holdfast.evaluate.compare import ModelComparison
from holdfast.evaluate.replications import MODELS, Replications, Result
from holdfast.explain.split_support import SplitSupport
from holdfast.growth.size_search import SizeTable
from holdfast.scoring.metric import make_metric
from holdfast.stable.frontier import Frontier, pareto_frontier

CLASSES = Target(classes=("no", "yes"))
AUC, LOG_LOSS = make_metric("auc", CLASSES), make_metric("log_loss", CLASSES)
ODD = "<script>alert('x')</script> $a_1$ & a name that goes on and on and on"


def frontier(instability: Any, score: Any, *, metric: Any = AUC, **columns: Any) -> Frontier:
    """Candidates at these points, the n-th with n + 2 leaves."""
    d, a = np.array(instability, float), np.array(score, float)
    numbers = np.arange(len(d))
    return Frontier(
        instability=d,
        instability_error=np.full(len(d), 0.1),
        normalised=d / 100,
        size_adjusted=d / d.mean(),
        per_rule=d / 4,
        score=a,
        score_error=np.full(len(d), 0.01),
        measured_score=a - 0.02,
        measured_error=np.full(len(d), 0.02),
        n_leaves=numbers + 2,
        depth=numbers + 1,
        mean_path_length=numbers + 1.5,
        combination=numbers,
        division=0 * numbers,
        efficient=pareto_frontier(d, a),
        metric=metric,
        **columns,
    )


def sizes(n_leaves: Any, scores: Any, error: Any = None, **changes: Any) -> SizeTable:
    """Sizes with these mean scores on both of two folds."""
    alphas = np.linspace(0.0, 0.3, len(n_leaves))
    fields: dict[str, Any] = {
        "parameter": "ccp_alpha",
        "values": alphas,
        "n_leaves": np.array(n_leaves),
        "risks": alphas,
        "scores": np.repeat(np.array(scores, float)[:, np.newaxis], 2, axis=1),
        "error": np.zeros(len(n_leaves)) if error is None else np.array(error, float),
        "selection_rule": "cv-1se",
        "metric": AUC,
    }
    return SizeTable(**fields | changes)


def support(split: str, depth: int = 0, **changes: Any) -> SplitSupport:
    """The support of a split on one feature."""
    fields: dict[str, Any] = {
        "node": depth,
        "depth": depth,
        "split": split,
        "short": split,
        "feature": "age",
        "references": 0.75,
        "candidates": 0.5,
        "same_way": 0.5,
        "n_trees_here": 4,
        "thresholds": (20.0, 30.0, 40.0),
        "categories": None,
        "place": (True,) * depth,
        "n_known": 0,
        "threshold": 30.0,
        "range": (0.0, 100.0),
        "tree_thresholds": (20.0, 30.0, 30.0, 40.0),
    }
    return SplitSupport(**fields | changes)


def comparison(scores: dict[str, Any], metric: Any = AUC, **changes: Any) -> ModelComparison:
    """Models with these scores on each fold."""
    folds = np.array(list(scores.values()), float)
    n_models, n_folds = folds.shape
    parts = np.arange(10 * n_folds) % n_folds
    fields: dict[str, Any] = {
        "names": tuple(scores),
        "metrics": (metric,),
        "all_scores": folds[np.newaxis],
        "is_scored": np.ones((1, n_folds), bool),
        "row_errors": None,
        "folds": tuple(Fold((parts != fold).astype(int), parts == fold) for fold in range(n_folds)),
        "target": CLASSES,
        "predictions": {},
        **{
            name: np.ones((n_models, n_folds))
            for name in ("fit_seconds", "predict_seconds", "leaves", "trees")
        },
    }
    return ModelComparison(**fields | changes)


def replications(n_replications: int = 3) -> Replications:
    """Models of which the n-th has the score 0.9 - n / 100 and the instability 10 - n, and a bit."""
    results = [
        Result(number, model, 0.9 - place / 100 + number / 1000, instability=_away(place, number))
        for number in range(n_replications)
        for place, model in enumerate(MODELS)
    ]
    return Replications(tuple(results), AUC, DistanceSettings("paper", "label", 1.0, 3, False), {})


def _away(place: int, number: int) -> float | None:
    return None if place == len(MODELS) - 1 else 10.0 - place + number / 10


def audit(figures: dict[str, tuple[float, float, float]], n_repeats: int = 2) -> RetrainAudit:
    """Methods with these AUCs, churns and distances, the second repetition a bit above the first."""
    names = ("auc", "churn", "distance")
    pairs = [
        {"method": method, "change": "overlap", "repeat": repeat, "part": 0, **_rest}
        | {name: value * (1 + repeat / 10) for name, value in zip(names, own, strict=True)}
        for method, own in figures.items()
        for repeat in range(n_repeats)
    ]
    return RetrainAudit(
        methods=tuple(figures),
        titles={method: method for method in figures},
        changes=("overlap",),
        pairs=Records(tuple(pairs)),
        firmness=Records(()),
        rows=ChangingRows("overlap", {}, {}, Table.from_arrays([[1.0], [2.0]], ["no", "yes"])),
        target=CLASSES,
        label_weight=1.0,
        n_repeats=n_repeats,
        test_size=0.3,
    )


_rest = dict.fromkeys(
    (
        *("log_loss", "brier", "distance_per_leaf", "flips", "negative_flips", "rank_agreement"),
        *("identical", "same_rules", "leaves", "same_root", "seconds"),
    ),
    0.0,
)
