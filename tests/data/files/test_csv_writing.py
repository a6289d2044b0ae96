"""CSV that a spreadsheet shows and never runs: formulas are guarded, numbers stay numbers."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.data.write import escape_formula, write_csv, write_file

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
