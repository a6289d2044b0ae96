"""Calibration, against figures worked out by hand and scikit-learn's logistic regression."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from holdfast import Target
from holdfast.scoring.calibration import calibration, observed_expected
from holdfast.scoring.metric import TrueValues

CLASSES, NUMBERS = Target(classes=("no", "yes")), Target(low=0.0, high=9.0)


def forecast(chances: np.ndarray) -> np.ndarray:
    return np.stack([1 - chances, chances], axis=1)


def test_log_odds_that_lack_a_constant_have_that_intercept() -> None:
    # One in five forecast, one in two came true: the log odds lack ln(1) - ln(1/4) = ln 4.
    chances, truth = np.full(10, 0.2), np.arange(10) % 2
    found = calibration(forecast(chances), TrueValues(CLASSES, truth), positive=1)
    assert found.intercept == pytest.approx(math.log(4))
    assert (found.observed, found.expected, found.ratio) == (0.5, pytest.approx(0.2), pytest.approx(2.5))
    assert math.isnan(found.slope)  # of one probability


def test_odds_said_twice_as_extreme_have_half_the_slope() -> None:
    # Odds of 1/9 and 9 forecast, 1/3 and 3 came true.
    chances = np.repeat([0.1, 0.9], 4)
    truth = np.array([1, 0, 0, 0, 1, 1, 1, 0])
    found = calibration(forecast(chances), TrueValues(CLASSES, truth), positive=1)
    assert found.slope == pytest.approx(0.5)
    assert found.intercept == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_line_is_that_of_logistic_regression(weighted: bool) -> None:
    random = np.random.default_rng(3)
    chances = random.choice([0.1, 0.3, 0.45, 0.8], 400)
    truth = (random.random(400) < chances**1.4).astype(np.int32)
    weight = random.integers(1, 4, 400).astype(float) if weighted else None
    odds = np.log(chances / (1 - chances))
    oracle = LogisticRegression(C=1e12, tol=1e-12, max_iter=10_000).fit(odds[:, None], truth, weight)
    found = calibration(forecast(chances), TrueValues(CLASSES, truth, weight), positive=1)
    assert found.slope == pytest.approx(oracle.coef_[0, 0], rel=1e-5)
    assert found.intercept == pytest.approx(oracle.intercept_[0], rel=1e-5)


def test_calibration_is_of_the_class_that_is_asked_for() -> None:
    chances, truth = np.repeat([0.3, 0.6], 10), np.arange(20) % 3 == 0
    of_yes = calibration(forecast(chances), TrueValues(CLASSES, truth.astype(np.int32)), positive=1)
    of_no = calibration(forecast(chances), TrueValues(CLASSES, truth.astype(np.int32)), positive=0)
    assert of_no.slope == pytest.approx(of_yes.slope)
    assert of_no.intercept == pytest.approx(-of_yes.intercept)


def test_what_cannot_be_told() -> None:
    perfect = calibration(forecast(np.repeat([0.0, 1.0], 5)), TrueValues(CLASSES, np.repeat([0, 1], 5)), 1)
    assert math.isnan(perfect.slope)
    one_class = calibration(forecast(np.repeat([0.2, 0.7], 5)), TrueValues(CLASSES, np.zeros(10, int)), 1)
    assert math.isnan(one_class.intercept)
    assert one_class.observed == 0.0
    assert math.isnan(calibration(forecast(np.full(4, 0.5)), TrueValues(CLASSES, np.zeros(4, int))).observed)


def test_a_single_number_is_off_by_a_constant() -> None:
    found = calibration(np.full((4, 1), 4.0), TrueValues(NUMBERS, np.array([1.0, 3, 7, 9])))
    assert found.intercept == 1.0
    assert math.isnan(found.slope)


def test_numbers_have_a_line() -> None:
    # 1, 3 forecast of two rows each, 2 and 8 came true on average: 3 * forecast - 1.
    found = calibration(np.array([[1.0], [1.0], [3.0], [3.0]]), TrueValues(NUMBERS, np.array([1.0, 3, 7, 9])))
    assert (found.intercept, found.slope, found.ratio) == (-1.0, 3.0, 2.5)


def test_the_order_of_the_rows_changes_no_bit() -> None:
    random = np.random.default_rng(0)
    chances, weight = random.choice([0.1, 0.3, 0.8], 99), random.random(99)
    truth = (random.random(99) < 0.4).astype(np.int32)
    order = random.permutation(99)
    one = calibration(forecast(chances), TrueValues(CLASSES, truth, weight), 1)
    other = calibration(forecast(chances[order]), TrueValues(CLASSES, truth[order], weight[order]), 1)
    assert one == other


def test_rows_of_one_class_have_an_interval_of_observed_over_expected() -> None:
    chances = np.full(20, 0.9)
    found = observed_expected(forecast(chances), TrueValues(CLASSES, np.ones(20, np.int32)), 1)
    assert found.high == pytest.approx(1 / 0.9)
    assert found.low == pytest.approx(0.025 ** (1 / 20) / 0.9)  # a rate of which 20 of 20 are seen once in 40
    assert not found.is_off


def test_numbers_that_are_all_the_same_have_no_interval_of_observed_over_expected() -> None:
    found = observed_expected(np.full((4, 1), 2.0), TrueValues(NUMBERS, np.full(4, 3.0)))
    assert found.ratio == 1.5
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert not found.is_off
