"""What a prediction costs."""

import numpy as np
import pytest

from holdfast import Table, TreeRegressor, grow
from holdfast.growth import expected_cost
from holdfast.growth.rules import GrowthRules


def test_a_column_that_is_asked_twice_on_a_path_is_paid_once():
    x = np.arange(8.0)[:, None]
    tree = grow(Table.from_arrays(x, x[:, 0] + 0.5), GrowthRules("squared_error"))
    assert tree.depth == 3
    assert expected_cost(tree, {"x0": 5.0}) == 5.0


def test_leaves_count_by_their_weight():
    rows = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    table = Table.from_arrays(rows, [0.5, 3.5, 9.5, 9.5], [1.0, 1.0, 5.0, 1.0])
    tree = grow(table, GrowthRules("squared_error"))
    assert expected_cost(tree, {"x0": 2.0, "x1": 10.0}) == pytest.approx(2 + 10 * 2 / 8)


def test_a_question_costs_what_the_columns_cost_that_it_reads():
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    table = Table.from_arrays(rows, [0.5, 0.5, 0.5, 9.5], custom_features=["x0 > 0 and x1 > 0"])
    tree = grow(table, GrowthRules("squared_error", custom_features_only=True))
    assert expected_cost(tree, {"x0": 3.0}) == 4.0
    assert expected_cost(tree, {"x0": 3.0, "x0 > 0 and x1 > 0": 7.0}) == 7.0


def test_a_model_reports_its_cost_if_it_has_prices():
    x, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0)
    model = TreeRegressor(max_depth=2, growth_rules=GrowthRules(feature_costs={0: 4.0})).fit(x, y)
    assert 1.0 <= model.expected_cost_ <= 6.0
    with pytest.raises(AttributeError, match="needs feature_costs"):
        _ = TreeRegressor(max_depth=2).fit(x, y).expected_cost_
