"""The page of a fitted model: what the tree says, and the evidence behind it."""

from collections.abc import Iterator
from typing import Any

from holdfast.show.report.fitted import Fitted, fitted_of
from holdfast.show.report.given import Given
from holdfast.show.report.page import Page, Section
from holdfast.show.report.sections.calibration import calibration_section
from holdfast.show.report.sections.case import fit_case_section
from holdfast.show.report.sections.features import features_section
from holdfast.show.report.sections.frontier import frontier_section
from holdfast.show.report.sections.headline import headline, key_figures, subtitle, title
from holdfast.show.report.sections.replications import replications_section
from holdfast.show.report.sections.rules import rules_section
from holdfast.show.report.sections.schema import schema_section
from holdfast.show.report.sections.scores import scores_section
from holdfast.show.report.sections.settings import settings_section
from holdfast.show.report.sections.sizes import sizes_section
from holdfast.show.report.sections.spread import spread_section
from holdfast.show.report.sections.support import support_section
from holdfast.show.report.sections.tree import tree_section
from holdfast.tree.tree import Tree
from holdfast.tree.wording import WARNING, list_warnings


def page_of(subject: Any, given: Given) -> Page:
    """The page of a run, an estimator, a tree or an ensemble."""
    fitted = fitted_of(subject, given)
    known = (f"{WARNING}{warning}" for warning in fitted.record.get("warnings", ()))
    return Page(
        kind="fit",
        title=given.title or title(fitted),
        subtitle=subtitle(fitted),
        warnings=tuple(dict.fromkeys([*known, *list_warnings(fitted.model)])),
        headline=headline(fitted),
        key_figures=key_figures(fitted),
        sections=tuple(each for each in _sections(fitted) if each is not None),
    )


def _sections(fitted: Fitted) -> Iterator[Section | None]:
    """In the order of the page; None for what is not known of this model."""
    if isinstance(fitted.model, Tree):
        yield tree_section(fitted)
        if fitted.model.n_leaves > 1:
            yield fit_case_section(fitted)
        yield rules_section(fitted)
        if fitted.supports:
            yield support_section(fitted)
    yield scores_section(fitted)
    if fitted.frontier is not None and fitted.chosen is not None:
        yield frontier_section(fitted)
        yield sizes_section(fitted)
    yield features_section(fitted)
    yield calibration_section(fitted)
    yield spread_section(fitted)
    yield replications_section(fitted)
    yield schema_section(fitted)
    yield settings_section(fitted)
