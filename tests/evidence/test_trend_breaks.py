"""Splits against the trend of their column."""

import numpy as np
import pytest

from holdfast import ParameterError, Table, TrendWarning, grow, trend_breaks, warn_of_trend_breaks
from holdfast.growth.rules import GrowthRules

AGE = np.arange(120.0)
DIED = np.where(AGE < 60, "no", np.where(AGE < 105, "yes", "no"))  # rises, and falls at the end


@pytest.fixture(scope="module")
def table():
    y = np.where(AGE % 7 == 0, np.where(DIED == "yes", "no", "yes"), DIED)
    return Table.from_arrays(AGE[:, None], y)


def test_the_split_that_goes_the_other_way_is_found_with_its_rows(table):
    (found,) = trend_breaks(grow(table, GrowthRules(max_depth=2, min_samples_leaf=10)), table)
    assert found.feature == "x0"
    assert found.correlation > 0.2
    assert 100 <= found.threshold <= 108
    assert sum(found.rows) in range(55, 65)
    assert found.left > found.right


def test_it_warns_and_says_what_to_set(table):
    tree = grow(table, GrowthRules(max_depth=2, min_samples_leaf=10))
    with pytest.warns(TrendWarning, match=r"against its trend.*monotonic_cst={'x0': 1}"):
        assert len(warn_of_trend_breaks(tree, table)) == 1


def test_a_tree_with_the_direction_has_no_break(table):
    tree = grow(table, GrowthRules(max_depth=3, monotonic_cst={"x0": 1}))
    assert trend_breaks(tree, table) == []
    assert repr(trend_breaks(tree, table)) == "No split goes against the trend of its column."


def test_a_column_without_a_clear_trend_breaks_nothing():
    rng = np.random.default_rng(0)
    table = Table.from_arrays(rng.normal(size=(80, 2)), rng.normal(size=80))
    assert trend_breaks(grow(table, GrowthRules("squared_error", max_depth=3)), table) == []


def test_the_class_can_be_named_and_must_be_of_three(table):
    tree = grow(table, GrowthRules(max_depth=2, min_samples_leaf=10))
    (found,) = trend_breaks(tree, table, outcome="no")
    assert found.correlation < 0
    with pytest.raises(ParameterError, match="'maybe' is no class"):
        trend_breaks(tree, table, outcome="maybe")
    three = Table.from_arrays(AGE[:, None], AGE.astype(int) % 3)
    with pytest.raises(ParameterError, match="name one of the classes"):
        trend_breaks(grow(three, GrowthRules(max_depth=1)), three)
