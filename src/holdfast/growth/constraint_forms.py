"""Constraints as users write them: plain values, or an error that names what is wrong and the way out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from holdfast._check import is_integer, is_number
from holdfast.errors import ParameterError


def check_monotonic(given: Any) -> Any:
    """What monotonic_cst says, as a dictionary or a tuple; a ParameterError if it says something else."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        raise ParameterError(
            f"monotonic_cst={given!r} is neither a dictionary such as {{'age': 1}} nor a list with a number "
            "per column."
        )
    plain = {key: _sign(key, value) for key, value in given.items()} if isinstance(given, Mapping) else None
    return plain if plain is not None else tuple(_sign(i, value) for i, value in enumerate(given))


def _sign(key: object, value: Any) -> int:
    if not is_number(value) or value not in (-1, 0, 1):
        raise ParameterError(
            f"monotonic_cst of {key!r} is {value!r}: it must be 1 (never falls as the column rises), -1 "
            "(never rises) or 0."
        )
    return int(float(value))


def check_groups(given: Any) -> Any:
    """What interaction_cst says, as tuples."""
    if given is None or (isinstance(given, str) and given in ("pairwise", "no_interactions")):
        return given
    wrong = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
    groups = () if wrong else tuple(given)
    if wrong or any(isinstance(group, str) or not isinstance(group, Iterable) for group in groups):
        raise ParameterError(
            f"interaction_cst={given!r} is unknown: give a list of sets of columns, 'pairwise', "
            "'no_interactions' or None."
        )
    return tuple(tuple(_plain(key) for key in group) for group in groups)


def check_forbidden(given: Any) -> Any:
    """What forbidden says: a tuple of columns, or a dictionary from columns to depths."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        raise ParameterError(
            f"excluded_features={given!r} is unknown: give a list of columns, or a dictionary from columns "
            "to the number of splits that must come first."
        )
    if not isinstance(given, Mapping):
        return tuple(_plain(key) for key in given)
    for key, depth in given.items():
        is_depth = is_integer(depth) and int(depth) >= 1
        if depth is not None and not is_depth:
            raise ParameterError(
                f"excluded_features of {key!r} is {depth!r}: it must be the number of splits that come "
                "first, at least 1, or None for never."
            )
    return {_plain(key): None if depth is None else int(depth) for key, depth in given.items()}


def check_costs(given: Any) -> Any:
    """What feature_costs says, as a dictionary."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ParameterError(f"feature_costs={given!r} is no dictionary from columns to costs.")
    for key, cost in given.items():
        if not is_number(cost) or not 0.0 < float(cost) < np.inf:
            raise ParameterError(
                f"feature_costs of {key!r} is {cost!r}: it must be a positive number; columns that are not "
                "named cost 1."
            )
    return {_plain(key): float(cost) for key, cost in given.items()}


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


CONSTRAINT_FORMS: dict[str, Callable[[Any], Any]] = {
    "monotonic_cst": check_monotonic,
    "interaction_cst": check_groups,
    "excluded_features": check_forbidden,
    "feature_costs": check_costs,
}

CONSTRAINTS = (*CONSTRAINT_FORMS, "monotonic_class", "first_splits")


def is_guided(rules: Any) -> bool:
    """True if growth rules say anything of what may be asked, or which way values go."""
    return any(getattr(rules, name) is not None for name in CONSTRAINTS)
