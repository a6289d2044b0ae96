"""The frontier as a picture."""

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt

from holdfast import FrontierDisplay, ParameterError
from reference.plot_results import LOG_LOSS, frontier

# Candidates 0, 2 and 3 are efficient: 1 is further from the references than 2, and worse.
FOUR = frontier([1.0, 3.0, 2.0, 4.0], [0.6, 0.7, 0.8, 0.9])


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def marks(display: Any) -> dict[str, tuple[float, float]]:
    """The places of the marks that have an id."""
    lines = [line for line in display.ax_.lines if line.get_gid()]
    return {line.get_gid(): (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines}


def legend(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_each_efficient_candidate_has_a_mark_of_its_own_at_its_figures() -> None:
    display = FrontierDisplay.from_result(FOUR, chosen=2).plot()
    assert marks(display) == {
        "candidate-0": (1.0, 0.6),
        "candidate-2": (2.0, 0.8),
        "candidate-3": (4.0, 0.9),
    }
    others = display.ax_.collections[0]
    assert np.asarray(others.get_offsets()).tolist() == [[3.0, 0.7]]


def test_the_chosen_candidate_and_the_ends_are_named() -> None:
    told = legend(FrontierDisplay.from_result(FOUR, chosen=2).plot())
    assert "chosen:\ncandidate 2, 4 leaves, AUC 0.8 ± 0.01, instability 2" in told
    assert "most stable:\ncandidate 0, 2 leaves, AUC 0.6 ± 0.01, instability 1" in told
    assert "best score:\ncandidate 3, 5 leaves, AUC 0.9 ± 0.01, instability 4" in told
    told = legend(FrontierDisplay.from_result(FOUR, chosen=0).plot())
    assert any(each.startswith("chosen and most stable:\ncandidate 0") for each in told)
    assert not any(each.startswith("chosen") for each in legend(FrontierDisplay.from_result(FOUR).plot()))


def test_a_loss_is_shown_as_people_say_it() -> None:
    display = FrontierDisplay.from_result(frontier([1, 2], [-0.5, -0.3], metric=LOG_LOSS)).plot()
    assert marks(display) == {"candidate-0": (1.0, 0.5), "candidate-1": (2.0, 0.3)}
    assert display.ax_.get_ylabel() == "log loss, lower is better"


@pytest.mark.parametrize("x", ["size_adjusted", "normalised", "per_rule"])
def test_another_axis_shows_other_figures_of_the_same_candidates(x: Any) -> None:
    display = FrontierDisplay.from_result(FOUR, x=x, y="measured_score").plot()
    assert marks(display)["candidate-3"] == pytest.approx((float(getattr(FOUR, x)[3]), 0.88))
    assert "validation" in display.ax_.get_ylabel()


def consensus() -> Any:
    columns = {"teacher_loss": np.array([0.0, 0.1, 0.2, 0.3]), "student_loss": np.zeros(4)}
    return frontier([4, 3, 2, 1], [0.9, 0.8, 0.85, 0.7], max_leaf_nodes=np.array([12, 12, 4, 4]), **columns)


def test_consensus_trees_are_a_series_for_each_number_of_leaves() -> None:
    display = FrontierDisplay.from_result(consensus(), chosen=1).plot()
    series = {
        str(line.get_label()): line for line in display.ax_.lines if "searched" in str(line.get_label())
    }
    assert list(series) == [
        "trees searched with at most 12 leaves",
        "trees searched with at most 4 leaves",
    ]
    xs = [np.asarray(line.get_xdata()).tolist() for line in series.values()]
    assert xs == [[3.0, 4.0], [1.0, 2.0]]
    assert len({line.get_marker() for line in series.values()}) == 2
    assert any("10.0 % of the teacher lost" in told for told in legend(display))
    lost = FrontierDisplay.from_result(consensus(), y="teacher_loss").plot()
    assert marks(lost)["candidate-0"] == (4.0, 0.0)


def test_what_is_not_there_cannot_be_an_axis() -> None:
    with pytest.raises(ParameterError, match="method='consensus'"):
        FrontierDisplay.from_result(FOUR, y="teacher_loss")
    with pytest.raises(ParameterError, match="x='depth' is unknown"):
        FrontierDisplay.from_result(FOUR, x="depth")  # type: ignore[arg-type]


def test_a_page_finds_the_candidates_in_the_svg_by_their_ids() -> None:
    root = ElementTree.fromstring(FrontierDisplay.from_result(FOUR).to_svg())
    ids = [each.attrib["id"] for each in root.iter() if each.attrib.get("id", "").startswith("candidate-")]
    assert ids == ["candidate-0", "candidate-2", "candidate-3"]


def test_thousands_of_candidates_leave_the_file_small() -> None:
    rng = np.random.default_rng(0)
    many = frontier(rng.uniform(5, 20, 3000), rng.uniform(0.7, 0.9, 3000))
    display = FrontierDisplay.from_result(many)
    assert len(display.to_svg()) < 100_000
    numbers = [text for text in display.ax_.texts if text.get_text().isdigit()]
    assert len(numbers) <= len(display.efficient)
