"""What is known of a run of a single tree or an ensemble, as plain data."""

from statistics import median
from typing import Any

import numpy as np

from holdfast._version import __version__
from holdfast.arrays import without_last_digits
from holdfast.runs.disagreement import disagreement
from holdfast.runs.facts import (
    data_facts,
    metric_facts,
    score_facts,
    settings_facts,
    test_facts,
    warning_facts,
)
from holdfast.runs.importances import importance_columns
from holdfast.runs.model_fit import ModelFit
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


def model_facts(fit: ModelFit) -> dict[str, Any]:
    """The facts of a model other than a stable tree."""
    return {
        "holdfast": __version__,
        "warnings": warning_facts(fit.roles, fit.model),
        **settings_facts(fit.settings, fit.roles.whole.schema.target),
        "data": data_facts(fit.roles),
        "division": test_facts(fit.roles),
        "metric": metric_facts(fit.metric),
        "model": {
            "kind": fit.settings.model,
            **_size_facts(fit.model),
            **_choice_facts(fit),
            "expected": score_facts(fit.grown.expected, fit.metric),
            "test": score_facts(fit.test, fit.metric),
            "earlier_test": score_facts(fit.earlier_test, fit.metric),
        },
        "disagreement": disagreement(fit),
        "features": _feature_facts(fit.model),
    }


def _size_facts(model: Tree | Ensemble) -> dict[str, Any]:
    trees = [model] if isinstance(model, Tree) else model.trees
    facts: dict[str, Any] = {"trees": len(trees)}
    for name, of_trees in (("leaves", "n_leaves"), ("depth", "depth")):
        sizes = [getattr(tree, of_trees) for tree in trees]
        several = {"least": min(sizes), "median": median(sizes), "most": max(sizes)}
        facts[name] = sizes[0] if isinstance(model, Tree) else several
    return facts


def _choice_facts(fit: ModelFit) -> dict[str, Any]:
    """Why the tree has its size, where it was chosen, and what folds said of all sizes."""
    sizes = fit.grown.sizes
    if sizes is None:
        return {}
    table = {
        "parameter": sizes.parameter,
        "values": sizes.values.tolist(),
        "n_leaves": sizes.n_leaves.tolist(),
        "mean": [sizes.metric.shown(score) for score in sizes.score.tolist()],
        "error": sizes.error.tolist(),
        "n_folds": sizes.scores.shape[1],
        "best": sizes.best,
        "chosen": sizes.chosen,
    }
    chosen = {sizes.parameter: sizes.chosen_value, "min_samples_leaf": fit.grown.min_samples_leaf}
    return {**chosen, "reason": sizes.reason, "sizes": table}


def _feature_facts(model: Tree | Ensemble) -> list[dict[str, Any]]:
    """One entry per feature, the most important first."""
    if isinstance(model, Tree):
        order = np.argsort(-without_last_digits(model.importances), kind="stable")
        return [
            {"feature": model.schema.names[place], "importance": float(model.importances[place])}
            for place in order.tolist()
        ]
    columns = importance_columns(model)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
