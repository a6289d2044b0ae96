"""A diff in words: everything that a reader asks for stands in it."""

import json

import numpy as np
import pandas as pd
import pytest

from holdfast import Feature, Target, tree_diff
from holdfast._view import WIDTH
from holdfast.tree.tree import Tree
from reference.trees import PAIN, SLOPE, Node, leaf, split, tree_of
from snapshots import check_snapshot

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


def with_missing(tree: Tree, *entries: tuple[int, int, float]) -> Tree:
    """The tree with training rows that lacked a value: leaf, feature and number of rows."""
    return tree.replace(not_recorded=np.array(entries, float))


def test_a_flip_that_no_missing_row_can_come_to_is_no_change() -> None:
    inner = [split("age", 20.0, NO, YES, flag) for flag in (False, True)]
    old, new = (grown(split("age", 50.0, each, YES)) for each in inner)  # missing ages go right at the top
    assert not tree_diff(old, new).splits


def test_thresholds_that_read_alike_are_told_apart() -> None:
    old = grown(split("age", 44.70000001, NO, YES))
    assert "age <= 44.70000001 -> 44.70000002" in told(split("age", 44.70000002, NO, YES), old)


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


BY_AGE = split("age", 44.7, split("bmi", 30.0, NO, YES), split("bmi", 30.0, YES, NO))
BY_BMI = split("bmi", 30.0, split("age", 44.7, NO, YES), split("age", 44.7, YES, NO))
WARDS = [split("ward", MANY.categories[:size], NO, YES, size == 8) for size in (7, 8)]
CHANGES = {
    "threshold": (OLD, grown(split("age", 46.7, split("bmi", 30.0, NO, YES), YES))),
    "replaced": (OLD, grown(split("age", 44.7, split("slope", 0.5, NO, YES), split("bmi", 40.0, YES, NO)))),
    "root": (OLD, grown(split("bmi", 30.0, split("age", 44.7, NO, YES), YES))),
    "gone": (OLD, grown(split("age", 44.7, NO, YES))),
    "classes": (OLD, grown(split("age", 44.7, split("bmi", 30.0, NO, NO), leaf(10, 0.3, 0.7)))),
    "order": (grown(BY_AGE), grown(BY_BMI)),
    "missing": (OLD, grown(split("age", 44.7, split("bmi", 30.0, NO, YES, True), YES))),
    "missing-and-threshold": (
        with_missing(grown(split("age", 60.0, NO, YES, False)), (2, 0, 4.0)),
        with_missing(grown(split("age", 40.0, NO, YES, True)), (1, 0, 7.0)),
    ),
    "missing-and-set": (
        with_missing(grown(WARDS[0]), (2, 4, 3.0)),
        with_missing(grown(WARDS[1]), (1, 4, 5.0)),
    ),
    "categories": (
        grown(split("pain", ("none",), NO, YES)),
        grown(split("pain", ("none", "other"), NO, YES)),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_is_told(name: str) -> None:
    check_snapshot(f"diff-{name}", str(tree_diff(*CHANGES[name])))


def test_rows_scores_and_who_they_are() -> None:
    ages = np.arange(0.0, 100.0, 0.5)
    new = grown(split("age", 60.2, split("bmi", 30.0, NO, YES), YES))
    frame = pd.DataFrame({"age": ages, "bmi": 20.0})
    truth = np.where((ages > 58) | (ages % 10 == 0), "yes", "no")
    check_snapshot("diff-rows", str(tree_diff(OLD, new, frame, truth, X_before=frame)))


def test_numbers() -> None:
    stay = Target("stay", low=0.0, high=30.0)
    leaves = leaf(9, 2.0, impurity=1.0), leaf(9, 10.0, impurity=1.0)
    old, new = (grown(split("age", at, *leaves), stay) for at in (40.0, 50.0))
    frame = pd.DataFrame({"age": np.arange(100.0)})
    check_snapshot("diff-numbers", str(tree_diff(old, new, frame, np.where(np.arange(100) > 50, 10.0, 2.0))))
