"""What a run leaves on disk: the tree, both collections, the frontier as a table, and a summary."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from holdfast._version import __version__
from holdfast.cli.fitted import Delivered, Fit
from holdfast.cli.study import Job, Study
from holdfast.data.writing import write_file
from holdfast.files import replace_file
from holdfast.scoring.metric import Metric
from holdfast.tree.collection_file import save_trees
from holdfast.tree.file import save
from holdfast.tree.wording import class_names


def write_run(fit: Fit, folder: Path, about: Mapping[str, Any]) -> None:
    """Fill the folder; `about` holds what the summary says besides: the time it took, say."""
    save(fit.chosen.tree, folder / "model.json")
    (folder / "collections").mkdir()
    save_trees(fit.trained.references.trees, folder / "collections" / "references.json")
    save_trees(fit.trained.candidates.trees, folder / "collections" / "candidates.json")
    write_file(frontier_columns(fit), folder / "frontier.csv")
    text = json.dumps(finite({**summary(fit), **about}), indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(folder / "summary.json", f"{text}\n".encode())


def frontier_columns(fit: Fit) -> dict[str, list[Any]]:
    """One entry per candidate: what is known of it, and what it was grown with."""
    candidates = fit.trained.candidates
    grown_with = [candidates.combinations[place] for place in candidates.combination.tolist()]
    names = candidates.combinations[0]
    return {
        **fit.trained.frontier.columns(),
        **{name: [combination[name] for combination in grown_with] for name in names},
    }


def summary(fit: Fit) -> dict[str, Any]:
    """All that a program may want to know of the run."""
    trained = fit.trained
    return {
        "holdfast": __version__,
        "settings": _settings(fit.job),
        "data": data_facts(fit.study),
        "division": division_facts(fit.study),
        "metric": {
            "name": trained.metric.name,
            "title": trained.metric.title,
            "loss": trained.metric.is_loss,
        },
        "distance": {
            "matching": trained.terms.matching,
            "label_weight": trained.terms.label_weight,
            "outcome": trained.terms.outcome,
            "depth": trained.terms.depth,
        },
        "choice": {
            "candidate": fit.choice.candidate,
            "rule": fit.choice.rule,
            "reason": fit.choice.reason,
        },
        "frontier": {
            "candidates": len(trained.frontier),
            "efficient": trained.frontier.efficient_order.tolist(),
            "hypervolume": trained.frontier.hypervolume,
        },
        "trees": {name: _tree_facts(each, trained.metric) for each in fit.delivered for name in each.names},
        "certificates": [asdict(each) for each in fit.certificates],
        "features": [asdict(each) for each in fit.uses],
    }


def data_facts(study: Study) -> dict[str, Any]:
    """What was read: rows, columns by kind, the target, and missing cells by column."""
    schema = study.whole.schema
    missing = {
        name: int(np.isnan(values).sum())
        for name, values in zip(schema.names, study.whole.columns, strict=True)
    }
    return {
        "source": study.source,
        "rows": study.whole.n_rows,
        "columns": dict(Counter(feature.kind for feature in schema.features)),
        "missing": {name: count for name, count in missing.items() if count},
        "target": {"name": schema.target.name, **_target_facts(study)},
    }


def division_facts(study: Study) -> dict[str, Any]:
    """Who has which role."""
    return {
        "test_rows": study.n_test,
        "training_rows": study.n_training,
        "early_rows": study.n_early,
        "early_stages": list(study.early_stages),
        "held_out_rows": study.n_held_out,
        "held_out_ways": len(study.division.validation),
        "cross_fitted": study.division.is_cross_fitted,
    }


def finite(value: Any) -> Any:
    """The value with None for every number that JSON has no word for."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(part) for part in value]
    return value


def _settings(job: Job) -> dict[str, Any]:
    """What was asked for, under the names of the command line; not the threads, on which nothing depends."""
    settings = job.settings
    return {
        "task": job.task,
        "max_depth": settings.rules.max_depth,
        "criterion": settings.rules.criterion,
        "candidates": settings.candidates,
        "trees": settings.n_trees,
        "scoring": settings.scoring,
        **asdict(job.wish),
        "early_share": settings.early_share,
        "validation": settings.validation,
        "test": job.test,
        "seed": settings.seed,
    }


def _target_facts(study: Study) -> dict[str, Any]:
    target, values = study.whole.schema.target, study.whole.target
    if not target.is_classes:
        return {"mean": float(values.mean()), "low": target.low, "high": target.high}
    counts = np.bincount(values, minlength=len(target.classes)).tolist()
    return {"classes": dict(zip(class_names(target), counts, strict=True))}


def _tree_facts(each: Delivered, metric: Metric) -> dict[str, Any]:
    test = None
    if each.test is not None:
        test = {"score": metric.shown(each.test.value), "standard_error": each.test.error}
    return {
        "candidate": each.candidate,
        "instability": each.instability,
        "leaves": each.tree.n_leaves,
        "depth": each.tree.depth,
        "mean_path_length": each.tree.mean_path_length,
        "test": test,
    }
