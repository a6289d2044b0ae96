"""Trees are the same whether small nodes are searched by sorted rows or by bins."""

from typing import Any

import numpy as np
import pytest

from holdfast import GrowthRules, Table, Tree, grow
from holdfast.growth import grow as sorted_rows
from reference.large_tables import large_table

RULES: list[tuple[str, int, dict[str, Any]]] = [
    ("gini", 2, {}),
    ("gini", 2, {"categories": "exact", "class_weight": "balanced"}),
    ("gini", 3, {"min_samples_leaf": 3}),
    ("gini", 5, {"max_depth": 6}),
    ("gini", 3, {"class_weight": "balanced"}),
    ("entropy", 3, {"max_leaf_nodes": 40}),
    ("gain_ratio", 3, {}),
    ("squared_error", 0, {}),
    ("squared_error", 0, {"max_leaf_nodes": 60}),
    ("squared_error", 0, {"monotonic_cst": {0: 1, 1: -1}}),
    ("poisson", 0, {"max_depth": 9}),
]


@pytest.mark.parametrize("n_rows", [900, 9000])
@pytest.mark.parametrize(("criterion", "n_classes", "settings"), RULES)
def test_sorting_changes_no_tree(
    criterion: str, n_classes: int, settings: dict[str, Any], n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = large_table(np.random.default_rng(n_rows + n_classes), criterion, n_classes, 5, n_rows=n_rows)
    by_rows = grow(table, GrowthRules(criterion, **settings))
    monkeypatch.setattr(sorted_rows, "MOST_SORTED", 0)
    assert parts(grow(table, GrowthRules(criterion, **settings))) == parts(by_rows)
    assert by_rows.n_leaves > 5


def test_two_classes_are_sorted_where_few_columns_have_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []

    def room(*given: Any) -> Any:
        most.append(original(*given).most_rows)
        return original(*given)

    original = sorted_rows.make_sorted_rows
    monkeypatch.setattr("holdfast.growth.grow.make_sorted_rows", room)
    random = np.random.default_rng(0)
    for n_columns, criterion in ((16, "gini"), (17, "gini"), (16, "entropy")):
        table = Table.from_arrays(random.normal(size=(200, n_columns)), random.integers(0, 2, 200))
        grow(table, GrowthRules(criterion))
    assert most == [sorted_rows.MANY_ROWS, sorted_rows.FEW_ROWS, sorted_rows.FEW_ROWS]


def test_nothing_is_kept_sorted_within_a_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def room(*given: Any) -> Any:
        made.append(original(*given).rows.size)
        return original(*given)

    original = sorted_rows.make_sorted_rows
    monkeypatch.setattr("holdfast.growth.grow.make_sorted_rows", room)
    table = Table.from_arrays(np.arange(200.0).reshape(100, 2), np.arange(100.0))
    grow(table, GrowthRules("squared_error"))
    grow(table, GrowthRules("squared_error", memory_limit=10_000_000))
    assert [size > 0 for size in made] == [True, False]


def parts(tree: Tree) -> list[list[Any]]:
    asked = (
        tree.feature,
        tree.threshold,
        tree.left,
        tree.right,
        tree.missing_left,
        tree.set_start,
        tree.in_set,
    )
    said = (tree.value, tree.count, tree.weight, tree.impurity)
    return [np.nan_to_num(array, nan=-1.0).tolist() for array in (*asked, *said)]
