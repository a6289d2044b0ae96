"""Whether early and late data agree: by the scores of a model, and by what trees ask first."""

from math import hypot

from holdfast.runs.fit import Fit
from holdfast.scoring.enough import MIN_EVENTS, MIN_ROWS
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.text.numbers import rounded_percent, with_errors

CHANCE = 2.0  # standard errors of a difference between two scores
RARELY, OFTEN = 0.05, 0.25  # fractions of the trees that ask the same question first
MOST_STAGES = 4


def disagreement(fit: Fit) -> list[str]:
    """What says that early and late data disagree, or that nobody can tell; empty if nothing does."""
    root = _root_text(fit) if fit.is_stable else ""
    return [text for text in (_too_few_text(fit), _scores_text(fit), root) if text]


def scores_disagree(fit: Fit) -> bool:
    """True if later rows give the model another score than earlier ones, by more than chance."""
    later, earlier = fit.test, fit.earlier_test
    if later is None or earlier is None:
        return False
    return abs(later.value - earlier.value) > CHANCE * hypot(later.error, earlier.error)


def stages_text(stages: tuple[str, ...]) -> str:
    """The stages as the data calls them; of many, the first and the last."""
    names = [printable(stage) for stage in stages]
    return joined(names) if len(names) <= MOST_STAGES else f"{names[0]} to {names[-1]}, {len(names)} of them"


def _too_few_text(fit: Fit) -> str:
    """A sentence if the test rows can say nothing of the score."""
    roles = fit.roles
    named = {
        "test rows" if not roles.test_stages else "later rows": roles.test,
        "earlier rows": roles.earlier_test,
    }
    few = [f"{name} ({rows.too_few})" for name, rows in named.items() if rows is not None and rows.too_few]
    if not few:
        return ""
    return (
        f"Too few to judge the {fit.metric.title} by: {' and '.join(few)}. A score needs {MIN_ROWS} rows "
        f"and, of classes, {MIN_EVENTS} rows in each of two: hold out more of them by a greater test."
    )


def _scores_text(fit: Fit) -> str:
    """A sentence if later rows give another score than earlier ones."""
    metric, later, earlier = fit.metric, fit.test, fit.earlier_test
    if not scores_disagree(fit) or later is None or earlier is None:
        return ""
    values, errors = zip(*((metric.shown(each.value), each.error) for each in (later, earlier)), strict=True)
    on_later, on_earlier = with_errors(values, errors)
    expect = (
        "Expect of new rows what the later ones give, at best."
        if later.value < earlier.value
        else "The later rows are easier: do not count on it."
    )
    return (
        f"Early and late data disagree: {metric.title} {on_later} on rows of stage "
        f"{stages_text(fit.roles.test_stages)}, and {on_earlier} on random rows of the stages before. "
        f"{expect}"
    )


def _root_text(fit: Fit) -> str:
    """A sentence if the early trees do not ask what the chosen tree asks first, and the others do."""
    if not fit.roles.early_stages or not fit.split_support:
        return ""
    root = fit.split_support[0]
    if root.candidates is None or root.references > RARELY or root.candidates < OFTEN:
        return ""
    return (
        f"Early and late data disagree on what comes first: {rounded_percent(root.references)} of the "
        f"reference trees, of stage {stages_text(fit.roles.early_stages)}, ask the root's question, about "
        f"{printable(root.feature)}, and {rounded_percent(root.candidates)} of the candidate trees, of all "
        "training rows."
    )
