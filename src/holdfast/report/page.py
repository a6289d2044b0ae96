"""A report: sections of sentences, tables and pictures, as one offline HTML file with its facts beside it."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from holdfast import _view as view
from holdfast._files import replace_file
from holdfast._text import NO_BREAK, label_text, number_text
from holdfast._version import __version__
from holdfast._view import TextTable
from holdfast.data.schema import Label
from holdfast.errors import DataError, ParameterError
from holdfast.governance.model_card import make_model_card
from holdfast.report.figures import Drawing, Figure, colour_rules
from holdfast.runs.files import finite, write_json

MOST_BYTES = (
    500_000  # of a page: what could grow is bounded by the caps of tables, rules, drawings and the box
)
MOST_ROWS = 40  # of a table
_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"  # of Hebrew, Arabic and related scripts
_RIGHT_TO_LEFT = re.compile(rf"{_LETTER}+(?:[\s_\-]+{_LETTER}+)*")
# Who a section is for, and the heading over all sections for them.
AUDIENCES = {
    "change": "What changes, and for whom",
    "clinician": "The tree and its predictions",
    "data scientist": "Evidence",
    "risk manager": "The record of the change",
}
Part = str | TextTable | view.Section | Figure | Drawing


@dataclass(frozen=True)
class ReportOptions:
    """What a report is given besides its subject."""

    X: Any = None  # rows, for calibration and flips
    y: Any = None
    model_card: dict[str, Any] = field(default_factory=dict)  # in the user's words, by name
    positive: Label | None = None  # the class that matters; None: that of the model
    title: str | None = None
    replications: Any = None  # of a stable tree, from model.replicate(X, y)


@dataclass(frozen=True)
class PageSection:
    """One section of a page: parts in their order, or a template of its own that shows `facts`."""

    id: str  # of the element, and the key of its facts in the JSON
    title: str
    audience: str  # a key of AUDIENCES
    parts: Sequence[Part] = ()
    template: str = ""  # a file in templates/, above the parts
    facts: Mapping[str, Any] = field(default_factory=dict)  # plain data for the template and the JSON
    figures: Mapping[str, Markup] = field(default_factory=dict)  # of the template
    script: str = ""  # a file in templates/ that the section needs, if any

    @property
    def all_facts(self) -> dict[str, Any]:
        """What the section shows, as plain data."""
        texts = [each for each in self.parts if isinstance(each, str | TextTable | view.Section)]
        found = {name: each for name, each in view.View(*texts).to_dict().items() if each}
        return {**found, **self.facts}


@dataclass(frozen=True)
class KeyFigure:
    """A number that the reader should see first, what it is, and what it means."""

    value: str
    label: str
    note: str = ""
    tone: str = ""  # "good", "bad" or "warn", where it is one of these


@dataclass(frozen=True)
class Page:
    """A page: what it is about in one sentence or two, the key figures, and the sections."""

    kind: str  # "fit", "update", ...
    title: str
    subtitle: str
    headline: Sequence[str]  # paragraphs: the first is set large
    sections: Sequence[PageSection]
    key_figures: Sequence[KeyFigure] = ()
    warnings: Sequence[str] = ()  # above everything else
    answers: Sequence[tuple[str, str]] = ()  # below the key figures: a reader's question, and the answer
    facts: Mapping[str, Any] = field(default_factory=dict)  # that belong to no section

    @property
    def by_audience(self) -> Iterator[tuple[str, str, list[PageSection]]]:
        """Who sections are for, the heading, and the sections."""
        for audience, sections in groupby(self.sections, lambda section: section.audience):
            yield audience, AUDIENCES[audience], list(sections)

    @property
    def scripts(self) -> list[str]:
        """The scripts that the sections need, each once."""
        return list(dict.fromkeys(section.script for section in self.sections if section.script))

    @property
    def script_facts(self) -> dict[str, Any]:
        """The facts that the scripts read."""
        return {"sections": {each.id: dict(each.facts) for each in self.sections if each.script}}

    @property
    def all_facts(self) -> dict[str, Any]:
        """All that the page shows, as plain data: the file beside it."""
        return {
            "page": self.kind,
            "title": self.title,
            "subtitle": self.subtitle,
            "warnings": list(self.warnings),
            "headline": list(self.headline),
            "key_figures": [[each.value, each.label, each.note] for each in self.key_figures],
            "answers": [list(each) for each in self.answers],
            **self.facts,
            "sections": {each.id: each.all_facts for each in self.sections},
        }

    @property
    def html(self) -> str:
        """The text of the file."""
        drawn = [svg for each in self.sections for svg in each.figures.values()]
        drawn += [
            part.svg for each in self.sections for part in each.parts if isinstance(part, Figure | Drawing)
        ]
        # The colours of all pictures of this page, once for light and once for dark.
        used = sorted(set(re.findall(r"var\(--c-([0-9a-f]{6})\)", "".join(drawn))))
        return environment().get_template("page.html").render(page=self, colours=Markup(colour_rules(used)))


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

    Parameters
    ----------
    subject : fitted estimator, Tree, Run, UpdateRun, TreeDiff, RetrainAudit, ModelComparison or StageSequence
        What the report is about.
    path : str or path
        The page, which makes no request: a name that ends in .html.
    X, y : optional
        Rows to test by, if the subject has none.
    model_card : path or dict, optional
        A file `model-card.toml`, or a dict of its entries; `case` is what a row is called.
    positive : label, optional
        The class whose probability is shown. Default: that of the model.
    title : str, optional
        The title of the page.
    replications : Replications, optional
        From `model.replicate(X, y)`.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"Cannot write to '{target}': the page is HTML. Give a name that ends in .html.")
    if not target.parent.is_dir():
        raise DataError(f"Cannot write to '{target}': there is no folder '{target.parent}'. Make it first.")
    if (X is None) != (y is None):
        known, other = ("y", "X") if X is None else ("X", "y")
        raise ParameterError(f"The report is given {known} without {other}: give both, or neither.")
    page = page_of(
        subject, ReportOptions(X, y, make_model_card(model_card).to_dict(), positive, title, replications)
    )
    replace_file(target, page.html.encode())
    write_json(page.all_facts, target.with_suffix(".json"))


def page_of(subject: Any, options: ReportOptions | None = None) -> Page:
    """The page of a result; the words that its run was given hold unless there are other ones."""
    from holdfast.report import change, fit, generic

    options = options or ReportOptions()
    known = getattr(subject, "facts", None)
    if isinstance(known, Mapping):
        options = replace(options, model_card={**known.get("model_card", {}), **options.model_card})
    if options.positive is None:
        options = replace(options, positive=options.model_card.get("positive"))
    pages: dict[str, Callable[[Any, ReportOptions], Page]] = {
        "Tree": fit.fit_page,
        "Ensemble": fit.fit_page,
        "TableEstimator": fit.fit_page,
        "Run": fit.fit_page,
        "UpdateRun": change.update_page,
        "TreeDiff": change.diff_page,
        "ModelComparison": generic.generic_page,
        "RetrainAudit": generic.generic_page,
        "StageSequence": generic.generic_page,
    }
    for kind in type(subject).__mro__:
        if kind.__name__ in pages:
            return pages[kind.__name__](subject, options)
    raise ParameterError(
        f"There is no report of a {type(subject).__name__}: give a fitted model, a run, an update, "
        "a diff, an audit, a comparison or a sequence."
    )


# -- templates --------------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    """The environment of all templates: jinja2 with autoescape."""
    made = Environment(
        loader=PackageLoader("holdfast.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number_text,
        "label": label_text,
        "unbroken": lambda text: text.replace(" %", f"{NO_BREAK}%"),
        "isolated": isolated,
        "json": json_for_html,
    }
    made.globals |= {"source": _source, "version": __version__, "cut": _cut}
    made.tests |= {
        "table": lambda part: isinstance(part, TextTable),
        "list": lambda part: isinstance(part, view.Section),
        "figure": lambda part: isinstance(part, Figure),
        "drawing": lambda part: isinstance(part, Drawing),
    }
    return made


def isolated(text: str) -> Markup:
    """The text from left to right, with what is written from right to left in it kept by itself.

    >>> str(isolated("a < 1"))
    'a &lt; 1'
    """
    return Markup(_RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(text))))  # after escaping


def json_for_html(content: Any) -> Markup:
    """JSON that can stand inside a script element, whatever names the content holds.

    >>> str(json_for_html({"name": "</script>"}))
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # nothing in it can end the element


def _cut(table: TextTable) -> tuple[TextTable, list[str]]:
    """The table with at most so many rows as a page shows, and the notes below it."""
    whole = "the file of facts beside the page"
    shown, note = replace(table.drop_empty_columns(), whole=table.whole or whole).truncate(MOST_ROWS)
    return shown, [*([note] if note else []), *table.note.splitlines()]


def _source(name: str) -> Markup:
    """A style sheet or a script as it is: files of ours, with nothing of the user's."""
    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0].strip())
