"""Scores as the terminal shows them."""

from collections.abc import Sequence

from holdfast.scoring.metric import Metric, Score
from holdfast.text.numbers import with_errors
from holdfast.tree.wording import told_apart

DIGITS = 3, 4  # of two scores that are compared: the fewest, and the most to tell them apart


def score_texts(scores: Sequence[Score], metric: Metric) -> list[str]:
    """The scores with the sign that people expect, each with its standard error."""
    return with_errors([metric.shown(score.value) for score in scores], [score.error for score in scores])


def disappointment(metric: Metric, test: Score | None, expected: float) -> str:
    """A sentence if the test rows give clearly less than was expected, and print so; else nothing."""
    if test is None or test.value > expected - 2 * test.error:
        return ""
    given, hoped = told_apart(metric.shown(test.value), metric.shown(expected), *DIGITS)
    if given == hoped:
        return ""
    side = "more" if metric.is_loss else "less"
    return (
        f"The test rows give {side} than was expected: {metric.title} {given} instead of {hoped}. Believe "
        "the test rows."
    )
