"""A folder of Parquet files is read as one file."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from holdfast import DataError
from holdfast.data.parquet import check_fits_in_memory
from reference.reading import read_file


def test_the_files_stand_one_below_the_other_by_name(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    pl.DataFrame({"ward": ["B", None], "age": [63.5, 18.0]}).write_parquet(parts / "2.parquet")
    pl.DataFrame({"age": [41, 50], "ward": ["A", "B"]}).write_parquet(parts / "1.parquet")
    (parts / "_SUCCESS").touch()
    frame = read_file(parts)
    assert frame.names == ("age", "ward")
    assert np.asarray(frame.column("age")).tolist() == [41.0, 50.0, 63.5, 18.0]
    assert list(frame.column("ward")) == ["A", "B", "B", None]


def test_parts_of_other_columns_are_named(tmp_path: Path) -> None:
    pl.DataFrame({"age": [41]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"age": [50], "ward": ["A"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"same columns: .*1\.parquet' has 'age', and .*2\.parquet' has"):
        read_file(tmp_path)


def test_a_folder_without_parquet_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no Parquet file"):
        read_file(tmp_path)


def test_what_no_memory_of_the_machine_holds_is_refused_before_it_is_read() -> None:
    gib = 2**30
    check_fits_in_memory(Path("rows"), gib, 1, memory=8 * gib)
    with pytest.raises(
        DataError, match=r"1,073,741,824 rows of 2 columns take at least 16\.0 GiB.*store_table"
    ):
        check_fits_in_memory(Path("rows"), gib, 2, memory=8 * gib)
