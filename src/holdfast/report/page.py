"""Reports: sections of sentences, tables and pictures as one offline HTML file, with its data as JSON."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from holdfast._files import replace_file
from holdfast._text import NO_BREAK, label_text, number_text
from holdfast._version import __version__
from holdfast._view import Section, TextTable, View
from holdfast.data.schema import Label
from holdfast.errors import DataError, ParameterError
from holdfast.governance.model_card import make_model_card
from holdfast.report.figures import Drawing, Figure, colour_rules
from holdfast.runs.files import finite, write_json

MOST_BYTES = 500_000  # of a page: tables, rules, drawings and the form are each bounded
MOST_ROWS = 40  # of a table
_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"  # of Hebrew, Arabic and related scripts
_RIGHT_TO_LEFT = re.compile(rf"{_LETTER}+(?:[\s_\-]+{_LETTER}+)*")
# The readers of a section, and the heading above all sections for them.
AUDIENCES = {
    "change": "What changes, and for whom",
    "clinician": "The tree and its predictions",
    "data scientist": "Evidence",
    "risk manager": "The record of the change",
}
# The functions that make pages, by the kind of the subject: each module is imported when it is needed.
PAGES = {
    "Tree": "fit.fit_page",
    "Ensemble": "fit.fit_page",
    "TableEstimator": "fit.fit_page",
    "Run": "fit.fit_page",
    "UpdateRun": "change.update_page",
    "TreeDiff": "change.diff_page",
    "ModelComparison": "generic.generic_page",
    "RetrainAudit": "generic.generic_page",
    "StageSequence": "generic.generic_page",
}
Part = str | TextTable | Section | Figure | Drawing


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report."""

    X: Any = None  # rows for scores and calibration
    y: Any = None
    model_card: dict[str, Any] = field(default_factory=dict)
    positive: Label | None = None  # class whose probability is shown; None: that of the model
    title: str | None = None
    replications: Any = None  # from model.replicate(X, y)


@dataclass(frozen=True)
class PageSection:
    """A section of a page: parts in order, or a template that shows `facts`."""

    id: str  # of the element, and key in the JSON file
    title: str
    audience: str  # a key of AUDIENCES
    parts: Sequence[Part] = ()
    template: str = ""  # a file in templates/, shown above the parts
    facts: Mapping[str, Any] = field(default_factory=dict)  # plain data for template and JSON file
    figures: Mapping[str, Markup] = field(default_factory=dict)  # of the template
    script: str = ""  # a file in templates/, if the section needs one

    @property
    def all_facts(self) -> dict[str, Any]:
        """The content of the section as plain data."""
        texts = [each for each in self.parts if isinstance(each, str | TextTable | Section)]
        content = {name: each for name, each in View(*texts).to_dict().items() if each}
        return {**content, **self.facts}


@dataclass(frozen=True)
class KeyFigure:
    """A number at the top of the page, its name, and its meaning."""

    value: str
    label: str
    note: str = ""
    tone: str = ""  # "good", "bad" or "warn"


@dataclass(frozen=True)
class Page:
    """A page: its headline, key figures, and sections."""

    kind: str  # "fit", "update", ...
    title: str
    subtitle: str
    headline: Sequence[str]  # paragraphs, the first in large letters
    sections: Sequence[PageSection]
    key_figures: Sequence[KeyFigure] = ()
    warnings: Sequence[str] = ()  # above everything else
    answers: Sequence[tuple[str, str]] = ()  # questions of a reader with answers, below the key figures
    facts: Mapping[str, Any] = field(default_factory=dict)  # of no section

    @property
    def by_audience(self) -> Iterator[tuple[str, str, list[PageSection]]]:
        """The readers, the heading, and the sections for them."""
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
        """The content of the page as plain data, for the JSON file."""
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
        """The text of the HTML file."""
        drawn = [svg for each in self.sections for svg in each.figures.values()]
        drawn += [
            part.svg for each in self.sections for part in each.parts if isinstance(part, Figure | Drawing)
        ]
        # The colours of all pictures, for the light and for the dark theme.
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
    """Write a report on a model, a run or a result: one HTML file, and its content as JSON beside it.

    Parameters
    ----------
    subject : fitted estimator, Tree, Run, UpdateRun, TreeDiff, RetrainAudit, ModelComparison or StageSequence
        The subject of the report.
    path : str or path
        Name of the HTML file, which loads nothing from the internet; it must end in .html.
    X, y : array-like, optional
        Rows for scores and calibration, if the subject has no test rows.
    model_card : path or dict, optional
        A file `model-card.toml`, or a dict of its entries; `case` is the noun for a row.
    positive : label, optional
        Class whose probability is shown. Default: that of the model.
    title : str, optional
        Title of the page. Default: made from the target.
    replications : Replications, optional
        From `model.replicate(X, y)`.

    Examples
    --------
    >>> import tempfile
    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier().fit([[20.0], [50.0]], ["no", "yes"])
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_report(model, folder / "report.html")
    >>> sorted(path.name for path in folder.iterdir())
    ['report.html', 'report.json']
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"Cannot write to '{target}': the page is HTML. Give a name that ends in .html.")
    if not target.parent.is_dir():
        raise DataError(f"Cannot write to '{target}': there is no folder '{target.parent}'. Make it first.")
    if (X is None) != (y is None):
        known, other = ("y", "X") if X is None else ("X", "y")
        raise ParameterError(f"The report was given {known} without {other}: give both, or neither.")
    page = page_of(
        subject, ReportOptions(X, y, make_model_card(model_card).to_dict(), positive, title, replications)
    )
    replace_file(target, page.html.encode())
    write_json(page.all_facts, target.with_suffix(".json"))


def page_of(subject: Any, options: ReportOptions | None = None) -> Page:
    """Return the page of a result; `options` take precedence over the model card of its run."""
    options = options or ReportOptions()
    facts = getattr(subject, "facts", None)
    if isinstance(facts, Mapping):
        options = replace(options, model_card={**facts.get("model_card", {}), **options.model_card})
    if options.positive is None:
        options = replace(options, positive=options.model_card.get("positive"))
    for kind in type(subject).__mro__:
        if kind.__name__ in PAGES:
            module, _, name = PAGES[kind.__name__].partition(".")
            page: Page = getattr(import_module(f"holdfast.report.{module}"), name)(subject, options)
            return page
    raise ParameterError(
        f"There is no report on a {type(subject).__name__}: subject must be a fitted model, a run, an "
        "update, a diff, an audit, a comparison or a sequence."
    )


# -- templates --------------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    """Return the jinja2 environment of all templates, with autoescape."""
    jinja = Environment(
        loader=PackageLoader("holdfast.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {
        "number": number_text,
        "label": label_text,
        "unbroken": lambda text: text.replace(" %", f"{NO_BREAK}%"),
        "isolated": isolate_scripts,
        "json": json_for_html,
    }
    jinja.globals |= {"source": _source, "version": __version__, "truncate": _truncate}
    jinja.tests |= {
        "table": lambda part: isinstance(part, TextTable),
        "list": lambda part: isinstance(part, Section),
        "figure": lambda part: isinstance(part, Figure),
        "drawing": lambda part: isinstance(part, Drawing),
    }
    return jinja


def isolate_scripts(text: str) -> Markup:
    """Isolate words of right-to-left scripts, so that the rest of the text keeps its direction.

    >>> str(isolate_scripts("a < 1"))
    'a &lt; 1'
    """
    return Markup(_RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(text))))  # after escaping


def json_for_html(content: Any) -> Markup:
    """Return JSON that is safe inside a script element.

    >>> str(json_for_html({"name": "</script>"}))
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # no character in it can end the element


def _truncate(table: TextTable) -> tuple[TextTable, list[str]]:
    """Return the table with at most MOST_ROWS rows, and the notes below it."""
    whole = "the JSON file beside the page"
    shown, note = replace(table.drop_empty_columns(), whole=table.whole or whole).truncate(MOST_ROWS)
    return shown, [*([note] if note else []), *table.note.splitlines()]


def _source(name: str) -> Markup:
    """Return a style sheet or a script unescaped: our own files, without text from the data."""
    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0].strip())
