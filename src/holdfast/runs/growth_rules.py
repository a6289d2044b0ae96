"""How the trees of a run grow, once it is known what they are to predict."""

from dataclasses import replace
from typing import Any

from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.estimators.base import DecisionRule
from holdfast.growth.rules import C45, CART, GrowthRules
from holdfast.runs.class_costs import check_threshold, loss_matrix, priors
from holdfast.runs.class_weight import class_weight
from holdfast.runs.settings import RunSettings
from holdfast.stability.choice import SelectionRule
from holdfast.stability.settings import StabilitySettings

_GROWTH = {"cart": CART, "c4.5": C45}


def growth_rules(settings: RunSettings, target: Target, **defaults: Any) -> GrowthRules:
    """The growth rules for this target; `defaults` stand where the user has set nothing."""
    if settings.growth == "c4.5" and not target.is_classes:
        raise ParameterError(
            f"--growth c4.5 is for classes, and the target {target.name!r} is a number: leave it out."
        )
    values = {"max_depth": settings.depth, **defaults, **settings.growth_given}
    if not target.is_classes:
        values.setdefault("criterion", "squared_error")
    weights = class_weight(settings.class_weight, target)
    check_threshold(settings.threshold, target)
    return replace(
        _GROWTH[settings.growth],
        **values,
        **constraints(settings, target),
        class_weight=weights,
        priors=priors(settings.priors, target),
        loss_matrix=loss_matrix(settings.loss, target),
    )


def constraints(settings: RunSettings, target: Target) -> dict[str, Any]:
    """What the settings say of directions, the class being a label of the target."""
    if settings.monotonic_cst is None:
        return {"monotonic_class": settings.monotonic_class}
    return {
        "monotonic_cst": dict(settings.monotonic_cst),
        "monotonic_class": label_of(settings.monotonic_class, target),
    }


def label_of(text: str | None, target: Target) -> Any:
    """The class that is written so; the text itself if there is none."""
    return next((label for label in target.classes if str(label) == str(text)), text)


def decision_rule(settings: RunSettings, target: Target) -> DecisionRule | None:
    """The threshold that the settings ask for; None if they ask for none."""
    if settings.threshold is None:
        return None
    rules = growth_rules(settings, target)
    return DecisionRule(settings.threshold, rules.loss_matrix, rules.priors, seed=settings.random_state)


def stable_settings(settings: RunSettings, target: Target, *, verbose: bool = False) -> StabilitySettings:
    """How the stable trees of a run are trained."""
    found = StabilitySettings(
        rules=growth_rules(settings, target),
        method=settings.method,
        # Only one of the teacher is looked for: a tolerance of the score says nothing of it.
        tolerance=settings.tolerance if settings.tolerance_unit in (None, "teacher") else None,
        teacher=settings.teacher,
        is_size_open=settings.is_size_open,
        is_depth_open=settings.is_consensus and settings.max_depth is None,
        thresholds=settings.thresholds,
        leaf_values=settings.leaf_values,
        n_estimators=settings.n_trees,
        early_fraction=settings.early_fraction,
        validation=settings.validation,
        scoring=settings.scoring,
        seed=settings.random_state,
        n_jobs=settings.n_jobs,
        verbose=verbose,
    )
    size = settings.max_leaf_nodes
    return found.with_size(size) if settings.is_consensus and isinstance(size, int) else found


def selection_rule(settings: RunSettings) -> SelectionRule:
    """How the one tree is chosen; a number of leaves is a choice among consensus trees alone."""
    size = settings.max_leaf_nodes
    return SelectionRule(
        settings.selection_rule,
        settings.tolerance,
        settings.tolerance_unit,
        settings.instability_weight,
        max_leaf_nodes=size if settings.is_consensus and isinstance(size, int) else None,
        candidate=settings.candidate,
    )
