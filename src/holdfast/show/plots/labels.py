"""Texts on plots: names at ticks that are never taken for formulas, and notes that fit under an axis."""

from collections.abc import Sequence
from math import ceil
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.axis import Axis

from holdfast.show.plots.display import LONGEST_LABEL, label

LETTERS_PER_INCH = 12  # of the size of axis labels
LARGEST, SMALLEST = 10.5, 4.0  # of tick labels, in points


def name_ticks(axis: Axis, places: Sequence[float], names: Sequence[object]) -> None:
    """Names at these places of an axis, as plain text, and so small, steep or few that they do not touch."""
    ax = axis.axes
    is_upright = axis is ax.yaxis
    if is_upright:
        step = ceil(len(names) * SMALLEST / (0.8 * height_of(ax)))
        places, names = places[::step], names[::step]
    labels = [label(name, LONGEST_LABEL if is_upright else LONGEST_LABEL // 2) for name in names]
    axis.set_ticks(places, labels)
    size = fitting_size(ax, len(names)) if is_upright else LARGEST
    touches = not is_upright and len(names) * (max(map(len, labels), default=0) + 1) > letters_across(ax)
    for text in axis.get_ticklabels():
        text.set_parse_math(False)
        text.set_fontsize(size)
        if touches:
            text.set(rotation=40, ha="right", rotation_mode="anchor")


def fitting_size(ax: Axes, n_lines: int) -> float:
    """The size of letters, in points, at which so many lines fit the height of the axes."""
    return min(LARGEST, max(SMALLEST, 0.8 * height_of(ax) / max(n_lines, 1)))


def height_of(ax: Axes) -> float:
    """The height of the axes, in points."""
    return ax.get_window_extent().height / ax.figure.dpi * 72


def letters_across(ax: Axes) -> int:
    """How many letters of ordinary text fit the width of the axes."""
    return int(ax.get_window_extent().width / ax.figure.dpi * LETTERS_PER_INCH)


def label_with_note(ax: Axes, text: str, note: str) -> None:
    """What the horizontal axis shows and, in lines of their own below it, what the reader must know."""
    beside = max((len(tick.get_text()) for tick in ax.get_yticklabels()), default=0)
    lines = [text, *([fill(note, max(30, letters_across(ax) - max(0, beside - 6)))] if note else [])]
    ax.set_xlabel("\n".join(lines), parse_math=False)
