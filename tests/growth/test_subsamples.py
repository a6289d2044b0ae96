"""Trees on few rows of a large table each."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import GrowthRules, ParameterError, Table, Tree, grow
from holdfast._random import Branch
from holdfast.data import StoredTable, store_table
from holdfast.data.resampling import draw_subsample
from holdfast.data.row_keys import row_keys, select_lowest
from holdfast.growth import collections as subsamples
from holdfast.growth import grow_parts, grow_subsamples

RULES = GrowthRules(max_depth=3)


def nodes(*trees: Tree) -> list[bytes]:
    """Everything that the trees ask and say."""
    names = ("feature", "threshold", "left", "missing_left", "value", "count", "impurity")
    return [getattr(tree, name).tobytes() for tree in trees for name in names]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredTable:
    random = np.random.default_rng(0)
    x = random.normal(size=(600, 3))
    frame = pl.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": np.where(x.sum(axis=1) > 0, "yes", "no")}
    )
    return store_table([frame[:100], frame[100:250], frame[250:]], tmp_path_factory.mktemp("stored"), "y")


def test_each_tree_is_that_of_its_rows(stored: StoredTable) -> None:
    trees = grow_subsamples(stored, RULES, 3, max_samples=90, random_state=7)
    for index, tree in enumerate(trees):
        rows = draw_subsample(row_keys(stored), (7, Branch.SUBSAMPLES, index), 90)
        assert len(rows) == 90
        assert nodes(tree) == nodes(grow(stored.subset(rows), RULES))


def test_a_part_is_a_sample_too(stored: StoredTable) -> None:
    trees = grow_parts(stored, RULES)
    assert [tree.count[0] for tree in trees] == [100, 150, 350]
    assert nodes(trees[1]) == nodes(grow(stored.subset(np.arange(100, 250)), RULES))


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_neither_jobs_nor_the_order_of_rows_change_a_tree(
    stored: StoredTable, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = nodes(*grow_subsamples(stored, RULES, 5, max_samples=0.2))
    monkeypatch.setattr(subsamples, "MOST_TOGETHER", 2)
    assert nodes(*grow_subsamples(stored, RULES, 5, max_samples=0.2, n_jobs=n_jobs)) == trees
    turned = stored.subset(np.arange(600)[::-1])
    assert nodes(*grow_subsamples(turned, RULES, 5, max_samples=0.2)) == trees


@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 9))
def test_rows_drawn_in_blocks_are_those_of_the_lowest_numbers(n_rows: int, n_drawn: int, seed: int) -> None:
    keys = np.arange(n_rows, dtype=np.uint64)
    drawn = draw_subsample(keys, (seed,), n_drawn)
    np.testing.assert_array_equal(drawn, np.flatnonzero(select_lowest(keys, (seed,), n_drawn)))


@pytest.mark.parametrize("max_samples", [0, 601, 1.5, 0.0, True, "all"])
def test_a_sample_has_some_of_the_rows(stored: StoredTable, max_samples: object) -> None:
    with pytest.raises(ParameterError, match="must be a number of rows, from 1 to 600"):
        grow_subsamples(stored, RULES, 2, max_samples=max_samples)  # type: ignore[arg-type]


def test_only_a_stored_table_has_parts() -> None:
    with pytest.raises(TypeError, match="must be a StoredTable"):
        grow_parts(Table.from_arrays([[1.0], [2.0]], ["a", "b"]))  # type: ignore[arg-type]
