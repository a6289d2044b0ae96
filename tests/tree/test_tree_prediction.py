import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import grow, save
from holdfast._arrays import freeze
from holdfast.data.schema import Feature, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, SchemaMismatch
from holdfast.tree.predict import find_leaves, find_passed_nodes
from holdfast.tree.tree import KNOWN, Tree
from reference.trees import (
    AGE,
    FARE_KNOWN,
    LONE_LEAF,
    NUMERIC,
    PAIN,
    SEX,
    SLOPE,
    SURVIVED,
    Node,
    leaf,
    split,
    tree_of,
)
from reference.walk import path_of

BMI = Feature("bmi", low=15.0, high=50.0)
HEAVY = Feature("bmi ** 2 < 900", "custom", categories=(False, True))
FEATURES = (AGE, BMI, SEX, PAIN, SLOPE, HEAVY)

# sex = female ? no : yes; missing values go to no
BY_SEX = tree_of(split("sex", ("female",), leaf(6, 0.9, 0.1), leaf(4, 0.2, 0.8), True), (AGE, SEX), SURVIVED)


def answers_to(feature: Feature) -> st.SearchStrategy[Any]:
    if feature.kind == "numeric":
        return st.sampled_from([18.0, 20.5, 30.0, 41.25, KNOWN])
    if feature.kind == "ordered":
        return st.integers(0, len(feature.categories) - 2).map(lambda place: place + 0.5)
    return st.sets(st.sampled_from(feature.categories), min_size=1).map(tuple)


def splits(below: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.sampled_from(FEATURES).flatmap(
        lambda feature: st.builds(
            split, st.just(feature.name), answers_to(feature), below, below, st.booleans()
        )
    )


shapes = st.recursive(st.builds(leaf, st.just(1), st.just(0.5), st.just(0.5)), splits, max_leaves=12)
trees = shapes.map(lambda root: tree_of(root, FEATURES, SURVIVED))
rows = st.fixed_dictionaries(
    {
        **{name: st.sampled_from([None, 18.0, 20.5, 30.0, 41.25, 60.0]) for name in ("age", "bmi")},
        **{each.name: st.none() | st.sampled_from(each.categories) for each in (SEX, PAIN, SLOPE)},
    }
)


def framed(table: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(table, columns=["age", "bmi", "sex", "pain", "slope"])
    return frame.astype({"age": float, "bmi": float})


def with_answer(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, HEAVY.name: None if row["bmi"] is None else row["bmi"] ** 2 < 900}


# -- leaves -------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_a_row_goes_left_where_the_answer_is_yes() -> None:
    # age <= 50 ? (age <= 30 ? node 2 : node 3) : node 4
    ages = np.array([[30.0], [np.nextafter(30.0, 31.0)], [50.0], [51.0]])
    assert find_leaves(NUMERIC, ages).tolist() == [2, 3, 3, 4]


@pytest.mark.kernel
def test_a_missing_value_follows_the_learned_side_of_each_node() -> None:
    assert find_leaves(NUMERIC, np.array([[np.nan]])).tolist() == [4]
    assert find_leaves(BY_SEX, pd.DataFrame({"age": [1.0], "sex": [None]})).tolist() == [1]


@pytest.mark.kernel
def test_every_number_is_known_and_a_missing_one_is_not() -> None:
    assert find_leaves(FARE_KNOWN, np.array([[KNOWN], [-KNOWN], [np.nan]])).tolist() == [3, 2, 4]


def test_a_category_nobody_knew_goes_with_the_missing_values_and_is_named() -> None:
    strangers = pd.DataFrame({"age": [1.0, 2.0], "sex": ["male", "other"]})
    with pytest.warns(DataWarning, match="'other'"):
        assert find_leaves(BY_SEX, strangers).tolist() == [2, 1]
    with pytest.raises(SchemaMismatch, match="'other'"):
        find_leaves(BY_SEX, strangers, handle_unknown="error")


@pytest.mark.kernel
def test_a_code_that_is_no_category_is_missing_rather_than_a_look_beyond_the_set() -> None:
    from holdfast.kernels.predict import route

    tree, leaves = BY_SEX, np.empty(6, np.int32)
    codes = freeze(np.array([[0.0], [1.0], [2.0], [-1.0], [1e300], [np.nan]]))
    feature, n_categories = (freeze(np.array(each, np.int32)) for each in ([0, -1, -1], [2, 0, 0]))
    sides = tree.left, tree.right, tree.missing_left, tree.set_start
    rows = freeze(np.arange(6, dtype=np.int32))
    route(codes, rows, 0, feature, tree.threshold, *sides, n_categories, tree.in_set, leaves)
    assert leaves.tolist() == [1, 2, 1, 1, 1, 1]


@pytest.mark.kernel
def test_all_rows_reach_the_only_leaf_whatever_columns_their_frame_has() -> None:
    assert find_leaves(LONE_LEAF, np.array([[30.0], [np.nan], [60.0]])).tolist() == [0, 0, 0]
    assert find_leaves(LONE_LEAF, np.array([[30.0]])).dtype == np.int32
    assert find_leaves(LONE_LEAF, pd.DataFrame({"fare": [30.0, 40.0]})).tolist() == [0, 0]
    with pytest.raises(ValueError, match="age"):
        find_leaves(LONE_LEAF, np.array([[30.0, 40.0]]))


@pytest.mark.kernel
@given(trees, st.lists(rows, min_size=1, max_size=8))
def test_every_row_reaches_the_leaf_that_a_walk_reaches(tree: Tree, table: list[dict[str, Any]]) -> None:
    walked = [path_of(tree, with_answer(row)) for row in table]
    leaves = find_leaves(tree, framed(table))
    assert leaves.tolist() == [path[-1] for path in walked]
    passed = find_passed_nodes(tree, leaves)
    assert [nodes.tolist() for nodes in np.split(passed.indices, passed.indptr[1:-1])] == walked


@pytest.mark.kernel
def test_one_compilation_serves_every_kind_of_input() -> None:
    from holdfast.kernels.jit import Kernel
    from holdfast.kernels.predict import route

    if not isinstance(route, Kernel):
        pytest.skip("nothing is compiled with the JIT off")
    two = tree_of(split("age", 30.0, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (AGE, BMI), SURVIVED)
    matrix = np.array([[20.0, 1.0], [40.0, 2.0]])
    for each in (two, pickle.loads(pickle.dumps(two)), copy.deepcopy(two)):
        for X in (
            matrix,
            np.asfortranarray(matrix),
            matrix[::-1][::-1],
            matrix.astype(np.float32),
            matrix.astype(int),
        ):
            assert find_leaves(each, X).tolist() == [1, 2]
        assert find_leaves(each, Table.from_arrays(matrix, ["no", "yes"], schema=two.schema)).tolist() == [
            1,
            2,
        ]
    find_leaves(LONE_LEAF, matrix[:, :1])
    assert len(route.compiled.signatures) == 1


# -- tables -------------------------------------------------------------------------------------------


def test_a_table_is_routed_as_the_frame_it_was_read_from() -> None:
    frame = pd.DataFrame({"age": [20.0, 60.0, None], "sex": ["male", None, "female"]})
    table = Table.from_arrays(frame, ["no", "yes", "no"], schema=BY_SEX.schema)
    assert find_leaves(BY_SEX, table).tolist() == find_leaves(BY_SEX, frame).tolist() == [2, 1, 1]


def test_a_table_on_another_schema_is_refused_where_the_tree_would_misread_it() -> None:
    frame = pd.DataFrame({"age": [20.0, 60.0], "sex": ["male", "diverse"]})
    table = Table.from_arrays(frame, ["no", "yes"])
    with pytest.raises(SchemaMismatch, match=r"'sex' at position 1.*tree.with_schema\(table.schema\)"):
        find_leaves(BY_SEX, table)
    assert find_leaves(BY_SEX.with_schema(BY_SEX.schema.widen(table.schema)), frame).tolist() == [2, 1]


def test_missing_values_are_refused_on_request() -> None:
    frame = pd.DataFrame({"age": [None, 60.0], "sex": ["male", None]})
    table = Table.from_arrays(frame, ["no", "yes"], schema=BY_SEX.schema)
    for X in (frame, table):
        with pytest.raises(DataError, match=r"column 'sex' has .*missing values"):
            find_leaves(BY_SEX, X, handle_missing="error")


# -- what follows from leaves -------------------------------------------------------------------------


def test_the_nodes_on_the_way_are_ones_in_a_sparse_matrix() -> None:
    passed = find_passed_nodes(NUMERIC, np.array([3, 4], np.int32))
    assert passed.toarray().tolist() == [[1, 1, 0, 1, 0], [1, 0, 0, 0, 1]]
    assert find_passed_nodes(LONE_LEAF, np.zeros(2, np.int32)).toarray().tolist() == [[1], [1]]
    assert find_passed_nodes(NUMERIC, np.empty(0, np.int32)).shape == (0, 5)


def test_predictions_keep_the_type_of_each_class() -> None:
    target = Target("grade", classes=(1, "unfit"))
    tree = tree_of(split("age", 50.0, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (AGE,), target)
    assert tree.predict(np.array([[40.0], [60.0]])).tolist() == [1, "unfit"]
    assert NUMERIC.predict(np.array([[40.0], [60.0]])).tolist() == ["yes", "no"]


def test_a_tree_that_travelled_between_processes_is_still_immutable() -> None:
    assert NUMERIC.depth == 2  # computed once and kept, so that it travels too
    travelled = pickle.loads(pickle.dumps(NUMERIC))
    for array in (travelled.threshold, travelled.value, travelled.node_depth):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_few_rows_are_predicted_without_importing_numba_and_alike(tmp_path: Path) -> None:
    tree = grow(Table.from_arrays([["a", 1.0], ["b", 2.0], ["a", None], ["c", 4.0]], ["x", "y", "x", "y"]))
    rows = [["a", 1.5], ["b", None], ["d", 9.0], [None, 2.5]]
    save(tree, tmp_path / "tree.json")
    program = (
        f"import sys, holdfast; tree = holdfast.load_model({str(tmp_path / 'tree.json')!r});"
        f"print(tree.apply({rows!r}).tolist(), 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{tree.apply(rows).tolist()} False\n", done.stderr
