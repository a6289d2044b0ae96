"""Pictures in a page: SVG whose colours follow the theme, with ids of their own."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from colorsys import hls_to_rgb, rgb_to_hls
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from holdfast._text import CUT
from holdfast.data.schema import Label
from holdfast.tree.rules_text import FULL_LIST, branch_text, node_marks
from holdfast.tree.svg import EDGE, GREY, INK, OUTLINE, PAPER, SHADE
from holdfast.tree.text import NodeTexts
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
MOST_BYTES, MOST_LEAVES = 150_000, 80  # of one drawing of a tree
NOTHING = "\N{EN DASH}"  # where a figure is not known
LONGEST_TITLE = 600  # letters that appear when one points at a node
SMALLEST = 0.72  # of the least width that a drawing asks for: then it fits more screens as a whole
_COLOUR = re.compile(r"(?<![&\w])#([0-9a-fA-F]{6})\b")
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Figure:
    """A chart with its caption."""

    svg: Markup
    caption: str = ""


@dataclass(frozen=True)
class Drawing:
    """A drawing of a tree, and the same as an indented list, which stands for it on a narrow screen."""

    svg: Markup
    outline: Sequence[Mapping[str, Any]] = ()
    id: str = ""
    title: str = ""


@dataclass(frozen=True)
class Hover:
    """A point of a chart that tells more when one points at it: where, what, and further attributes."""

    x: float
    y: float
    title: str = ""
    radius: float = 6.0
    attributes: str = ""


def chart(display: Any, name: str, hovers: Iterable[Hover] = (), role: str = "img") -> Markup:
    """A display of show/plots as a part of a page; the hovers are transparent discs above it."""
    svg = display.to_svg()
    scale = 72 / display.figure_.dpi
    height = display.figure_.get_figheight() * 72
    discs = []
    for each in hovers:
        x, y = display.ax_.transData.transform((each.x, each.y)) * scale
        title = f"<title>{escape(each.title)}</title>" if each.title else ""
        discs.append(
            f'<circle cx="{x:.1f}" cy="{height - y:.1f}" r="{each.radius:g}" fill="transparent"'
            f"{each.attributes}>{title}</circle>"
        )
    svg = svg.replace("</svg>", f"{''.join(discs)}</svg>")
    return inline_svg(svg.replace('role="img"', f'role="{role}"', 1), name)


def drawing(tree: Tree, name: str, room: int = MOST_BYTES, **options: Any) -> Markup | None:
    """The drawing of a tree; None if it takes more bytes than there is room for."""
    if tree.n_leaves > MOST_LEAVES:
        return None
    svg = inline_svg(tree.to_svg(**options), name)
    return svg if len(svg.encode()) <= room else None


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
        condition = branch_text(tree, parent, is_yes, counts=True, most=FULL_LIST, known=texts.known)
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
