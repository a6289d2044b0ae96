"""What must hold for the diff of any two trees."""

from math import fsum
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.distance.diff import CHANGE_KINDS, tree_diff
from holdfast.tree.tree import KNOWN
from reference.distances import MATCHINGS
from reference.random_trees import OUTCOMES, STAY, grown_trees, random_schema, random_tree, reorder


@st.composite
def compared(draw: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Two trees on one schema, and a way to compare them."""
    outcome = draw(st.sampled_from((None, "label", "distribution", "value")))
    random: Random = draw(st.randoms(use_true_random=False))
    schema = random_schema(random, STAY if outcome == "value" else OUTCOMES)
    old, new = (random_tree(random, schema, random.randint(1, 7)) for _ in range(2))
    for tree in (old, new):  # a leaf that no row can reach has no conditions of its own to pay for
        assume(not ((tree.threshold == KNOWN) & tree.missing_left).any())
    weight = draw(st.none() | st.floats(0.0, 50.0))
    matching = draw(st.sampled_from(MATCHINGS))
    return old, new, {"outcome": outcome, "matching": matching, "label_weight": weight}


@given(compared())
def test_the_costs_of_the_rules_add_up_to_the_distance(drawn: Any) -> None:
    old, new, options = drawn
    diff = tree_diff(old, new, **options)
    assert fsum(change.cost for change in diff.changes) == pytest.approx(diff.distance.total, abs=1e-9)
    for change in diff.changes:
        if change.old is not None and change.new is not None:
            parts = [each.cost for each in change.conditions]
            assert fsum([*parts, change.outcome_cost]) == pytest.approx(change.cost, abs=1e-9)
    # Values that differ by the last digits of the range are the same, and cost next to nothing.
    assert all(change.cost == pytest.approx(0.0, abs=1e-9) for change in diff.same)


@given(compared())
def test_every_rule_of_both_trees_is_in_the_diff(drawn: Any) -> None:
    old, new, options = drawn
    diff = tree_diff(old, new, **options)
    every = [*diff.changes, *diff.same]
    assert {each.old.leaf for each in every if each.old} == {*(old.feature == -1).nonzero()[0].tolist()}
    assert {each.new.leaf for each in every if each.new} == {*(new.feature == -1).nonzero()[0].tolist()}
    assert all(set(each.kinds) <= set(CHANGE_KINDS) and each.kinds for each in diff.changes)


@given(compared())
def test_a_tree_and_itself_in_another_order_differ_in_nothing(drawn: Any) -> None:
    old, _, options = drawn
    assert tree_diff(old, old, **options).is_empty
    assert tree_diff(old, reorder(old, Random(0)), **options).is_empty


@pytest.mark.parametrize("seed", [13, 27, 63, 157])
def test_a_threshold_anywhere_between_two_categories_asks_the_same(seed: int) -> None:
    """Trees of ordered columns with thresholds that are other numbers, but no other questions."""
    random = Random(seed)
    old = random_tree(random, random_schema(random, STAY), random.randint(1, 7))
    assert tree_diff(old, reorder(old, Random(0)), outcome="value").is_empty


@settings(max_examples=15)
@given(st.randoms(use_true_random=False))
def test_what_is_new_one_way_is_gone_the_other_way(random: Random) -> None:
    a, b = grown_trees(random)
    there, back = tree_diff(a, b, label_weight=3.0), tree_diff(b, a, label_weight=3.0)
    assert there.distance.total == back.distance.total
    assert len(there.of_kind("new")) == len(back.of_kind("gone"))
    assert there.same_root == back.same_root
