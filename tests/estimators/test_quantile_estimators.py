"""Medians and quantiles by estimator: trees, ensembles, stable trees, boosting, and what refuses them."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from holdfast import (
    BaggingRegressor,
    BoostingRegressor,
    ForestRegressor,
    StableTreeRegressor,
    TreeRegressor,
    explain_row,
    load,
    save,
)
from holdfast._arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.growth.rules import GrowthRules
from holdfast.scoring.metric import TrueValues, make_metric

N_ROWS = 300


@pytest.fixture(scope="module")
def stays() -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(8)
    X = random.uniform(size=(2 * N_ROWS, 3))
    return X, np.exp(1 + X[:, 0] + random.normal(size=2 * N_ROWS) * (0.2 + X[:, 1]))


def pinball(y: FloatArray, said: Any, quantile: float) -> float:
    return float(mean_pinball_loss(y, said, alpha=quantile))


def test_one_tree_says_medians_and_quantiles(stays: tuple[FloatArray, FloatArray], tmp_path: Any) -> None:
    X, y = stays
    model = TreeRegressor(growth_rules=GrowthRules("quantile", quantile=0.9), min_samples_leaf=30).fit(X, y)
    assert (y <= model.predict(X)).mean() == pytest.approx(0.9, abs=0.02)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "0.9 quantile" in str(explain_row(model, X[:1]))
    lower = TreeRegressor(criterion="absolute_error", min_samples_leaf=30).fit(X, y)
    assert np.abs(y - lower.predict(X)).mean() < np.abs(y - np.median(y)).mean()


def test_a_chosen_size_goes_by_the_loss_of_the_quantile(stays: tuple[FloatArray, FloatArray]) -> None:
    X, y = stays
    model = TreeRegressor(criterion="absolute_error", ccp_alpha="cv", cv=3, min_samples_leaf=10).fit(X, y)
    assert model.size_table_.metric.name == "absolute_error"


@pytest.mark.parametrize("kind", [ForestRegressor, BaggingRegressor])
def test_ensembles_average_what_their_trees_say(
    kind: type[ForestRegressor], stays: tuple[FloatArray, FloatArray]
) -> None:
    X, y = stays
    model = kind(
        n_estimators=5,
        growth_rules=GrowthRules("quantile", quantile=0.9),
        min_samples_leaf=20,
        random_state=0,
    )
    model.fit(X, y)
    each = np.mean([tree.predict(X) for tree in model.ensemble_], axis=0)
    np.testing.assert_allclose(model.predict(X), each)
    assert pinball(y, model.predict(X), 0.9) < pinball(y, np.full(len(y), y.mean()), 0.9)


def test_stable_trees_say_quantiles_where_no_teacher_speaks(stays: tuple[FloatArray, FloatArray]) -> None:
    X, y = stays
    given: dict[str, Any] = {"criterion": "absolute_error", "n_estimators": 4, "random_state": 0}
    model = build_estimator(StableTreeRegressor, method="bootstrap", max_depth=3, **given).fit(
        X[:N_ROWS], y[:N_ROWS]
    )
    assert model.trained_.metric.name == "absolute_error"
    assert model.tree_.criterion == "absolute_error"
    with pytest.raises(
        ParameterError, match=r"the teacher of a consensus tree predicts means: set leaf_values"
    ):
        build_estimator(StableTreeRegressor, **given).fit(X[:N_ROWS], y[:N_ROWS])
    with pytest.raises(ParameterError, match=r"leaves of the deployed tree predict the median"):
        model.update(X[N_ROWS:], y[N_ROWS:])


def test_scores_are_pinball_losses(stays: tuple[FloatArray, FloatArray]) -> None:
    y = stays[1]
    said = np.full(len(y), 3.0)
    target = Target("days")
    score = make_metric("quantile 0.9", target).score(said[:, None], TrueValues(target, y))
    assert -score.value == pytest.approx(pinball(y, said, 0.9))
    with pytest.raises(ParameterError, match=r"scoring='quantile 0.9' is for numbers"):
        make_metric("quantile 0.9", Target("lived", classes=("no", "yes")))


# -- boosting -----------------------------------------------------------------------------------------------


def test_boosting_takes_the_quantile_by_either_name(stays: tuple[FloatArray, FloatArray]) -> None:
    X, y = stays
    one = BoostingRegressor(loss="quantile", quantile=0.2, n_estimators=5).fit(X, y)
    other = BoostingRegressor(loss="quantile", alpha=0.2, n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_honest_leaves_hold_on_new_rows(stays: tuple[FloatArray, FloatArray]) -> None:
    X, y = stays
    learnt, new = slice(None, N_ROWS), slice(N_ROWS, None)
    given: dict[str, Any] = {"loss": "quantile", "quantile": 0.9, "n_estimators": 60, "max_depth": 4}
    below = {}
    for leaf_values in ("labels", "honest"):
        model = BoostingRegressor(leaf_values=leaf_values, min_samples_leaf=5, random_state=0, **given)
        model.fit(X[learnt], y[learnt])
        below[leaf_values] = float((y[new] <= model.predict(X[new])).mean())
    assert below["labels"] < below["honest"]
    assert abs(below["honest"] - 0.9) < abs(below["labels"] - 0.9)


def test_honest_leaves_are_the_same_for_any_order_and_number_of_threads(
    stays: tuple[FloatArray, FloatArray],
) -> None:
    X, y = stays
    model = BoostingRegressor(
        loss="absolute_error", leaf_values="honest", subsample=0.8, n_estimators=4, random_state=1
    )
    first = model.fit(X, y).predict(X)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(model.fit(X[order], y[order]).predict(X), first)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).fit(X, y).predict(X), first)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"quantile": 0.9}, "quantile=0.9 is for loss='quantile', and the loss is 'squared_error'"),
        (
            {"loss": "quantile", "quantile": 1.5},
            "quantile=1.5 is out of range: it must be a fraction between 0 and 1",
        ),
        ({"leaf_values": "honest"}, "leaf_values='honest' is for losses with a median or a quantile"),
        ({"leaf_values": "own"}, "leaf_values='own' is unknown"),
    ],
)
def test_boosting_refuses_what_does_not_go_together(
    parameters: dict[str, Any], said: str, stays: tuple[FloatArray, FloatArray]
) -> None:
    with pytest.raises(ParameterError, match=said):
        BoostingRegressor(**parameters).fit(*stays)
