"""The score of every size of a tree as one SVG picture, in the manner of the trees' own pictures."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.growth.size.table import SizeTable
from holdfast.show.axis import LARGEST_EVEN, Scale, leaf_ticks, score_ticks, widened
from holdfast.show.palette import BLUE, EDGE, GREY, PAPER, RED
from holdfast.show.svg import MARGIN, SMALL, background, fitted, picture, text_at, text_width
from holdfast.text.lines import printable
from holdfast.text.numbers import counted, number_text

WIDTH, HEIGHT = 720, 480
INSET = 16  # from the frame to the outermost points
ROW = 20  # height of a line of labels inside the frame
MANY = 40  # more sizes get smaller dots and a fainter line
BAR_GAP = 12  # at least so many pixels from one error bar to the next
LONGEST_TITLE = 260  # pixels of the metric's title


@dataclass(frozen=True)
class Plot:
    """What is drawn, and the frame and the scales to draw it in."""

    sizes: SizeTable
    means: FloatArray  # with the sign that people expect
    errors: FloatArray  # half the length of the bars
    limit: float  # one standard error off the best
    left: float
    right: float
    top: float
    bottom: float
    across: Scale  # leaves
    upward: Scale  # scores

    @property
    def title(self) -> str:
        """The name of the score, short enough for the picture."""
        return fitted(printable(self.sizes.metric.title), LONGEST_TITLE)

    def x(self, place: int) -> float:
        """Where the size stands from left to right."""
        return self.across.at(float(self.sizes.n_leaves[place]))

    def y(self, place: int) -> float:
        """Where its mean score stands from top to bottom."""
        return self.upward.at(float(self.means[place]))


def size_svg(sizes: SizeTable) -> str:
    """The sizes as the text of an SVG file: mean score against leaves, with bars of one standard error.

    A dashed line stands one standard error off the best size, and the best and the chosen size are named. The
    value of the parameter stands on the upper axis, and with everything else of a size in its tooltip.
    """
    plot = _plot(sizes)
    parts = [
        f"<title>{escape(_heading(plot))}</title>",
        f"<desc>{escape(printable(sizes.reason))}</desc>",
        background(WIDTH, HEIGHT),
        *_legend(plot),
        *_score_axis(plot),
        *_leaf_axis(plot),
        *_parameter_axis(plot),
        *_curve(plot),
        *_labels(plot),
        *_marks(plot),
    ]
    return picture(WIDTH, HEIGHT, parts)


# -- the frame and its scales -----------------------------------------------------------------------------


def _plot(sizes: SizeTable) -> Plot:
    means = np.array([sizes.metric.shown(score) for score in sizes.score.tolist()])
    # Squares of scores such as 1e300 leave an error that no bar can show.
    errors = np.where(np.isfinite(sizes.error), sizes.error, 0.0)
    worse = 1 if sizes.metric.is_loss else -1
    limit = float(means[sizes.best] + worse * errors[sizes.best])
    low, high = widened(float((means - errors).min()), float((means + errors).max()))
    ticks = max(text_width(text, SMALL) for _, text in score_ticks(low, high))
    left, right = MARGIN + 24 + ticks, float(WIDTH - MARGIN)
    top, bottom = 112.0 if _has_parameter_axis(sizes) else 76.0, float(HEIGHT - 62)
    fewest, most = float(sizes.n_leaves.min()), float(sizes.n_leaves.max())
    rows = 1 if sizes.best == sizes.chosen else 2
    return Plot(
        sizes=sizes,
        means=means,
        errors=errors,
        limit=limit,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        across=Scale(fewest, most, left + INSET, right - INSET, is_log=most > LARGEST_EVEN),
        upward=Scale(low, high, bottom - INSET, top + rows * ROW + INSET),
    )


# -- around the frame -------------------------------------------------------------------------------------


def _heading(plot: Plot) -> str:
    better = ", less is better" if plot.sizes.metric.is_loss else ""
    return f"{plot.title} by the size of the tree{better}"


def _legend(plot: Plot) -> list[str]:
    n_folds = plot.sizes.scores.shape[1]
    bars = "rows held out" if n_folds == 1 else f"mean of {n_folds} folds"
    some = "" if len(_places_of_bars(plot)) == len(plot.sizes) else " (at some sizes)"
    side = "above" if plot.sizes.metric.is_loss else "below"
    first = f"{bars} ± one standard error{some}"
    x = MARGIN + 16 + text_width(first, SMALL) + 24
    return [
        text_at(MARGIN, 32, _heading(plot), size=14, bold=True, anchor="start"),
        _bar(MARGIN + 5, 44, 60, BLUE),
        f'<circle cx="{MARGIN + 5}" cy="52" r="3" fill="{BLUE}"/>',
        text_at(MARGIN + 16, 56, first, anchor="start"),
        f'<path d="M{x:.1f} 52h26" stroke="{GREY}" stroke-dasharray="5 4"/>',
        text_at(x + 33, 56, f"one standard error {side} the best", anchor="start"),
    ]


def _score_axis(plot: Plot) -> list[str]:
    parts = []
    for tick, text in score_ticks(plot.upward.low, plot.upward.high):
        y = plot.upward.at(tick)
        parts.append(
            f'<path d="M{plot.left:.1f} {y:.1f}H{plot.right:.1f}" stroke="{EDGE}" stroke-width="0.5"/>'
        )
        parts.append(text_at(plot.left - 7, y + 4, text, colour=GREY, anchor="end"))
    middle = (plot.top + plot.bottom) / 2
    turned = (
        f'<g transform="translate({MARGIN + 8} {middle:.1f}) rotate(-90)">{text_at(0, 0, plot.title)}</g>'
    )
    frame = (
        f'<rect data-kind="frame" x="{plot.left:.1f}" y="{plot.top:.1f}" '
        f'width="{plot.right - plot.left:.1f}" height="{plot.bottom - plot.top:.1f}" fill="none" '
        f'stroke="{EDGE}"/>'
    )
    return [*parts, frame, turned]


def _leaf_axis(plot: Plot) -> list[str]:
    parts = []
    for tick in leaf_ticks(int(plot.across.low), int(plot.across.high)):
        x = plot.across.at(float(tick))
        parts.append(f'<path d="M{x:.1f} {plot.bottom:.1f}v5" stroke="{GREY}"/>')
        parts.append(text_at(x, plot.bottom + 19, str(tick), colour=GREY))
    title = "number of leaves" + (", logarithmic scale" if plot.across.is_log else "")
    return [*parts, text_at((plot.left + plot.right) / 2, plot.bottom + 42, title)]


def _has_parameter_axis(sizes: SizeTable) -> bool:
    return sizes.parameter != "max_leaf_nodes"  # that is what the lower axis says


def _parameter_axis(plot: Plot) -> list[str]:
    """The values of the parameter at as many sizes as there is room for; the chosen one first."""
    sizes = plot.sizes
    if not _has_parameter_axis(sizes):
        return []
    parts = [text_at((plot.left + plot.right) / 2, plot.top - 27, sizes.parameter)]
    taken: list[tuple[float, float]] = []
    for place in [sizes.chosen, len(sizes) - 1, *range(len(sizes))]:
        text, x = number_text(float(sizes.values[place]), 3), plot.x(place)
        half = text_width(text, SMALL) / 2
        start, end = x - half - 4, x + half + 4
        if end <= WIDTH and all(end <= other[0] or start >= other[1] for other in taken):
            taken.append((start, end))
            parts.append(f'<path d="M{x:.1f} {plot.top:.1f}v-5" stroke="{GREY}"/>')
            parts.append(text_at(x, plot.top - 9, text, colour=GREY))
    return parts


# -- inside the frame -------------------------------------------------------------------------------------


def _curve(plot: Plot) -> list[str]:
    """The line through the means, and the dashed one off the best."""
    points = " ".join(f"{plot.x(place):.1f},{plot.y(place):.1f}" for place in range(len(plot.sizes)))
    y, opacity = plot.upward.at(plot.limit), 0.45 if len(plot.sizes) <= MANY else 0.2
    return [
        f'<path data-kind="limit" d="M{plot.left:.1f} {y:.1f}H{plot.right:.1f}" stroke="{GREY}" '
        'stroke-dasharray="5 4"/>',
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-opacity="{opacity}"/>',
    ]


def _labels(plot: Plot) -> list[str]:
    """The best and the chosen size in words, above the points.

    The chosen size is the smaller. It keeps to the left, and to the row that the other's text leaves free.
    """
    best, chosen = plot.sizes.best, plot.sizes.chosen
    room = plot.right - plot.x(best)
    best_row = 1 if best != chosen and _label_width(plot, best) <= room else 0
    return [
        line
        for place in sorted({best, chosen})
        for line in _label(plot, place, best_row if place == best else 1 - best_row)
    ]


def _label(plot: Plot, place: int, row: int) -> list[str]:
    """The words beside a thin line up from the point: right of the best, left of the chosen, if they fit."""
    x, y, colour = plot.x(place), plot.top + ROW * row + 16, _colour(plot, place)
    width = _label_width(plot, place)
    goes_right = x + width <= plot.right if place == plot.sizes.best else x - width < plot.left
    side, anchor = (5, "start") if goes_right else (-5, "end")
    return [
        f'<path d="M{x:.1f} {plot.y(place):.1f}V{y - 10:.1f}" stroke="{colour}" stroke-width="0.75"/>',
        text_at(x + side, y, _label_text(plot, place), bold=True, anchor=anchor),
    ]


def _label_width(plot: Plot, place: int) -> float:
    return text_width(_label_text(plot, place), SMALL, bold=True) + 8


def _label_text(plot: Plot, place: int) -> str:
    words = " and ".join(_words(plot.sizes, place))
    return f"{words}: {_leaves_text(plot, place)}, {plot.means[place]:.4g}"


def _leaves_text(plot: Plot, place: int) -> str:
    return counted(int(plot.sizes.n_leaves[place]), "leaf", "leaves")


def _words(sizes: SizeTable, place: int) -> list[str]:
    return ["best"] * (place == sizes.best) + ["chosen"] * (place == sizes.chosen)


def _colour(plot: Plot, place: int) -> str:
    return RED if place == plot.sizes.chosen else BLUE


def _marks(plot: Plot) -> list[str]:
    """Every size: its bar and its dot, the best and the chosen last so that nothing hides them."""
    sizes, bars = plot.sizes, _places_of_bars(plot)
    first = [place for place in range(len(sizes)) if place not in (sizes.best, sizes.chosen)]
    return [_mark(plot, place, place in bars) for place in [*first, *sorted({sizes.best, sizes.chosen})]]


def _places_of_bars(plot: Plot) -> set[int]:
    """The sizes whose bars are drawn: the best, the chosen, and others that keep away from them."""
    sizes = plot.sizes
    kept = [sizes.best, sizes.chosen]
    named = (plot.x(sizes.best), plot.x(sizes.chosen))
    last = float("inf")
    for place in range(len(sizes)):
        x = plot.x(place)
        if last - x >= BAR_GAP and min(abs(x - other) for other in named) >= BAR_GAP:
            kept.append(place)
            last = x
    return set(kept)


def _mark(plot: Plot, place: int, has_bar: bool) -> str:
    sizes, x, y, colour = plot.sizes, plot.x(place), plot.y(place), _colour(plot, place)
    words = _words(sizes, place)
    parts = [f"<title>{escape(_tooltip(plot, place))}</title>", _hover_area(plot, place)]
    if has_bar and (error := float(plot.errors[place])) > 0:
        mean = float(plot.means[place])
        parts.append(_bar(x, plot.upward.at(mean + error), plot.upward.at(mean - error), colour))
    radius = 5 if words else 3 if len(sizes) <= MANY else 1.8
    fill = PAPER if words == ["best"] else colour
    ring = f' stroke="{colour}" stroke-width="2"' if words else ""
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"{ring}/>')
    return f'<g data-kind="{" ".join(["size", *words])}">{"".join(parts)}</g>'


def _hover_area(plot: Plot, place: int) -> str:
    """What shows the tooltip: all that is nearer to this size than to its neighbours."""
    x, last = plot.x(place), len(plot.sizes) - 1
    end = (x + plot.x(place - 1)) / 2 if place > 0 else plot.right
    start = (x + plot.x(place + 1)) / 2 if place < last else plot.left
    return (
        f'<rect x="{start:.1f}" y="{plot.top:.1f}" width="{end - start:.1f}" '
        f'height="{plot.bottom - plot.top:.1f}" fill="none" pointer-events="all"/>'
    )


def _tooltip(plot: Plot, place: int) -> str:
    sizes = plot.sizes
    error = f" ± {sizes.error[place]:.2g}" if sizes.error[place] > 0 else ""
    lines = [
        _leaves_text(plot, place),
        f"{printable(sizes.metric.title)} {plot.means[place]:.4g}{error}",
        f"{sizes.parameter} {number_text(float(sizes.values[place]), 4)}",
        " and ".join(_words(sizes, place)),
    ]
    return "\n".join(filter(None, lines))


def _bar(x: float, upper: float, lower: float, colour: str) -> str:
    """An upright bar with a cap at both ends."""
    return (
        f'<path d="M{x - 3:.1f} {upper:.1f}h6m-3 0V{lower:.1f}m-3 0h6" fill="none" stroke="{colour}" '
        'stroke-opacity="0.8"/>'
    )
