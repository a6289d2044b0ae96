"""The templates: jinja2 with autoescape, the numbers of the house, and one theme for page and pictures."""

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from holdfast._version import __version__
from holdfast.show.report.figures import colour_rules
from holdfast.show.report.page import Page, json_for_html
from holdfast.text.lines import NO_BREAK, label_text
from holdfast.text.numbers import (
    count_text,
    counted,
    duration,
    fixed_text,
    number_text,
    percent_text,
    rounded_percent,
)

_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"  # of Hebrew, Arabic and their kin
_RIGHT_TO_LEFT = re.compile(rf"{_LETTER}+(?:[\s_\-]+{_LETTER}+)*")
NOTHING = "\N{EN DASH}"  # where a number is not known


@cache
def environment() -> Environment:
    """The environment that all templates are read in."""
    made = Environment(
        loader=PackageLoader("holdfast.show.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters |= {
        "number": _known(number_text),
        "fixed": _known(fixed_text),
        "percent": _known(percent_text),
        "whole_percent": _known(rounded_percent),
        "count": _known(_thousands),
        "counted": _known(counted),
        "duration": _known(duration),
        "label": label_text,
        "unbroken": _unbroken,
        "isolated": isolated,
        "json": json_for_html,
    }
    made.globals |= {"source": _source, "version": __version__}
    return made


def rendered(page: Page) -> str:
    """The HTML text of the page."""
    # The colours of all pictures of this page, once for light and once for dark.
    figures = "".join(figure for section in page.sections for figure in section.figures.values())
    used = sorted(set(re.findall(r"var\(--c-([0-9a-f]{6})\)", figures)))
    return environment().get_template("page.html").render(page=page, colours=Markup(colour_rules(used)))


def _known(filter_: Any) -> Any:
    """The filter, with a dash for what is not known."""

    def filtered(value: Any, *args: Any, **options: Any) -> str:
        return NOTHING if value is None or value != value else filter_(value, *args, **options)

    return filtered


def _unbroken(text: str) -> str:
    """The text, in which no line ends before a percent sign."""
    return text.replace(" %", f"{NO_BREAK}%")


def isolated(text: str) -> Markup:
    """The text from left to right, with what is written from right to left in it kept by itself.

    >>> str(isolated("a < 1"))
    'a &lt; 1'
    """
    return Markup(_RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(text))))  # after escaping


def _thousands(count: float) -> str:
    return f"{count:,.0f}" if count == round(count) else count_text(count)


def _source(name: str) -> Markup:
    """A style sheet or a script as it is: files of ours, with nothing of the user's."""
    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0].strip())
