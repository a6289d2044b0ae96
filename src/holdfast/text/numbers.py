"""Numbers as text: values with their errors."""

from collections.abc import Sequence
from math import floor, log10
from statistics import median

MOST_DECIMALS = 6
HUGE = 1e6  # numbers from here on have four digits and a power of ten


def with_errors(values: Sequence[float], errors: Sequence[float]) -> list[str]:
    """The values, each with its standard error, in as many decimals as the errors have digits to tell.

    >>> with_errors([0.97123, 0.95], [0.0121, 0.0144])
    ['0.971 ± 0.012', '0.950 ± 0.014']
    """
    if max(map(abs, values), default=0.0) >= HUGE:
        return [f"{value:.4g} ± {error:.2g}" for value, error in zip(values, errors, strict=True)]
    known = [error for error in errors if error > 0]
    decimals = min(max(0, 1 - floor(log10(median(known)))), MOST_DECIMALS) if known else 3
    return [
        f"{value:.{decimals}f} ± {error:.{decimals}f}" for value, error in zip(values, errors, strict=True)
    ]
