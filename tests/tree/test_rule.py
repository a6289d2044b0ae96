"""Rules of trees made by hand, and of random ones against the walk that narrows a box step by step."""

from random import Random

import pytest

from holdfast.data.schema import Feature, Target
from holdfast.tree.rules import Condition, Rule, tree_rules
from holdfast.tree.tree import KNOWN, LEAF, Tree
from reference.random_trees import OUTCOMES, STAY, grown_trees, random_schema, random_tree
from reference.rules import boxes
from reference.trees import (
    AGE,
    FARE_KNOWN,
    FORTY_LEAVES,
    LONE_LEAF,
    NUMERIC,
    ORDERED,
    PAIN,
    PRICE,
    QUESTION,
    SPECIES,
    SUBSET,
    SURVIVED,
    leaf,
    split,
    tree_of,
)

NO, YES = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)


def bounds_of(tree: Tree) -> list[dict[str, tuple[float, float]]]:
    return [restricted_bounds(rule) for rule in tree_rules(tree)]


def restricted_bounds(rule: Rule) -> dict[str, tuple[float, float]]:
    restrictions = rule.restrictions.items()
    return {name: each.bounds for name, each in restrictions if not each.feature.is_subset}


def restricted_categories(rule: Rule) -> dict[str, set[object]]:
    restrictions = rule.restrictions.items()
    return {name: set(each.categories) for name, each in restrictions if each.feature.is_subset}


def categories_of(tree: Tree) -> list[dict[str, set[object]]]:
    return [restricted_categories(rule) for rule in tree_rules(tree)]


# -- by hand ----------------------------------------------------------------------------------------------


def test_a_lone_leaf_restricts_nothing() -> None:
    (rule,) = tree_rules(LONE_LEAF)
    assert (rule.leaf, rule.conditions, rule.restrictions, rule.outcome) == (0, (), {}, "no")
    assert rule.value == (0.677, 0.323)
    assert (rule.count, rule.weight, rule.fraction) == (2207, 2207, 1.0)


def test_nested_thresholds_intersect() -> None:
    # age <= 50 ? (age <= 30 ? .. : ..) : .., on 18 to 90
    assert bounds_of(NUMERIC) == [{"age": (18.0, 30.0)}, {"age": (30.0, 50.0)}, {"age": (50.0, 90.0)}]


def test_rules_follow_the_leaves_in_preorder() -> None:
    rules = tree_rules(NUMERIC)
    assert isinstance(rules, tuple)
    assert all(isinstance(rule, Rule) for rule in rules)
    assert [rule.leaf for rule in rules] == [2, 3, 4]
    assert [rule.outcome for rule in rules] == ["no", "yes", "no"]
    assert [rule.value for rule in rules] == [(0.75, 0.25), (0.1, 0.9), (1.0, 0.0)]
    assert [rule.count for rule in rules] == [40, 20, 40]
    assert [rule.fraction for rule in rules] == [0.4, 0.2, 0.4]


def test_nested_sets_of_categories_intersect() -> None:
    # pain in {atypical, none} ? (pain = atypical ? .. : ..) : (sex = female ? .. : ..)
    assert categories_of(SUBSET) == [
        {"pain": {"atypical"}},
        {"pain": {"none"}},
        {"pain": {"other", "typical"}, "sex": {"female"}},
        {"pain": {"other", "typical"}, "sex": {"male"}},
    ]
    # {none, other, typical} of {atypical, none, other} leaves {none, other} and {atypical}.
    inner = split("pain", ("none", "other", "typical"), YES, NO)
    overlapping = tree_of(split("pain", ("atypical", "none", "other"), inner, NO), (PAIN,), SURVIVED)
    assert categories_of(overlapping)[:2] == [{"pain": {"none", "other"}}, {"pain": {"atypical"}}]


def test_a_question_restricts_its_answer_to_true_or_false() -> None:
    assert categories_of(QUESTION) == [{"bmi ** 2 < 900": {True}}, {"bmi ** 2 < 900": {False}}]


def test_ordered_categories_are_positions_with_thresholds_half_way() -> None:
    # slope at most up (2.5) ? (at most down (0.5) ? .. : ..) : .., positions 0 to 3
    assert bounds_of(ORDERED) == [{"slope": (0.0, 0.5)}, {"slope": (0.5, 2.5)}, {"slope": (2.5, 3.0)}]


def test_where_a_value_is_unknown_the_box_is_empty_at_the_top_of_the_range() -> None:
    # fare is known ? (fare <= 23.35 ? .. : ..) : .., on 0 to 512: knowing the fare restricts nothing.
    assert bounds_of(FARE_KNOWN) == [
        {"fare": (0.0, 23.35)},
        {"fare": (23.35, 512.0)},
        {"fare": (512.0, 512.0)},
    ]
    known_at_the_root = tree_of(split("age", KNOWN, YES, NO), (AGE,), SURVIVED)
    assert bounds_of(known_at_the_root) == [{}, {"age": (90.0, 90.0)}]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(120.0, [{}, {"age": (90.0, 90.0)}]), (3.0, [{"age": (18.0, 18.0)}, {}])],
    ids=["above", "below"],
)
def test_thresholds_outside_the_range_are_clipped_to_it(
    threshold: float, expected: list[dict[str, tuple[float, float]]]
) -> None:
    assert bounds_of(tree_of(split("age", threshold, YES, NO), (AGE,), SURVIVED)) == expected


def test_a_constant_column_is_never_restricted() -> None:
    constant = Feature("always 7", low=7.0, high=7.0)
    assert bounds_of(tree_of(split("always 7", 7.0, YES, NO), (constant,), SURVIVED)) == [{}, {}]


def test_a_set_of_all_categories_restricts_nothing_and_its_other_side_allows_none() -> None:
    tree = tree_of(split("pain", PAIN.categories, YES, NO), (PAIN,), SURVIVED)
    assert categories_of(tree) == [{}, {"pain": set()}]


def test_of_two_most_frequent_classes_the_first_is_the_outcome() -> None:
    (rule,) = tree_rules(tree_of(leaf(10, 0.5, 0.5), (AGE,), SURVIVED))
    assert rule.outcome == "no"


def test_the_outcome_of_a_regression_rule_is_its_mean() -> None:
    rules = tree_rules(PRICE)
    assert [rule.outcome for rule in rules] == [22.6, 12.34567, 45.0]
    assert [rule.value for rule in rules] == [(22.6,), (12.34567,), (45.0,)]


@pytest.mark.parametrize("tree", [NUMERIC, SUBSET, SPECIES, PRICE, LONE_LEAF, FORTY_LEAVES])
def test_the_rules_share_all_rows_out(tree: Tree) -> None:
    assert sum(rule.fraction for rule in tree_rules(tree)) == pytest.approx(1.0)


# -- as values --------------------------------------------------------------------------------------------


def test_conditions_are_found_by_name_in_the_order_of_asking() -> None:
    rule = tree_rules(SUBSET)[2]
    assert [condition.name for condition in rule.conditions] == ["pain", "sex"]
    assert rule.condition("sex").categories == ("female",)
    assert rule.condition("age") is None


def test_what_only_asks_for_a_known_value_is_a_condition_without_a_distance() -> None:
    # age <= 120 on 18 to 90: every age that is known, and no missing one.
    rule = tree_rules(tree_of(split("age", 120.0, YES, NO), (AGE,), SURVIVED))[0]
    assert rule.conditions == (Condition(AGE, high=120.0),)
    assert rule.restrictions == {}
    everything = tree_rules(tree_of(split("age", KNOWN, YES, NO, True), (AGE,), SURVIVED))[0]
    assert everything.conditions == ()


def test_equal_rules_are_one_in_a_set() -> None:
    again = NUMERIC.replace(notes=("read again",))
    assert tree_rules(NUMERIC) == tree_rules(again)
    assert len({*tree_rules(NUMERIC), *tree_rules(again)}) == 3
    assert tree_rules(NUMERIC)[0] != tree_rules(NUMERIC.replace(threshold=NUMERIC.threshold + 1))[0]


def test_an_interval_without_values_stays_inside_the_outer_one() -> None:
    low, high = Condition(AGE, low=50.0), Condition(AGE, high=30.0)
    assert high.within(low) == Condition(AGE, 50.0, 50.0)
    assert low.within(high) == Condition(AGE, 30.0, 30.0)
    assert low.within(high).is_empty
    assert Condition(AGE, high=60.0).within(low) == Condition(AGE, 50.0, 60.0)


def test_ordered_categories_are_known_by_name_and_by_position() -> None:
    middle = tree_rules(ORDERED)[1].condition("slope")
    assert (middle.categories, middle.bounds) == (("flat", "up"), (0.5, 2.5))


# -- against the walk -------------------------------------------------------------------------------------


def assert_rules_are_boxes(tree: Tree) -> None:
    for rule, box in zip(tree_rules(tree), boxes(tree), strict=True):
        assert tree.feature[rule.leaf] == LEAF
        assert (rule.leaf, rule.count, rule.weight) == (box.leaf, box.count, box.weight)
        assert restricted_bounds(rule) == box.restricted_bounds
        assert restricted_categories(rule) == box.restricted_categories
        assert rule.outcome == box.outcome
        assert rule.value == (tuple(box.shares.values()) or (box.value,))


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
def test_random_trees_have_the_rules_of_the_walk(target: Target) -> None:
    for seed in range(300):
        random = Random(seed)
        assert_rules_are_boxes(random_tree(random, random_schema(random, target), random.randint(1, 12)))


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
def test_grown_trees_have_the_rules_of_the_walk(target: Target) -> None:
    for seed in range(15):
        for tree in grown_trees(Random(seed), target, n_estimators=3, max_depth=6):
            assert_rules_are_boxes(tree)
