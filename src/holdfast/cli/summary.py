"""What a run leaves on disk: the tree, both collections, the frontier as a table, and a summary."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from holdfast._version import __version__
from holdfast.cli.fitted import Delivered, Fit
from holdfast.cli.forward import disagreement
from holdfast.cli.growing import rules_for
from holdfast.cli.json_file import write_json
from holdfast.cli.study import Job, Study
from holdfast.data.files.writing import write_file
from holdfast.data.schema import Target
from holdfast.evidence.split_support import SplitSupport
from holdfast.files import replace_file
from holdfast.scoring.metric import Metric, Score
from holdfast.storage.collection_file import save_trees
from holdfast.storage.model_file import save
from holdfast.tree.wording import class_names


def write_run(fit: Fit, folder: Path, about: Mapping[str, Any]) -> None:
    """Fill the folder; `about` holds what the summary says besides: the time it took, say."""
    save(fit.chosen.tree, folder / "model.json")
    replace_file(folder / "tree.svg", fit.chosen.tree.to_svg().encode())
    (folder / "collections").mkdir()
    save_trees(fit.trained.references.trees, folder / "collections" / "references.json")
    save_trees(fit.trained.candidates.trees, folder / "collections" / "candidates.json")
    write_file(frontier_columns(fit), folder / "frontier.csv")
    write_json({**summary(fit), **about}, folder / "summary.json")


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
        "settings": _settings(fit.job, fit.study.whole.schema.target),
        "data": data_facts(fit.study),
        "division": division_facts(fit.study),
        "metric": metric_facts(trained.metric),
        "distance": {
            "matching": trained.distance_settings.matching,
            "label_weight": trained.distance_settings.label_weight,
            "outcome": trained.distance_settings.outcome,
            "depth": trained.distance_settings.depth,
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
        "disagreement": disagreement(fit),
        "trees": {name: _tree_facts(each, trained.metric) for each in fit.delivered for name in each.names},
        "split_support": [_split_support_facts(each) for each in fit.split_support],
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
        "test_kind": None if study.test is None else "forward" if study.test_stages else "random",
        "test_stages": list(study.test_stages),
        "test_rows_of_known_groups": study.n_known,
        "earlier_test_rows": study.n_earlier_test,
        "training_rows": study.n_training,
        "early_rows": study.n_early,
        "early_stages": list(study.early_stages),
        "held_out_rows": study.n_held_out,
        "held_out_ways": len(study.division.validation),
        "cross_fitted": study.division.is_cross_fitted,
    }


def metric_facts(metric: Metric) -> dict[str, Any]:
    """What scores are scores of."""
    return {"name": metric.name, "title": metric.title, "loss": metric.is_loss}


def score_facts(score: Score | None, metric: Metric) -> dict[str, Any] | None:
    """A score with the sign that people expect, and its standard error; None if there is none."""
    if score is None:
        return None
    return {"score": metric.shown(score.value), "standard_error": score.error}


def shared_settings(job: Job, target: Target) -> dict[str, Any]:
    """What was asked for, under the names of the command line; not the threads, on which nothing depends."""
    weights = job.class_weight
    return {
        "model": job.model,
        "task": job.task,
        "max_depth": job.settings.rules.max_depth,
        **job.said,
        "criterion": rules_for(job, target).criterion,
        "class_weight": weights if weights is None or isinstance(weights, str) else dict(weights),
        "trees": job.settings.n_estimators,
        "scoring": job.settings.scoring,
        "test": job.test,
        "test_rows": job.test_rows,
        "seed": job.settings.seed,
    }


def _settings(job: Job, target: Target) -> dict[str, Any]:
    """What was asked for, with that which only stable trees have."""
    settings = job.settings
    return {
        **shared_settings(job, target),
        "method": settings.method,
        **asdict(job.selection_rule),
        "early_fraction": settings.early_fraction,
        "validation": settings.validation,
    }


def _split_support_facts(split_support: SplitSupport) -> dict[str, Any]:
    """The split_support, but for the question as a line of text has it."""
    return {name: fact for name, fact in asdict(split_support).items() if name != "short"}


def _target_facts(study: Study) -> dict[str, Any]:
    target, values = study.whole.schema.target, study.whole.target
    if not target.is_classes:
        return {"mean": float(values.mean()), "low": target.low, "high": target.high}
    counts = np.bincount(values, minlength=len(target.classes)).tolist()
    return {"classes": dict(zip(class_names(target), counts, strict=True))}


def _tree_facts(each: Delivered, metric: Metric) -> dict[str, Any]:
    return {
        "candidate": each.candidate,
        "instability": each.instability,
        "leaves": each.tree.n_leaves,
        "depth": each.tree.depth,
        "mean_path_length": each.tree.mean_path_length,
        "test": score_facts(each.test, metric),
        "earlier_test": score_facts(each.earlier_test, metric),
    }
