"""A tree as one SVG picture."""

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape

import numpy as np

from holdfast.show.conditions import FULL_LIST, answer_text
from holdfast.show.edits import edit_lines
from holdfast.show.palette import BLUE, EDGE, GREY, OUTLINE, PAPER, SHADE, lighter, nth_colour
from holdfast.show.rules import leaf_conditions
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
from holdfast.show.tree_layout import BAR, LINE, PAD, WIDEST, Box, extent, layout
from holdfast.text.lines import CUT, left_out_text, printable
from holdfast.text.numbers import number_text, percent_text, probability_text, rows_text
from holdfast.tree.rule import Condition, fraction_of_rows, known_before
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import all_notes, class_names, outcome_text, probability

MOST_TOLD = 24  # conditions in the title of a leaf


def tree_svg(tree: Tree) -> str:
    """The tree as the text of an SVG file, which also stands inside an HTML page.

    A tree that fits across a page grows downwards, with yes on the left; a larger one grows to the right,
    with yes above.
    """
    boxes, sideways = layout(tree)
    tree_width = extent(boxes)
    heading, width, top = _heading(tree, tree_width)
    bottom = top + max(box.y + box.height for box in boxes)
    below = [*(f"Note: {printable(note)}" for note in all_notes(tree)), *edit_lines(tree)]
    notes = [line for text in below for line in wrapped(text, width - 2 * MARGIN)]
    height = bottom + MARGIN + (LINE * len(notes) + 8 if notes else 0)
    parts = [
        background(width, height),
        *heading,
        f'<g transform="translate({(width - tree_width) / 2:.1f} {top:.1f})">',
        *(_edge(tree, boxes, node, sideways) for node in range(1, tree.n_nodes)),
        *_nodes(tree, boxes, sideways),
        "</g>",
        *(
            text_at(MARGIN, bottom + 24 + LINE * place, note, anchor="start")
            for place, note in enumerate(notes)
        ),
    ]
    return picture(width, height, parts, label=repr(tree))


def _heading(tree: Tree, width: float) -> tuple[list[str], float, float]:
    """The target and what the colours mean, with the width and height that the picture then needs."""
    name = fitted(printable(tree.schema.target.name), 2 * WIDEST)
    parts = [text_at(MARGIN, MARGIN + 12, name, size=14, bold=True, anchor="start")]
    x, y = MARGIN + text_width(name, 14, bold=True) + 20, MARGIN + 12.0
    right = max(width, 480.0) - MARGIN
    for label, colour in _legend(tree):
        label = fitted(label, WIDEST)
        step = 18 + text_width(label, SMALL) + 14
        if x + step > right:
            x, y = MARGIN, y + 20
        parts += [rounded_box(x, y - 10, 12, 12, colour, radius=2), text_at(x + 18, y, label, anchor="start")]
        x += step
        width = max(width, x - 14 + MARGIN)
    return parts, width, y + 4


def _legend(tree: Tree) -> list[tuple[str, str]]:
    target = tree.schema.target
    if target.is_classes:
        names = class_names(target)
        items = [(name, nth_colour(place)) for place, name in enumerate(names[:FULL_LIST])]
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
        + text_at(label[0], label[1], "yes" if is_yes else "no", colour=GREY, anchor=label[2])
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
    parts = [rounded_box(box.x, box.y, box.width, box.height, SHADE, OUTLINE)]
    for place, line in enumerate(question):
        parts.append(text_at(x, box.y + 19 + LINE * place, line, size=TEXT, bold=True))
    return [*parts, text_at(x, box.y + box.height - 10, rows, colour=GREY)]


def _leaf(tree: Tree, node: int, box: Box, sideways: bool) -> list[str]:
    outcome, support = box.lines
    is_classes = tree.schema.target.is_classes
    colour = nth_colour(int(tree.outcome[node])) if is_classes else BLUE
    fill = _tint(tree, probability(tree, node) if is_classes else float(tree.value[node, 0]), colour)
    parts = [rounded_box(box.x, box.y, box.width, box.height, fill, colour)]
    x, _ = box.middle
    if sideways:
        parts.append(text_at(box.x + PAD, box.y + 18, outcome, size=TEXT, bold=True, anchor="start"))
        parts.append(text_at(box.x + box.width - PAD, box.y + 18, support, anchor="end"))
    else:
        parts.append(text_at(x, box.y + 19, outcome, size=TEXT, bold=True))
        parts.append(text_at(x, box.y + box.height - 10, support))
    return parts + (_bar(tree, node, box.x + PAD, box.y + 25, box.width - 2 * PAD) if is_classes else [])


def _bar(tree: Tree, node: int, x: float, y: float, width: float) -> list[str]:
    """The fractions of the classes, side by side."""
    ends = x + width * np.cumsum(tree.value[node])
    starts = np.concatenate([[x], ends[:-1]])
    return [
        rounded_box(float(start), y, float(end - start), BAR, nth_colour(place), radius=0)
        for place, (start, end) in enumerate(zip(starts, ends, strict=True))
        if end > start
    ]


def _tint(tree: Tree, value: float, colour: str = BLUE) -> str:
    """The colour, the deeper the surer the class or the higher the mean; never too deep for dark letters."""
    if tree.schema.target.is_classes:
        low, high = 1 / len(tree.schema.target.classes), 1.0
    else:
        means = tree.value[tree.feature == LEAF, 0]
        low, high = float(means.min()), float(means.max())
    depth = 0.1 + 0.45 * ((value - low) / (high - low) if high > low else 1.0)
    return lighter(colour, depth)


def _leaf_title(tree: Tree, node: int, conditions: tuple[str, ...]) -> list[str]:
    target = tree.schema.target
    lines = list(conditions[:MOST_TOLD])
    if len(conditions) > MOST_TOLD:
        lines.append(f"{CUT} and more")
    lines.append(f"{printable(target.name)} = {outcome_text(tree, node)}")
    if target.is_classes:
        fractions = zip(class_names(target), tree.value[node].tolist(), strict=True)
        lines += [f"p({name}) = {probability_text(fraction)}" for name, fraction in fractions]
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
