"""The forward test in words: which rows it is made by, and whether early and late data agree."""

from math import hypot
from typing import NamedTuple

from holdfast.cli.fitted import Fit
from holdfast.cli.study import Study
from holdfast.scoring.metric import Metric, Score
from holdfast.show.scores import score_texts
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.text.numbers import counted, rounded_percent

CHANCE = 2.0  # standard errors of a difference between two scores
RARELY, OFTEN = 0.05, 0.25  # fractions of the trees that ask the same question first
MOST_STAGES = 4


class Tested(NamedTuple):
    """What the test rows say of a model."""

    study: Study
    metric: Metric
    later: Score | None  # on the test rows, which are later ones if there are test stages
    earlier: Score | None  # on random rows of the stages before


def tested(fit: Fit) -> Tested:
    """What the test rows say of the chosen tree."""
    return Tested(fit.study, fit.trained.metric, fit.chosen.test, fit.chosen.earlier_test)


def disagreement(fit: Fit) -> list[str]:
    """What says that early and late data disagree, or that nobody can tell; empty if nothing does."""
    return [*score_disagreement(tested(fit)), *filter(None, [_root_text(fit)])]


def score_disagreement(of_model: Tested) -> list[str]:
    """The same by the scores alone, which every model has."""
    return [text for text in (_mute_text(of_model), _scores_text(of_model)) if text]


def scores_disagree(of_model: Tested) -> bool:
    """True if later rows give the model another score than earlier ones, by more than chance."""
    study, metric, later, earlier = of_model
    rows = study.test, study.earlier_test
    if later is None or earlier is None or not all(each and each.can_tell(metric) for each in rows):
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
    groups = " (whole groups)" if study.test is not None and study.test.true_values.groups is not None else ""
    return f"{later}, and {counted(study.n_earlier_test, 'random row')}{groups} of the stages before"


def known_text(study: Study) -> str:
    """How many of the later rows belong to groups that are known; nothing without groups."""
    if study.test is None or study.test.true_values.groups is None:
        return ""
    return (
        f"; {study.n_known:,} of the {study.n_test:,} belong to groups of which earlier rows are learnt from"
    )


def both_legend(study: Study) -> str:
    """Which rows the two scores are of."""
    return (
        f"Later rows: stage {stages_text(study.test_stages)}, after all that the trees have learnt from. "
        "Earlier rows: drawn at random from the stages before, and held out as well."
    )


def _mute_text(of_model: Tested) -> str:
    """A sentence if the later rows can say nothing of the score."""
    study, metric = of_model.study, of_model.metric
    if not study.test_stages or study.test is None or study.test.can_tell(metric):
        return ""
    return (
        f"The later rows are too few, or too much alike, to say what the {metric.title} will be: hold out "
        "more of them by a greater --test."
    )


def _scores_text(of_model: Tested) -> str:
    study, metric, later, earlier = of_model
    if not scores_disagree(of_model) or later is None or earlier is None:
        return ""
    on_later, on_earlier = score_texts([later, earlier], metric)
    expect = (
        "Expect of new rows what the later ones give, at best."
        if later.value < earlier.value
        else "The later rows are easier: do not count on it."
    )
    return (
        f"Early and late data disagree: {metric.title} {on_later} on rows of stage "
        f"{stages_text(study.test_stages)}, and {on_earlier} on random rows of the stages before. "
        f"{expect}"
    )


def _root_text(fit: Fit) -> str:
    """A sentence if the early trees do not ask what the chosen tree asks first, and the others do."""
    if not fit.study.early_stages or not fit.split_support:
        return ""
    root = fit.split_support[0]
    if root.references > RARELY or root.candidates < OFTEN:
        return ""
    return (
        f"Early and late data disagree on what comes first: {rounded_percent(root.references)} of the "
        f"reference trees, of stage {stages_text(fit.study.early_stages)}, ask the root's question, about "
        f"{printable(root.feature)}, and {rounded_percent(root.candidates)} of the candidate trees, of all "
        "training rows."
    )
