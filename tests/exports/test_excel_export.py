"""The workbook: sheets, formulas that spreadsheets have room for, and texts that stay texts."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from exported_models import SITE, model

from holdfast import Table, grow
from holdfast.errors import ExportError
from holdfast.exports import excel, to_excel
from holdfast.exports.excel import ScoreSheet
from holdfast.exports.plain_model import make_plain_model

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the workbook")


def book_of(content: bytes):
    return openpyxl.load_workbook(BytesIO(content))


def test_rules_are_a_table_to_filter() -> None:
    sheet = book_of(to_excel(model("tree"), rows=1))["Rules"]
    titles, *rules = sheet.iter_rows(values_only=True)
    assert titles[:2] == ("tree", "leaf")
    assert SITE in titles
    assert len(rules) == model("tree").tree_.n_leaves
    assert sheet.auto_filter.ref == sheet.dimensions
    assert sum(rule[-1] for rule in rules) == 160


@pytest.mark.parametrize("name", ["deep tree", "forest", "boosted four"])
def test_no_formula_is_too_long_for_a_cell(name: str) -> None:
    sheet = book_of(to_excel(model(name), rows=2))["Score"]
    assert sheet.max_row == 3
    formulas = [cell for cell in next(sheet.iter_rows(2, 2, values_only=True)) if cell is not None]
    assert max(map(len, formulas)) < 8192
    assert all(formula.startswith("=") for formula in formulas)


def test_a_category_that_looks_like_a_formula_stays_a_text() -> None:
    frame = pd.DataFrame({"=cmd()": ["=1+1", "b"] * 5})
    book = book_of(to_excel(grow(Table.from_arrays(frame, ["=x", "y"] * 5)), rows=1))
    for sheet, cell in (("Categories", "A2"), ("Score", "A1"), ("Rules", "C1")):
        assert book[sheet][cell].data_type == "s", (sheet, cell)


def test_a_model_too_wide_for_a_sheet_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "MOST_COLUMNS", 5)
    with pytest.raises(ExportError, match="columns to walk its trees, and a sheet of Excel has room for 5"):
        to_excel(model("tree"))


def test_more_formulas_than_a_program_computes_are_refused_with_the_rows_that_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(excel, "MOST_FORMULAS", 100)
    with pytest.raises(
        ExportError, match=r"a row takes \d+ formulas to walk 3 trees, and 100 rows .* rows=\d"
    ):
        to_excel(model("forest"))
    assert to_excel(model("forest"), rows=1)
    monkeypatch.setattr(excel, "MOST_FORMULAS", 5)
    with pytest.raises(ExportError, match="take a model of fewer trees, or export the model to SQL"):
        to_excel(model("forest"), rows=1)


def test_rows_beyond_one_sheet_are_computed_by_several(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def compute(path: Path) -> Any:
        sheet = openpyxl.load_workbook(path)["Score"]
        sizes.append(sheet.max_row - 1)
        n_columns = ScoreSheet(plain).n_columns
        for row in range(2, sheet.max_row + 1):
            for column, value in ((n_columns - 2, 0.25), (n_columns - 1, 0.75), (n_columns, "no's")):
                sheet.cell(row, column, value)
        return sheet

    plain = make_plain_model(model("tree"))
    content = to_excel(model("tree"), rows=1)
    monkeypatch.setattr(ScoreSheet, "most_rows", 4)
    rows = {feature.name: [None] * 10 for feature in plain.columns}
    found = excel.predict_rows(content, plain, rows, compute=compute, engine="a program", rows=1)
    assert sizes == [4, 4, 2]
    assert found.values.tolist() == [[0.25, 0.75]] * 10
    assert (found.outcomes, found.engine) == (["no's"] * 10, "a program")
