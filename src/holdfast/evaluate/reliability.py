"""Reliability of firmness: among the rows called firm, how many change when the model is trained again."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import number_text
from holdfast.explain.firmness import level_text, levels

QUARTERS = (0.25, 0.5, 0.75)


class FirmnessPair(NamedTuple):
    """The test rows of a pair of models: how firm the first was, and how much each prediction changed."""

    firmness: FloatArray  # share of trees that agree; for numbers, the width of the interval
    changed: FloatArray  # 1 for another class; for numbers, the change in standard deviations of the target
    weight: FloatArray


def firmness_reliability(pairs: Sequence[FirmnessPair], is_classes: bool) -> list[dict[str, Any]]:
    """Compute for each level of firmness the share of rows and the mean change, with standard errors.

    The pairs count alike, and the errors are those of a ratio over the pairs; NaN if there is one pair.

    >>> pair = FirmnessPair(np.array([1.0, 1.0, 0.6, 0.8]), np.array([0.0, 0.0, 1.0, 0.0]), np.ones(4))
    >>> firm = firmness_reliability([pair, pair], True)[0]
    >>> firm["level"], firm["rows"], firm["changed"], firm["changed_error"]
    ('95 % or more', 0.5, 0.0, 0.0)
    """
    if not pairs:
        return []
    bands = _levels_of_shares() if is_classes else _levels_of_widths(pairs)
    return [{"level": level, **_rates(pairs, low, high)} for level, low, high in bands]


def _levels_of_shares() -> Iterator[tuple[str, float, float]]:
    """Yield the levels of shares, the firmest first."""
    for low, high in reversed(levels()):
        yield level_text(low, high), low, high


def _levels_of_widths(pairs: Sequence[FirmnessPair]) -> Iterator[tuple[str, float, float]]:
    """Yield a level for each quarter of the rows, those with the narrowest intervals first."""
    widths = np.concatenate([each.firmness for each in pairs])
    cuts = np.unique(np.quantile(widths, QUARTERS, method="inverted_cdf"))
    ends = [-np.inf, *np.nextafter(cuts[cuts < widths.max()], np.inf).tolist(), np.inf]
    for low, high in pairwise(ends):
        inside = widths[(widths >= low) & (widths < high)]
        ends_of = dict.fromkeys(number_text(float(each), 3) for each in (inside.min(), inside.max()))
        yield " to ".join(ends_of), low, high


def _rates(pairs: Sequence[FirmnessPair], low: float, high: float) -> dict[str, float]:
    """Compute share of rows, mean change and its standard error between two ends."""
    inside = [np.asarray((each.firmness >= low) & (each.firmness < high), np.float64) for each in pairs]
    by_pair = list(zip(inside, pairs, strict=True))
    share = np.array([float(np.average(part, weights=each.weight)) for part, each in by_pair])
    moved = np.array([float(np.average(part * each.changed, weights=each.weight)) for part, each in by_pair])
    n, total = len(pairs), float(share.sum())
    rate = float(moved.sum()) / total if total else np.nan
    rest = moved - rate * share
    error = float(np.sqrt(n / (n - 1) * np.square(rest).sum())) / total if n > 1 and total else np.nan
    return {"rows": float(share.mean()), "changed": rate, "changed_error": error}
