"""The forward test in words: which rows it is made by, and whether early and late data agree."""

from math import hypot

from holdfast.cli.fitted import Fit
from holdfast.cli.study import Study
from holdfast.cli.words import counted, with_errors
from holdfast.data.wording import joined
from holdfast.stability.features import rounded_percent
from holdfast.tree.wording import printable

CHANCE = 2.0  # standard errors of a difference between two scores
RARELY, OFTEN = 0.05, 0.25  # shares of the trees that ask the same question first
MOST_STAGES = 4


def disagreement(fit: Fit) -> list[str]:
    """What says that early and late data disagree, or that nobody can tell; empty if nothing does."""
    return [text for text in (_mute_text(fit), _scores_text(fit), _root_text(fit)) if text]


def scores_disagree(fit: Fit) -> bool:
    """True if later rows give the chosen tree another score than earlier ones, by more than chance."""
    later, earlier = fit.chosen.test, fit.chosen.earlier_test
    rows = fit.study.test, fit.study.earlier_test
    if (
        later is None
        or earlier is None
        or not all(each and each.can_tell(fit.trained.metric) for each in rows)
    ):
        return False
    return abs(later.value - earlier.value) > CHANCE * hypot(later.error, earlier.error)


def stages_text(stages: tuple[str, ...]) -> str:
    """The stages as the file calls them; of many, the first and the last."""
    names = [printable(stage) for stage in stages]
    return joined(names) if len(names) <= MOST_STAGES else f"{names[0]} to {names[-1]}, {len(names)} of them"


def forward_text(study: Study) -> str:
    """Which rows are later than all that is learnt from, and which are earlier ones."""
    later = f"{counted(study.n_test, 'row')} of stage {stages_text(study.test_stages)}"
    if study.earlier_test is None:
        return later
    groups = " (whole groups)" if study.test is not None and study.test.truth.groups is not None else ""
    return f"{later}, and {counted(study.n_earlier_test, 'random row')}{groups} of the stages before"


def known_text(study: Study) -> str:
    """How many of the later rows belong to groups that are known; nothing without groups."""
    if study.test is None or study.test.truth.groups is None:
        return ""
    return (
        f"; {study.n_known:,} of the {study.n_test:,} belong to groups of which earlier rows are learnt from"
    )


def both_legend(study: Study) -> str:
    """What stands in the two columns of scores."""
    return (
        f"Later rows: stage {stages_text(study.test_stages)}, after all that the trees have learnt from. "
        "Earlier rows: drawn at random from the stages before, and held out as well."
    )


def _mute_text(fit: Fit) -> str:
    """A sentence if the later rows can say nothing of the score."""
    later, metric = fit.study.test, fit.trained.metric
    if not fit.study.test_stages or later is None or later.can_tell(metric):
        return ""
    return (
        f"The later rows are too few, or too much alike, to say what the {metric.title} will be: hold out "
        "more of them by a greater --test."
    )


def _scores_text(fit: Fit) -> str:
    later, earlier, metric = fit.chosen.test, fit.chosen.earlier_test, fit.trained.metric
    if not scores_disagree(fit) or later is None or earlier is None:
        return ""
    on_later, on_earlier = with_errors(
        [metric.shown(later.value), metric.shown(earlier.value)], [later.error, earlier.error]
    )
    expect = (
        "Expect of new rows what the later ones give, at best."
        if later.value < earlier.value
        else "The later rows are easier: do not count on it."
    )
    return (
        f"Early and late data disagree: {metric.title} {on_later} on rows of stage "
        f"{stages_text(fit.study.test_stages)}, and {on_earlier} on random rows of the stages before. "
        f"{expect}"
    )


def _root_text(fit: Fit) -> str:
    """A sentence if the early trees do not ask what the chosen tree asks first, and the others do."""
    if not fit.study.early_stages or not fit.certificates:
        return ""
    root = fit.certificates[0]
    if root.references > RARELY or root.candidates < OFTEN:
        return ""
    return (
        f"Early and late data disagree on what comes first: {rounded_percent(root.references)} of the "
        f"reference trees, of stage {stages_text(fit.study.early_stages)}, ask the root's question, about "
        f"{printable(root.feature)}, and {rounded_percent(root.candidates)} of the candidate trees, of all "
        "training rows."
    )
