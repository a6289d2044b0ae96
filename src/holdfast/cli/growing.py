"""How the trees of a job grow, once it is known what they are to predict."""

from dataclasses import replace
from typing import Any

from holdfast.cli.study import Job
from holdfast.data.schema import Label, Target
from holdfast.data.wording import listed
from holdfast.errors import RulesError
from holdfast.growth.rules import ClassWeight, GrowthRules
from holdfast.tree.wording import class_names


def rules_for(job: Job, target: Target, **defaults: Any) -> GrowthRules:
    """The growth rules of the job for this target; `defaults` stand where the user said nothing."""
    changes = {name: value for name, value in defaults.items() if name not in job.said}
    if not target.is_classes:
        changes["criterion"] = "squared_error"
    return replace(job.settings.rules, **changes, class_weight=class_weight(job.class_weight, target))


def class_weight(weights: Any, target: Target) -> ClassWeight:
    """The weights by the classes themselves, which the command line names by their text."""
    if weights is None:
        return None
    if not target.is_classes:
        raise RulesError(
            f"--class-weight is for classes, and the target {target.name!r} is a number: leave it out."
        )
    if weights == "balanced":
        return "balanced"
    classes: dict[str, Label] = dict(zip(class_names(target), target.classes, strict=True))
    if unknown := [name for name, _ in weights if name not in classes]:
        raise RulesError(
            f"--class-weight names {listed(unknown)}, and the classes of {target.name!r} are "
            f"{listed(classes, 30)}."
        )
    return {classes[name]: weight for name, weight in weights}
