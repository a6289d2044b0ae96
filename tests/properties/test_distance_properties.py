"""What must hold for the distances of any trees."""

import pickle
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.distance.distance import tree_distance
from holdfast.distance.matching import TreeDistance
from holdfast.tree.tree import Tree
from reference.distances import MATCHINGS
from reference.random_trees import OUTCOMES, STAY, random_schema, random_tree, reorder

matchings = st.sampled_from(MATCHINGS)
outcomes = st.sampled_from((None, "label", "distribution", "value"))
label_weights = st.none() | st.sampled_from((0.0, 1.0)) | st.floats(0.0, 50.0)


@st.composite
def measured_trees(draw: Any, n_estimators: int, most_leaves: int = 7) -> tuple[list[Tree], dict[str, Any]]:
    """Some trees on one schema, and a way to compare them."""
    outcome = draw(outcomes)
    random: Random = draw(st.randoms(use_true_random=False))
    schema = random_schema(random, STAY if outcome == "value" else OUTCOMES)
    trees = [random_tree(random, schema, random.randint(1, most_leaves)) for _ in range(n_estimators)]
    options = {"outcome": outcome, "matching": draw(matchings), "label_weight": draw(label_weights)}
    return trees, options


@given(measured_trees(1))
def test_a_tree_is_at_no_distance_from_itself(drawn: Any) -> None:
    (tree,), options = drawn
    distance = tree_distance(tree, tree, **options)
    assert distance.total == 0.0
    assert distance.unmatched == ()
    assert all(pair.cost == 0.0 for pair in distance.pairs)


@given(measured_trees(2), st.booleans())
def test_the_distance_is_the_same_both_ways(drawn: Any, normalised: bool) -> None:
    (a, b), options = drawn
    there = tree_distance(a, b, **options, normalised=normalised)
    back = tree_distance(b, a, **options, normalised=normalised)
    assert there.total == back.total
    assert there.total >= 0.0


@given(measured_trees(3), st.floats(0.0, 20.0))
def test_a_detour_is_no_shorter_in_the_metric(drawn: Any, label_weight: float) -> None:
    (a, b, c), options = drawn
    options |= {"matching": "metric", "label_weight": label_weight}
    direct, first, second = (in_units(tree_distance(*pair, **options)) for pair in ((a, c), (a, b), (b, c)))
    assert direct <= first + second


def in_units(distance: TreeDistance) -> int:
    """The distance of small trees as the integer that it is."""
    units = distance.raw * 2**44
    assert units == int(units) < 2**53
    return int(units)


@given(measured_trees(2))
def test_pairs_and_lone_paths_add_up_to_the_total(drawn: Any) -> None:
    (a, b), options = drawn
    distance = tree_distance(a, b, **options)
    for pair in distance.pairs:
        assert pair.cost == pytest.approx(
            sum(part.cost for part in pair.parts) + pair.outcome_cost, abs=1e-12
        )
    costs = [pair.cost for pair in distance.pairs] + [alone.weight for alone in distance.unmatched]
    assert distance.total == distance.raw == pytest.approx(sum(costs), abs=1e-9)


@given(measured_trees(2))
def test_the_explanation_is_always_the_same(drawn: Any) -> None:
    (a, b), options = drawn
    text = tree_distance(a, b, **options).explain()
    copies = [pickle.loads(pickle.dumps(tree)) for tree in (a, b)]
    for pair in ((a, b), copies):
        again = tree_distance(*pair, **options)
        assert again.explain() == again.explain() == text


@given(measured_trees(2), st.integers(0, 100))
def test_the_order_of_features_and_the_places_of_classes_do_not_matter(drawn: Any, seed: int) -> None:
    (a, b), options = drawn
    turned = tree_distance(reorder(a, Random(seed)), b, **options)
    assert turned.total == tree_distance(a, b, **options).total


@given(measured_trees(2), st.floats(0.1, 5.0))
def test_a_heavier_label_never_brings_trees_nearer(drawn: Any, more: float) -> None:
    (a, b), options = drawn
    options["label_weight"] = options["label_weight"] or 0.0
    light = tree_distance(a, b, **options).total
    options["label_weight"] += more
    assert tree_distance(a, b, **options).total >= light - 1e-9
