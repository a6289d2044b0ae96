"""What boosted models predict by their losses, and which columns they owe it to."""

from typing import Any

import numpy as np
import pytest
from patients import DAYS, PATIENTS
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from holdfast._arrays import FloatArray
from holdfast.estimators.boosting import BoostingClassifier, BoostingRegressor
from holdfast.tree.tree import LEAF, Tree


def waves(n_rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 6))
    return X, np.asarray(X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + generator.normal(size=n_rows) / 2)


# -- importances ------------------------------------------------------------------------------------------


def test_importances_are_shares_of_what_all_splits_gained() -> None:
    days = BoostingRegressor(n_estimators=20, min_samples_leaf=3).fit(PATIENTS, DAYS)
    # A split of squared error gains the fall of the summed squares of the residuals around their means.
    gains, score = np.zeros(3), np.full(60, DAYS.mean())
    for tree in days.estimators_:
        paths = {0: np.arange(60)}
        rest = DAYS.to_numpy() - score
        for node in range(len(tree.feature)):
            if tree.feature[node] == LEAF:
                continue
            rows = paths[node]
            goes_left = np.isin(tree.apply(PATIENTS.iloc[rows]), below(tree, int(tree.left[node])))
            parts = rows[goes_left], rows[~goes_left]
            paths |= dict(zip((int(tree.left[node]), int(tree.right[node])), parts, strict=True))
            fall = squares(rest[rows]) - squares(rest[parts[0]]) - squares(rest[parts[1]])
            gains[tree.feature[node]] += fall
        score += 0.1 * tree.predict(PATIENTS)
    assert days.feature_importances_ == pytest.approx(gains / gains.sum())


def squares(values: FloatArray) -> float:
    return float(((values - values.mean()) ** 2).sum())


def below(tree: Tree, node: int) -> list[int]:
    """The leaves below a node."""
    if tree.feature[node] == LEAF:
        return [node]
    return below(tree, int(tree.left[node])) + below(tree, int(tree.right[node]))


def test_importances_are_those_of_scikit_learn() -> None:
    X, y = waves(300)
    weight = np.random.default_rng(2).uniform(0.2, 2.0, 300)  # so that few splits are tied
    options: dict[str, Any] = {"n_estimators": 15, "min_samples_leaf": 5}
    ours = BoostingRegressor(**options).fit(X, y, weight)
    theirs = GradientBoostingRegressor(**options).fit(X, y, weight)
    assert ours.predict(X) == pytest.approx(theirs.predict(X))
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, rel=1e-6)
    classes = np.digitize(y, [-0.5, 0.7])
    ours = BoostingClassifier(second_order=False, **options).fit(X, classes, weight)
    # scikit-learn shortens every step by 2/3.
    theirs = GradientBoostingClassifier(learning_rate=0.15, **options).fit(X, classes, weight)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-6)
    # Theirs measure a gain by slopes alone, ours by slope and curvature.
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=0.05)


def test_a_question_shares_its_gain_among_its_columns() -> None:
    question = "age > 60 and ward != 'C'"
    model = BoostingRegressor(n_estimators=5, custom_features=[question]).fit(PATIENTS, DAYS)
    whole = model.ensemble_.importances
    assert whole[3] > 0.5
    assert model.feature_importances_ == pytest.approx(whole[:3] + np.array([0.5, 0.5, 0.0]) * whole[3])


# -- losses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_a_quantile_lies_above_its_share_of_the_rows(alpha: float) -> None:
    X, y = waves(3000)
    y = y * (1 + (X[:, 3] > 0))  # wider for some
    model = BoostingRegressor(loss="quantile", alpha=alpha, n_estimators=60).fit(X, y)
    predicted = model.predict(X)
    for rows in (X[:, 3] > 0, X[:, 3] <= 0):
        assert (y <= predicted)[rows].mean() == pytest.approx(alpha, abs=0.03)


@pytest.mark.parametrize("splits", ["exact", "binned"])
def test_rates_have_the_mean_of_the_counts(splits: Any) -> None:
    X, height = waves(2000)
    y = np.random.default_rng(1).poisson(np.exp(height - 1))
    model = BoostingRegressor(loss="poisson", n_estimators=60, splits=splits).fit(X, y)
    rates = model.predict(X)
    assert rates.min() > 0
    assert rates.mean() == pytest.approx(y.mean(), rel=0.01)


def test_outliers_do_not_move_a_robust_loss() -> None:
    X, y = waves(600)
    truth, spoilt = y, y.copy()
    spoilt[::20] += 1000.0
    errors = {}
    for loss in ("squared_error", "huber", "absolute_error"):
        model = BoostingRegressor(loss=loss, n_estimators=50).fit(X, spoilt)
        errors[loss] = float(np.median(np.abs(model.predict(X) - truth)))
    assert errors["huber"] < 1.0
    assert errors["absolute_error"] < 1.0
    assert errors["squared_error"] > 10.0
