"""Pictures in a page: compact SVG whose colours follow the theme, with ids of their own.

A display of show/plots is drawn on a figure of its own, never through pyplot, which would keep it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from colorsys import hls_to_rgb, rgb_to_hls
from io import StringIO
from typing import Any
from xml.sax.saxutils import quoteattr

from markupsafe import Markup

from holdfast.data.schema import Label
from holdfast.show.conditions import FULL_LIST, answer_text
from holdfast.show.node_texts import NodeTexts
from holdfast.show.palette import EDGE, GREY, INK, OUTLINE, PAPER, SHADE
from holdfast.show.support_marks import node_marks
from holdfast.text.lines import CUT
from holdfast.tree.tree import LEAF, Tree

# The colours of text, lines and paper when it is dark; every other colour changes its lightness.
DARK = {
    INK: "#e6ebf1",
    GREY: "#a9b4c0",
    OUTLINE: "#7c8998",
    EDGE: "#46515e",
    SHADE: "#252d37",
    PAPER: "#1b2129",
    "#000000": "#e6ebf1",
}
LONGEST_TITLE = 600  # letters that appear when one points at a node
SMALLEST = 0.72  # of the least width that a drawing asks for: then it fits more screens as a whole
_COLOUR = re.compile(r"(?<![&\w])#([0-9a-fA-F]{6})\b")
_TAG = re.compile(r"<[^>]*>")


def display_svg(
    display: Any, name: str, alt: str, size: tuple[float, float] = (7.0, 4.2), **options: Any
) -> Markup:
    """A display of show/plots, drawn on a new figure of so many inches."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from holdfast.show.plots.display import STYLE

    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        display.plot(ax=figure.subplots(), **options)
        return figure_svg(figure, name, alt)


def figure_svg(figure: Any, name: str, alt: str) -> Markup:
    """A figure of matplotlib; `name` goes before all its ids."""
    from matplotlib import rc_context

    from holdfast.show.plots.display import STYLE

    text = StringIO()
    with rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return inline_svg(_compact(text.getvalue()), name, alt)


def inline_svg(svg: str, name: str, alt: str = "") -> Markup:
    """SVG text of ours as a part of a page: ids begin with `name`, and colours follow the theme."""
    text = _TAG.sub(lambda tag: _themed(_named(tag[0], name)), svg[svg.index("<svg") :])
    text = re.sub(
        r"min-width:(\d+)px", lambda width: f"min-width:{SMALLEST * int(width[1]):.0f}px", text, count=1
    )
    text = re.sub(rf"<title>([^<]{{{LONGEST_TITLE}}})[^<]+", _cut_title, text)
    if alt:
        start = re.sub(r'\s(?:role|aria-label)="[^"]*"', "", text[: text.index(">")])
        text = f'{start} role="img" aria-label={quoteattr(alt)}{text[text.index(">") :]}'
    return Markup(text)  # the pictures escape what they write


def outline(
    tree: Tree, positive: Label | None, changed: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """The tree as an indented list, a line a node: it stands for the drawing on a narrow screen."""
    texts = NodeTexts.of(tree, positive=positive, changed=changed)
    lines, marks = [], node_marks(tree, at_answers=True)
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        is_yes, is_leaf = bool(tree.left[parent] == node), tree.feature[node] == LEAF
        condition = answer_text(tree, parent, is_yes, counts=True, most=FULL_LIST, known=texts.known)
        condition += marks.get(node, "")
        support = [texts.said(node), *texts.support(node)] if is_leaf else [texts.inner_support(node)]
        lines.append(
            {
                "node": node,
                "depth": int(tree.node_depth[node]) - 1,
                "condition": condition,
                "says": texts.large(node) if is_leaf else "",
                "support": " · ".join(filter(None, support)),
                "below": texts.changed.get(node, ""),
            }
        )
    return lines


def with_short_titles(svg: Markup, longest: int) -> Markup:
    """The picture with less of what appears when one points at a node."""
    return Markup(re.sub(rf"<title>([^<]{{{longest}}})[^<]+", _cut_title, svg))  # it was escaped before


def _cut_title(title: re.Match[str]) -> str:
    """The start of a title that nobody can read to its end, whole entities only."""
    start = title[1].rsplit("&", 1)[0] if "&" in title[1][-8:] else title[1]
    return f"<title>{start} {CUT}"


def _named(tag: str, name: str) -> str:
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = re.sub(r'\b(?:xlink:)?href="#', f'href="#{name}-', tag)
    return tag.replace("url(#", f"url(#{name}-")


def _themed(tag: str) -> str:
    return _COLOUR.sub(lambda found: f"var(--c-{found[1].lower()})", tag)


def _compact(svg: str) -> str:
    """What matplotlib writes, without what a page has no use for."""
    drops = (r"<metadata>.*?</metadata>", r"<!--.*?-->", r"<style[^>]*>.*?</style>", r' xmlns:xlink="[^"]*"')
    for pattern in drops:
        svg = re.sub(pattern, "", svg, flags=re.DOTALL)
    svg = _TAG.sub(lambda tag: _without_fonts(_rounded(tag[0])), svg)
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    size = f'width="{float(width) * 4 / 3:.0f}" height="{float(height) * 4 / 3:.0f}" class="plot" '
    svg = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?)\sheight="[^"]*"', r"\1", svg, count=1)
    return re.sub(r">\s+<", "><", svg.replace("<svg ", f"<svg {size}", 1))


def _rounded(tag: str) -> str:
    """Places to hundredths of a point."""
    if tag.startswith("<svg"):
        return tag
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), tag)


def _without_fonts(tag: str) -> str:
    """Letters in the font of the page."""
    tag = re.sub(r"font: (?:\d+ )?([\d.]+px) [^;\"]*", r"font-size: \1", tag)
    return re.sub(r"font-family: [^;\"]*;?", "", tag)


# -- colours ----------------------------------------------------------------------------------------------


def colour_rules(colours: Iterable[str]) -> str:
    """Style rules that give each colour of the pictures its value in the light and in the dark."""
    found = list(colours)
    light = _rules(found, str)
    dark = _rules(found, dark_colour)
    return (
        f":root{{{light}}}@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{{dark}}}}}@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    )


def _rules(colours: list[str], shown: Callable[[str], str]) -> str:
    return ";".join(f"--c-{colour}:{shown(f'#{colour}')}" for colour in colours)


def dark_colour(colour: str) -> str:
    """The colour for a dark page: what was light becomes dark, and the other way round.

    >>> dark_colour("#ffffff"), dark_colour("#0072b2")
    ('#1b2129', '#45abe4')
    """
    if colour in DARK:
        return DARK[colour]
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    turned = hls_to_rgb(hue, 0.13 + 0.79 * (1 - lightness) ** 1.3, min(saturation, 0.75))
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in turned)
