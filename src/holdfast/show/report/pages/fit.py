"""The page of a fitted model: what the tree says, and the evidence behind it."""

from typing import Any

from holdfast.runs.run import Run
from holdfast.show.report.given import Given
from holdfast.show.report.page import KeyFigure, Page
from holdfast.show.report.sections.tree import tree_section
from holdfast.tree.tree import Tree


def page_of(subject: Any, given: Given) -> Page:
    """The page of a run, an estimator, a tree or an ensemble."""
    model = subject.model if isinstance(subject, Run) else getattr(subject, "tree_", subject)
    assert isinstance(model, Tree)
    name = model.schema.target.name
    return Page(
        kind="fit",
        title=given.title or f"{name}: a tree of {model.n_leaves} leaves",
        subtitle="",
        headline=(),
        key_figures=(KeyFigure(str(model.n_leaves), "leaves"),),
        sections=(tree_section(model),),
    )
