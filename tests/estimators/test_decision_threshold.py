"""Losses, priors and thresholds of the estimators: what they predict, next to scikit-learn's choice."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

from holdfast import (
    AdaBoostClassifier,
    BaggingClassifier,
    BoostingClassifier,
    ForestClassifier,
    GrowthRules,
    StableTreeClassifier,
    TreeClassifier,
    TreeRegressor,
    explain_row,
    load,
    save,
    write_report,
)
from holdfast.errors import ParameterError
from holdfast.estimators.base import build_estimator

LOSSES = {("bad", "good"): 5.0}
SMALL: dict[str, tuple[Any, dict[str, Any]]] = {
    "tree": (TreeClassifier, {"min_samples_leaf": 8, "cv": 3}),
    "forest": (ForestClassifier, {"n_estimators": 5, "max_depth": 3, "cv": 3, "random_state": 0}),
    "bagging": (BaggingClassifier, {"n_estimators": 5, "max_depth": 3, "random_state": 0}),
    "boosting": (BoostingClassifier, {"n_estimators": 8, "cv": 3}),
    "stable": (
        StableTreeClassifier,
        {"method": "pruned", "n_estimators": 3, "max_depth": 3, "max_leaf_nodes": 6},
    ),
    "consensus": (StableTreeClassifier, {"n_estimators": 2, "max_depth": 3, "teacher": "forest"}),
}
every_model = pytest.mark.parametrize("name", SMALL)


@cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(240, 3)).round(2)
    return X, np.where(X[:, 0] + X[:, 1] + random.normal(size=240) > 1.3, "bad", "good")


@cache
def fitted(name: str, **given: Any) -> Any:
    kind, usual = SMALL[name]
    losses = {"loss_matrix": LOSSES} if given.pop("costly", False) else {}
    return build_estimator(kind, **usual, **losses, **given).fit(*rows())


def cost(truth: np.ndarray, told: np.ndarray) -> float:
    return float(np.where((truth == "bad") & (told == "good"), 5.0, truth != told).mean())


# -- predictions ------------------------------------------------------------------------------------------


@every_model
def test_the_class_of_least_expected_loss_is_predicted(name: str) -> None:
    model = fitted(name, costly=True)
    X, _ = rows()
    bad = model.predict_proba(X)[:, 0]
    clear = np.abs(bad - 1 / 6) > 1e-6
    assert (model.predict(X) == "bad")[clear].tolist() == (bad > 1 / 6)[clear].tolist()


@every_model
def test_the_rarer_class_is_predicted_from_the_threshold_on(name: str) -> None:
    model = fitted(name, threshold=0.3)
    X, _ = rows()
    assert model.decision_threshold_ == 0.3
    assert model.classes_[model.positive_class_] == "bad"
    bad = model.predict_proba(X)[:, 0]
    assert (model.predict(X) == "bad").tolist() == (bad >= 0.3).tolist()


@every_model
def test_probabilities_follow_the_priors(name: str) -> None:
    X, _ = rows()
    plain, equal = (
        fitted(name, **given).predict_proba(X)[:, 0].mean() for given in ({}, {"priors": (0.6, 0.4)})
    )
    assert equal > plain + 0.01 if name not in ("forest", "bagging") else equal != plain


@every_model
def test_a_file_predicts_the_same(name: str, tmp_path: Any) -> None:
    model = fitted(name, costly=True, threshold=0.25)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    X, _ = rows()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.decision_threshold_ == 0.25
    assert again.loss_matrix == LOSSES
    assert again.positive_class_ == model.positive_class_


def test_the_threshold_is_that_of_the_class_that_matters() -> None:
    X, y = rows()
    model = TreeClassifier(max_depth=3, positive="good", threshold=0.9).fit(X, y)
    assert (model.decision_threshold_, model.classes_[model.positive_class_]) == (0.9, "good")
    assert model.predict(X).tolist() == np.where(model.predict_proba(X)[:, 1] >= 0.9, "good", "bad").tolist()
    assert "good is predicted where its probability is at least 0.90." in str(model.tree_)


@every_model
def test_neither_risk_nor_class_goes_back_where_the_risk_may_only_rise(name: str) -> None:
    """With losses as without: only the class is decided otherwise."""
    kind, usual = SMALL[name]
    model = build_estimator(
        kind, **usual, loss_matrix=LOSSES, monotonic_cst=[1, 1, 0], monotonic_class="bad"
    ).fit(*rows())
    grid = np.linspace(-2.5, 2.5, 41)
    for other in (-1.0, 0.0, 0.7):
        for column in (0, 1):
            line = np.full((len(grid), 3), other)
            line[:, column] = grid
            assert (np.diff(model.predict_proba(line)[:, 0]) >= -1e-12).all()
            assert (np.diff((model.predict(line) == "bad").astype(int)) >= 0).all()


def test_other_constraints_hold_with_losses() -> None:
    X, y = rows()
    model = TreeClassifier(
        max_depth=4,
        loss_matrix=LOSSES,
        growth_rules=GrowthRules(
            excluded_features=[0], first_splits={"feature": 2, "threshold": 0.0}, feature_costs={1: 3.0}
        ),
    ).fit(X, y)
    assert model.tree_.feature[0] == 2
    assert 0 not in model.tree_.feature
    assert model.expected_cost_ > 0


def test_an_explanation_says_how_the_tree_decides() -> None:
    X, _ = rows()
    told = "bad is predicted where its probability is at least 0.17."
    model = fitted("tree", costly=True)
    assert told in " ".join(str(explain_row(model, X[0])).split())
    assert explain_row(model, X[0]).to_dict()["decides"] == told
    assert "decides" not in explain_row(fitted("tree"), X[0]).to_dict()


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_a_report_says_how_the_model_decides(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_report(fitted(name, costly=True), page)
    assert "bad is predicted where its probability is at least 0.17." in page.read_text("utf-8")


def test_a_probability_equal_to_the_threshold_reaches_it() -> None:
    X, y = [[1.0]] * 3 + [[2.0]] * 4, ["ill", "well", "well"] + ["well"] * 4
    model = TreeClassifier(threshold=1 / 3).fit(X, y)
    assert model.predict([[1.0], [2.0]]).tolist() == ["ill", "well"]


def test_a_loss_matrix_of_an_array_and_a_mapping_are_the_same() -> None:
    X, y = rows()
    by_array = TreeClassifier(min_samples_leaf=8, loss_matrix=np.array([[0, 5], [1, 0]])).fit(X, y)
    assert str(by_array.tree_) == str(TreeClassifier(min_samples_leaf=8, loss_matrix=LOSSES).fit(X, y).tree_)


def test_trees_that_vote_cast_their_votes_by_the_losses() -> None:
    X, y = rows()
    model = BaggingClassifier(n_estimators=5, max_depth=2, voting="hard", loss_matrix=LOSSES, random_state=0)
    votes = np.mean([tree.predict(X) == "bad" for tree in model.fit(X, y).ensemble_], axis=0)
    assert model.predict_proba(X)[:, 0].tolist() == pytest.approx(votes.tolist())
    assert (model.predict(X) == "bad").tolist() == (votes > 0.5).tolist()


def test_folds_choose_the_size_by_what_errors_cost() -> None:
    X, y = rows()
    model = TreeClassifier(ccp_alpha="cv", cv=3, loss_matrix=LOSSES).fit(X, y)
    assert model.size_table_.metric.name == "expected_loss"
    told = "bad" if (y == "bad").mean() * 5 > (y == "good").mean() else "good"
    root_alone = model.size_table_.metric.shown(float(model.size_table_.score[-1]))
    assert root_alone == pytest.approx(cost(y, np.full(len(y), told)), abs=0.02)


def test_with_priors_the_costs_of_folds_are_those_of_the_priors() -> None:
    X, y = rows()
    model = TreeClassifier(
        ccp_alpha="cv",
        cv=3,
        loss_matrix=LOSSES,
        growth_rules=GrowthRules(priors=[0.1, 0.9]),
        min_samples_leaf=20,
    )
    table = model.fit(X, y).size_table_
    # One leaf: to call all of them bad costs 0.9, and good 0.1 * 5.
    assert table.metric.shown(float(table.score[-1])) == pytest.approx(0.5, abs=0.02)


def test_growth_rules_say_losses_where_the_parameter_says_none() -> None:
    X, y = rows()
    rules = GrowthRules(loss_matrix=LOSSES, min_samples_leaf=8)
    by_rules = TreeClassifier(growth_rules=rules).fit(X, y)
    assert str(by_rules.tree_) == str(TreeClassifier(min_samples_leaf=8, loss_matrix=LOSSES).fit(X, y).tree_)
    own = TreeClassifier(growth_rules=rules, loss_matrix=np.array([[0, 1], [1, 0]])).fit(X, y)
    assert own.tree_.loss_matrix.tolist() == [[0.0, 1.0], [1.0, 0.0]]


# -- the threshold of least cost --------------------------------------------------------------------------


def test_on_the_same_folds_scikit_learn_finds_no_cheaper_threshold() -> None:
    X, y = rows()
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    model = TreeClassifier(min_samples_leaf=8, cv=folds, loss_matrix=LOSSES, threshold="cost").fit(X, y)
    plain = TreeClassifier(min_samples_leaf=8, loss_matrix=LOSSES)
    grid = np.append(np.linspace(0.01, 0.99, 99), model.decision_threshold_)
    scoring = make_scorer(lambda truth, told, pos_label: -cost(truth, told), pos_label="bad")
    theirs = TunedThresholdClassifierCV(
        plain, scoring=scoring, cv=folds, thresholds=np.sort(grid), store_cv_results=True
    ).fit(X, y)
    found = theirs.cv_results_
    ours = found["scores"][np.flatnonzero(found["thresholds"] == model.decision_threshold_)[0]]
    assert ours == pytest.approx(theirs.best_score_)


@pytest.mark.parametrize("name", ["tree", "forest", "bagging", "boosting"])
def test_a_threshold_is_chosen_by_cost(name: str) -> None:
    model = fitted(name, costly=True, threshold="cost")
    assert 0.02 < model.decision_threshold_ < 0.5


def test_a_stable_tree_keeps_its_threshold_as_it_moves_along_the_frontier_and_is_updated() -> None:
    X, y = rows()
    kind, usual = SMALL["consensus"]
    model = build_estimator(kind, **usual, threshold=0.2).fit(X, y)
    for moved in (model.choose("best-score"), model.update(X[:120], y[:120], strategy="refit")):
        bad = moved.predict_proba(X)[:, 0]
        assert (moved.predict(X) == "bad").tolist() == (bad >= 0.2).tolist()


def test_an_update_decides_as_the_deployed_tree_did_whoever_made_it() -> None:
    X, y = rows()
    deployed = TreeClassifier(max_depth=2, threshold=0.3).fit(X, y).tree_
    keeper = StableTreeClassifier(n_estimators=2, teacher="forest").from_tree(deployed)
    for how in ("refit", "nearest"):
        keeper.update(X[::2], y[::2], strategy=how, validation=None)
        told = keeper.predict_proba(X)[:, 0] >= 0.3 - 1e-6
        clear = np.abs(keeper.predict_proba(X)[:, 0] - 0.3) > 1e-6  # a leaf in between keeps its class
        assert (keeper.predict(X)[clear] == np.where(told, "bad", "good")[clear]).all()
        assert keeper.tree_.loss_matrix.tolist() == deployed.loss_matrix.tolist()


def test_fitting_again_without_a_threshold_forgets_it() -> None:
    X, y = rows()
    model = TreeClassifier(threshold=0.2, max_depth=1).fit(X, y).set_params(threshold=None).fit(X, y)
    assert not hasattr(model, "decision_threshold_")
    assert model.tree_.loss_matrix is None


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, 2, "costs", True, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold: Any) -> None:
    with pytest.raises(ParameterError, match=r"threshold=.*must lie between 0 and 1, or be 'cost' or None"):
        TreeClassifier(threshold=threshold).fit([[1.0], [2.0]], ["a", "b"])


@every_model
def test_a_threshold_of_three_classes_is_refused(name: str) -> None:
    kind, usual = SMALL[name]
    X, _ = rows()
    y = np.array(list("abc") * 80)
    with pytest.raises(ParameterError, match="is for two classes, and the target has 3: give a loss_matrix"):
        build_estimator(kind, **usual, threshold=0.3).fit(X, y)


def test_two_thresholds_are_refused() -> None:
    model = BaggingClassifier(voting="hard", vote_threshold=0.3, threshold=0.3)
    with pytest.raises(ParameterError, match=r"vote_threshold=0.3 and threshold=0.3"):
        model.fit(*rows())


@every_model
def test_priors_and_weights_of_classes_exclude_each_other(name: str) -> None:
    kind, usual = SMALL[name]
    with pytest.raises(ParameterError, match="both weigh the classes"):
        build_estimator(kind, **usual, priors=[0.5, 0.5], class_weight="balanced").fit(*rows())


@every_model
def test_unknown_classes_are_refused(name: str) -> None:
    kind, usual = SMALL[name]
    with pytest.raises(ParameterError, match="names 'ugly', but the classes of y are 'bad', 'good'"):
        build_estimator(kind, **usual, loss_matrix={("ugly", "good"): 2}).fit(*rows())


def test_a_learner_of_another_library_knows_no_losses() -> None:
    from sklearn.tree import DecisionTreeClassifier

    model = StableTreeClassifier(method="bootstrap", learner=DecisionTreeClassifier(), loss_matrix=LOSSES)
    with pytest.raises(ParameterError, match="are for trees of our own rules"):
        model.fit(*rows())


@pytest.mark.parametrize("kind", [TreeRegressor, AdaBoostClassifier])
def test_estimators_that_losses_mean_nothing_to_have_no_such_parameter(kind: Any) -> None:
    with pytest.raises(TypeError, match="loss_matrix"):
        kind(loss_matrix=LOSSES)
