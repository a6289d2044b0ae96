"""How the trees of a job grow, once it is known what they are to predict."""

from dataclasses import replace
from typing import Any

from holdfast.cli.class_weight import class_weight
from holdfast.cli.study import Job
from holdfast.data.schema import Target
from holdfast.growth.rules import GrowthRules


def rules_for(job: Job, target: Target, **defaults: Any) -> GrowthRules:
    """The growth rules of the job for this target; `defaults` stand where the user said nothing."""
    changes = {name: value for name, value in defaults.items() if name not in job.said}
    if not target.is_classes:
        changes["criterion"] = "squared_error"
    return replace(job.settings.rules, **changes, class_weight=class_weight(job.class_weight, target))
