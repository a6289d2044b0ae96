"""A tree as one SVG picture."""

from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from holdfast.errors import ParameterError
from holdfast.show.conditions import FULL_LIST, answer_text
from holdfast.show.directions import direction_lines
from holdfast.show.edits import edit_lines
from holdfast.show.node_texts import NodeTexts
from holdfast.show.node_titles import MOST_TOLD, inner_title, leaf_title
from holdfast.show.palette import EDGE, GREY, INK, OUTLINE, PAPER, RED, SHADE, darker, nth_colour
from holdfast.show.rules import leaf_conditions
from holdfast.show.support_marks import support_lines
from holdfast.show.svg import (
    MARGIN,
    SMALL,
    TEXT,
    background,
    fitted,
    picture,
    rounded_box,
    text_at,
    text_width,
    wrapped,
)
from holdfast.show.tree_colours import (
    class_colour,
    colour_of_risk,
    ends_of_means,
    highest_risk,
    leaf_colours,
    mean_colour,
)
from holdfast.show.tree_layout import BAR, LINE, PAD, WIDEST, Box, bar_height, extent, first_size, layout
from holdfast.text.lines import printable
from holdfast.text.numbers import number_text
from holdfast.tree.rule import fraction_of_rows
from holdfast.tree.tree import Tree
from holdfast.tree.wording import format_class_names, list_notes, list_warnings

SWATCHES = 5  # of a scale of colours
NEWS = darker(RED, 0.75)  # of letters on a light ground


def tree_svg(
    tree: Tree,
    *,
    title: str | None = None,
    positive: Any = None,
    decimals: int | None = None,
    width: float | None = None,
    missing: bool = False,
    changed: Mapping[int, str] | None = None,
    beside: Sequence[Tree] = (),
) -> str:
    """The tree as the text of an SVG file, which also stands inside an HTML page.

    A tree that fits across a page grows downwards, with yes on the left; a larger one grows to the right,
    with yes above. Every node has its number in `data-node`, and every branch that of its lower end in
    `data-edge`, so that a page can light up the way of a row.
    """
    _check_width(width)
    texts = NodeTexts.of(
        tree, positive=positive, decimals=decimals, missing=missing, changed=changed, beside=beside
    )
    boxes, sideways = layout(texts)
    tree_width = extent(boxes)
    heading, full_width, top = _heading(texts, tree_width, title)
    bottom = top + max(box.y + box.height for box in boxes)
    noted = [*map(printable, list_warnings(tree)), *(f"Note: {printable(note)}" for note in list_notes(tree))]
    below = [texts.key(), *direction_lines(tree, signs=True), *support_lines(tree), *noted, *edit_lines(tree)]
    notes = [line for text in below if text for line in wrapped(text, full_width - 2 * MARGIN)]
    height = bottom + MARGIN + (LINE * len(notes) + 8 if notes else 0)
    parts = [
        background(full_width, height),
        *heading,
        f'<g transform="translate({(full_width - tree_width) / 2:.1f} {top:.1f})">',
        *(_edge(texts, boxes, node, sideways) for node in range(1, tree.n_nodes)),
        *_nodes(texts, boxes, sideways),
        "</g>",
        *(
            text_at(MARGIN, bottom + 24 + LINE * place, note, anchor="start")
            for place, note in enumerate(notes)
        ),
    ]
    return picture(full_width, height, parts, label=title or repr(tree), shown_width=width)


def _check_width(width: float | None) -> None:
    if width is not None and not (isinstance(width, Real) and 0 < width < float("inf")):
        raise ParameterError(f"width={width!r}: give a number of pixels above 0, or None.")


# -- the heading ------------------------------------------------------------------------------------------


def _heading(texts: NodeTexts, width: float, title: str | None) -> tuple[list[str], float, float]:
    """The title and what the colours mean, with the width and height that the picture then needs."""
    name = fitted(printable(title or texts.tree.schema.target.name), max(width - 2 * MARGIN, 2 * WIDEST))
    parts = [text_at(MARGIN, MARGIN + 12, name, size=14, bold=True, anchor="start")]
    x, y = MARGIN + text_width(name, 14, bold=True) + 20, MARGIN + 12.0
    width = max(width, x - 20 + MARGIN)
    right = max(width, 480.0) - MARGIN
    for group in _legend(texts):
        if x + sum(_step(*item) for item in group) > right and x > MARGIN:
            x, y = MARGIN, y + 20
        for label, colour in group:
            if colour:
                parts.append(rounded_box(x, y - 10, 12, 12, colour, OUTLINE, radius=2))
            parts.append(text_at(x + (18 if colour else 0), y, label, anchor="start"))
            x += _step(label, colour)
        width = max(width, x - 14 + MARGIN)
    return parts, width, y + 4


def _step(label: str, colour: str) -> float:
    """How far it is to the next item of the legend."""
    return (18 if colour else 0) + text_width(label, SMALL) + 14


_Items = list[tuple[str, str]]  # labels and colours; a label without a colour is a word before them


def _legend(texts: NodeTexts) -> list[_Items]:
    """What each colour stands for, in groups that stand on one line."""
    target = texts.tree.schema.target
    names = [fitted(name, WIDEST, SMALL) for name in format_class_names(target)]
    if texts.positive is not None:
        marks = np.linspace(0.0, highest_risk(texts), SWATCHES).tolist()
        scale = [(f"{100 * mark:.3g} %", colour_of_risk(texts, mark)) for mark in marks]
        bars = [[(name, class_colour(texts, place))] for place, name in enumerate(names)]
        return [*bars, [(f"probability of {names[texts.positive]}:", ""), *scale]]
    if target.is_classes:
        items = [[(name, nth_colour(place))] for place, name in enumerate(names[:FULL_LIST])]
        return items + ([[(f"… {len(names) - FULL_LIST} more", PAPER)]] if len(names) > FULL_LIST else [])
    low, high = ends_of_means(texts)
    marks = np.linspace(low, high, SWATCHES).tolist() if high > low else [low]
    return [[(number_text(mean, 3), mean_colour(texts, mean)) for mean in marks]]


# -- branches ---------------------------------------------------------------------------------------------


def _edge(texts: NodeTexts, boxes: list[Box], node: int, sideways: bool) -> str:
    """The branch to the node: a line as thick as its share of the rows, and the condition at its end."""
    tree = texts.tree
    parent = int(tree.parent[node])
    is_yes, above, box = bool(tree.left[parent] == node), boxes[parent], boxes[node]
    if sideways:
        (x, y), (end_x, end_y) = (above.x + above.width, above.middle[1]), (box.x, box.middle[1])
        end_x -= box.branch_width + 8
        bend = f"{(x + end_x) / 2:.1f} {y:.1f} {(x + end_x) / 2:.1f} {end_y:.1f}"
        first = end_y + 4 - 7.5 * (len(box.branch) - 1)
        label = [
            text_at(box.x - 5, first + 15 * place, line, anchor="end")
            for place, line in enumerate(box.branch)
        ]
    else:
        (x, y), (end_x, end_y) = (above.middle[0], above.y + above.height), (box.middle[0], box.y)
        end_y -= box.branch_height
        bend = f"{x:.1f} {(y + end_y) / 2:.1f} {end_x:.1f} {(y + end_y) / 2:.1f}"
        label = [text_at(end_x, end_y + 13 + 15 * place, line) for place, line in enumerate(box.branch)]
    condition = answer_text(tree, parent, is_yes, missing=True, counts=True, known=texts.known)
    thickness = 1.5 + 8.5 * fraction_of_rows(tree, node)
    return (
        f'<g data-edge="{node}" data-parent="{parent}" '
        f'data-side="{"left" if is_yes else "right"}">'
        f"<title>{escape(condition)}</title>"
        f'<path d="M{x:.1f} {y:.1f}C{bend} {end_x:.1f} {end_y:.1f}" fill="none" stroke="{EDGE}" '
        f'stroke-width="{thickness:.1f}"/>{"".join(label)}</g>'
    )


# -- nodes ------------------------------------------------------------------------------------------------


def _nodes(texts: NodeTexts, boxes: list[Box], sideways: bool) -> Iterator[str]:
    told = leaf_conditions(texts.tree, most=FULL_LIST, first=MOST_TOLD + 1)
    for node, box in enumerate(boxes):
        if node in told:
            kind, title = "leaf", leaf_title(texts, node, told[node])
            drawn = (_flat_leaf if sideways else _leaf)(texts, node, box)
        else:
            kind, title, drawn = "inner", inner_title(texts, node), _inner(texts, node, box)
        changed = ' data-changed="true"' if node in texts.changed else ""
        text = escape("\n".join(title))
        yield (f'<g data-node="{node}" data-kind="{kind}"{changed}><title>{text}</title>{"".join(drawn)}</g>')


def _inner(texts: NodeTexts, node: int, box: Box) -> list[str]:
    """What it asks about, the bar, and its rows."""
    x, y = box.middle[0], box.y + 19
    stroke = RED if node in texts.changed else OUTLINE
    parts = [rounded_box(box.x, box.y, box.width, box.height, SHADE, stroke)]
    for place, line in enumerate(box.lines):
        is_news = node in texts.changed and place == len(box.lines) - 1
        colour = NEWS if is_news else INK
        parts.append(text_at(x, y + LINE * place, line, size=TEXT, bold=True, colour=colour))
    parts += _bar(texts, node, box, y + LINE * len(box.lines) - 9)
    return [*parts, text_at(x, box.y + box.height - 9, box.support[0], colour=GREY)]


def _leaf(texts: NodeTexts, node: int, box: Box) -> list[str]:
    """Line below line: what it says, the bar, and what stands behind it."""
    x, y = box.middle[0], box.y + 19 + first_size(texts) - TEXT
    parts = [_leaf_box(texts, node, box)]
    parts += [_leaf_text(texts, box, place, x, y + LINE * place) for place in range(len(box.lines))]
    y += LINE * len(box.lines)
    parts += _bar(texts, node, box, y - 9)
    y += bar_height(texts) - 1
    return parts + [text_at(x, y + LINE * place, line) for place, line in enumerate(box.support)]


def _flat_leaf(texts: NodeTexts, node: int, box: Box) -> list[str]:
    """All on one line, in columns, and the bar below."""
    y = box.y + 18
    said = [
        _leaf_text(texts, box, place, box.x + box.places[place], y, "start")
        for place in range(len(box.lines))
    ]
    support = [
        text_at(box.x + box.places[place], y, line, anchor="end")
        for place, line in enumerate(box.support, len(box.lines))
    ]
    return [_leaf_box(texts, node, box), *said, *support, *_bar(texts, node, box, box.y + 26)]


def _leaf_box(texts: NodeTexts, node: int, box: Box) -> str:
    fill, stroke = leaf_colours(texts, node)
    stroke = RED if node in texts.changed else stroke
    return rounded_box(box.x, box.y, box.width, box.height, fill, stroke)


def _leaf_text(texts: NodeTexts, box: Box, place: int, x: float, y: float, anchor: str = "middle") -> str:
    """One line of what a leaf says, the first of them large."""
    size = SMALL if place else first_size(texts)
    return text_at(x, y, box.lines[place], size=size, bold=not place, anchor=anchor)


def _bar(texts: NodeTexts, node: int, box: Box, y: float) -> list[str]:
    """The fractions of the classes, side by side; of two, the positive one first."""
    if not texts.tree.schema.target.is_classes:
        return []
    fractions = texts.tree.value[node]
    order = list(range(len(fractions)))
    if texts.positive is not None:
        order = [texts.positive, 1 - texts.positive]
    x, width = box.x + PAD, box.width - 2 * PAD
    ends = x + width * np.cumsum(fractions[order])
    starts = np.concatenate([[x], ends[:-1]])
    return [
        rounded_box(float(start), y, float(end - start), BAR, class_colour(texts, place), radius=0)
        for place, start, end in zip(order, starts, ends, strict=True)
        if end > start
    ]
