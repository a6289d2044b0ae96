"""Net benefit, expected loss, and the threshold that costs least: by hand, and against slow twins."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.scoring.metric import TrueValues, loss_metric, make_metric
from holdfast.scoring.thresholds import cheapest_threshold, threshold_costs
from holdfast.tree.monotone import compute_threshold, make_threshold_losses

CREDIT = Target("risk", classes=("bad", "good"))
SAID = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]])
TRUTH = np.array([0, 1, 1, 0, 0], np.int32)


def test_the_net_benefit_is_hits_less_false_alarms_at_the_odds_of_the_threshold() -> None:
    # Of bad risks, from 0.2 on: acted on rows 0 to 3, of which 0 and 3 are bad. 2/5 - 2/5 * 0.2/0.8.
    found = make_metric("net_benefit@0.2:bad", CREDIT).score(SAID, TrueValues(CREDIT, TRUTH))
    assert found.value == pytest.approx(0.4 - 0.4 * 0.25)
    figures = np.array([1.0, -0.25, -0.25, 1.0, 0.0])
    assert found.error == pytest.approx(figures.std(ddof=1) / math.sqrt(5))


def test_without_a_name_it_is_that_of_the_second_class_as_the_auc_is() -> None:
    metric = make_metric("net_benefit@0.5", CREDIT)
    found = metric.score(SAID, TrueValues(CREDIT, TRUTH))
    assert metric.title == "net benefit of good at 0.5"
    assert found.value == pytest.approx(1 / 5 - 2 / 5)  # acted on rows 1, 3 and 4


def test_weights_count_as_rows_and_groups_widen_the_error() -> None:
    metric = make_metric("net_benefit@0.3:bad", CREDIT)
    weighted = metric.score(SAID, TrueValues(CREDIT, TRUTH, np.array([2.0, 1, 1, 1, 1])))
    repeated = metric.score(SAID[[0, 0, 1, 2, 3, 4]], TrueValues(CREDIT, TRUTH[[0, 0, 1, 2, 3, 4]]))
    assert weighted.value == pytest.approx(repeated.value)
    twice = np.repeat(np.arange(5), 2)
    grouped = metric.score(SAID[twice], TrueValues(CREDIT, TRUTH[twice], groups=twice.astype(np.int32)))
    alone = metric.score(SAID, TrueValues(CREDIT, TRUTH))
    assert grouped == pytest.approx(alone)


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("net_benefit", CREDIT, "has no threshold between 0 and 1"),
        ("net_benefit@1", CREDIT, "has no threshold between 0 and 1"),
        ("net_benefit@x", CREDIT, "has no threshold between 0 and 1"),
        ("net_benefit@0.2:ugly", CREDIT, "names the class 'ugly', and there are 'bad', 'good'"),
        ("net_benefit@0.2", Target(classes=("a", "b", "c")), "must name one of 3 classes"),
        ("net_benefit@0.2", Target("y", low=0.0, high=1.0), "is for classes"),
    ],
)
def test_a_net_benefit_that_says_too_little_is_refused(name: str, target: Target, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_metric(name, target)


def test_the_expected_loss_is_the_mean_of_what_the_predicted_classes_cost() -> None:
    metric = pickle.loads(pickle.dumps(loss_metric(np.array([[0.0, 5.0], [1.0, 0.0]]))))
    labels = np.eye(2)[[0, 1, 0, 1, 1]]
    found = metric.score(labels, TrueValues(CREDIT, TRUTH))
    assert metric.by_labels
    assert metric.shown(found.value) == pytest.approx((0 + 0 + 1 + 5 + 5) / 5)


@given(
    st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(1, 3)), min_size=1, max_size=20),
    st.integers(1, 9),
)
def test_no_threshold_of_a_fine_grid_costs_less(rows: list[tuple[int, bool, int]], missed: int) -> None:
    forecast, truth, weight = (np.array(each) for each in zip(*rows, strict=True))
    forecast, weight, losses = (
        forecast / 10,
        weight.astype(float),
        np.array([[0.0, 1.0], [float(missed), 0.0]]),
    )
    found = threshold_costs(forecast, truth, weight, losses, 1)

    def cost(threshold: float) -> float:
        told = forecast >= threshold
        return float((weight * np.where(truth & ~told, missed, ~truth & told)).sum() / weight.sum())

    best = cheapest_threshold(*found, losses, 1)
    assert cost(best) == pytest.approx(min(cost(t) for t in np.arange(0.005, 1.0, 0.01)))
    for threshold, reckoned in zip(*found, strict=True):
        assert cost(threshold) == pytest.approx(reckoned)


def test_of_thresholds_that_cost_the_same_the_nearest_to_that_of_the_losses_is_taken() -> None:
    losses = np.array([[0.0, 1.0], [4.0, 0.0]])
    found = threshold_costs(np.array([0.1, 0.9]), np.array([False, True]), np.ones(2), losses, 1)
    assert found[0].tolist() == pytest.approx([0.05, 0.5, 0.95])
    assert cheapest_threshold(*found, losses, 1) == 0.5


@given(st.floats(0.001, 0.999), st.integers(0, 1))
def test_a_threshold_and_its_losses_say_the_same(threshold: float, positive: int) -> None:
    assert compute_threshold(make_threshold_losses(threshold, positive), positive) == pytest.approx(threshold)
