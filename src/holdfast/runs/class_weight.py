"""The weights of classes that a setting names by their text, or by the classes themselves."""

from holdfast.data.schema import Label, Target
from holdfast.errors import ParameterError
from holdfast.growth.rules import ClassWeight
from holdfast.runs.parsing import ClassWeights
from holdfast.text.lists import listed
from holdfast.tree.wording import format_class_names


def class_weight(weights: ClassWeights, target: Target) -> ClassWeight:
    """The weights by the classes themselves."""
    if weights is None:
        return None
    if not target.is_classes:
        raise ParameterError(
            f"--class-weight is for classes, and the target {target.name!r} is a number: leave it out."
        )
    if isinstance(weights, str):
        return "balanced"
    classes: dict[str, Label] = dict(zip(format_class_names(target), target.classes, strict=True))
    if unknown := [name for name, _ in weights if str(name) not in classes]:
        raise ParameterError(
            f"--class-weight names {listed(unknown)}, and the classes of {target.name!r} are "
            f"{listed(classes, 30)}."
        )
    return {classes[str(name)]: weight for name, weight in weights}
