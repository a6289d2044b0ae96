"""The procedures that are audited: those that have a name here, and any estimator of the user's."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from holdfast.audit.names import METHOD_NAMES
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.growth.rules import C45
from holdfast.text.lists import listed


@dataclass(frozen=True)
class Known:
    """A procedure that has a name: where its estimators live, and what is set apart from the defaults."""

    title: str  # what sentences call it
    module: str
    stem: str  # of the class: "Tree" for TreeClassifier and TreeRegressor
    parameters: Mapping[str, Any]
    for_numbers: bool = True
    by_default: bool = True
    library: str = ""  # that must be installed


KNOWN = {
    "cart-cv": Known("CART by cross-validation", "holdfast.audit.cart", "Cart", {}),
    "pruned-1se": Known(
        "one-standard-error pruning", "holdfast.estimators.tree", "Tree", {"ccp_alpha": "cv-1se"}
    ),
    "c4.5": Known("C4.5", "holdfast.estimators.tree", "Tree", {"growth_rules": C45}, for_numbers=False),
    "paper": Known(
        "the paper's stable tree", "holdfast.estimators.stable", "StableTree", {"method": "paper"}
    ),
    "bootstrap": Known(
        "the stable tree of bootstrap samples",
        "holdfast.estimators.stable",
        "StableTree",
        {"method": "bootstrap"},
        by_default=False,
    ),
    "centred": Known(
        "the centred tree",
        "holdfast.estimators.stable",
        "StableTree",
        {"method": "centred"},
    ),
    "centred-8": Known(
        "the centred tree of 8 leaves",
        "holdfast.estimators.stable",
        "StableTree",
        {"method": "centred", "max_leaf_nodes": 8, "validation": None},  # no score is asked for
    ),
    "centred-12": Known(
        "the consensus tree of 12 leaves",
        "holdfast.estimators.stable",
        "StableTree",
        {"method": "centred", "max_leaf_nodes": 12},
        by_default=False,
    ),
    "updated": Known(
        "the centred tree, updated",
        "holdfast.audit.updated",
        "UpdatedTree",
        {"method": "centred"},
    ),
    "forest": Known("a forest", "holdfast.estimators.forest", "Forest", {}),
    "optimal": Known(
        "the optimal tree of depth 3",
        "holdfast.audit.optimal",
        "OptimalTree",
        {},
        by_default=False,
        library="pystreed",
    ),
    "near-optimal": Known(
        "the medoid of near-optimal trees",
        "holdfast.audit.near_optimal",
        "NearOptimalTree",
        {},
        for_numbers=False,
        by_default=False,
        library="arborenum",
    ),
    "near-optimal-nearest": Known(
        "the near-optimal tree nearest to the one before",
        "holdfast.audit.near_optimal",
        "NearestTree",
        {},
        for_numbers=False,
        by_default=False,
        library="arborenum",
    ),
}
Make = Callable[[int], Any]  # from a seed to an estimator that is not fitted


@dataclass(frozen=True)
class Method:
    """A procedure that is audited."""

    name: str
    title: str
    make: Make
    knows_previous: bool = False  # trained again, it is given the model before: its fit_again


def default_names(target: Target) -> tuple[str, ...]:
    """The names of those that are audited by default, for such a target."""
    return tuple(
        name
        for name in METHOD_NAMES
        if KNOWN[name].by_default and (target.is_classes or KNOWN[name].for_numbers)
    )


def named_methods(methods: Any) -> dict[str, Any] | None:
    """What the user gave, by name; None for the defaults. A ParameterError names what is no procedure."""
    if methods is None:
        return None
    if isinstance(methods, str) or hasattr(methods, "fit"):
        methods = [methods]
    if isinstance(methods, Mapping):
        named = {str(name): each for name, each in methods.items()}
    elif isinstance(methods, Iterable):
        named = {}
        for each in methods:
            name = each if isinstance(each, str) else type(each).__name__
            number = sum(other == name or other.startswith(f"{name} ") for other in named)
            named[f"{name} {number + 1}" if number else name] = each
    else:
        raise ParameterError(
            f"methods={methods!r} are none: give a mapping of names to estimators, or a list of estimators "
            f"and of the names {listed(METHOD_NAMES)}."
        )
    if not named:
        raise ParameterError("methods is empty: give at least one procedure.")
    for name, each in named.items():
        _check(name, each)
    return named


def _check(name: str, method: Any) -> None:
    if isinstance(method, str):
        if method not in METHOD_NAMES:
            raise ParameterError(f"The method {method!r} is unknown: choose of {listed(METHOD_NAMES)}.")
        if (library := KNOWN[method].library) and find_spec(library) is None:
            raise ParameterError(
                f"The method {method!r} needs {library}, which is not installed: pip install {library}."
            )
    elif inspect.isclass(method):
        raise ParameterError(f"The method {name!r} is a class: write {method.__name__}().")
    elif not callable(method) and not (hasattr(method, "fit") and hasattr(method, "predict")):
        raise ParameterError(
            f"The method {name!r} is neither an estimator nor a function that makes one: "
            f"{type(method).__name__} has no fit and predict."
        )


def methods_of(named: Mapping[str, Any] | None, target: Target) -> tuple[Method, ...]:
    """The procedures, made for such a target."""
    if named is None:
        named = {name: name for name in default_names(target)}
    return tuple(_method(name, each, target) for name, each in named.items())


def _method(name: str, method: Any, target: Target) -> Method:
    if isinstance(method, str):
        check_target(method, target)
    make = partial(made, method, target.is_classes) if isinstance(method, str) else maker(method)
    return Method(name, _title(name), make, knows_previous=hasattr(make(0), "fit_again"))


def check_target(name: str, target: Target) -> None:
    """Raise a ParameterError if the procedure of this name is not for such a target."""
    if not (target.is_classes or KNOWN[name].for_numbers):
        raise ParameterError(
            f"The method {name!r} is for classes, and the target {target.name!r} is a number: leave it out."
        )


def _title(name: str) -> str:
    """What sentences call the method."""
    return KNOWN[name].title if name in METHOD_NAMES else name


def made(name: str, is_classes: bool, seed: int) -> Any:
    """The estimator of a procedure that has a name."""
    known = KNOWN[name]
    kind = getattr(import_module(known.module), known.stem + ("Classifier" if is_classes else "Regressor"))
    return kind(**known.parameters, random_state=seed)


def maker(method: Any) -> Make:
    """A function of a seed, from an estimator, or from a function of a seed or of nothing."""
    if hasattr(method, "fit"):
        return partial(_cloned, method)
    return partial(_called, method) if _wants_seed(method) else partial(_made_and_seeded, method)


def _wants_seed(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return True
    positional = [each for each in parameters if each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]
    return bool(positional) and positional[0].default is inspect.Parameter.empty


def _cloned(estimator: Any, seed: int) -> Any:
    from sklearn.base import clone

    return _seeded(clone(estimator), seed)


def _called(function: Any, seed: int) -> Any:
    return function(seed)


def _made_and_seeded(function: Any, seed: int) -> Any:
    return _seeded(function(), seed)


def _seeded(estimator: Any, seed: int) -> Any:
    """The estimator with the seed in every random_state that it and its parts have."""
    if hasattr(estimator, "get_params"):
        names = estimator.get_params(deep=True)
        seeds = {name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
        if seeds:
            estimator.set_params(**seeds)
    return estimator
