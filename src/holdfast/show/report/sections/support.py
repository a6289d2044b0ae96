"""How firmly each split of the tree stands: what trees of other samples ask at the same place."""

from typing import Any

from holdfast.evidence.split_support import SplitSupport
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.show.split_support import support_detail
from holdfast.text.numbers import rounded_percent


def support_section(fitted: Fitted) -> Section:
    """A bar for every split, in the order of the tree."""
    facts = {
        "references": len(fitted.references),
        "candidates": len(fitted.sampled_candidates),
        "splits": [_fact(each, fitted) for each in fitted.supports],
    }
    return Section("support", "How firmly each split stands", "clinician", "support.html", facts)


def _fact(support: SplitSupport, fitted: Fitted) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "node": support.node,
        "depth": support.depth,
        # Not yes and no, which classes may be called.
        "answer": ("if so" if support.place[-1] else "if not") if support.place else "",
        "question": support.short or support.question,
        "support": support.references,
        "support_text": rounded_percent(support.references),
        "candidates": support.candidates,
        "same_way": support.same_way,
        "detail": support_detail(support),
        "thresholds": None if support.thresholds is None else list(support.thresholds),
        "range": None,
    }
    if support.thresholds is not None and not support.levels:
        feature = next(each for each in fitted.schema.features if each.name == support.feature)
        fact["range"] = _places(support.thresholds, feature.low, feature.high)
    return fact


def _places(thresholds: tuple[float, float, float], low: float, high: float) -> list[float] | None:
    """Where the thresholds lie in the range of the feature, from 0 to 1."""
    if not high > low:
        return None
    return [min(max((value - low) / (high - low), 0.0), 1.0) for value in thresholds]
