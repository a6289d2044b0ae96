"""A page: sections with their facts, and the HTML text that is made of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from markupsafe import Markup

from holdfast.runs.json_file import finite

MOST_BYTES = 500_000  # of a page
# Who a section is for, and the heading over all sections for them.
AUDIENCES = {
    "change": "What changes, and for whom",
    "clinician": "The tree and what it says",
    "data scientist": "The evidence behind it",
    "risk manager": "The record of the change",
}


@dataclass(frozen=True)
class Section:
    """One part of a page: facts, and the template that shows them."""

    id: str  # of the element, and the key of its facts in the JSON
    title: str
    audience: str  # a key of AUDIENCES
    template: str  # a file in templates/
    facts: Mapping[str, Any]  # plain data: text, numbers, lists and dicts
    figures: Mapping[str, Markup] = field(default_factory=dict)  # pictures, which are not among the facts
    script: str = ""  # a file in templates/ that the section needs, if any
    spare: tuple[str, ...] = ()  # figures that a page can do without, those it would miss least first


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
    headline: tuple[str, ...]  # paragraphs: the first is set large
    key_figures: tuple[KeyFigure, ...]
    sections: tuple[Section, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)  # that belong to no section
    answers: tuple[tuple[str, str], ...] = ()  # below the key figures: what a reader asks, and the answer

    @property
    def parts(self) -> Iterator[tuple[str, str, list[Section]]]:
        """The sections by audience: who they are for, the heading, and the sections."""
        for audience, sections in groupby(self.sections, lambda section: section.audience):
            yield audience, AUDIENCES[audience], list(sections)

    @property
    def scripts(self) -> list[str]:
        """The scripts that the sections need, each once."""
        return list(dict.fromkeys(section.script for section in self.sections if section.script))

    @property
    def all_facts(self) -> dict[str, Any]:
        """All that the page says, as plain data: as it stands in the page, and in the file beside it."""
        head = {
            "page": self.kind,
            "title": self.title,
            "subtitle": self.subtitle,
            "headline": list(self.headline),
            "key_figures": [[each.value, each.label, each.note] for each in self.key_figures],
            "answers": [list(each) for each in self.answers],
        }
        return {**head, **self.facts, "sections": {each.id: dict(each.facts) for each in self.sections}}

    @property
    def html(self) -> str:
        """The text of the file, without as many of the spare figures as make it too long."""
        from holdfast.show.report.environment import rendered

        text = rendered(self)
        excess = len(text.encode()) - MOST_BYTES
        return text if excess <= 0 else rendered(self._without(excess))

    def _without(self, excess: int) -> "Page":
        """The page without spare figures of so many bytes."""
        sections = list(self.sections)
        for place, section in enumerate(sections):
            figures = dict(section.figures)
            for name in section.spare:
                if excess > 0:
                    excess -= len(figures.pop(name).encode())
            sections[place] = replace(section, figures=figures)
        return replace(self, sections=tuple(sections))


def json_for_html(content: Any) -> Markup:
    """JSON that can stand inside a script element, whatever names the content holds.

    >>> str(json_for_html({"name": "</script>"}))
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # nothing in it can end the element
