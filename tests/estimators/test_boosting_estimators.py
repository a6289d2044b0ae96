"""Gradient boosting with the face of scikit-learn."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patients import DAYS, NUMBERS, PATIENTS, STAY
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold

import holdfast
from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.errors import DataError, DataWarning
from holdfast.estimators.boosting import BoostingClassifier, BoostingRegressor
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

WARD = PATIENTS["ward"]


@pytest.fixture(scope="module")
def stays() -> BoostingClassifier:
    return BoostingClassifier(n_estimators=20, min_samples_leaf=3).fit(PATIENTS, STAY)


@pytest.fixture(scope="module")
def days() -> BoostingRegressor:
    return BoostingRegressor(n_estimators=20, min_samples_leaf=3).fit(PATIENTS, DAYS)


@pytest.fixture(scope="module")
def wards() -> BoostingClassifier:
    return BoostingClassifier(n_estimators=10, min_samples_leaf=3).fit(NUMBERS, WARD)


def waves(n_rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 6))
    return X, np.asarray(X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + generator.normal(size=n_rows) / 2)


# -- what fit leaves behind -------------------------------------------------------------------------------


def test_a_fitted_estimator_is_the_boosting_that_its_parameters_spell_out() -> None:
    model = BoostingClassifier(n_estimators=6, subsample=0.5, max_features=2, random_state=5).fit(
        NUMBERS, WARD
    )
    seed = int(np.random.RandomState(5).randint(2**32, dtype=np.uint32))
    rules = BoostingSettings("log_loss", 6, subsample=0.5, max_features=2)
    expected = boost(Table.from_arrays(NUMBERS, WARD), rules, seed=seed)
    assert np.array_equal(model.predict_proba(NUMBERS), expected.ensemble.values(NUMBERS))
    assert model.oob_improvement_.tolist() == expected.oob_improvement.tolist()
    assert isinstance(model.ensemble_, Ensemble)
    assert all(isinstance(tree, Tree) for tree in model.estimators_)
    assert len(model.estimators_) == 18  # one for each ward and round
    assert model.n_estimators_ == 6
    assert model.classes_.tolist() == ["A", "B", "C"]
    assert (model.n_classes_, model.n_features_in_, model.n_outputs_) == (3, 2, 1)


def test_predictions_follow_from_the_scores(stays: BoostingClassifier, wards: BoostingClassifier) -> None:
    log_odds = stays.decision_function(PATIENTS)
    assert log_odds.shape == (60,)
    assert stays.predict_proba(PATIENTS)[:, 1] == pytest.approx(1 / (1 + np.exp(-log_odds)))
    assert (stays.predict(PATIENTS) == np.where(log_odds > 0, "short", "long")).all()
    scores = wards.decision_function(NUMBERS)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert scores.shape == (60, 3)
    assert wards.predict_proba(NUMBERS) == pytest.approx(shares)


def test_scores_are_sums_over_the_trees(days: BoostingRegressor) -> None:
    expected = DAYS.mean() + 0.1 * sum(tree.predict(PATIENTS) for tree in days.estimators_)
    assert days.predict(PATIENTS) == pytest.approx(expected)
    leaves = days.apply(PATIENTS)
    assert leaves.shape == (60, 20)
    assert np.array_equal(leaves[:, 7], days.estimators_[7].apply(PATIENTS))


@pytest.mark.parametrize("name", ["stays", "wards", "days"])
def test_stages_are_those_of_shorter_runs(name: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(name)
    X, y = {"stays": (PATIENTS, STAY), "wards": (NUMBERS, WARD), "days": (PATIENTS, DAYS)}[name]
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_ == len(model.train_loss_)
    assert (np.diff(model.train_loss_) < 0).all()
    assert np.array_equal(stages[-1], model.predict(X))
    for n_rounds in (1, 7):
        shorter = clone(model).set_params(n_estimators=n_rounds).fit(X, y)
        assert np.array_equal(stages[n_rounds - 1], shorter.predict(X))
        assert shorter.train_loss_.tolist() == model.train_loss_[:n_rounds].tolist()


def test_probabilities_have_stages_too(wards: BoostingClassifier) -> None:
    stages = list(wards.staged_predict_proba(NUMBERS))
    assert len(stages) == 10
    assert np.array_equal(stages[-1], wards.predict_proba(NUMBERS))
    own = np.searchsorted(wards.classes_, WARD)
    lost = [-np.log(shares[np.arange(60), own]).mean() for shares in stages]
    assert wards.train_loss_ == pytest.approx(lost)


def test_nothing_is_known_before_fit() -> None:
    with pytest.raises(NotFittedError):
        BoostingClassifier().predict(NUMBERS)
    with pytest.raises(NotFittedError):
        _ = BoostingRegressor().feature_importances_


# -- data as it is ----------------------------------------------------------------------------------------


def test_categories_and_gaps_are_read_as_they_are(stays: BoostingClassifier, days: BoostingRegressor) -> None:
    assert stays.score(PATIENTS, STAY) > 0.9
    assert days.score(PATIENTS, DAYS) > 0.8
    assert (stays.feature_importances_ > 0).all()
    assert stays.feature_names_in_.tolist() == ["age", "ward", "bmi"]


def test_a_gap_can_be_the_answer() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[::2, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), "unmeasured", "measured")
    for splits in ("exact", "binned"):
        model = BoostingClassifier(n_estimators=30, splits=splits).fit(X, y)
        assert (model.predict(X) == y).all()
        assert model.feature_importances_ == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("splits", ["exact", "binned"])
def test_an_unseen_category_goes_where_gaps_go(splits: Any) -> None:
    gaps = PATIENTS.assign(ward=WARD.where(np.arange(60) % 7 > 0))
    model = BoostingClassifier(n_estimators=10, min_samples_leaf=3, splits=splits).fit(gaps, STAY)
    new, empty = PATIENTS.assign(ward="Z"), PATIENTS.assign(ward=None)
    with pytest.warns(DataWarning, match="Z"):
        found = model.predict_proba(new)
    assert np.array_equal(found, model.predict_proba(empty))
    strict = clone(model).set_params(handle_unknown="error").fit(gaps, STAY)
    with pytest.raises(DataError, match="ward"):
        strict.predict(new)
    with pytest.raises(DataError, match="ward"):
        clone(model).set_params(handle_missing="error").fit(gaps, STAY).predict(empty)


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_a_single_class_is_certain(loss: Any) -> None:
    model = BoostingClassifier(n_estimators=3, loss=loss).fit(NUMBERS, ["only"] * 60)
    assert model.classes_.tolist() == ["only"]
    assert (model.predict(NUMBERS) == "only").all()
    assert (model.predict_proba(NUMBERS) == np.ones((60, 1))).all()


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson"])
def test_a_constant_target_is_predicted(loss: Any) -> None:
    model = BoostingRegressor(n_estimators=3, loss=loss).fit(NUMBERS, np.full(60, 2.5))
    assert model.predict(NUMBERS) == pytest.approx(np.full(60, 2.5))


def test_class_weights_are_sample_weights() -> None:
    factor = {"A": 0.7, "B": 2.5, "C": 1.3}  # no integers, which would count as rows
    options: dict[str, Any] = {"n_estimators": 8, "min_samples_leaf": 5}
    one = BoostingClassifier(class_weight=factor, **options).fit(NUMBERS, WARD)
    other = BoostingClassifier(**options).fit(NUMBERS, WARD, sample_weight=WARD.map(factor))
    assert one.predict_proba(NUMBERS) == pytest.approx(other.predict_proba(NUMBERS))
    assert one.train_loss_ == pytest.approx(other.train_loss_)
    balanced = BoostingClassifier(class_weight="balanced", **options).fit(NUMBERS, WARD)
    share = 60 / (3 * WARD.value_counts())
    other = BoostingClassifier(**options).fit(NUMBERS, WARD, sample_weight=WARD.map(share))
    assert balanced.predict_proba(NUMBERS) == pytest.approx(other.predict_proba(NUMBERS))


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("drawn", [{}, {"subsample": 0.5}, {"early_stopping": True}], ids=str)
def test_a_row_without_weight_is_not_there(drawn: dict[str, Any], splits: Any) -> None:
    weight = (np.arange(60) % 3 > 0).astype(float)
    model = BoostingRegressor(n_estimators=8, min_samples_leaf=3, splits=splits, random_state=0, **drawn)
    one = clone(model).fit(NUMBERS, DAYS, weight)
    other = clone(model).fit(NUMBERS[weight > 0], DAYS[weight > 0])
    assert one.predict(NUMBERS) == pytest.approx(other.predict(NUMBERS))
    assert one.validation_loss_ == pytest.approx(other.validation_loss_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_the_unit_of_the_weights_does_not_matter(scale: float, splits: Any) -> None:
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 60)
    model = BoostingClassifier(n_estimators=5, min_samples_leaf=3, splits=splits)
    one, other = (clone(model).fit(NUMBERS, WARD, each) for each in (weight, scale * weight))
    assert one.predict_proba(NUMBERS) == pytest.approx(other.predict_proba(NUMBERS))
    assert one.feature_importances_ == pytest.approx(other.feature_importances_)


def test_subsamples_do_not_depend_on_the_order_of_the_rows() -> None:
    order = np.random.default_rng(0).permutation(60)
    model = BoostingRegressor(n_estimators=10, subsample=0.5, min_samples_leaf=3, random_state=1)
    one = clone(model).fit(PATIENTS, DAYS).predict(PATIENTS)
    other = clone(model).fit(PATIENTS.iloc[order], DAYS.iloc[order]).predict(PATIENTS)
    assert one == pytest.approx(other)


# -- early stopping -----------------------------------------------------------------------------------------


def test_early_stopping_keeps_the_lowest_loss() -> None:
    X, y = waves(400)
    model = BoostingRegressor(
        n_estimators=300, learning_rate=0.5, early_stopping=True, n_iter_no_change=5, tol=0.0, random_state=0
    ).fit(X, y)
    assert model.n_estimators_ == model.validation_loss_.argmin() + 1 < 300
    assert len(model.validation_loss_) == len(model.train_loss_) == model.n_estimators_ + 5
    assert len(list(model.staged_predict(X))) == model.n_estimators_


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_folds_of_groups_choose_the_number_of_rounds(cv: Any) -> None:
    X, y = waves(300)
    model = BoostingRegressor(n_estimators=40, learning_rate=0.5, early_stopping="cv", cv=cv, random_state=0)
    model.fit(X, y, groups=np.repeat(np.arange(60), 5))
    assert len(model.validation_loss_) == 40
    assert model.n_estimators_ == model.validation_loss_.argmin() + 1 == len(model.train_loss_)


# -- tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_number_of_jobs_changes_no_bit(n_classes: int) -> None:
    X, y = waves(10_000)
    options: dict[str, Any] = {"n_estimators": 4, "splits": "binned", "subsample": 0.9, "random_state": 0}
    if n_classes:
        target = np.digitize(y, [-0.5, 0.7][: n_classes - 1])
        models = [BoostingClassifier(n_jobs=n, **options).fit(X, target) for n in (1, 2)]
        assert np.array_equal(*(model.decision_function(X) for model in models))
    else:
        models = [BoostingRegressor(n_jobs=n, **options).fit(X, y) for n in (1, 2)]
        assert np.array_equal(*(model.predict(X) for model in models))
    assert np.array_equal(*(model.train_loss_ for model in models))
    assert np.array_equal(*(model.oob_improvement_ for model in models))


@pytest.mark.parametrize("name", ["stays", "days", "wards"])
def test_copies_and_files_predict_the_same(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    model = request.getfixturevalue(name)
    X = NUMBERS if name == "wards" else PATIENTS
    expected = model.predict(X)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), expected)
    assert copy.train_loss_.tolist() == model.train_loss_.tolist()
    holdfast.save(model, tmp_path / "model.json")
    loaded = holdfast.load(tmp_path / "model.json")
    assert type(loaded) is type(model)
    assert loaded.ensemble_.n_rounds == model.n_estimators_ == loaded.n_estimators_
    assert np.array_equal(loaded.predict(X), expected)
    assert np.array_equal(loaded.ensemble_.importances, model.ensemble_.importances)


def test_a_search_finds_the_better_parameters() -> None:
    X, y = waves(300)
    search = GridSearchCV(BoostingRegressor(n_estimators=15), {"learning_rate": [0.001, 0.3]}, cv=3)
    search.fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.3}
    assert search.best_score_ > 0.3


def test_a_generator_is_left_alone_where_nothing_is_drawn() -> None:
    generator = np.random.RandomState(0)
    before = generator.get_state()[1].tolist()  # type: ignore[index]
    BoostingRegressor(n_estimators=2, random_state=generator).fit(PATIENTS, DAYS)
    assert generator.get_state()[1].tolist() == before  # type: ignore[index]
