"""What may be asked: where, together, first and at what cost."""

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    BaggingClassifier,
    BoostingRegressor,
    ForestClassifier,
    GrowthRules,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    TreeRegressor,
    grow,
)
from holdfast.errors import ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.tree.monotone import count_violations
from holdfast.tree.tree import LEAF
from reference.constraints import paths_of

RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(size=N).round(1),
        "dose": RNG.normal(size=N).round(2),
        "mri": RNG.normal(size=N),
        "ward": RNG.choice(list("abc"), N),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "age"] = np.nan
SCORE = np.asarray(
    FRAME.age.fillna(0) * FRAME.dose + 2 * FRAME.mri + (FRAME.ward == "a") + RNG.normal(size=N) / 3
)
RISK = np.where(SCORE > 0, "yes", "no")
GROUPS = [{"age", "dose"}, {"mri", "ward"}]


def trees_of(model):
    return [model.tree_] if hasattr(model, "tree_") else list(model.ensemble_)


def names_on_paths(tree):
    return [[tree.schema.names[feature] for feature in path] for path in paths_of(tree)]


SINGLE = TreeClassifier(min_samples_leaf=5)
FOREST = ForestClassifier(n_estimators=4, random_state=0, min_samples_leaf=3)
EXTRA = TreeClassifier(splitter="random", random_state=0)
RATIO = TreeClassifier(criterion="gain_ratio")
EXACT = BoostingRegressor(n_estimators=4, max_depth=4, splits="exact")
BINNED = BoostingRegressor(n_estimators=4, max_depth=4, splits="binned")
MODELS = [SINGLE, FOREST, EXTRA, RATIO, EXACT, BINNED]


def fitted(model, **parameters):
    model = build_estimator(type(model), **{**model.get_params(), **parameters})
    return model.fit(FRAME, SCORE if isinstance(model, BoostingRegressor) else RISK)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:50])
def test_what_stands_on_a_path_is_in_one_group(model):
    for tree in trees_of(fitted(model, interaction_cst=GROUPS)):
        assert tree.n_leaves > 2
        assert all(any(set(path) <= group for group in GROUPS) for path in names_on_paths(tree))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:50])
@pytest.mark.parametrize(("word", "most"), [("no_interactions", 1), ("pairwise", 2)])
def test_so_many_different_columns_stand_on_a_path(model, word, most):
    paths = [path for tree in trees_of(fitted(model, interaction_cst=word)) for path in names_on_paths(tree)]
    assert max(len(set(path)) for path in paths) == most


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:50])
def test_what_is_forbidden_is_not_asked_or_not_before_its_depth(model):
    for tree in trees_of(fitted(model, excluded_features={"mri": 2, "ward": None})):
        for path in names_on_paths(tree):
            assert "ward" not in path
            assert "mri" not in path[:2]


def test_columns_in_no_group_make_one_more():
    tree = fitted(SINGLE, interaction_cst=[["mri"]]).tree_
    assert all(set(path) <= {"mri"} or "mri" not in path for path in names_on_paths(tree))


def test_columns_are_meant_by_position_too():
    by_name = fitted(SINGLE, excluded_features=["mri"], interaction_cst=[["age", "dose"]]).tree_
    assert str(by_name) == str(fitted(SINGLE, excluded_features=[2], interaction_cst=[[0, 1]]).tree_)


# -- first splits ---------------------------------------------------------------------------------------

TOP = {
    "feature": "age",
    "threshold": 0.123,
    "missing_left": True,
    "right": {"feature": "ward", "categories": ["a", "c"]},
}


@pytest.mark.parametrize("model", [SINGLE, FOREST, EXTRA, RATIO], ids=lambda model: str(model)[:50])
def test_the_tree_begins_as_prescribed_and_goes_on_by_itself(model):
    for tree in trees_of(fitted(model, first_splits=TOP)):
        right = tree.right[0]
        assert (tree.schema.names[tree.feature[0]], tree.threshold[0], tree.missing_left[0]) == (
            "age",
            0.123,
            True,
        )
        assert tree.schema.names[tree.feature[right]] == "ward"
        assert tree.left_categories(right).tolist() == [True, False, True]
        assert tree.n_leaves > 4


def test_a_list_of_splits_and_a_tree_prescribe_the_same():
    nodes = [{**TOP, "right": 1}, TOP["right"]]
    tree = fitted(SINGLE, first_splits=TOP).tree_
    assert str(fitted(SINGLE, first_splits=nodes).tree_) == str(tree)
    assert str(fitted(SINGLE, first_splits=tree).tree_) == str(tree)


def test_a_top_takes_part_of_the_leaves_that_there_may_be():
    tree = fitted(TreeClassifier(max_leaf_nodes=3), first_splits=TOP).tree_
    assert [tree.schema.names[feature] for feature in tree.feature if feature != LEAF] == ["age", "ward"]


def test_directions_hold_below_a_prescribed_top():
    table = Table.from_arrays(FRAME, SCORE)
    top = {"feature": "mri", "threshold": 0.5}
    rules = GrowthRules("squared_error", max_leaf_nodes=20, monotonic_cst={"mri": -1}, first_splits=top)
    assert count_violations(grow(table, rules)) == 0


# -- costs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SINGLE, FOREST, RATIO, EXACT, BINNED], ids=lambda model: str(model)[:50])
def test_a_dear_column_is_asked_less(model):
    def share(**parameters):
        paths = [path for tree in trees_of(fitted(model, **parameters)) for path in names_on_paths(tree)]
        return np.mean(["mri" in path for path in paths])

    assert share(feature_costs={"mri": 1000.0}) < share() == pytest.approx(1.0, abs=0.4)


def test_the_split_of_most_gain_per_cost_is_made():
    x = np.array([[0, 0], [0, 1], [0, 1], [1, 1], [1, 1], [1, 0]], float)
    y = np.array([0, 1, 0, 1, 1, 1]) + 0.5
    table = Table.from_arrays(x, y)  # x0 gains 4/3 - 2/3, x1 gains 4/3 - 5/4: an eighth
    for cost, feature in ((1.0, 0), (7.9, 0), (8.1, 1)):
        rules = GrowthRules("squared_error", max_depth=1, feature_costs={0: cost})
        assert grow(table, rules).feature[0] == feature


def test_what_is_paid_for_is_cheap_further_down():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(400, 2))
    table = Table.from_arrays(x, np.floor(4 * x[:, 0]) + 0.3 * (x[:, 1] > 0.5))
    rules = GrowthRules("squared_error", max_leaf_nodes=4, feature_costs={0: 8.0})
    assert set(grow(table, rules).feature.tolist()) == {0, LEAF}


# -- stable trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"monotonic_cst": {"age": 1, "dose": -1}},
        {"interaction_cst": GROUPS, "excluded_features": {"mri": 1}},
        {"first_splits": TOP},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_stable_trees_keep_to_all_of_it(parameters):
    usual = {"max_leaf_nodes": 7, "n_estimators": 6, "validation": None, "teacher": "forest"}
    model = build_estimator(StableTreeClassifier, **usual, **parameters)
    tree = model.fit(FRAME, RISK).tree_
    if "monotonic_cst" in parameters:
        assert tree.monotone is not None
        assert count_violations(tree) == 0
    elif "first_splits" in parameters:
        assert tree.threshold[0] == 0.123
        assert tree.schema.names[tree.feature[tree.right[0]]] == "ward"
    else:
        for path in names_on_paths(tree):
            assert any(set(path) <= group for group in GROUPS)
            assert path[:1] != ["mri"]


# -- what cannot be -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"interaction_cst": [["age", "height"]]}, "'height', which is no column"),
        ({"interaction_cst": "all"}, "a list of sets of columns, 'pairwise'"),
        ({"interaction_cst": ["age"]}, "a list of sets of columns"),
        ({"excluded_features": "age"}, "a list of columns"),
        ({"excluded_features": {"age": 0}}, "'age' is 0: it must be the number of splits"),
        ({"excluded_features": ["age", "dose", "mri", "ward"]}, "leaves nothing to split on"),
        ({"feature_costs": {"age": 0.0}}, "'age' is 0.0: it must be a positive number"),
        ({"feature_costs": {"age": -2}}, "'age' is -2: it must be a positive number"),
        ({"feature_costs": {"height": 2}}, "'height', which is no column"),
        ({"feature_costs": [1, 2]}, "must be a dictionary"),
        ({"first_splits": {"feature": "height", "threshold": 2}}, "'height', which is no column"),
        ({"first_splits": {"feature": "age"}}, "give one of the two"),
        ({"first_splits": {"feature": "age", "threshold": 99}}, "all of them go to one side"),
        ({"first_splits": {"feature": "age", "categories": ["a"]}}, "give a threshold"),
        ({"first_splits": {"feature": "ward", "categories": ["z"]}}, "its categories are 'a', 'b', 'c'"),
        ({"first_splits": {"feature": "ward", "threshold": 2}}, "a list of the categories"),
        ({"first_splits": []}, "is no split"),
        ({"first_splits": [{**TOP, "right": 3}, TOP["right"]]}, "as children \\[3\\]"),
        ({"first_splits": TOP, "excluded_features": ["ward"]}, "excluded_features does not allow it there"),
        ({"first_splits": TOP, "interaction_cst": GROUPS}, "interaction_cst does not allow them together"),
        ({"first_splits": TOP, "max_depth": 1}, "max_depth=1 leaves no room"),
        ({"first_splits": TOP, "max_leaf_nodes": 2}, "max_leaf_nodes=2 leaves no room"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(parameters, message):
    with pytest.raises(ParameterError, match=message):
        build_estimator(TreeClassifier, **parameters).fit(FRAME, RISK)


def test_a_question_waits_for_the_columns_that_it_reads():
    model = TreeRegressor(
        custom_features=["mri > 0 and dose > 0"],
        growth_rules=GrowthRules(excluded_features={"mri": 1}),
        max_depth=2,
    )
    assert all("mri" not in path[0] for path in names_on_paths(model.fit(FRAME, SCORE).tree_))


def test_votes_among_three_classes_promise_nothing():
    model = BaggingClassifier(
        n_estimators=2, voting="hard", monotonic_cst={"age": 1}, growth_rules=GrowthRules(monotonic_class=1)
    )
    with pytest.raises(ParameterError, match="set voting='soft'"):
        model.fit(FRAME, np.digitize(SCORE, [-1, 1]))


def test_the_learner_of_another_library_knows_no_constraints():
    from sklearn.tree import DecisionTreeClassifier

    model = StableTreeClassifier(
        method="bootstrap",
        learner=DecisionTreeClassifier(),
        growth_rules=GrowthRules(excluded_features=["ward"]),
    )
    with pytest.raises(ParameterError, match="or the learner"):
        model.fit(FRAME, RISK)


def test_an_update_keeps_the_directions():
    options = {"max_leaf_nodes": 6, "n_estimators": 5, "validation": None, "teacher": "forest"}
    model = build_estimator(StableTreeClassifier, monotonic_cst={"age": 1, "mri": 1}, **options).fit(
        FRAME, RISK
    )
    later = np.where(np.arange(N) % 3, RISK, np.where(FRAME.mri > 0, "no", "yes"))
    model.update(FRAME, later)
    assert model.tree_.monotone is not None
    assert count_violations(model.tree_) == 0
