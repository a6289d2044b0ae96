"""A figure of matplotlib as SVG text that may stand in a page beside others."""

from hashlib import sha256
from re import Match, findall, sub
from xml.sax.saxutils import escape, quoteattr

from holdfast.show.svg import FONT

KEPT = "candidate-"  # ids that begin so are for the page to find


def svg_text(file: bytes, heading: str) -> str:
    """The file without what only a file needs, named for a screen reader, and with ids of its own.

    Ids that nothing refers to are left out, but for those of candidates, so that two pictures on one page do
    not clash.
    """
    text = file.decode()
    text = text[text.index("<svg") :]
    text = sub(r"\s*<metadata>.*?</metadata>", "", text, flags=16)
    used = set(findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    own = sha256(text.encode()).hexdigest()[:6]

    def kept(name: str) -> str:
        if name.startswith(KEPT):
            return f' id="{name}"'
        return f' id="{own}-{name}"' if name in used else ""

    text = sub(r' id="([^"]*)"', lambda found: kept(found[1]), text)
    text = sub(r"(url\(#|href=\"#)", lambda found: f"{found[1]}{own}-", text)
    # The reader's own font: what is measured here is wider than most.
    text = sub(r"font-family: 'DejaVu Sans'[^;\"]*; ?", "", text)
    text = sub(r"(font: [^;\"]*?)'DejaVu Sans'[^;\"]*", rf"\1{FONT}", text)
    text = sub(r"<!--.*?-->\n?|(?<=>)\s*\n\s*(?=<)", "", text, flags=16)
    text = sub(r"<[^>]*>", lambda found: sub(r"\d+\.\d{3,}", _rounded, found[0]), text)
    width, height = (float(each) for each in findall(r'(?:width|height)="([\d.]+)pt"', text)[:2])
    return _root(text, width, height, heading)


def _rounded(number: Match[str]) -> str:
    """A coordinate to a hundredth of a point, which no one can see."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _root(text: str, width: float, height: float, heading: str) -> str:
    """The same with the first line that all our pictures have: it shrinks with the page."""
    end = text.index(">") + 1
    xlink = ' xmlns:xlink="http://www.w3.org/1999/xlink"' if "xlink:" in text[end:] else ""
    wide, high = round(width * 4 / 3), round(height * 4 / 3)
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg"{xlink} viewBox="0 0 {width:g} {height:g}" '
        f'width="{wide}" height="{high}" style="max-width:100%;block-size:auto" role="img" '
        f'font-family="{FONT}" aria-label={quoteattr(heading)}>'
    )
    return f"{root}\n<title>{escape(heading)}</title>{text[end:]}"
