"""How much better one model is than another on the same rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import make_scorer, roc_auc_score

from holdfast import Target
from holdfast.scoring.metric import TrueValues, make_metric, score_difference

TARGET = Target(classes=("no", "yes"))


def drawn(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, TrueValues]:
    random = np.random.default_rng(seed)
    chance = random.random(n)
    truth = (random.random(n) < chance).astype(np.int32)
    old, new = (np.clip(chance + random.normal(0, 0.2, n), 0.01, 0.99) for _ in range(2))
    return np.stack([1 - old, old], 1), np.stack([1 - new, new], 1), TrueValues(TARGET, truth)


@pytest.mark.parametrize("name", ["accuracy", "auc", "brier", "log_loss", "balanced_accuracy"])
def test_the_value_is_the_difference_of_the_scores(name: str) -> None:
    old, new, truth = drawn()
    metric = make_metric(name, TARGET)
    value, error = score_difference(metric, old, new, truth)
    assert value == pytest.approx(metric.value(new, truth) - metric.value(old, truth))
    assert 0 < error < metric.score(old, truth).error + metric.score(new, truth).error


def test_the_error_of_a_mean_is_that_of_paired_differences() -> None:
    old, new, truth = drawn()
    squares = [-np.square(each[:, 1] - truth.values) for each in (old, new)]
    paired = np.std(squares[1] - squares[0], ddof=1) / np.sqrt(len(squares[0]))
    assert score_difference(make_metric("brier", TARGET), old, new, truth).error == pytest.approx(paired)


def test_the_error_covers_what_a_bootstrap_finds() -> None:
    old, new, truth = drawn(400)
    random, found = np.random.default_rng(1), []
    metric = make_metric("auc", TARGET)
    for _ in range(300):
        rows = random.integers(0, 400, 400)
        found.append(score_difference(metric, old[rows], new[rows], truth.subset(rows)).value)
    assert score_difference(metric, old, new, truth).error == pytest.approx(np.std(found), rel=0.15)


def test_the_same_predictions_differ_in_nothing() -> None:
    old, _, truth = drawn()
    assert score_difference(make_metric("auc", TARGET), old, old, truth) == (0.0, 0.0)


def test_a_scorer_of_others_is_called_on_both() -> None:
    old, new, truth = drawn()
    scorer: Any = make_scorer(roc_auc_score, response_method="predict_proba")
    theirs = score_difference(make_metric(scorer, TARGET), old, new, truth)
    ours = score_difference(make_metric("auc", TARGET), old, new, truth)
    assert theirs.value == pytest.approx(ours.value)
    assert theirs.error == pytest.approx(ours.error, rel=0.6)  # a jackknife of 20 blocks
