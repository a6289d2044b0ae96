"""The probability that drawings and rules tell: of two classes that of the positive one."""

from collections.abc import Sequence

from holdfast.data.schema import Target
from holdfast.evidence.outcome_at import LeafOutcome
from holdfast.text.lines import shortened
from holdfast.text.numbers import percent_range, told_apart
from holdfast.tree.wording import format_class_names

LONGEST_NAME = 16  # letters of a class in a heading


def probability_name(target: Target, place: int | None) -> str:
    """What the probability is of: p, or with the positive class p(died)."""
    return "p" if place is None else f"p({shortened(format_class_names(target)[place], LONGEST_NAME)})"


def told_probability(fractions: Sequence[float], place: int | None, predicted: int) -> float:
    """The fraction of the positive class; of the predicted one where there is none.

    Where errors cost different amounts, the predicted one need not be the most frequent.
    """
    return float(fractions[predicted if place is None else place])


def interval_sentence(outcome: LeafOutcome) -> str:
    """The interval of the estimate of a leaf or, of an interval of its rows, why the estimate lies outside.

    "" where the interval is that of the rows and holds the estimate.
    """
    if outcome.is_about_estimate and outcome.interval is not None:
        is_rate = outcome.label is not None
        ends = percent_range(*outcome.interval) if is_rate else " to ".join(told_apart(*outcome.interval))
        return f"The 95 % interval of the tree's estimate is {ends}."
    if not outcome.is_outside:
        return ""
    weights = "weights, " if outcome.is_weighted else ""
    reason = (
        "it was set by hand"
        if outcome.is_by_hand
        else f"it also draws on {weights}the teacher's predictions or the nodes above"
    )
    return f"The tree's estimate lies outside this interval: {reason}."
