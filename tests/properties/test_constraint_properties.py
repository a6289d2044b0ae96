"""What every constraint promises, for every table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import Table
from holdfast.growth.constraints import list_columns_read
from holdfast.growth.grow import grow
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.rules import GrowthRules
from holdfast.tree.monotone import count_violations
from reference.constraints import falls_along, paths_of
from reference.tables import class_tables, fractional_weights, number_tables, whole_weights

pytestmark = pytest.mark.filterwarnings("ignore")
tables = (
    class_tables(of_a_row=whole_weights)
    | class_tables(of_a_row=fractional_weights)
    | number_tables(of_a_row=whole_weights)
    | number_tables(of_a_row=fractional_weights)
)
signs = st.sampled_from([-1, 1])


def rules_for(table: Table, **said) -> GrowthRules:
    criterion = "gini" if table.schema.target.is_classes else "squared_error"
    return GrowthRules(criterion, **said)


def directed(table: Table, sign: int, **said) -> GrowthRules:
    """Rules with a direction for every column that can have one."""
    read = {name for text in table.schema.custom_features for name in list_columns_read(table.schema, text)}
    columns = [feature for feature in table.schema.columns if feature.name not in read]
    ordered = {feature.name: sign for feature in columns if not feature.is_subset}
    if not ordered:
        return rules_for(table, **said)
    classes = table.schema.target.classes
    return rules_for(table, monotonic_cst=ordered, monotonic_class=classes[0] if classes else None, **said)


@given(tables, signs, st.sampled_from([None, 2, 4]))
def test_values_go_one_way_along_every_directed_column(table, sign, max_depth):
    rules = directed(table, sign, max_depth=max_depth)
    tree = grow(table, rules)
    assert count_violations(tree) == 0
    # Counted without the boxes of leaves: rows moved along the values of a column, one at a time.
    rows = np.column_stack(table.columns)
    for position, feature in enumerate(table.schema.columns):
        if feature.name in (rules.monotonic_cst or {}):
            known = np.unique(rows[:, position][~np.isnan(rows[:, position])])
            falls = falls_along(lambda moved: sign * _values(tree, table, moved), rows, position, known)
            assert falls == 0


def _values(tree, table, rows):
    moved = Table(table.schema, tuple(rows.T), table.target, table.weight)
    return tree.value[tree.apply(moved), 0]


@given(tables, signs)
def test_other_rows_do_not_break_the_order(table, sign):
    rules = directed(table, sign)
    tree = grow(table, rules)
    turned = Table(table.schema, table.columns, table.target[::-1].copy(), table.weight)
    assert count_violations(refit_leaf_values(tree, turned, rules)) == 0


@given(tables, st.integers(0, 3), st.data())
def test_paths_keep_to_groups_and_depths(table, least, data):
    names = [feature.name for feature in table.schema.columns]
    group = data.draw(st.sets(st.sampled_from(names), min_size=1))
    late = data.draw(st.sampled_from(names))
    forbidden = {late: least} if least and len(names) > 1 else None
    tree = grow(table, rules_for(table, interaction_cst=[group], excluded_features=forbidden))
    for path in paths_of(tree):
        asked = [tree.schema.names[feature] for feature in path]
        assert set(asked) <= group or not set(asked) & group
        assert forbidden is None or late not in asked[:least]
