"""Trees whose size the parameters, or rows held out, choose."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.tree import DecisionTreeClassifier

from holdfast import (
    C45,
    CART,
    GrowthRules,
    ParameterError,
    SizeSearch,
    StableTreeClassifier,
    StableTreeRegressor,
    Table,
    Tree,
    TreeClassifier,
    TreeRegressor,
    choose_size,
    grow,
    prune,
)
from holdfast.estimators.base import build_estimator

X, Y = load_breast_cancer(return_X_y=True)
PROGRESS, PROGRESSION = load_diabetes(return_X_y=True)
pytestmark = pytest.mark.filterwarnings("ignore:no tree can split")


def same(one: Tree, other: Tree) -> bool:
    return (
        np.array_equal(one.feature, other.feature)
        and np.array_equal(one.threshold, other.threshold, equal_nan=True)
        and np.array_equal(one.value, other.value)
    )


# -- growth rules ---------------------------------------------------------------------------------------


def test_ready_rules_grow_the_tree_that_grow_grows() -> None:
    assert same(TreeClassifier(growth_rules=C45).fit(X, Y).tree_, grow(Table.from_arrays(X, Y), C45))


def test_a_parameter_that_was_set_comes_before_the_ready_rules() -> None:
    model = TreeClassifier(growth_rules=C45, max_depth=2, min_samples_leaf=20).fit(X, Y)
    expected = grow(Table.from_arrays(X, Y), replace(C45, max_depth=2, min_samples_leaf=20))
    assert same(model.tree_, expected)


def test_rules_about_classes_are_refused_for_numbers() -> None:
    with pytest.raises(ParameterError, match="gain_ratio"):
        TreeRegressor(growth_rules=C45).fit(PROGRESS, PROGRESSION)
    rules = GrowthRules("squared_error", pruning_confidence=0.25)
    with pytest.raises(ParameterError, match=r"pruning_confidence=0\.25 is for classification"):
        TreeRegressor(growth_rules=rules).fit(PROGRESS, PROGRESSION)
    with pytest.raises(ParameterError, match="merge_leaves=True is for classification"):
        TreeRegressor(growth_rules=GrowthRules(merge_leaves=True)).fit(PROGRESS, PROGRESSION)


def test_what_is_no_rules_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"growth_rules must be .*, got 'C4\.5'"):
        TreeClassifier(growth_rules="C4.5").fit(X, Y)


def test_features_drawn_by_ready_rules_follow_the_random_state() -> None:
    rules = GrowthRules(max_features=1, max_depth=2)
    roots = {
        TreeClassifier(growth_rules=rules, random_state=seed).fit(X, Y).tree_.feature[0] for seed in range(8)
    }
    assert len(roots) > 1


def test_the_chosen_value_gives_the_tree_back() -> None:
    for parameter in ("ccp_alpha", "max_depth", "max_leaf_nodes"):
        model = TreeClassifier(**{parameter: "cv"}).fit(X, Y)
        again = TreeClassifier(**{parameter: getattr(model, f"{parameter}_")}).fit(X, Y)
        assert same(model.tree_, again.tree_)


def test_counts_are_scored_by_their_deviance() -> None:
    counts = np.random.default_rng(0).poisson(np.exp(PROGRESS[:, 2] * 20))
    model = TreeRegressor(criterion="poisson", ccp_alpha="cv").fit(PROGRESS, counts)
    assert model.size_table_.metric.name == "poisson"
    assert "mean mean" not in repr(model.size_table_)


def test_stable_trees_keep_the_least_leaf_of_ready_rules() -> None:
    model = StableTreeClassifier(
        method="bootstrap", growth_rules=GrowthRules(min_samples_leaf=40), n_estimators=10
    ).fit(X, Y)
    sizes = {combination["min_samples_leaf"] for combination in model.trained_.candidates.combinations}
    assert sizes == {50}
    model = StableTreeClassifier(
        method="bootstrap", growth_rules=GrowthRules(min_samples_leaf=90), n_estimators=10
    ).fit(X, Y)
    assert {each["min_samples_leaf"] for each in model.trained_.candidates.combinations} == {90}


def test_rules_print_what_they_change() -> None:
    assert repr(CART) == "GrowthRules()"
    assert repr(GrowthRules("entropy", max_depth=3)) == "GrowthRules(criterion='entropy', max_depth=3)"


# -- the size -------------------------------------------------------------------------------------------


def test_a_given_alpha_prunes_as_scikit_learn_does() -> None:
    for alpha in (0.002, 0.01, 0.05):
        ours = TreeClassifier(ccp_alpha=alpha).fit(X, Y)
        theirs = DecisionTreeClassifier(ccp_alpha=alpha, random_state=0).fit(X, Y)
        assert ours.get_n_leaves() == theirs.get_n_leaves()


def test_the_risk_of_an_alpha_can_be_that_of_errors() -> None:
    table = Table.from_arrays(X, Y)
    by_errors = TreeClassifier(ccp_alpha=0.01, growth_rules=GrowthRules(ccp_risk="misclassification")).fit(
        X, Y
    )
    assert same(by_errors.tree_, prune(grow(table), 0.01, "misclassification"))
    assert by_errors.get_n_leaves() != TreeClassifier(ccp_alpha=0.01).fit(X, Y).get_n_leaves()


def test_the_pruning_path_is_that_of_scikit_learn() -> None:
    ours = TreeClassifier().cost_complexity_pruning_path(X, Y)
    theirs = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, Y)
    assert ours.ccp_alphas == pytest.approx(theirs.ccp_alphas, abs=1e-12)
    assert ours.impurities == pytest.approx(theirs.impurities, abs=1e-12)
    assert ours.n_leaves[[0, -1]].tolist() == [22, 1]


def test_the_pruning_path_is_that_of_the_whole_tree_where_a_size_is_to_be_chosen() -> None:
    whole = TreeClassifier().cost_complexity_pruning_path(X, Y)
    for name, value in (
        ("ccp_alpha", "cv"),
        ("max_depth", "cv"),
        ("max_leaf_nodes", "cv"),
        ("ccp_alpha", 0.1),
    ):
        path = TreeClassifier(**{name: value}).cost_complexity_pruning_path(X, Y)
        assert path.ccp_alphas.tolist() == whole.ccp_alphas.tolist()


@pytest.mark.parametrize("rule", ["cv", "cv-1se"])
@pytest.mark.parametrize("parameter", ["ccp_alpha", "max_depth", "max_leaf_nodes"])
def test_a_size_is_chosen_as_choose_size_does(parameter: str, rule: str) -> None:
    model = TreeClassifier(**{parameter: rule}, cv=5, scoring="accuracy").fit(X, Y)
    evidence = SizeSearch(rule, 5, "accuracy")  # type: ignore[arg-type]
    tree, sizes = choose_size(Table.from_arrays(X, Y), CART, parameter, search=evidence)  # type: ignore[arg-type]
    assert same(model.tree_, tree)
    assert model.size_table_.scores.tolist() == sizes.scores.tolist()
    assert hasattr(model, "ccp_alpha_") == (parameter == "ccp_alpha")


def test_without_a_random_state_the_tree_is_the_same_each_time_and_in_any_order_of_the_rows() -> None:
    shuffled = np.random.default_rng(0).permutation(len(X))
    one, two = (
        TreeClassifier(ccp_alpha="cv").fit(X, Y),
        TreeClassifier(ccp_alpha="cv").fit(X[shuffled], Y[shuffled]),
    )
    assert same(one.tree_, two.tree_)
    assert one.size_table_.scores.tolist() == two.size_table_.scores.tolist()


def test_threads_change_nothing() -> None:
    one, two = (TreeClassifier(ccp_alpha="cv", n_jobs=n).fit(X, Y) for n in (1, 2))
    assert one.size_table_.scores.tolist() == two.size_table_.scores.tolist()


def test_rows_of_one_group_are_held_out_together() -> None:
    # Every patient comes ten times over with an own label: only rows of other patients tell what is chance.
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(60), 10)
    rows = rng.normal(size=(60, 4))[patients]
    labels = rng.integers(0, 2, 60)[patients]
    grouped = TreeClassifier(ccp_alpha="cv", cv=5).fit(rows, labels, groups=patients)
    assert grouped.size_table_.score.max() < 0.75
    by_splitter = TreeClassifier(ccp_alpha="cv", cv=GroupKFold(5)).fit(rows, labels, groups=patients)
    assert by_splitter.size_table_.score.max() < 0.75


def test_reduced_error_pruning_makes_a_smaller_tree_with_values_of_all_rows() -> None:
    model = TreeClassifier(reduced_error=0.3).fit(X, Y)
    assert 1 < model.get_n_leaves() < TreeClassifier().fit(X, Y).get_n_leaves()
    assert model.tree_.count[0] == len(X)
    shuffled = np.random.default_rng(0).permutation(len(X))
    assert same(model.tree_, TreeClassifier(reduced_error=0.3).fit(X[shuffled], Y[shuffled]).tree_)


def test_numbers_have_sizes_too() -> None:
    model = TreeRegressor(ccp_alpha="cv").fit(PROGRESS, PROGRESSION)
    assert 1 < model.get_n_leaves() < 30
    assert model.size_table_.metric.name == "r2"
    assert TreeRegressor(reduced_error=0.3).fit(PROGRESS, PROGRESSION).get_n_leaves() < 100
    counts = np.random.default_rng(0).poisson(np.exp(PROGRESS[:, 2] * 20))
    model = TreeRegressor(criterion="poisson", ccp_alpha="cv-1se", scoring="poisson").fit(PROGRESS, counts)
    assert 1 < model.get_n_leaves() < 50


def test_a_refit_forgets_the_sizes_of_the_fit_before() -> None:
    model = TreeClassifier(ccp_alpha="cv").fit(X, Y)
    model.set_params(ccp_alpha=0.01).fit(X, Y)
    assert not hasattr(model, "size_table_")
    assert not hasattr(model, "ccp_alpha_")


def test_a_model_with_a_chosen_size_can_be_cloned_and_searched() -> None:
    model = clone(TreeClassifier(ccp_alpha="cv", growth_rules=C45))
    search = GridSearchCV(model, {"scoring": ["auc", "accuracy"]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.85


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ccp_alpha": "best"}, "ccp_alpha='best' is unknown: give a number, 'cv' or 'cv-1se'"),
        ({"ccp_alpha": -0.1}, "ccp_alpha=-0.1 is out of range"),
        ({"ccp_alpha": float("nan")}, "ccp_alpha=nan is out of range"),
        ({"ccp_alpha": "cv", "max_depth": "cv"}, "ccp_alpha='cv' and max_depth='cv' each choose the size"),
        ({"max_depth": "cv", "reduced_error": 0.3}, "each choose the size"),
        ({"reduced_error": 1.5}, "reduced_error=1.5 is out of range"),
        ({"ccp_alpha": "cv", "cv": 1}, "cv=1 is out of range"),
        ({"ccp_alpha": "cv", "cv": 1.5}, "cv=1.5 is out of range"),
        ({"ccp_alpha": "cv", "cv": "ten"}, "cv='ten' does not define folds"),
        ({"ccp_alpha": "cv", "cv": []}, "cv has no folds"),
        ({"ccp_alpha": "cv", "scoring": "r2"}, "scoring='r2' is for numbers"),
        ({"pruning_confidence": 0.0}, "pruning_confidence=0.0 is out of range"),
        ({"pruning_confidence": 1.5}, "pruning_confidence=1.5 is out of range"),
        ({"threshold_cost": True}, "threshold_cost=True is for criterion='gain_ratio'"),
        ({"ccp_risk": "deviance", "ccp_alpha": 0.1}, "risk='deviance' is not one for classes"),
        ({"merge_leaves": "yes"}, "merge_leaves='yes' is not a bool"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        build_estimator(TreeClassifier, **parameters).fit(X, Y)


# -- size and stability ---------------------------------------------------------------------------------


def test_pruned_candidates_are_the_subtrees_of_the_tree_of_all_rows() -> None:
    model = StableTreeClassifier(method="pruned", n_estimators=40).fit(X, Y)
    whole = TreeClassifier(max_depth=5).fit(X, Y).tree_
    leaves = [tree.n_leaves for tree in model.candidate_trees_]
    assert leaves[0] == whole.n_leaves
    assert leaves[-1] == 1
    assert leaves == sorted(leaves, reverse=True)
    for tree, combination in zip(model.candidate_trees_, model.trained_.candidates.combinations, strict=True):
        assert same(tree, prune(whole, combination["ccp_alpha"])) or combination["ccp_alpha"] == 0.0


def test_the_scores_of_pruned_candidates_come_from_rows_held_out() -> None:
    noise = np.random.default_rng(0).normal(size=(300, 5))
    labels = np.random.default_rng(1).integers(0, 2, 300)
    model = StableTreeClassifier(method="pruned", n_estimators=40).fit(noise, labels)
    assert model.frontier_.score.max() < 0.6
    assert TreeClassifier(max_depth=5).fit(noise, labels).score(noise, labels) > 0.65


def test_pruned_candidates_can_be_chosen_from_like_others() -> None:
    model = StableTreeRegressor(method="pruned", n_estimators=30).fit(PROGRESS, PROGRESSION)
    chosen = model.get_n_leaves()
    assert model.choose("best-score").get_n_leaves() >= chosen
    assert 1 <= model.choose("most-stable").get_n_leaves() <= chosen


def test_candidates_of_another_kind_are_refused() -> None:
    with pytest.raises(ParameterError, match="method='grown' is unknown"):
        StableTreeClassifier(method="grown").fit(X, Y)
    with pytest.raises(ParameterError, match="leave learner=None"):
        StableTreeClassifier(method="pruned", learner=DecisionTreeClassifier()).fit(X, Y)


def test_stable_trees_grow_by_the_rules_of_c45() -> None:
    frame = pd.DataFrame(X[:, :6])
    frame.columns = [f"c{place}" for place in frame.columns]
    model = StableTreeClassifier(method="bootstrap", growth_rules=C45, n_estimators=20).fit(frame, Y)
    assert {tree.criterion for tree in [*model.reference_trees_, *model.candidate_trees_]} == {"gain_ratio"}
    assert model.score(frame, Y) > 0.85
