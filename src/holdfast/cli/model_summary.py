"""What a run of a single tree or an ensemble leaves on disk, and its summary."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from holdfast._version import __version__
from holdfast.arrays import without_last_digits
from holdfast.cli.forward import Tested, score_disagreement
from holdfast.cli.json_file import write_json
from holdfast.cli.models import ModelFit
from holdfast.cli.overview import importance_columns
from holdfast.cli.summary import data_facts, division_facts, metric_facts, score_facts, shared_settings
from holdfast.data.files.writing import write_file
from holdfast.files import replace_file
from holdfast.storage.model_file import save
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

_OF_STABLE = ("early_", "held_out", "cross_fitted")  # how facts begin that other models have no use for
_UNUSED = {"tree": ("trees",), "pruned": ("trees",), "forest": (), "boosting": ("criterion",)}


def write_model(fit: ModelFit, folder: Path, about: Mapping[str, Any]) -> None:
    """Fill the folder; `about` holds what the summary says besides: the time it took, say."""
    save(fit.model, folder / "model.json")
    if isinstance(fit.model, Tree):
        replace_file(folder / "tree.svg", fit.model.to_svg().encode())
    else:
        write_file(importance_columns(fit.model), folder / "importances.csv")
    write_json({**model_summary(fit), **about}, folder / "summary.json")


def model_summary(fit: ModelFit) -> dict[str, Any]:
    """All that a program may want to know of the run."""
    division = division_facts(fit.study)
    return {
        "holdfast": __version__,
        "settings": _settings(fit),
        "data": data_facts(fit.study),
        "division": {name: fact for name, fact in division.items() if not name.startswith(_OF_STABLE)},
        "metric": metric_facts(fit.metric),
        "model": {
            "kind": fit.job.model,
            **_size_facts(fit.model),
            **_choice_facts(fit),
            "expected": score_facts(fit.grown.expected, fit.metric),
            "test": score_facts(fit.test, fit.metric),
            "earlier_test": score_facts(fit.earlier_test, fit.metric),
        },
        "disagreement": score_disagreement(Tested(fit.study, fit.metric, fit.test, fit.earlier_test)),
        "features": _feature_facts(fit.model),
    }


def _settings(fit: ModelFit) -> dict[str, Any]:
    settings = shared_settings(fit.job, fit.study.whole.schema.target)
    unused = _UNUSED[fit.job.model]
    return {name: fact for name, fact in settings.items() if name not in unused}


def _size_facts(model: Tree | Ensemble) -> dict[str, Any]:
    trees = [model] if isinstance(model, Tree) else model.trees
    facts: dict[str, Any] = {"trees": len(trees)}
    for name, of_trees in (("leaves", "n_leaves"), ("depth", "depth")):
        sizes = [getattr(tree, of_trees) for tree in trees]
        several = {"least": min(sizes), "median": median(sizes), "most": max(sizes)}
        facts[name] = sizes[0] if isinstance(model, Tree) else several
    return facts


def _choice_facts(fit: ModelFit) -> dict[str, Any]:
    """Why the tree has its size, where it was chosen."""
    sizes = fit.grown.sizes
    return {} if sizes is None else {sizes.parameter: sizes.chosen_value, "reason": sizes.reason}


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
