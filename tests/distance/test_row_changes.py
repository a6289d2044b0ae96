"""What a change of trees means for rows, small enough to work out by hand."""

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    DataError,
    DataWarning,
    Feature,
    ParameterError,
    SchemaMismatch,
    StableTreeClassifier,
    Table,
    Target,
    tree_diff,
)
from holdfast.distance.diff_rows import RowChanges, interval, measure_row_changes
from holdfast.tree.tree import Tree
from reference.trees import PAIN, leaf, split, tree_of

AGE, DOSE = Feature("age", low=0.0, high=100.0), Feature("dose", low=0.0, high=9.0)
SURVIVED = Target("survived", classes=("no", "yes"))
NO, YES = leaf(10, 0.75, 0.25), leaf(10, 0.25, 0.75)
AGES = [10, 20, 30, 44, 45, 46, 60, 70]
SURVIVORS = ["no", "no", "yes", "no", "yes", "yes", "yes", "no"]


def at(threshold: float, yes: Any = NO, no: Any = YES, target: Target = SURVIVED) -> Tree:
    return tree_of(split("age", threshold, yes, no), (AGE, DOSE, PAIN), target)


def frame(ages: list[float] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"age": AGES if ages is None else ages})


def changes(threshold: float, **options: Any) -> RowChanges:
    """From a threshold of 40 to another, on eight rows."""
    rows = tree_diff(at(40.0), at(threshold), frame(), SURVIVORS, **options).rows
    assert rows is not None
    return rows


# -- answers ----------------------------------------------------------------------------------------------


def test_a_threshold_that_moved_flips_the_rows_in_between() -> None:
    rows = changes(45.5)  # 44 and 45 are no longer above it; they are "no" and "yes"
    assert rows.n_rows == 8
    assert rows.flips == rows.leaf_changes == 2 / 8
    assert (rows.swap_ins, rows.swap_outs, rows.positive) == (0.0, 2 / 8, "yes")
    assert (rows.negative_flips, rows.positive_flips) == (1 / 8, 1 / 8)
    assert rows.churn == rows.mean_move == 0.5 * 2 / 8
    assert rows.largest_move == 0.5


def test_the_other_class_may_be_the_positive_one() -> None:
    rows = changes(45.5, positive="no")
    assert (rows.swap_ins, rows.swap_outs, rows.positive) == (2 / 8, 0.0, "no")
    with pytest.raises(ParameterError, match=r"positive='maybe' is no class of 'survived'"):
        changes(45.5, positive="maybe")


def test_the_box_of_the_rows_that_flip_is_exact() -> None:
    (box,) = changes(45.5).boxes
    assert (box.old.outcome, box.new.outcome) == ("yes", "no")
    assert [(each.low, each.high) for each in box.conditions] == [(40.0, 45.5)]
    assert (box.n_rows, box.fraction) == (2, 0.25)


def test_groups_tell_who_they_are() -> None:
    years = np.arange(100.0)
    rows = tree_diff(at(40.0), at(60.0), frame(years.tolist()), np.where(years > 50, "yes", "no")).rows
    (group,) = rows.groups
    assert group.rule.condition("age").bounds == (40.5, 60.5)
    assert (group.rate, group.covered, group.fraction) == (1.0, pytest.approx(1.0), 0.2)


def test_weights_count_as_so_many_rows() -> None:
    weights = [1, 2, 1, 3, 1, 1, 0, 2]
    weighted = changes(45.5, sample_weight=weights)
    repeated = np.repeat(np.arange(8), weights)
    ages, truth = np.array(AGES)[repeated], np.array(SURVIVORS)[repeated]
    plain = tree_diff(at(40.0), at(45.5), frame(ages.tolist()), truth).rows
    for name in ("churn", "flips", "negative_flips", "swap_outs", "old_score", "new_score"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name)), name
    assert weighted.old_calibration.slope == pytest.approx(plain.old_calibration.slope)
    assert weighted.n_rows == 7


def test_rows_of_the_same_tree_do_not_change() -> None:
    rows = changes(40.0)
    figures = (rows.churn, rows.flips, rows.negative_flips, rows.leaf_changes, rows.score_difference)
    assert figures == (0.0,) * 5
    assert (rows.boxes, rows.groups, rows.verdict) == ((), (), "alike")


def test_without_a_target_only_answers_are_compared() -> None:
    rows = tree_diff(at(40.0), at(45.5), frame()).rows
    assert rows.flips == 2 / 8
    assert rows.metric is None
    unknown = (rows.negative_flips, rows.old_score, rows.score_error, rows.old_calibration.slope)
    assert all(map(math.isnan, unknown))
    assert rows.verdict == "unknown"


def test_of_several_classes_there_is_a_positive_one_only_if_it_is_named() -> None:
    target = Target("survived", classes=("moved", "no", "yes"))
    leaves = leaf(10, 0.0, 1.0, 0.0), leaf(10, 0.0, 0.25, 0.75)
    old, new = at(40.0, *leaves, target), at(45.5, *leaves, target)
    assert math.isnan(tree_diff(old, new, frame(), SURVIVORS).rows.swap_ins)
    rows = tree_diff(old, new, frame(), SURVIVORS, positive="yes").rows
    assert (rows.swap_outs, rows.churn) == (2 / 8, 0.75 * 2 / 8)


def test_numbers_move_in_standard_deviations() -> None:
    stay = Target("stay", low=0.0, high=30.0)
    leaves = leaf(4, 2.0, impurity=1.0), leaf(4, 10.0, impurity=1.0)
    truth = [2.0, 2.0, 2.0, 10.0, 2.0, 10.0, 10.0, 10.0]  # standard deviation 4
    rows = tree_diff(at(40.0, *leaves, stay), at(45.5, *leaves, stay), frame(), truth).rows
    assert (rows.mean_move, rows.churn, rows.largest_move) == (2.0, 0.5, 8.0)
    assert math.isnan(rows.flips)
    assert rows.metric.name == "r2"
    assert (rows.boxes[0].old.outcome, rows.boxes[0].new.outcome) == (10.0, 2.0)
    # Three rows of 2 below 40; above, two of 2 and three of 10 were said to be 10: 6 is the mean, 7 was said.
    assert rows.old_calibration.ratio == pytest.approx(6.0 / 7.0)


# -- scores -----------------------------------------------------------------------------------------------


def test_scores_and_their_difference() -> None:
    rows = changes(45.5, scoring="accuracy")
    # At 40: 2 of 3 below and 3 of 5 above are right. At 45.5: 3 of 5 below and 2 of 3 above.
    assert (rows.old_score, rows.new_score, rows.score_difference) == (5 / 8, 5 / 8, 0.0)
    # One row wins 1, one loses 1, the mean is 0: variance 2 / 7.
    assert rows.score_error == pytest.approx(math.sqrt(2 / 7 / 8))
    low, high = rows.score_interval
    assert (low, high) == (pytest.approx(-1.96 * rows.score_error, rel=1e-4), -low)
    assert rows.verdict == "alike"


def test_a_clear_difference_has_a_verdict() -> None:
    ages = np.arange(200.0) / 2
    truth = np.where(ages > 60, "yes", "no")
    assert tree_diff(at(20.0), at(60.0), frame(ages.tolist()), truth).rows.verdict == "better"
    assert tree_diff(at(60.0), at(20.0), frame(ages.tolist()), truth).rows.verdict == "worse"


def test_models_that_remember_their_rows_say_which_of_them_they_are_scored_on() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 2)), columns=["a", "b"])
    y = np.where(X["a"] + rng.normal(size=240) > 0, "yes", "no")
    small = {"teacher": "linear", "n_estimators": 4, "validation": None, "max_leaf_nodes": 4}
    old, new = (StableTreeClassifier(**small).fit(X[:100], y[:100]) for _ in range(2))
    new.update(X[100:200], y[100:200], strategy="refit", validation=None)

    def learned(first: int, last: int) -> tuple[float | None, float | None]:
        rows = tree_diff(old, new, X[first:last], y[first:last]).rows
        assert rows is not None
        return rows.old_learned, rows.new_learned

    assert learned(0, 100) == (1.0, 1.0)
    assert learned(100, 200) == (0.0, 1.0)
    assert learned(200, 240) == (0.0, 0.0)
    assert learned(150, 240) == (0.0, pytest.approx(5 / 9))
    assert "The new tree was trained on these rows" in str(tree_diff(old, new, X[100:200], y[100:200]))
    assert "trained on" not in str(tree_diff(old, new, X[200:], y[200:]))
    assert tree_diff(old.tree_, new.tree_, X, y).rows.new_learned is None  # trees remember no rows


def test_rows_of_one_class_have_no_auc() -> None:
    rows = tree_diff(at(40.0), at(45.5), frame(), ["no"] * 8).rows
    assert all(map(math.isnan, (rows.old_score, rows.score_difference, rows.old_calibration.slope)))
    assert rows.negative_flips == 0.0


def test_an_interval_at_another_confidence() -> None:
    assert interval(0.0, 1.0, 0.9)[1] == pytest.approx(1.644854, rel=1e-5)


# -- the population ---------------------------------------------------------------------------------------


def test_leaves_that_now_hold_other_fractions() -> None:
    rows = changes(45.5)
    first, second = rows.leaf_shares
    assert (first.before, first.now, second.now) == (0.5, 3 / 8, 5 / 8)
    by_hand = sum(
        (now - 0.5) * math.log(now / 0.5) for now in (3.5 / 9, 5.5 / 9)
    )  # half a row more for each leaf
    assert rows.leaf_index == pytest.approx(by_hand)


def test_columns_against_the_rows_from_before() -> None:
    before = pd.DataFrame({"age": AGES, "dose": np.arange(8.0)})
    now = pd.DataFrame({"age": AGES, "dose": np.zeros(8)})
    index = tree_diff(at(40.0), at(45.5), now, SURVIVORS, X_before=before).rows.column_index
    assert [*index] == ["dose", "age"]  # the most changed first
    assert index["age"] == 0.0
    assert index["dose"] > 0.5


# -- data -------------------------------------------------------------------------------------------------


def test_a_table_is_read_by_name_and_by_value() -> None:
    leaves = leaf(10, 0.9, 0.1), leaf(10, 0.2, 0.8)
    old = tree_of(split("pain", ("none",), *leaves), (PAIN,), SURVIVED)
    new = tree_of(split("pain", ("none", "other"), *leaves), (PAIN,), SURVIVED)
    table = Table.from_arrays(
        pd.DataFrame({"x": [1.0, 2.0, 3.0], "pain": ["other", "none", "new"]}), ["yes", "no", "yes"]
    )
    rows = measure_row_changes(old, new, table)  # categories stand elsewhere, and one is not known
    assert (rows.flips, rows.negative_flips, rows.n_rows) == (pytest.approx(1 / 3), pytest.approx(1 / 3), 3)
    assert measure_row_changes(old, new, table, describe=False).groups == ()


def test_trees_of_two_schemas_are_put_on_one() -> None:
    wide = at(45.5).replace(schema=replace(at(45.5).schema, features=(replace(AGE, high=120.0), DOSE, PAIN)))
    table = Table.from_arrays(frame(), SURVIVORS)
    assert measure_row_changes(at(40.0), wide, table).flips == 2 / 8


@pytest.mark.parametrize(
    ("data", "truth", "message"),
    [
        (pd.DataFrame({"years": AGES}), SURVIVORS, "columns missing +'age'"),
        (frame(), ["perhaps", *SURVIVORS[1:]], "new classes +'perhaps'"),
        (frame(), SURVIVORS[1:], "inconsistent numbers of rows: 8 in X and 7 in y"),
        (pd.DataFrame({"age": ["young"] * 8}), SURVIVORS, "column 'age': numeric in the schema"),
    ],
)
def test_data_that_does_not_fit_is_refused(data: Any, truth: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tree_diff(at(40.0), at(45.5), data, truth)


def test_a_table_without_the_column_or_with_another_target_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="splits on 'age', and the table has no such column"):
        measure_row_changes(
            at(40.0), at(50.0), Table.from_arrays(pd.DataFrame({"dose": [1.0, 2.0]}), ["no", "yes"])
        )
    numbers = Table.from_arrays(frame(), np.arange(8) / 3)
    with pytest.raises(SchemaMismatch, match="predict classes of 'survived'"):
        measure_row_changes(at(40.0), at(50.0), numbers)
    others = Table.from_arrays(frame(), ["no", "maybe"] * 4)
    with pytest.raises(SchemaMismatch, match="the classes 'maybe', and the trees know 'no', 'yes'"):
        measure_row_changes(at(40.0), at(50.0), others)
    text = Table.from_arrays(pd.DataFrame({"age": ["young", "old"]}), ["no", "yes"])
    with pytest.raises(SchemaMismatch, match="the numeric feature 'age', which is nominal in the table"):
        measure_row_changes(at(40.0), at(50.0), text)


def test_a_column_that_no_tree_asks_about_may_be_anything() -> None:
    data = frame().assign(dose=["much"] * 8, pain=["none"] * 7 + ["unheard of"])
    assert tree_diff(at(40.0), at(45.5), data, SURVIVORS).rows.flips == 2 / 8


def test_an_unknown_category_counts_as_missing_with_a_warning() -> None:
    leaves = leaf(10, 0.9, 0.1), leaf(10, 0.2, 0.8)
    tree = tree_of(split("pain", ("none",), *leaves), (PAIN,), SURVIVED)
    with pytest.warns(DataWarning, match="unheard of"):
        assert tree_diff(tree, tree, pd.DataFrame({"pain": ["unheard of", "none"]})).rows.flips == 0.0


def test_the_order_of_rows_and_columns_changes_no_bit() -> None:
    random = np.random.default_rng(0)
    data = pd.DataFrame({"age": random.uniform(0, 100, 300), "dose": random.uniform(0, 9, 300)})
    truth = np.where(random.random(300) < 0.4, "yes", "no")
    weight = random.random(300)
    old = tree_of(split("age", 40.0, NO, split("dose", 3.0, YES, NO)), (AGE, DOSE), SURVIVED)
    new = tree_of(split("age", 47.0, NO, split("dose", 2.5, YES, NO)), (AGE, DOSE), SURVIVED)
    order = random.permutation(300)
    one = tree_diff(old, new, data, truth, sample_weight=weight).rows
    other = tree_diff(
        old, new, data.iloc[order][["dose", "age"]], truth[order], sample_weight=weight[order]
    ).rows
    for field in fields(RowChanges):
        if field.name not in ("metric", "groups"):
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert [str(group.rule) for group in one.groups] == [str(group.rule) for group in other.groups]
