"""What all displays have in common, drawn from plain data."""

from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from holdfast import plots
from holdfast.errors import DataError
from holdfast.plots.display import LATER, Display
from reference import plot_results as made
from reference.plot_results import ODD

SVG = "{http://www.w3.org/2000/svg}"
DISPLAYS: dict[str, Display] = {
    "frontier": plots.FrontierDisplay.from_result(
        made.frontier([1, 2, 3, 2.5], [0.6, 0.8, 0.9, 0.7]), chosen=1, ax=LATER
    ),
    "sizes": plots.PruningDisplay.from_result(
        made.sizes([4, 2, 1], [0.8, 0.9, 0.5], [0.1, 0.05, 0.0]), ax=LATER
    ),
    "support": plots.SplitSupportDisplay.from_result(
        [made.support("age <= 30"), made.support(ODD, 1)], ax=LATER
    ),
    "comparison": plots.ComparisonDisplay.from_result(
        made.comparison({"tree": [0.8, 0.9], ODD: [0.6, 0.7]}), ax=LATER
    ),
    "audit": plots.AuditDisplay.from_result(
        made.audit({"tree": (0.8, 0.1, 5.0), ODD: (0.9, 0.05, np.nan)}), ax=LATER
    ),
    "decision curve": plots.DecisionCurveDisplay(
        np.array([0.2, 0.4]), ("tree", ODD), np.ones((2, 2)), np.ones((2, 2)), np.zeros(2), ODD, 10
    ),
    "replications": plots.ReplicationsDisplay.from_result(made.replications(), ax=LATER),
    "matrix": plots.DistanceDisplay(np.array([[0.0, 2.0], [2.0, 0.0]]), names=("tree", ODD)),
    "map": plots.DistanceDisplay(np.array([[0.0, 2.0], [2.0, 0.0]]), kind="map", marked={1: ODD}),
}
every_display = pytest.mark.parametrize("display", DISPLAYS.values(), ids=list(DISPLAYS))


@cache
def svg(display: Display) -> str:
    return display.to_svg()


def texts(text: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(text).iter(f"{SVG}text")]


def test_what_makes_a_display_draws_it_at_once() -> None:
    plt.close("all")
    found = made.comparison({"tree": [0.8, 0.9], "other": [0.6, 0.7]})
    display = plots.ComparisonDisplay.from_result(found)
    assert plt.get_fignums() == [display.figure_.number]  # type: ignore[union-attr]
    _, ax = plt.subplots()
    assert plots.ComparisonDisplay.from_result(found, ax=ax).ax_ is ax
    first = display.ax_
    assert display.plot(ax=ax).ax_ is ax
    assert display.figure_ is ax.figure
    assert first is not ax


@every_display
def test_it_draws_on_a_figure_of_its_own_and_returns_itself(display: Display) -> None:
    before = dict(mpl.rcParams)
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    assert plt.get_fignums() == [display.figure_.number]  # type: ignore[union-attr]
    assert dict(mpl.rcParams) == before
    assert display.ax_.get_title("left")


@every_display
def test_it_draws_on_axes_that_are_given(display: Display) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    assert display.plot(ax=right).ax_ is right
    assert display.figure_ is figure
    assert not left.has_data()
    assert len(plt.get_fignums()) == 1


@every_display
def test_its_svg_is_the_same_each_time_and_opens_no_figure(display: Display) -> None:
    text = svg(display)
    assert text == display.to_svg()
    assert plt.get_fignums() == []
    root = ElementTree.fromstring(text)
    assert (root.tag, root.attrib["role"]) == (f"{SVG}svg", "img")
    assert root.attrib["aria-label"] == root[0].text == display.heading != ""
    assert "<script" not in text
    assert len(text) < 60_000


@every_display
def test_two_pictures_on_one_page_share_no_ids(display: Display) -> None:
    other = DISPLAYS["sizes" if display is not DISPLAYS["sizes"] else "audit"]
    ids = [
        {part.attrib["id"] for part in ElementTree.fromstring(svg(each)).iter() if "id" in part.attrib}
        for each in (display, other)
    ]
    assert not ids[0] & ids[1]


@pytest.mark.parametrize("name", ["support", "comparison", "audit", "matrix", "map"])
def test_odd_names_are_text_that_fits(name: str) -> None:
    found = [text for text in texts(svg(DISPLAYS[name])) if "script" in text]
    assert found
    assert all(len(text) < 60 for text in found)
    assert all("…" in text for text in found)


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_files_are_the_same_bytes_each_time(ending: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.{ending}" for number in (1, 2)]
    for path in paths:
        DISPLAYS["sizes"].save(path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first.startswith({"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[ending])


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"must end in \.svg, \.png or \.pdf"):
        DISPLAYS["sizes"].save(tmp_path / "sizes.gif")


@pytest.mark.filterwarnings("error")
def test_letters_that_the_font_has_not_are_kept_without_a_warning(tmp_path: Path) -> None:
    display = plots.ComparisonDisplay.from_result(made.comparison({"模型": [0.8, 0.9], "نموذج": [0.6, 0.7]}))
    assert {"模型", "نموذج"} <= set(texts(display.to_svg()))
    display.save(tmp_path / "models.png")


def test_results_draw_themselves() -> None:
    results: list[tuple[Any, type[Display]]] = [
        (made.frontier([1, 2], [0.6, 0.8]), plots.FrontierDisplay),
        (made.sizes([2, 1], [0.8, 0.9]), plots.PruningDisplay),
        (made.comparison({"tree": [0.8, 0.9]}), plots.ComparisonDisplay),
        (made.audit({"tree": (0.8, 0.1, 5.0)}), plots.AuditDisplay),
        (made.replications(), plots.ReplicationsDisplay),
    ]
    for result, display in results:
        _, ax = plt.subplots()
        drawn = result.plot(ax=ax)
        assert isinstance(drawn, display)
        assert drawn.ax_ is ax
