import pytest

from holdfast._text import shorten
from holdfast.data.schema import Feature, Target
from holdfast.tree.text import draw_numbered_tree, draw_tree
from reference.trees import (
    AGE,
    FARE_KNOWN,
    FORTY_LEAVES,
    LONE_LEAF,
    NUMERIC,
    PRICE,
    SUBSET,
    SURVIVED,
    balanced,
    leaf,
    split,
    tree_of,
)


def test_a_tree_of_two_classes():
    assert draw_tree(SUBSET) == (
        "100 rows                     survived  p(yes)  rows  of all\n"
        "├─ pain in {atypical, none}\n"
        "│  ├─ pain = atypical ·····  yes       0.80      30  30.0 %\n"
        "│  └─ pain = none ·········  no        0.10      30  30.0 %\n"
        "└─ pain in {other, typical}\n"
        "   ├─ sex = female ········  yes       0.60      30  30.0 %\n"
        "   └─ sex = male ··········  no        0.00      10  10.0 %"
    )


def test_a_regression_tree_has_means_and_no_probabilities():
    assert draw_tree(PRICE) == (
        "100 rows         price  rows  of all\n"
        "├─ rooms <= 6.5\n"
        "│  ├─ age <= 50   22.6    60  60.0 %\n"
        "│  └─ age > 50   12.35    20  20.0 %\n"
        "└─ rooms > 6.5      45    20  20.0 %"
    )


def test_a_lone_leaf():
    assert draw_tree(LONE_LEAF) == (
        "2,207 rows  survived  p(yes)   rows   of all\nalways      no        0.32    2,207  100.0 %"
    )


def test_the_side_of_missing_values_is_told_if_asked_for():
    assert "└─ age > 50 or not recorded" in draw_tree(NUMERIC, missing=True)
    assert "missing" not in draw_tree(NUMERIC)
    assert "└─ fare is not recorded" in draw_tree(FARE_KNOWN)


def test_forty_leaves_have_a_line_each_within_100_columns():
    lines = draw_tree(FORTY_LEAVES).splitlines()
    assert sum(line.endswith(" %") for line in lines) == FORTY_LEAVES.n_leaves
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("questions", [10, 20, 40, 60])
def test_even_a_very_deep_tree_stays_within_100_columns(questions):
    node = leaf(1, 0.3, 0.7)
    for number in range(questions):
        node = split("age", 20.0 + number, leaf(30, 0.9, 0.1), node)
    lines = draw_tree(tree_of(node, (AGE,), SURVIVED)).splitlines()
    assert max(map(len, lines)) <= 100
    assert all("age" in line for line in lines[1:])


def test_long_names_lose_their_middle_and_keep_their_threshold():
    long = Feature("x" * 150, low=0.0, high=1.0)
    target = Target("t" * 90, classes=("a" * 90, "b" * 90))
    text = draw_tree(tree_of(split(long.name, 0.25, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (long,), target))
    assert max(map(len, text.splitlines())) <= 100
    assert "x…x" in text
    assert "x <= 0.25" in text


def ward_tree(categories, n_left):
    ward = Feature("ward", "nominal", categories=tuple(categories))
    first = ward.categories[:n_left]
    return tree_of(split("ward", first, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (ward,), SURVIVED)


def test_a_condition_too_long_for_its_line_goes_on_in_the_next_ones():
    tree = ward_tree(["intensive care", "first surgery", "second surgery", "paediatrics"], 3)
    assert draw_tree(tree, width=72).splitlines()[1:4] == [
        "├─ ward in {intensive care,",
        "│    first surgery, second surgery}  no        0.00       1  50.0 %",
        "└─ ward = paediatrics ·············  yes       1.00       1  50.0 %",
    ]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_every_set_of_a_drawing_can_be_read_in_full(width):
    tree = ward_tree([f"a long name of ward {number}" for number in range(20)], 10)
    for text in (draw_tree(tree, width=width), draw_numbered_tree(tree, width=width)):
        words = " ".join(text.split())
        assert "…" not in words
        assert all(f"a long name of ward {number}" in words for number in range(10))
        assert max(map(len, text.splitlines())) <= width


def test_equal_sets_have_one_number():
    ward = Feature("ward", "nominal", categories=tuple(f"a long name of ward {each}" for each in range(20)))
    below = split("ward", ward.categories[:10], leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0))
    tree = tree_of(split("age", 50.0, below, below), (AGE, ward), SURVIVED)
    assert draw_tree(tree).count("ward in set 1") == 2
    assert "set 3" not in draw_tree(tree)


def test_a_drawing_says_where_all_of_it_is_if_something_was_left_out():
    tree = ward_tree([f"w{number}" for number in range(60)], 30)
    last = "… stands for what is left out: {} has all of it."
    assert draw_tree(tree).splitlines()[-2:] == ["", last.format("rules()")]
    assert draw_tree(tree, whole="the file").splitlines()[-1] == last.format("the file")
    assert "left out" not in draw_tree(NUMERIC)


def test_shortened_text_keeps_both_ends():
    assert shorten("abcdefghij", 7) == "abcd…ij"
    assert shorten("abc", 3) == "abc"


def test_notes_stand_below_the_tree():
    assert draw_tree(NUMERIC.replace(notes=("time ran out",))).splitlines()[-1] == "Note: time ran out"


def test_printing_a_tree_draws_it():
    assert str(balanced(6)) == draw_tree(balanced(6))


def test_a_drawing_fits_the_width_that_is_asked_for():
    long = Feature("a measurement with a very long name indeed", low=0.0, high=9.0)
    tree = tree_of(split(long.name, 4.5, leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)), (long,), SURVIVED)
    for width in (60, 70, 80, 100):
        assert max(map(len, draw_tree(tree, width=width).splitlines())) <= width
        assert "…" not in draw_tree(tree, width=width)
    assert "very long name indeed <= 4.5" in draw_tree(tree)
