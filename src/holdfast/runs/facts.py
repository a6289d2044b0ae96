"""What is known of a run, as plain data: all that a program may want, and what `summary.json` holds."""

from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import Any

import numpy as np

from holdfast._arrays import round_last_digits
from holdfast._version import __version__
from holdfast.data.survival import median_follow_up
from holdfast.explain.split_support import SplitSupport
from holdfast.runs.dataset import RowRoles, file_hash
from holdfast.runs.files import importance_columns
from holdfast.runs.fit import ChosenTree, Fit, disagreement
from holdfast.runs.settings import METHODS_OF, RunSettings, plain
from holdfast.scoring.metric import Metric, Score, describe_few_to_learn
from holdfast.stable.settings import GROUPS
from holdfast.stable.train import StableTrees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import WARNING, format_class_names, list_warnings
from holdfast.tree.tree import Tree

# Parameters that the facts name even with their defaults, and those that are facts of other kinds.
KEPT = (
    *("method", "max_depth", "max_leaf_nodes", "min_samples_leaf", "n_estimators", "categories", "teacher"),
    *(
        "thresholds",
        "leaf_values",
        "selection_rule",
        "tolerance",
        "tolerance_unit",
        "instability_weight",
        "validation",
    ),
    *("early_fraction", "class_weight", "priors", "loss_matrix", "threshold", "positive", "monotonic_cst"),
)
NOT_KEPT = (
    "n_jobs",
    "verbose",
    "custom_features",
    "categorical_features",
    "scoring",
    "random_state",
    "oob_score",
    "hazard",
    "horizon",
    "time_unit",
)
NOT_FACTS = ("short", "threshold", "range", "tree_thresholds")  # of a split


def fit_facts(fit: Fit) -> dict[str, Any]:
    """The facts of a fit: what every model has, and what stable trees or others have besides."""
    return {
        "holdfast": __version__,
        "warnings": warning_facts(fit.roles, fit.model),
        **settings_facts(fit.settings, fit.estimator),
        "data": data_facts(fit.roles),
        "division": {**test_facts(fit.roles), **(_division_facts(fit) if fit.is_stable else {})},
        "metric": metric_facts(fit.metric),
        **(_stable_facts(fit) if fit.is_stable else _model_facts(fit)),
    }


def _stable_facts(fit: Fit) -> dict[str, Any]:
    trained = fit.trained
    return {
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


def _model_facts(fit: Fit) -> dict[str, Any]:
    return {
        "model": {
            "kind": fit.settings.model,
            **_model_sizes(fit.model),
            **_choice_facts(fit),
            "expected": score_facts(fit.expected, fit.metric),
            "test": score_facts(fit.test, fit.metric),
            "earlier_test": score_facts(fit.earlier_test, fit.metric),
        },
        "disagreement": disagreement(fit),
        "features": _feature_facts(fit.model),
    }


def warning_facts(roles: RowRoles, model: Tree | Ensemble) -> list[str]:
    """What a reader must know first: too few rows, or a tree that is no better than a constant."""
    few = describe_few_to_learn(roles.whole.schema.target, roles.whole.target)
    return [*filter(None, [few]), *(warning.removeprefix(WARNING) for warning in list_warnings(model))]


def _size_facts(trained: StableTrees) -> dict[str, Any]:
    """The number of leaves and the weights of the teacher's parts, where held-out rows chose them."""
    facts: dict[str, Any] = {}
    choice = trained.size_choice
    if choice is not None:
        columns = {**choice.columns(), "chosen": choice.max_leaf_nodes}
        facts["size_choice"] = {"reason": choice.reason, **columns}
    if trained.teacher_weights is not None:
        facts["teacher_weights"] = dict(trained.teacher_weights)
    return facts


def settings_facts(settings: RunSettings, estimator: Any) -> dict[str, Any]:
    """The settings of the run and the parameters of its estimator, those of no use for the method left out.

    Not the threads, on which nothing depends, nor the model card, a fact of its own.
    """
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    for group, usual in GROUPS.items():
        if parameters.pop(group, None) is not None:
            explicit = estimator._explicit(group)
            parameters = {**parameters, **explicit}
            defaults = {**{each: getattr(usual, each) for each in explicit}, **defaults}
    method = parameters.get("method")
    kept = {
        name: plain(value)
        for name, value in parameters.items()
        if (name in KEPT or name in settings.parameters or repr(value) != repr(defaults[name]))
        and name not in NOT_KEPT
        and (method is None or method in METHODS_OF.get(name, (method,)))
    }
    if settings.is_stable:
        kept["n_estimators"] = estimator._settings().n_trees
    if method != "consensus" and settings.model != "boosting":
        kept["criterion"] = estimator._rules().criterion
    own = {name: plain(getattr(settings, name)) for name in ("scoring", "random_state", "test", "test_rows")}
    if settings.candidate is not None:
        own["candidate"] = settings.candidate
    return {"settings": {"model": settings.model, **kept, **own}, **settings.data.to_dict()}


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


def _division_facts(fit: Fit) -> dict[str, Any]:
    """Which of the training rows are early, but for a consensus tree, and which are held out."""
    roles, division = fit.roles, fit.roles.divided.division
    early = {"early_rows": roles.n_early, "early_stages": list(roles.early_stages)}
    return {
        **({} if fit.estimator.method == "consensus" else early),
        "held_out_rows": roles.n_held_out,
        "held_out_ways": len(division.validation),
        "cross_fitted": division.is_cross_fitted,
    }


def metric_facts(metric: Metric) -> dict[str, Any]:
    """What scores are scores of."""
    return {"name": metric.name, "title": metric.title, "loss": metric.is_loss}


def score_facts(score: Score | None, metric: Metric) -> dict[str, Any] | None:
    """Return a score with the sign that people expect, and its standard error; None without a score."""
    if score is None:
        return None
    return {"score": metric.shown(score.value), "standard_error": score.error}


def _split_facts(support: SplitSupport) -> dict[str, Any]:
    """The support of a split, but for what only a line of text or a picture needs."""
    return {name: fact for name, fact in asdict(support).items() if name not in NOT_FACTS}


def _target_facts(roles: RowRoles) -> dict[str, Any]:
    target, values = roles.whole.schema.target, roles.whole.target
    hazard, survival = roles.training.schema.target.hazard, roles.whole.survival
    if survival is not None and hazard is not None:
        return {
            "time": hazard.time,
            "entry": hazard.entry,
            "events": int(survival.event.sum()),
            "median_follow_up": median_follow_up(survival, roles.whole.weight),
            "horizon": hazard.horizon,
            "time_unit": hazard.unit,
        }
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


def _model_sizes(model: Tree | Ensemble) -> dict[str, Any]:
    trees = [model] if isinstance(model, Tree) else model.trees
    facts: dict[str, Any] = {"trees": len(trees)}
    for name, of_trees in (("leaves", "n_leaves"), ("depth", "depth")):
        sizes = [getattr(tree, of_trees) for tree in trees]
        several = {"least": min(sizes), "median": median(sizes), "most": max(sizes)}
        facts[name] = sizes[0] if isinstance(model, Tree) else several
    return facts


def _choice_facts(fit: Fit) -> dict[str, Any]:
    """Why the tree has its size, if it was chosen, and the scores of all sizes in the folds."""
    sizes = getattr(fit.estimator, "size_table_", None)
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
    chosen = {sizes.parameter: sizes.chosen_value}
    if hasattr(fit.estimator, "min_samples_leaf_"):
        chosen["min_samples_leaf"] = fit.estimator.min_samples_leaf_
    return {**chosen, "reason": sizes.reason, "sizes": table}


def _feature_facts(model: Tree | Ensemble) -> list[dict[str, Any]]:
    """One entry per feature, the most important first."""
    if isinstance(model, Tree):
        order = np.argsort(-round_last_digits(model.importances), kind="stable")
        return [
            {"feature": model.schema.names[place], "importance": float(model.importances[place])}
            for place in order.tolist()
        ]
    columns = importance_columns(model)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
