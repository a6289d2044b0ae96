"""Standard errors of scores against DeLong's loops and the bootstrap."""

import math

import numpy as np
import pytest

from holdfast.data.schema import Target
from holdfast.scoring.metric import TrueValues, make_metric
from scoring.predictions import DIED_LIVED, EVERY, WARDS, drawn, every_metric, if_weighted, score

# Beyond a plain mean of the rows, whose error is a textbook's.
RATIOS = [(name, target) for name, target in EVERY if name in ("auc", "balanced_accuracy", "r2")]
TWO_CLASSES_OR_NUMBERS = [(name, target) for name, target in EVERY if target is not WARDS]
by_name = {"ids": lambda it: getattr(it, "name", it)}
made_of_ratios = pytest.mark.parametrize(("name", "target"), RATIOS, **by_name)
almost_every_metric = pytest.mark.parametrize(
    ("name", "target"), [*TWO_CLASSES_OR_NUMBERS, ("auc", WARDS), ("balanced_accuracy", WARDS)], **by_name
)


def delong_error(scores: list[float], inside: list[bool]) -> float:
    """The textbook, pair by pair."""
    above = [s for s, member in zip(scores, inside, strict=True) if member]
    below = [s for s, member in zip(scores, inside, strict=True) if not member]

    def won(a: float, b: float) -> float:
        return 1.0 if a > b else 0.5 if a == b else 0.0

    placements_above = [sum(won(a, b) for b in below) / len(below) for a in above]
    placements_below = [sum(won(a, b) for a in above) / len(above) for b in below]
    area = sum(placements_above) / len(above)
    variance = 0.0
    for placements in (placements_above, placements_below):
        m = len(placements)
        variance += sum((p - area) ** 2 for p in placements) / (m - 1) / m
    return math.sqrt(variance)


@pytest.mark.parametrize("n_rows", [8, 60])
def test_the_error_of_the_auc_is_that_of_delong(n_rows: int) -> None:
    probabilities, true_values = drawn(DIED_LIVED, n_rows)
    expected = delong_error(probabilities[:, 1].tolist(), (true_values.values == 1).tolist())
    assert score("auc", probabilities, true_values).error == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["accuracy", "brier", "log_loss"])
def test_the_error_of_a_mean_is_the_deviation_of_the_rows_over_the_root_of_their_number(name: str) -> None:
    probabilities, true_values = drawn(WARDS, 50)
    alone = [
        score(name, probabilities[[i]], TrueValues(WARDS, true_values.values[[i]])).value for i in range(50)
    ]
    assert score(name, probabilities, true_values).error == pytest.approx(
        np.std(alone, ddof=1) / math.sqrt(50)
    )


@almost_every_metric
def test_the_error_is_that_of_the_bootstrap(name: str, target: Target) -> None:
    predicted, true_values = drawn(target)
    metric, random = make_metric(name, target), np.random.default_rng(1)
    n = len(true_values.values)
    draws = random.multinomial(n, np.full(n, 1 / n), 2000).astype(float)
    values = [metric.score(predicted, TrueValues(target, true_values.values, draw)).value for draw in draws]
    assert metric.score(predicted, true_values).error == pytest.approx(np.std(values), rel=0.15)


@made_of_ratios
def test_the_error_with_weights_is_that_of_the_bootstrap(name: str, target: Target) -> None:
    predicted, true_values = drawn(target, weighted=True)
    metric, random = make_metric(name, target), np.random.default_rng(2)
    n = len(true_values.values)
    draws = random.multinomial(n, np.full(n, 1 / n), 300) * true_values.weight
    values = [metric.score(predicted, TrueValues(target, true_values.values, draw)).value for draw in draws]
    assert metric.score(predicted, true_values).error == pytest.approx(np.std(values), rel=0.2)


@if_weighted
@every_metric
def test_a_row_twice_in_one_group_says_no_more_than_once(name: str, target: Target, weighted: bool) -> None:
    predicted, true_values = drawn(target, weighted=weighted)
    n = len(true_values.values)
    twice = np.tile(np.arange(n), 2)
    weight = None if true_values.weight is None else true_values.weight[twice]
    groups = twice.astype(np.int32) * 5 + 3  # numbers of any kind
    once = score(name, predicted, true_values)
    grouped = score(name, predicted[twice], TrueValues(target, true_values.values[twice], weight, groups))
    assert tuple(grouped) == pytest.approx(tuple(once), rel=1e-10)
    ungrouped = score(name, predicted[twice], TrueValues(target, true_values.values[twice], weight))
    assert ungrouped.error == pytest.approx(once.error / math.sqrt(2), rel=0.01)


@every_metric
def test_weights_count_only_by_their_ratio_and_a_weight_of_zero_is_no_row(name: str, target: Target) -> None:
    predicted, true_values = drawn(target, weighted=True)
    expected = tuple(score(name, predicted, true_values))
    for factor in (2.0, 1e307, 1e-300):
        scaled = TrueValues(target, true_values.values, true_values.weight * factor)
        assert tuple(score(name, predicted, scaled)) == pytest.approx(expected, rel=1e-9)
    kept = true_values.weight > 0
    fewer = TrueValues(target, true_values.values[kept], true_values.weight[kept])
    assert tuple(score(name, predicted[kept], fewer)) == expected
