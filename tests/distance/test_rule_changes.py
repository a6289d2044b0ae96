"""What changed rule by rule, small enough to work out by hand."""

from typing import Any

import pytest

from holdfast.data.schema import Feature, Target
from holdfast.distance.diff import TreeDiff, share_changed, tree_diff
from holdfast.tree.rules import Condition
from holdfast.tree.tree import Tree
from reference.trees import PAIN, SLOPE, Node, leaf, split, tree_of

AGE = Feature("age", low=0.0, high=100.0)
WEIGHT = Feature("weight", low=0.0, high=200.0)
FEATURES = (AGE, WEIGHT, SLOPE, PAIN)
SURVIVED = Target("survived", classes=("no", "yes"))
NO, YES = leaf(10, 0.9, 0.1), leaf(10, 0.2, 0.8)


def grown(root: Node, target: Target = SURVIVED) -> Tree:
    return tree_of(root, FEATURES, target)


def diff_of(old: Node, new: Node, **options: Any) -> TreeDiff:
    return tree_diff(grown(old), grown(new), **options)


def kinds(diff: TreeDiff) -> set[tuple[str, ...]]:
    return {change.kinds for change in diff.changes}


def test_a_tree_and_itself_differ_in_nothing() -> None:
    tree = grown(split("age", 50.0, NO, split("pain", ("none",), NO, YES)))
    diff = tree_diff(tree, tree)
    assert diff.is_empty
    assert (diff.changes, diff.splits, diff.same_root) == ((), (), True)
    assert len(diff.same) == 3


def test_a_threshold_that_moved_is_told_with_its_share_of_the_range() -> None:
    diff = diff_of(split("age", 50.0, NO, YES), split("age", 60.0, NO, YES))
    assert kinds(diff) == {("threshold",)}
    for change in diff.changes:
        (condition,) = change.conditions
        assert condition.name == "age"
        assert condition.share == pytest.approx(0.10)  # rows from 50 to 60 change side
        assert condition.cost == change.cost == pytest.approx(0.05)  # half of it for each of two rules
    assert diff.changes[0].conditions[0].old.high == 50.0
    assert diff.changes[0].conditions[0].new.high == 60.0


def test_categories_that_moved() -> None:
    diff = diff_of(split("pain", ("atypical", "none"), NO, YES), split("pain", ("atypical",), NO, YES))
    assert kinds(diff) == {("categories",)}
    assert [change.conditions[0].share for change in diff.changes] == [0.25, 0.25]


def test_only_the_side_of_missing_values() -> None:
    diff = diff_of(split("age", 50.0, NO, YES, True), split("age", 50.0, NO, YES, False))
    assert kinds(diff) == {("missing",)}
    assert sum(change.cost for change in diff.changes) == diff.distance.total == 0.0
    assert [each.kind for each in diff.splits] == ["missing"]


def test_another_question() -> None:
    diff = diff_of(split("age", 50.0, NO, YES), split("weight", 80.0, NO, YES))
    assert kinds(diff) == {("condition",)}
    first = diff.changes[0]
    assert [(each.name, each.old is None, each.new is None) for each in first.conditions] == [
        ("age", False, True),
        ("weight", True, False),
    ]
    assert not diff.same_root


def test_a_further_bound_on_the_same_feature_is_a_question() -> None:
    twice = split("age", 50.0, split("age", 20.0, YES, NO), YES)
    diff = diff_of(split("age", 50.0, NO, YES), twice)
    assert {each.kinds for each in diff.changes} == {("condition",), ("new",)}
    moved = diff.of_kind("condition")[0]
    assert (moved.conditions[0].old.bounds, moved.conditions[0].new.bounds) == ((0.0, 50.0), (20.0, 50.0))


def test_another_class_and_another_probability() -> None:
    other = leaf(10, 0.3, 0.7)
    assert kinds(diff_of(split("age", 50.0, NO, YES), split("age", 50.0, NO, other))) == {("value",)}
    diff = diff_of(split("age", 50.0, NO, YES), split("age", 50.0, NO, NO), label_weight=3.0)
    (changed,) = diff.changes
    assert changed.kinds == ("outcome",)
    assert changed.outcome_cost == changed.cost == diff.distance.total == 3.0
    assert changed.shift == pytest.approx(0.7)


def test_another_number() -> None:
    stay = Target("stay", low=0.0, high=30.0)
    old, new = (grown(split("age", 50.0, leaf(9, 2.0), leaf(9, mean)), stay) for mean in (5.0, 8.0))
    (changed,) = tree_diff(old, new, label_weight=1.0).changes
    assert (changed.kinds, changed.shift, changed.cost) == (("value",), 3.0, pytest.approx(0.1))


def test_the_same_rules_asked_in_another_order() -> None:
    by_age = split("age", 50.0, split("weight", 80.0, NO, YES), split("weight", 80.0, YES, NO))
    by_weight = split("weight", 80.0, split("age", 50.0, NO, YES), split("age", 50.0, YES, NO))
    diff = diff_of(by_age, by_weight)
    assert kinds(diff) == {("order",)}
    assert diff.distance.total == 0.0


@pytest.mark.parametrize(("turned", "kind"), [(False, "new"), (True, "gone")])
def test_a_rule_without_a_counterpart(turned: bool, kind: str) -> None:
    trees = [split("age", 50.0, NO, YES), split("age", 50.0, NO, split("weight", 80.0, YES, NO))]
    diff = diff_of(*(reversed(trees) if turned else trees))
    (alone,) = diff.of_kind(kind)
    assert alone.kinds == (kind,)
    assert (alone.old is None, alone.new is None) == (not turned, turned)
    assert alone.cost == diff.distance.unmatched[0].weight


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        (Condition(AGE, high=40.0), Condition(AGE, high=55.0), 0.15),
        (Condition(AGE, 10.0, 40.0), Condition(AGE, 20.0, 60.0), 0.30),
        (Condition(AGE, high=40.0), Condition(AGE, low=60.0), 0.80),  # neither allows 40 to 60
        (Condition(AGE, high=40.0), None, 0.60),
        (Condition(AGE, high=150.0), Condition(AGE, high=400.0), 0.0),  # beyond the range
        (Condition(PAIN, categories=("none",)), Condition(PAIN, categories=("none", "other")), 0.25),
        (None, None, 0.0),
    ],
)
def test_the_share_that_changed_side(old: Condition | None, new: Condition | None, share: float) -> None:
    assert share_changed(old, new) == pytest.approx(share)


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_a_value_is_the_same_where_the_unit_of_the_target_says_so(unit: float) -> None:
    def of(value: float) -> Tree:
        leaves = leaf(10, 1.0 * unit, impurity=1.0), leaf(10, value * unit, impurity=1.0)
        return tree_of(split("age", 50.0, *leaves), (AGE,), Target("dose", low=0.0, high=4.0 * unit))

    assert [change.kinds for change in tree_diff(of(2.0), of(2.5)).changes] == [("value",)]
    assert tree_diff(of(2.0), of(2.0 + 1e-14)).changes == ()
