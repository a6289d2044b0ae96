import re

import numpy as np
import pytest

from holdfast.data.schema import Feature, Target
from holdfast.tree.rules import tree_rules
from holdfast.tree.rules_text import branch_text, leaf_conditions, rule_text, rules_text
from holdfast.tree.tree import KNOWN
from reference.trees import (
    AGE,
    FARE,
    FARE_KNOWN,
    FORTY_LEAVES,
    LONE_LEAF,
    NUMERIC,
    ORDERED,
    PRICE,
    QUESTION,
    SEX,
    SPECIES,
    SUBSET,
    SURVIVED,
    leaf,
    split,
    tree_of,
)

NO, YES = leaf(10, 0.9, 0.1), leaf(10, 0.1, 0.9)


def both(tree, node=0, **options):
    return branch_text(tree, node, True, **options), branch_text(tree, node, False, **options)


def conditions_of(tree, **options):
    return list(leaf_conditions(tree, **options).values())


def ward_tree(wards: int, left: int):
    ward = Feature("ward", "nominal", categories=tuple(f"w{number}" for number in range(wards)))
    return tree_of(split("ward", ward.categories[:left], NO, YES), (ward,), SURVIVED)


# -- one question -----------------------------------------------------------------------------------------


ALL_KNOWN = tree_of(split("sex", ("female", "male"), NO, YES), (SEX,), SURVIVED)
ALL_LEFT = tree_of(split("fare", KNOWN, NO, YES, missing_left=True), (FARE,), SURVIVED)


@pytest.mark.parametrize(
    ("tree", "node", "missing", "yes", "no"),
    [
        (NUMERIC, 0, False, "age <= 50", "age > 50"),
        (SUBSET, 0, False, "pain in {atypical, none}", "pain in {other, typical}"),
        (SUBSET, 4, False, "sex = female", "sex = male"),
        (SUBSET, 1, False, "pain = atypical", "pain = none"),  # other and typical went right at the root
        (QUESTION, 0, False, "bmi ** 2 < 900", "not (bmi ** 2 < 900)"),
        (ORDERED, 0, False, "slope at most up", "slope = steep"),
        (ORDERED, 1, False, "slope = down", "slope above down"),
        (FARE_KNOWN, 0, False, "fare is recorded", "fare is not recorded"),
        (ALL_KNOWN, 0, False, "sex is recorded", "sex is not recorded"),
        (ALL_LEFT, 0, False, "fare is recorded or not", "fare has no possible value"),
        (NUMERIC, 0, True, "age <= 50", "age > 50 or not recorded"),
        (SUBSET, 0, True, "pain in {atypical, none} or not recorded", "pain in {other, typical}"),
        (QUESTION, 0, True, "(bmi ** 2 < 900) or not recorded", "not (bmi ** 2 < 900)"),
        (FARE_KNOWN, 1, True, "fare <= 23.35", "fare > 23.35"),
        (NUMERIC, 1, True, "age <= 30", "age > 30"),  # missing ages went right at the root
    ],
)
def test_the_conditions_of_both_branches(tree, node, missing, yes, no):
    assert both(tree, node, missing=missing) == (yes, no)


def test_a_long_list_is_told_by_the_short_one_of_the_other_side():
    assert both(ward_tree(9, 2)) == ("ward in {w0, w1}", "ward not in {w0, w1}")
    assert both(ward_tree(9, 1)) == ("ward = w0", "ward is not w0")
    assert branch_text(ward_tree(12, 6), 0, False) == "ward in {w6, w7, w8, w9, w10, w11}"


def test_two_long_lists_are_cut_for_whoever_has_little_room():
    yes, no = both(ward_tree(50, 8), most=6)
    assert yes == "ward in {w0, w1, w2, w3, w4, … 3 more}"
    assert no == "ward in {w8, w9, w10, w11, w12, … 37 more}"


def test_a_condition_names_every_category_unless_it_is_to_be_cut():
    yes, no = both(ward_tree(50, 8))
    assert yes == f"ward in {{{', '.join(f'w{number}' for number in range(8))}}}"
    assert no == f"ward in {{{', '.join(f'w{number}' for number in range(8, 50))}}}"


def test_rules_can_be_carried_out_however_many_categories_there_are():
    tree = ward_tree(3000, 1200)
    sides = [{f"w{number}" for number in numbers} for numbers in (range(1200), range(1200, 3000))]
    assert [set(re.findall(r"w\d+", *conditions)) for conditions in conditions_of(tree)] == sides
    assert [set(re.findall(r"w\d+", text)) for text in rules_text(tree).split("\n\n")] == sides
    assert max(map(len, rules_text(tree).splitlines())) <= 80


def test_no_line_ends_inside_a_category():
    labels = (*tuple(f"ward {number}, north" for number in range(20)), "rock 'n' roll", "o'clock")
    feature = Feature("ward", "nominal", categories=labels)
    tree = tree_of(split("ward", labels[:10] + labels[-2:], NO, YES), (feature,), SURVIVED)
    lines = rules_text(tree).splitlines()
    for label in labels:
        assert any(label in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_rules_may_be_cut_and_show_it():
    assert "… 37 more" in rules_text(ward_tree(50, 8), most=24)
    assert "w7" in rules_text(ward_tree(50, 8), most=24)


def test_every_class_of_a_leaf_is_told():
    target = Target("letter", classes=tuple("abcdefghij"))
    tree = tree_of(split("age", 50.0, leaf(10, *[0.1] * 10), leaf(1, *[0.0] * 9, 1.0)), (AGE,), target)
    told = rules_text(tree).split("\n\n")[0]
    assert all(f"{letter} 0.10" in told for letter in "abcdefghi")  # j is the outcome, as above
    assert "… 4 more" in rules_text(tree, most=5)


def test_labels_that_would_blur_a_list_are_quoted():
    feature = Feature("note", "nominal", categories=("", "a, b", "c", "two words", 1.0, True))
    tree = tree_of(split("note", ("", "a, b", "c"), NO, YES), (feature,), SURVIVED)
    assert both(tree) == ("note in {'', 'a, b', c}", "note in {two words, 1, True}")


def test_line_breaks_in_names_are_spelt_out():
    feature = Feature("age\nin years", low=0.0, high=90.0)
    assert branch_text(tree_of(split(feature.name, 5.0, NO, YES), (feature,), SURVIVED), 0, True) == (
        "age\\nin years <= 5"
    )


# -- numbers ----------------------------------------------------------------------------------------------


# -- rules ------------------------------------------------------------------------------------------------


def test_nested_thresholds_of_one_feature_merge_into_a_range():
    assert conditions_of(NUMERIC) == [
        ("age <= 30",),
        ("30 < age <= 50",),
        ("age > 50",),
    ]


def test_nested_subsets_merge_into_the_categories_that_remain():
    assert conditions_of(SUBSET) == [
        ("pain = atypical",),
        ("pain = none",),
        ("pain in {other, typical}", "sex = female"),
        ("pain in {other, typical}", "sex = male"),
    ]


def test_nested_cuts_of_an_order_merge_into_a_stretch():
    assert [conditions[0] for conditions in conditions_of(ORDERED)] == [
        "slope = down",
        "slope from flat to up",
        "slope = steep",
    ]


def test_a_known_value_needs_no_mention_once_it_is_compared():
    assert conditions_of(FARE_KNOWN) == [
        ("fare <= 23.35",),
        ("fare > 23.35",),
        ("fare is not recorded",),
    ]


def test_a_missing_value_meets_a_merged_condition_only_if_it_passes_every_question():
    root_left = NUMERIC.replace(missing_left=np.array([True, True, False, False, False]))
    assert conditions_of(root_left, missing=True) == [
        ("age <= 30 or not recorded",),
        ("30 < age <= 50",),
        ("age > 50",),
    ]


def test_bounds_closer_than_six_digits_still_differ_in_the_rule():
    tree = tree_of(split("age", 30.0000002, split("age", 30.0000001, NO, YES), YES), (AGE,), SURVIVED)
    assert conditions_of(tree)[1] == ("30.0000001 < age <= 30.0000002",)


def test_conditions_stand_in_the_order_of_asking():
    tree = tree_of(
        split("fare", 9.0, split("age", 5.0, split("fare", 3.0, NO, YES), NO), NO), (AGE, FARE), SURVIVED
    )
    assert conditions_of(tree)[1] == ("3 < fare <= 9", "age <= 5")


def test_classes_that_read_alike_are_told_apart():
    tree = tree_of(leaf(1, 0.4, 0.6), (AGE,), Target("y", classes=(1, "1")))
    assert rule_text(tree_rules(tree)[0]) == "THEN '1'"


# -- one rule on a line -----------------------------------------------------------------------------------


def test_a_rule_reads_as_one_line():
    assert [str(rule) for rule in tree_rules(SUBSET)][1:3] == [
        "IF pain = none THEN no",
        "IF pain in {other, typical} AND sex = female THEN yes",
    ]
    assert str(tree_rules(LONE_LEAF)[0]) == "THEN no"
    assert str(tree_rules(PRICE)[1]).endswith("THEN 12.35")


def test_rules_and_conditions_show_what_they_say():
    rule = tree_rules(NUMERIC)[1]
    assert repr(rule) == "<Rule: IF 30 < age <= 50 THEN yes>"
    assert repr(rule.condition("age")) == "<Condition: 30 < age <= 50>"


# -- rules as text ----------------------------------------------------------------------------------------


def test_rules_of_a_tree_with_two_classes():
    assert rules_text(NUMERIC) == (
        "IF   age <= 30\n"
        "THEN survived = no   (p(yes) = 0.25; 40 of 100 rows, 40.0 %)\n"
        "\n"
        "IF   30 < age <= 50\n"
        "THEN survived = yes   (p(yes) = 0.90; 20 of 100 rows, 20.0 %)\n"
        "\n"
        "IF   age > 50\n"
        "THEN survived = no   (p(yes) = 0.00; 40 of 100 rows, 40.0 %)"
    )


def test_rules_of_three_classes_name_the_others():
    assert rules_text(SPECIES).split("\n\n") == [
        "IF   petal length <= 2.45\nTHEN species = setosa   (p = 1.00; 50 of 150 rows, 33.3 %)",
        "IF   petal length > 2.45\nAND  petal width <= 1.75\n"
        "THEN species = versicolor   (p = 0.90; 54 of 150 rows, 36.0 %)\n     virginica 0.08, setosa 0.02",
        "IF   petal length > 2.45\nAND  petal width > 1.75\n"
        "THEN species = virginica   (p = 0.98; 46 of 150 rows, 30.7 %)\n     versicolor 0.02",
    ]


def test_rules_of_a_regression_tree_have_a_mean():
    assert "AND  age > 50\nTHEN price = 12.35   (20 of 100 rows, 20.0 %)" in rules_text(PRICE)


def test_a_lone_leaf_always_says_the_same():
    assert rules_text(LONE_LEAF) == "ALWAYS survived = no   (p(yes) = 0.32; 2,207 rows)"


def test_notes_of_the_tree_stand_below_its_rules():
    assert rules_text(LONE_LEAF.replace(notes=("time ran out",))).endswith("\n\nNOTE time ran out")


def test_rules_stay_within_80_columns_and_break_no_category():
    ward = Feature("ward", "nominal", categories=tuple(f"ward {number:02d}" for number in range(40)))
    tree = tree_of(split("ward", ward.categories[:20], NO, YES), (ward,), SURVIVED)
    lines = rules_text(tree).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "IF   ward in {ward 00, ward 01, ward 02, ward 03, ward 04, ward 05, ward 06,"
    assert lines[1].startswith("     ward 07, ")
    assert max(map(len, rules_text(FORTY_LEAVES).splitlines())) <= 80


def test_a_tree_knows_its_rules():
    assert NUMERIC.rules() == rules_text(NUMERIC)
    assert NUMERIC.rules(missing=True) == rules_text(NUMERIC, missing=True) != rules_text(NUMERIC)
