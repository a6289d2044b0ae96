"""The distance of two rules and the weight of one, by hand; and of all rules of random trees."""

from random import Random

import pytest

from holdfast import tree_distance
from holdfast.data.schema import Feature, Target
from holdfast.distance import rule_distance, rule_weight
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.tree import tree_rules
from holdfast.tree.rules import Rule
from holdfast.tree.tree import KNOWN, Tree
from reference.distances import rule_cost, unmatched_weight
from reference.random_trees import OUTCOMES, STAY, random_schema, random_tree
from reference.rules import boxes
from reference.trees import leaf, split, tree_of

AGE = Feature("age", low=0.0, high=100.0)
WARD = Feature("ward", "nominal", categories=("A", "B", "C", "D"))
GRADE = Feature("grade", "ordered", low=0.0, high=2.0, categories=("low", "middle", "high"))
CONSTANT = Feature("constant", low=7.0, high=7.0)
LIVED = Target("lived", classes=("no", "yes"))
DAYS = Target("days", low=10.0, high=30.0)
NO, YES = leaf(10, 1.0, 0.0), leaf(10, 0.25, 0.75)


def rules_of(root, target: Target = LIVED) -> tuple[Rule, ...]:
    return tree_rules(tree_of(root, (AGE, WARD, GRADE, CONSTANT), target))


# -- distances --------------------------------------------------------------------------------------------


def test_the_ends_of_an_interval_cost_half_of_the_fraction_of_the_range_that_they_move() -> None:
    # (20, 60] and (30, 100]: (|60 - 100| + |20 - 30|) / (2 * 100)
    p = rules_of(split("age", 60.0, split("age", 20.0, NO, NO), NO))[1]
    q = rules_of(split("age", 30.0, NO, NO))[1]
    assert rule_distance(p, q, label_weight=1.0) == pytest.approx(0.25)
    assert rule_distance(q, p, label_weight=1.0) == pytest.approx(0.25)


def test_categories_cost_the_fraction_that_only_one_rule_allows() -> None:
    # {A, B} and {B, C, D}: A, C and D of four; {A, B} and no condition: C and D of four.
    p = rules_of(split("ward", ("A", "B"), NO, NO))[0]
    q = rules_of(split("ward", ("A",), NO, NO))[1]
    assert rule_distance(p, q, label_weight=1.0) == 0.75
    assert rule_distance(p, rules_of(NO)[0], label_weight=1.0) == 0.5


def test_ordered_categories_cost_by_position() -> None:
    # at most low (0 to 0.5) and at most middle (0 to 1.5), of positions 0 to 2
    p, q = (rules_of(split("grade", cut, NO, NO))[0] for cut in (0.5, 1.5))
    assert rule_distance(p, q, label_weight=1.0) == pytest.approx(1.0 / (2 * 2))


def test_another_label_costs_the_label_weight_and_distributions_their_total_variation() -> None:
    p, q = rules_of(NO)[0], rules_of(YES)[0]
    assert rule_distance(p, q, label_weight=6.0) == 6.0
    assert rule_distance(p, q, label_weight=6.0, outcome="distribution") == 6.0 * 0.75


def test_numbers_cost_the_fraction_of_the_target_range_between_them() -> None:
    p, q = (rules_of(leaf(10, mean, impurity=0.0), DAYS)[0] for mean in (15.0, 45.0))
    assert rule_distance(p, q, label_weight=2.0) == 2.0 * (30 - 15) / 20  # 45 counts as the end, 30


def test_what_restricts_nothing_in_the_range_costs_nothing() -> None:
    whole = rules_of(NO)[0]
    for root in (split("age", 120.0, NO, NO), split("age", KNOWN, NO, NO), split("constant", 7.0, NO, NO)):
        assert rule_distance(rules_of(root)[0], whole, label_weight=1.0) == 0.0
        assert rule_weight(rules_of(root)[0]) == 0.0


# -- weights ----------------------------------------------------------------------------------------------


def test_the_weight_of_the_paper_is_what_the_rule_allows_of_each_feature_that_it_restricts() -> None:
    # 20 < age <= 60 and ward in {A}: 40 / 100 + 1 / 4
    inner = split("age", 20.0, NO, split("ward", ("A",), NO, NO))
    rule = rules_of(split("age", 60.0, inner, NO))[1]
    assert rule_weight(rule) == pytest.approx(0.4 + 0.25)
    assert rule_weight(rules_of(NO)[0]) == 0.0


def test_the_weight_of_the_metric_is_the_distance_to_the_whole_space_and_half_a_label() -> None:
    # (20 + 40) / (2 * 100) cut off the range, three of four wards, and 6 / 2
    inner = split("age", 20.0, NO, split("ward", ("A",), NO, NO))
    rule = rules_of(split("age", 60.0, inner, NO))[1]
    assert rule_weight(rule, matching="metric", label_weight=6.0) == pytest.approx(0.3 + 0.75 + 3.0)


# -- against the twin -------------------------------------------------------------------------------------


def pair_of_trees(seed: int, target: Target) -> tuple[Tree, Tree]:
    random = Random(seed)
    schema = random_schema(random, target)
    return random_tree(random, schema, 6), random_tree(random, schema, 6)


@pytest.mark.parametrize(
    ("target", "outcome"), [(OUTCOMES, "label"), (OUTCOMES, "distribution"), (STAY, "value")]
)
def test_rules_of_random_trees_cost_what_the_formulas_say(target: Target, outcome: str) -> None:
    for seed in range(40):
        a, b = pair_of_trees(seed, target)
        for p, box_p in zip(tree_rules(a), boxes(a), strict=True):
            for q, box_q in zip(tree_rules(b), boxes(b), strict=True):
                expected = rule_cost(box_p, box_q, a.schema, 3.0, outcome)
                found = rule_distance(p, q, label_weight=3.0, outcome=outcome)
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
            for matching in ("paper", "metric"):
                found = rule_weight(p, matching=matching, label_weight=3.0)
                assert found == pytest.approx(unmatched_weight(box_p, matching, 3.0), rel=1e-9, abs=1e-9)


def test_the_pairs_of_a_tree_distance_cost_what_their_rules_do() -> None:
    for seed in range(10):
        distance = tree_distance(*pair_of_trees(seed, OUTCOMES))
        for pair in distance.pairs:
            apart = rule_distance(pair.first, pair.second, label_weight=distance.label_weight)
            assert pair.cost == pytest.approx(apart, rel=1e-9)
        for alone in distance.unmatched:
            assert alone.weight == rule_weight(alone.rule)


# -- errors -----------------------------------------------------------------------------------------------


def test_rules_on_two_schemas_are_not_compared() -> None:
    p = rules_of(split("age", 50.0, NO, YES))[0]
    wider = tree_of(split("age", 50.0, NO, YES), (Feature("age", low=0.0, high=120.0),), LIVED)
    with pytest.raises(SchemaMismatch, match="column 'age' has another range"):
        rule_distance(p, tree_rules(wider)[0], label_weight=1.0)
    with pytest.raises(SchemaMismatch, match="the target 'lived'"):
        rule_distance(p, rules_of(leaf(10, 15.0, impurity=0.0), DAYS)[0], label_weight=1.0)


def test_options_that_make_no_sense_are_named() -> None:
    p = rules_of(NO)[0]
    with pytest.raises(ParameterError, match="leaves no rule unmatched"):
        rule_weight(p, matching="cover")
    with pytest.raises(ParameterError, match="needs a label_weight"):
        rule_weight(p, matching="metric")
    with pytest.raises(ParameterError, match="label_weight=-1"):
        rule_distance(p, p, label_weight=-1)
    with pytest.raises(ParameterError, match="outcome='value'"):
        rule_distance(p, p, label_weight=1.0, outcome="value")
