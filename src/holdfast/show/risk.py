"""The probability that drawings and rules tell: of two classes that of the positive one."""

from collections.abc import Sequence

from holdfast.data.schema import Target
from holdfast.evidence.outcome_at import LeafOutcome
from holdfast.text.lines import shortened
from holdfast.tree.wording import class_names

LONGEST_NAME = 16  # letters of a class in a heading


def probability_name(target: Target, place: int | None) -> str:
    """What the probability is of: p, or with the positive class p(died)."""
    return "p" if place is None else f"p({shortened(class_names(target)[place], LONGEST_NAME)})"


def told_probability(fractions: Sequence[float], place: int | None, predicted: int) -> float:
    """The fraction of the positive class; of the predicted one where there is none.

    Where errors cost different amounts, the predicted one need not be the most frequent.
    """
    return float(fractions[predicted if place is None else place])


def outside_sentence(outcome: LeafOutcome) -> str:
    """Why the estimate of a leaf lies outside the interval of what was observed; "" where it does not."""
    if not outcome.is_outside:
        return ""
    weights = "weights, " if outcome.is_weighted else ""
    reason = (
        "it was set by hand"
        if outcome.is_by_hand
        else f"it also draws on {weights}the teacher's predictions or the nodes above"
    )
    return f"The tree's estimate lies outside this interval: {reason}."
