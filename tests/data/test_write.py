"""Write files: atomically, readable again, and without formulas."""

import csv
import gzip
import os
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast._files import replace_file
from holdfast.data import parquet
from holdfast.data.write import escape_formula, write_csv, write_file
from holdfast.errors import DataError, ModelFileError
from reference.reading import read_file

COLUMNS: dict[str, Any] = {
    "row": [1, 2, 3],
    "share": np.array([0.1 + 0.2, np.nan, 1e-300]),
    "class": np.array(["died, early", None, 'so-called "lived"'], object),
}


def test_gaps_are_empty_cells_and_numbers_keep_every_digit(tmp_path: Path) -> None:
    write_file(COLUMNS, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (
        'row,share,class\n1,0.30000000000000004,"died, early"\n2,,\n3,1e-300,"so-called ""lived"""\n'
    )


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.txt", "out.csv.gz", "OUT.TSV.GZ", "out.parquet"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    write_file(COLUMNS, tmp_path / name)
    frame = read_file(tmp_path / name)
    assert frame.names == ("row", "share", "class")
    share, words = (np.asarray(frame.column(each)) for each in ("share", "class"))
    np.testing.assert_array_equal(share, COLUMNS["share"])
    assert words.tolist() == COLUMNS["class"].tolist()


def test_the_ending_chooses_the_separator_and_the_compression(tmp_path: Path) -> None:
    write_file({"a": [1], "b": [2]}, tmp_path / "out.tsv.gz")
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()) == b"a\tb\n1\t2\n"


def test_the_same_columns_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.csv.gz", "two.csv.gz"):
        write_file(COLUMNS, tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_parquet_has_nulls_for_gaps_and_text_for_mixed_labels(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "LIBRARIES", (library,))
    write_file({"share": [0.5, float("nan")], "label": [1, "one"], "flag": [True, None]}, tmp_path / "out.pq")
    frame = pl.read_parquet(tmp_path / "out.pq")
    assert frame["share"].to_list() == [0.5, None]
    assert frame["label"].to_list() == ["1", "one"]
    assert frame["flag"].to_list() == [True, None]


def test_parquet_without_a_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r'pip install "holdfast-trees\[io\]"'):
        write_file({"a": [1]}, tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("columns", "name", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "out.csv", "'a' has 2 rows and 'b' has 1"),
        ({}, "out.csv", "without columns"),
        ({"a": [1]}, "out.xlsx", r"must end in \.csv"),
    ],
)
def test_what_cannot_be_written_leaves_nothing_behind(
    columns: dict[str, Any], name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        write_file(columns, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_the_old_data_survives_a_failure(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "out.csv"
    path.write_text("old\n")
    monkeypatch.setattr(os if step == "fsync" else Path, step, disk_full)
    with pytest.raises(OSError, match="No space left"):
        write_file(COLUMNS, path)
    assert path.read_text() == "old\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Cannot write to '.*': it is a folder or a device"):
        replace_file(tmp_path, b"")
    with pytest.raises(ModelFileError, match="it is a folder or a device"):
        replace_file(tmp_path, b"", ModelFileError)


# -- csv writing ---------------------------------------------------------------------------------------------


FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://example.org";"x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "-cmd|' /C calc'!A0",
    "+1-555-1234",
    "\uff1d1+1",
]
HARMLESS = ["", "-", "=", "-3.5", "+4", "-1e-5", "-1.234,50", "-12 %", "-inf", "a=1", "'=1", " text", "3-4"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("cell", [*HARMLESS, -3.5, -1, None, True, np.float64(-2.0)])
def test_numbers_and_other_text_stay_as_they_are(cell: Any) -> None:
    assert escape_formula(cell) is cell


def written(columns: dict[str, Any], **how: Any) -> list[list[str]]:
    text = StringIO()
    write_csv(text, columns, **how)
    return list(csv.reader(StringIO(text.getvalue(), newline="")))


def test_names_of_columns_and_cells_are_guarded() -> None:
    columns = {"=name": ["=1+1", "-3.5"], "-share": np.array([-0.5, np.nan])}
    assert written(columns) == [["'=name", "'-share"], ["'=1+1", "-0.5"], ["-3.5", ""]]


def test_raw_cells_are_as_they_were() -> None:
    assert written({"@x": FORMULAS}, raw=True) == [["@x"], *([text] for text in FORMULAS)]


def test_a_carriage_return_inside_a_cell_begins_no_line() -> None:
    text = StringIO()
    write_csv(text, {"note": ["fine\r=1+1", "other"]})
    assert text.getvalue() == '"note"\n"fine\r=1+1"\n"other"\n'


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.txt"])
def test_files_are_guarded_unless_raw_is_asked_for(name: str, tmp_path: Path) -> None:
    write_file({"note": ["=1+1"]}, tmp_path / name)
    assert (tmp_path / name).read_text() == "note\n'=1+1\n"
    write_file({"note": ["=1+1"]}, tmp_path / name, raw=True)
    assert (tmp_path / name).read_text() == "note\n=1+1\n"


def test_parquet_is_never_changed(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    write_file({"=note": ["=1+1"]}, tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").to_dict(as_series=False) == {"=note": ["=1+1"]}
