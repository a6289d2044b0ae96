"""Columns of zeros and ones for solvers, and their trees back on the columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import GrowthRules, Table, grow
from holdfast.audit.binary_splits import BinarySplits, quantile_cuts
from holdfast.data.schema import Feature, Schema, Target
from holdfast.tree.check import check_tree
from holdfast.tree.tree import KNOWN, LEAF

NOBODY_KNOWS = np.nan


def splits_of(columns: dict[str, object], y: list[object] | None = None, **options: int) -> BinarySplits:
    frame = pd.DataFrame(columns)
    y = ["no", "yes"] * (len(frame) // 2) + ["no"] * (len(frame) % 2) if y is None else y
    return BinarySplits.of(Table.from_arrays(frame, y), **{"n_thresholds": 7, **options})


def test_cuts_leave_parts_of_about_equal_size() -> None:
    assert quantile_cuts(np.arange(100.0), 3).tolist() == [24.5, 49.5, 74.5]
    assert quantile_cuts(np.array([0.0] * 98 + [1.0, 2.0]), 3).tolist() == [0.5]
    assert quantile_cuts(np.array([3.0, 3.0]), 3).tolist() == []
    assert quantile_cuts(np.array([]), 3).tolist() == []


def test_few_values_are_cut_between_all_of_them() -> None:
    found = splits_of({"age": [20.0, 30.0, 50.0, 60.0]})
    assert [split.threshold for split in found.splits] == [25.0, 40.0, 55.0]
    assert found.answers.T.tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
    ]


def test_a_missing_value_says_no_and_whether_it_is_known_is_asked() -> None:
    found = splits_of({"age": [1.0, 2.0, 3.0, NOBODY_KNOWS]})
    assert [split.threshold for split in found.splits] == [1.5, 2.5, KNOWN]
    assert found.answers[-1].tolist() == [False, False, False]  # rows without a value stand last
    assert found.answers[:, -1].tolist() == [True, True, True, False]


def test_frequent_categories_are_each_asked_for() -> None:
    wards = ["A"] * 3 + ["B"] * 4 + ["C"] * 2 + ["D"] * 1 + [None] * 2
    found = splits_of({"ward": wards}, n_thresholds=2)
    flags = [split.goes_left.tolist() for split in found.splits if split.goes_left is not None]
    assert flags == [[True, False, False, False], [False, True, False, False], [True] * 4]
    assert found.answers.sum(axis=0).tolist() == [3, 4, 10]


def test_of_two_categories_one_is_asked_for() -> None:
    assert len(splits_of({"sex": ["f", "m", "f", "m"]}).splits) == 1


def test_ordered_categories_are_cut_between_two_of_them() -> None:
    sizes = pd.Categorical(["small", "large", "medium", "small"], ["small", "medium", "large"], ordered=True)
    assert [split.threshold for split in splits_of({"size": sizes}).splits] == [0.5, 1.5]


def test_of_splits_that_divide_the_rows_alike_the_first_by_name_stays() -> None:
    found = splits_of({"b": [1.0, 2.0, 3.0, 4.0], "a": [9.0, 8.0, 7.0, 6.0], "c": [0.0, 0.0, 5.0, 0.0]})
    names = [found.table.schema.features[split.feature].name for split in found.splits]
    assert names == ["a", "a", "a", "c"]


@pytest.mark.filterwarnings("ignore:no question can be asked")
def test_columns_of_one_value_have_no_split() -> None:
    found = splits_of({"same": [1.0, 1.0], "unknown": [NOBODY_KNOWS] * 2})
    assert found.splits == ()
    assert found.answers.shape == (2, 0)


def test_of_too_many_splits_those_that_tell_most_are_taken() -> None:
    chance = np.random.default_rng(0)
    X = pd.DataFrame(chance.normal(size=(200, 5)), columns=list("abcde"))
    for y in (np.where(X["d"] > 0, "yes", "no"), X["d"].to_numpy()):
        found = BinarySplits.of(Table.from_arrays(X, y), n_thresholds=3, most=3)
        assert [found.table.schema.features[split.feature].name for split in found.splits] == ["d"] * 3


def test_the_order_of_rows_and_columns_changes_nothing() -> None:
    chance = np.random.default_rng(1)
    X = pd.DataFrame(chance.integers(0, 9, (60, 3)).astype(float), columns=list("abc"))
    y = chance.choice(["no", "yes"], 60)
    order = chance.permutation(60)
    one = BinarySplits.of(Table.from_arrays(X, y), 3)
    other = BinarySplits.of(Table.from_arrays(X.iloc[order, ::-1], y[order]), 3)
    assert np.array_equal(one.answers, other.answers)
    assert np.array_equal(one.table.target, other.table.target)


# -- trees ------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n_rows = draw(st.integers(8, 40))
    chance = np.random.default_rng(draw(st.integers(0, 10_000)))
    frame = pd.DataFrame(
        {
            "age": chance.integers(0, 12, n_rows).astype(float),
            "ward": chance.choice(["A", "B", "C", "D"], n_rows),
            "size": pd.Categorical(chance.choice(["S", "M", "L"], n_rows), ["S", "M", "L"], ordered=True),
        }
    )
    gaps = chance.random(frame.shape) < draw(st.sampled_from([0.0, 0.2]))
    frame = frame.mask(gaps)
    frame.loc[0] = [1.0, "A", "S"]
    frame.loc[1] = [2.0, "B", "M"]
    return Table.from_arrays(frame, ["no", "yes", *chance.choice(["no", "yes"], n_rows - 2)])


@given(tables(), st.integers(1, 5))
def test_a_tree_of_zeros_and_ones_says_the_same_on_the_columns(table: Table, n_thresholds: int) -> None:
    found = BinarySplits.of(table, n_thresholds)
    schema = found.schema(table.schema.target)
    zeros_and_ones = Table.from_arrays(
        pd.DataFrame(found.answers.astype(float), columns=schema.names), found.table.target
    )
    solved = grow(zeros_and_ones, GrowthRules(max_depth=4))
    placed = solved.replace(schema=Schema(zeros_and_ones.schema.features, table.schema.target))
    tree = found.on_columns(placed)
    check_tree(tree)
    leaves = tree.apply(found.table)
    own = solved.apply(zeros_and_ones)
    assert np.array_equal(tree.value[leaves], solved.value[own])
    assert np.array_equal(tree.outcome[leaves], solved.outcome[own])

    filled = found.with_rows(tree)
    check_tree(filled)
    assert np.array_equal(filled.apply(found.table), leaves)
    assert np.array_equal(
        filled.count, np.array([_reached(tree, node, leaves) for node in range(tree.n_nodes)])
    )
    fractions = np.eye(2)[found.table.target]
    for leaf in np.unique(leaves):
        assert filled.value[leaf] == pytest.approx(fractions[leaves == leaf].mean(axis=0))


def _reached(tree: object, node: int, leaves: np.ndarray) -> int:
    """The rows that pass a node, counted at the leaves below it."""
    if tree.feature[node] == LEAF:  # type: ignore[attr-defined]
        return int((leaves == node).sum())
    return sum(_reached(tree, int(side[node]), leaves) for side in (tree.left, tree.right))  # type: ignore[attr-defined]


def test_missing_values_to_come_go_to_the_side_of_more_rows() -> None:
    found = splits_of({"age": [1.0, 2.0, 3.0, 4.0, 5.0]}, ["no", "no", "no", "no", "yes"], n_thresholds=4)
    # Solvers ask for zeros and ones: "at most 1/2" is "no".
    solved = grow(
        Table.from_arrays(found.answers.astype(float), found.table.target), GrowthRules(max_depth=1)
    )
    features = tuple(Feature(f"x{number}") for number in range(4))
    placed = solved.replace(schema=Schema(features, Target(classes=("no", "yes"))))
    tree = found.with_rows(found.on_columns(placed))
    assert tree.threshold[0] == 4.5
    assert tree.missing_left.tolist() == [True, False, False]
    assert tree.predict([[4.0], [5.0], [np.nan]]).tolist() == ["no", "yes", "no"]
