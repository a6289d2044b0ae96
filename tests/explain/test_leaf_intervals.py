"""Intervals of leaves: how many rows they rest on, and how far they reach."""

import numpy as np
import pytest
from scipy import stats

from holdfast import (
    ParameterError,
    StableTreeClassifier,
    StableTreeRegressor,
    TreeClassifier,
    TreeRegressor,
    load,
    save,
)
from holdfast.report.rules import rule_facts
from holdfast.scoring.intervals import (
    bootstrap_interval,
    design_effect,
    jeffreys_interval,
    t_interval,
    wilson_interval,
)
from holdfast.tree.leaf_evidence import leaf_outcome, node_interval
from holdfast.tree.prune import prune_at
from holdfast.tree.text import NodeTexts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.where(RNG.random(300) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")


# -- the formulas -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "n"), [(17, 44), (0, 20), (20, 20), (1, 3)])
def test_wilson_and_jeffreys_are_those_of_scipy(count: int, n: int) -> None:
    wilson = stats.binomtest(count, n).proportion_ci(0.9, "wilson")
    assert wilson_interval(count, n, 0.9) == pytest.approx(tuple(wilson))
    low, high = jeffreys_interval(count, n, 0.9)
    beta = stats.beta(count + 0.5, n - count + 0.5)
    assert low == pytest.approx(beta.ppf(0.05) if count else 0.0)
    assert high == pytest.approx(beta.ppf(0.95) if count < n else 1.0)


def test_the_interval_of_a_mean_is_students() -> None:
    values = RNG.normal(size=12)
    expected = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert t_interval(values.mean(), values.std(), 12) == pytest.approx(expected)
    assert t_interval(3.0, 0.0, 1) == (-np.inf, np.inf)


def test_the_bootstrap_reaches_further_on_the_side_of_the_skew() -> None:
    values = np.random.default_rng(1).exponential(size=60)
    low, high = bootstrap_interval(values, np.ones(60))
    assert high - values.mean() > 1.2 * (values.mean() - low)


def test_unequal_weights_count_by_kish_and_groups_by_their_likeness() -> None:
    values, weight = RNG.normal(size=(200, 1)), RNG.random(200)
    kish = weight.sum() ** 2 / (weight**2).sum()
    assert 200 / design_effect(values, weight, None) == pytest.approx(kish)
    groups = np.repeat(np.arange(50), 4)
    twins = np.repeat(RNG.normal(size=(50, 1)), 4, axis=0)
    assert 200 / design_effect(twins, np.ones(200), groups) == pytest.approx(50, rel=0.05)
    assert design_effect(values, np.ones(200), groups) < 2


# -- predictions ------------------------------------------------------------------------------------------


def test_a_prediction_lies_in_the_wilson_interval_of_its_leaf() -> None:
    model = TreeClassifier(max_depth=2).fit(X, Y)
    low, high = model.predict_interval(X, level=0.9)
    leaf = model.apply(X)[7]
    p, n = model.tree_.value[leaf, 1], model.tree_.count[leaf]
    assert (low[7, 1], high[7, 1]) == pytest.approx(wilson_interval(p * n, n, 0.9))
    assert np.all((low <= model.predict_proba(X)) & (model.predict_proba(X) <= high))


def test_a_row_of_weight_2_is_two_rows_and_fractions_are_worth_less() -> None:
    weight = RNG.integers(1, 4, 300).astype(float)
    repeated = np.repeat(np.arange(300), weight.astype(int))
    by_weight = TreeClassifier(max_depth=2).fit(X, Y, weight).predict_interval(X)
    by_rows = TreeClassifier(max_depth=2).fit(X[repeated], Y[repeated]).predict_interval(X)
    assert np.allclose(by_weight, by_rows)
    model = TreeClassifier(max_depth=2).fit(X, Y, RNG.random(300) ** 2)
    leaves = np.unique(model.apply(X))
    assert (model.tree_.effective[leaves] < model.tree_.count[leaves]).all()


def test_patients_who_come_again_widen_the_interval(tmp_path) -> None:
    rows = np.repeat(np.arange(300), 3)
    alone = TreeClassifier(max_depth=2).fit(X[rows], Y[rows])
    model = TreeClassifier(max_depth=2).fit(X[rows], Y[rows], groups=rows)
    width, wider = (np.subtract(*each.predict_interval(X)[::-1])[:, 0] for each in (alone, model))
    assert wider == pytest.approx(width * 3**0.5, rel=0.1)
    save(model, tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").predict_interval(X), model.predict_interval(X))


def test_numbers_have_the_interval_of_students_or_of_the_bootstrap() -> None:
    y = X[:, 0] + RNG.exponential(size=300)
    model = TreeRegressor(max_depth=2).fit(X, y)
    leaf = model.apply(X)
    own = y[leaf == leaf[0]]
    low, high = model.predict_interval(X)
    expected = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
    assert (low[0], high[0]) == pytest.approx(expected)
    drawn = model.predict_interval(X, method="bootstrap", rows=(X, y))
    assert drawn[1][0] - own.mean() > own.mean() - drawn[0][0]
    with pytest.raises(ParameterError, match=r"the model keeps none: give rows=\(X, y\)"):
        model.predict_interval(X, method="bootstrap")


def test_intervals_of_trees_with_a_teachers_values_are_of_the_rows() -> None:
    small = {"teacher": "linear", "max_leaf_nodes": 4, "n_estimators": 5, "leaf_values": "teacher"}
    model = StableTreeClassifier(**small).fit(X, Y)
    for rule in ("best-score", "most-stable"):
        low, high = model.choose(rule).predict_interval(X)
        for leaf in np.unique(leaves := model.apply(X)):
            own = Y[leaves == leaf]
            expected = wilson_interval((own == "yes").sum(), len(own))
            assert (low[leaves == leaf, 1][0], high[leaves == leaf, 1][0]) == pytest.approx(expected)
    y = X[:, 0] + RNG.normal(size=300)
    model = StableTreeRegressor(**small).fit(X, y)
    low, high = model.predict_interval(X)
    for leaf in np.unique(leaves := model.apply(X)):
        own = y[leaves == leaf]
        expected = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
        assert (low[leaves == leaf][0], high[leaves == leaf][0]) == pytest.approx(expected)


def test_after_an_update_they_are_of_old_and_new_rows_together() -> None:
    y = X[:, 0] + RNG.normal(size=300)
    small = {"teacher": "linear", "max_leaf_nodes": 3, "n_estimators": 5, "validation": None}
    model = StableTreeRegressor(**small, leaf_values="teacher").fit(X[:180], y[:180])
    model.update(X[180:], y[180:], strategy="refit", validation=None)
    low, high = model.predict_interval(X)
    for leaf in np.unique(leaves := model.apply(X)):
        own = y[leaves == leaf]
        assert model.tree_.observed_mean[leaf, 0] == pytest.approx(own.mean())
        assert model.tree_.observed_mean[leaf, 0] != pytest.approx(model.tree_.value[leaf, 0])
        expected = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
        assert (low[leaves == leaf][0], high[leaves == leaf][0]) == pytest.approx(expected)


def test_rows_that_weigh_unlike_have_the_rate_by_weight_whatever_gives_the_leaf_values() -> None:
    weight = np.where(Y == "yes", 3.7, 1.0)
    small = {"teacher": "linear", "max_leaf_nodes": 3, "n_estimators": 5}
    for model in (
        StableTreeClassifier(**small),
        TreeClassifier(max_leaf_nodes=3),
        TreeClassifier(max_leaf_nodes=3, leaf_values="shrunk", cv=3),
    ):
        leaves = model.fit(X, Y, weight).apply(X)
        for leaf in np.unique(leaves):
            own = leaves == leaf
            rate = np.average(Y[own] == "yes", weights=weight[own])
            assert model.tree_.observed_mean[leaf, 1] == pytest.approx(rate)


def test_what_rows_were_outlives_files_and_values_set_by_hand(tmp_path) -> None:
    y = X[:, 0] + RNG.normal(size=300)
    model = TreeRegressor(max_leaf_nodes=3).fit(X, y)
    leaf = int(model.apply(X)[0])
    edited = model.tree_.with_leaf_value(leaf, 100.0)
    save(edited, tmp_path / "tree.json")
    for tree in (edited, load(tmp_path / "tree.json")):
        outcome = leaf_outcome(tree, leaf)
        assert outcome.observed == pytest.approx(y[model.apply(X) == leaf].mean())
        assert outcome.is_outside
        assert outcome.is_by_hand


@pytest.mark.parametrize("level", [0, 1, 95, True, "0.9"])
def test_a_level_out_of_range_is_refused(level) -> None:
    with pytest.raises(ParameterError, match=r"level=.* is out of range"):
        TreeClassifier(max_depth=1).fit(X, Y).predict_interval(X, level=level)


def test_the_interval_of_a_number_is_none_of_a_class() -> None:
    with pytest.raises(ParameterError, match="method='t' is unknown for classes: choose 'wilson'"):
        TreeClassifier(max_depth=1).fit(X, Y).predict_interval(X, method="t")


# -- one interval, wherever it is told --------------------------------------------------------------------


@pytest.fixture(scope="module", params=["weighted", "shrunk"])
def model(request: pytest.FixtureRequest) -> TreeClassifier:
    weight = RNG.random(300) ** 2 if request.param == "weighted" else None
    kind = "shrunk" if request.param == "shrunk" else "labels"
    return TreeClassifier(max_depth=2, min_samples_leaf=20, leaf_values=kind, cv=3).fit(X, Y, weight)


def test_drawings_explanations_rules_and_pages_tell_the_same_rate_and_interval(model) -> None:
    leaf = int(model.apply(X[:1])[0])
    low, high = (float(end[0, 1]) for end in model.predict_interval(X[:1]))
    outcome = leaf_outcome(model.tree_, leaf, "yes")
    assert low < outcome.observed < high
    assert outcome.interval == pytest.approx((low, high))
    fact = next(each for each in rule_facts(model.tree_, 1, "patient") if each["leaf"] == leaf)
    assert fact["interval"] == pytest.approx([low, high])
    assert f"{100 * outcome.observed:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)" in fact["sentence"]
    assert fact["prediction"] == f"{100 * model.predict_proba(X[:1])[0, 1]:.0f} %"
    assert fact["decision"] == model.predict(X[:1])[0]
    assert (
        NodeTexts.of(model.tree_, positive="yes").interval(leaf) == f"{100 * low:.0f}\u2013{100 * high:.0f} %"
    )
    rules = " ".join(model.rules(intervals=True, positive="yes").split())
    assert f"; observed {outcome.observed:.2f}, {low:.2f} to {high:.2f};" in rules


def test_a_drawn_mean_has_its_interval_and_one_row_none() -> None:
    y = X[:, 0] + RNG.normal(size=300)
    tree = TreeRegressor(max_depth=1).fit(X, y).tree_
    leaf = int(np.flatnonzero(tree.feature == -1)[0])
    low, high = node_interval(tree, leaf)
    assert NodeTexts.of(tree, decimals=2).support(leaf)[1] == f"{low:.2f} to {high:.2f}"
    alone = TreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0]).tree_
    assert NodeTexts.of(alone).support(1) == ("1 row", "few rows")


def test_nodes_are_worth_what_they_were_when_leaves_are_cut_away() -> None:
    model = TreeClassifier(max_depth=3).fit(X, Y, RNG.random(300) ** 2)
    cut = prune_at(model.tree_, model.tree_.parent == 0)
    assert cut.effective is not None
    assert np.array_equal(cut.effective[0], model.tree_.effective[0])
    assert len(cut.effective) == cut.n_nodes == 3


def test_the_order_of_rows_changes_no_digit_of_what_leaves_rest_on() -> None:
    weight, groups, turned = RNG.random(300), np.repeat(np.arange(100), 3), RNG.permutation(300)
    y = X[:, 0] + RNG.normal(size=300)
    rules = {"max_depth": 3, "criterion": "poisson"}
    one = TreeRegressor(**rules).fit(X, np.exp(y), weight, groups=groups).tree_
    other = (
        TreeRegressor(**rules).fit(X[turned], np.exp(y)[turned], weight[turned], groups=groups[turned]).tree_
    )
    assert np.array_equal(one.effective, other.effective)
    assert np.array_equal(one.deviation, other.deviation)
