"""What changed split by split, small enough to work out by hand."""

import pytest

from holdfast.data.schema import Feature, Target
from holdfast.distance.diff import SplitChange, compare_splits
from holdfast.tree.tree import Tree
from reference.trees import PAIN, SLOPE, Node, leaf, split, tree_of

AGE = Feature("age", low=0.0, high=100.0)
WEIGHT = Feature("weight", low=0.0, high=200.0)
SURVIVED = Target("survived", classes=("no", "yes"))
NO, YES = leaf(30, 0.9, 0.1), leaf(10, 0.2, 0.8)


def grown(root: Node) -> Tree:
    return tree_of(root, (AGE, WEIGHT, SLOPE, PAIN), SURVIVED)


def changes(old: Node, new: Node) -> tuple[SplitChange, ...]:
    return compare_splits(grown(old), grown(new))


def test_a_threshold_at_the_root_is_told_once_whatever_hangs_below() -> None:
    below = split("weight", 80.0, NO, YES), split("weight", 90.0, YES, NO)
    (root,) = changes(split("age", 44.0, *below), split("age", 46.0, *below))
    assert (root.kind, root.is_root, root.is_move) == ("threshold", True, True)
    assert (root.old.high, root.new.high, root.share) == (44.0, 46.0, pytest.approx(0.02))
    assert (root.where, root.fraction, root.leaves) == ((), 1.0, (4, 4))


def test_the_walk_goes_on_below_a_threshold_that_moved() -> None:
    old = split("age", 44.0, split("slope", 0.5, NO, YES), YES)
    new = split("age", 46.0, split("slope", 1.5, NO, YES), YES)
    _, below = changes(old, new)
    assert (below.kind, below.old_node, below.fraction) == ("threshold", 1, 0.8)
    assert below.share == pytest.approx(1 / 3)  # positions 0 to 3, moved by one
    assert [(each.name, each.high) for each in below.where] == [("age", 44.0)]


def test_a_question_that_was_replaced_ends_the_walk() -> None:
    old = split("age", 44.0, split("weight", 80.0, split("age", 20.0, NO, YES), YES), YES)
    new = split("age", 44.0, split("slope", 0.5, NO, YES), YES)
    (only,) = changes(old, new)
    assert (only.kind, only.old.name, only.new.name, only.leaves) == ("replaced", "weight", "slope", (3, 2))
    assert not only.is_move


def test_a_split_that_is_new_or_gone() -> None:
    small, large = split("age", 44.0, NO, YES), split("age", 44.0, NO, split("weight", 80.0, YES, NO))
    (new,) = changes(small, large)
    assert (new.kind, new.old, new.new.name, new.leaves) == ("new", None, "weight", (1, 2))
    (gone,) = changes(large, small)
    assert (gone.kind, gone.old.name, gone.new) == ("gone", "weight", None)


def test_a_set_of_categories_may_be_named_by_either_side() -> None:
    assert (
        changes(
            split("pain", ("none",), NO, YES),
            split("pain", PAIN.categories[:1] + PAIN.categories[2:], YES, NO, True),
        )
        == ()
    )
    (moved,) = changes(
        split("pain", ("none",), NO, YES, True), split("pain", ("atypical", "typical"), YES, NO, False)
    )
    # none | atypical, other, typical became none, other | atypical, typical
    assert (moved.kind, moved.share, moved.new.categories) == ("categories", 0.25, ("none", "other"))


def test_categories_that_cannot_come_by_have_no_side() -> None:
    def below(*labels: str) -> Node:
        return split("pain", ("none", "other"), split("pain", labels, NO, YES), YES)

    assert changes(below("none"), below("none", "typical")) == ()
