"""What predictions lack on the whole."""

from math import isnan, log

import numpy as np
import pytest
from scipy.special import expit, logit

from holdfast import Target
from holdfast.scoring.calibration import overall_shift
from holdfast.scoring.metric import TrueValues

CLASSES = Target(classes=("no", "yes"))


def test_one_prediction_lacks_the_difference_of_the_log_odds() -> None:
    forecast = np.tile([0.75, 0.25], (8, 1))
    truth = TrueValues(CLASSES, np.array([0, 1] * 4))
    assert overall_shift(forecast, truth, 1) == pytest.approx(log(1) - log(0.25 / 0.75))
    assert overall_shift(forecast, truth, 0) == pytest.approx(-overall_shift(forecast, truth, 1))


def test_after_the_shift_as_much_is_predicted_as_came_true() -> None:
    rng = np.random.default_rng(0)
    chance, weight = rng.uniform(0.05, 0.9, 300), rng.integers(0, 3, 300).astype(float)
    truth = TrueValues(CLASSES, (rng.random(300) < 0.3).astype(np.int32), weight)
    shift = overall_shift(np.column_stack([1 - chance, chance]), truth, 1)
    shifted = expit(logit(chance) + shift)
    assert np.average(shifted, weights=weight) == pytest.approx(np.average(truth.values, weights=weight))


def test_numbers_lack_the_difference_of_the_means() -> None:
    truth = TrueValues(Target(), np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]))
    assert overall_shift(np.array([[0.0], [2.0], [4.0]]), truth) == pytest.approx(15 / 4 - 10 / 4)


def test_of_a_class_that_all_or_none_have_nothing_is_told() -> None:
    forecast = np.tile([0.75, 0.25], (4, 1))
    for values in (np.zeros(4, np.int32), np.ones(4, np.int32)):
        assert isnan(overall_shift(forecast, TrueValues(CLASSES, values), 1))
