"""Reduced-error pruning: of all subtrees, the smallest of those that err least on other rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.errors import HoldfastError, SchemaMismatch
from holdfast.growth.grow import grow
from holdfast.growth.holdout_pruning import prune_reduced_error
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_to_json
from holdfast.tree.check import check_tree
from holdfast.tree.tree import Tree
from reference import pruning as twin
from reference.tables import class_tables, number_tables, rules, small_counts, whole_weights

SMALL: dict[str, Any] = {"max_depth": 4, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}
FOUR = [[1.0], [2.0], [3.0], [4.0]]


def grown(y: list[Any], criterion: str = "gini", **options: Any) -> Tree:
    """The tree of rows at 1, 2, 3, 4."""
    return grow(Table.from_arrays(FOUR, y, **options), GrowthRules(criterion))


def new_rows(tree: Tree, x: list[float], y: list[Any], weight: Any = None) -> Table:
    return Table.from_arrays(np.array(x)[:, None], y, weight, schema=tree.schema)


# -- by hand ----------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_a_split_that_new_rows_do_not_confirm_is_undone_and_one_that_they_do_stays() -> None:
    tree = grown(["a", "b", "c", "c"])  # x <= 2.5 ? (x <= 1.5 ? a : b) : c
    assert tree.n_leaves == 3
    part = prune_reduced_error(tree, new_rows(tree, [1, 2, 4], ["a", "a", "c"]))
    assert part.threshold[0] == 2.5
    assert part.n_leaves == 2
    assert np.array_equal(part.value[1], tree.value[1])  # the values of the nodes stay as they are
    confirmed = prune_reduced_error(tree, new_rows(tree, [1, 2, 4], ["a", "b", "c"]))
    assert model_to_json(confirmed) == model_to_json(tree)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_branches_that_no_row_reaches_are_undone(criterion: str) -> None:
    tree = grown([1.0, 2.0, 9.0, 10.0], criterion, task="regression")
    assert tree.threshold[[0, 1, 4]].tolist() == [2.5, 1.5, 3.5]
    # Rows on the left only: what stands on the right has nothing that speaks for it.
    part = prune_reduced_error(tree, new_rows(tree, [1, 2, 1, 2], [1.0, 2.0, 1.0, 2.0]))
    assert part.n_leaves == 3
    assert part.predict(FOUR).tolist() == [1.0, 2.0, 9.5, 9.5]


@pytest.mark.parametrize(("x", "y"), [(1.0, 1.0), (2.0, 2.0), (3.0, 9.0), (4.0, 10.0)])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_one_row_speaks_for_no_more_than_its_own_branch(criterion: str, x: float, y: float) -> None:
    tree = grown([1.0, 2.0, 9.0, 10.0], criterion, task="regression")
    part = prune_reduced_error(tree, new_rows(tree, [x], [y]))
    assert part.predict([[x]])[0] == y
    assert part.n_leaves == 3  # the leaf, its sibling, and the other branch as one


def test_branches_of_classes_that_no_row_reaches_are_undone() -> None:
    tree = grown(["a", "b", "c", "d"])  # x <= 2.5 ? (x <= 1.5 ? a : b) : (x <= 3.5 ? c : d), or a chain
    part = prune_reduced_error(tree, new_rows(tree, [1, 2], ["a", "b"]))
    assert part.predict([[1.0], [2.0]]).tolist() == ["a", "b"]
    assert "d" not in part.predict(FOUR)
    assert part.n_leaves < 4


def test_weights_say_which_rows_are_heard() -> None:
    tree = grown(["a", "a", "b", "b"])
    for weight, leaves in (([1.0, 1.0, 3.0], 2), ([3.0, 1.0, 1.0], 2), ([1.0, 1.0, 0.0], 1)):
        table = new_rows(tree, [1, 2, 4], ["a", "a", "b"], weight)
        assert prune_reduced_error(tree, table).n_leaves == leaves


@pytest.mark.filterwarnings("ignore:no tree can split")
def test_a_lone_leaf_stays_one() -> None:
    tree = grow(Table.from_arrays([[1.0], [1.0]], ["a", "b"]))
    assert prune_reduced_error(tree, new_rows(tree, [1, 2], ["b", "a"])).n_leaves == 1


def test_a_far_away_target_does_not_hide_what_a_split_saves() -> None:
    tree = grown([1e6, 1e6, 1e6 + 1, 1e6 + 1], "squared_error", task="regression")
    table = new_rows(tree, [1, 2, 3, 4], [1e6, 1e6, 1e6 + 1, 1e6 + 1])
    assert prune_reduced_error(tree, table).n_leaves == 2


# -- all subtrees -----------------------------------------------------------------------------------------


def assert_smallest_of_the_best(tree: Tree, table: Table, losses: list[Any]) -> None:
    """No subtree loses less, and none that loses as little is smaller."""
    part = prune_reduced_error(tree, table)
    check_tree(part)
    ends = twin.ends_of(part, tree)
    scale = float(sum(abs(loss) for loss in losses)) or 1.0
    totals = {choice: float(twin.total(losses, choice)) for choice in twin.all_subtrees(tree)}
    least = min(totals.values())
    assert totals[ends] <= least + 1e-10 * scale
    assert len(ends) <= min(len(choice) for choice, loss in totals.items() if loss <= least + 1e-15 * scale)


@st.composite
def old_and_new(draw: Any, tables: Any) -> tuple[Table, Table]:
    """Two parts of one table."""
    table = draw(tables)
    is_new = np.array(draw(st.lists(st.booleans(), min_size=table.n_rows, max_size=table.n_rows)))
    is_new[0] = False
    if table.n_rows > 1:
        is_new[-1] = True
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    old = ~is_new if weight[~is_new].any() else np.ones(table.n_rows, bool)
    return table.subset(old), table.subset(is_new if is_new.any() else old)


@given(old_and_new(class_tables(of_a_row=whole_weights)), rules(**SMALL))
def test_of_all_subtrees_it_is_the_smallest_with_the_fewest_errors(
    tables: tuple[Table, Table], growth: GrowthRules
) -> None:
    tree = grow(tables[0], growth)
    losses = twin.error_losses(tree, tables[1])
    best = twin.cheapest(twin.all_subtrees(tree), losses)
    ends = twin.ends_of(prune_reduced_error(tree, tables[1]), tree)
    assert (twin.total(losses, ends), len(ends)) == (twin.total(losses, best), len(best))


@given(old_and_new(number_tables(of_a_row=whole_weights, most_rows=25)), rules(("squared_error",), **SMALL))
def test_of_all_subtrees_it_is_the_smallest_with_the_least_squared_error(
    tables: tuple[Table, Table], growth: GrowthRules
) -> None:
    tree = grow(tables[0], growth)
    assert_smallest_of_the_best(tree, tables[1], twin.squared_losses(tree, tables[1]))


positive_counts = small_counts.map(lambda count: 6.0 * count + 1.0)  # no leaf predicts 0


@given(
    old_and_new(number_tables(positive_counts, of_a_row=whole_weights, most_rows=25)),
    rules(("poisson",), **SMALL),
)
def test_of_all_subtrees_it_is_the_smallest_with_the_least_deviance(
    tables: tuple[Table, Table], growth: GrowthRules
) -> None:
    tree = grow(tables[0], growth)
    assert_smallest_of_the_best(tree, tables[1], twin.poisson_losses(tree, tables[1]))


@pytest.mark.parametrize("n_new", [1, 4, 12, 60])
@pytest.mark.parametrize("seed", range(4))
def test_few_rows_speak_for_few_splits_of_numbers(n_new: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(150, 3))
    counts = random.poisson(np.exp(2 + X[:, 0] / 2 + X[:, 1] / 3)).astype(float) + 1
    table = Table.from_arrays(X, counts, task="regression")
    old, new = table.subset(np.arange(90)), table.subset(np.arange(90, 90 + n_new))
    for criterion, losses in (("squared_error", twin.squared_losses), ("poisson", twin.poisson_losses)):
        tree = grow(old, GrowthRules(criterion, max_depth=3))
        assert_smallest_of_the_best(tree, new, losses(tree, new))


@given(old_and_new(class_tables(of_a_row=whole_weights)), rules())
def test_pruning_by_the_same_rows_again_changes_nothing(
    tables: tuple[Table, Table], growth: GrowthRules
) -> None:
    once = prune_reduced_error(grow(tables[0], growth), tables[1])
    assert model_to_json(prune_reduced_error(once, tables[1])) == model_to_json(once)


def test_weight_two_is_a_row_twice() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 3)), random.normal(size=300)
    table = Table.from_arrays(X, X[:, 0] + y, task="regression")
    tree = grow(table.subset(np.arange(150)), GrowthRules("squared_error"))
    weight = random.integers(0, 4, 150)
    once = Table(
        table.schema, tuple(c[150:] for c in table.columns), table.target[150:], weight.astype(float)
    )
    often = table.subset(150 + np.repeat(np.arange(150), weight))
    one, other = prune_reduced_error(tree, once), prune_reduced_error(tree, often)
    assert model_to_json(one) == model_to_json(other)
    assert 1 < one.n_leaves < tree.n_leaves


# -- rows that do not fit ---------------------------------------------------------------------------------


def test_other_classes_are_refused() -> None:
    tree = grown(["a", "b", "a", "a"])
    for other in (["a", "b", "c", "a"], ["b", "c", "b", "b"]):
        with pytest.raises(
            SchemaMismatch, match=r"other classes than the tree: read them with schema=tree\.schema"
        ):
            prune_reduced_error(tree, Table.from_arrays(FOUR, other))


def test_classes_in_another_order_are_refused_or_read_by_name() -> None:
    tree = grown(["a", "b", "a", "a"])
    turned = Schema(tree.schema.features, Target("y", classes=("b", "a")))
    table = Table.from_arrays(FOUR, ["a", "b", "a", "a"], schema=turned)
    try:
        part = prune_reduced_error(tree, table)
    except SchemaMismatch:
        return
    assert part.n_leaves == tree.n_leaves


def test_numbers_for_a_tree_of_classes_and_classes_for_one_of_numbers_are_refused() -> None:
    of_classes = grown(["a", "b", "a", "a"])
    of_numbers = grown([1.0, 3.0, 8.0, 16.0], "squared_error", task="regression")
    with pytest.raises(HoldfastError, match="tree"):
        prune_reduced_error(of_classes, Table.from_arrays(FOUR, [0.5, 1.5, 2.5, 3.5]))
    with pytest.raises(HoldfastError, match="tree"):
        prune_reduced_error(of_numbers, Table.from_arrays(FOUR, ["a", "b", "a", "a"]))


def test_other_columns_are_refused() -> None:
    tree = grown(["a", "b", "a", "a"])
    with pytest.raises(SchemaMismatch):
        prune_reduced_error(tree, Table.from_arrays([["u"], ["v"], ["u"], ["w"]], ["a", "b", "a", "a"]))
