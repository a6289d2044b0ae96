"""Tables on disk: the same schema, codes and trees as in memory, to the last bit."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest

from holdfast import (
    DataError,
    DataWarning,
    GrowthRules,
    ParameterError,
    SchemaMismatch,
    StoredTable,
    Table,
    Tree,
    grow,
    open_table,
    store_table,
)
from holdfast.data import stored as matched
from holdfast.data import stored as pieces
from holdfast.data.row_keys import row_keys


def patients_of(n_rows: int) -> pl.DataFrame:
    """Numbers with gaps, whole numbers, text with gaps, an order, True/False, and weights."""
    random = np.random.default_rng(0)
    dose, age = random.normal(size=n_rows), random.integers(18, 95, n_rows)
    ward = random.choice(["A", "B", "C", None], n_rows)
    risk = dose + (age > 60) + (ward == "B") + random.normal(size=n_rows)
    order = ["low", "medium", "high"]
    return pl.DataFrame(
        {
            "dose": dose,
            "age": age,
            "lab": np.where(random.random(n_rows) < 0.2, np.nan, risk.round(2) * 0.1 + random.random(n_rows)),
            "ward": pl.Series(ward.tolist(), dtype=pl.String),
            "severity": pl.Series(random.choice(order, n_rows), dtype=pl.Enum(order)),
            "smokes": random.random(n_rows) < 0.3,
            "cost": np.exp(risk),
            "n": random.integers(1, 3, n_rows),
            "outcome": np.where(risk > 1, "died", "home"),
        }
    )


def write_parts(frame: pl.DataFrame, folder: Path) -> Path:
    """The frame as four Parquet files."""
    size = len(frame) // 4
    for number in range(4):
        frame[number * size : (number + 1) * size].write_parquet(folder / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def many() -> pl.DataFrame:
    """As many rows as both ways can be compared on in a moment."""
    return patients_of(100_000)


@pytest.fixture(scope="module")
def folder_of_many(many: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parts(many, tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parts(patients_of(4000), tmp_path_factory.mktemp("parquet"))


@pytest.fixture(scope="module")
def stored(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredTable:
    return store_table(folder, tmp_path_factory.mktemp("stored"), "outcome", custom_features=["age > 60"])


def in_memory(patients: pl.DataFrame, target: str = "outcome", **options: Any) -> Table:
    return Table.from_frame(patients.to_arrow(), target, **options)


def assert_same_table(one: Table, other: Table) -> None:
    assert one.schema == other.schema
    for mine, yours in zip(
        (*one.columns, one.target, *one.coded), (*other.columns, other.target, *other.coded), strict=True
    ):
        assert mine.dtype == yours.dtype
        np.testing.assert_array_equal(mine, yours)


def assert_same_tree(one: Tree, other: Tree) -> None:
    for name in (
        "feature",
        "threshold",
        "left",
        "right",
        "missing_left",
        "in_set",
        "value",
        "count",
        "impurity",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_the_tree_of_classes_is_that_of_the_table_in_memory(
    many: pl.DataFrame, folder_of_many: Path, tmp_path: Path
) -> None:
    table = in_memory(many, custom_features=["age > 60"])
    stored = store_table(folder_of_many, tmp_path / "table", custom_features=["age > 60"])
    assert_same_table(stored, table)
    rules = GrowthRules(max_depth=8)
    assert_same_tree(grow(stored, rules), grow(table, rules))
    np.testing.assert_array_equal(row_keys(stored), row_keys(table))


def test_the_tree_of_numbers_with_weights_is_that_of_the_table_in_memory(
    many: pl.DataFrame, folder_of_many: Path, tmp_path: Path
) -> None:
    table = in_memory(many, "cost", sample_weight="n")
    stored = store_table(folder_of_many, tmp_path / "table", "cost", sample_weight="n")
    assert_same_table(stored, table)
    rules = GrowthRules(criterion="squared_error", max_depth=6)
    assert_same_tree(grow(stored, rules), grow(table, rules))


def test_nothing_of_it_is_in_memory(stored: StoredTable) -> None:
    for array in (*stored.columns, stored.target, stored.coded.codes, stored.coded.ranks):
        while not isinstance(array, np.memmap):
            assert not array.flags.owndata
            assert not array.flags.writeable
            array = array.base


def test_another_process_gets_the_name_of_the_folder(stored: StoredTable) -> None:
    sent = pickle.dumps(stored)
    assert len(sent) < 1000
    assert_same_table(pickle.loads(sent), stored)


@pytest.mark.parametrize("form", ["lazy", "dataset", "polars frames", "pandas frames", "dask"])
def test_parts_of_any_form_make_the_same_table(
    form: str, folder: Path, stored: StoredTable, tmp_path: Path
) -> None:
    frames = [pl.read_parquet(file) for file in sorted(folder.iterdir())]
    data = {
        "lazy": lambda: pl.scan_parquet(folder / "*.parquet"),
        "dataset": lambda: pyarrow.dataset.dataset(folder),
        "polars frames": lambda: iter(frames),
        "pandas frames": lambda: [pd.read_parquet(file) for file in sorted(folder.iterdir())],
        "dask": lambda: LikeDask(frames),
    }[form]()
    table = store_table(data, tmp_path / "table", custom_features=["age > 60"])
    assert_same_table(table, stored)
    assert not (tmp_path / "table" / "parts").exists()


def test_a_real_frame_of_dask_makes_the_same_table(folder: Path, stored: StoredTable, tmp_path: Path) -> None:
    dask = pytest.importorskip("dask.dataframe")
    table = store_table(dask.read_parquet(folder), tmp_path / "table", custom_features=["age > 60"])
    assert table.part_starts == stored.part_starts
    assert_same_table(table, stored)


class LikeDask:
    """As much of a frame of dask as is asked for."""

    def __init__(self, frames: list[pl.DataFrame]) -> None:
        self.frames, self.npartitions = frames, len(frames)

    def get_partition(self, number: int) -> "LikeDask":
        return LikeDask([self.frames[number]])

    def compute(self) -> pl.DataFrame:
        return self.frames[0]


def test_a_schema_is_kept_to_as_in_memory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matched, "PIECE", 300)
    patients = patients_of(4000)
    wider = in_memory(patients, categorical_features=["age"], custom_features=["dose > 1"]).schema
    stored = store_table(folder, tmp_path / "table", schema=wider)
    assert_same_table(stored, in_memory(patients, schema=wider))
    assert stored.schema == wider


def test_what_does_not_fit_a_schema_is_shown_and_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    known = in_memory(patients_of(4000).filter(pl.col("ward") != "C"))
    with pytest.raises(SchemaMismatch, match=r"ward(.|\n)*C"):
        store_table(folder, tmp_path / "table", schema=known.schema)
    without = in_memory(patients_of(4000).drop("smokes"))
    with pytest.raises(SchemaMismatch, match="smokes"):
        store_table(folder, tmp_path / "table", schema=without.schema)
    assert not (tmp_path / "table").exists()


def test_whole_numbers_of_one_part_and_gaps_of_another_are_one_column(tmp_path: Path) -> None:
    frames = [
        pd.DataFrame({"age": [41, 63], "ward": ["A", None], "outcome": [0, 1]}),
        pd.DataFrame({"age": [35.5, None], "ward": [None, None], "outcome": [1, 0]}),
    ]
    table = store_table(frames, tmp_path / "table")
    np.testing.assert_array_equal(table.columns[0], [41.0, 63.0, 35.5, np.nan])
    assert table.schema.features[1].categories == ("A",)
    assert [table.part_rows(number).tolist() for number in range(2)] == [[0, 1], [2, 3]]


def test_text_read_in_pieces_is_the_same(
    folder: Path, stored: StoredTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE", 999)
    assert_same_table(store_table(folder, tmp_path / "table", custom_features=["age > 60"]), stored)


def test_rows_without_weight_define_nothing(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"age": [1.0, 2.0, 99.0], "ward": ["A", "B", "Z"], "w": [1, 1, 0], "outcome": ["a", "b", "c"]}
    )
    table = store_table([frame], tmp_path / "table", sample_weight="w")
    assert_same_table(table, Table.from_frame(frame, sample_weight="w"))


def test_a_limit_that_is_too_small_is_refused_before_anything_is_read(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="memory_limit=100000 is too small: 4000 rows need"):
        store_table(folder, tmp_path / "table", memory_limit=100_000)
    assert not (tmp_path / "table").exists()


def test_a_folder_with_something_in_it_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="it is no empty folder"):
        store_table(folder, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("target", "says"), [("died", "There is no column 'died'"), ("ward", "missing labels")]
)
def test_data_that_does_not_fit_leaves_nothing_behind(
    folder: Path, tmp_path: Path, target: str, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        store_table(folder, tmp_path / "table", target)
    assert not (tmp_path / "table").exists()


def test_a_disk_that_is_full_is_an_error_before_a_page_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="No space left"):
        store_table(folder, tmp_path / "table")
    assert not (tmp_path / "table").exists()


def test_what_is_no_table_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no finished table"):
        open_table(tmp_path)
    (tmp_path / "table.json").write_text('{"format": "holdfast table", "version": 2}')
    with pytest.raises(DataError, match="does not describe a table"):
        open_table(tmp_path)


def test_a_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    store_table([pl.DataFrame({"age": [1.0, 2.0], "outcome": ["a", "b"]})], tmp_path / "table")
    file = tmp_path / "table" / "ranks.npy"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"ranks.npy' is missing or broken"):
        open_table(tmp_path / "table")


def test_other_data_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for data in (pd.DataFrame({"a": [1]}), 7):
        with pytest.raises(DataError, match="give a folder of Parquet files"):
            store_table(data, tmp_path / "table")
    (tmp_path / "year=2020").mkdir()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "year=2020" / "0.parquet")
    with pytest.raises(DataError, match="partitioning='hive'"):
        store_table(tmp_path, tmp_path / "table")


def test_a_column_of_one_value_is_told_of(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1.0, 2.0], "ward": ["A", "A"], "outcome": ["a", "b"]})
    with pytest.warns(DataWarning, match="single value, or without any: 'ward'"):
        store_table([frame], tmp_path / "table")
