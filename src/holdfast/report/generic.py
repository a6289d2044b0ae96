"""The page of an audit, a comparison or a sequence: the parts of its view in order."""

from dataclasses import replace
from typing import Any

from holdfast._view import Picture, Section, TextTable, View
from holdfast.report.figures import Figure, inline_svg
from holdfast.report.page import Page, PageSection, Part, ReportOptions

TITLES = {
    "ModelComparison": ("comparison", "models compared", "Models compared on the same folds"),
    "RetrainAudit": ("audit", "effect of retraining", "How much models change on retraining"),
    "StageSequence": ("stages", "sequence of trees", "Trees in time, one per stage"),
}


def generic_page(result: Any, options: ReportOptions) -> Page:
    """Return the page of an audit, a comparison or a sequence of trees."""
    kind, about, subtitle = TITLES[type(result).__name__]
    view: View = result._view()
    sentences = [part for part in view.parts if isinstance(part, str)]
    trees = result.trees if kind == "stages" else ()
    target = trees[0].schema.target if trees else result.target
    sections = [
        PageSection(f"part-{number}", title, "data scientist", parts)
        for number, (title, parts) in enumerate(_by_title(view), 1)
    ]
    if trees:
        last = inline_svg(trees[-1].to_svg(), "last-tree", f"The tree of {result.labels[-1]}")
        title = f"The tree of {result.labels[-1]}"
        sections.append(PageSection("last", title, "data scientist", [Figure(last)]))
    return Page(
        kind=kind,
        title=options.title or f"{options.model_card.get('name') or target.name}: {about}",
        subtitle=subtitle,
        headline=sentences[:1],
        sections=sections,
        facts={"result": result.to_dict()} if hasattr(result, "to_dict") else {},
    )


def _by_title(view: View) -> list[tuple[str, list[Part]]]:
    """Group the parts after the first sentence: a table or a list with a title begins a section."""
    groups: list[tuple[str, list[Part]]] = []
    for number, part in enumerate(view.parts):
        if number == 0 and isinstance(part, str):
            continue
        title = part.title if isinstance(part, TextTable | Section) else ""
        if not groups or title:
            groups.append((title or "Results", []))
        if isinstance(part, TextTable | Section):
            part = replace(part, title="")
        groups[-1][1].append(
            Figure(inline_svg(part.draw(), f"picture-{number}")) if isinstance(part, Picture) else part
        )
    return groups
