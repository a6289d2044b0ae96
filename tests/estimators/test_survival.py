"""Survival trees and forests: predictions by hand, weights, missing values, files, and scikit-survival."""

import pickle
from functools import cache
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from holdfast import SurvivalForest, SurvivalTree, load, save
from holdfast.errors import DataError, ParameterError

METHODS = ["nelson-aalen", "piecewise"]


@cache
def patients(n_rows: int = 240) -> tuple[pd.DataFrame, tuple[Any, Any]]:
    """Risk rises with age and where the site is b or the dose is missing."""
    rng = np.random.default_rng(0)
    age, site = rng.normal(size=n_rows).round(2), rng.choice(["a", "b", "c"], n_rows)
    dose = np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(size=n_rows).round(2))
    time = np.ceil(rng.exponential(50 * np.exp(-age - (site == "b") - np.isnan(dose))))
    frame = pd.DataFrame({"age": age, "site": site, "dose": dose})
    return frame, (time, rng.random(n_rows) < 0.7)


def survival_of(model: Any, X: Any = None) -> np.ndarray:
    return model.predict_survival_function(patients()[0] if X is None else X, [5.0, 30.0, 200.0])


def test_predictions_are_those_worked_out_by_hand() -> None:
    y = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    tree = SurvivalTree(max_depth=1, min_samples_leaf=2, leaf_values="labels", horizon=4).fit(
        [[0], [0], [1], [1]], y
    )
    sums = [1 / 4, 1 / 4 + 1 / 3, 1 / 4 + 1 / 3 + 1]  # the cumulative hazard at 1, 2 and 4
    old, young = 2 / (sums[0] + sums[1]), 1 / (sums[1] + sums[2])
    rows = [[0], [1]]
    assert tree.event_times_.tolist() == [1.0, 2.0, 4.0]
    assert tree.predict(rows) == pytest.approx([old, young])
    expected = [
        [1, exp(-old * sums[0]), exp(-old * sums[1])],
        [1, exp(-young * sums[0]), exp(-young * sums[1])],
    ]
    assert tree.predict_survival_function(rows, [0.5, 1, 3.9]) == pytest.approx(np.array(expected))
    assert tree.predict_cumulative_hazard_function(rows)[0] == pytest.approx(old * np.array(sums))
    # Half are left where the hazard of all is log(2) / risk: 0.29 of the old, and 0.84 of the young ones.
    assert tree.predict_median(rows).tolist() == [2.0, 4.0]
    mean = [
        1 + exp(-old * sums[0]) + 2 * exp(-old * sums[1]),
        1 + exp(-young * sums[0]) + 2 * exp(-young * sums[1]),
    ]
    assert tree.predict_restricted_mean(rows) == pytest.approx(mean)
    assert tree.predict_restricted_mean(rows, 1.5)[0] == pytest.approx(1 + 0.5 * exp(-old * sums[0]))
    assert tree.score(rows, ([1.0, 2.0], [True, True])) == 1.0
    with pytest.raises(ParameterError, match="times must be numbers"):
        tree.predict_survival_function(rows, [np.nan])


def test_the_median_is_infinite_where_more_than_half_survive() -> None:
    X, y = np.repeat([0.0, 1.0], 30)[:, None], (np.arange(1.0, 61.0), np.arange(60) < 25)
    tree = SurvivalTree(max_depth=1, leaf_values="labels").fit(X, y)
    assert tree.predict_median([[0.0], [1.0]])[1] == inf


def test_a_small_leaf_is_shrunk_towards_the_root() -> None:
    X = np.repeat([0.0, 1.0], [100, 12])[:, None]
    y = np.random.default_rng(0).exponential(np.where(X[:, 0] > 0, 5.0, 20.0)), np.arange(112) % 3 > 0
    raw, shrunk = (
        SurvivalTree(max_depth=1, leaf_values=values, min_samples_leaf=12).fit(X, y)
        for values in ("labels", "shrunk")
    )
    assert raw.tree_.count[1:].tolist() == [100.0, 12.0]
    events = raw.tree_.weight[0]
    assert events == pytest.approx(y[1].sum())  # as many as expected
    kept = events / (events + shrunk.shrinkage_)
    assert shrunk.predict(X) == pytest.approx(1 + kept * (raw.predict(X) - 1))


@pytest.mark.parametrize("hazard", METHODS)
def test_a_weight_is_a_number_of_rows_and_zero_is_none(hazard: str) -> None:
    X, (time, event) = patients()[0], (patients()[1][0].copy(), patients()[1][1])
    weight = (np.arange(240) % 4).astype(float)
    time[-4] = 9999.0  # the greatest time is of a row of weight 0
    rows = np.repeat(np.arange(240), weight.astype(int))
    weighted, repeated, kept = (
        SurvivalTree(max_leaf_nodes=6, hazard=hazard).fit(X.iloc[own], (time[own], event[own]), weights)
        for own, weights in ((slice(None), weight), (rows, None), (weight > 0, weight[weight > 0]))
    )
    assert survival_of(repeated) == pytest.approx(survival_of(weighted), abs=1e-12)
    assert weighted.schema_.target.hazard == kept.schema_.target.hazard
    assert np.array_equal(survival_of(kept), survival_of(weighted))
    with pytest.raises(DataError, match="no event among the rows of positive weight"):
        SurvivalTree().fit(X, (time, event), np.where(event, 0.0, 1.0))


@pytest.mark.parametrize("hazard", METHODS)
@pytest.mark.parametrize("entry", [False, True])
def test_the_order_of_rows_and_columns_changes_nothing(hazard: str, entry: bool) -> None:
    X, y = patients()
    y = (*y, np.floor(y[0] / 3)) if entry else y
    order, weight = np.random.default_rng(1).permutation(240), np.random.default_rng(2).random(240)
    straight = SurvivalTree(hazard=hazard, max_leaf_nodes=9).fit(X, y, weight)
    mixed = SurvivalTree(hazard=hazard, max_leaf_nodes=9).fit(
        X.iloc[order, ::-1], tuple(each[order] for each in y), weight[order]
    )
    assert np.array_equal(survival_of(mixed), survival_of(straight))


@pytest.mark.parametrize("kind", [SurvivalTree, SurvivalForest])
def test_models_are_cloned_pickled_and_saved(kind: Any, tmp_path: Path) -> None:
    X, y = patients()
    model = kind(max_leaf_nodes=5, random_state=0, horizon=60, time_unit="days").fit(X, y)
    assert clone(model).get_params() == model.get_params()
    save(model, tmp_path / "model.json")
    save(load(tmp_path / "model.json"), tmp_path / "again.json")
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.json"), clone(model).fit(X, y)):
        assert np.array_equal(survival_of(again), survival_of(model))
        assert again.horizon_ == 60


@pytest.mark.parametrize(
    "settings", [{"max_leaf_nodes": "cv"}, {"ccp_alpha": "cv"}, {"size": "auto"}, {"leaf_values": "honest"}]
)
def test_sizes_are_chosen_by_the_deviance(settings: dict[str, Any]) -> None:
    X, y = patients()
    groups = np.arange(240) // 2
    tree = SurvivalTree(random_state=0, **settings).fit(X, y, groups=groups)
    assert 3 <= tree.get_n_leaves() <= 20
    assert tree.score(X, y) > 0.65


def test_the_risk_rises_where_it_must() -> None:
    X, y = patients()
    tree = SurvivalTree(monotonic_cst={"age": 1}, max_leaf_nodes=12).fit(X, y)
    ages = pd.DataFrame({"age": np.linspace(-3, 3, 99), "site": "b", "dose": 0.0})
    assert (np.diff(tree.predict(ages)) >= 0).all()
    with pytest.raises(ParameterError, match="criterion='gini' is not for times to an event"):
        SurvivalTree(criterion="gini").fit(X, y)


def test_predictions_are_those_that_scikit_survival_takes() -> None:
    metrics, trees = pytest.importorskip("sksurv.metrics"), pytest.importorskip("sksurv.tree")
    X, (time, event) = patients()
    y = np.array(list(zip(event, time, strict=True)), [("event", bool), ("time", float)])
    theirs = trees.SurvivalTree(max_depth=1).fit(X[["age"]], y)
    tree = SurvivalTree(max_depth=3).fit(X, y)
    shape = tree.predict_survival_function(X).shape
    assert shape == tree.predict_cumulative_hazard_function(X).shape == (240, len(tree.event_times_))
    assert theirs.predict_survival_function(X[["age"]], return_array=True).shape[0] == shape[0]
    concordance = metrics.concordance_index_censored(event, time, tree.predict(X))[0]
    assert concordance == pytest.approx(tree.score(X, y))
    times = [5.0, 20.0, 60.0]
    assert metrics.cumulative_dynamic_auc(y, y, tree.predict(X), times)[1] > 0.65
    survival = tree.predict_survival_function(X, times)
    assert metrics.integrated_brier_score(y, y, survival, times) < 0.25
