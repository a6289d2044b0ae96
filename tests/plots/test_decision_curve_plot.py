"""The picture of decision curves: its texts, lines and bands."""

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

from holdfast import DecisionCurve
from holdfast.plots import DecisionCurveDisplay

CURVE = DecisionCurve(
    thresholds=np.array([0.1, 0.3, 0.6]),
    names=("tree", "forest"),
    benefit=np.array([[0.2, 0.1, 0.0], [0.21, 0.15, 0.05]]),
    error=np.full((2, 3), 0.01),
    act_on_all=np.array([0.18, -0.05, -0.8]),
    positive="ill",
    prevalence=0.26,
    n_rows=1234,
)


@pytest.fixture(scope="module")
def drawn() -> DecisionCurveDisplay:
    from matplotlib.figure import Figure

    return DecisionCurveDisplay.from_result(CURVE).plot(ax=Figure().add_subplot())


def test_every_model_has_a_line_and_a_band_next_to_acting_on_all_or_none(drawn: DecisionCurveDisplay) -> None:
    lines = {line.get_label(): line for line in drawn.ax_.lines}
    assert set(lines) == {"act on none", "act on all", "tree", "forest"}
    assert lines["forest"].get_ydata().tolist() == [0.21, 0.15, 0.05]
    assert lines["tree"].get_marker() != lines["forest"].get_marker()
    bands = [each for each in drawn.ax_.collections if isinstance(each, FillBetweenPolyCollection)]
    assert len(bands) == 2


def test_the_picture_ends_where_nothing_is_worth_looking_at(drawn: DecisionCurveDisplay) -> None:
    low, high = drawn.ax_.get_ylim()
    assert -0.1 < low < 0 < 0.21 < high


def test_it_says_whom_one_acts_on_and_how_many_rows_there_are(drawn: DecisionCurveDisplay) -> None:
    assert drawn.heading == "Decision curve: acting on ill"
    assert "1,234 rows" in drawn.ax_.get_xlabel()
