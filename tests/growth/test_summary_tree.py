"""Which rows are concerned: a small tree that tells them from the others."""

import numpy as np

from holdfast import Table
from holdfast.growth.editing import MOST_LEAVES, grow_summary_tree
from holdfast.tree.rules import tree_rules


def table(n: int) -> Table:
    ages = np.arange(float(n))
    return Table.from_arrays(np.stack([ages, ages[::-1] % 7], axis=1), np.arange(n) % 2)


def test_a_box_of_rows_is_found() -> None:
    concerned = (np.arange(200) >= 120) & (np.arange(200) < 160)
    tree = grow_summary_tree(table(200), concerned.astype(float))
    best = max(tree_rules(tree), key=lambda rule: rule.value[0])
    assert (best.condition("x0").bounds, best.value[0], best.count) == ((119.5, 159.5), 1.0, 40.0)
    assert tree.n_leaves <= MOST_LEAVES


def test_rows_without_a_value_take_no_part() -> None:
    values = np.where(np.arange(200) < 100, np.nan, 1.0 * (np.arange(200) >= 150))
    tree = grow_summary_tree(table(200), values)
    assert tree.count[0] == 100.0
    assert tree.threshold[0] == 149.5


def test_groups_are_as_small_as_is_asked_for() -> None:
    concerned = (np.arange(200) < 4).astype(float)
    assert grow_summary_tree(table(200), concerned).count[1:].min() >= 10
    assert grow_summary_tree(table(200), concerned, 0.01).threshold[0] == 3.5
