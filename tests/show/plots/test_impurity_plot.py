"""Impurity over the fraction of a class, against the formulas of textbooks."""

from math import log2

import pytest
from matplotlib import pyplot as plt

import holdfast as hf


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def curves(display):
    return {
        line.get_label(): dict(zip(line.get_xdata().round(6), line.get_ydata(), strict=True))
        for line in display.ax_.lines
    }


def test_the_three_curves_are_those_of_textbooks():
    drawn = curves(hf.ImpurityDisplay.from_criteria().plot())
    assert list(drawn) == ["Gini index", "entropy, in bits", "misclassification"]
    for p in (0.0, 0.1, 0.25, 0.5, 0.9, 1.0):
        entropy = -sum(q * log2(q) for q in (p, 1 - p) if q > 0)
        by_hand = [2 * p * (1 - p), entropy, min(p, 1 - p)]
        assert [curve[p] for curve in drawn.values()] == pytest.approx(by_hand)


def test_scaled_curves_meet_at_one_half_and_entropy_lies_highest():
    drawn = curves(hf.ImpurityDisplay.from_criteria(scaled=True).plot())
    assert [curve[0.5] for curve in drawn.values()] == pytest.approx([0.5] * 3)
    assert drawn["entropy, in bits"][0.2] > drawn["Gini index"][0.2] > drawn["misclassification"][0.2]


def test_a_criterion_for_numbers_is_refused():
    with pytest.raises(hf.ParameterError, match="squared_error"):
        hf.ImpurityDisplay.from_criteria(["squared_error"])
