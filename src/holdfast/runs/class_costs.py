"""Losses and priors that settings name by the texts of classes, or by the classes themselves."""

from holdfast.data.schema import Label, Target
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import LossMatrix, Priors
from holdfast.runs.parsing import Pairs
from holdfast.text.lists import listed
from holdfast.tree.wording import format_class_names


def loss_matrix(losses: Pairs, target: Target) -> LossMatrix:
    """The losses by pairs of classes, the true one first."""
    if losses is None:
        return None
    classes = _classes("--loss", target)
    pairs = {
        f"{true}:{told}": (classes[true], classes[told])
        for true in classes
        for told in classes
        if true != told
    }
    _check_known("--loss", [name for name, _ in losses], list(pairs), target)
    return {pairs[name]: loss for name, loss in losses}


def priors(fractions: Pairs, target: Target) -> Priors:
    """The priors by classes."""
    if fractions is None:
        return None
    classes = _classes("--priors", target)
    _check_known("--priors", [name for name, _ in fractions], list(classes), target)
    return {classes[name]: fraction for name, fraction in fractions}


def check_threshold(threshold: float | str | None, target: Target) -> None:
    """Raise a ParameterError if there is a threshold, and not two classes."""
    if threshold is not None and len(target.classes) != 2:
        what = f"has {len(target.classes)} classes" if target.is_classes else "is a number"
        raise ParameterError(
            f"--threshold is for two classes, and the target {target.name!r} {what}: leave it out."
        )


def _classes(option: str, target: Target) -> dict[str, Label]:
    if not target.is_classes:
        raise ParameterError(
            f"{option} is for classes, and the target {target.name!r} is a number: leave it out."
        )
    return dict(zip(format_class_names(target), target.classes, strict=True))


def _check_known(option: str, names: list[str], known: list[str], target: Target) -> None:
    if unknown := [name for name in names if name not in known]:
        raise ParameterError(
            f"{option} names {listed(unknown)}, and the classes of {target.name!r} make {listed(known, 30)}."
        )
