"""What every picture has in common: browsers and programs that draw files must show the same."""

import re
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest

from holdfast import Table, grow
from holdfast.tree.svg import PALETTE, lighten, nth_colour, picture, text_at

ROWS = [[float(age), float(age % 7)] for age in range(60)]
LABELS = ["<no>" if age < 30 or age % 7 == 3 else "yes & more" for age in range(60)]
TREE = grow(Table.from_arrays(ROWS, LABELS)).to_svg()
PICTURES = pytest.mark.parametrize("text", [TREE], ids=["tree"])


@PICTURES
def test_a_picture_has_a_plain_size_and_no_style_that_takes_it_away(text: str) -> None:
    root = ElementTree.fromstring(text)
    _, _, width, height = root.attrib["viewBox"].split()
    assert (root.attrib["width"], root.attrib["height"]) == (width, height)
    assert float(width) > 0
    assert float(height) > 0
    style = dict(part.split(":") for part in root.attrib["style"].split(";"))
    # CairoSVG takes width and height out of the style, and "auto" for nothing.
    assert set(style) == {"max-width", "min-width", "block-size"}
    # A narrow page makes it smaller, and its height follows.
    assert (style["max-width"], style["block-size"]) == ("100%", "auto")
    assert 0 < float(style["min-width"].removesuffix("px")) < float(width)


@PICTURES
def test_all_else_is_said_by_attributes(text: str) -> None:
    root = ElementTree.fromstring(text)
    for element in [each for each in root.iter() if each is not root]:
        assert not {"style", "class", "id"} & set(element.attrib)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "rect", "path", "circle", "polyline", "text", "title", "desc"}
    assert not re.search(r"url\(|href|NaN|nan|inf\b", text)


@PICTURES
def test_cairosvg_draws_it(text: str) -> None:
    cairosvg = pytest.importorskip("cairosvg")
    image = pytest.importorskip("PIL.Image")
    drawn = np.asarray(image.open(BytesIO(cairosvg.svg2png(bytestring=text.encode()))).convert("RGB"))
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 20


def test_texts_are_never_markup() -> None:
    text = picture(100, 50, [text_at(1, 2, "<b> & 'c'")], label='"<d>"')
    root = ElementTree.fromstring(text)
    assert root.attrib["aria-label"] == '"<d>"'
    assert [element.text for element in root.iter() if element.tag.endswith("text")] == ["<b> & 'c'"]


def test_colours_differ_for_as_many_classes_as_one_can_tell_apart() -> None:
    colours = [nth_colour(place) for place in range(3 * len(PALETTE))]
    assert colours[: len(PALETTE)] == list(PALETTE)
    assert len(set(colours)) == len(colours)
    assert lighten("#000000", 0.0) == "#ffffff"
    assert lighten(PALETTE[0], 1.0) == PALETTE[0]
