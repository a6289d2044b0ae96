"""The page of an audit: how good each method is, how much it moves on retraining, and what that means."""

from collections.abc import Iterator
from math import isnan

from markupsafe import Markup

from holdfast.evaluate.audit import RetrainAudit
from holdfast.evaluate.audit_text import audit_legend, moving_groups
from holdfast.evaluate.displays import AuditDisplay
from holdfast.show.plots.display import LATER
from holdfast.show.report.figures import inline_svg
from holdfast.show.report.given import Given
from holdfast.show.report.page import KeyFigure, Page, Section
from holdfast.show.report.sections.tables import tables_section
from holdfast.text.lines import printable
from holdfast.text.numbers import fixed_text, percent_text, with_errors

MEANING = (
    "A method that moves gives the same person another answer although nothing about them has changed: only "
    "the sample that it was trained on has. Of two methods that are about equally good, the one that moves "
    "less is the safer one to retrain."
)


def page_of(audit: RetrainAudit, given: Given) -> Page:
    """The page of an audit of retraining."""
    name = given.about.get("name") or audit.target.name
    return Page(
        kind="audit",
        title=given.title or f"{name}: what retraining changes",
        subtitle=f"Audit of {len(audit.methods)} methods, trained again on other samples",
        headline=(audit.summary,),
        key_figures=tuple(_key_figures(audit)),
        answers=tuple(_answers(audit)),
        sections=tuple(_sections(audit)),
        facts={
            "table": list(audit.table),
            "paired": list(audit.paired),
            "label_weight": audit.label_weight,
            "repeats": audit.n_repeats,
            "test_size": audit.test_size,
        },
    )


def _sections(audit: RetrainAudit) -> Iterator[Section]:
    first, *others = audit.tables()
    pictures = {
        against: _picture(audit, against)
        for against in ("churn", "distance")
        if any(not isnan(audit.mean(method, against)) for method in audit.methods)
    }
    yield tables_section(
        "score", "Score against change", [first], figures=pictures, notes=[audit_legend(audit)]
    )
    if others:
        yield tables_section("changes", "Differences, and other changes", others)
    yield tables_section("rows", "Which rows get another answer", lists=moving_groups(audit.rows))


def _picture(audit: RetrainAudit, against: str) -> Markup:
    display = AuditDisplay.from_result(audit, against=against, ax=LATER)
    return inline_svg(display.to_svg(), f"audit-{against}", display.heading)


# -- the first screen -------------------------------------------------------------------------------------


def _moves(audit: RetrainAudit) -> str:
    return "flips" if audit.target.is_classes else "churn"


def _steadiest(audit: RetrainAudit) -> str:
    return min(audit.methods, key=lambda method: round(audit.mean(method, _moves(audit)), 9))


def _best(audit: RetrainAudit) -> str:
    score = audit.measures[0].name
    known = [method for method in audit.methods if not isnan(audit.mean(method, score))]
    return max(known, key=lambda method: round(audit.mean(method, score), 9))


def _key_figures(audit: RetrainAudit) -> Iterator[KeyFigure]:
    score, moves = audit.measures[0], _moves(audit)
    what = "of the rows get another class" if audit.target.is_classes else "of a standard deviation"
    order = sorted(audit.methods, key=lambda method: round(audit.mean(method, moves), 9))
    ends = [(order[0], "steadiest", "good")] + [(order[-1], "moves most", "bad")] * (len(order) > 1)
    for method, words, tone in ends:
        moved = percent_text(audit.mean(method, moves))
        yield KeyFigure(moved, f"{_title(audit, method)} ({words})", what, tone)
    best = _best(audit)
    text = _with_error(audit, best, score.name)
    yield KeyFigure(text, f"Best {score.title}", _title(audit, best))
    yield KeyFigure(
        _with_error(audit, order[0], score.name), f"{score.title} of the steadiest", _title(audit, order[0])
    )


def _with_error(audit: RetrainAudit, method: str, measure: str) -> str:
    mean, error = audit.mean(method, measure), audit.error(method, measure)
    return fixed_text(mean, 3) if isnan(error) else with_errors([mean], [error])[0]


def _title(audit: RetrainAudit, method: str) -> str:
    return printable(audit.titles[method])


def _answers(audit: RetrainAudit) -> Iterator[tuple[str, str]]:
    yield "What it means", MEANING
    score, steadiest, best = audit.measures[0], _steadiest(audit), _best(audit)
    scores = [audit.mean(method, score.name) for method in (steadiest, best)]
    moves = [percent_text(audit.mean(method, _moves(audit))) for method in (steadiest, best)]
    if steadiest == best:
        told = f"{_title(audit, best)} is both the steadiest and the best by {score.title}."
    else:
        told = (
            f"{_title(audit, steadiest)} is the steadiest ({moves[0]}), and "
            f"{fixed_text(scores[1] - scores[0], 3)} of {score.title} behind {_title(audit, best)}, which "
            f"moves {moves[1]}. The table below has the errors of both."
        )
    yield "Which to take", f"{told[:1].upper()}{told[1:]} {_of_trees(audit)}".strip()


def _of_trees(audit: RetrainAudit) -> str:
    """Of the methods that make a single tree, the steadiest, unless it is the steadiest of all."""
    trees = [method for method in audit.methods if not isnan(audit.mean(method, "distance"))]
    if not trees or _steadiest(audit) in trees:
        return ""
    method, score = min(trees, key=lambda each: round(audit.mean(each, _moves(audit)), 9)), audit.measures[0]
    moves = percent_text(audit.mean(method, _moves(audit)))
    return (
        f"Of those that make a single tree, which a person can read, {_title(audit, method)} is the "
        f"steadiest: {moves}, with {score.title} {fixed_text(audit.mean(method, score.name), 3)}."
    )
