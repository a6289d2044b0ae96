"""Writing a report: the page of a result, and the facts beside it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.data.schema import Label
from holdfast.errors import DataError, ParameterError
from holdfast.files import replace_file
from holdfast.governance.model_card import model_card_of
from holdfast.runs.json_file import write_json
from holdfast.show.report.given import Given
from holdfast.show.report.page import Page

# name of a class, or of one that it is made from: the module of pages/ that has its page
_PAGES: dict[str, str] = {
    "Ensemble": "fit",
    "ModelComparison": "comparison",
    "RetrainAudit": "audit",
    "Run": "fit",
    "StageSequence": "stages",
    "TableEstimator": "fit",
    "Tree": "fit",
    "TreeDiff": "diff",
    "UpdateRun": "update",
}


def write_report(
    subject: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    model_card: Any = None,
    positive: Label | None = None,
    title: str | None = None,
    replications: Any = None,
) -> None:
    """Write a report on a model, a run or a result: one HTML file, and its facts as JSON beside it.

    The page is one file that makes no request. `X` and `y` are rows to test by, if the subject has none.
    `model_card` is a file `model-card.toml`, a ModelCard, or a dict of its lines, such as `intended_use`;
    `case` is what a row is called ("patient"). `replications` come from `model.replicate(X, y)`.
    """
    target = Path(path)
    _check_place(target)
    if (X is None) != (y is None):
        known, other = ("y", "X") if X is None else ("X", "y")
        raise ParameterError(f"The report is given {known} without {other}: give both, or neither.")
    given = Given(X, y, model_card_of(model_card).to_dict(), positive, title, replications)
    write_page(page_of(subject, given), target)


def write_page(page: Page, path: Path) -> None:
    """Write the page, and beside it what it says as JSON."""
    replace_file(path, page.html.encode())
    write_json(page.all_facts, path.with_suffix(".json"))


def _check_place(path: Path) -> None:
    """A DataError if no page can stand there: before it is made, and as its facts stand beside it."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"Cannot write to '{path}': the page is HTML. Give a name that ends in .html.")
    if not path.parent.is_dir():
        raise DataError(f"Cannot write to '{path}': there is no folder '{path.parent}'. Make it first.")


def page_of(subject: Any, given: Given | None = None) -> Page:
    """The page of a result; what its run was told about the model holds unless other words are given."""
    given = given or Given()
    known = getattr(subject, "facts", None)
    if isinstance(known, Mapping):
        given = replace(given, model_card={**known.get("model_card", {}), **given.model_card})
    if given.positive is None:
        given = replace(given, positive=given.model_card.get("positive"))
    for kind in type(subject).__mro__:
        if kind.__name__ in _PAGES:
            page: Page = import_module(f"holdfast.show.report.pages.{_PAGES[kind.__name__]}").page_of(
                subject, given
            )
            return page
    raise ParameterError(
        f"There is no report of a {type(subject).__name__}: give a fitted model, a run, an update, "
        "a diff, an audit or a comparison."
    )
