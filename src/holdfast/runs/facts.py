"""What is known of a run, as plain data: all that a program may want, and what `summary.json` holds."""

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from holdfast._version import __version__
from holdfast.data.schema import Target
from holdfast.evidence.split_support import SplitSupport
from holdfast.runs.data_file import file_hash
from holdfast.runs.disagreement import disagreement
from holdfast.runs.growth_rules import growth_rules
from holdfast.runs.roles import RowRoles
from holdfast.runs.settings import AUTO, RunSettings
from holdfast.runs.stable_fit import ChosenTree, StableFit
from holdfast.scoring.enough import describe_few_to_learn
from holdfast.scoring.metric import Metric, Score
from holdfast.stability.training import StableTrees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree
from holdfast.tree.wording import WARNING, format_class_names, list_warnings

NOT_FACTS = ("short", "threshold", "range", "asked_thresholds")  # of a split


def stable_facts(fit: StableFit) -> dict[str, Any]:
    """The facts of a stable tree."""
    trained = fit.trained
    return {
        "holdfast": __version__,
        "warnings": warning_facts(fit.roles, fit.model),
        **settings_facts(fit.settings, fit.roles.whole.schema.target),
        "data": data_facts(fit.roles),
        "division": {**test_facts(fit.roles), **_division_facts(fit)},
        "metric": metric_facts(trained.metric),
        "distance": {
            "matching": trained.distance_settings.matching,
            "label_weight": trained.distance_settings.label_weight,
            "outcome": trained.distance_settings.outcome,
            "depth": trained.distance_settings.depth,
        },
        "choice": {
            "candidate": fit.choice.candidate,
            "selection_rule": fit.choice.selection_rule,
            "reason": fit.choice.reason,
        },
        **_size_facts(trained),
        "frontier": {
            "candidates": len(trained.frontier),
            "efficient": trained.frontier.efficient_order.tolist(),
            "hypervolume": trained.frontier.hypervolume,
        },
        "disagreement": disagreement(fit),
        "trees": {name: _tree_facts(each, trained) for each in fit.chosen_trees for name in each.names},
        "split_support": [_split_facts(each) for each in fit.split_support],
        "features": [asdict(each) for each in fit.uses],
    }


def warning_facts(roles: RowRoles, model: Tree | Ensemble) -> list[str]:
    """What a reader must know first: too few rows, or a tree that is no better than a constant."""
    few = describe_few_to_learn(roles.whole.schema.target, roles.whole.target)
    return [*filter(None, [few]), *(warning.removeprefix(WARNING) for warning in list_warnings(model))]


def _size_facts(trained: StableTrees) -> dict[str, Any]:
    """What rows held out chose: the number of leaves, and the weights of the teacher's parts."""
    if trained.sizes is None:
        return {}
    facts, choice = {}, trained.sizes.choice
    if choice is not None:
        columns = {**choice.columns(), "chosen": choice.max_leaf_nodes}
        facts["size_choice"] = {"reason": choice.reason, **columns}
    if trained.sizes.teacher is not None:
        facts["teacher_weights"] = dict(trained.sizes.teacher)
    return facts


def settings_facts(settings: RunSettings, target: Target) -> dict[str, Any]:
    """What was asked for, under the names of the settings, and the criterion or leaves that it comes to."""
    facts = settings.facts
    if settings.is_size_open:
        facts["settings"]["max_leaf_nodes"] = AUTO
    elif not settings.is_consensus and settings.model != "boosting":
        facts["settings"]["criterion"] = growth_rules(settings, target).criterion
    return facts


def data_facts(roles: RowRoles) -> dict[str, Any]:
    """What was read: rows, columns by kind, the target, and missing cells by column."""
    schema = roles.whole.schema
    missing = {
        name: int(np.isnan(values).sum())
        for name, values in zip(schema.names, roles.whole.columns, strict=True)
    }
    return {
        "source": roles.source,
        "file": file_hash(roles.source),
        "rows": roles.whole.n_rows,
        "columns": dict(Counter(feature.kind for feature in schema.features)),
        "missing": {name: count for name, count in missing.items() if count},
        "target": {"name": schema.target.name, **_target_facts(roles)},
    }


def test_facts(roles: RowRoles) -> dict[str, Any]:
    """Which rows test the model, and how many train it."""
    return {
        "test_rows": roles.n_test,
        "test_kind": None if roles.test is None else "forward" if roles.test_stages else "random",
        "test_stages": list(roles.test_stages),
        "test_rows_of_known_groups": roles.n_known,
        "earlier_test_rows": roles.n_earlier_test,
        "training_rows": roles.n_training,
    }


def _division_facts(fit: StableFit) -> dict[str, Any]:
    """Which of the training rows are early, but for a centred tree, and which are held out."""
    roles, division = fit.roles, fit.roles.divided.division
    early = {"early_rows": roles.n_early, "early_stages": list(roles.early_stages)}
    return {
        **({} if fit.settings.is_consensus else early),
        "held_out_rows": roles.n_held_out,
        "held_out_ways": len(division.validation),
        "cross_fitted": division.is_cross_fitted,
    }


def metric_facts(metric: Metric) -> dict[str, Any]:
    """What scores are scores of."""
    return {"name": metric.name, "title": metric.title, "loss": metric.is_loss}


def score_facts(score: Score | None, metric: Metric) -> dict[str, Any] | None:
    """A score with the sign that people expect, and its standard error; None if there is none."""
    if score is None:
        return None
    return {"score": metric.shown(score.value), "standard_error": score.error}


def _split_facts(support: SplitSupport) -> dict[str, Any]:
    """The support of a split, but for what only a line of text or a picture needs."""
    return {name: fact for name, fact in asdict(support).items() if name not in NOT_FACTS}


def _target_facts(roles: RowRoles) -> dict[str, Any]:
    target, values = roles.whole.schema.target, roles.whole.target
    if not target.is_classes:
        return {"mean": float(values.mean()), "low": target.low, "high": target.high}
    counts = np.bincount(values, minlength=len(target.classes)).tolist()
    return {"classes": dict(zip(format_class_names(target), counts, strict=True))}


def _tree_facts(each: ChosenTree, trained: StableTrees) -> dict[str, Any]:
    metric, losses = trained.metric, trained.frontier.teacher_loss
    return {
        "candidate": each.candidate,
        "instability": each.instability,
        **({} if losses is None else {"teacher_loss": float(losses[each.candidate])}),
        "leaves": each.tree.n_leaves,
        "depth": each.tree.depth,
        "mean_path_length": each.tree.mean_path_length,
        "test": score_facts(each.test, metric),
        "earlier_test": score_facts(each.earlier_test, metric),
    }
