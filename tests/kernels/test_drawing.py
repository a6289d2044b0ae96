"""Columns are drawn by name: each node takes those with the smallest hashes."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from holdfast import BoostingRegressor, GrowthRules, Table, Tree, grow
from holdfast.data.binning import hash_text
from reference.drawing import column_order

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore::UserWarning")]
NAMES = [f"c{i}" for i in range(7)]


def table(names: list[str], n_rows: int = 60, constant: tuple[str, ...] = ()) -> Table:
    """Columns of noise, each the same whatever the others are."""
    columns = {
        name: np.zeros(n_rows) if name in constant else np.random.default_rng(hash_text(name)).random(n_rows)
        for name in names
    }
    target = np.random.default_rng(0).permutation(np.arange(n_rows) % 2)
    return Table.from_frame(pd.DataFrame(columns | {"y": target}), target="y")


def inner_nodes(tree: Tree, node: int = 0, path: str = "") -> Iterator[tuple[int, str]]:
    if tree.left[node] >= 0:
        yield node, path
        yield from inner_nodes(tree, int(tree.left[node]), path + "L")
        yield from inner_nodes(tree, int(tree.right[node]), path + "R")


def asked(tree: Tree) -> dict[str, str]:
    """The column that each inner node asks about, by path."""
    return {path: tree.schema.names[tree.feature[node]] for node, path in inner_nodes(tree)}


@pytest.mark.parametrize("criterion", ["gini", "gain_ratio"])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 12}])
def test_one_column_drawn_is_the_one_of_the_smallest_hash(criterion, limits):
    rules = GrowthRules(criterion, max_features=1, **limits)
    for seed in (0, 1, 2**40 + 5):
        tree = grow(table(NAMES), rules, random_state=seed)
        assert asked(tree) == {path: column_order(NAMES, seed, path)[0] for path in asked(tree)}
        assert len(set(asked(tree).values())) > 1


@pytest.mark.parametrize("n_drawn", [2, 5])
def test_the_best_of_the_first_columns_is_taken(n_drawn):
    rows = table(NAMES)
    tree = grow(rows, GrowthRules(max_features=n_drawn, max_depth=1), random_state=4)
    first = column_order(NAMES, 4)[:n_drawn]
    only = grow(table(first), GrowthRules(max_depth=1))
    assert (asked(tree), tree.threshold[0]) == (asked(only), only.threshold[0])


@pytest.mark.parametrize("n_drawn", [3, 20, 40])
def test_long_queues_are_gone_through_in_the_same_order(n_drawn):
    names = [f"column {i}" for i in range(60)]
    for seed in range(3):
        order = column_order(names, seed)
        only = grow(table(order[:n_drawn]), GrowthRules(max_depth=1))
        tree = grow(table(names), GrowthRules(max_features=n_drawn, max_depth=1), random_state=seed)
        assert (asked(tree), tree.threshold[0]) == (asked(only), only.threshold[0])


def test_constant_columns_do_not_count():
    for seed in range(6):
        first, second, third = column_order(NAMES, seed)[:3]
        rows = table(NAMES, constant=(first, second))
        assert asked(grow(rows, GrowthRules(max_features=1), random_state=seed))[""] == third


def test_a_column_that_is_added_changes_only_the_nodes_that_draw_it():
    few, more = table(NAMES, 200), table([*NAMES, "a new one"], 200)
    kept = 0
    for seed in range(20):
        rules = GrowthRules(max_features=2, max_depth=2)
        before, after = (asked(grow(rows, rules, random_state=seed)) for rows in (few, more))
        drawn = column_order([*NAMES, "a new one"], seed)[:2]
        if "a new one" not in drawn:
            assert before[""] == after[""]
        kept += before == after
    assert kept >= 6  # three nodes, each of which draws the new column in one case of four


def test_the_order_of_the_columns_does_not_matter():
    rules = GrowthRules(max_features=2)
    left, right = (grow(table(names), rules, random_state=1) for names in (NAMES, NAMES[::-1]))
    assert asked(left) == asked(right)
    assert np.array_equal(left.threshold, right.threshold, equal_nan=True)


def test_every_column_is_drawn_equally_often_and_in_every_company():
    names = [f"column {i}" for i in range(10)]
    n_nodes, pairs, single = 6000, Counter(), Counter()
    for node in range(n_nodes):
        drawn = column_order(names, node // 6, ["", "L", "R", "LL", "LRL", "RRRR"][node % 6])[:3]
        single.update(drawn)
        pairs.update((a, b) for a in drawn for b in drawn if a < b)
    expected = n_nodes * 3 / 10
    assert all(abs(single[name] - expected) < 4.5 * (expected * 0.7) ** 0.5 for name in names)
    expected = n_nodes * 3 / 45
    assert len(pairs) == 45
    assert all(abs(count - expected) < 4.5 * expected**0.5 for count in pairs.values())


def test_a_queue_that_is_too_short_is_filled_up_in_the_same_order():
    names = [f"column {i}" for i in range(60)]
    for seed in range(4):
        order = column_order(names, seed)
        rows = table(names, 20, constant=tuple(order[:-2]))
        assert asked(grow(rows, GrowthRules(max_features=1), random_state=seed))[""] == order[-2]


@pytest.mark.parametrize("splits", ["binned", "exact"])
def test_boosting_draws_by_name_as_well(splits):
    model = BoostingRegressor(n_estimators=12, max_depth=1, max_features=1, random_state=0, splits=splits)
    target = np.random.default_rng(1).random(60)

    def columns_of(names: list[str]) -> list[str]:
        rows = table(names)
        frame = pd.DataFrame(dict(zip(names, rows.columns, strict=True)))
        return [asked(tree)[""] for tree in model.fit(frame, target).ensemble_.trees]

    before, turned, more = (columns_of(names) for names in (NAMES, NAMES[::-1], [*NAMES, "a new one"]))
    assert before == turned
    assert len(set(before)) > 2
    kept = [new == old for new, old in zip(more, before, strict=True)]
    assert all(is_kept or new == "a new one" for is_kept, new in zip(kept, more, strict=True))
    assert sum(kept) >= 8
