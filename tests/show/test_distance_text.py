"""A distance in words."""

from dataclasses import replace

from holdfast.data.schema import Feature, Target
from holdfast.distance.distances import tree_distance
from holdfast.tree.tree import KNOWN
from reference.trees import NUMERIC, leaf, split, tree_of

AGE = Feature("age", low=0.0, high=100.0)
WARD = Feature("ward", "nominal", categories=("A", "B", "C"))
COUNTRY = Feature("country", "nominal", categories=tuple(f"country {number:02}" for number in range(60)))
LIVED = Target("lived", classes=("no", "yes"))


def at(age: float, *, flipped: bool = False) -> object:
    outcomes = [leaf(40, 1, 0), leaf(60, 0, 1)]
    return tree_of(split("age", age, *outcomes[:: -1 if flipped else 1]), (AGE, WARD), LIVED)


def test_a_moved_threshold_is_shown_on_both_sides_with_its_cost() -> None:
    text = tree_distance(at(50), at(60)).explain()
    assert "Distance 0.1000: conditions 0.1000, outcomes 0.0000" in text
    assert (
        "  age <= 50                              -> age <= 60                                0.0500" in text
    )
    assert "THEN no (40 rows)" in text
    assert "2 rules against 2; 0 the same in both" in text


def test_another_outcome_is_shown_with_its_cost() -> None:
    # Another outcome costs less than moving a threshold across half of the range.
    text = tree_distance(at(50), at(50, flipped=True), label_weight=0.25).explain()
    assert "conditions 0.0000, outcomes 0.5000" in text
    assert "THEN no (40 rows)                      -> THEN yes (60 rows)                       0.2500" in text
    assert "unchanged: age <= 50" in text


def test_a_rule_without_a_counterpart_is_told_with_its_weight() -> None:
    larger = tree_of(
        split("age", 50, leaf(40, 1, 0), split("ward", ("A",), leaf(30, 0, 1), leaf(30, 0, 1))),
        (AGE, WARD),
        LIVED,
    )
    distance = tree_distance(at(50), larger)
    text = distance.explain()
    assert f"tree has no counterpart: {distance.unmatched[0].weight:.4f}" in text
    assert "of the second tree" in text
    assert "of the first tree" in tree_distance(larger, at(50)).explain()


def test_what_costs_nothing_but_differs_is_not_called_the_same() -> None:
    free = tree_distance(at(50), at(50, flipped=True), label_weight=0)
    assert free.total == 0
    assert "0 the same in both" in free.explain()
    known = tree_of(split("age", KNOWN, leaf(40, 1, 0), leaf(60, 0, 1)), (AGE, WARD), LIVED)
    assert "0 the same in both" in tree_distance(known, at(600)).explain()


def test_rounding_is_not_told_as_a_change() -> None:
    nearly = at(50).replace(threshold=at(50).threshold * (1 - 2**-52))
    text = tree_distance(at(50), nearly).explain()
    assert "2 the same in both" in text
    assert "Rule" not in text


def test_of_many_rules_only_some_are_shown() -> None:
    chain = leaf(1, 1, 0)
    for cut in range(1, 60):
        chain = split("age", float(cut), chain, leaf(1, cut % 2, 1 - cut % 2))
    one = tree_of(chain, (AGE, WARD), LIVED)
    other = one.replace(threshold=one.threshold + 0.25)
    distance = tree_distance(one, other)
    assert "more pairs of rules that moved less" in distance.explain(most=5)
    assert distance.explain(most=5).count("Rule ") == 5
    assert distance.explain(most=None).count("Rule ") == 60


def test_of_many_categories_those_that_moved_are_named() -> None:
    some = COUNTRY.categories[:30]
    one, other = (
        tree_of(split("country", labels, leaf(40, 1, 0), leaf(60, 0, 1)), (COUNTRY,), LIVED)
        for labels in (some, (*some[:29], COUNTRY.categories[44]))
    )
    text = " ".join(tree_distance(one, other).explain().split())
    assert "- country 29, + country 44" in text


def test_the_notes_of_the_trees_are_told() -> None:
    noted = replace(NUMERIC, notes=("A budget ran out.",))
    assert "Note on the second tree: A budget ran out." in tree_distance(NUMERIC, noted).explain()


def test_a_distance_is_a_number_where_one_is_asked_for() -> None:
    distance = tree_distance(at(50), at(60))
    assert f"{distance:.2f}" == "0.10"
    assert round(float(distance), 6) == 0.1
    assert str(distance) == distance.explain()
    assert repr(distance) == "<TreeDistance: 0.1, 2 pairs, 0 unmatched>"
