"""Consensus trees for times to an event: distances, teacher, leaf values, updates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

from holdfast import StableSurvivalTree, SurvivalTree, Table, load, save, tree_distance
from holdfast.data.survival import estimate_hazard, read_survival, survival_function
from holdfast.stable.consensus.distil import PRIOR_ROWS
from holdfast.stable.consensus.teacher import TeacherData, part_predictions

RANDOM = np.random.RandomState(0)
N = 400
X = np.column_stack([RANDOM.randint(20, 90, N), RANDOM.randint(0, 2, N), RANDOM.normal(size=N).round(1)])
RISK = np.exp(0.04 * (X[:, 0] - 55) + X[:, 1])
TIME = RANDOM.exponential(1000 / RISK)
CENSORED = RANDOM.uniform(100, 3000, N)
Y = (np.minimum(TIME, CENSORED).round() + 1, CENSORED >= TIME)


def stable(**parameters):
    return StableSurvivalTree(**{"n_estimators": 20, "max_leaf_nodes": 6, **parameters})


@pytest.fixture(scope="module")
def model():
    return stable().fit(X, Y)


def test_outcomes_differ_by_the_area_between_two_survival_functions(model):
    hazard, low, high = model.schema_.target.hazard, 0.5, 1.7
    leaf = SurvivalTree(min_samples_leaf=N).fit(X, Y).tree_
    one, other = (leaf.replace(value=np.array([[risk]])) for risk in (low, high))
    times = (np.arange(200_000) + 0.5) / 200_000 * hazard.horizon
    curves = survival_function(hazard, np.array([low, high]), times)
    found = tree_distance(one, other, label_weight=1.0).total
    assert found == pytest.approx(np.abs(curves[0] - curves[1]).mean(), abs=1e-4)


def test_every_part_of_the_teacher_ranks_risks():
    table = Table.from_arrays(X, Y, task="survival")
    data = TeacherData(table, None, None)
    for predictions in part_predictions(data, ("forest", "extra-trees", "boosting", "linear", "kernel")):
        assert spearmanr(predictions[:, 0], RISK).statistic > 0.8


def test_a_posterior_risk_adds_the_teachers_events_of_forty_rows(model):
    tree = model.tree_
    rows = Table.from_arrays(X, Y, task="survival").survival
    leaf = tree.apply(X)
    prior = PRIOR_ROWS * rows.exposure.sum() / N
    for node in np.unique(leaf):
        own = leaf == node
        events, expected = rows.event[own].sum(), rows.exposure[own].sum()
        by_hand = (events + prior * tree.teacher_mean[node, 0]) / (expected + prior)
        assert tree.value[node, 0] == pytest.approx(by_hand, rel=1e-9)


def test_rows_in_another_order_and_other_jobs_give_the_same_bits(model):
    order = np.random.RandomState(1).permutation(N)
    other = stable(n_jobs=2).fit(X[order], (Y[0][order], Y[1][order]))
    assert_array_equal(other.predict(X), model.predict(X))


def test_weight_two_is_a_row_twice():
    twice = np.arange(N) % 3 == 0
    rows = np.repeat(np.arange(N), 1 + twice)
    weighted = stable(n_estimators=5).fit(X, Y, sample_weight=1.0 + twice)
    repeated = stable(n_estimators=5).fit(X[rows], (Y[0][rows], Y[1][rows]))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_a_loaded_model_predicts_the_same_bits(model, tmp_path):
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert_array_equal(again.predict_survival_function(X), model.predict_survival_function(X))
    assert again.horizon_ == model.horizon_


@pytest.mark.parametrize(
    ("method", "leaf_values"),
    [("bootstrap", "shrunk"), ("bootstrap", "labels"), ("pruned", "labels"), ("paper", "labels")],
)
def test_other_methods_train_on_times_to_an_event(method, leaf_values):
    found = StableSurvivalTree(
        method=method, n_estimators=10, max_depth=3, leaf_values=leaf_values, random_state=0
    ).fit(X, Y)
    assert found.score(X, Y) > 0.65


# -- updates -------------------------------------------------------------------------------------------------


def test_an_update_adds_events_and_rows_at_risk(model):
    old = stable().fit(X, Y)
    updated = stable().fit(X, Y)
    updated.update(X, Y)
    tree = updated.tree_
    assert tree.curves[0].events.sum() == pytest.approx((tree.weight * tree.observed_mean[:, 0])[0])
    if updated.update_.steps[updated.update_.taken].kind != "keep":
        assert tree.curves[0].events.sum() == pytest.approx(2 * old.tree_.curves[0].events.sum())


def test_a_region_without_new_rows_keeps_risk_and_curve():
    updated = stable().fit(X, Y)
    before, young = updated.tree_, X[:, 0] < 60
    rate = np.where(young, 4.0, 1.0)  # of the young, events come four times as fast
    updated.update(X[young], ((Y[0] / rate)[young].round() + 1, Y[1][young]), force=True)
    old_leaf, leaf = before.apply(X[~young]), updated.tree_.apply(X[~young])
    untouched = ~np.isin(old_leaf, before.apply(X[young]))
    assert untouched.any()
    for one, other in set(zip(old_leaf[untouched].tolist(), leaf[untouched].tolist(), strict=True)):
        assert updated.tree_.value[other, 0] == before.value[one, 0]
        assert_array_equal(updated.tree_.curves[other].events, before.curves[one].events)


def test_new_rows_refer_to_the_hazard_of_the_first_ones(model):
    hazard, _ = estimate_hazard(read_survival(Y))
    updated = stable().fit(X, Y)
    updated.update(X, (Y[0] * 2, Y[1]))
    assert updated.schema_.target.hazard.cumulative == hazard.cumulative


def test_an_update_without_events_is_refused(model):
    updated = stable().fit(X, Y)
    few = Y[1] & (np.cumsum(Y[1]) <= 2)
    with pytest.raises(ValueError, match="2 have an event"):
        updated.update(X, (Y[0], few))


def test_stages_give_a_tree_for_each():
    stages = np.repeat([2021, 2022], N // 2)
    found = stable(n_estimators=5).fit_stages(X, Y, stage=stages)
    assert len(found.stages_) == 2
