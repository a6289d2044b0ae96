"""The distance against its slow twin: all matchings tried, the integer programme, scipy's assignment."""

from random import Random

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from holdfast.data.schema import Feature, Schema, Target
from holdfast.distance.distance import tree_distance
from holdfast.distance.matching import TreeDistance
from holdfast.tree.tree import Tree
from reference.distances import (
    MATCHINGS,
    Options,
    Solution,
    by_assignment,
    by_integer_programme,
    by_trying_all,
    feature_costs,
    outcome_difference,
    reference_distance,
    rule_cost,
    settled,
    unmatched_weight,
)
from reference.random_trees import OUTCOMES, STAY, grown_trees, random_schema, random_tree
from reference.rules import boxes
from reference.trees import SURVIVED, leaf, split, tree_of

# What is predicted, and how it is compared; None is the default of the task.
TASKS = [(OUTCOMES, None), (OUTCOMES, "distribution"), (STAY, None)]
by_task = pytest.mark.parametrize(("target", "outcome"), TASKS, ids=["labels", "distributions", "values"])
by_matching = pytest.mark.parametrize("matching", MATCHINGS)

close = {"rel": 1e-9, "abs": 1e-9}


def random_options(random: Random, matching: str, outcome: str | None) -> Options:
    label_weight = random.choice((None, None, 0.0, 0.37, 1.0, 25.0))
    return Options(matching, label_weight, outcome, random.random() < 0.3, random.choice((None, None, 5)))


def assert_agrees(a: Tree, b: Tree, options: Options, solve: Solution) -> None:
    distance = tree_distance(a, b, **options.keywords())
    assert distance.total == pytest.approx(reference_distance(a, b, options, solve), **close)
    assert tree_distance(b, a, **options.keywords()).total == distance.total
    assert_accounts_for_itself(distance, options)


def assert_accounts_for_itself(distance: TreeDistance, options: Options) -> None:
    """Every pair and every lone rule costs what the formulas say, and together they are a matching."""
    a, b = distance.first, distance.second
    depth, label_weight, outcome = settled(options, [a, b])
    assert (distance.depth, distance.label_weight, distance.matching) == (
        depth,
        label_weight,
        options.matching,
    )
    sides = {"first": {box.leaf: box for box in boxes(a)}, "second": {box.leaf: box for box in boxes(b)}}
    for pair in distance.pairs:
        p, q = sides["first"][pair.first.leaf], sides["second"][pair.second.leaf]
        expected = {name: cost for name, cost in feature_costs(p, q, a.schema).items() if cost > 1e-12}
        found = {part.feature: part.cost for part in pair.parts if part.cost > 1e-12}
        assert found == pytest.approx(expected, **close)
        difference = outcome_difference(p, q, a.schema, outcome)
        assert pair.outcome_cost == pytest.approx(label_weight * difference, **close)
        assert pair.cost == pytest.approx(sum(found.values()) + pair.outcome_cost, **close)
    for alone in distance.unmatched:
        box = sides[alone.side][alone.rule.leaf]
        assert alone.weight == pytest.approx(unmatched_weight(box, options.matching, label_weight), **close)
    assert_is_matching(distance)
    costs = [pair.cost for pair in distance.pairs] + [alone.weight for alone in distance.unmatched]
    assert distance.raw == pytest.approx(sum(costs), **close)
    scale = 2**depth * (2 * depth + label_weight) if options.normalised else 1.0
    assert distance.total == pytest.approx(distance.raw / scale, **close)


def assert_is_matching(distance: TreeDistance) -> None:
    """Each rule of the larger tree has one partner or is alone; each of the smaller has one, or some."""
    lists = [[pair.first.leaf for pair in distance.pairs], [pair.second.leaf for pair in distance.pairs]]
    for alone in distance.unmatched:
        lists[("first", "second").index(alone.side)].append(alone.rule.leaf)
    trees = (distance.first, distance.second)
    for leaves, tree in zip(lists, trees, strict=True):
        assert set(leaves) == {box.leaf for box in boxes(tree)}
    larger = 0 if trees[0].n_leaves >= trees[1].n_leaves else 1
    assert len(lists[larger]) == trees[larger].n_leaves
    if distance.matching == "cover":
        assert distance.unmatched == ()
    else:
        assert len(distance.pairs) == trees[1 - larger].n_leaves


# -- the twin itself --------------------------------------------------------------------------------------


@by_matching
def test_the_three_slow_solutions_agree(matching: str) -> None:
    for seed in range(60):
        random = Random(seed)
        larger, smaller = sorted((random.randint(1, 5), random.randint(1, 5)), reverse=True)
        cost = [[random.choice((0.0, 0.5, random.random())) for _ in range(smaller)] for _ in range(larger)]
        weight = [random.random() for _ in range(larger)]
        totals = [
            solve(cost, weight, matching) for solve in (by_trying_all, by_integer_programme, by_assignment)
        ]
        assert totals == [pytest.approx(totals[0])] * 3


# -- trees that no data would grow ------------------------------------------------------------------------


@by_task
@by_matching
def test_tiny_trees_have_the_cheapest_of_all_matchings(
    matching: str, target: Target, outcome: str | None
) -> None:
    for seed in range(40):
        random = Random(seed)
        schema = random_schema(random, target)
        a, b = (random_tree(random, schema, random.randint(1, 5)) for _ in range(2))
        assert_agrees(a, b, random_options(random, matching, outcome), by_trying_all)


@by_task
@by_matching
def test_small_trees_have_the_optimum_of_the_integer_programme(
    matching: str, target: Target, outcome: str | None
) -> None:
    for seed in range(45):
        random = Random(1000 + seed)
        schema = random_schema(random, target)
        a, b = (random_tree(random, schema, random.randint(1, 10)) for _ in range(2))
        assert_agrees(a, b, random_options(random, matching, outcome), by_integer_programme)


@by_task
@by_matching
def test_large_trees_have_the_optimum_of_the_assignment(
    matching: str, target: Target, outcome: str | None
) -> None:
    for seed in range(4):
        random = Random(2000 + seed)
        schema = random_schema(random, target)
        a, b = (random_tree(random, schema, random.randint(20, 60)) for _ in range(2))
        assert_agrees(a, b, random_options(random, matching, outcome), by_assignment)


# -- grown trees ------------------------------------------------------------------------------------------


@by_task
@by_matching
def test_grown_trees_have_the_optimum_of_the_integer_programme(
    matching: str, target: Target, outcome: str | None
) -> None:
    for seed in range(10):
        random = Random(3000 + seed)
        a, b = grown_trees(random, target)
        assert_agrees(a, b, random_options(random, matching, outcome), by_integer_programme)


# -- extremes ---------------------------------------------------------------------------------------------


def stumps(low: float, high: float, *thresholds: float) -> list[Tree]:
    features = (Feature("x", low=low, high=high),)
    return [
        tree_of(split("x", threshold, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), features, SURVIVED)
        for threshold in thresholds
    ]


@pytest.mark.parametrize(
    ("low", "high", "thresholds", "expected"),
    [
        (-1.7e308, 1.7e308, (0.0, 0.85e308), 0.25),  # the range itself is no float64
        (-1.7e308, 1.7e308, (-1.7e308, 1.7e308), 1.0),
        (0.0, 1e-300, (0.25e-300, 0.75e-300), 0.5),
        (0.0, 8 * 5e-324, (2 * 5e-324, 4 * 5e-324), 0.25),  # eight steps of the smallest float64
        (1e16, 1e16 + 8.0, (1e16 + 2.0, 1e16 + 4.0), 0.25),
        (-1e-9, 1e9, (0.0, 1e8), 0.1),
    ],
)
def test_a_threshold_moves_by_its_share_of_any_range(
    low: float, high: float, thresholds: tuple[float, float], expected: float
) -> None:
    # Each of two leaves pays half the fraction of the range that the threshold crosses.
    assert tree_distance(*stumps(low, high, *thresholds)).total == pytest.approx(expected, **close)


@by_matching
@pytest.mark.parametrize("label_weight", [1e-12, 1e-3, 1e3, 1e6])
def test_small_and_large_label_weights_keep_their_digits(matching: str, label_weight: float) -> None:
    for seed in range(8):
        random = Random(5000 + seed)
        schema = random_schema(random)
        a, b = (random_tree(random, schema, random.randint(1, 8)) for _ in range(2))
        options = Options(matching, label_weight)
        expected = reference_distance(a, b, options, by_assignment)
        assert tree_distance(a, b, **options.keywords()).total == pytest.approx(expected, **close)


@by_matching
def test_many_features_add_up(matching: str) -> None:
    features = tuple(Feature(f"x{number}", low=-float(number), high=1.0) for number in range(200))
    random = Random(0)
    a, b = (random_tree(random, Schema(features, OUTCOMES), n_leaves) for n_leaves in (40, 30))
    assert_agrees(a, b, Options(matching), by_assignment)


def chain(length: int, seed: int) -> Tree:
    """A tree that asks one question after another, as deep as can be."""
    random = Random(seed)
    node = leaf(1, 1.0, 0.0)
    for _ in range(length):
        node = split("x", random.random(), leaf(1, *random.choice(((1.0, 0.0), (0.0, 1.0)))), node)
    return tree_of(node, (Feature("x"),), SURVIVED)


@by_matching
@pytest.mark.parametrize("normalised", [False, True])
def test_deep_trees_have_the_optimum_of_the_assignment(matching: str, normalised: bool) -> None:
    assert_agrees(chain(150, 0), chain(120, 1), Options(matching, normalised=normalised), by_assignment)


@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (0.0, 5e-324), (0.0, 1e-323), (1.0, 1 + 2**-52)]
)
def test_the_parts_add_up_on_ranges_of_any_size(low: float, high: float) -> None:
    features = (Feature("x", low=low, high=high),)
    one, other = (
        tree_of(split("x", limit, leaf(3, 0, 1), leaf(3, 1, 0)), features, SURVIVED) for limit in (low, high)
    )
    distance = tree_distance(one, other)
    assert distance.total == 1.0  # both leaves: an end of the range moves to the other end
    assert sum(pair.cost for pair in distance.pairs) == distance.total


# -- why the metric is one --------------------------------------------------------------------------------


@by_task
def test_in_the_metric_nothing_is_gained_by_leaving_paths_of_both_trees_alone(
    target: Target, outcome: str | None
) -> None:
    for seed in range(20):
        random = Random(4000 + seed)
        schema = random_schema(random, target)
        a, b = (random_tree(random, schema, random.randint(1, 12)) for _ in range(2))
        options = Options("metric", random.choice((0.0, 1.0, 6.0)), outcome)
        total = tree_distance(a, b, **options.keywords()).total
        assert total == pytest.approx(padded_with_null_paths(a, b, options), **close)


def padded_with_null_paths(a: Tree, b: Tree, options: Options) -> float:
    """The cheapest matching where every rule of either tree may also meet a null rule."""
    _, label_weight, outcome = settled(options, [a, b])
    left, right = boxes(a), boxes(b)
    n, m = len(left), len(right)
    cost = np.zeros((n + m, n + m))
    cost[:n, :m] = [[rule_cost(p, q, a.schema, label_weight, outcome) for q in right] for p in left]
    cost[:n, m:] = [[unmatched_weight(p, "metric", label_weight)] * n for p in left]
    cost[n:, :m] = np.transpose([[unmatched_weight(q, "metric", label_weight)] * m for q in right])
    return float(cost[linear_sum_assignment(cost)].sum())
