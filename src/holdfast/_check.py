"""Checks of parameters, which return the value or raise a ParameterError."""

from collections.abc import Collection
from math import inf, isnan
from numbers import Integral, Real
from typing import Any, NoReturn, TypeGuard

import numpy as np

from holdfast.errors import ParameterError


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a number, also of numpy, but not for a bool or NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(value)


def is_integer(value: object) -> TypeGuard[int]:
    """Return True for an integer, also of numpy, but not for a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_integer(
    name: str, value: Any, low: int = 1, high: int | None = None, *, none_ok: bool = False
) -> Any:
    """Check that the value is an integer from `low` to `high`.

    >>> check_integer("max_depth", 0, none_ok=True)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: max_depth=0 is out of range: it must be an integer of at least 1, or None.
    """
    if value is None and none_ok:
        return None
    if not is_integer(value) or value < low or (high is not None and value > high):
        what = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise_out_of_range(name, value, f"an integer {what}", none_ok=none_ok)
    return value


def check_number(
    name: str,
    value: Any,
    low: float = 0.0,
    high: float = inf,
    *,
    is_open: str = "",
    is_finite: bool = True,
    none_ok: bool = False,
    way_out: str = "",
) -> Any:
    """Check that the value is a number from `low` to `high`; `is_open` names the excluded ends.

    >>> check_number("tolerance", -1)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: tolerance=-1 is out of range: it must be a number of at least 0.
    """
    if value is None and none_ok:
        return None
    is_above = is_number(value) and (value > low if "low" in is_open else value >= low)
    is_below = is_number(value) and (value < high if "high" in is_open else value <= high)
    if not is_above or not is_below or (is_finite and abs(value) == inf):
        bottom = f"above {low:g}" if "low" in is_open else f"of at least {low:g}"
        top = "" if high == inf else f" and {'below' if 'high' in is_open else 'at most'} {high:g}"
        words = f"between {low:g} and {high:g}" if top and not is_open else bottom + top
        raise_out_of_range(name, value, f"a number {words}{way_out}", none_ok=none_ok)
    return value


def check_fraction(name: str, value: Any, *, none_ok: bool = False) -> Any:
    """Check that the value lies between 0 and 1, both excluded.

    >>> check_fraction("level", 95)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: level=95 is out of range: it must be a fraction between 0 and 1.
    """
    if value is None and none_ok:
        return None
    if not is_number(value) or not 0 < value < 1:
        raise_out_of_range(name, value, "a fraction between 0 and 1", none_ok=none_ok)
    return value


def check_choice(name: str, value: Any, choices: Collection[Any], *, none_ok: bool = False) -> Any:
    """Check that the value is one of the choices.

    >>> check_choice("splitter", "worst", ("best", "random"))
    Traceback (most recent call last):
    holdfast.errors.ParameterError: splitter='worst' is unknown: choose one of 'best', 'random'.
    """
    if value is None and none_ok:
        return None
    if not any(type(value) is type(each) and value == each for each in choices):
        known = ", ".join(map(repr, choices)) + (", or None" if none_ok else "")
        raise ParameterError(f"{name}={value!r} is unknown: choose one of {known}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Check that the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}={value!r} is not a bool: it must be True or False.")
    return bool(value)


def raise_out_of_range(name: str, value: Any, must_be: str, *, none_ok: bool = False) -> NoReturn:
    """Raise the ParameterError of a value that is out of range."""
    raise ParameterError(
        f"{name}={value!r} is out of range: it must be {must_be}{', or None' if none_ok else ''}."
    )
