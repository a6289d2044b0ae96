"""What is recorded of a change, worked out by hand: decisions that change, columns that moved, subgroups."""

import math
from typing import Any

import numpy as np
import pytest

from holdfast import DataError, Feature, Schema, Table, Target, Tree
from holdfast.data.columns import Column
from holdfast.errors import ModelCardError
from holdfast.governance.change_summary import (
    DecisionRule,
    Outputs,
    RowsProfile,
    band,
    edit_facts,
    make_decision_rule,
    period_facts,
    profile_rows,
    schema_facts,
)
from holdfast.scoring.metric import make_metric

AGE = Feature("age", low=0.0, high=100.0)
WARD = Feature("ward", "nominal", categories=("A", "B"))
SCHEMA = Schema((AGE, WARD), Target("outcome", classes=("lived", "died")))
# Eight patients: their age, ward and what became of them.
AGES = [20.0, 30.0, 42.0, 44.0, 48.0, 60.0, 70.0, math.nan]
DIED = [0, 0, 1, 0, 1, 1, 0, 1]
WARDS = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]


def table(ages: list[float] = AGES, wards: list[float] = WARDS, died: list[int] = DIED) -> Table:
    return Table(SCHEMA, (np.array(ages), np.array(wards)), np.array(died, np.int32))


def tree_at(threshold: float, low: float = 0.1, high: float = 0.6) -> Tree:
    """Up to the threshold few die, above it many. Those whose age is not known are told as the young."""
    leaves = [{"value": {"lived": 1 - p, "died": p}, "count": 50} for p in (low, high)]
    root = {"feature": "age", "threshold": threshold, "missing_left": True}
    return Tree.from_nodes(SCHEMA, {**root, "left": leaves[0], "right": leaves[1]})


def outputs(old: Tree, new: Tree, threshold: float | None = None, **given: Any) -> Outputs:
    rows = given.pop("table", table())
    held_out = given.pop("held_out", np.ones(rows.n_rows, bool))
    decision = DecisionRule(1, threshold)
    metric = make_metric("accuracy", SCHEMA.target)
    return Outputs(old, new, given.pop("alike", new), rows, held_out, True, decision, metric)


# -- decisions ----------------------------------------------------------------------------------------------


def test_who_crosses_a_moved_threshold_is_a_swap_out_and_is_counted_with_what_became_of_them() -> None:
    # From "above 40" to "above 50": the patients of 42, 44 and 48 are acted on no longer; two of them died.
    decisions = outputs(tree_at(40), tree_at(50)).facts()["all"]["decisions"]
    assert decisions["swap_outs"] == {"rows": 3, "fraction": 3 / 8, "events": 2}
    assert decisions["swap_ins"]["rows"] == 0
    assert decisions["changed"]["rows"] == 3
    assert decisions["negative_flips"]["rows"] == 2  # those who died were acted on rightly
    assert decisions["positive_flips"]["rows"] == 1  # the one who lived was not
    assert (decisions["acted_on_before"]["rows"], decisions["acted_on_after"]["rows"]) == (5, 2)


def test_a_probability_that_crosses_the_stated_threshold_is_a_swap_in_although_no_class_changes() -> None:
    old, new = tree_at(40, low=0.1, high=0.18), tree_at(40, low=0.1, high=0.22)
    found = outputs(old, new, threshold=0.2).facts()
    assert found["all"]["decisions"]["swap_ins"] == {"rows": 5, "fraction": 5 / 8, "events": 3}
    assert outputs(old, new).facts()["all"]["decisions"]["changed"]["rows"] == 0
    assert found["touched"][0]["who"] == ["age > 40"]
    assert (found["touched"][0]["decided_before"], found["touched"][0]["decided_after"]) == (0, 1)


def test_means_and_moves_are_those_of_the_rows() -> None:
    everyone = outputs(tree_at(40), tree_at(50)).facts()["all"]
    assert everyone["mean_before"] == pytest.approx((3 * 0.1 + 5 * 0.6) / 8)  # missing ages are on the left
    assert everyone["mean_after"] == pytest.approx((6 * 0.1 + 2 * 0.6) / 8)
    assert everyone["churn"] == pytest.approx(3 * 0.5 / 8)
    assert everyone["largest_move"] == pytest.approx(0.5)


def test_weights_count_as_rows_and_rows_without_weight_do_not_count() -> None:
    rows = table()
    weight = np.array([1.0, 1.0, 3.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    weighted = Table(SCHEMA, rows.columns, rows.target, weight)
    part = outputs(tree_at(40), tree_at(50), table=weighted).facts()["all"]
    assert part["rows"] == 7
    assert part["decisions"]["swap_outs"] == {"rows": 2, "fraction": 4 / 9, "events": 2}


def test_a_decision_that_cannot_be_is_named() -> None:
    tree = tree_at(40)
    assert make_decision_rule(tree, None, None) == DecisionRule(1, None)  # the rarer class
    assert make_decision_rule(tree, "lived", 0.5) == DecisionRule(0, 0.5)
    with pytest.raises(ModelCardError, match="'dead', which is no class of 'outcome'"):
        make_decision_rule(tree, "dead", None)
    with pytest.raises(ModelCardError, match="above 0 and at most 1"):
        make_decision_rule(tree, None, 20)


# -- scores and subgroups -----------------------------------------------------------------------------------


def test_scores_are_of_the_rows_held_out_and_of_the_tree_made_without_them() -> None:
    held_out = np.array([True, True, True, True, False, False, False, False])
    found = outputs(tree_at(40), tree_at(50), held_out=held_out, alike=tree_at(43)).facts()
    scores = found["all"]["scores"]
    assert found["rows_scored"] == scores["rows"] == 4
    assert scores["old"]["value"] == pytest.approx(3 / 4)  # 44 lived, and the old tree says died
    assert scores["new"]["value"] == pytest.approx(2 / 4)  # 43: now 42, who died, is told to live
    assert (scores["events"], scores["observed"]) == (1, 0.25)
    expected = scores["new_calibration"]
    assert expected["expected"] == pytest.approx((3 * 0.1 + 0.6) / 4)
    assert expected["ratio"] == pytest.approx(0.25 / expected["expected"])


def test_every_row_is_in_one_subgroup_and_few_rows_are_marked() -> None:
    columns = {"ward": Column("nominal", np.array(WARDS), ("A", "B"))}
    parts = outputs(tree_at(40), tree_at(50)).subgroup_facts(columns, n_bands=4, least=5)
    assert [(part["name"], part["rows"], part["is_small"]) for part in parts] == [
        ("ward = A", 4, True),
        ("ward = B", 4, True),
    ]
    assert [part["decisions"]["swap_outs"]["rows"] for part in parts] == [2, 1]  # 42 and 48 in A, 44 in B


def test_a_subgroup_without_rows_held_out_has_no_scores() -> None:
    held_out = np.array(WARDS) == 0
    columns = {"ward": Column("nominal", np.array(WARDS), ("A", "B"))}
    parts = outputs(tree_at(40), tree_at(50), held_out=held_out).subgroup_facts(columns, 4, 1)
    assert [part["scores"] is None for part in parts] == [False, True]


# -- the data of both times ---------------------------------------------------------------------------------


def test_the_index_of_a_column_is_that_of_its_profile_worked_out_by_hand() -> None:
    before = profile_rows(table(wards=[0.0] * 4 + [1.0] * 4))
    now = table(wards=[0.0] * 6 + [1.0] * 2)
    columns = {each["name"]: each for each in period_facts(before, SCHEMA, now, "")["columns"]}
    # With half a row for each part: 4.5 and 4.5 of 9, against 6.5 and 2.5 of 9.
    by_hand = (6.5 - 4.5) / 9 * math.log(6.5 / 4.5) + (2.5 - 4.5) / 9 * math.log(2.5 / 4.5)
    assert columns["ward"]["index"] == pytest.approx(by_hand)
    assert columns["ward"]["band"] == band(by_hand) == "some"
    assert columns["age"]["index"] == pytest.approx(0.0)


def test_missing_values_and_rows_beyond_the_range_are_counted() -> None:
    before = profile_rows(table())
    now = table(ages=[150.0, math.nan, math.nan, 44.0, 48.0, 60.0, 70.0, 80.0])
    age = next(each for each in period_facts(before, SCHEMA, now, "")["columns"] if each["name"] == "age")
    assert (age["missing_before"], age["missing_now"]) == (1 / 8, 2 / 8)
    assert (age["range_before"], age["range_now"], age["beyond"]) == ([0.0, 100.0], [44.0, 150.0], 1 / 8)


def test_without_a_profile_what_is_not_known_is_none() -> None:
    facts = period_facts(None, SCHEMA, table(), "")
    assert facts["before"] is None
    assert all(each["index"] is None and each["missing_before"] is None for each in facts["columns"])


def test_what_the_schema_gained_is_told() -> None:
    wider = Schema(
        (AGE, Feature("ward", "nominal", categories=("A", "B", "C")), Feature("bmi")),
        Target("outcome", classes=("lived", "died", "unknown")),
    )
    found = schema_facts(SCHEMA, wider)
    assert found["new_columns"] == ["bmi"]
    assert found["new_categories"] == {"ward": ["C"]}
    assert found["new_classes"] == ["unknown"]
    assert schema_facts(wider, SCHEMA)["gone_columns"] == ["bmi"]


def test_a_category_that_is_new_is_a_part_of_its_own() -> None:
    before = profile_rows(table())
    wards = Feature("ward", "nominal", categories=("A", "B", "C"))
    schema = Schema((AGE, wards), SCHEMA.target)
    now = Table(schema, (np.array(AGES), np.full(8, 2.0)), np.array(DIED, np.int32))
    ward = next(each for each in period_facts(before, SCHEMA, now, "")["columns"] if each["name"] == "ward")
    # Half a row for each of three parts: 4.5, 4.5, 0.5 of 9.5, against 0.5, 0.5, 8.5.
    by_hand = 2 * (0.5 - 4.5) / 9.5 * math.log(0.5 / 4.5) + 8 / 9.5 * math.log(8.5 / 0.5)
    assert ward["index"] == pytest.approx(by_hand)


def test_a_profile_is_read_as_it_was_written_and_a_broken_one_is_refused() -> None:
    profile = profile_rows(table())
    content = profile.to_dict()
    assert RowsProfile.from_dict(content) == profile
    content["columns"][0]["counts"] = [1]
    with pytest.raises(DataError, match="profile of the earlier rows cannot be read"):
        RowsProfile.from_dict(content)


# -- edits --------------------------------------------------------------------------------------------------


def test_edits_by_hand_are_told_with_name_and_reason_and_whether_they_hold() -> None:
    tree = tree_at(40).with_threshold(0, 45, by="Ada", why="a round number")
    (edit,) = edit_facts(tree)
    assert (edit["by"], edit["why"], edit["holds"]) == ("Ada", "a round number", True)
    assert "age <= 45" in edit["text"]
    again = tree.with_threshold(0, 50, by="Bob")
    assert [each["holds"] for each in edit_facts(again)] == [False, True]
