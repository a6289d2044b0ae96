"""How a figure is held against a limit: at the limit a line passes, and one step beyond it fails."""

from math import isfinite

import numpy as np

from holdfast.arrays import DIGITS, without_last_digits
from holdfast.stability.policy.forms import Interval
from holdfast.stability.policy.verdict import PolicyLine, Status


def at_most(name: str, figure: float, limit: float, words: str, subject: str = "") -> PolicyLine:
    """The line of a figure that may not be greater than the limit."""
    rounded = decided(figure)
    return _judged(name, subject, rounded, limit, rounded is not None and rounded <= limit, words)


def at_least(name: str, figure: float, limit: float, words: str, subject: str = "") -> PolicyLine:
    """The line of a figure that may not be less than the limit."""
    rounded = decided(figure)
    return _judged(name, subject, rounded, limit, rounded is not None and rounded >= limit, words)


def within(name: str, figure: float, limit: Interval, words: str, subject: str = "") -> PolicyLine:
    """The line of a figure that has to be in an interval, whose ends belong to it."""
    rounded = decided(figure)
    is_met = rounded is not None and limit[0] <= rounded <= limit[1]
    return _judged(name, subject, rounded, limit, is_met, words)


def not_judged(name: str, limit: float | Interval | str, why: str, subject: str = "") -> PolicyLine:
    """The line of a figure that there is not."""
    return PolicyLine(name, subject, None, limit, "not judged", why)


def decided(figure: float) -> float | None:
    """The figure without the digits that depend on the processor; None if it cannot be told.

    >>> decided(0.1 + 0.2), decided(1e-17), decided(float("nan"))
    (0.3, 0.0, None)
    """
    if not isfinite(figure):
        return None
    return round(float(without_last_digits(np.array([float(figure)]))[0]), DIGITS) + 0.0


def _judged(
    name: str, subject: str, figure: float | None, limit: float | Interval, is_met: bool, words: str
) -> PolicyLine:
    if figure is None:
        return not_judged(name, limit, f"{words}: these rows cannot tell", subject)
    status: Status = "passed" if is_met else "failed"
    return PolicyLine(name, subject, figure, limit, status, words)
