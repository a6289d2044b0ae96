"""Explanations of rows: by hand, and counterfactuals against all rows of a grid."""

import json
from collections.abc import Mapping
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdfast import (
    DensityTree,
    ForestClassifier,
    StableTreeClassifier,
    TreeClassifier,
    TreeRegressor,
    explain_row,
)
from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.errors import DataError, HoldfastError, ParameterError, SchemaMismatch
from holdfast.explain.split_support import split_support
from holdfast.scoring.intervals import wilson_interval
from holdfast.tree.stats import keep_own_counts
from holdfast.tree.tree import Tree
from reference.random_trees import random_tree
from reference.trees import SURVIVED, leaf, split, tree_of

AGE = Feature("age", low=18.0, high=90.0)
DOSE = Feature("dose", low=0.0, high=2.5)
WARD = Feature("ward", "nominal", categories=("A", "B", "C"))
PAIN = Feature("pain", "ordered", low=0.0, high=2.0, categories=("none", "mild", "strong"))
OLD = Feature("age > 60 and ward == 'B'", "custom", categories=(False, True))

# age <= 50.5 ? (ward in {A, B} ? no : yes) : (dose <= 1.234 ? yes : (pain at most none ? no : yes))
TREE = tree_of(
    split(
        "age",
        50.5,
        split("ward", ("A", "B"), leaf(40, 0.9, 0.1), leaf(10, 0.2, 0.8)),
        split("dose", 1.234, leaf(30, 0.1, 0.9), split("pain", 0.5, leaf(20, 1.0, 0.0), leaf(5, 0.4, 0.6))),
        missing_left=True,
    ),
    (AGE, DOSE, WARD, PAIN),
    SURVIVED,
)
ROW = {"age": 48, "dose": 1.0, "ward": "A", "pain": "mild"}


def predicted(tree: Tree, row: Mapping[str, Any]) -> Any:
    frame = pd.DataFrame({name: [value] for name, value in row.items()})
    return tree.predict(frame)[0]


# -- the path ---------------------------------------------------------------------------------------------


def test_the_path_says_condition_value_and_distance_from_each_threshold() -> None:
    found = explain_row(TREE, {**ROW, "age": 70})
    age, dose = found.steps
    assert (age.condition, age.value, age.answer, age.threshold) == ("age > 50.5", 70, False, 50.5)
    assert (age.distance, age.share) == (19.5, 19.5 / 72)
    assert (dose.condition, dose.answer) == ("dose <= 1.234", True)
    assert dose.distance == pytest.approx(0.234)
    assert dose.share == pytest.approx(0.234 / 2.5)


def test_the_outcome_is_that_of_the_leaf_with_count_and_interval() -> None:
    outcome = explain_row(TREE, ROW).outcome
    assert (outcome.prediction, outcome.label, outcome.n_rows) == ("no", "yes", 40)
    assert outcome.count == pytest.approx(4)
    assert outcome.interval == pytest.approx(wilson_interval(4, 40))
    assert explain_row(TREE, ROW, positive="no").outcome.probability == pytest.approx(0.9)


def test_standard_deviations_of_the_data_are_a_further_unit() -> None:
    data = pd.DataFrame({"age": [40.0, 60.0, np.nan], "dose": 1.0, "ward": "A", "pain": "mild"})
    step = explain_row(TREE, ROW, data=data).steps[0]
    assert step.deviations == pytest.approx(2.5 / 10)  # of 40 and 60


def test_missing_values_and_unseen_categories_go_as_missing_values_go() -> None:
    found = explain_row(TREE, {**ROW, "age": None, "ward": "Z"})
    assert [(step.state, step.value, step.answer) for step in found.steps] == [
        ("missing", None, True),
        ("unseen", "Z", False),
    ]
    assert "ward is Z, unseen in training" in str(found)
    assert found.outcome.prediction == predicted(TREE, {**ROW, "age": None, "ward": None})


def test_a_category_that_no_training_row_of_the_node_had_is_named() -> None:
    by_ward = split("ward", ("A", "C"), leaf(10, 0.2, 0.8), leaf(10, 1.0, 0.0))
    tree = tree_of(split("age", 50.0, by_ward, leaf(9, 0.5, 0.5)), (AGE, WARD), SURVIVED)
    tree = tree.replace(seen=np.array([True, True, False]))
    found = explain_row(tree, {"age": 40, "ward": "C"})
    assert [(step.feature, step.state) for step in found.steps] == [("age", "known"), ("ward", "unseen here")]
    assert "ward is C, which no training row here had" in " ".join(str(found).split())
    assert explain_row(tree, {"age": 40, "ward": "A"}).steps[-1].state == "known"


def test_changes_that_rest_on_unrecorded_rows_say_so_and_come_last() -> None:
    lab, age = np.full(100, np.nan), np.full(100, 40.0)
    lab[:20], lab[20:40], lab[40:44] = 10.0, 50.0, 90.0  # 56 rows of the yes side have no lab
    age[:10] = 70.0
    y = np.where((lab < 70.0) & (age < 60.0), "no", "yes")
    model = TreeClassifier().fit(pd.DataFrame({"lab": lab, "age": age}), y)
    found = explain_row(model, {"lab": 50.0, "age": 40.0})
    assert found.outcome.prediction == "no"
    by_column = {tuple(each.values): each for each in found.counterfactuals}
    lab_change = by_column["lab",]
    assert (lab_change.changes[0].n_recorded, lab_change.outcome.n_rows) == (4, 60)
    assert "; 4 of 60 had lab recorded" in " ".join(str(found).split())
    assert found.counterfactuals[-1] is lab_change
    assert len(by_column) > 1
    assert explain_row(model, {"lab": np.nan, "age": 40.0}).to_dict()["counterfactuals"][0]["changes"]
    assert "lab from not recorded to" in str(explain_row(model, {"lab": np.nan, "age": 40.0}))


def test_a_row_may_be_a_mapping_a_frame_a_series_or_a_list() -> None:
    frame = pd.DataFrame({name: [value] for name, value in ROW.items()})
    model = TreeClassifier(max_depth=2).fit([[1.0, 5.0], [2.0, 6.0], [3.0, 5.0]], ["a", "b", "b"])
    told = str(explain_row(TREE, ROW))
    assert {str(explain_row(TREE, x)) for x in (frame, frame.iloc[0], pl.DataFrame(frame))} == {told}
    assert {str(model.explain_row(x)) for x in ([1.0, 5.0], [[1.0, 5.0]], np.array([1.0, 5.0]))} == {
        str(explain_row(model, {"x0": 1, "x1": 5}))
    }


def test_only_the_columns_that_the_tree_asks_about_are_needed_by_name() -> None:
    rows = pd.DataFrame({"age": [20.0, 30.0, 60.0, 70.0], "noise": [1.0, 2.0, 1.0, 2.0]})
    model = TreeClassifier().fit(rows, ["no", "no", "yes", "yes"])
    assert model.explain_row({"age": 25}).outcome.prediction == "no"


def test_a_question_is_told_with_the_columns_that_it_reads() -> None:
    tree = tree_of(
        split("age > 60 and ward == 'B'", (True,), leaf(5, 0.0, 1.0), leaf(9, 1.0, 0.0)),
        (AGE, WARD, OLD),
        SURVIVED,
    )
    found = explain_row(tree, {"age": 70, "ward": "B"})
    assert found.steps[0].reads == (("age", 70), ("ward", "B"))
    assert found.counterfactuals == ()
    assert found.blocking_features == ("age > 60 and ward == 'B'",)
    assert "a custom feature cannot be changed directly" in " ".join(str(found).split())


# -- counterfactuals by hand ------------------------------------------------------------------------------


def test_the_smallest_change_is_the_cheapest_over_all_leaves() -> None:
    first, second = explain_row(TREE, ROW).counterfactuals
    assert (first.values, first.cost) == ({"age": 51}, pytest.approx(3 / 72))
    assert (second.values, second.cost) == ({"ward": "C"}, 1)
    assert predicted(TREE, {**ROW, **first.values}) == predicted(TREE, {**ROW, **second.values}) == "yes"


def test_whole_numbers_stay_whole_and_others_are_rounded_past_the_threshold() -> None:
    row = {**ROW, "age": 70, "pain": "none"}
    found = explain_row(TREE, row).counterfactuals
    assert found[0].values == {"dose": 1.24}
    assert predicted(TREE, {**row, "dose": 1.24}) == "no"
    assert found[1].values == {"age": 50}


def test_an_ordered_category_costs_the_steps_it_takes() -> None:
    found = explain_row(TREE, {"age": 70, "dose": 2.0, "ward": "A", "pain": "none"}, fixed=["age", "dose"])
    assert [each.values for each in found.counterfactuals] == [{"pain": "mild"}]
    assert found.counterfactuals[0].cost == 1 / 2


def test_a_missing_value_that_must_be_known_costs_a_change() -> None:
    row = {**ROW, "age": None}
    found = explain_row(TREE, row, fixed=["ward"]).counterfactuals[0]
    assert (found.cost, found.changes[0].old) == (1, None)
    assert predicted(TREE, {**row, **found.values}) == "yes"


def test_what_is_fixed_or_has_a_direction_is_respected() -> None:
    assert [each.values for each in explain_row(TREE, ROW, fixed=["age"]).counterfactuals] == [{"ward": "C"}]
    assert explain_row(TREE, ROW, fixed=["age", "ward"]).counterfactuals == ()
    only = explain_row(TREE, ROW, only_decrease=["age"], fixed=["ward"])
    assert only.counterfactuals == ()
    assert "No change that is allowed leads to another outcome." in str(only)
    assert explain_row(TREE, ROW, only_increase=["age"]).counterfactuals[0].values == {"age": 51}


def test_a_threshold_of_the_risk_and_a_wanted_class_name_the_goal() -> None:
    found = explain_row(TREE, ROW, threshold=0.7)
    assert found.looked_for == "a risk of yes of at least 0.7"
    assert all((each.outcome.probability or 0) >= 0.7 for each in found.counterfactuals)
    assert explain_row(TREE, ROW, wanted="no").counterfactuals == ()
    assert explain_row(TREE, ROW, wanted="yes").counterfactuals[0].values == {"age": 51}


def test_numbers_go_up_or_down_by_at_least_so_much() -> None:
    stay = Target("stay", low=0.0, high=30.0)
    leaves = [leaf(10, mean, impurity=1.0) for mean in (2.0, 5.0, 9.0)]
    tree = tree_of(split("age", 40.5, leaves[0], split("age", 60.5, *leaves[1:])), (AGE,), stay)
    up, down = (explain_row(tree, {"age": 50}, wanted=way) for way in ("up", "down"))
    assert [each.values for each in up.counterfactuals] == [{"age": 61}]
    assert [each.values for each in down.counterfactuals] == [{"age": 40}]
    assert explain_row(tree, {"age": 50}, least_change=4).counterfactuals[0].values == {"age": 61}
    assert explain_row(tree, {"age": 50}, least_change=5).counterfactuals == ()
    assert "Prediction of stay: 5. In training there were 10 rows like this one." in str(up)


def test_what_the_tree_says_is_told_apart_from_what_was_seen() -> None:
    young, old = leaf(176, 167 / 176, 9 / 176), leaf(100, 0.4, 0.6)
    tree = keep_own_counts(tree_of(split("age", 40.5, young, old), (AGE,), SURVIVED))
    no, yes = SURVIVED.classes
    same = " ".join(str(explain_row(tree, {"age": 30}, positive=yes)).split())
    assert f"probability of {yes} 5 %: 9 of 176 rows like this one (95 % interval 3 to 9 %)." in same
    taught = tree.replace(value=np.where(tree.feature[:, None] < 0, [[0.91, 0.09]], tree.value))
    said = " ".join(str(explain_row(taught, {"age": 30}, positive=yes)).split())
    assert said.startswith(
        f"Prediction of {SURVIVED.name}: {no}. The tree's estimate for {yes} is 9 %. "
        f"Of 176 rows like this one, 9 were {yes}: 5 % (95 % interval 3 to 9 %)."
    )
    assert "outside this interval" not in said  # 9.0 % is within 2.7 to 9.4 %
    higher = tree.replace(value=np.where(tree.feature[:, None] < 0, [[0.8, 0.2]], tree.value))
    assert "outside this interval" in " ".join(str(explain_row(higher, {"age": 30}, positive=yes)).split())


def test_a_tree_that_asks_nothing_has_no_path_and_no_change() -> None:
    found = explain_row(tree_of(leaf(10, 0.3, 0.7), (AGE,), SURVIVED), {"age": 3})
    assert (found.steps, found.counterfactuals) == ((), ())
    assert "No leaf of the tree has another outcome." in str(found)


# -- against all rows of a grid ---------------------------------------------------------------------------

GRID: dict[str, list[Label]] = {
    "count": list(range(9)),
    "ward": ["A", "B", "C"],
    "pain": ["none", "mild", "strong"],
}
COUNT = Feature("count", low=0.0, high=8.0)


def whole_thresholds(tree: Tree) -> Tree:
    """The tree with thresholds halfway between whole numbers, as such a column would give them."""
    inside = (tree.feature == tree.schema.names.index("count")) & (tree.threshold < 1e9)
    return tree.replace(threshold=np.where(inside, np.floor(tree.threshold) + 0.5, tree.threshold))


def cost_of(row: dict[str, Label], other: dict[str, Label]) -> float:
    levels = GRID["pain"]
    return (
        abs(float(row["count"]) - float(other["count"])) / 8
        + (row["ward"] != other["ward"])
        + abs(levels.index(row["pain"]) - levels.index(other["pain"])) / 2
    )


@pytest.mark.parametrize("seed", range(8))
def test_no_row_of_the_grid_with_another_outcome_is_cheaper(seed: int) -> None:
    random = Random(seed)
    tree = whole_thresholds(random_tree(random, Schema((COUNT, WARD, PAIN), SURVIVED), 7))
    rows = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    said = tree.predict(pd.DataFrame(rows)).tolist()
    for row, outcome in random.sample(list(zip(rows, said, strict=True)), 8):
        costs = [cost_of(row, other) for other, each in zip(rows, said, strict=True) if each != outcome]
        found = explain_row(tree, row).counterfactuals
        assert bool(found) == bool(costs)
        if found:
            assert found[0].cost == pytest.approx(min(costs))
        for each in found:
            changed = {**row, **each.values}
            assert said[rows.index(changed)] == each.outcome.prediction != outcome


@pytest.mark.parametrize("seed", range(8))
def test_a_change_leads_where_it_says_for_rows_of_any_kind(seed: int) -> None:
    random = Random(100 + seed)
    tree = random_tree(random, Schema((AGE, DOSE, WARD, PAIN), SURVIVED), 9)
    row: dict[str, Any] = {
        "age": random.choice([None, random.uniform(10, 100)]),
        "dose": random.choice([None, random.uniform(-1, 3)]),
        "ward": random.choice([None, "A", "B", "C"]),
        "pain": random.choice([None, "none", "mild", "strong"]),
    }
    found = explain_row(tree, row, n_counterfactuals=9)
    assert found.outcome.prediction == predicted(tree, row)
    costs = [each.cost for each in found.counterfactuals]
    assert costs == sorted(costs)
    for each in found.counterfactuals:
        assert predicted(tree, {**row, **each.values}) == each.outcome.prediction
        assert each.outcome.prediction != found.outcome.prediction


# -- models -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stable() -> tuple[StableTreeClassifier, pd.DataFrame]:
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"age": draw.integers(20, 90, 120), "lab": draw.normal(5, 1, 120)})
    died = np.where(rows.age + draw.normal(0, 9, 120) > 60, "died", "lived")
    model = StableTreeClassifier(method="bootstrap", n_estimators=6, max_depth=2, random_state=0)
    return model.fit(rows, died), rows


def test_a_stable_model_says_how_firmly_each_question_stands(
    stable: tuple[StableTreeClassifier, pd.DataFrame],
) -> None:
    model, rows = stable
    found = model.explain_row(rows.iloc[[0]])
    by_node = {each.node: each for each in model.split_support()}
    for step in found.steps:
        assert step.support is not None
        assert step.support.references == by_node[step.node].references
    assert "of reference trees" in " ".join(str(found).split())
    assert explain_row(model.tree_, rows.iloc[[0]]).steps[0].support is None


def test_support_may_be_given_with_a_tree() -> None:
    support = split_support(TREE, [TREE], [])
    assert explain_row(TREE, ROW, support=support).steps[0].support is support[0]


def test_other_models_of_one_tree_are_explained_too() -> None:
    from sklearn.tree import DecisionTreeClassifier

    rows, classes = [[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]
    theirs = DecisionTreeClassifier(max_depth=1).fit(rows, classes)
    assert explain_row(theirs, [1.5]).outcome.prediction == 0
    density = DensityTree(min_samples_leaf=2).fit(np.random.default_rng(0).normal(size=(40, 2)))
    assert str(density.explain_row([0.0, 0.0])).startswith("Prediction of")


def test_an_ensemble_is_refused_with_what_to_use_instead() -> None:
    model = ForestClassifier(n_estimators=3, random_state=0).fit([[1.0], [2.0], [5.0]], ["a", "b", "b"])
    with pytest.raises(ParameterError, match=r"has 3\. Explain one member.*StableTreeClassifier"):
        explain_row(model, [1.0])


def test_all_of_it_is_plain_data_for_json() -> None:
    found = explain_row(TREE, {**ROW, "ward": "Z", "age": None}, support=split_support(TREE, [TREE], []))
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (facts["prediction"], facts["target"]) == (found.outcome.prediction, "survived")
    assert facts["path"][0]["support"]["references"] == 1
    assert facts["counterfactuals"][0]["changes"][0]["column"] == found.counterfactuals[0].changes[0].column


# -- what cannot be ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "options", "error", "says"),
    [
        (pd.DataFrame([ROW, ROW]), {}, DataError, "explains one row, and x has 2"),
        ({"age": [1, 2]}, {}, DataError, "each column has one value"),
        ({"age": 70}, {}, SchemaMismatch, "'dose', 'ward', 'pain'"),
        ({**ROW, "age": "old"}, {}, SchemaMismatch, "the text 'old'"),
        (
            ROW,
            {"fixed": ["agee"]},
            ParameterError,
            "is not a column of the model. Did you mean 'age'",
        ),
        (ROW, {"fixed": "age"}, ParameterError, r"give a list, such as \['age'\]"),
        (ROW, {"only_increase": ["ward"]}, ParameterError, "without an order"),
        (ROW, {"wanted": "maybe"}, ParameterError, r"not a class of 'survived': choose one of 'no', 'yes'"),
        (ROW, {"threshold": 2}, ParameterError, "must be a fraction between 0 and 1"),
        (ROW, {"positive": "maybe"}, ParameterError, "no class"),
        (ROW, {"category_cost": -1}, ParameterError, "category_cost=-1 is out of range"),
        (ROW, {"n_counterfactuals": -1}, ParameterError, "out of range"),
    ],
)
def test_what_cannot_be_is_answered(
    x: Any, options: dict[str, Any], error: type[HoldfastError], says: str
) -> None:
    with pytest.raises(error, match=says):
        explain_row(TREE, x, **options)


def test_a_number_has_no_risk_and_no_class() -> None:
    model = TreeRegressor(max_depth=1).fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ParameterError, match="does not have two"):
        model.explain_row([1.0], threshold=0.2)
    with pytest.raises(ParameterError, match="'up', 'down' or None"):
        model.explain_row([1.0], wanted="yes")


def test_a_model_that_refuses_missing_values_refuses_them_here() -> None:
    model = TreeClassifier(handle_missing="error").fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(DataError, match="missing"):
        model.explain_row([np.nan])
