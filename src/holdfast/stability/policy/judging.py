"""How a figure is held against a limit: at the limit a line passes, and one step beyond it fails."""

from dataclasses import replace
from math import isfinite, isnan, nan

import numpy as np

from holdfast.arrays import DIGITS, without_last_digits
from holdfast.stability.policy.forms import Interval
from holdfast.stability.policy.verdict import PolicyLine


def at_most(name: str, figure: float, limit: float, words: str, subject: str = "") -> PolicyLine:
    """The line of a figure that may not be greater than the limit."""
    rounded = decided(figure)
    return _judged(PolicyLine(name, subject, rounded, limit, "at most", "passed", words), rounded <= limit)


def at_least(name: str, figure: float, limit: float, words: str, subject: str = "") -> PolicyLine:
    """The line of a figure that may not be less than the limit."""
    rounded = decided(figure)
    return _judged(PolicyLine(name, subject, rounded, limit, "at least", "passed", words), rounded >= limit)


def within(name: str, figure: float, limit: Interval, words: str, subject: str = "") -> PolicyLine:
    """The line of a figure that has to be in an interval, whose ends belong to it."""
    rounded = decided(figure)
    is_met = limit[0] <= rounded <= limit[1]
    return _judged(PolicyLine(name, subject, rounded, limit, "within", "passed", words), is_met)


def permitted(name: str, figure: int, permission: str, words: str) -> PolicyLine:
    """The line of a kind of change that is allowed, or must never happen."""
    line = PolicyLine(name, "", figure, permission, "permission", "passed", words)
    return _judged(line, permission == "allowed" or figure == 0)


def decided(figure: float) -> float:
    """The figure without the digits that depend on the processor; NaN if it cannot be told.

    >>> decided(0.1 + 0.2), decided(1e-17), decided(float("nan"))
    (0.3, 0.0, nan)
    """
    if not isfinite(figure):
        return nan
    return round(float(without_last_digits(np.array([float(figure)]))[0]), DIGITS) + 0.0


def _judged(line: PolicyLine, is_met: bool) -> PolicyLine:
    if line.figure is not None and isnan(line.figure):
        return replace(line, figure=None, status="not judged", words=f"{line.words}: these rows cannot tell")
    return line if is_met else replace(line, status="failed")
