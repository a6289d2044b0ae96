"""Values that go one way along a column, in every estimator, and through all that is done to a tree."""

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    BaggingClassifier,
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    GrowthRules,
    Table,
    TreeClassifier,
    TreeRegressor,
    grow,
    load,
    save,
)
from holdfast.errors import BrokenTreeError, EditError, ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.pruning import pruning_path
from holdfast.tree.check import check_tree
from holdfast.tree.monotone import Monotone, count_violations, enforce_monotonicity, find_ordered_pairs
from holdfast.tree.prune import prune_at
from holdfast.tree.tree import LEAF
from reference.constraints import best_ordered_cut, falls_along, isotonic

GRID = np.linspace(-3.5, 3.5, 57)


def patients(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n_rows).round(1),
            "dose": rng.normal(size=n_rows).round(1),
            "ward": rng.choice(list("abcd"), n_rows),
            "noise": rng.normal(size=n_rows),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    score = np.sin(3 * frame.age.fillna(0)) + frame.dose * frame.noise + (frame.ward == "a")
    return frame, np.asarray(score + rng.normal(size=n_rows) / 3)


FRAME, SCORE = patients()
RISK = np.where(SCORE > 0, "yes", "no")
LEVEL = np.digitize(SCORE, [-0.5, 0.5])
WEIGHT = np.random.default_rng(1).random(len(SCORE)) + 0.1


def falls(model, column="age", sign=1, k=None, tolerance=1e-12):
    def values(rows):
        own = model.predict(rows) if k is None else model.predict_proba(rows)[:, k]
        return sign * own

    return falls_along(values, FRAME.iloc[:120], column, GRID, tolerance)


CLASSIFIERS = [
    TreeClassifier(),
    TreeClassifier(criterion="entropy", max_leaf_nodes=12),
    TreeClassifier(criterion="gain_ratio", min_samples_leaf=3),
    TreeClassifier(growth_rules=GrowthRules(pruning_confidence=0.25), merge_leaves=True),
    TreeClassifier(ccp_alpha="cv", cv=3),
    TreeClassifier(splitter="random", random_state=0),
    TreeClassifier(reduced_error=0.3),
    ForestClassifier(n_estimators=5, random_state=0),
    BaggingClassifier(n_estimators=5, random_state=0, voting="hard"),
    BoostingClassifier(n_estimators=8, splits="exact"),
    BoostingClassifier(n_estimators=8, splits="binned", max_leaf_nodes=12, max_depth=None, leaf_steps=2),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: str(model)[:60])
def test_no_probability_falls_as_age_rises(model):
    model.set_params(monotonic_cst={"age": 1}).fit(FRAME, RISK, sample_weight=WEIGHT)
    assert falls(model, k=1) == 0


@pytest.mark.parametrize(
    "model",
    [
        TreeRegressor(),
        TreeRegressor(max_leaf_nodes=10),
        ForestRegressor(n_estimators=5, random_state=0),
        BoostingRegressor(n_estimators=8),
        BoostingRegressor(n_estimators=8, splits="binned"),
        BoostingRegressor(n_estimators=8, loss="absolute_error"),
    ],
    ids=lambda model: str(model)[:60],
)
def test_means_fall_along_one_column_and_rise_along_another(model):
    model.set_params(monotonic_cst={"age": -1, "noise": 1}).fit(FRAME, SCORE)
    assert falls(model, sign=-1) == 0
    assert falls(model, "noise") == 0


def test_rates_keep_to_a_direction():
    model = TreeRegressor(criterion="poisson", monotonic_cst={"age": 1}, min_samples_leaf=5)
    model.fit(FRAME, np.rint(np.exp(SCORE / 2)))
    assert falls(model) == 0
    assert model.tree_.n_leaves > 3


@pytest.mark.parametrize(
    "model",
    [
        TreeClassifier(max_leaf_nodes=20),
        ForestClassifier(n_estimators=5, random_state=0),
        BoostingClassifier(n_estimators=6),
    ],
    ids=lambda model: type(model).__name__,
)
def test_of_three_classes_one_is_named(model):
    options = {"monotonic_cst": {"age": 1}, "monotonic_class": 2}
    model = build_estimator(type(model), **{**model.get_params(), **options}).fit(FRAME, LEVEL)
    assert falls(model, k=2) == 0


def test_the_first_of_two_classes_can_be_meant():
    model = TreeClassifier(
        max_leaf_nodes=12, monotonic_cst={"age": 1}, growth_rules=GrowthRules(monotonic_class="no")
    ).fit(FRAME, RISK)
    assert falls(model, k=0) == 0


def test_ordered_categories_have_a_direction():
    grade = pd.Categorical(np.digitize(SCORE, [-1, 0, 1]), ordered=True)
    frame = FRAME.assign(grade=grade.rename_categories(["low", "fair", "good", "best"]))
    model = TreeRegressor(max_leaf_nodes=15, monotonic_cst={"grade": 1}).fit(frame, SCORE)
    assert count_violations(model.tree_) == 0
    assert "grade" in [model.tree_.schema.features[f].name for f in model.tree_.feature if f != LEAF]


def test_a_list_has_one_direction_per_column():
    named = TreeRegressor(max_leaf_nodes=9, monotonic_cst={"age": 1}).fit(FRAME, SCORE).tree_
    listed = TreeRegressor(max_leaf_nodes=9, monotonic_cst=np.array([1, 0, 0, 0])).fit(FRAME, SCORE).tree_
    assert str(named) == str(listed)


def test_the_class_goes_with_the_probability_where_two_are_tied():
    model = TreeClassifier(max_leaf_nodes=30, monotonic_cst={"age": 1}).fit(FRAME, RISK)
    assert falls_along(lambda rows: model.predict(rows) == "yes", FRAME.iloc[:200], "age", GRID) == 0


# -- against slow twins ---------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(6))
def test_the_first_two_levels_are_the_best_cuts_in_order(seed):
    rng = np.random.default_rng(seed)
    n_rows = 60 if seed % 2 else 300
    x = rng.integers(0, 12 if n_rows < 100 else 400, n_rows).astype(float)
    y = np.sin(x * 40 / x.max()) + rng.normal(size=n_rows) + x / x.max()
    weight = rng.integers(1, 4, n_rows).astype(float)
    table = Table.from_arrays(x[:, None], y, weight)
    tree = grow(table, GrowthRules("squared_error", max_depth=2, monotonic_cst=[1]))
    cut, _ = best_ordered_cut(x, y, weight, 1, -np.inf, np.inf)
    left = x <= cut
    assert (left == (x <= tree.threshold[0])).all()
    means = [np.average(y[side], weights=weight[side]) for side in (left, ~left)]
    middle = (means[0] + means[1]) / 2
    for side, node, bounds in (
        (left, tree.left[0], (-np.inf, middle)),
        (~left, tree.right[0], (middle, np.inf)),
    ):
        own, _ = best_ordered_cut(x[side], y[side], weight[side], 1, *bounds)
        if np.isnan(own):
            assert tree.feature[node] == LEAF
        else:
            assert ((x[side] <= own) == (x[side] <= tree.threshold[node])).all()


@pytest.mark.kernel
def test_leaves_out_of_order_become_the_nearest_that_are_in_order():
    rng = np.random.default_rng(3)
    x = np.arange(40.0)
    y = rng.normal(size=40) + x / 30
    tree = grow(Table.from_arrays(x[:, None], y), GrowthRules("squared_error", max_leaf_nodes=14))
    leaves = tree.feature == LEAF  # in preorder: from the lowest to the highest
    ordered = enforce_monotonicity(tree.replace(monotone=Monotone((("x0", 1),))))
    expected = isotonic(tree.value[leaves, 0], tree.weight[leaves])
    np.testing.assert_allclose(ordered.value[leaves, 0], expected, atol=1e-9)


def test_large_trees_are_bounded_from_the_root_down():
    frame, score = patients(3000, seed=5)
    tree = TreeRegressor(monotonic_cst={"age": 1, "noise": -1}).fit(frame, score).tree_
    assert tree.n_leaves > 300
    assert count_violations(tree) == 0


# -- what is done to a tree -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown():
    table = Table.from_arrays(FRAME, RISK)
    return table, grow(table, GrowthRules(max_leaf_nodes=25, monotonic_cst={"age": 1}))


def test_leaves_refitted_to_other_rows_stay_in_order(grown):
    _, tree = grown
    frame, score = patients(300, seed=9)
    later = Table.from_arrays(frame, np.where(score < 0, "yes", "no"), schema=tree.schema)
    assert count_violations(refit_leaf_values(tree, later, GrowthRules())) == 0


def test_every_subtree_stays_in_order(grown):
    _, tree = grown
    assert all(
        count_violations(prune_at(tree, np.arange(tree.n_nodes) == node)) == 0 for node in range(tree.n_nodes)
    )
    assert all(count_violations(each) == 0 for each in pruning_path(tree))


def test_an_edited_question_leaves_values_in_order_and_a_value_must_keep_it(grown):
    table, tree = grown
    node = next(
        node for node in range(tree.n_nodes) if tree.schema.features[tree.feature[node]].name == "age"
    )
    assert count_violations(tree.edit(table).with_threshold(node, 0.05).tree) == 0
    leaves, (lower, upper) = (
        np.flatnonzero(tree.feature == LEAF),
        find_ordered_pairs(tree, np.array([1, 0, 0, 0])),
    )
    pair = np.flatnonzero(tree.value[leaves[upper], 1] < 1.0)[0]
    with pytest.raises(EditError, match="violates the monotone constraints on 'age'"):
        tree.with_leaf_value(int(leaves[lower[pair]]), {"no": 0.0, "yes": 1.0})


def test_a_file_keeps_the_promise_and_a_broken_one_is_refused(grown, tmp_path):
    _, tree = grown
    save(tree, tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").monotone == tree.monotone == Monotone((("age", 1),), "yes")
    with pytest.raises(BrokenTreeError, match="pairs of leaves are out of order"):
        check_tree(tree.replace(monotone=Monotone((("age", -1),), "yes"), given_outcome=None))
    for promise in (
        Monotone((("ward", 1),), "yes"),
        Monotone((("age", 2),), "yes"),
        Monotone((("age", 1),), "no!"),
    ):
        with pytest.raises(BrokenTreeError, match="monotone"):
            check_tree(tree.replace(monotone=promise))


def test_a_model_that_is_loaded_has_its_constraints(tmp_path):
    model = TreeClassifier(
        max_leaf_nodes=5,
        monotonic_cst={"age": 1},
        growth_rules=GrowthRules(interaction_cst=[{"age", "dose"}], excluded_features=["ward"]),
    )
    save(model.fit(FRAME, RISK), tmp_path / "model.json")
    parameters = load(tmp_path / "model.json").get_params()
    assert parameters["monotonic_cst"] == {"age": 1}
    assert parameters["growth_rules"] == model.growth_rules


# -- what cannot be -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"monotonic_cst": {"ward": 1}}, "'ward', whose categories have no order"),
        ({"monotonic_cst": {"height": 1}}, "names 'height', which is no column"),
        ({"monotonic_cst": {"age": 2}}, "'age' is 2: it must be 1"),
        ({"monotonic_cst": [1, 0]}, "has 2 numbers and the data 4 columns"),
        ({"monotonic_cst": "auto"}, "neither a dictionary"),
        ({"monotonic_cst": {9: 1}}, "column 9, and the columns are 0 to 3"),
        ({"monotonic_cst": {"age": 1}, "monotonic_class": "maybe"}, "'maybe' is no class"),
        ({"monotonic_class": "yes"}, "names the class of monotonic_cst, which is not given"),
        (
            {"monotonic_cst": {"age": 1}, "custom_features": ["age > 0 and dose > 0"]},
            "the custom feature 'age > 0",
        ),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        build_estimator(TreeClassifier, **parameters).fit(FRAME, RISK)


def test_three_classes_need_a_name():
    with pytest.raises(ParameterError, match="Name one: monotonic_class=2"):
        TreeClassifier(monotonic_cst={"age": 1}).fit(FRAME, LEVEL)


def test_numbers_have_no_class():
    rules = GrowthRules("squared_error", monotonic_cst={"age": 1}, monotonic_class="yes")
    with pytest.raises(ParameterError, match="the target 'y' is a number"):
        grow(Table.from_arrays(FRAME, SCORE), rules)
