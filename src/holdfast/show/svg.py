"""What all SVG pictures are made of: the picture itself, boxes, and text that fits.

A picture is one file without style sheet, script or ids, so it can stand in an HTML page. All that is drawn
is said by attributes, which browsers, librsvg, CairoSVG and Inkscape read alike.
"""

from collections.abc import Iterable
from re import split
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

from holdfast.show.palette import EDGE, INK, PAPER
from holdfast.text.lines import NO_BREAK, shortened, unbreakable

FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
LARGE, TEXT, SMALL = 18, 13, 12  # sizes of the letters: of what matters most, of names, and of the rest
LEGIBLE = 11  # the smallest letters that one can read
MARGIN = 20  # around the picture
LONGEST = 300  # letters of a text that is worth fitting: the rest cannot show
NARROW, WIDE = frozenset("fijlrtI .,:;|!'`()[]-·"), frozenset("mwMW@%<>=+…")


def picture(
    width: float, height: float, parts: Iterable[str], label: str = "", shown_width: float | None = None
) -> str:
    """The text of an SVG file of these parts; `label` says what it is to those who cannot see it.

    It is shown as large as it was drawn, or as wide as `shown_width` says.
    """
    spoken = f" aria-label={quoteattr(label)}" if label else ""
    # In a narrower page the picture shrinks, while its smallest letters stay legible. Its height follows by
    # block-size, which only browsers read: CairoSVG takes "height:auto" for no height, and draws nothing.
    scale = 1.0 if shown_width is None else float(shown_width) / width
    least = min(scale, LEGIBLE / SMALL) * width
    style = f"max-width:100%;min-width:{least:.0f}px;block-size:auto"
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{scale * width:.0f}" height="{scale * height:.0f}" style="{style}" role="img"{spoken} '
        f'font-family="{FONT}" font-size="{SMALL}" fill="{INK}">'
    )
    return "\n".join([root, *parts, "</svg>"])


def background(width: float, height: float) -> str:
    """Paper with a thin border, over the whole picture."""
    return rounded_box(0.5, 0.5, width - 1, height - 1, PAPER, EDGE, radius=8)


def rounded_box(
    x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", *, radius: int = 6
) -> str:
    """A rectangle with round corners."""
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
    """A line of text at a place of the picture."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight} fill="{colour}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


# -- text that fits ---------------------------------------------------------------------------------------


def wrapped(text: str, width: float, size: int = TEXT) -> list[str]:
    """The text in lines of so many pixels, which end at a space or within a name at an underscore.

    Letters of the size of names are taken for bold ones.
    """
    lines = [""]
    for piece in split("(?<=[ _])", unbreakable(text)):
        piece = fitted(piece.replace(NO_BREAK, " "), width, size)
        if lines[-1] and text_width((lines[-1] + piece).rstrip(), size, bold=size == TEXT) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def fitted(text: str, width: float, size: int = TEXT) -> str:
    """The text, shortened to so many pixels."""
    letters = min(len(text), LONGEST)
    while text_width(shortened(text, letters).rstrip(), size, bold=size == TEXT) > width:
        letters -= 1
    return shortened(text, letters)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that the text takes, at most: the font is the reader's, so letters count as in a wide one."""
    total = 0.0
    for letter in text:
        if letter in NARROW:
            total += 0.41
        elif letter in WIDE or east_asian_width(letter) in "WF":
            total += 1.0
        else:
            total += 0.72 if letter.isupper() else 0.63
    return total * size * (1.07 if bold else 1.0)
