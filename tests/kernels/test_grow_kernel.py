"""The parts of the growing kernel, and whole trees of thousands of nodes against the vectorised oracle."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import measure
from holdfast.kernels import classes, criteria, pair
from holdfast.kernels.criteria import Node, Plan
from holdfast.kernels.grow import pop, push
from holdfast.kernels.histogram import count_all
from holdfast.kernels.sort import sort_by, sort_keys
from reference.large_tables import large_table
from reference.scan import findings

# Kernels for kernels have no door to Python: each is called through a small one that has.


@njit
def sort_all(keys):
    sort_keys(keys, len(keys))


@njit
def sort_all_by(order, values):
    sort_by(order, values, len(order))


@njit
def drain(priority, out):
    heap = np.empty(len(priority), np.int64)
    for node in range(len(priority)):
        push(heap, priority, node, node)
    for i in range(len(priority)):
        out[i] = pop(heap, priority, len(priority) - i)


@njit
def gain_of_pair(criterion, weight_left, sum_left, weight, total):
    return criteria.pair_gain(criterion, weight_left, sum_left, weight, total)


@njit
def gain_of_classes(criterion, left, total):
    return criteria.classes_gain(criterion, len(total), left, total, float(left.sum()), float(total.sum()))


@njit
def corner_of_pair(criterion, node, weight_left, sum_left, weight_in, sum_in, sum_all):
    return pair.corner_gain(criterion, node, weight_left, sum_left, weight_in, sum_in, sum_all)


@njit
def bound_of_parts(plan, node, total, left, inside):
    return classes.parts_gain(plan, node, total, left, inside)


@njit
def count(plan, coded, sample, rows, shift, histogram):
    count_all(plan, coded, sample, rows, shift, histogram)


# -- sorting and the heap -------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("shape", ["sorted", "reversed", "shuffled", "up and down", "short"])
def test_keys_are_sorted_whatever_order_they_come_in(shape: str) -> None:
    keys = {
        "sorted": np.arange(200),
        "reversed": np.arange(200)[::-1].copy(),
        "shuffled": np.random.default_rng(0).permutation(200),
        "up and down": np.concatenate([np.arange(0, 200, 2), np.arange(1, 200, 2)[::-1]]),
        "short": np.array([3, 1, 2]),
    }[shape].astype(np.int64)
    sort_all(keys)
    assert keys.tolist() == sorted(keys.tolist())
    assert len(set(keys.tolist())) == len(keys)


@pytest.mark.kernel
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_categories_of_equal_place_keep_the_order_of_their_codes(places: list[int]) -> None:
    order, values = np.arange(len(places))[::-1].copy(), np.array(places, float)
    sort_all_by(order, values)
    assert order.tolist() == sorted(range(len(places)), key=lambda code: (places[code], code))


@pytest.mark.kernel
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_the_heap_gives_the_highest_priority_and_then_the_oldest_node(priorities: list[int]) -> None:
    out = np.empty(len(priorities), np.int64)
    drain(np.array(priorities, float), out)
    assert out.tolist() == sorted(range(len(priorities)), key=lambda node: (-priorities[node], node))


# -- gains ----------------------------------------------------------------------------------------------

weights = st.integers(0, 9)
CLASS_CRITERIA = (criteria.GINI, criteria.ENTROPY, criteria.MISCLASSIFICATION)


def impurity(criterion: int, of_class: list[int]) -> float:
    """By the definition, times weight."""
    weight = sum(of_class)
    if weight == 0:
        return 0.0
    if criterion == criteria.GINI:
        return weight - sum(one * one for one in of_class) / weight
    if criterion == criteria.MISCLASSIFICATION:
        return weight - max(of_class)
    return -sum(one * math.log2(one / weight) for one in of_class if one)


@pytest.mark.kernel
@settings(max_examples=30, deadline=None)
@given(st.sampled_from(CLASS_CRITERIA), st.lists(st.tuples(weights, weights), min_size=2, max_size=5))
def test_the_gain_is_the_impurity_of_the_node_minus_that_of_its_sides(
    criterion: int, sides: list[tuple[int, int]]
) -> None:
    left, right = ([side[at] for side in sides] for at in (0, 1))
    total = [one + other for one, other in zip(left, right, strict=True)]
    if not sum(left) or not sum(right):
        return
    expected = impurity(criterion, total) - impurity(criterion, left) - impurity(criterion, right)
    gain = gain_of_classes(criterion, np.array(left), np.array(total))
    assert gain == pytest.approx(expected, abs=1e-12)
    if len(sides) == 2:
        two = gain_of_pair(criterion, float(sum(left)), float(left[1]), float(sum(total)), float(total[1]))
        assert two == pytest.approx(expected, abs=1e-12)


@pytest.mark.kernel
@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from((criteria.ENTROPY, criteria.GINI, criteria.POISSON)),
    st.integers(1, 100_000),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_sides_like_the_node_gain_nothing_and_never_less(
    criterion: int, others: int, left: int, right: int
) -> None:
    # A share of 1 in 1 + others on both sides; for Poisson, a mean of 1 + others on both.
    weight = float((left + right) * (1 if criterion == criteria.POISSON else 1 + others))
    total = float((left + right) * (1 + others if criterion == criteria.POISSON else 1))
    share = left / (left + right)
    node_impurity = weight * min(math.log2(1 + others), 1) / (1 + others)
    gain = gain_of_pair(criterion, round(weight * share) * 1.0, round(total * share) * 1.0, weight, total)
    assert 0.0 <= gain <= 1e-9 * node_impurity + 1e-15 * total


@pytest.mark.kernel
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from((criteria.GINI, criteria.ENTROPY, criteria.MISCLASSIFICATION)),
    st.tuples(weights, weights),
    st.lists(st.booleans(), min_size=2, max_size=12),
    st.tuples(weights, weights),
)
def test_no_threshold_inside_a_bin_of_two_classes_beats_its_corners(
    criterion: int, before: tuple[int, int], inside: list[bool], after: tuple[int, int]
) -> None:
    total = [before[k] + after[k] + sum(is_second == k for is_second in inside) for k in (0, 1)]
    node = Node(sum(total), float(sum(total)), 1.0, 0.0, 1.0)
    steps = [(sum(before) + n, before[1] + sum(inside[:n])) for n in range(len(inside) + 1)]
    gains = [gain_of_pair(criterion, float(w), float(s), node.weight, float(total[1])) for w, s in steps]
    corner = corner_of_pair(
        criterion, node, float(sum(before)), float(before[1]), float(len(inside)), float(sum(inside)), float(total[1])
    )  # fmt: skip
    assert max(gains) <= max(corner, gains[0], gains[-1]) + 1e-12


@pytest.mark.kernel
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from((criteria.SQUARED_ERROR, criteria.POISSON)),
    st.lists(st.integers(0, 4), max_size=6),
    st.lists(st.integers(0, 4), min_size=2, max_size=8),
    st.lists(st.integers(0, 4), max_size=6),
)
def test_no_threshold_inside_a_bin_of_numbers_beats_its_corners(
    criterion: int, before: list[int], inside: list[int], after: list[int]
) -> None:
    every = [*before, *inside, *after]
    if min(every) == max(every):
        return
    node = Node(len(every), float(len(every)), 1.0, float(min(every)), float(max(every)))
    total = float(sum(every))
    starts = [[*before, *inside[:n]] for n in range(len(inside) + 1)]
    gains = [
        gain_of_pair(criterion, float(len(some)), float(sum(some)), node.weight, total) for some in starts
    ]
    corner = corner_of_pair(
        criterion, node, float(len(before)), float(sum(before)), float(len(inside)), float(sum(inside)), total
    )
    assert max(gains) <= max(corner, gains[0], gains[-1]) + 1e-9


@pytest.mark.kernel
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(CLASS_CRITERIA),
    st.lists(weights, min_size=3, max_size=3),
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.lists(weights, min_size=3, max_size=3),
)
def test_no_threshold_inside_a_bin_of_many_classes_beats_pure_parts(
    criterion: int, before: list[int], inside: list[int], after: list[int]
) -> None:
    in_bin = [inside.count(k) for k in range(3)]
    total = np.array([before[k] + in_bin[k] + after[k] for k in range(3)])
    plan = Plan(criterion, 3, 3, 2, 0, 1, 0.0)
    node = Node(int(total.sum()), float(total.sum()), impurity(criterion, total.tolist()), 0.0, 1.0)
    bound = bound_of_parts(plan, node, total, np.array(before), np.array(in_bin))
    for n in range(len(inside) + 1):
        left = np.array([before[k] + inside[:n].count(k) for k in range(3)])
        assert gain_of_classes(criterion, left, total) <= bound + 1e-9


# -- counting -------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("n_categories", [240, 241, 254, 255, 300])
def test_counting_leaves_the_memory_behind_the_histograms_alone(n_categories: int) -> None:
    table = table_of_four(n_categories)
    units = measure(table, GrowthRules())
    length = int(table.coded.start[-1]) * units.n_stats
    memory = np.full(length + 256 * units.n_stats, 7, np.int64)
    plan = Plan(criteria.GINI, 2, units.n_stats, units.label_bits, 0, 1, 0.0)
    rows = np.arange(table.n_rows, dtype=np.int32)
    count(plan, table.coded, units.sample(units.repeats), rows, np.int64(0), memory[:length])
    assert (memory[length:] == 7).all()
    last = memory[int(table.coded.start[3]) * 2 : length].reshape(-1, 2)
    codes = table.columns[3].astype(int)
    assert last[:n_categories, 1].tolist() == np.bincount(codes, table.target, n_categories).tolist()


def table_of_four(n_categories: int) -> Table:
    """Three numbers, and categories in the last of four columns."""
    codes = np.arange(300.0) % n_categories
    features = (*(Feature(f"x{position}") for position in range(3)), nominal("c", n_categories))
    columns = (*(np.arange(300.0) % step for step in (2, 3, 5)), codes)
    return Table(
        Schema(features, Target("y", classes=("a", "b"))), columns, (np.arange(300) % 2).astype(np.int32)
    )


def nominal(name: str, n_categories: int) -> Feature:
    return Feature(name, "nominal", categories=tuple(range(n_categories)))


# -- whole trees ----------------------------------------------------------------------------------------

TREES = [
    ("gini", 2, 0, 1, 0),
    ("gini", 3, 6, 3, 1),
    ("gini", 10, 0, 50, 2),
    ("entropy", 2, 40, 1, 3),
    ("entropy", 7, 0, 3, 4),
    ("misclassification", 2, 0, 50, 5),
    ("misclassification", 3, 0, 3, 6),
    ("gain_ratio", 2, 0, 3, 7),
    ("gain_ratio", 7, 5, 50, 8),
    ("mutual_information", 3, 0, 1, 9),
    ("squared_error", 0, 0, 1, 10),
    ("squared_error", 0, 300, 1, 11),
    ("squared_error", 0, 0, 3, 12),
    ("squared_error", 0, 0, 50, 13),
    ("poisson", 0, 0, 3, 14),
    ("poisson", 0, 0, 50, 15),
]


@pytest.mark.slow
@pytest.mark.parametrize(("criterion", "n_classes", "nominal", "min_rows", "seed"), TREES)
def test_every_split_of_a_large_tree_is_the_best_there_is(
    criterion: str, n_classes: int, nominal: int, min_rows: int, seed: int
) -> None:
    table = large_table(np.random.default_rng(seed), criterion, n_classes, nominal, n_rows=3000)
    rules: dict[str, Any] = {"criterion": criterion, "min_samples_leaf": min_rows}
    found = findings(table, GrowthRules(**rules), grow(table, GrowthRules(**rules)))
    assert found.n_nodes > 20
    assert found.faults == ()
