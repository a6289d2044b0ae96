"""The named models: one registry for fit, compare and audit.

The module is light, since `--help` lists the names: estimators are imported when they are made.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import ParameterError

if TYPE_CHECKING:
    from holdfast.data.target import Task


@dataclass(frozen=True)
class MethodSpec:
    """A named model: an estimator, and the parameters that differ from its defaults."""

    title: str  # in tables and sentences
    estimator: str  # the class without its ending: "Tree" for TreeClassifier and TreeRegressor
    parameters: Mapping[str, Any] = field(default_factory=dict)
    for_regression: bool = True

    def is_for(self, task: "Task") -> bool:
        """True if there is an estimator for the task."""
        if task == "survival":
            return self.for_regression and self.estimator in _SURVIVAL
        return task == "classification" or self.for_regression


_CONSENSUS = {"method": "consensus"}
# The classes for times to an event.
_SURVIVAL = {"StableTree": "StableSurvivalTree", "Tree": "SurvivalTree", "Forest": "SurvivalForest"}
METHODS: dict[str, MethodSpec] = {
    "stable": MethodSpec("stable tree", "StableTree"),
    "tree": MethodSpec("tree", "Tree"),
    "pruned": MethodSpec("pruned tree", "Tree", {"size": "auto"}),
    "cart-cv": MethodSpec("CART by cross-validation", "Cart"),
    "pruned-1se": MethodSpec("one-standard-error pruning", "Tree", {"ccp_alpha": "cv-1se"}),
    "c4.5": MethodSpec("C4.5", "Tree", {"growth_rules": "c4.5"}, for_regression=False),
    "paper": MethodSpec("stable tree of the paper", "StableTree", {"method": "paper"}),
    "bootstrap": MethodSpec("stable tree of bootstrap samples", "StableTree", {"method": "bootstrap"}),
    "consensus": MethodSpec("consensus tree", "StableTree", _CONSENSUS),
    "consensus-8": MethodSpec(
        "consensus tree of 8 leaves",
        "StableTree",
        {**_CONSENSUS, "max_leaf_nodes": 8, "validation": None},  # with a fixed size no score is needed
    ),
    "consensus-12": MethodSpec(
        "consensus tree of 12 leaves", "StableTree", {**_CONSENSUS, "max_leaf_nodes": 12}
    ),
    "updated": MethodSpec("consensus tree, updated", "UpdatedTree", _CONSENSUS),
    "bagging": MethodSpec("bagging", "Bagging"),
    "forest": MethodSpec("forest", "Forest"),
    "boosting": MethodSpec("boosting", "Boosting"),
}
METHOD_NAMES = tuple(METHODS)
# Methods that the commands offer, or use by default; those for classes are left out for numeric targets.
FIT_METHODS = ("stable", "tree", "pruned", "forest", "boosting")
COMPARED_METHODS = ("tree", "pruned", "c4.5", "bagging", "forest", "boosting", "stable")
AUDITED_METHODS = ("cart-cv", "pruned-1se", "c4.5", "paper", "consensus", "consensus-8", "updated", "forest")

# The changes of an audit of retraining: see `evaluate/changes.py`.
LARGE_CHANGES = ("overlap", "staged")
SMALL_CHANGES = ("fewer rows", "another seed", "noise column", "columns permuted", "last digit")
CHANGE_NAMES = (*LARGE_CHANGES, *SMALL_CHANGES)


def make_estimator(name: str, task: "Task" = "classification", **parameters: Any) -> Any:
    """Make the unfitted estimator of a named model.

    Parameters
    ----------
    name : str
        One of `METHOD_NAMES`: "stable", "tree", "pruned", "forest", "boosting", "cart-cv", ...
    task : {"classification", "regression", "survival"}
        Whether classes, numbers or times to an event are to be predicted.
    **parameters
        Parameters of the estimator, or fields of its `growth_rules` and `stability_rules` by their own names;
        they override those of the name.

    Returns
    -------
    estimator
        A new estimator that is not fitted.

    Raises
    ------
    ParameterError
        If the name is unknown, or there is no such model for the task.

    Examples
    --------
    >>> make_estimator("pruned", "regression", max_depth=4)
    TreeRegressor(max_depth=4, size='auto')
    """
    spec = METHODS[check_name(name)]
    if not spec.is_for(task):
        if task == "regression":
            raise ParameterError(
                f"The method {name!r} is for classes, and the target is a number: leave it out."
            )
        others = ", ".join(other for other in FIT_METHODS if METHODS[other].is_for(task))
        raise ParameterError(f"The method {name!r} is not for times to an event: choose from {others}.")
    kind = spec.estimator + ("Classifier" if task == "classification" else "Regressor")
    kind = _SURVIVAL[spec.estimator] if task == "survival" else kind
    own = {**spec.parameters, **parameters}
    if own.get("growth_rules") == "c4.5":
        from holdfast.growth.rules import C45

        own["growth_rules"] = C45
    from holdfast.estimators.base import build_estimator

    return build_estimator(_estimator_class(kind), **own)


def check_name(name: str) -> str:
    """Return the name of a model; raise a ParameterError if it is unknown."""
    if name not in METHODS:
        from holdfast._text import quoted

        raise ParameterError(f"The method {name!r} is unknown: choose one of {quoted(METHODS, 20)}.")
    return name


def list_default_names(names: Iterable[str], task: "Task") -> tuple[str, ...]:
    """Select the names whose models fit the task."""
    return tuple(name for name in names if METHODS[name].is_for(task))


def _estimator_class(name: str) -> Any:
    if name.startswith(("Cart", "Updated")):  # which only evaluations use
        from holdfast.evaluate.baselines import (
            CartClassifier,
            CartRegressor,
            UpdatedTreeClassifier,
            UpdatedTreeRegressor,
        )

        own = (CartClassifier, CartRegressor, UpdatedTreeClassifier, UpdatedTreeRegressor)
        return next(each for each in own if each.__name__ == name)
    return getattr(import_module("holdfast"), name)


# -- models of the user ---------------------------------------------------------------------------


def read_models(models: Any, noun: str = "model") -> dict[str, Any]:
    """Read models by name: names of the registry, estimators, or functions that make one.

    Models of a list are named by their names or classes, with numbers where these repeat. A ParameterError
    names anything else.
    """
    from holdfast._text import quoted

    if isinstance(models, str) or hasattr(models, "fit"):
        models = [models]
    if isinstance(models, Mapping):
        named = {str(name): each for name, each in models.items()}
        if len(named) < len(models):
            raise ParameterError(f"{noun}s has names that are alike as text: {quoted(map(str, models))}.")
    elif isinstance(models, Iterable):
        named = {}
        for each in models:
            name = each if isinstance(each, str) else type(each).__name__
            number = sum(other == name or other.startswith(f"{name} ") for other in named)
            named[f"{name} {number + 1}" if number else name] = each
    else:
        raise ParameterError(
            f"{noun}s={models!r} is neither a mapping of names to estimators nor a list of estimators and of "
            f"the names {quoted(METHODS, 20)}."
        )
    if not named:
        raise ParameterError(f"{noun}s is empty: give at least one {noun}.")
    for name, each in named.items():
        _check_model(name, each, noun)
    return named


def _check_model(name: str, model: Any, noun: str) -> None:
    if isinstance(model, str):
        check_name(model)
    elif inspect.isclass(model):
        raise ParameterError(f"The {noun} {name!r} is a class: write {model.__name__}().")
    elif not callable(model) and not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ParameterError(
            f"The {noun} {name!r} is neither an estimator nor a function that makes one: "
            f"{type(model).__name__} has no fit and predict."
        )


def make_seeded(model: Any, task: "Task", seed: int) -> Any:
    """Make the estimator of a name, an estimator or a function, with the seed in every random_state."""
    if isinstance(model, str):
        return make_estimator(model, task, random_state=seed)
    if hasattr(model, "fit"):
        from sklearn.base import clone

        estimator = clone(model)
    elif _wants_seed(model):
        return model(seed)
    else:
        estimator = model()
    if hasattr(estimator, "get_params"):
        names = estimator.get_params(deep=True)
        seeds = {name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
        if seeds:
            estimator.set_params(**seeds)
    return estimator


def _wants_seed(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return True
    positional = [each for each in parameters if each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]
    return bool(positional) and positional[0].default is inspect.Parameter.empty
