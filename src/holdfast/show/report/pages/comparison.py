"""The page of a comparison: models on the same folds, what their differences are worth, and which to take."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from holdfast.evaluate.compare import ModelComparison
from holdfast.evaluate.compare_text import failure_text, readable_tree
from holdfast.evaluate.displays import ComparisonDisplay
from holdfast.show.plots.display import LATER
from holdfast.show.report.figures import inline_svg
from holdfast.show.report.given import Given
from holdfast.show.report.page import KeyFigure, Page, Section
from holdfast.show.report.sections.tables import tables_section
from holdfast.text.lines import printable
from holdfast.text.numbers import counted, fixed_text, with_errors


def page_of(comparison: ModelComparison, given: Given) -> Page:
    """The page of models that were compared."""
    name = given.about.get("name") or comparison.target.name
    n_rows = sum(int(fold.held_out.sum()) for fold in comparison.folds)
    folds = counted(len(comparison.folds), "fold")
    how, *told = comparison.sentences
    found, noise = told[:2], told[2:]
    return Page(
        kind="comparison",
        title=given.title or f"{name}: models compared",
        subtitle=f"{len(comparison)} models on the same {folds}, {n_rows:,} rows held out",
        headline=(" ".join(found), " ".join([how, *noise])) if found else (how,),
        key_figures=tuple(_key_figures(comparison)),
        sections=tuple(_sections(comparison)),
        facts={"models": comparison_facts(comparison), "baseline": comparison.baseline},
    )


def comparison_facts(comparison: ModelComparison) -> list[dict[str, Any]]:
    """One entry per model, the best first."""
    columns = comparison.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _sections(comparison: ModelComparison) -> Iterator[Section]:
    display = ComparisonDisplay.from_result(comparison, ax=LATER)
    picture = {"scores": inline_svg(display.to_svg(), "comparison", display.heading)}
    (scores_title, scores), *others = comparison.tables()
    yield tables_section(
        "scores",
        scores_title,
        [("", scores)],
        figures=picture,
        marked=[0],
        paragraphs=list(comparison.notes),
    )
    for title, cells in others:
        yield tables_section(title.split()[-1].lower() + "s" * title.endswith("fold"), title, [("", cells)])
    failures = [text for name in comparison.names if (text := failure_text(comparison, name))]
    if failures:
        yield tables_section("failures", "Models that failed", lists=[("", failures)])


def _key_figures(comparison: ModelComparison) -> Iterator[KeyFigure]:
    best = int(comparison.order[0])
    if np.isnan(comparison.mean[best]):
        yield KeyFigure("None", "Best model", "every model failed", "bad")
        return
    yield KeyFigure(printable(comparison.best), "Best model", _score(comparison, best), "good")
    differences = comparison.differences(comparison.best)
    near = [
        name
        for name, is_near, unclear in zip(
            comparison.names, differences.within_noise, differences.cannot_tell, strict=True
        )
        if (is_near or unclear) and name != comparison.best
    ]
    yield KeyFigure(str(len(near)), "Others within noise of it", ", ".join(map(printable, near)) or "none")
    readable = readable_tree(comparison)
    if readable is not None:
        note = f"{_score(comparison, readable)}, {_behind(comparison, readable)}"
        yield KeyFigure(printable(comparison.names[readable]), "Best tree that a person can read", note)


def _score(comparison: ModelComparison, place: int) -> str:
    value, error = comparison.metric.shown(float(comparison.mean[place])), float(comparison.error[place])
    return f"{comparison.metric.title} {with_errors([value], [error])[0]}"


def _behind(comparison: ModelComparison, place: int) -> str:
    differences = comparison.differences(comparison.best)
    if comparison.names[place] == comparison.best:
        return "the best of all"
    mean, error = float(differences.mean[place]), float(differences.error[place])
    return f"{fixed_text(mean, 3, '+')} ± {fixed_text(error, 3)} to the best"
