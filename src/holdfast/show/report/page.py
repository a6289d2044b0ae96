"""A page: sections with their facts, and the HTML text that is made of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from markupsafe import Markup

from holdfast.runs.json_file import finite

MOST_BYTES = 500_000  # of a page
LEFT_OUT = "This part was left out to keep the page small: the file of facts beside the page holds it."
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
    shorter: tuple["Section", ...] = ()  # what stands in its place on a page that grows too long: ever less
    left_out: str = ""  # what is not here to keep the page small, in a sentence


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
    warnings: tuple[str, ...] = ()  # above everything else
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
            "warnings": list(self.warnings),
            "headline": list(self.headline),
            "key_figures": [[each.value, each.label, each.note] for each in self.key_figures],
            "answers": [list(each) for each in self.answers],
        }
        return {**head, **self.facts, "sections": {each.id: dict(each.facts) for each in self.sections}}

    @property
    def html(self) -> str:
        """The text of the file: of all that there is, or of as much as keeps it below its size."""
        from holdfast.show.report.environment import rendered

        text = rendered(self)
        excess = len(text.encode()) - MOST_BYTES
        if excess <= 0:
            return text
        for page in self._without(excess)._ever_shorter:
            text = rendered(page)
            if len(text.encode()) <= MOST_BYTES:
                break
        return text

    @property
    def _ever_shorter(self) -> Iterator["Page"]:
        """This page, then with ever shorter sections, and at last with notes in place of the largest ones."""
        sections = list(self.sections)
        yield self
        for level in range(max((len(each.shorter) for each in sections), default=0)):
            for place, section in enumerate(self.sections):
                if level < len(section.shorter):
                    sections[place] = section.shorter[level]
                    yield replace(self, sections=tuple(sections))
        for place in sorted(range(len(sections)), key=lambda place: -_length(sections[place])):
            sections[place] = replaced_by_note(sections[place], LEFT_OUT)
            yield replace(self, sections=tuple(sections))

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


def replaced_by_note(section: Section, note: str) -> Section:
    """A section that says in its place why it is not there."""
    facts, figures = {"note": note}, dict[str, Markup]()
    return replace(section, template="note.html", facts=facts, figures=figures, script="", left_out="")


def _length(section: Section) -> int:
    """Roughly the letters of a section: its facts stand in the page twice, as text and as JSON."""
    return 2 * len(json_for_html(section.facts)) + sum(map(len, section.figures.values()))


def json_for_html(content: Any) -> Markup:
    """JSON that can stand inside a script element, whatever names the content holds.

    >>> str(json_for_html({"name": "</script>"}))
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # nothing in it can end the element
