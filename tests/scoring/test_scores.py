"""Scores against scikit-learn's values, where they cannot be told, and what is refused."""

import inspect
import math
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from holdfast._arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.scoring.formulas import joint_auc
from holdfast.scoring.metric import Metric, TrueValues, make_metric
from scoring.predictions import (
    DIED_LIVED,
    EVERY,
    NUMBER_NAMES,
    STAY,
    WARDS,
    drawn,
    every_metric,
    if_weighted,
    score,
)


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        yield


def scikit_learn_value(name: str, predicted: FloatArray, true_values: TrueValues) -> float:
    """The value as people show it."""
    weight = {"sample_weight": true_values.weight}
    if not true_values.target.is_classes:
        functions = {
            "r2": metrics.r2_score,
            "squared_error": metrics.mean_squared_error,
            "absolute_error": metrics.mean_absolute_error,
            "poisson": metrics.mean_poisson_deviance,
        }
        return functions[name](true_values.values, predicted[:, 0], **weight)
    labels = np.array(true_values.target.classes)
    actual, outcome = labels[true_values.values], labels[predicted.argmax(axis=1)]
    if name in ("accuracy", "balanced_accuracy"):
        return getattr(metrics, f"{name}_score")(actual, outcome, **weight)
    if name == "log_loss":
        return metrics.log_loss(actual, predicted, labels=labels, **weight)
    if len(labels) == 2 and name == "brier":
        return metrics.brier_score_loss(actual, predicted[:, 1], pos_label="lived", **weight)
    if name == "brier" and "scale_by_half" not in inspect.signature(metrics.brier_score_loss).parameters:
        difference = predicted - np.eye(len(labels))[true_values.values]  # before 1.7 of two classes only
        return float(np.average((difference**2).sum(axis=1), weights=true_values.weight))
    if name == "brier":
        return metrics.brier_score_loss(actual, predicted, **weight)
    if len(labels) == 2:
        return metrics.roc_auc_score(actual, predicted[:, 1], **weight)
    return metrics.roc_auc_score(actual, predicted, multi_class="ovr", **weight)


# -- values -----------------------------------------------------------------------------------------------


@if_weighted
@every_metric
def test_values_are_those_of_scikit_learn(name: str, target: Target, weighted: bool) -> None:
    predicted, true_values = drawn(target, weighted=weighted)
    metric = make_metric(name, target)
    shown = metric.shown(metric.score(predicted, true_values).value)
    assert shown == pytest.approx(scikit_learn_value(name, predicted, true_values), rel=1e-12, abs=1e-12)


def test_small_scores_worked_out_by_hand() -> None:
    true_values = TrueValues(DIED_LIVED, np.array([0, 1, 1, 0]))
    probabilities = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.5, 0.5]]
    # (.8, .1) (.8, .5) (.5, .1) are won and (.5, .5) is a tie: 3.5 of 4 pairs.
    assert score("auc", probabilities, true_values).value == pytest.approx(0.875)
    # At a tie the first class is predicted: the third row is missed.
    assert score("accuracy", probabilities, true_values).value == 0.75
    assert score("balanced_accuracy", probabilities, true_values).value == 0.75
    assert score("brier", probabilities, true_values).value == pytest.approx(-(0.01 + 0.04 + 0.25 + 0.25) / 4)
    assert score("log_loss", probabilities, true_values).value == pytest.approx(
        math.log(0.9 * 0.8 * 0.5 * 0.5) / 4
    )


def test_certain_mistakes_have_a_finite_log_loss() -> None:
    true_values = TrueValues(DIED_LIVED, np.array([0, 1]))
    probabilities = np.array([[0.0, 1.0], [0.0, 1.0]])
    expected = metrics.log_loss(true_values.values, probabilities)
    assert score("log_loss", probabilities, true_values).value == pytest.approx(-expected, rel=1e-12)


def test_a_predicted_mean_of_zero_has_a_finite_poisson_deviance() -> None:
    true_values = TrueValues(STAY, np.array([0.0, 2.0]))
    assert score("poisson", [[0.0], [2.0]], true_values).value == pytest.approx(0.0, abs=1e-15)
    assert -1000 < score("poisson", [[0.0], [0.0]], true_values).value < -50


def test_losses_are_negated_and_shown_with_their_usual_sign() -> None:
    for name, target in EVERY:
        metric = make_metric(name, target)
        assert metric.is_loss == (name in ("brier", "log_loss", "squared_error", "absolute_error", "poisson"))
        assert metric.shown(-0.25) == (0.25 if metric.is_loss else -0.25)
        assert metric.default_tolerance_unit == ("relative" if metric.is_loss else "absolute")
        assert math.copysign(1.0, metric.shown(0.0)) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_rows_joined_by_their_score_have_the_auc_of_the_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, weight, inside = random.integers(0, 9, 80) / 9, random.integers(1, 5, 80), random.random(80) < 0.4
    distinct, which = np.unique(scores, return_inverse=True)
    outside_weight, inside_weight = (np.bincount(which, weight * (inside == side)) for side in (False, True))
    value = joint_auc(distinct, outside_weight, inside_weight)
    assert value == pytest.approx(metrics.roc_auc_score(inside, scores, sample_weight=weight), rel=1e-12)


# -- what cannot be told ----------------------------------------------------------------------------------


def test_joined_rows_of_one_class_have_no_pairs() -> None:
    assert joint_auc(np.array([0.2, 0.7]), np.zeros(2), np.ones(2)) == 0.5


def test_an_auc_of_one_class_is_chance() -> None:
    true_values = TrueValues(DIED_LIVED, np.array([1, 1, 1]))
    assert score("auc", [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], true_values) == (0.5, 0.0)
    only = Target("outcome", classes=("lived",))
    assert score("auc", [[1.0], [1.0]], TrueValues(only, np.array([0, 0]))) == (0.5, 0.0)
    # A class that only rows of weight 0 have is not there.
    weightless = TrueValues(DIED_LIVED, np.array([1, 1, 0]), np.array([1.0, 2.0, 0.0]))
    assert score("auc", [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], weightless) == (0.5, 0.0)


def test_an_absent_class_has_no_part_in_the_mean_over_classes() -> None:
    true_values = TrueValues(WARDS, np.array([0, 2, 0, 2]))
    probabilities = [[0.6, 0.1, 0.3], [0.3, 0.3, 0.4], [0.2, 0.1, 0.7], [0.1, 0.0, 0.9]]
    # A: .6 beats .3 and .1, .2 beats .1 only: 3 of 4. C: .4 beats .3, .9 beats both: 3 of 4.
    assert score("auc", probabilities, true_values).value == pytest.approx(0.75)
    # A: one of two; C: both.
    assert score("balanced_accuracy", probabilities, true_values).value == pytest.approx(0.75)


@pytest.mark.parametrize("weight", [None, np.array([0.3, 0.7, 0.1])])
def test_the_r2_of_a_constant_is_1_if_exact_and_else_0(weight: FloatArray | None) -> None:
    true_values = TrueValues(STAY, np.full(3, 0.1), weight)
    assert score("r2", [[0.1], [0.1], [0.1]], true_values) == (1.0, 0.0)
    assert score("r2", [[0.1], [0.1], [0.2]], true_values) == (0.0, 0.0)


@every_metric
def test_a_single_row_or_group_has_no_error(name: str, target: Target) -> None:
    predicted, true_values = drawn(target, 30)
    row = score(name, predicted[:1], TrueValues(target, true_values.values[:1], np.array([0.3])))
    group = score(name, predicted, TrueValues(target, true_values.values, None, np.zeros(30, np.int32)))
    assert math.isfinite(row.value)
    assert math.isfinite(group.value)
    assert (row.error, group.error) == (0.0, 0.0)


@pytest.mark.parametrize("name", NUMBER_NAMES)
@pytest.mark.parametrize("size", [0.0, 1e-320, 1e-200, 1e200, 1.7e308])
def test_scores_of_numbers_of_any_size_are_finite(name: str, size: float) -> None:
    true_values = TrueValues(STAY, np.array([0.0, size / 4, size, size]))
    for predicted in (
        true_values.values,
        true_values.values[::-1],
        -true_values.values,
        np.full(4, 1e308),
        np.zeros(4),
    ):
        assert np.isfinite(score(name, predicted[:, np.newaxis], true_values)).all()
    assert score("r2", true_values.values[:, np.newaxis], true_values).value == 1.0


def test_r2_knows_no_unit() -> None:
    predicted, true_values = drawn(STAY, 50)
    expected = score("r2", predicted, true_values)
    for size in (2.0**-500, 2.0**1000):
        assert score("r2", predicted * size, TrueValues(STAY, true_values.values * size)) == expected


# -- the door ---------------------------------------------------------------------------------------------


def test_the_truth_of_a_table_has_its_target_weights_and_any_groups() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0]], ["lived", "died", "died"], [1.0, 2.0, 1.0])
    true_values = TrueValues.of(table, groups=["Zoe", "Ann", "Zoe"])
    assert true_values.values.tolist() == [1, 0, 0]
    assert true_values.weight.tolist() == [1.0, 2.0, 1.0]
    assert true_values.groups.tolist() == [1, 0, 1]
    assert TrueValues.of(table).groups is None
    with pytest.raises(DataError, match="groups has 2 values, and there are 3 rows"):
        TrueValues.of(table, groups=[1, 2])
    with pytest.raises(DataError, match="groups has 1 missing values, first at row 1"):
        TrueValues.of(table, groups=["Zoe", None, "Zoe"])


def test_the_default_and_the_names_of_scikit_learn_mean_ours() -> None:
    assert make_metric(None, WARDS) is make_metric("roc_auc_ovr", WARDS) is make_metric("auc", WARDS)
    assert make_metric(None, STAY) is make_metric("r2", STAY)
    assert make_metric("neg_log_loss", WARDS).title == "log loss"
    assert make_metric("neg_mean_poisson_deviance", STAY).name == "poisson"
    assert pickle.loads(pickle.dumps(make_metric("auc", WARDS))) == make_metric("auc", WARDS)


@pytest.mark.parametrize(
    ("scoring", "target", "message"),
    [
        ("auc", STAY, "scoring='auc' is for classes, and the target 'stay' holds numbers.*'poisson', 'r2'"),
        ("roc_auc", STAY, "scoring='roc_auc' is for classes"),
        ("f1_macro", STAY, "scoring='f1_macro' is for classes"),
        ("r2", WARDS, "scoring='r2' is for numbers, and the target 'ward' holds classes.*'auc'"),
        ("neg_max_error", WARDS, "scoring='neg_max_error' is for numbers"),
        ("aucc", WARDS, "scoring='aucc' is unknown: choose one of 'accuracy', 'auc'"),
        (3, STAY, "scoring=3 must be a name or a callable: choose one of 'absolute_error'"),
        (metrics.f1_score, WARDS, r"write scoring=make_scorer\(f1_score\)"),
    ],
)
def test_a_scoring_that_will_not_do_is_refused(scoring: Any, target: Target, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_metric(scoring, target)


def test_predictions_and_rows_that_cannot_be_scored_are_refused() -> None:
    accuracy: Metric = make_metric("accuracy", WARDS)
    with pytest.raises(DataError, match=r"shape \(2, 2\); target 'ward' needs \(2, 3\)"):
        accuracy.score(np.full((2, 2), 0.5), TrueValues(WARDS, np.array([0, 1])))
    with pytest.raises(DataError, match="nothing to score on: 2 rows, and none has a weight"):
        accuracy.score(np.full((2, 3), 0.3), TrueValues(WARDS, np.array([0, 1]), np.zeros(2)))
    with pytest.raises(DataError, match="weight has 1 values, and there are 2 rows"):
        TrueValues(WARDS, np.array([0, 1]), np.ones(1))
    with pytest.raises(DataError, match="1 of the 3 targets are below, first at row 1"):
        score("poisson", [[1.0]] * 3, TrueValues(STAY, np.array([1.0, -1.0, 0.0])))
