"""Pictures of a page: SVG with unique ids, whose colours follow the theme."""

import re
from collections.abc import Iterable, Mapping, Sequence
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

# Colours of text, lines and paper in the dark theme; other colours change their lightness.
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
NOTHING = "\N{EN DASH}"  # an unknown figure
LONGEST_TITLE = 600  # letters of the text of a node
SMALLEST = 0.72  # of the least width of a drawing: so it fits more screens
_COLOUR = re.compile(r"(?<![&\w])#([0-9a-fA-F]{6})\b")
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Figure:
    """A chart with its caption."""

    svg: Markup
    caption: str = ""


@dataclass(frozen=True)
class Drawing:
    """A drawing of a tree, and an indented list that replaces it on a narrow screen."""

    svg: Markup
    outline: Sequence[Mapping[str, Any]] = ()
    id: str = ""
    title: str = ""
    caption: str = ""  # of the drawing, not of the list


@dataclass(frozen=True)
class Hover:
    """A point of a chart with a text or other attributes."""

    x: float
    y: float
    title: str = ""
    radius: float = 6.0
    attributes: str = ""


def chart(display: Any, name: str, hovers: Iterable[Hover] = (), role: str = "img") -> Markup:
    """Return a display as inline SVG, with the hovers as transparent discs above it."""
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
    """Return the drawing of a tree; None if it has too many leaves or bytes."""
    if tree.n_leaves > MOST_LEAVES:
        return None
    svg = inline_svg(tree.to_svg(**options), name)
    return svg if len(svg.encode()) <= room else None


def inline_svg(svg: str, name: str, alt: str = "") -> Markup:
    """Return our own SVG as a part of a page: ids begin with `name`, and colours follow the theme."""
    text = _TAG.sub(
        lambda tag: _COLOUR.sub(_theme_colour, _prefix_ids(tag[0], name)), svg[svg.index("<svg") :]
    )
    text = re.sub(
        r"min-width:(\d+)px", lambda width: f"min-width:{SMALLEST * int(width[1]):.0f}px", text, count=1
    )
    text = re.sub(rf"<title>([^<]{{{LONGEST_TITLE}}})[^<]+", _cut_title, text)
    if alt:
        start = re.sub(r'\s(?:role|aria-label)="[^"]*"', "", text[: text.index(">")])
        text = f'{start} role="img" aria-label={quoteattr(alt)}{text[text.index(">") :]}'
    return Markup(text)  # text in the pictures is escaped already


def outline(
    tree: Tree, positive: Label | None, changed: Mapping[int, str] | None = None
) -> list[dict[str, Any]]:
    """Return the tree as an indented list, a line for each node."""
    texts = NodeTexts.of(tree, positive=positive, changed=changed)
    lines, marks = [], node_marks(tree, at_branches=True)
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        is_yes, is_leaf = bool(tree.left[parent] == node), tree.feature[node] == LEAF
        condition = branch_text(tree, parent, is_yes, counts=True, most=FULL_LIST, known=texts.known)
        condition += marks.get(node, "")
        support = [texts.second_line(node), *texts.support(node)] if is_leaf else [texts.inner_support(node)]
        lines.append(
            {
                "node": node,
                "depth": int(tree.node_depth[node]) - 1,
                "condition": condition,
                "prediction": texts.large(node) if is_leaf else "",
                "support": " · ".join(filter(None, support)),
                "below": texts.changed.get(node, ""),
            }
        )
    return lines


def _cut_title(title: re.Match[str]) -> str:
    """Cut a long title after its last whole entity."""
    start = title[1].rsplit("&", 1)[0] if "&" in title[1][-8:] else title[1]
    return f"<title>{start} {CUT}"


def _prefix_ids(tag: str, name: str) -> str:
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = re.sub(r'\b(?:xlink:)?href="#', f'href="#{name}-', tag)
    return tag.replace("url(#", f"url(#{name}-")


def _theme_colour(colour: re.Match[str]) -> str:
    return f"var(--c-{colour[1].lower()})"


# -- colours ----------------------------------------------------------------------------------------------


def colour_rules(colours: Iterable[str]) -> str:
    """Return style rules with the value of each colour in the light and in the dark theme."""
    names = list(colours)
    light = ";".join(f"--c-{name}:#{name}" for name in names)
    dark = ";".join(f"--c-{name}:{dark_colour(f'#{name}')}" for name in names)
    return (
        f":root{{{light}}}@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{{dark}}}}}@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    )


def dark_colour(colour: str) -> str:
    """Return the colour for the dark theme: light colours become dark, dark ones light.

    >>> dark_colour("#ffffff"), dark_colour("#0072b2")
    ('#1b2129', '#45abe4')
    """
    if colour in DARK:
        return DARK[colour]
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    turned = hls_to_rgb(hue, 0.13 + 0.79 * (1 - lightness) ** 1.3, min(saturation, 0.75))
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in turned)
