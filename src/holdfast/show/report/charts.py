"""Small charts of a report: points and lines between two axes, as SVG that takes no library to draw."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from holdfast.show.palette import BLUE, EDGE, GREY, INK
from holdfast.show.report.figures import inline_svg
from holdfast.show.report.scale import Scale, round_ticks, widened
from holdfast.show.svg import text_at, text_width

LEFT, RIGHT, TOP, BOTTOM = 14.0, 12.0, 10.0, 44.0  # around the axes, besides the texts at the left
TICK = 12  # size of letters


@dataclass(frozen=True)
class Axis:
    """The ends of an axis, and what it measures."""

    title: str
    low: float
    high: float

    @classmethod
    def around(cls, title: str, values: Iterable[float], margin: float = 0.06) -> "Axis":
        """An axis with a little room on both sides of the values."""
        found = list(values)
        low, high = widened(min(found), max(found))
        room = margin * (high - low)
        return cls(title, low - room, high + room)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers, with their texts."""
        return round_ticks(self.low, self.high)


@dataclass
class Chart:
    """A chart that is drawn on part by part; `svg` is the picture."""

    x: Axis
    y: Axis
    width: float = 440.0
    height: float = 310.0
    parts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        widest = max((text_width(text, TICK) for _, text in self.y.ticks), default=0.0)
        left = LEFT + 16 + widest
        self.across = Scale(self.x.low, self.x.high, left, self.width - RIGHT)
        self.up = Scale(self.y.low, self.y.high, self.height - BOTTOM, TOP)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        return self.across.at(x), self.up.at(y)

    def line(
        self, points: Sequence[tuple[float, float]], colour: str = BLUE, *, width: float = 2, dashes: str = ""
    ) -> None:
        """A line through the points."""
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (self.at(*point) for point in points))
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>')

    def point(
        self, x: float, y: float, title: str = "", *, radius: float = 4, colour: str = BLUE, more: str = ""
    ) -> None:
        """A disc with a title; `more` are further attributes."""
        across, up = self.at(x, y)
        named = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="{radius:.1f}" fill="{colour}"{more}>{named}</circle>'
        )

    def points(self, places: Iterable[tuple[float, float]], radius: float = 2, colour: str = GREY) -> None:
        """Many small discs, which take little room in the file."""
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in (self.at(*place) for place in places))
        self.parts.append(
            f'<path d="{dots}" fill="none" stroke="{colour}" stroke-width="{2 * radius:.1f}" '
            'stroke-linecap="round"/>'
        )

    def upright(
        self, lines: Iterable[tuple[float, float, float]], width: float = 1.5, colour: str = GREY
    ) -> None:
        """Upright lines: where, from, and to."""
        drawn = "".join(
            f"M{self.across.at(x):.1f} {self.up.at(low):.1f}V{self.up.at(high):.1f}" for x, low, high in lines
        )
        self.parts.append(f'<path d="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}"/>')

    def svg(self, name: str, alt: str, role: str = "img") -> Markup:
        """The picture, with its axes behind what was drawn."""
        root = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {self.width:.0f} '
            f'{self.height:.0f}" role="{role}" aria-label={quoteattr(alt)} font-size="{TICK}" fill="{INK}">'
        )
        return inline_svg("".join([root, *self._axes(), *self.parts, "</svg>"]), name)

    def _axes(self) -> Iterable[str]:
        left, right = self.across.start, self.across.end
        bottom, top = self.up.start, self.up.end
        grid = [f"M{left:.1f} {self.up.at(value):.1f}H{right:.1f}" for value, _ in self.y.ticks]
        yield f'<path d="{"".join(grid)}" stroke="{EDGE}" stroke-width=".6" fill="none"/>'
        yield f'<path d="M{left:.1f} {bottom:.1f}H{right:.1f}" stroke="{GREY}" fill="none"/>'
        for value, text in self.y.ticks:
            yield text_at(left - 6, self.up.at(value) + 4, text, colour=GREY, anchor="end")
        for value, text in self.x.ticks:
            yield text_at(self.across.at(value), bottom + 16, text, colour=GREY)
        yield text_at((left + right) / 2, self.height - 6, self.x.title)
        middle = (top + bottom) / 2
        yield (
            f'<text transform="translate(12 {middle:.1f}) rotate(-90)" text-anchor="middle" '
            f'font-size="{TICK}" fill="{INK}">{escape(self.y.title)}</text>'
        )
