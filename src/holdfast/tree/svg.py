"""Trees as SVG pictures: colours, layout and drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from re import split
from typing import Any
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._check import check_number
from holdfast._text import (
    CUT,
    NO_BREAK,
    left_out_text,
    number_text,
    percent_text,
    printable,
    probability_text,
    protect_spaces,
    rounded_percent,
    rows_text,
    shorten,
)
from holdfast.data.survival import name_survival, survival_function
from holdfast.tree.rules import (
    format_class_names,
    format_outcome,
    fraction_of_rows,
    list_notes,
    list_warnings,
)
from holdfast.tree.rules_text import (
    FULL_LIST,
    branch_text,
    direction_lines,
    edit_lines,
    leaf_conditions,
    support_lines,
    support_sentence,
)
from holdfast.tree.survival import (
    events_text,
    median_text,
    node_curve,
    node_survival,
    risk_text,
    shown_values,
)
from holdfast.tree.text import NodeTexts
from holdfast.tree.tree import LEAF, Tree


def class_colour(texts: NodeTexts, place: int) -> str:
    """Return the colour of a class: the end of the risk scale for the positive one, grey for the other."""
    if texts.positive is None:
        return nth_colour(place)
    return BLUE if place == texts.positive else EDGE


def leaf_colours(texts: NodeTexts, node: int) -> tuple[str, str]:
    """Return fill and border of a leaf: by risk or mean, or by class and its probability."""
    tree = texts.tree
    if texts.positive is not None:
        return colour_of_risk(texts, float(tree.value[node, texts.positive])), OUTLINE
    if not tree.schema.target.is_classes:
        return mean_colour(texts, float(_shown_values(tree, 0)[node])), OUTLINE
    colour, least = nth_colour(int(tree.outcome[node])), 1 / len(tree.schema.target.classes)
    sure = (float(tree.value[node, tree.outcome[node]]) - least) / (1 - least) if least < 1 else 1.0
    return lighten(colour, 0.1 + 0.45 * sure), colour


def colour_of_risk(texts: NodeTexts, risk: float) -> str:
    """Return the colour of a risk on the scale of the drawing."""
    return risk_colour(risk / highest_risk(texts))


def highest_risk(texts: NodeTexts) -> float:
    """Return the end of the risk scale: the least of 1, 0.5, 0.2, 0.1, ... that no risk exceeds."""
    assert texts.positive is not None
    highest = float(_leaf_values(texts, texts.positive).max())
    ends = [step * 10.0**power for power in range(-4, 0) for step in (1, 2, 5)]
    return next((end for end in ends if highest <= end), 1.0)


def mean_colour(texts: NodeTexts, mean: float) -> str:
    """Return the colour of a mean between the lowest and the highest one."""
    low, high = ends_of_means(texts)
    return risk_colour((mean - low) / (high - low) if high > low else 1.0)


def ends_of_means(texts: NodeTexts) -> tuple[float, float]:
    """Return the ends of the scale of means."""
    means = _leaf_values(texts, 0)
    return float(means.min()), float(means.max())


def _leaf_values(texts: NodeTexts, place: int) -> FloatArray:
    """Return the leaf values of the tree and of those drawn beside it."""
    trees = [texts.tree, *texts.beside]
    return np.concatenate([_shown_values(tree, place)[tree.feature == LEAF] for tree in trees])


def _shown_values(tree: Tree, place: int) -> FloatArray:
    """Return what the colours of the nodes show: of a survival tree the probability of an event."""
    return 1.0 - shown_values(tree)[:, 0] if tree.schema.target.is_survival else tree.value[:, place]


# -- Tooltips ------------------------------------------------------------------------------------------------

MOST_CONDITIONS = 24  # of a leaf


def leaf_title(texts: NodeTexts, node: int, conditions: tuple[str, ...]) -> list[str]:
    """Return the tooltip of a leaf: its rule, prediction and support."""
    tree = texts.tree
    lines = list(conditions[:MOST_CONDITIONS])
    if len(conditions) > MOST_CONDITIONS:
        lines.append(f"{CUT} and more")
    if tree.schema.target.is_survival:
        found = node_survival(tree, node)
        lines.append(f"{format_outcome(tree, node)}, risk {risk_text(found.risk)}")
        median = median_text(tree, found)
        lines += [" ".join(("95 % interval:", *texts.support(node)[1:2]))] * bool(found.interval)
        lines += [f"median survival {median}"] * bool(median)
        lines.append(events_text(found))
    else:
        lines.append(f"{printable(tree.schema.target.name)} = {format_outcome(tree, node)}")
        lines += _fraction_lines(texts, node)
    return [*lines, left_out_text("rules()")] if any(CUT in line for line in lines) else lines


def inner_title(texts: NodeTexts, node: int) -> list[str]:
    """Return the tooltip of an inner node: feature, split support, and rows."""
    lines = [texts.feature(node), support_sentence(texts.tree, node)]
    return [*filter(None, lines), *_fraction_lines(texts, node)]


def _fraction_lines(texts: NodeTexts, node: int) -> list[str]:
    """Describe class probabilities, observed rows, and the fraction of all rows."""
    tree = texts.tree
    lines = []
    if tree.schema.target.is_classes:
        fractions = zip(format_class_names(tree.schema.target), tree.value[node].tolist(), strict=True)
        lines += [f"p({name}) = {probability_text(fraction)}" for name, fraction in fractions]
    if texts.positive is not None and len(support := texts.support(node)) >= 2:
        name = format_class_names(tree.schema.target)[texts.positive]
        outcome = texts.outcome(node)
        rate = rounded_percent(outcome.observed or 0.0)
        of_estimate = " of the estimate" if outcome.is_about_estimate else ""
        counts = support[0].split(":")[0]
        lines.append(f"{counts} rows with {name}: {rate}, 95 % interval{of_estimate} {support[1]}")
    return [*lines, f"{rows_text(float(tree.count[node]))}, {percent_text(fraction_of_rows(tree, node))}"]


# -- Colours -------------------------------------------------------------------------------------------------

INK, GREY, OUTLINE, EDGE = "#1c2733", "#586574", "#8b98a7", "#c5ced8"  # of text and lines, from dark to light
SHADE, PAPER = "#f4f6f9", "#ffffff"
# The palette of Okabe and Ito, distinguishable with any kind of colour vision.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#808890")
BLUE, RED = PALETTE[0], PALETTE[5]


def nth_colour(place: int) -> str:
    """Return the colour of the class at this position; beyond the palette, colours repeat in darker shades.

    >>> nth_colour(0), nth_colour(8)
    ('#0072b2', '#00446b')
    """
    return darken(PALETTE[place % len(PALETTE)], 0.6 ** (place // len(PALETTE)))


def risk_colour(fraction: float) -> str:
    """Return the colour of a risk, given as a fraction of the highest; black text stays readable on it.

    >>> risk_colour(0.0), risk_colour(1.0)
    ('#f5f9fc', '#73b1d5')
    """
    return lighten(BLUE, 0.04 + 0.51 * min(max(fraction, 0.0), 1.0))


def lighten(colour: str, fraction: float) -> str:
    """Mix this fraction of the colour with white."""
    return _mix(colour, 255, fraction)


def darken(colour: str, fraction: float) -> str:
    """Mix this fraction of the colour with black."""
    return _mix(colour, 0, fraction)


def _mix(colour: str, other: int, fraction: float) -> str:
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(other + fraction * (channel - other)):02x}" for channel in channels)


# -- Drawing -------------------------------------------------------------------------------------------------

SWATCHES = 5  # of a colour scale
CHANGED = darken(RED, 0.75)  # text colour of changes


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
    """Draw a tree as the text of an SVG file, which can also be embedded in HTML.

    A tree that fits the width of a page grows downwards, with yes on the left; a larger one grows to the
    right, with yes above. Every node has its number in `data-node`, and every branch that of its lower end in
    `data-edge`, so that a page can highlight the path of a row.
    """
    check_number("width", width, is_open="low", none_ok=True)
    texts = NodeTexts.of(
        tree, positive=positive, decimals=decimals, missing=missing, changed=changed, beside=beside
    )
    boxes, sideways = layout(texts)
    tree_width = extent(boxes)
    heading, full_width, top = _heading(texts, tree_width, title)
    bottom = top + max(box.y + box.height for box in boxes)
    noted = [*map(printable, list_warnings(tree)), *(f"Note: {printable(note)}" for note in list_notes(tree))]
    below = [texts.key(), *direction_lines(tree, signs=True), *support_lines(tree), *noted, *edit_lines(tree)]
    notes = [line for text in below if text for line in wrap_text(text, full_width - 2 * MARGIN)]
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


# -- the heading ------------------------------------------------------------------------------------------


def _heading(texts: NodeTexts, width: float, title: str | None) -> tuple[list[str], float, float]:
    """Draw title and legend; return them with the width and height that they need."""
    own = texts.tree.schema.target
    name = fit_text(
        printable(title or (f"Time to {own.name}" if own.is_survival else own.name)),
        max(width - 2 * MARGIN, 2 * WIDEST),
    )
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
    """Return the distance to the next item of the legend."""
    return (18 if colour else 0) + text_width(label, SMALL) + 14


_Items = list[tuple[str, str]]  # labels and colours; a label without a colour is a heading


def _legend(texts: NodeTexts) -> list[_Items]:
    """List labels and colours, in groups that stay on one line."""
    target = texts.tree.schema.target
    names = [fit_text(name, WIDEST, SMALL) for name in format_class_names(target)]
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
    if target.hazard is not None:
        scale = [(rounded_percent(1.0 - mark), mean_colour(texts, mark)) for mark in marks]
        return [[(f"{name_survival(target.hazard)}:", ""), *scale]]
    return [[(number_text(mean, 3), mean_colour(texts, mean)) for mean in marks]]


# -- branches ---------------------------------------------------------------------------------------------


def _edge(texts: NodeTexts, boxes: list[Box], node: int, sideways: bool) -> str:
    """Draw the branch to a node, as wide as its fraction of the rows, with its condition."""
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
    condition = branch_text(tree, parent, is_yes, missing=True, counts=True, known=texts.known)
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
    conditions = leaf_conditions(texts.tree, most=FULL_LIST, first=MOST_CONDITIONS + 1)
    for node, box in enumerate(boxes):
        if node in conditions:
            kind, title = "leaf", leaf_title(texts, node, conditions[node])
            drawn = (_flat_leaf if sideways else _leaf)(texts, node, box)
        else:
            kind, title, drawn = "inner", inner_title(texts, node), _inner(texts, node, box)
        changed = ' data-changed="true"' if node in texts.changed else ""
        text = escape("\n".join(title))
        yield (f'<g data-node="{node}" data-kind="{kind}"{changed}><title>{text}</title>{"".join(drawn)}</g>')


def _inner(texts: NodeTexts, node: int, box: Box) -> list[str]:
    """Draw an inner node: its feature, the bar of classes, and its rows."""
    x, y = box.middle[0], box.y + 19
    stroke = RED if node in texts.changed else OUTLINE
    parts = [rounded_box(box.x, box.y, box.width, box.height, SHADE, stroke)]
    for place, line in enumerate(box.lines):
        is_remark = node in texts.changed and place == len(box.lines) - 1
        colour = CHANGED if is_remark else INK
        parts.append(text_at(x, y + LINE * place, line, size=TEXT, bold=True, colour=colour))
    parts += _bar(texts, node, box, y + LINE * len(box.lines) - 9)
    return [*parts, text_at(x, box.y + box.height - 9, box.support[0], colour=GREY)]


def _leaf(texts: NodeTexts, node: int, box: Box) -> list[str]:
    """Draw a leaf with its lines below each other: prediction, bar of classes, and support."""
    x, y = box.middle[0], box.y + 19 + first_size(texts) - TEXT
    parts = [_leaf_box(texts, node, box)]
    parts += [_leaf_text(texts, box, place, x, y + LINE * place) for place in range(len(box.lines))]
    y += LINE * len(box.lines)
    parts += _bar(texts, node, box, y - 9) or _curves(texts, node, box, y - 9)
    y += bar_height(texts) - 1
    return parts + [text_at(x, y + LINE * place, line) for place, line in enumerate(box.support)]


def _flat_leaf(texts: NodeTexts, node: int, box: Box) -> list[str]:
    """Draw a leaf with all texts on one line, in columns, and the bar below."""
    y = box.y + 18
    outcome = [
        _leaf_text(texts, box, place, box.x + box.places[place], y, "start")
        for place in range(len(box.lines))
    ]
    support = [
        text_at(box.x + box.places[place], y, line, anchor="end")
        for place, line in enumerate(box.support, len(box.lines))
    ]
    below = _bar(texts, node, box, box.y + 26) or _curves(texts, node, box, box.y + 26)
    return [_leaf_box(texts, node, box), *outcome, *support, *below]


def _leaf_box(texts: NodeTexts, node: int, box: Box) -> str:
    fill, stroke = leaf_colours(texts, node)
    stroke = RED if node in texts.changed else stroke
    return rounded_box(box.x, box.y, box.width, box.height, fill, stroke)


def _leaf_text(texts: NodeTexts, box: Box, place: int, x: float, y: float, anchor: str = "middle") -> str:
    """Draw one line of the prediction of a leaf, the first one large."""
    size = SMALL if place else first_size(texts)
    return text_at(x, y, box.lines[place], size=size, bold=not place, anchor=anchor)


def _bar(texts: NodeTexts, node: int, box: Box, y: float) -> list[str]:
    """Draw the fractions of the classes side by side, the positive one first."""
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


def _curves(texts: NodeTexts, node: int, box: Box, y: float) -> list[str]:
    """Draw observed and predicted survival up to the horizon, from 1 down to 0."""
    tree, hazard = texts.tree, texts.tree.schema.target.hazard
    curve = None if hazard is None else node_curve(tree, node)
    if hazard is None or curve is None:
        return []
    x, width, height = box.x + PAD, box.width - 2 * PAD, CURVE - 6
    ends = np.linspace(0.0, hazard.horizon, N_STEPS + 1)
    predicted = survival_function(hazard, tree.value[node, :1], ends)[0]
    drawn = [(rounded_box(x, y, width, height, PAPER, EDGE, radius=0))]
    is_observed = ends <= float(curve.time[curve.at_risk > 0].max(initial=-1.0))
    place = np.searchsorted(curve.time, ends[is_observed], "right")
    observed = np.append(1.0, curve.survival)[place]
    for survival, colour, thickness in ((predicted, BLUE, 1.2), (observed, INK, 1.4)):
        steps = [
            f"L{x + width * step / N_STEPS:.1f} {y + height * (1.0 - each):.1f}"
            for step in range(1, len(survival))
            for each in dict.fromkeys(survival[step - 1 : step + 1].round(3).tolist())
        ]
        drawn.append(
            f'<path d="M{x:.1f} {y:.1f}{"".join(steps)}" fill="none" stroke="{colour}" '
            f'stroke-width="{thickness}"/>'
        )
    return drawn


# -- SVG elements --------------------------------------------------------------------------------------------

FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
LARGE, TEXT, SMALL = 18, 13, 12  # font sizes: of predictions, of names, and of the rest
LEGIBLE = 11  # least legible font size
MARGIN = 20  # around the picture
LONGEST = 300  # letters of a text that may be visible
NARROW, WIDE = frozenset("fijlrtI .,:;|!'`()[]-·"), frozenset("mwMW@%<>=+…")


def picture(
    width: float, height: float, parts: Iterable[str], label: str = "", shown_width: float | None = None
) -> str:
    """Join the elements of an SVG file; `label` is its text for screen readers.

    It is displayed in its own size, or with the width `shown_width`.
    """
    aria = f" aria-label={quoteattr(label)}" if label else ""
    # On a narrower page the picture shrinks as long as its text is legible. The height is set by block-size,
    # which only browsers read: CairoSVG takes "height:auto" for no height and draws nothing.
    scale = 1.0 if shown_width is None else float(shown_width) / width
    least = min(scale, LEGIBLE / SMALL) * width
    style = f"max-width:100%;min-width:{least:.0f}px;block-size:auto"
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{scale * width:.0f}" height="{scale * height:.0f}" style="{style}" role="img"{aria} '
        f'font-family="{FONT}" font-size="{SMALL}" fill="{INK}">'
    )
    return "\n".join([root, *parts, "</svg>"])


def background(width: float, height: float) -> str:
    """Draw the background with a thin border."""
    return rounded_box(0.5, 0.5, width - 1, height - 1, PAPER, EDGE, radius=8)


def rounded_box(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", *, radius: int = 6
) -> str:
    """Draw a rectangle with round corners."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def text_at(
    x: float,
    y: float,
    text: str,
    *,
    size: int = SMALL,
    bold: bool = False,
    colour: str = INK,
    anchor: str = "middle",
) -> str:
    """Draw a line of text."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight} fill="{colour}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


# -- text that fits ---------------------------------------------------------------------------------------


def wrap_text(text: str, width: float, size: int = TEXT) -> list[str]:
    """Wrap a text at spaces and underscores into lines of at most `width` pixels.

    Text of the size of names is assumed to be bold.
    """
    lines = [""]
    for piece in split("(?<=[ _])", protect_spaces(text)):
        piece = fit_text(piece.replace(NO_BREAK, " "), width, size)
        if lines[-1] and text_width((lines[-1] + piece).rstrip(), size, bold=size == TEXT) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def fit_text(text: str, width: float, size: int = TEXT) -> str:
    """Shorten a text to at most `width` pixels."""
    letters = min(len(text), LONGEST)
    while text_width(shorten(text, letters).rstrip(), size, bold=size == TEXT) > width:
        letters -= 1
    return shorten(text, letters)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return an upper bound on the width of a text in pixels, since the font depends on the reader."""
    total = 0.0
    for letter in text:
        if letter in NARROW:
            total += 0.41
        elif letter in WIDE or east_asian_width(letter) in "WF":
            total += 1.0
        else:
            total += 0.72 if letter.isupper() else 0.63
    return total * size * (1.07 if bold else 1.0)


# -- Layout --------------------------------------------------------------------------------------------------

LINE = 16  # from one line of text to the next
PAD = 10  # between the side of a box and its text
PAGE = 1200  # width from which a tree grows to the right, if that makes it narrower
WIDEST, MOST_LINES = 190, 3  # of the text in a box
WIDEST_BRANCH, MOST_BRANCH_LINES = 124, 3  # of the condition on a branch
MOST_LEAF_LINES = 2  # of the condition of a leaf in a tree that grows to the right
BAR = 6  # height of the bar of probabilities
CURVE, N_STEPS = 40, 40  # height of the curves of survival with some space below; their steps
LEVEL = 34  # from the boxes of a level to the conditions of the next
GAP = 12  # between neighbours, and between two texts on one line


@dataclass(frozen=True)
class Box:
    """Position and texts of one node, with the condition that leads to it."""

    lines: tuple[str, ...]  # feature of an inner node; prediction of a leaf
    support: tuple[str, ...]  # rows, and observed rate and interval of a leaf
    width: float
    height: float
    branch: tuple[str, ...] = ()  # the condition that leads to it; empty for the root
    x: float = 0.0  # left side
    y: float = 0.0  # upper side
    # In a leaf with one line: where its texts begin and its support ends, from the left side.
    places: tuple[float, ...] = ()

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of the box."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def branch_width(self) -> float:
        """Width of the text of the condition."""
        return max((text_width(line, SMALL) for line in self.branch), default=0.0)

    @property
    def branch_height(self) -> float:
        """Height of the text of the condition, with some space below it."""
        return 15.0 * len(self.branch) + 5 if self.branch else 0.0


def layout(texts: NodeTexts) -> tuple[list[Box], bool]:
    """Place the boxes; the flag is True if the tree grows to the right."""
    tree = texts.tree
    inner = {node: _inner_box(texts, node) for node in np.flatnonzero(tree.feature != LEAF).tolist()}
    branches = [_branch_lines(texts, node) for node in range(tree.n_nodes)]
    layouts = []
    for sideways in (False, True):
        boxes = {**inner, **_leaf_boxes(texts, sideways)}
        sized = [replace(boxes[node], branch=branches[node][sideways]) for node in range(tree.n_nodes)]
        layouts.append(_place_boxes(tree, sized, sideways))
        if extent(layouts[0]) <= PAGE:
            return layouts[0], False
    downwards, rightwards = layouts
    is_narrower = extent(rightwards) < extent(downwards)
    return (rightwards, True) if is_narrower else (downwards, False)


def extent(boxes: list[Box]) -> float:
    """Return the width of the placed boxes with the margins."""
    return max(max(box.x + box.width, box.middle[0] + box.branch_width / 2) for box in boxes) + MARGIN


# -- sizes ------------------------------------------------------------------------------------------------


def _inner_box(texts: NodeTexts, node: int) -> Box:
    """Size the box of an inner node."""
    lines = [*_lines([texts.feature(node)], WIDEST, MOST_LINES)]
    lines[-1] += texts.marks.get(node, "")
    if node in texts.changed:
        lines.append(fit_text(texts.changed[node], WIDEST))
    support = texts.inner_support(node)
    width = max(text_width(support, SMALL), *(text_width(line, TEXT, bold=True) for line in lines))
    height = LINE * (len(lines) + 1) + 12 + (BAR + 4 if texts.tree.schema.target.is_classes else 0)
    return Box(tuple(lines), (support,), max(width, 60.0) + 2 * PAD, height)


def _leaf_boxes(texts: NodeTexts, sideways: bool) -> dict[int, Box]:
    """Size the boxes of the leaves, all alike."""
    lines = {leaf: _leaf_lines(texts, leaf) for leaf in texts.leaves}
    support = {leaf: texts.support(leaf) for leaf in texts.leaves}
    first = first_size(texts)
    columns = _widths(list(lines.values()), first), _widths(list(support.values()), SMALL)
    n_lines = sum(map(len, columns))
    if sideways:
        width, height = sum(map(sum, columns)) + GAP * (n_lines - 1) + 2 * PAD, 26 + bar_height(texts)
    else:
        width = max(map(max, columns)) + 2 * PAD
        height = first - TEXT + LINE * n_lines + 13 + bar_height(texts)
    starts = PAD + np.cumsum([0.0, *columns[0]]) + GAP * np.arange(len(columns[0]) + 1)
    ends = width - PAD - np.cumsum([0.0, *columns[1][:0:-1]]) - GAP * np.arange(len(columns[1]))
    places = (*starts[:-1].tolist(), *ends[::-1].tolist()) if sideways else ()
    return {leaf: Box(lines[leaf], support[leaf], width, height, places=places) for leaf in texts.leaves}


def first_size(texts: NodeTexts) -> int:
    """Return the font size of the first line of a leaf: large for a risk or a mean."""
    is_number = texts.positive is not None or not texts.tree.schema.target.is_classes
    return LARGE if is_number else TEXT


def _widths(texts: Sequence[Sequence[str]], first: int) -> list[float]:
    """Return the greatest width of the first lines of all boxes, of the second ones, and so on."""
    widths = [0.0] * max(map(len, texts))
    for lines in texts:
        for place, line in enumerate(lines):
            is_bold = not place and first != SMALL
            size = first if not place else SMALL
            widths[place] = max(widths[place], text_width(line, size, bold=is_bold))
    return widths


def _leaf_lines(texts: NodeTexts, leaf: int) -> tuple[str, ...]:
    """List the prediction of a leaf and the remark on its change."""
    lines = [fit_text(line, WIDEST) for line in (texts.large(leaf), texts.second_line(leaf)) if line]
    lines[-1] += texts.marks.get(leaf, "")
    return (*lines, fit_text(texts.changed[leaf], WIDEST)) if leaf in texts.changed else tuple(lines)


def bar_height(texts: NodeTexts) -> int:
    """Return the height of the bar of probabilities, or of the curves, in a leaf; 0 for regression."""
    if texts.tree.curves is not None:
        return CURVE
    return BAR + 4 if texts.tree.schema.target.is_classes else 0


def _branch_lines(texts: NodeTexts, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Wrap the condition on the branch to a node, for a tree growing down and for one growing right."""
    if not node:
        return (), ()
    is_leaf = texts.tree.feature[node] == LEAF
    downwards, rightwards = (
        tuple(_lines(texts.branches(node), WIDEST_BRANCH, most, SMALL))
        for most in (MOST_BRANCH_LINES, MOST_LEAF_LINES if is_leaf else MOST_BRANCH_LINES)
    )
    return downwards, rightwards


def _lines(candidates: Iterable[str], width: float, most: int, size: int = TEXT) -> list[str]:
    """Wrap the first text that fits into `most` lines, or shorten the last one."""
    for text in candidates:
        if len(lines := wrap_text(text, width, size)) <= most:
            return lines
    letters = min(len(text), LONGEST)
    while len(lines := wrap_text(shorten(text, letters), width, size)) > most:
        letters -= 1
    return lines


# -- places -----------------------------------------------------------------------------------------------


def _place_boxes(tree: Tree, boxes: list[Box], sideways: bool) -> list[Box]:
    """Place the boxes: every leaf gets its own lane, and a parent is centered above its children.

    A parent is at least one lane away from the border of its subtree, so boxes of two lanes never overlap.
    """
    is_leaf = tree.feature == LEAF
    breadth = np.array(
        [
            max(box.height, box.branch_height) if sideways else max(box.width, box.branch_width)
            for box in boxes
        ]
    )
    gap = 8 if sideways else GAP
    lane = float((np.where(is_leaf, breadth + gap, (breadth + gap) / 2)).max())
    middle = (np.cumsum(is_leaf) - 0.5) * lane + MARGIN - gap / 2
    for node in reversed(np.flatnonzero(~is_leaf).tolist()):  # children stand after their parent
        middle[node] = (middle[tree.left[node]] + middle[tree.right[node]]) / 2
    # The lane below a leaf is free, so only inner nodes determine the distance to the next level.
    length = np.array([box.width if sideways else box.height for box in boxes]) * ~is_leaf
    before = np.array([box.branch_width + 8 if sideways else box.branch_height for box in boxes])
    before[0] = 0.0
    level, room = np.zeros((2, tree.depth + 1))
    np.maximum.at(level, tree.node_depth, length)
    np.maximum.at(room, tree.node_depth, before)
    ends = np.cumsum(level + room + LEVEL)
    start = (MARGIN + np.concatenate([[0.0], ends[:-1]]) + room)[tree.node_depth]
    own = np.array([box.height if sideways else box.width for box in boxes])
    side = middle - own / 2
    x, y = (start, side) if sideways else (side, start)
    return [replace(box, x=float(x[node]), y=float(y[node])) for node, box in enumerate(boxes)]
