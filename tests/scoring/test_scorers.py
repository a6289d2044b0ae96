"""Scorers of scikit-learn's and of the user's, on predictions."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import is_classifier, is_regressor

from holdfast._arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.errors import DataError
from holdfast.scoring.metric import TrueValues, make_metric

WARDS = Target("ward", classes=("A", "B", "C"))
LIVED = Target("lived", classes=(False, True))
STAY = Target("stay", high=30.0)


def drawn(target: Target, n_rows: int = 200) -> tuple[FloatArray, FloatArray, TrueValues]:
    """Predictions, weights and the true_values."""
    random = np.random.default_rng(3)
    weight = random.choice([0.5, 1.0, 3.0], n_rows)
    if not target.is_classes:
        means = random.integers(1, 8, n_rows).astype(float)
        return means[:, np.newaxis], weight, TrueValues(target, random.poisson(means).astype(float))
    probabilities = random.dirichlet(np.full(len(target.classes), 0.5), n_rows)
    values = (probabilities.cumsum(axis=1) < 0.999 * random.random((n_rows, 1))).sum(axis=1).astype(np.int32)
    return probabilities, weight, TrueValues(target, values)


def labels_of(probabilities: FloatArray, true_values: TrueValues) -> tuple[Any, Any]:
    labels = np.array(true_values.target.classes)
    return labels[true_values.values], labels[probabilities.argmax(axis=1)]


# -- values -----------------------------------------------------------------------------------------------


def test_a_name_of_scikit_learn_is_its_scorer() -> None:
    probabilities, weight, true_values = drawn(WARDS)
    f1 = make_metric("f1_macro", WARDS)
    assert (f1.name, f1.title, f1.is_loss, f1.default_tolerance_unit) == (
        "f1_macro",
        "f1 macro",
        False,
        "absolute",
    )
    actual, outcome = labels_of(probabilities, true_values)
    assert f1.score(probabilities, true_values).value == metrics.f1_score(actual, outcome, average="macro")
    expected = metrics.f1_score(actual, outcome, average="macro", sample_weight=weight)
    assert f1.score(probabilities, TrueValues(WARDS, true_values.values, weight)).value == pytest.approx(
        expected, rel=1e-12
    )


def test_scorers_of_shares_get_shares_of_the_right_class() -> None:
    probabilities, weight, true_values = drawn(LIVED)
    precision = make_metric("average_precision", LIVED).score(
        probabilities, TrueValues(LIVED, true_values.values, weight)
    )
    expected = metrics.average_precision_score(true_values.values, probabilities[:, 1], sample_weight=weight)
    assert precision.value == pytest.approx(expected, rel=1e-12)
    probabilities, _, true_values = drawn(WARDS)
    one_to_one = make_metric("roc_auc_ovo", WARDS).score(probabilities, true_values)
    assert one_to_one.value == pytest.approx(
        metrics.roc_auc_score(true_values.values, probabilities, multi_class="ovo")
    )


def test_a_scorer_that_was_made_is_called_by_its_function() -> None:
    probabilities, _, true_values = drawn(LIVED)
    scorer = metrics.make_scorer(metrics.fbeta_score, beta=2.0)
    metric = make_metric(scorer, LIVED)
    assert (metric.name, metric.title) == ("fbeta_score", "fbeta score")
    assert metric.score(probabilities, true_values).value == metrics.fbeta_score(
        *labels_of(probabilities, true_values), beta=2.0
    )


def test_a_loss_of_scikit_learn_is_shown_with_its_usual_sign() -> None:
    numbers, weight, true_values = drawn(STAY)
    metric = make_metric("neg_root_mean_squared_error", STAY)
    assert (metric.title, metric.is_loss, metric.default_tolerance_unit) == (
        "root mean squared error",
        True,
        "absolute",
    )
    value = metric.score(numbers, TrueValues(STAY, true_values.values, weight)).value
    expected = metrics.root_mean_squared_error(true_values.values, numbers[:, 0], sample_weight=weight)
    assert metric.shown(value) == pytest.approx(expected, rel=1e-12)


def test_any_function_of_a_model_x_and_y_will_do() -> None:
    probabilities, weight, true_values = drawn(WARDS)

    def caught(model: Any, X: Any, y: Any, ward: str = "C") -> float:
        assert is_classifier(model)
        assert X.shape == (len(y), 1)
        assert model.classes_.tolist() == ["A", "B", "C"]
        return float(np.mean(model.predict(X)[y == ward] == ward))

    actual, outcome = labels_of(probabilities, true_values)
    metric = make_metric(caught, WARDS)
    assert metric.name == "caught"
    assert metric.score(probabilities, true_values).value == np.mean(outcome[actual == "C"] == "C")
    # It takes no weights, so that they change nothing.
    assert metric.score(probabilities, TrueValues(WARDS, true_values.values, weight)) == metric.score(
        probabilities, true_values
    )
    of_a = make_metric(partial(caught, ward="A"), WARDS)
    assert of_a.name == "caught"
    assert of_a.score(probabilities, true_values).value == np.mean(outcome[actual == "A"] == "A")


def test_a_function_for_numbers_gets_a_regressor() -> None:
    numbers, _, true_values = drawn(STAY)

    def worst(model: Any, X: Any, y: Any) -> float:
        assert is_regressor(model)
        return -float(np.abs(model.predict(X) - y).max())

    assert (
        make_metric(worst, STAY).score(numbers, true_values).value
        == -np.abs(numbers[:, 0] - true_values.values).max()
    )


@pytest.mark.parametrize("target", [LIVED, STAY], ids=["classes", "numbers"])
def test_every_name_of_scikit_learn_is_for_classes_or_for_numbers(target: Target) -> None:
    predicted, _, true_values = drawn(target, 60)
    true_values = TrueValues(target, true_values.values, None, (np.arange(60) % 2).astype(np.int32))
    scored = []
    for name in metrics.get_scorer_names():
        try:
            metric = make_metric(name, target)
        except ValueError:
            continue
        # Samples are for several labels to a row; gamma is for targets above 0.
        if not name.endswith(("_samples", "gamma_deviance")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scored.append(np.isfinite(metric.score(predicted, true_values)).all())
    assert all(scored)
    assert len(scored) >= (30 if target.is_classes else 10)


# -- standard errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_where_every_block_is_one_unit_the_jackknife_of_a_mean_is_its_textbook_error(
    weighted: bool, grouped: bool
) -> None:
    numbers, weight, true_values = drawn(STAY, 40 if grouped else 20)
    groups = (np.arange(40) % 15).astype(np.int32) if grouped else None
    true_values = TrueValues(STAY, true_values.values, weight if weighted else None, groups)
    theirs = make_metric(metrics.make_scorer(metrics.mean_absolute_error, greater_is_better=False), STAY)
    ours = make_metric("absolute_error", STAY)
    assert tuple(theirs.score(numbers, true_values)) == pytest.approx(
        tuple(ours.score(numbers, true_values)), rel=1e-9
    )


def test_the_jackknife_of_twenty_blocks_comes_near_the_bootstrap() -> None:
    probabilities, _, true_values = drawn(WARDS, 400)
    metric, random = make_metric("f1_macro", WARDS), np.random.default_rng(0)
    actual, outcome = labels_of(probabilities, true_values)
    draws = random.integers(400, size=(200, 400))
    values = [metrics.f1_score(actual[draw], outcome[draw], average="macro") for draw in draws]
    # The jackknife of 20 blocks is itself uncertain by 1 / sqrt(2 * 19) = 16 %.
    assert metric.score(probabilities, true_values).error == pytest.approx(np.std(values), rel=0.4)
    assert metric.score(probabilities, true_values) == metric.score(probabilities, true_values)


def test_groups_stay_in_one_block() -> None:
    probabilities, _, true_values = drawn(WARDS, 60)
    groups = np.repeat(np.arange(30), 2).astype(np.int32)
    missing: list[set[int]] = []

    def noted(model: Any, X: Any, y: Any) -> float:
        missing.append(set(range(60)) - set(X[:, 0].tolist()))
        return float(np.mean(model.predict(X) == y))

    make_metric(noted, WARDS).score(probabilities, TrueValues(WARDS, true_values.values, None, groups))
    assert len(missing) == 21
    assert missing[0] == set()
    assert sorted(row for block in missing for row in block) == list(range(60))
    assert all(row ^ 1 in block for block in missing for row in block)


def test_a_block_that_holds_all_of_a_class_is_not_left_out() -> None:
    probabilities, _, true_values = drawn(WARDS, 100)
    values = np.where(true_values.values == 2, 0, true_values.values).astype(np.int32)
    values[17] = 2
    seen: list[int] = []

    def noted(model: Any, X: Any, y: Any) -> float:
        seen.append(len(set(y)))
        return float(np.mean(model.predict(X) == y))

    score = make_metric(noted, WARDS).score(probabilities, TrueValues(WARDS, values))
    assert seen == [3] * 20  # all rows, and 19 of the 20 blocks
    ours = make_metric("accuracy", WARDS).score(probabilities, TrueValues(WARDS, values))
    assert score.error == pytest.approx(ours.error, rel=0.4)
    lone = make_metric("roc_auc_ovo", LIVED).score(
        np.array([[0.2, 0.8], [0.6, 0.4]]), TrueValues(LIVED, np.array([1, 0]))
    )
    assert lone == (1.0, 0.0)  # neither row can be left out


# -- failures ---------------------------------------------------------------------------------------------


def test_what_a_scorer_raises_comes_through_with_a_note() -> None:
    probabilities, _, true_values = drawn(WARDS, 30)

    def broken(model: Any, X: Any, y: Any) -> float:
        raise KeyError("no such ward")

    with pytest.raises(KeyError, match="no such ward") as caught:
        make_metric(broken, WARDS).score(probabilities, true_values)
    assert caught.value.__notes__ == ["The scorer 'broken' failed on 30 rows of predictions."]


def test_a_scorer_that_gives_no_number_is_refused() -> None:
    probabilities, _, true_values = drawn(WARDS, 30)

    def undecided(model: Any, X: Any, y: Any) -> float:
        return float("nan")

    with pytest.raises(DataError, match="The scorer 'undecided' gives nan on 30 rows"):
        make_metric(undecided, WARDS).score(probabilities, true_values)
