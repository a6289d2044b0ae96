"""The parameters of an estimator as plain values of JSON, and back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np

from holdfast.errors import ModelFileError, ParameterError
from holdfast.growth.rules import GrowthRules
from holdfast.stability.settings import StabilityRules
from holdfast.storage.document import MappingPart, Parameter

LOSSES = "loss_matrix"  # the parameter whose keys may be pairs of classes
RULES: dict[str, Any] = {
    "growth_rules": GrowthRules,
    "stability_rules": StabilityRules,
}  # parameters that are groups of plain values
OF_LISTS = ("interaction_cst", LOSSES)  # whose value may be a list of lists


class NotPlainError(Exception):
    """JSON cannot hold the value."""


# -- to the file ------------------------------------------------------------------------------------------


def parameters_of(estimator: Any) -> tuple[dict[str, Parameter], list[str]]:
    """The parameters that JSON can hold, by name, and the names of the others."""
    held: dict[str, Parameter] = {}
    others = []
    for name, value in estimator.get_params(deep=False).items():
        try:
            held[name] = (
                _rules_part(name, value) if name in RULES and value is not None else _part(name, value)
            )
        except NotPlainError:
            others.append(name)
    return held, others


def _rules_part(name: str, rules: Any) -> MappingPart:
    """The rules that differ from the defaults."""
    if not isinstance(rules, RULES[name]):
        raise NotPlainError
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}
    changed = {
        field.name: values[field.name] for field in fields(rules) if values[field.name] != field.default
    }
    return MappingPart(keys=tuple(changed), values=tuple(_part(*item) for item in changed.items()))


def _part(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return MappingPart(keys=_keys(name, value), values=tuple(map(_scalar_or_list, value.values())))
    return _scalar_or_list(value)


def _scalar_or_list(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim in (1, 2):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(_scalar_or_inner_list, value))
    return _scalar(value)


def _scalar_or_inner_list(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    return tuple(map(_scalar, value)) if isinstance(value, list | tuple) else _scalar(value)


def _keys(name: str, mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    keys = tuple(map(_scalar_or_inner_list if name == LOSSES else _scalar, mapping))
    if None in keys or any(isinstance(key, tuple) and None in key for key in keys):
        raise NotPlainError
    return keys


def _scalar(value: Any) -> Any:
    """The value as Python's own text, number or flag, or None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral) and -(2**63) <= int(value) < 2**63:
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return float(value)
    if isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value):
        return str(value)
    raise NotPlainError


# -- from the file ----------------------------------------------------------------------------------------


def parameters_in(parts: Mapping[str, Parameter], known: Sequence[str]) -> dict[str, Any]:
    """The parameters in the file; a ModelFileError names one that the estimator does not know."""
    if unknown := [name for name in parts if name not in known]:
        raise ModelFileError(f"its estimator has no parameter {unknown[0][:40]!r}.")
    for name, part in parts.items():
        if name not in OF_LISTS and isinstance(part, tuple) and any(isinstance(each, tuple) for each in part):
            raise ModelFileError(
                f"at estimator.parameters.{name}: Expected a list of labels, got one of lists."
            )
    return {
        name: _rules_in(name, part) if name in RULES else _value_in(part, name)
        for name, part in parts.items()
    }


def _rules_in(name: str, part: Parameter) -> GrowthRules | StabilityRules | None:
    if part is None:
        return None
    said = _value_in(part, name)
    if not isinstance(said, dict) or not set(said) <= {field.name for field in fields(RULES[name])}:
        raise ModelFileError(f"at estimator.parameters.{name}: they are no {name.replace('_', ' ')}.")
    try:
        rules: GrowthRules | StabilityRules = RULES[name](**said)
        return rules
    except ParameterError as error:
        raise ModelFileError(f"at estimator.parameters.{name}: {error}") from error


def _value_in(part: Any, name: str) -> Any:
    if isinstance(part, tuple):
        return [_value_in(entry, name) for entry in part]
    if not isinstance(part, MappingPart):
        return part
    if name != LOSSES and any(isinstance(key, tuple) for key in part.keys):
        raise ModelFileError(f"at estimator.parameters.{name[:40]}: Expected labels as keys, got lists.")
    if len(part.keys) != len(part.values) or len(set(part.keys)) != len(part.keys):
        raise ModelFileError(f"at estimator.parameters.{name}: each key must be there once, with one value.")
    of_entry = part.keys if name in RULES else [name] * len(part.keys)
    entries = zip(part.keys, part.values, of_entry, strict=True)
    return {key: _value_in(entry, str(own)) for key, entry, own in entries}
