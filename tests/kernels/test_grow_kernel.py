"""The parts of the growing kernel, and whole trees of thousands of nodes against the vectorised oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.growth.grow import COMPACT_ROWS, _plan, grow
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import first_sample, fixed_point_sample
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.histogram import Coded, Sample, count_all
from holdfast.kernels.growth.nodes import pop, push
from holdfast.kernels.growth.sorting import sort_by, sort_keys
from holdfast.kernels.jit import compile_uncached
from reference.large_tables import large_table
from reference.scan import findings

# Kernels for kernels have no door to Python: each is called through a small one that has.


@compile_uncached
def sort_all(keys: LongArray) -> None:
    sort_keys(keys, 0, len(keys), np.empty(128, np.int64))


@compile_uncached
def sort_all_by(order: LongArray, values: FloatArray) -> None:
    sort_by(order, values, len(order))


@compile_uncached
def drain(priority: FloatArray, out: LongArray) -> None:
    heap = np.empty(len(priority), np.int64)
    for node in range(len(priority)):
        push(heap, priority, node, node)
    for i in range(len(priority)):
        out[i] = pop(heap, priority, len(priority) - i)


@compile_uncached
def count(
    plan: Plan,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    shift: int,
    histogram: LongArray,
    stop: ByteArray,
) -> None:
    count_all(plan, coded, sample, rows, shift, histogram, stop)


# -- sorting and the heap -------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("shape", ["sorted", "reversed", "shuffled", "up and down", "short"])
def test_keys_are_sorted_from_any_order(shape: str) -> None:
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
@settings(max_examples=20)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_categories_of_equal_place_keep_the_order_of_their_codes(places: list[int]) -> None:
    order, values = np.arange(len(places))[::-1].copy(), np.array(places, float)
    sort_all_by(order, values)
    assert order.tolist() == sorted(range(len(places)), key=lambda code: (places[code], code))


@pytest.mark.kernel
@settings(max_examples=20)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_the_heap_gives_the_highest_priority_and_then_the_oldest_node(priorities: list[int]) -> None:
    out = np.empty(len(priorities), np.int64)
    drain(np.array(priorities, float), out)
    assert out.tolist() == sorted(range(len(priorities)), key=lambda node: (-priorities[node], node))


# -- counting -------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("n_categories", [240, 241, 254, 255, 300])
def test_counting_leaves_the_memory_behind_the_histograms_alone(n_categories: int) -> None:
    table = table_of_four(n_categories)
    fixed = fixed_point_sample(table, GrowthRules())
    length = int(table.coded.start[-1]) * fixed.n_stats
    memory = np.full(length + 256 * fixed.n_stats, 7, np.int64)
    plan = _plan(GrowthRules(), fixed, table.n_rows, table.n_rows)
    rows = np.arange(table.n_rows, dtype=np.int32)
    no_stop = np.zeros(1, np.uint8)
    once, seed = fixed.repeats[None], np.zeros(1, np.int64)
    sample = first_sample(fixed.samples(once, once, np.array([0, table.n_rows]), seed))
    count(plan, table.coded, sample, rows, np.int64(0), memory[:length], no_stop)
    assert (memory[length:] == 7).all()
    last = memory[int(table.coded.start[3]) * 2 : length].reshape(-1, 2)
    codes = table.columns[3].astype(int)
    assert last[:n_categories, 1].tolist() == np.bincount(codes, table.target, n_categories).tolist()


def table_of_four(n_categories: int) -> Table:
    """Three numbers, and categories in the last of four columns."""
    codes = np.arange(300.0) % n_categories
    features = (*(Feature(f"x{position}") for position in range(3)), nominal("z", n_categories))
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
    # Fractional weights: gains that are equal but for rounding must tie.
    ("misclassification", 2, 0, 20, 101),
    ("squared_error", 0, 0, 1, 100),
]


@pytest.mark.slow
@pytest.mark.parametrize(("criterion", "n_classes", "nominal", "min_rows", "seed"), TREES)
def test_every_split_of_a_large_tree_is_the_best_there_is(
    criterion: str, n_classes: int, nominal: int, min_rows: int, seed: int
) -> None:
    table = large_table(np.random.default_rng(seed), criterion, n_classes, nominal, n_rows=3000)
    rules = GrowthRules(criterion, min_samples_leaf=min_rows, categories="exact")
    found = findings(table, rules, grow(table, rules))
    assert found.n_nodes > 20
    assert found.faults == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("criterion", "n_classes", "nominal", "min_rows", "seed"),
    [("gini", 3, 6, 1, 30), ("squared_error", 0, 6, 1, 31), ("gini", 2, 0, 3, 32), ("entropy", 4, 0, 20, 33)],
)
def test_every_split_below_a_compact_node_is_the_best_there_is(
    criterion: str, n_classes: int, nominal: int, min_rows: int, seed: int
) -> None:
    table = large_table(np.random.default_rng(seed), criterion, n_classes, nominal, n_rows=4 * COMPACT_ROWS)
    rules = GrowthRules(criterion, min_samples_leaf=min_rows, categories="exact")
    found = findings(table, rules, grow(table, rules))
    assert found.n_nodes > 20
    assert found.faults == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "nominal", "min_rows", "seed"),
    [(2, 0, 2, 20), (2, 9, 2, 21), (7, 5, 20, 22), (3, 0, 2, 23)],
)
def test_every_split_of_a_large_tree_pays_for_its_threshold(
    n_classes: int, nominal: int, min_rows: int, seed: int
) -> None:
    table = large_table(np.random.default_rng(seed), "gain_ratio", n_classes, nominal, n_rows=3000)
    rules = GrowthRules("gain_ratio", min_samples_leaf=min_rows, threshold_cost=True)
    found = findings(table, rules, grow(table, rules))
    assert found.n_nodes > 20
    assert found.faults == ()
