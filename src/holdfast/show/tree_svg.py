"""A tree as one SVG picture that needs nothing but a browser: no style sheet, no script, no ids to clash."""

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from holdfast.show.conditions import FULL_LIST, answer_text
from holdfast.show.rules import leaf_conditions
from holdfast.show.tree_layout import (
    BAR,
    LINE,
    MARGIN,
    PAD,
    SMALL,
    TEXT,
    WIDEST,
    Box,
    extent,
    fitted,
    layout,
    text_width,
    wrapped,
)
from holdfast.tree.rule import Condition, fraction_of_rows, known_before
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import (
    CUT,
    class_names,
    left_out_text,
    number_text,
    outcome_text,
    percent_text,
    printable,
    probability_text,
    rows_text,
)

FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
MOST_TOLD = 24  # conditions in the title of a leaf
LEGIBLE = 11  # the smallest letters that one can read
INK, GREY, EDGE, PAPER, SHADE = "#1c2733", "#586574", "#c5ced8", "#ffffff", "#f4f6f9"
# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#808890")


def svg(tree: Tree) -> str:
    """The tree as the text of an SVG file, which also stands inside an HTML page.

    A tree that fits across a page grows downwards, with yes on the left; a larger one grows to the right,
    with yes above.
    """
    boxes, sideways = layout(tree)
    tree_width = extent(boxes)
    heading, width, top = _heading(tree, tree_width)
    bottom = top + max(box.y + box.height for box in boxes)
    notes = [line for note in tree.notes for line in wrapped(f"Note: {printable(note)}", width - 2 * MARGIN)]
    height = bottom + MARGIN + (LINE * len(notes) + 8 if notes else 0)
    return "\n".join(
        [
            # Wider than the page, the picture shrinks only while its smallest letters stay legible.
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" '
            f'style="max-width:100%;min-width:{width * LEGIBLE / SMALL:.0f}px;height:auto" role="img" '
            f'aria-label={quoteattr(repr(tree))} font-family="{FONT}" font-size="{SMALL}" fill="{INK}">',
            _rect(0.5, 0.5, width - 1, height - 1, PAPER, EDGE, radius=8),
            *heading,
            f'<g transform="translate({(width - tree_width) / 2:.1f} {top:.1f})">',
            *(_edge(tree, boxes, node, sideways) for node in range(1, tree.n_nodes)),
            *_nodes(tree, boxes, sideways),
            "</g>",
            *(
                drawn_text(MARGIN, bottom + 24 + LINE * place, note, anchor="start")
                for place, note in enumerate(notes)
            ),
            "</svg>",
        ]
    )


def _heading(tree: Tree, width: float) -> tuple[list[str], float, float]:
    """The target and what the colours mean, with the width and height that the picture then needs."""
    name = fitted(printable(tree.schema.target.name), 2 * WIDEST)
    parts = [drawn_text(MARGIN, MARGIN + 12, name, size=14, bold=True, anchor="start")]
    x, y = MARGIN + text_width(name, 14, bold=True) + 20, MARGIN + 12.0
    right = max(width, 480.0) - MARGIN
    for label, colour in _legend(tree):
        label = fitted(label, WIDEST)
        step = 18 + text_width(label, SMALL) + 14
        if x + step > right:
            x, y = MARGIN, y + 20
        parts += [_rect(x, y - 10, 12, 12, colour, radius=2), drawn_text(x + 18, y, label, anchor="start")]
        x += step
        width = max(width, x - 14 + MARGIN)
    return parts, width, y + 4


def _legend(tree: Tree) -> list[tuple[str, str]]:
    target = tree.schema.target
    if target.is_classes:
        names = class_names(target)
        items = [(name, _class_colour(place)) for place, name in enumerate(names[:FULL_LIST])]
        return items + ([(f"… {len(names) - FULL_LIST} more", PAPER)] if len(names) > FULL_LIST else [])
    means = np.unique(tree.value[tree.feature == LEAF, 0])
    marks = np.linspace(means[0], means[-1], 5).tolist() if len(means) > 1 else means.tolist()
    return [(number_text(mean, 3), _tint(tree, mean)) for mean in marks]


def _edge(tree: Tree, boxes: list[Box], node: int, sideways: bool) -> str:
    parent = int(tree.parent[node])
    is_yes, above, below = bool(tree.left[parent] == node), boxes[parent], boxes[node]
    thickness = 1.5 + 8.5 * fraction_of_rows(tree, node)
    if sideways:
        (x, y), (end_x, end_y) = (above.x + above.width, above.middle[1]), (below.x, below.middle[1])
        bend = f"{(x + end_x) / 2:.1f} {y:.1f} {(x + end_x) / 2:.1f} {end_y:.1f}"
        away = thickness / 2 + (4 if is_yes else 12)
        label = (end_x - 5, end_y - away if is_yes else end_y + away, "end")
    else:
        (x, y), (end_x, end_y) = (above.middle[0], above.y + above.height), (below.middle[0], below.y)
        bend = f"{x:.1f} {(y + end_y) / 2:.1f} {end_x:.1f} {(y + end_y) / 2:.1f}"
        away = thickness / 2 + 5
        label = (end_x - away, end_y - 7, "end") if is_yes else (end_x + away, end_y - 7, "start")
    return (
        f'<path d="M{x:.1f} {y:.1f}C{bend} {end_x:.1f} {end_y:.1f}" fill="none" stroke="{EDGE}" '
        f'stroke-width="{thickness:.1f}"/>'
        + drawn_text(label[0], label[1], "yes" if is_yes else "no", colour=GREY, anchor=label[2])
    )


def _nodes(tree: Tree, boxes: list[Box], sideways: bool) -> Iterator[str]:
    known, told = known_before(tree), leaf_conditions(tree, most=FULL_LIST, first=MOST_TOLD + 1)
    for node, box in enumerate(boxes):
        if node in told:
            kind, drawn, title = "leaf", _leaf(tree, node, box, sideways), _leaf_title(tree, node, told[node])
        else:
            kind, drawn, title = "inner", _inner(box), _inner_title(tree, node, known)
        text = escape("\n".join(title))
        yield f'<g data-node="{node}" data-kind="{kind}"><title>{text}</title>{"".join(drawn)}</g>'


def _inner(box: Box) -> list[str]:
    x, _ = box.middle
    *question, rows = box.lines
    parts = [_rect(box.x, box.y, box.width, box.height, SHADE, "#8b98a7")]
    for place, line in enumerate(question):
        parts.append(drawn_text(x, box.y + 19 + LINE * place, line, size=TEXT, bold=True))
    return [*parts, drawn_text(x, box.y + box.height - 10, rows, colour=GREY)]


def _leaf(tree: Tree, node: int, box: Box, sideways: bool) -> list[str]:
    outcome, support = box.lines
    is_classes = tree.schema.target.is_classes
    colour = _class_colour(int(tree.outcome[node])) if is_classes else PALETTE[0]
    fill = _tint(tree, float(tree.value[node].max()), colour)
    parts = [_rect(box.x, box.y, box.width, box.height, fill, colour)]
    x, _ = box.middle
    if sideways:
        parts.append(drawn_text(box.x + PAD, box.y + 18, outcome, size=TEXT, bold=True, anchor="start"))
        parts.append(drawn_text(box.x + box.width - PAD, box.y + 18, support, anchor="end"))
    else:
        parts.append(drawn_text(x, box.y + 19, outcome, size=TEXT, bold=True))
        parts.append(drawn_text(x, box.y + box.height - 10, support))
    return parts + (_bar(tree, node, box.x + PAD, box.y + 25, box.width - 2 * PAD) if is_classes else [])


def _bar(tree: Tree, node: int, x: float, y: float, width: float) -> list[str]:
    """The fractions of the classes, side by side."""
    ends = x + width * np.cumsum(tree.value[node])
    starts = np.concatenate([[x], ends[:-1]])
    return [
        _rect(float(start), y, float(end - start), BAR, _class_colour(place), radius=0)
        for place, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end > start
    ]


def _tint(tree: Tree, value: float, colour: str = PALETTE[0]) -> str:
    """The colour, the deeper the surer the class or the higher the mean; never too deep for dark letters."""
    if tree.schema.target.is_classes:
        low, high = 1 / len(tree.schema.target.classes), 1.0
    else:
        means = tree.value[tree.feature == LEAF, 0]
        low, high = float(means.min()), float(means.max())
    depth = 0.1 + 0.45 * ((value - low) / (high - low) if high > low else 1.0)
    return _mixed(colour, 255, depth)


def _class_colour(place: int) -> str:
    # Past the end of the palette its colours come again, darker each time.
    return _mixed(PALETTE[place % len(PALETTE)], 0, 0.6 ** (place // len(PALETTE)))


def _mixed(colour: str, other: int, fraction: float) -> str:
    """So large a fraction of the colour, the rest white (255) or black (0)."""
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(other + fraction * (channel - other)):02x}" for channel in channels)


def _leaf_title(tree: Tree, node: int, conditions: tuple[str, ...]) -> list[str]:
    target = tree.schema.target
    lines = list(conditions[:MOST_TOLD])
    if len(conditions) > MOST_TOLD:
        lines.append(f"{CUT} and more")
    lines.append(f"{printable(target.name)} = {outcome_text(tree, node)}")
    if target.is_classes:
        shares = zip(class_names(target), tree.value[node].tolist(), strict=True)
        lines += [f"p({name}) = {probability_text(fraction)}" for name, fraction in shares]
    return _explained([*lines, _size_text(tree, node)])


def _inner_title(tree: Tree, node: int, known: Mapping[int, Condition]) -> list[str]:
    yes, no = (
        answer_text(tree, node, side, missing=True, most=FULL_LIST, known=known) for side in (True, False)
    )
    return _explained([f"yes: {yes}", f"no: {no}", _size_text(tree, node)])


def _explained(lines: list[str]) -> list[str]:
    """The lines, with one more where something is left out."""
    return [*lines, left_out_text("rules()")] if any(CUT in line for line in lines) else lines


def _size_text(tree: Tree, node: int) -> str:
    return f"{rows_text(float(tree.count[node]))}, {percent_text(fraction_of_rows(tree, node))}"


def _rect(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", radius: int = 6
) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def drawn_text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = SMALL,
    bold: bool = False,
    colour: str = INK,
    anchor: str = "middle",
) -> str:
    """A line of text at a place of the picture."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight} fill="{colour}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )
