"""Why a tree predicts what it predicts for one row."""

from collections.abc import Sequence
from math import isnan

from holdfast.data.schema import Target
from holdfast.evidence.counterfactuals import Change, Counterfactual
from holdfast.evidence.one_row import Value
from holdfast.evidence.outcome_at import LeafOutcome
from holdfast.evidence.row_explanation import PathStep, RowExplanation
from holdfast.show.risk import interval_sentence
from holdfast.show.split_support import support_words
from holdfast.show.support_marks import same_rows_words
from holdfast.text.lines import NO_BREAK, item_text, label_text, printable
from holdfast.text.lists import joined
from holdfast.text.numbers import counted, number_text, percent_range, rounded_percent, told_apart
from holdfast.text.table import Table
from holdfast.text.view import Section, View

WIDEST = 36  # columns of a condition
NEAR = 0.02  # of the range: a threshold that is this near is worth a word
DIGITS = 4  # of a number that was measured or computed
MOST_ALTERNATIVES = 4  # categories named


def row_explanation_view(found: RowExplanation) -> View:
    """The prediction, the path split by split, and what would change the prediction."""
    path: Table | str = ""
    if found.steps:
        rows = [[printable(each.condition), _step_words(each)] for each in found.steps]
        path = Table(["the path", "this row, and the split"], rows, sides="<<", wrap=(WIDEST, 60))
    changes = [
        f"{number}. {_changes_words(each.changes)}: {_leads_to(each, found.target)}"
        for number, each in enumerate(found.counterfactuals, 1)
    ]
    return View(
        " ".join(_outcome_sentences(found)),
        path,
        Section(_changes_title(found), changes) if changes else "",
        *_remarks(found),
    )


# -- the outcome ------------------------------------------------------------------------------------------


def _outcome_sentences(found: RowExplanation) -> list[str]:
    """The outcome, what its interval is about, and how the tree decides where that needs a word."""
    texts = [_outcome_sentence(found), interval_sentence(found.outcome), printable(found.decides)]
    return [*filter(None, texts)]


def _outcome_sentence(found: RowExplanation) -> str:
    outcome, name = found.outcome, printable(found.target.name)
    said = f"Prediction of {name}: {_prediction(outcome)}"
    rows = f"{counted(outcome.n_rows, 'row')} like this one"
    if outcome.label is None:
        return f"{said}. In training there were {rows}{_mean_words(outcome)}."
    if outcome.observed is None or outcome.interval is None:
        return f"{said}, {_risk(outcome)}."
    interval = "" if outcome.is_about_estimate else f" (95 % interval {percent_range(*outcome.interval)})"
    if outcome.is_as_observed and not outcome.is_weighted:
        return f"{said}, {_risk(outcome)}: {_frequency(outcome)} rows like this one{interval}."
    label, by_weight = label_text(outcome.label), "by weight " if outcome.is_weighted else ""
    return (
        f"{said}. The tree's estimate for {label} is {rounded_percent(outcome.estimate)}. Of {rows}, "
        f"{_count(outcome)} {'was' if round(outcome.count or 0.0) == 1 else 'were'} {label}: "
        f"{by_weight}{rounded_percent(outcome.observed)}{interval}."
    )


def _mean_words(outcome: LeafOutcome) -> str:
    """The mean of the rows and its interval, as far as they are known."""
    if outcome.observed is None or (outcome.interval is None and outcome.is_as_observed):
        return ""
    ends = ""
    if outcome.interval is not None and not outcome.is_about_estimate:
        ends = f" (95 % interval {' to '.join(told_apart(*outcome.interval))})"
    return f", with mean {number_text(outcome.observed, DIGITS)}{ends}"


def _prediction(outcome: LeafOutcome) -> str:
    if outcome.label is None:
        return f"{outcome.statistic} {number_text(float(outcome.prediction), DIGITS)}".strip()
    return label_text(outcome.prediction)


def _risk(outcome: LeafOutcome) -> str:
    return f"probability of {label_text(outcome.label)} {rounded_percent(outcome.probability or 0.0)}"


def _frequency(outcome: LeafOutcome) -> str:
    return f"{_count(outcome)} of {outcome.n_rows:,.0f}"


def _count(outcome: LeafOutcome) -> str:
    """The rows of the class; shrunk or weighted values have no whole counts."""
    count = outcome.count or 0.0
    about = "" if abs(count - round(count)) < 1e-6 else "about "
    return f"{about}{round(count):,}"


# -- the path ---------------------------------------------------------------------------------------------


def _step_words(step: PathStep) -> str:
    """The value of the row and how near it is to the other branch; then the support of the split."""
    words = [", ".join(filter(None, [_value_words(step), _nearness(step)]))]
    if step.support is not None:
        words.append(support_words(step.support))
    elif step.low_support is not None:
        words.append(same_rows_words(step.low_support))
    return "; ".join(words).replace(" %", f"{NO_BREAK}%")


def _value_words(step: PathStep) -> str:
    name = printable(step.feature)
    if step.reads:
        told = ", ".join(f"{printable(column)} is {_value(value)}" for column, value in step.reads)
        return (
            told
            if step.state == "known"
            else f"{told}, so the split is undecided: it goes with missing values"
        )
    if step.state == "unseen":
        return f"{name} is {_value(step.value)}, unseen in training: it goes with missing values"
    if step.state == "unseen here":
        return f"{name} is {_value(step.value)}, which no training row here had: the tree sends it this way"
    if step.state == "missing":
        return f"{name} is not recorded, and missing values go this way"
    return f"{name} is {_value(step.value)}"


def _value(value: Value) -> str:
    if value is None:
        return "not recorded"
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    return number_text(float(value)) if is_number else item_text(value)


def _nearness(step: PathStep) -> str:
    """How far the row is from the other answer, and a word if that is near."""
    if step.distance is None or step.share is None:
        return ""
    share = f"{rounded_percent(step.share)} of its range"
    if step.deviations is not None:
        share = f"{share}, {number_text(step.deviations, 2)} standard deviations"
    near = ": near" if step.share <= NEAR else ""
    if step.threshold is None:
        return ""  # between two categories of an ordered feature: the value itself says it
    side = "below" if step.answer else "above"
    return f"{number_text(step.distance, DIGITS)} {side} ({share}){near}"


# -- what would change it ---------------------------------------------------------------------------------


def _changes_title(found: RowExplanation) -> str:
    one = len(found.counterfactuals) == 1
    return f"The smallest change{'' if one else 's'} that would lead to {found.looked_for}"


def _changes_words(changes: Sequence[Change]) -> str:
    return " and ".join(map(_change_words, changes))


def _change_words(change: Change) -> str:
    new, old = _value(change.new), _value(change.old)
    told = [_value(label) for label in change.alternatives]
    also = f" (or {joined(told, MOST_ALTERNATIVES)})" if told else ""
    return f"{printable(change.column)} from {old} to {new}{also}"


def _leads_to(each: Counterfactual, target: Target) -> str:
    outcome = each.outcome
    recorded = "".join(_recorded_words(change, outcome.n_rows) for change in each.changes)
    if outcome.label is None:
        rows = counted(outcome.n_rows, "row")
        return f"{printable(target.name)} {_prediction(outcome)} ({rows}){recorded}"
    words = "" if outcome.is_as_observed else "observed: "
    seen = f" ({words}{_frequency(outcome)})" if outcome.n_rows else ""
    return f"{_prediction(outcome)}, {_risk(outcome)}{seen}{recorded}"


def _recorded_words(change: Change, n_rows: float) -> str:
    """How many of the rows there had a value of the column, where some had none."""
    name = printable(change.column)
    if change.n_recorded is None:
        return ""
    if isnan(change.n_recorded):
        return f"; not all of these rows had {name} recorded"
    return f"; {change.n_recorded:,.0f} of {n_rows:,.0f} had {name} recorded"


def _remarks(found: RowExplanation) -> list[str]:
    """What the reader must know of changes that were not found."""
    remarks = []
    if not found.n_leaves:
        remarks.append(f"No leaf of the tree has {found.looked_for}.")
    elif not found.counterfactuals and not found.unanswered:
        remarks.append(f"No change that is allowed leads to {found.looked_for}.")
    if found.unanswered:
        asked = joined([f"({printable(text)})" for text in found.unanswered], 3)
        remarks.append(
            f"Leaves that need another value of {asked} were left out: a custom feature cannot be "
            "changed directly."
        )
    return remarks
