"""The workbook: sheets, formulas that spreadsheets have room for, and texts that stay texts."""

from io import BytesIO

import pandas as pd
import pytest
from exported_models import SITE, model

from holdfast import ExportError, Table, grow, to_excel

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
    from holdfast.export import excel

    monkeypatch.setattr(excel, "MOST_COLUMNS", 5)
    with pytest.raises(ExportError, match="columns to walk its trees, and a sheet of Excel has room for 5"):
        to_excel(model("tree"))
