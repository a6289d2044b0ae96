"""A distance in words."""

from dataclasses import replace

from holdfast.data.schema import Feature, Target
from holdfast.distance.distance import tree_distance
from holdfast.tree.tree import KNOWN
from reference.trees import NUMERIC, leaf, split, tree_of
from snapshots import check_snapshot

AGE = Feature("age", low=0.0, high=100.0)
WARD = Feature("ward", "nominal", categories=("A", "B", "C"))
COUNTRY = Feature("country", "nominal", categories=tuple(f"country {number:02}" for number in range(60)))
LIVED = Target("lived", classes=("no", "yes"))


def at(age: float, *, flipped: bool = False) -> object:
    outcomes = [leaf(40, 1, 0), leaf(60, 0, 1)]
    return tree_of(split("age", age, *outcomes[:: -1 if flipped else 1]), (AGE, WARD), LIVED)


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
    assert "cost" not in text.splitlines()[3]


def test_of_many_rules_only_some_are_shown() -> None:
    chain = leaf(1, 1, 0)
    for cut in range(1, 60):
        chain = split("age", float(cut), chain, leaf(1, cut % 2, 1 - cut % 2))
    one = tree_of(chain, (AGE, WARD), LIVED)
    other = one.replace(threshold=one.threshold + 0.25)
    distance = tree_distance(one, other)
    assert "more pairs of rules that cost less" in distance.explain(most=5)
    assert distance.explain(most=5).count("THEN") == 10
    assert distance.explain(most=None).count("THEN") == 120


def test_the_notes_of_the_trees_are_told() -> None:
    noted = replace(NUMERIC, notes=("A budget ran out.",))
    assert "Note on the second tree: A budget ran out." in tree_distance(NUMERIC, noted).explain()


def test_a_distance_is_a_number_where_one_is_asked_for() -> None:
    distance = tree_distance(at(50), at(60))
    assert f"{distance:.2f}" == "0.10"
    assert round(float(distance), 6) == 0.1
    assert str(distance) == distance.explain()
    assert repr(distance) == "<TreeDistance: 0.1, 2 pairs, 0 unmatched>"


def test_the_parts_of_a_distance_are_told() -> None:
    larger = split("age", 50, leaf(40, 1, 0), split("ward", ("A",), leaf(30, 0, 1), leaf(30, 0, 1)))
    some = COUNTRY.categories[:30]
    countries = [
        tree_of(split("country", labels, leaf(40, 1, 0), leaf(60, 0, 1)), (COUNTRY,), LIVED)
        for labels in (some, (*some[:29], COUNTRY.categories[44]))
    ]
    found = [
        tree_distance(at(50), at(60)),
        # Another outcome costs less than moving a threshold across half of the range.
        tree_distance(at(50), at(50, flipped=True), label_weight=0.25),
        tree_distance(at(50), tree_of(larger, (AGE, WARD), LIVED)),
        tree_distance(*countries),
    ]
    check_snapshot("distance", "\n\n\n".join(each.explain() for each in found))
