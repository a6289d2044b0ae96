"""A diff in words: everything that a reader asks for stands in it."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from holdfast import Feature, Target, tree_diff
from holdfast.show.diff import WIDTH
from holdfast.tree.tree import Tree
from reference.trees import PAIN, SLOPE, Node, leaf, split, tree_of

AGE, BMI = Feature("age", low=0.0, high=100.0), Feature("bmi", low=10.0, high=60.0)
MANY = Feature("ward", "nominal", categories=tuple(f"w{number}" for number in range(12)))
SURVIVED = Target("survived", classes=("no", "yes"))
NO, YES = leaf(30, 0.9, 0.1), leaf(10, 0.2, 0.8)


def grown(root: Node, target: Target = SURVIVED) -> Tree:
    return tree_of(root, (AGE, BMI, SLOPE, PAIN, MANY), target)


OLD = grown(split("age", 44.7, split("bmi", 30.0, NO, YES), YES))


def told(new: Node, old: Tree = OLD) -> str:
    return str(tree_diff(old, grown(new)))


def test_nothing_changed() -> None:
    assert str(tree_diff(OLD, OLD)) == "Nothing changed: both trees have the same 3 rules."


def test_a_threshold_is_told_once_among_the_splits_and_in_each_rule() -> None:
    text = told(split("age", 46.7, split("bmi", 30.0, NO, YES), YES))
    assert text.startswith("All three rules have other thresholds or categories only. The first question is")
    assert "still about age, at 46.7 instead of 44.7." in text.replace("\n", " ")
    assert "  at the top: age <= 44.7 -> 46.7 (2.0 % of the range)" in text
    assert "  IF age > 46.7 (was 44.7) THEN yes, p(yes) 0.80 [cost 0.010]" in text  # 2 of 200
    assert "cost: part of the distance between the trees, 0.030 (matching" in text


def test_a_question_that_was_replaced_and_a_rule_that_is_new() -> None:
    text = told(split("age", 44.7, split("slope", 0.5, NO, YES), split("bmi", 40.0, YES, NO)))
    words = "Of three rules, three ask other questions; one is new. The first question is still about age."
    assert words in text.replace("\n", " ")
    assert "where age <= 44.7: bmi <= 30 -> slope = down (replaced; 2 leaves below became 2" in text
    assert "where age > 44.7: was a leaf (yes) -> asks bmi <= 40 (new split; 20.0 % of the" in text
    assert "Rules that are new: 1\n  IF age > 44.7 AND bmi > 40 THEN no, p(yes) 0.10 (30 rows)" in text
    assert "; no longer asked: bmi <= 30" in text


def test_another_first_question() -> None:
    text = told(split("bmi", 30.0, split("age", 44.7, NO, YES), YES))
    assert "The first question is another: bmi instead of age." in text.replace("\n", " ")


def test_a_rule_that_is_gone() -> None:
    text = told(split("age", 44.7, NO, YES))
    assert text.startswith("Of three rules, one asks other questions, one is gone and one is the same. The")
    assert "where age <= 44.7: asked bmi <= 30 -> is a leaf (no) (split gone; 80.0 % of the old" in text
    assert "Rules that are gone: 1\n  IF age <= 44.7 AND bmi > 30 THEN yes, p(yes) 0.80 (10 rows)" in text


def test_another_class_and_another_probability() -> None:
    text = told(split("age", 44.7, split("bmi", 30.0, NO, NO), leaf(10, 0.3, 0.7)))
    words = "Of three rules, one says another class, one has another probability only and one is the same."
    assert words in text.replace("\n", " ")
    assert "THEN no, p(yes) 0.10 (was yes, p(yes) 0.80)" in text
    assert "Rules with another probability, order of questions or side of missing values only: 1" in text
    assert "IF age > 44.7 THEN yes, p(yes) 0.70 (was 0.80)" in text
    assert "Rules that are the same in both: 1\n  IF age <= 44.7 AND bmi <= 30 THEN no" in text
    only = told(split("age", 44.7, split("bmi", 30.0, NO, YES), leaf(10, 0.3, 0.7)))
    assert only.startswith("The rules are the same; the probabilities of one of three rules changed, by at")


def test_the_same_rules_in_another_order_or_with_other_sides_for_missing_values() -> None:
    by_age = split("age", 44.7, split("bmi", 30.0, NO, YES), split("bmi", 30.0, YES, NO))
    by_bmi = split("bmi", 30.0, split("age", 44.7, NO, YES), split("age", 44.7, YES, NO))
    text = told(by_bmi, grown(by_age))
    assert text.startswith("The rules are the same; questions are asked in another order.")
    assert "(asked in another order) THEN" in text
    missing = told(split("age", 44.7, split("bmi", 30.0, NO, YES, True), YES))
    assert missing.startswith("The rules are the same; missing values go another way.")
    assert "where age <= 44.7: bmi <= 30: missing values now go to the yes side" in missing
    assert "bmi <= 30 (a missing value would now go here)" in missing  # no training row was missing


def with_missing(tree: Tree, *entries: tuple[int, int, float]) -> Tree:
    """The tree with training rows that lacked a value: leaf, feature and number of rows."""
    return tree.replace(not_recorded=np.array(entries, float))


def test_a_side_of_missing_values_that_flips_with_a_threshold_is_told_in_full() -> None:
    old = with_missing(grown(split("age", 60.0, NO, YES, False)), (2, 0, 4.0))
    new = with_missing(grown(split("age", 40.0, NO, YES, True)), (1, 0, 7.0))
    text = str(tree_diff(old, new)).replace("\n", " ")
    assert "at the top: age <= 60 -> age <= 40 or not recorded (" in text
    assert "Missing values go to the other side of 1 split." in text
    assert "IF age <= 40 or not recorded (was age <= 60)" in text
    assert "IF age > 40 (was age > 60 or not recorded)" in text
    assert tree_diff(old, new).of_kind("missing")
    none_missing_now = grown(split("age", 40.0, NO, YES, True))
    told_anyway = str(tree_diff(old, none_missing_now)).replace("\n", " ")
    assert "age <= 60 -> age <= 40: missing values now go to the yes side (" in told_anyway


def test_a_side_of_missing_values_that_flips_with_a_set_is_told_in_full() -> None:
    wards = [split("ward", MANY.categories[:size], NO, YES, size == 8) for size in (7, 8)]
    place = 4  # of the feature
    old, new = with_missing(grown(wards[0]), (2, place, 3.0)), with_missing(grown(wards[1]), (1, place, 5.0))
    text = " ".join(str(tree_diff(old, new)).split())
    assert "w7} or not recorded (was ward in {w0" in text or "or not recorded (was ward not in" in text
    assert text.count("or not recorded") >= 3


def test_a_flip_that_no_missing_row_can_come_to_is_no_change() -> None:
    inner = [split("age", 20.0, NO, YES, flag) for flag in (False, True)]
    old, new = (grown(split("age", 50.0, each, YES)) for each in inner)  # missing ages go right at the top
    assert not tree_diff(old, new).splits


def test_categories_that_moved() -> None:
    old = grown(split("pain", ("none",), NO, YES))
    text = told(split("pain", ("none", "other"), NO, YES), old)
    assert "at the top: pain = none -> pain in {none, other} (25.0 % of the categories)" in text
    assert "IF pain in {none, other} (was pain = none) THEN no" in text
    assert "still about pain, with other categories." in text.replace("\n", " ")
    wards = [split("ward", MANY.categories[:size], NO, YES) for size in (7, 8)]
    text = told(wards[1], grown(wards[0]))
    assert "w7 came in (8.3 % of the categories)" in text
    assert "(was without w7)" in text.replace("\n      ", " ")


def test_thresholds_that_read_alike_are_told_apart() -> None:
    old = grown(split("age", 44.70000001, NO, YES))
    assert "age <= 44.70000001 -> 44.70000002" in told(split("age", 44.70000002, NO, YES), old)


def test_rows_scores_and_who_they_are() -> None:
    ages = np.arange(0.0, 100.0, 0.5)
    new = grown(split("age", 60.2, split("bmi", 30.0, NO, YES), YES))
    frame = pd.DataFrame({"age": ages, "bmi": 20.0})
    truth = np.where((ages > 58) | (ages % 10 == 0), "yes", "no")
    text = str(tree_diff(OLD, new, frame, truth, X_before=frame))
    words = text.replace("\n", " ")
    assert "15.5 % of 200 rows get another class; 100 % of them have 44.75 < age <= 60.25" in words
    assert "(100 % of that group change)" in words
    assert "The new tree is better: AUC " in words
    assert re.search(r"get another class +15.5 % +31\n", text)
    assert re.search(r"swap-outs: leave yes +15.5 % +31\n", text)
    assert re.search(r"negative flips: were right, become wrong +2.5 % +5\n", text)  # 50, and 58.5 to 60
    assert "31 rows (15.5 %), yes -> no: 44.7 < age <= 60.2 and bmi <= 30" in text
    assert re.search(r"calibration slope \(1 is right\) +\d", text)
    assert "Somewhat" in text or "Yes, much" in text
    assert "by column, most first: age 0.000, bmi 0.000" in text


def test_numbers() -> None:
    stay = Target("stay", low=0.0, high=30.0)
    old, new = (
        grown(split("age", at, leaf(9, 2.0, impurity=1.0), leaf(9, 10.0, impurity=1.0)), stay)
        for at in (40.0, 50.0)
    )
    frame = pd.DataFrame({"age": np.arange(100.0)})
    text = str(tree_diff(old, new, frame, np.where(np.arange(100) > 50, 10.0, 2.0)))
    words = text.replace("\n", " ")
    assert (
        "Predictions of 100 rows move by 0.8 on average; 100 % of the moves are where 40.5 < age <=" in words
    )
    assert "(by 8 there)" in words
    assert "Whose prediction moves, the most first\n  10 rows (10.0 %), 10 -> 2: 40 < age <= 50" in text
    assert "the greatest change of a value costs 2" in text.replace("\n      ", " ")


def test_lines_are_short_and_html_has_no_markup_of_names() -> None:
    odd = Feature("<b>age</b>", low=0.0, high=100.0)
    trees = [tree_of(split(odd.name, at, NO, YES), (odd,), SURVIVED) for at in (40.0, 50.0)]
    diff = tree_diff(*trees)
    assert "<b>age" not in diff._repr_html_()
    assert "&lt;b&gt;age&lt;/b&gt; &lt;= 40 -&gt; 50" in diff._repr_html_()
    assert max(map(len, told(split("slope", 0.5, NO, YES)).splitlines())) <= WIDTH


def test_plain_data_is_json() -> None:
    frame = pd.DataFrame({"age": [10.0, 45.0, 80.0], "bmi": [20.0, 20.0, 40.0]})
    new = grown(split("age", 46.0, split("bmi", 30.0, NO, YES), YES))
    content = json.loads(json.dumps(tree_diff(OLD, new, frame).to_dict(), allow_nan=False))
    assert content["same_root"] is True
    assert content["splits"][0]["new"] == {"feature": "age", "above": None, "at_most": 46.0, "missing": False}
    assert sum(change["cost"] for change in content["changes"]) == pytest.approx(content["distance"])
    assert content["rows"]["flips"] == pytest.approx(1 / 3)
    assert content["rows"]["old_score"] is None
    assert tree_diff(OLD, new).to_dict()["rows"] is None


def test_both_trees_are_told_by_the_positive_class_of_the_old_one() -> None:
    mostly_yes = grown(split("age", 44.7, leaf(10, 0.9, 0.1), leaf(90, 0.2, 0.8)))  # where no is rarer
    diff = tree_diff(OLD, mostly_yes)
    assert (diff.positive, tree_diff(mostly_yes, OLD).positive) == ("yes", "no")
    assert "p(no)" not in str(diff)
    assert "p(yes)" in str(diff)
    assert "p(no)" in str(tree_diff(OLD, mostly_yes, positive="no"))
