"""The estimator of a run: its parameters name classes by their text, or by the class itself."""

from collections.abc import Mapping
from typing import Any

from holdfast.data.input.target import Task
from holdfast.data.schema import Target
from holdfast.estimators.base import check_threshold
from holdfast.governance.model_card import model_card_of
from holdfast.growth.class_costs import losses_of, priors_of
from holdfast.runs.settings import RunSettings
from holdfast.tree.wording import format_class_names


def make_run_estimator(settings: RunSettings, target: Target, *, verbose: bool = False) -> Any:
    """Make the estimator of a run for this target, not fitted."""
    task: Task = "classification" if target.is_classes else "regression"
    parameters = with_labels(settings.parameters, target)
    stated = model_card_of(settings.model_card).positive
    if stated is not None and parameters.get("positive") is None:
        parameters["positive"] = stated
    estimator = settings.make_estimator(task, parameters, verbose=verbose)
    _check(estimator, target)
    return estimator


def _check(estimator: Any, target: Target) -> None:
    """Raise a ParameterError, before any work, for a parameter that the target has no use for."""
    rules = estimator._boosting_settings() if hasattr(estimator, "loss") else estimator._rules()
    losses_of(rules.loss_matrix, target.classes)
    priors_of(rules.priors, target.classes)
    if getattr(estimator, "threshold", None) is not None:
        check_threshold(estimator.threshold, len(target.classes))


def with_labels(parameters: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """Return the parameters with the classes of the target in place of their texts.

    A file has the class 1 where the terminal has the text "1", and the pair "bad:good" of a loss is two
    classes. A name that is no class stays, for the estimator to refuse.

    >>> with_labels({"class_weight": {"1": 5}, "max_depth": 3}, Target("died", (0, 1)))
    {'class_weight': {1: 5}, 'max_depth': 3}
    """
    labels = dict(zip(format_class_names(target), target.classes, strict=True))
    pairs = {f"{one}:{other}": (labels[one], labels[other]) for one in labels for other in labels}

    def pair(key: Any) -> Any:
        return pairs.get(":".join(map(str, key)) if isinstance(key, tuple) else str(key), key)

    found = dict(parameters)
    for name in ("class_weight", "priors"):
        if isinstance(found.get(name), Mapping):
            found[name] = {labels.get(str(key), key): value for key, value in found[name].items()}
    if isinstance(found.get("loss_matrix"), Mapping):
        found["loss_matrix"] = {pair(key): loss for key, loss in found["loss_matrix"].items()}
    if found.get("monotonic_class") is not None:
        found["monotonic_class"] = labels.get(str(found["monotonic_class"]), found["monotonic_class"])
    return found
