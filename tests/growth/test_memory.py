"""A budget of bytes for growing."""

import tracemalloc

import numpy as np
import pytest

from holdfast import CART, GrowthRules, Table, TreeClassifier, grow
from holdfast.errors import GrowthWarning, ParameterError
from holdfast.growth.grow import grow_samples
from holdfast.growth.sample import fixed_point_sample


def noise(n_rows: int = 4000, n_columns: int = 3) -> Table:
    """Rows of which nothing can be learnt: the tree grows as large as it may."""
    random = np.random.default_rng(0)
    return Table.from_arrays(random.random((n_rows, n_columns)), random.integers(0, 2, n_rows))


def test_growth_ends_where_the_memory_does_with_the_best_tree_so_far() -> None:
    table = noise()
    with pytest.warns(GrowthWarning, match=r"ended at 400000 bytes \(memory_limit\): the tree is the best"):
        small = grow(table, GrowthRules(memory_limit=400_000))
    assert 10 < small.n_leaves < grow(table).n_leaves / 2
    same = grow(table, GrowthRules(max_leaf_nodes=small.n_leaves))
    assert np.array_equal(same.feature, small.feature)
    assert np.array_equal(same.threshold, small.threshold, equal_nan=True)


def test_no_more_is_taken_than_the_limit() -> None:
    table = noise()
    for limit in (300_000, 600_000):
        rules = GrowthRules(memory_limit=limit)
        fixed = fixed_point_sample(table, rules)
        grow_samples(table, rules, fixed, [fixed.repeats], [0])  # whatever is compiled or cached
        tracemalloc.start()
        grow_samples(table, rules, fixed, [fixed.repeats], [0])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= limit


def test_enough_memory_changes_nothing() -> None:
    table = noise(300)
    plain, limited = grow(table, CART), grow(table, GrowthRules(memory_limit=10**9))
    assert limited.notes == ()
    assert sorted(limited.threshold[limited.feature >= 0]) == sorted(plain.threshold[plain.feature >= 0])


def test_too_little_for_one_split_is_said_before_growing() -> None:
    with pytest.raises(
        ParameterError, match=r"memory_limit=5000 is too small: 300 rows of 3 features need \d+"
    ):
        grow(noise(300), GrowthRules(memory_limit=5000))
    with pytest.raises(ParameterError, match="memory_limit=0 is out of range"):
        GrowthRules(memory_limit=0)


def test_an_estimator_has_the_limit() -> None:
    X = np.random.default_rng(0).random((500, 2))
    y = np.arange(500) % 2
    with pytest.warns(GrowthWarning, match="memory_limit"):
        small = TreeClassifier(growth_rules=GrowthRules(memory_limit=60_000)).fit(X, y)
    assert small.get_n_leaves() < TreeClassifier().fit(X, y).get_n_leaves()
