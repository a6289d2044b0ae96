"""What must hold for every table and every rule: invariances, nested trees, the same bits without the JIT."""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast._arrays import FloatArray, LongArray
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_to_json
from holdfast.tree.check import check_tree
from holdfast.tree.tree import LEAF, Tree
from reference.disagreement import going_left
from reference.large_tables import large_table
from reference.scan import findings
from reference.tables import class_tables, fractional_weights, number_tables, rules, whole_weights

FREE: dict[str, Any] = {"min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}
NUMBERS = ("squared_error",)
any_table = class_tables(of_a_row=whole_weights) | class_tables(of_a_row=fractional_weights)
any_numbers = number_tables(of_a_row=whole_weights) | number_tables(of_a_row=fractional_weights)

# The parts of a tree that say how rows are divided, and the numbers at its nodes.
SHAPE = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set")
DATA = ("value", "count", "weight", "impurity")


def assert_same(one: Tree, other: Tree, but: tuple[str, ...] = (), tolerance: float = 0.0) -> None:
    """The trees agree in every array, the numbers at the nodes within a tolerance."""
    for name in (*SHAPE, *DATA):
        if name not in but:
            relative = tolerance if name in DATA else 0.0
            np.testing.assert_allclose(
                getattr(one, name), getattr(other, name), relative, relative, err_msg=name
            )


def rows_at_nodes(tree: Tree, table: Table) -> list[LongArray]:
    """The rows of the table that reach each node."""
    rows = [np.arange(table.n_rows)] * tree.n_nodes
    for node in range(tree.n_nodes):
        if tree.left[node] != LEAF:
            yes = going_left(tree, node, table)[rows[node]]
            rows[tree.left[node]], rows[tree.right[node]] = rows[node][yes], rows[node][~yes]
    return rows


def taken(table: Table, rows: LongArray, weight: FloatArray | None) -> Table:
    """Some rows of the table, with other weights."""
    columns = tuple(column[rows] for column in table.columns)
    return Table(table.schema, columns, table.target[rows], weight)


# -- sums -----------------------------------------------------------------------------------------------


@given(any_table, rules())
def test_every_row_is_in_one_leaf_and_children_add_up_to_their_parent(
    table: Table, growth: GrowthRules
) -> None:
    tree = grow(table, growth)
    check_tree(tree)
    inner = tree.left != LEAF
    for array in (tree.count, tree.weight):
        np.testing.assert_allclose(array[tree.left[inner]] + array[tree.right[inner]], array[inner])
    rows = rows_at_nodes(tree, table)
    leaves = np.concatenate([rows[node] for node in np.flatnonzero(~inner)])
    assert sorted(leaves) == list(range(table.n_rows))
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    assert all(weight[own].any() for own in rows)


# -- invariances ----------------------------------------------------------------------------------------


@given(any_table, rules(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table: Table, growth: GrowthRules, random: object) -> None:
    order = np.arange(table.n_rows)
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = taken(table, order, None if table.weight is None else table.weight[order])
    assert_same(grow(table, growth), grow(shuffled, growth))


@given(any_numbers, rules(NUMBERS), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_split_of_numbers(
    table: Table, growth: GrowthRules, random: object
) -> None:
    order = np.arange(table.n_rows)
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = taken(table, order, None if table.weight is None else table.weight[order])
    assert_same(grow(table, growth), grow(shuffled, growth), tolerance=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "squared_error"])
def test_the_order_of_the_columns_does_not_matter(criterion: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))  # so many that no two splits are tied
    y = X @ [1.0, -1.0, 0.5, 0.0] + random.normal(size=3000)
    order = [2, 0, 3, 1]
    target = y if criterion == "squared_error" else y > 0
    growth = GrowthRules(criterion, max_depth=3, min_samples_leaf=50)
    one, other = (grow(Table.from_arrays(each, target), growth) for each in (X, X[:, order]))
    inner = one.left != LEAF
    assert one.feature[inner].tolist() == [order[feature] for feature in other.feature[inner]]
    assert_same(one, other, but=("feature",), tolerance=1e-12)


@given(class_tables(of_a_row=whole_weights), rules(("gini", "entropy", "misclassification")), st.data())
def test_the_names_of_the_classes_do_not_matter(
    table: Table, growth: GrowthRules, data: st.DataObject
) -> None:
    assume(not any(feature.is_subset for feature in table.schema.features))
    places = np.array(data.draw(st.permutations(range(len(table.schema.target.classes)))))
    renamed = replace(table, target=places[table.target].astype(np.int32))
    one, other = grow(table, growth), grow(renamed, growth)
    assert_same(one, other, but=("value",), tolerance=1e-12)
    np.testing.assert_allclose(one.value, other.value[:, places])


@given(any_table, rules(), st.sampled_from([np.cbrt, np.arctan, lambda x: x * 3.0 - 1e6, np.tanh]))
def test_stretching_a_column_changes_no_partition(
    table: Table, growth: GrowthRules, stretch: Callable[[FloatArray], FloatArray]
) -> None:
    columns = tuple(
        stretch(column) if feature.kind == "numeric" else column
        for feature, column in zip(table.schema.features, table.columns, strict=True)
    )
    assume(
        all(
            len(np.unique(one)) == len(np.unique(two))
            for one, two in zip(columns, table.columns, strict=True)
        )
    )
    one, other = grow(table, growth), grow(replace(table, columns=columns), growth)
    assert_same(one, other, but=("threshold",))


@given(class_tables(), rules(), st.data())
def test_a_row_given_twice_is_a_row_of_weight_two_and_weight_zero_is_no_row(
    table: Table, growth: GrowthRules, data: st.DataObject
) -> None:
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=table.n_rows, max_size=table.n_rows)))
    assume(weight.any())
    repeated = taken(table, np.repeat(np.arange(table.n_rows), weight), None)
    assert_same(grow(replace(table, weight=weight.astype(float)), growth), grow(repeated, growth))


@given(number_tables(), rules(NUMBERS), st.data())
def test_a_number_given_twice_is_a_number_of_weight_two(
    table: Table, growth: GrowthRules, data: st.DataObject
) -> None:
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=table.n_rows, max_size=table.n_rows)))
    assume(weight.any())
    repeated = taken(table, np.repeat(np.arange(table.n_rows), weight), None)
    whole = grow(replace(table, weight=weight.astype(float)), growth)
    assert_same(whole, grow(repeated, growth), tolerance=1e-9)


# -- C4.5 -----------------------------------------------------------------------------------------------

C45_LIKE: dict[str, Any] = {"threshold_cost": True, "min_weight_fraction_leaf": 0.0}
c45_like = rules(("gain_ratio",), **C45_LIKE)
c45_pruned = rules(("gain_ratio",), **C45_LIKE, pruning_confidence=0.25)


@given(any_table, c45_pruned, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_to_c45(
    table: Table, growth: GrowthRules, random: object
) -> None:
    order = np.arange(table.n_rows)
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = taken(table, order, None if table.weight is None else table.weight[order])
    assert_same(grow(table, growth), grow(shuffled, growth))


@given(class_tables(), c45_pruned, st.data())
def test_c45_takes_a_row_given_twice_for_a_row_of_weight_two(
    table: Table, growth: GrowthRules, data: st.DataObject
) -> None:
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=table.n_rows, max_size=table.n_rows)))
    assume(weight.any())
    repeated = taken(table, np.repeat(np.arange(table.n_rows), weight), None)
    assert_same(grow(replace(table, weight=weight.astype(float)), growth), grow(repeated, growth))


@given(any_table, c45_pruned)
def test_c45_keeps_every_row_in_one_leaf_and_children_add_up(table: Table, growth: GrowthRules) -> None:
    tree = grow(table, growth)
    check_tree(tree)
    inner = tree.left != LEAF
    for array in (tree.count, tree.weight):
        np.testing.assert_allclose(array[tree.left[inner]] + array[tree.right[inner]], array[inner])
    rows = rows_at_nodes(tree, table)
    leaves = np.concatenate([rows[node] for node in np.flatnonzero(~inner)])
    assert sorted(leaves) == list(range(table.n_rows))


@given(any_table, c45_like)
def test_thresholds_cost_the_same_in_depth_first_and_best_first_growth(
    table: Table, growth: GrowthRules
) -> None:
    best_first = replace(growth, max_leaf_nodes=10**6)
    assert model_to_json(grow(table, growth)) == model_to_json(grow(table, best_first))


@settings(max_examples=20)
@given(any_table, rules(("gain_ratio",), **C45_LIKE, max_features=1), st.integers(0, 2**40))
def test_drawn_features_pay_for_their_thresholds_in_any_order_of_growth(
    table: Table, growth: GrowthRules, seed: int
) -> None:
    best_first = replace(growth, max_leaf_nodes=10**6)
    tree = grow(table, growth, random_state=seed)
    check_tree(tree)
    assert model_to_json(tree) == model_to_json(grow(table, best_first, random_state=seed))


# -- nested trees ---------------------------------------------------------------------------------------


@given(any_table, rules())
def test_depth_first_and_best_first_grow_the_same_tree(table: Table, growth: GrowthRules) -> None:
    assert model_to_json(grow(table, growth)) == model_to_json(
        grow(table, replace(growth, max_leaf_nodes=10**6))
    )


@given(any_table, rules(max_depth=None), st.integers(1, 4))
def test_growing_to_a_depth_is_cutting_the_deeper_tree(table: Table, growth: GrowthRules, depth: int) -> None:
    shallow, deep = grow(table, replace(growth, max_depth=depth)), grow(table, growth)
    waiting = [(0, 0)]
    while waiting:
        one, other = waiting.pop()
        for name in DATA:
            assert np.array_equal(getattr(shallow, name)[one], getattr(deep, name)[other])
        if shallow.left[one] == LEAF:
            assert deep.left[other] == LEAF or shallow.node_depth[one] == depth
            continue
        assert shallow.feature[one] == deep.feature[other]
        assert np.array_equal(shallow.threshold[one], deep.threshold[other], equal_nan=True)
        waiting += [(shallow.left[one], deep.left[other]), (shallow.right[one], deep.right[other])]


@given(any_table, rules(("gini", "entropy")), st.integers(1, 6))
def test_a_budget_of_nodes_takes_the_most_useful_splits(
    table: Table, growth: GrowthRules, n_leaves: int
) -> None:
    whole = grow(table, growth)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = grow(table, replace(growth, max_nodes=2 * n_leaves - 1))
    assert part.n_leaves == min(n_leaves, whole.n_leaves)
    said = [warning for warning in caught if warning.category is GrowthWarning]
    assert len(said) == len(part.notes) == (part.n_leaves < whole.n_leaves)
    gain = gains_of(whole)
    reachable, most = [0], 0.0
    for _ in range(part.n_leaves - 1):
        node = max(reachable, key=lambda each: float(gain[each]))
        reachable.remove(node)
        reachable += [int(whole.left[node]), int(whole.right[node])]
        most += gain[node]
    assert gains_of(part).clip(min=0.0).sum() == pytest.approx(most, abs=1e-9)


def gains_of(tree: Tree) -> FloatArray:
    """The gain of every split, times weight; -1 at a leaf."""
    risk = tree.weight * tree.impurity
    return np.where(tree.left != LEAF, risk - risk[tree.left] - risk[tree.right], -1.0)


# -- drawn features, many categories --------------------------------------------------------------------


@pytest.mark.parametrize("max_features", [1, 2, "sqrt", 0.5])
def test_the_same_seed_draws_the_same_features(max_features: int | float | str) -> None:
    random = np.random.default_rng(0)
    table = Table.from_arrays(random.normal(size=(3000, 9)), random.integers(0, 3, 3000))
    growth = GrowthRules(max_features=max_features, min_samples_leaf=5)  # type: ignore[arg-type]
    one, again, other = (model_to_json(grow(table, growth, random_state=seed)) for seed in (7, 7, 8))
    assert one == again
    assert one != other


@given(any_table, rules(max_features=1, **FREE), st.integers(0, 2**40))
def test_drawn_features_do_not_depend_on_the_order_of_growth(
    table: Table, growth: GrowthRules, seed: int
) -> None:
    best_first = replace(growth, max_leaf_nodes=10**6)
    tree = grow(table, growth, random_state=seed)
    check_tree(tree)
    assert model_to_json(tree) == model_to_json(grow(table, best_first, random_state=seed))


@given(any_table, st.integers(0, 2**40))
def test_whatever_is_drawn_growth_ends_where_nothing_is_left_to_split(table: Table, seed: int) -> None:
    tree = grow(table, GrowthRules(max_features=1), random_state=seed)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for node, rows in enumerate(rows_at_nodes(tree, table)):
        if tree.left[node] == LEAF:
            counted = rows[weight[rows] > 0]
            alike = all(len(np.unique(column[counted])) == 1 for column in table.columns)
            assert alike or len(np.unique(table.target[counted])) == 1


def test_three_thousand_categories_are_split_by_the_order_of_their_means() -> None:
    table = large_table(np.random.default_rng(4), "gini", n_classes=2, nominal=3000, n_rows=6000)
    growth = GrowthRules(max_depth=4, categories="exact")
    tree = grow(table, growth)
    nominal = len(table.schema.features) - 1
    assert nominal in tree.feature
    faults = findings(table, growth, tree).faults
    assert [fault for fault in faults if "is a leaf" not in fault] == []  # the depth ends growth


def test_columns_read_on_a_wider_schema_grow_the_same_tree() -> None:
    table = large_table(np.random.default_rng(5), "gini", n_classes=3, nominal=20, n_rows=500)
    feature = table.schema.features[-1]
    wider = replace(feature, categories=tuple(range(300)))
    schema = Schema((*table.schema.features[:-1], wider), table.schema.target)
    one, other = grow(table), grow(replace(table, schema=schema))
    assert_same(one, other, but=("in_set", "set_start"))


# -- with the JIT off -----------------------------------------------------------------------------------

TINY = """
import sys
import numpy as np
from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.rules import C45, GrowthRules
from holdfast.io.model_file import model_to_json

random = np.random.default_rng(0)
X = random.normal(size=(40, 3)).round(1)
X[random.random(X.shape) < 0.1] = np.nan
site = np.array(["colon", "lung", "skin", None], object)[random.integers(0, 4, 40)]
frame = np.column_stack([X.astype(object), site])
classes, numbers = random.integers(0, 3, 40), random.integers(0, 9, 40) / 2
for y, weight, rules in [
    (classes, None, GrowthRules("gini")),
    (classes > 0, random.random(40), GrowthRules("entropy", min_samples_leaf=2)),
    (classes, None, GrowthRules("gain_ratio", max_leaf_nodes=6)),
    (classes, None, GrowthRules("misclassification", max_features=2)),
    (numbers, random.integers(0, 3, 40), GrowthRules("squared_error")),
    (numbers, None, GrowthRules("poisson", min_samples_leaf=3)),
    (X[:, 0] > 0.3, None, C45),
]:
    table = Table.from_arrays(frame, y, weight)
    sys.stdout.buffer.write(model_to_json(grow(table, rules, random_state=3)) + b"\\n")
ward = random.integers(0, 14, 200)
height = np.sin(ward) + random.normal(size=200)
frame = np.column_stack([ward.astype(str).astype(object), random.normal(size=200).astype(object)])
for y, rules in [
    (height > 0, GrowthRules("gini")),
    (np.digitize(height, [-0.5, 0.5]), GrowthRules("entropy")),
    (height, GrowthRules("squared_error", max_leaf_nodes=5)),
]:
    table = Table.from_arrays(frame, y)
    sys.stdout.buffer.write(model_to_json(grow(table, rules)) + b"\\n")
"""


@pytest.mark.slow
def test_plain_python_grows_the_same_trees_to_the_last_byte() -> None:
    models = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        run = subprocess.run([sys.executable, "-c", TINY], env=environment, capture_output=True, check=False)
        assert run.returncode == 0, run.stderr.decode()
        models.append(run.stdout.split(b"\n"))
    assert models[0] == models[1]
