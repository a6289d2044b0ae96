"""Distances small enough to work out by hand."""

from typing import Any

import pytest

from holdfast.data.schema import Feature, Target
from holdfast.distance.distance import tree_distance
from holdfast.distance.matching import TreeDistance
from holdfast.tree.tree import Tree
from reference.distances import MATCHINGS
from reference.trees import PAIN, SLOPE, Node, leaf, split, tree_of

pytestmark = pytest.mark.kernel

AGE = Feature("age", low=0.0, high=100.0)
WEIGHT = Feature("weight", low=0.0, high=200.0)
CONSTANT = Feature("always 7", low=7.0, high=7.0)
HEAVY = Feature("weight > 100", "custom", categories=(False, True))
FEATURES = (AGE, WEIGHT, CONSTANT, SLOPE, PAIN, HEAVY)
SURVIVED = Target("survived", classes=("no", "yes"))
NO, YES = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)


def grown(root: Node, target: Target = SURVIVED) -> Tree:
    return tree_of(root, FEATURES, target)


def at(threshold: float, yes: Node = NO, no: Node = YES) -> Tree:
    """A stump on age: no up to the threshold and yes above it, unless told otherwise."""
    return grown(split("age", threshold, yes, no))


def parts_of(distance: TreeDistance) -> list[dict[str, float]]:
    """The parts of every pair that cost something."""
    return [{part.feature: part.cost for part in pair.parts if part.cost} for pair in distance.pairs]


def leaves_of(distance: TreeDistance) -> list[tuple[int, int]]:
    """The leaves that are matched to each other."""
    return sorted((pair.first.leaf, pair.second.leaf) for pair in distance.pairs)


# -- one thing moves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("matching", MATCHINGS)
def test_moving_a_threshold_costs_the_share_of_the_range_it_crosses(matching: str) -> None:
    # Each of two leaves: 10 / (2 * 100).
    distance = tree_distance(at(50.0), at(60.0), matching=matching)
    assert distance.total == distance.raw == float(distance) == pytest.approx(0.10)
    assert parts_of(distance) == [{"age": pytest.approx(0.05)}, {"age": pytest.approx(0.05)}]
    assert [pair.outcome_cost for pair in distance.pairs] == [0.0, 0.0]
    assert distance.unmatched == ()


def test_moving_an_ordered_threshold_by_one_category_costs_a_share_of_the_positions() -> None:
    # Positions 0 to 3, from 0.5 to 1.5: each of two leaves 1 / (2 * 3).
    stumps = [grown(split("slope", threshold, NO, YES)) for threshold in (0.5, 1.5)]
    assert tree_distance(*stumps).total == pytest.approx(1 / 3)


def test_moving_a_category_costs_its_share_on_both_sides() -> None:
    # {atypical, none} against {atypical}, and {other, typical} against {none, other, typical}: 1 of 4 each.
    stumps = [grown(split("pain", labels, NO, YES)) for labels in (("atypical", "none"), ("atypical",))]
    distance = tree_distance(*stumps)
    assert distance.total == pytest.approx(0.5)
    assert parts_of(distance) == [{"pain": 0.25}, {"pain": 0.25}]


def test_another_question_costs_both_what_it_adds_and_what_it_drops() -> None:
    # age in [0, 50] is given up: 50 / (2 * 100); the answer is pinned: 1 of 2. So .25 + .5 for each leaf.
    asks_age, asks_question = at(50.0), grown(split("weight > 100", (True,), NO, YES))
    distance = tree_distance(asks_age, asks_question)
    assert distance.total == pytest.approx(1.5)
    assert parts_of(distance) == [{"age": 0.25, "weight > 100": 0.5}] * 2


def test_a_flipped_label_costs_its_weight() -> None:
    # D = 1, so the weight is 2. Swapping the partners only adds (50 + 50) / (2 * 100) twice.
    distance = tree_distance(at(50.0), at(50.0, NO, NO))
    assert (distance.depth, distance.label_weight, distance.total) == (1, 2.0, 2.0)
    assert sorted(pair.outcome_cost for pair in distance.pairs) == [0.0, 2.0]


def test_two_labels_that_swap_move_the_boxes_where_that_is_cheaper() -> None:
    # Box onto box: 2 labels at 2 each. Label onto label: each box moves (50 + 50) / (2 * 100).
    swapped = tree_distance(at(50.0), at(50.0, YES, NO))
    assert swapped.total == 1.0
    assert [pair.first.outcome for pair in swapped.pairs] == [pair.second.outcome for pair in swapped.pairs]
    # At a weight of .1 the labels change: 2 * .1.
    assert tree_distance(at(50.0), at(50.0, YES, NO), label_weight=0.1).total == pytest.approx(0.2)


def test_rows_and_sides_of_missing_values_do_not_matter() -> None:
    other = grown(split("age", 50.0, leaf(3, 0.8, 0.2), leaf(400, 0.3, 0.7), True))
    assert tree_distance(at(50.0), other).total == 0.0


# -- unequal sizes ----------------------------------------------------------------------------------------

# age <= 50 ? (age <= 20 ? no : no) : yes. Boxes [0, 20] no, [20, 50] no, [50, 100] yes.
ONE_MORE = grown(split("age", 50.0, split("age", 20.0, NO, NO), YES))


def test_a_leaf_without_a_partner_costs_the_width_of_its_box() -> None:
    # [50, 100] meets itself. [0, 50] meets [20, 50] for 20 / 200 and leaves [0, 20], or the other way round:
    # .1 + .2 against 30 / 200 + .3.
    distance = tree_distance(at(50.0), ONE_MORE)
    assert distance.total == pytest.approx(0.3)
    (alone,) = distance.unmatched
    assert {name: each.bounds for name, each in alone.rule.restrictions.items()} == {"age": (0.0, 20.0)}
    assert (alone.side, alone.weight) == ("second", pytest.approx(0.2))
    assert leaves_of(distance) == [(1, 3), (2, 4)]
    (alone,) = tree_distance(ONE_MORE, at(50.0)).unmatched
    assert alone.side == "first"


def test_covering_matches_every_leaf_of_the_larger_tree() -> None:
    # [0, 50] meets both [0, 20] and [20, 50]: 30 / 200 + 20 / 200.
    distance = tree_distance(at(50.0), ONE_MORE, matching="cover")
    assert distance.total == pytest.approx(0.25)
    assert distance.unmatched == ()
    assert leaves_of(distance) == [(1, 2), (1, 3), (2, 4)]


def test_in_the_metric_a_leaf_without_a_partner_costs_its_way_to_the_whole_space() -> None:
    # D = 2, so half the label weight is 2. [0, 20] is 80 / 200 from everything, [20, 50] is 70 / 200:
    # .1 + .4 + 2 or .15 + .35 + 2.
    distance = tree_distance(at(50.0), ONE_MORE, matching="metric")
    assert distance.total == pytest.approx(2.5)
    (alone,) = distance.unmatched
    assert alone.weight in (pytest.approx(2.4), pytest.approx(2.35))


def test_a_leaf_restricted_in_two_features_weighs_both() -> None:
    # p = [0, 40] x {none}, q = [0, 40] x the other three, r = [40, 100]; the labels cost nothing.
    # Away from everything: p .3 + .75, q .3 + .25, r .2. Alone: p .4 + .25, q .4 + .75, r .6.
    # The lone leaf meets q: .55 + .65 + .6; meeting p or r would come to 2.8 and 2.
    root = split("age", 40.0, split("pain", ("none",), NO, YES), YES)
    distance = tree_distance(grown(NO), grown(root), label_weight=0.0)
    assert distance.total == pytest.approx(1.8)
    assert sorted(alone.weight for alone in distance.unmatched) == [pytest.approx(0.6), pytest.approx(0.65)]


def test_trees_of_one_size_leave_no_leaf_alone_even_where_that_were_cheaper() -> None:
    # The pairs [0, 1] with [0, 99] and [1, 100] with [99, 100]: .49 each. Alone, [0, 1] and [99, 100] would
    # cost .01 each.
    distance = tree_distance(at(1.0), at(99.0))
    assert distance.total == pytest.approx(0.98)
    assert distance.unmatched == ()


# -- the triangle inequality ------------------------------------------------------------------------------

UNIT = Feature("x", low=0.0, high=1.0)
SAME = leaf(10, 1.0)


def only_label(root: Node) -> Tree:
    return tree_of(root, (UNIT,), Target("y", classes=("same",)))


ROOT = only_label(SAME)
SPLIT = only_label(split("x", 0.05, SAME, SAME))
HALVED = only_label(split("x", 0.05, SAME, split("x", 0.5, SAME, SAME)))


def test_the_matching_of_the_paper_breaks_the_triangle_inequality() -> None:
    # R: [0, 1]. S: [0, .05], [.05, 1]. H: [0, .05], [.05, .5], [.5, 1].
    # R to S: [0, 1] with [.05, 1] for .05 / 2, and [0, .05] alone for .05.
    assert tree_distance(ROOT, SPLIT).total == pytest.approx(0.075)
    # S to H: [0, .05] with [.05, .5] for .5 / 2, [.05, 1] with [.5, 1] for .45 / 2, [0, .05] alone for .05.
    assert tree_distance(SPLIT, HALVED).total == pytest.approx(0.525)
    # R to H: [0, 1] with [.5, 1] for .5 / 2; [0, .05] and [.05, .5] alone for .05 + .45.
    assert tree_distance(ROOT, HALVED).total == pytest.approx(0.75)


def test_the_metric_keeps_it_on_the_same_trees() -> None:
    # Nothing of the labels, at weight 0. Whoever is alone pays the way to [0, 1], so that it makes no
    # difference who meets R: [0, .05] pays .95 / 2, [.05, 1] .05 / 2, [.05, .5] .55 / 2, [.5, 1] .5 / 2.
    near, far, whole = (
        tree_distance(*pair, matching="metric", label_weight=0.0).total
        for pair in ((ROOT, SPLIT), (SPLIT, HALVED), (ROOT, HALVED))
    )
    assert near == pytest.approx(0.475 + 0.025)
    # S to H: [0, .05] meets itself, [.05, 1] meets [.5, 1] for .45 / 2, [.05, .5] alone for .275.
    assert far == pytest.approx(0.225 + 0.275)
    assert whole == pytest.approx(0.475 + 0.275 + 0.25)
    assert whole <= near + far + 1e-9


# -- nothing moves ----------------------------------------------------------------------------------------


def test_a_constant_column_contributes_nothing() -> None:
    inner = split("always 7", 7.0, NO, NO)
    other = split("always 7", 6.0, NO, split("always 7", 8.0, NO, NO))
    distance = tree_distance(grown(split("age", 50.0, inner, YES)), grown(split("age", 50.0, other, YES)))
    # Both [0, 50] of the one meet two of three [0, 50] of the other for nothing; the third is alone for .5.
    assert distance.total == pytest.approx(0.5)
    alone = grown(split("always 7", 7.0, NO, NO))
    assert tree_distance(grown(NO), alone).total == 0.0
    assert tree_distance(grown(NO), alone, matching="metric", label_weight=0.0).total == 0.0


def test_redundant_splits_leave_empty_boxes() -> None:
    # Below age <= 50, asking age <= 80 splits [0, 50] into itself and an empty box at 50.
    redundant = grown(split("age", 50.0, split("age", 80.0, NO, NO), YES))
    distance = tree_distance(at(50.0), redundant)
    assert distance.total == 0.0
    assert [alone.weight for alone in distance.unmatched] == [0.0]


# -- outcomes ---------------------------------------------------------------------------------------------


def test_classes_are_compared_by_value_whatever_their_position() -> None:
    wider = Target("survived", classes=("lost", "no", "yes"))
    no, yes, lost = (leaf(10, *shares) for shares in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
    assert tree_distance(at(50.0), grown(split("age", 50.0, no, yes), wider)).total == 0.0
    # A class that one tree has never seen is another class: one label at the weight 2 D.
    assert tree_distance(at(50.0), grown(split("age", 50.0, no, lost), wider)).total == 2.0
    assert tree_distance(grown(split("age", 50.0, no, lost), wider), at(50.0)).total == 2.0


def test_a_tie_of_classes_is_what_the_tree_itself_predicts() -> None:
    # Half and half: the first class of the tree's own schema, which is "yes" in the one.
    tied = grown(leaf(10, 0.5, 0.5), Target("survived", classes=("yes", "no")))
    assert tree_distance(tied, grown(YES)).total == tree_distance(grown(YES), tied).total == 0.0
    assert tree_distance(tied, grown(NO)).total == 2.0


def test_features_are_compared_by_name_whatever_their_position() -> None:
    turned = tree_of(split("age", 60.0, NO, YES), FEATURES[4::-1] + FEATURES[5:], SURVIVED)
    assert tree_distance(at(50.0), turned).total == pytest.approx(0.1)


@pytest.mark.parametrize(("other", "expected"), [(20.0, 0.4), (50.0, 1.6), (70.0, 1.6), (-5.0, 0.4)])
def test_regression_compares_values_as_shares_of_the_range(other: float, expected: float) -> None:
    # 10 and 20 on [0, 50] at the weight 2: 2 * 10 / 50. Values beyond the range count as its ends.
    price = Target("price", low=0.0, high=50.0)
    ten, another = (grown(leaf(5, value, impurity=1.0), price) for value in (10.0, other))
    distance = tree_distance(ten, another)
    assert distance.total == pytest.approx(expected)
    assert tree_distance(ten, another, outcome="value").total == distance.total


def test_values_of_a_target_without_a_range_do_not_differ() -> None:
    price = Target("price", low=3.0, high=3.0)
    low, high = (grown(leaf(5, value, impurity=1.0), price) for value in (2.0, 4.0))
    assert tree_distance(low, high).total == 0.0


def test_distributions_differ_by_the_share_that_would_have_to_move() -> None:
    # Total variation of (.75, .25) and (.5, .5) is .25; both predict no. At the weight 2: .5.
    first, second = (grown(leaf(8, share, 1 - share)) for share in (0.75, 0.5))
    assert tree_distance(first, second).total == 0.0
    assert tree_distance(first, second, outcome="label").total == 0.0
    assert tree_distance(first, second, outcome="distribution").total == pytest.approx(0.5)
    # With a third class that the first has never seen: (0, .75, .25) against (.5, .5, 0) is .5.
    third = grown(leaf(8, 0.5, 0.5, 0.0), Target("survived", classes=("lost", "no", "yes")))
    assert tree_distance(first, third, outcome="distribution").total == pytest.approx(1.0)


# -- scale ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "depth", "label_weight", "raw", "total"),
    [
        ({}, 1, 2.0, 2.0, 0.25),  # 2 / (2^1 (2 + 2))
        ({"depth": 3}, 3, 6.0, 6.0, 0.0625),  # 6 / (2^3 (6 + 6))
        ({"label_weight": 1.0}, 1, 1.0, 1.0, 1 / 6),  # 1 / (2^1 (2 + 1))
        ({"label_weight": 0.5, "depth": 2}, 2, 0.5, 0.5, 0.5 / 18),  # .5 / (2^2 (4 + .5))
    ],
)
def test_normalising_divides_by_the_greatest_distance_of_that_depth(
    options: dict[str, Any], depth: int, label_weight: float, raw: float, total: float
) -> None:
    distance = tree_distance(at(50.0), at(50.0, NO, NO), normalised=True, **options)
    assert (distance.depth, distance.label_weight) == (depth, label_weight)
    assert (distance.raw, distance.total) == (pytest.approx(raw), pytest.approx(total))
    assert float(distance) == distance.total


def test_lone_leaves_count_as_one_deep() -> None:
    distance = tree_distance(grown(NO), grown(YES), normalised=True)
    assert (distance.depth, distance.label_weight, distance.raw) == (1, 2.0, 2.0)
    assert distance.total == 0.25


def test_the_deeper_tree_gives_the_depth() -> None:
    assert tree_distance(at(50.0), ONE_MORE).depth == tree_distance(ONE_MORE, at(50.0)).depth == 2


# -- telling ----------------------------------------------------------------------------------------------


def test_a_distance_keeps_its_trees_and_explains_itself() -> None:
    first, second = at(50.0), ONE_MORE
    distance = tree_distance(first, second)
    assert distance.first is first
    assert distance.second is second
    assert distance.matching == "paper"
    text = distance.explain()
    assert isinstance(text, str)
    assert "age" in text


def test_identical_trees_have_pairs_that_cost_nothing() -> None:
    distance = tree_distance(ONE_MORE, ONE_MORE)
    assert [pair.cost for pair in distance.pairs] == [0.0, 0.0, 0.0]
    assert parts_of(distance) == [{}, {}, {}]
    assert isinstance(distance.explain(), str)
