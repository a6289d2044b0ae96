"""Decision curves: against the formula written out, and what is refused."""

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from holdfast import DecisionCurve, ForestClassifier, TreeClassifier, TreeRegressor, decision_curve
from holdfast.errors import DataError, ModelError, ParameterError


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2))
    return X, np.where(X[:, 0] + random.normal(size=150) > 0.8, "ill", "well")


@cache
def curve() -> DecisionCurve:
    X, y = rows()
    models = {
        "tree": TreeClassifier(max_depth=2).fit(X, y),
        "logistic": LogisticRegression().fit(X, y),
        "forest": ForestClassifier(n_estimators=3, random_state=0).fit(X, y),
    }
    return decision_curve(models, X, y, thresholds=[0.1, 0.3, 0.6])


def test_the_curve_is_the_formula() -> None:
    X, y = rows()
    found, said = curve(), LogisticRegression().fit(X, y).predict_proba(X)[:, 0]
    assert found.positive == "ill"
    for place, t in enumerate([0.1, 0.3, 0.6]):
        hits, alarms = ((said >= t) & (y == "ill")).sum(), ((said >= t) & (y == "well")).sum()
        assert found.benefit[1, place] == pytest.approx((hits - alarms * t / (1 - t)) / 150)
        share = (y == "ill").mean()
        assert found.act_on_all[place] == pytest.approx(share - (1 - share) * t / (1 - t))
    assert found.gain == pytest.approx(found.benefit - np.maximum(found.act_on_all, 0))


def test_the_frame_has_a_row_for_each_model_and_threshold() -> None:
    frame = curve().to_frame("pandas")
    assert frame.columns.tolist() == ["model", "threshold", "net_benefit", "error", "act_on_all"]
    assert len(frame) == 9
    forest = frame[frame["model"] == "forest"]
    assert forest["net_benefit"].tolist() == curve().benefit[2].tolist()
    assert "tree, logistic, forest, of 'ill', 150 rows" in repr(curve())


def test_weights_count_as_rows() -> None:
    X, y = rows()
    model, weight = TreeClassifier(max_depth=2).fit(X, y), np.arange(150) % 3
    repeated = np.repeat(np.arange(150), weight)
    weighted = decision_curve(model, X, y, weight, positive="ill")
    assert weighted.benefit == pytest.approx(
        decision_curve(model, X[repeated], y[repeated], positive="ill").benefit
    )


def test_patients_with_many_rows_widen_the_error() -> None:
    X, y = rows()
    model, twice = TreeClassifier(max_depth=2).fit(X, y), np.repeat(np.arange(150), 2)
    grouped = decision_curve(model, X[twice], y[twice], groups=twice, thresholds=0.3)
    assert grouped.error == pytest.approx(decision_curve(model, X, y, thresholds=0.3).error)


def test_what_has_no_probabilities_or_classes_is_refused() -> None:
    X, y = rows()
    model = TreeClassifier(max_depth=1).fit(X, y)
    with pytest.raises(ModelError, match="TreeRegressor has no class probabilities"):
        decision_curve(TreeRegressor().fit(X, X[:, 0]), X, y)
    with pytest.raises(ParameterError, match="positive='sick' is not a class"):
        decision_curve(model, X, y, positive="sick")
    with pytest.raises(ParameterError, match="give numbers between 0 and 1"):
        decision_curve(model, X, y, thresholds=[0.0, 0.5])
    with pytest.raises(ParameterError, match="models is empty"):
        decision_curve({}, X, y)
    with pytest.raises(DataError, match="X has 10 rows and y has 150"):
        decision_curve(model, X[:10], y)
    three = TreeClassifier(max_depth=2).fit(X, np.array(list("abc") * 50))
    with pytest.raises(ParameterError, match="3 classes: choose the one to act on with positive="):
        decision_curve(three, X, y)
