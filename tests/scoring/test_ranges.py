"""No score leaves its range by a rounding, and one that is 1 or 0 by its meaning is exactly that."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.scoring.metric import TrueValues
from holdfast.scoring.scorers import nmi_score, purity_score
from scoring.predictions import DIED_LIVED, STAY, WARDS, score

# The least and the greatest value, and what perfect predictions have; losses are negated.
RANGES: dict[str, tuple[float, float, float]] = {
    "accuracy": (0.0, 1.0, 1.0),
    "balanced_accuracy": (0.0, 1.0, 1.0),
    "auc": (0.0, 1.0, 1.0),
    "brier": (-2.0, 0.0, 0.0),
    "log_loss": (-np.inf, 0.0, 0.0),
    "r2": (-np.inf, 1.0, 1.0),
    "squared_error": (-np.inf, 0.0, 0.0),
    "absolute_error": (-np.inf, 0.0, 0.0),
    "poisson": (-np.inf, 0.0, 0.0),
}
OF_CLASSES = ("accuracy", "balanced_accuracy", "auc", "brier", "log_loss")
OF_NUMBERS = ("r2", "squared_error", "absolute_error", "poisson")
weights = st.floats(0.01, 10.0)  # few of them, and no sum of them, are exact


class Case(NamedTuple):
    """Rows of some class, with probabilities and weights, or with counts and means."""

    true_values: TrueValues
    predicted: Any


@st.composite
def classified(draw: Any) -> Case:
    target = draw(st.sampled_from([DIED_LIVED, WARDS]))
    n_classes = len(target.classes)
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=2, max_size=30))
    n_rows = len(labels)
    parts = st.lists(st.integers(1, 9), min_size=n_classes, max_size=n_classes)
    amounts = np.array(draw(st.lists(parts, min_size=n_rows, max_size=n_rows)), float)
    weight = np.array(draw(st.lists(weights, min_size=n_rows, max_size=n_rows)))
    probabilities = amounts / amounts.sum(axis=1, keepdims=True)
    return Case(TrueValues(target, np.array(labels, np.int32), weight), probabilities)


@st.composite
def counted(draw: Any) -> Case:
    rows = st.tuples(st.integers(0, 9), st.floats(0.1, 9.0), weights)
    counts, means, weight = zip(*draw(st.lists(rows, min_size=2, max_size=30)), strict=True)
    return Case(TrueValues(STAY, np.array(counts, float), np.array(weight)), np.array(means)[:, np.newaxis])


def check_range(name: str, case: Case) -> None:
    least, greatest, _ = RANGES[name]
    value, error = score(name, case.predicted, case.true_values)
    assert least <= value <= greatest
    assert error >= 0.0


def check_perfect(name: str, perfect: Any, true_values: TrueValues) -> None:
    value, error = score(name, perfect, true_values)
    assert value == RANGES[name][2]
    assert error == 0.0


@pytest.mark.parametrize("name", OF_CLASSES)
@given(case=classified())
def test_a_score_of_classes_stays_in_its_range(name: str, case: Case) -> None:
    check_range(name, case)


@pytest.mark.parametrize("name", OF_NUMBERS)
@given(case=counted())
def test_a_score_of_numbers_stays_in_its_range(name: str, case: Case) -> None:
    check_range(name, case)
    # Next to the true_values, where a difference of logarithms has no digits left.
    beside = np.nextafter(case.true_values.values, 1e9)[:, np.newaxis]
    check_range(name, Case(case.true_values, beside))


@pytest.mark.parametrize("name", OF_CLASSES)
@given(case=classified())
def test_perfect_probabilities_have_exactly_the_best_score(name: str, case: Case) -> None:
    values = case.true_values.values
    if name == "auc" and len(np.unique(values)) < 2:
        return  # cannot be told
    check_perfect(name, np.eye(len(case.true_values.target.classes))[values], case.true_values)


@pytest.mark.parametrize("name", OF_NUMBERS)
@given(case=counted())
def test_perfect_numbers_have_exactly_the_best_score(name: str, case: Case) -> None:
    check_perfect(name, case.true_values.values[:, np.newaxis], case.true_values)


@given(case=classified())
def test_an_auc_of_shares_that_are_all_alike_is_one_half(case: Case) -> None:
    alike = np.full_like(case.predicted, 1 / 3)
    assert score("auc", alike, case.true_values).value == 0.5


@given(case=classified())
def test_an_auc_of_shares_that_are_all_wrong_is_0(case: Case) -> None:
    true_values = case.true_values
    if len(np.unique(true_values.values)) == 2 == len(true_values.target.classes):
        assert score("auc", 1.0 - np.eye(2)[true_values.values], true_values).value == 0.0


@given(case=classified(), fraction=st.floats(0.01, 0.99))
def test_rows_of_equal_loss_have_that_loss_and_no_error(case: Case, fraction: float) -> None:
    true_values = TrueValues(
        DIED_LIVED, np.zeros(len(case.true_values.values), np.int32), case.true_values.weight
    )
    probabilities = np.tile([1.0 - fraction, fraction], (len(true_values.values), 1))
    alone = TrueValues(DIED_LIVED, true_values.values[:1])
    for name in ("brier", "log_loss"):
        assert score(name, probabilities, true_values) == (score(name, probabilities[:1], alone).value, 0.0)


# -- clusters ---------------------------------------------------------------------------------------------

weighted_labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), weights), min_size=1, max_size=40)


@given(weighted_labels)
def test_purity_and_information_stay_between_0_and_1(rows: list[tuple[int, int, float]]) -> None:
    true, pred, weight = zip(*rows, strict=True)
    for given_weight in (None, weight):
        assert 0.0 <= purity_score(true, pred, given_weight) <= 1.0
        assert 0.0 <= nmi_score(true, pred, given_weight) <= 1.0
        assert nmi_score(true, pred, given_weight) == nmi_score(pred, true, given_weight)


@given(weighted_labels)
def test_the_same_division_under_other_names_scores_exactly_1(rows: list[tuple[int, int, float]]) -> None:
    true, _, weight = zip(*rows, strict=True)
    renamed = [f"cluster {9 - group}" for group in true]
    alone = range(len(true))
    for given_weight in (None, weight):
        assert nmi_score(true, renamed, given_weight) == 1.0
        assert purity_score(true, renamed, given_weight) == 1.0
        assert purity_score(true, alone, given_weight) == 1.0


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=5), st.lists(st.integers(1, 9), min_size=1, max_size=5)
)
def test_divisions_that_say_nothing_about_each_other_score_exactly_0(
    down: list[int], across: list[int]
) -> None:
    joint = np.outer(down, across)
    true, pred = np.indices(joint.shape).reshape(2, -1)
    expected = 1.0 if joint.size == 1 else 0.0
    assert nmi_score(true, pred, joint.ravel()) == expected


def test_weights_that_are_whole_numbers_are_as_many_rows_to_the_last_bit() -> None:
    true, pred, weight = list("abbca"), [0, 0, 1, 1, 2], [3, 1, 2, 1, 5]
    for measure in (purity_score, nmi_score):
        written_out = measure(np.repeat(true, weight), np.repeat(pred, weight))
        assert measure(true, pred, weight) == written_out
