"""AdaBoost with the face of scikit-learn."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from patients import NUMBERS, PATIENTS, STAY
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast.errors import ParameterError
from holdfast.estimators.boosting import AdaBoostClassifier


@pytest.fixture
def array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn skips its check of array inputs from other libraries unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.usefixtures("array_interface")
@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning", "ignore::holdfast.errors.GrowthWarning")
@parametrize_with_checks(
    [
        AdaBoostClassifier(),
        AdaBoostClassifier(n_estimators=5, max_depth=None, learning_rate=0.5),
        AdaBoostClassifier(n_estimators=10, max_features="sqrt", random_state=0),
    ]
)
def test_scikit_learn_accepts_adaboost(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def model() -> AdaBoostClassifier:
    return AdaBoostClassifier(n_estimators=30).fit(PATIENTS, STAY)


def test_categories_and_gaps_are_read_as_they_are(model: AdaBoostClassifier) -> None:
    assert model.score(PATIENTS, STAY) > 0.9  # no single question does better than 0.77
    assert {int(tree.feature[0]) for tree in model.estimators_} == {0, 1, 2}


def test_probabilities_are_the_softmax_of_the_votes(model: AdaBoostClassifier) -> None:
    log_odds = model.decision_function(PATIENTS)
    probabilities = model.predict_proba(PATIENTS)
    assert probabilities[:, 1] == pytest.approx(1 / (1 + np.exp(-log_odds)))
    assert (model.predict(PATIENTS) == model.classes_[(log_odds > 0).astype(int)]).all()


def test_more_classes_have_a_column_of_votes_each() -> None:
    y = np.where(PATIENTS["age"] > 70, "old", np.where(PATIENTS["age"] > 40, "middle", "young"))
    model = AdaBoostClassifier(n_estimators=10).fit(NUMBERS, y)
    votes = model.decision_function(NUMBERS)
    assert votes.shape == (60, 3)
    assert votes.sum(axis=1) == pytest.approx(model.estimator_weights_.sum())  # each tree votes once
    assert (model.predict(NUMBERS) == y).all()


def test_stages_are_those_of_shorter_runs(model: AdaBoostClassifier) -> None:
    stages = list(model.staged_predict(PATIENTS))
    assert len(stages) == len(model.estimators_) == len(model.estimator_errors_) == 30
    for n_estimators in (1, 7, 30):
        shorter = AdaBoostClassifier(n_estimators=n_estimators).fit(PATIENTS, STAY)
        assert (stages[n_estimators - 1] == shorter.predict(PATIENTS)).all()
        assert model.estimator_errors_[:n_estimators].tolist() == shorter.estimator_errors_.tolist()


def test_importances_are_weighted_by_the_votes(model: AdaBoostClassifier) -> None:
    # A stump has all its importance on its one question.
    expected = np.zeros(3)
    for tree, alpha in zip(model.estimators_, model.estimator_weights_, strict=True):
        expected[tree.feature[0]] += alpha / model.estimator_weights_.sum()
    assert model.feature_importances_ == pytest.approx(expected)


def test_a_question_of_the_user_is_boosted_like_any_other() -> None:
    question = "age > 60 and ward != 'C'"
    asked = AdaBoostClassifier(n_estimators=3, custom_features=[question]).fit(PATIENTS, STAY)
    assert asked.estimators_[0].feature[0] == 3
    assert asked.feature_importances_[:2].min() > 0  # shared by age and ward


def test_weights_count_as_rows() -> None:
    repeats = np.arange(60) % 3
    weighted = AdaBoostClassifier(n_estimators=10).fit(NUMBERS, STAY, sample_weight=repeats)
    rows = np.repeat(np.arange(60), repeats)
    repeated = AdaBoostClassifier(n_estimators=10).fit(NUMBERS[rows], STAY[rows])
    assert (weighted.predict_proba(NUMBERS) == repeated.predict_proba(NUMBERS)).all()


def test_the_number_of_jobs_changes_no_bit(model: AdaBoostClassifier) -> None:
    parallel = clone(model).set_params(n_jobs=2).fit(PATIENTS, STAY)
    assert (parallel.predict_proba(PATIENTS) == model.predict_proba(PATIENTS)).all()


def test_a_copy_predicts_the_same(model: AdaBoostClassifier) -> None:
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.predict_proba(PATIENTS) == model.predict_proba(PATIENTS)).all()


@pytest.mark.parametrize(
    "bad", [{"n_estimators": 0}, {"learning_rate": 0.0}, {"max_depth": 0}, {"handle_unknown": "ignore"}]
)
def test_a_parameter_out_of_range_is_named(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        AdaBoostClassifier(**bad).fit(NUMBERS, STAY)
