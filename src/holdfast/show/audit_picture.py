"""An audit as one SVG picture: the score of every method against how much its answers move."""

from math import isnan
from typing import NamedTuple
from xml.sax.saxutils import escape

from holdfast.audit.table import RetrainAudit
from holdfast.show.axis import Scale, score_ticks, widened
from holdfast.show.palette import EDGE, GREY, INK, nth_colour
from holdfast.show.svg import MARGIN, SMALL, background, fitted, picture, text_at, text_width
from holdfast.text.lines import printable

WIDTH, HEIGHT = 720, 440
INSET = 24  # from the frame to the outermost points
LONGEST = 200  # pixels of a name
LEFT, TOP, BOTTOM = 84.0, 64.0, HEIGHT - 64.0


class _Point(NamedTuple):
    name: str
    churn: float
    churn_error: float
    score: float
    score_error: float
    colour: str


def audit_svg(audit: RetrainAudit, change: str | None = None) -> str:
    """Score upwards, churn to the right, each with a bar of one standard error: the upper left is best."""
    change = audit.changes[0] if change is None else change
    score = audit.measures[0]
    points = [
        _Point(
            name,
            audit.mean(name, "churn", change),
            _known(audit.error(name, "churn", change)),
            audit.mean(name, score.name, change),
            _known(audit.error(name, score.name, change)),
            nth_colour(place),
        )
        for place, name in enumerate(audit.methods)
    ]
    points = [point for point in points if not isnan(point.score)]
    heading = f"{score.title} and churn of each method, trained again: {change}"
    right = float(WIDTH - MARGIN)
    parts = [
        f"<title>{escape(heading)}</title>",
        background(WIDTH, HEIGHT),
        text_at(MARGIN, 32, heading, size=14, bold=True, anchor="start"),
        text_at((LEFT + right) / 2, HEIGHT - 20, "churn: the less, the steadier", colour=GREY),
        text_at(MARGIN, 52, score.title, colour=GREY, anchor="start"),
    ]
    if points:
        parts += _drawn(points, right)
    return picture(WIDTH, HEIGHT, parts)


def _known(error: float) -> float:
    return 0.0 if isnan(error) else error


def _drawn(points: list[_Point], right: float) -> list[str]:
    low, high = widened(
        min(each.score - each.score_error for each in points),
        max(each.score + each.score_error for each in points),
    )
    most = max(each.churn + each.churn_error for each in points) or 1.0
    across = Scale(0.0, most, LEFT + INSET, right - INSET - LONGEST / 2)
    upward = Scale(low, high, BOTTOM - INSET, TOP + INSET)
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{BOTTOM - TOP}" fill="none" '
        f'stroke="{EDGE}"/>'
    ]
    for value, text in score_ticks(low, high):
        parts.append(text_at(LEFT - 8, upward.at(value) + 4, text, colour=GREY, anchor="end"))
        parts.append(_line(LEFT, upward.at(value), right, upward.at(value), EDGE))
    for value, text in score_ticks(0.0, most):
        parts.append(text_at(across.at(value), BOTTOM + 18, text, colour=GREY))
    for point in points:
        parts += _marked(point, across, upward)
    return [*parts, *_names(points, across, upward)]


def _marked(point: _Point, across: Scale, upward: Scale) -> list[str]:
    x, y = across.at(point.churn), upward.at(point.score)
    low, high = (across.at(point.churn + sign * point.churn_error) for sign in (-1, 1))
    down, up = (upward.at(point.score + sign * point.score_error) for sign in (-1, 1))
    told = f"{printable(point.name)}: churn {point.churn:.3f}, score {point.score:.3f}"
    return [
        _line(low, y, high, y, point.colour),
        _line(x, down, x, up, point.colour),
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{point.colour}"><title>{escape(told)}</title>'
        "</circle>",
    ]


def _names(points: list[_Point], across: Scale, upward: Scale) -> list[str]:
    """The names to the right of the dots; one that would stand on another moves down."""
    parts: list[str] = []
    taken: list[tuple[float, float, float]] = []  # left, right, base line
    for point in sorted(points, key=lambda each: -each.score):
        text = fitted(printable(point.name), LONGEST)
        x, y = across.at(point.churn) + 10, upward.at(point.score) + 4
        end = x + text_width(text, SMALL)
        while any(left < end and x < right and abs(y - base) < SMALL + 2 for left, right, base in taken):
            y += 2
        taken.append((x, end, y))
        parts.append(text_at(x, y, text, colour=INK, anchor="start"))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'
