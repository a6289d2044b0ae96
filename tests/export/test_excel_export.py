"""The workbook: sheets, formulas that spreadsheets have room for, and texts that stay texts."""

from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from exported_models import SITE, model

from holdfast import ExportError, Table, grow, to_excel
from holdfast.exports import excel
from holdfast.exports import excel as excel_engines
from holdfast.exports import excel as excel_scores
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
    from holdfast.exports import excel

    monkeypatch.setattr(excel, "MOST_COLUMNS", 5)
    with pytest.raises(ExportError, match="columns to walk its trees, and a sheet of Excel has room for 5"):
        to_excel(model("tree"))


def test_more_formulas_than_a_program_computes_are_refused_with_the_rows_that_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(excel_scores, "MOST_FORMULAS", 100)
    with pytest.raises(
        ExportError, match=r"a row takes \d+ formulas to walk 3 trees, and 100 rows .* rows=\d"
    ):
        to_excel(model("forest"))
    assert to_excel(model("forest"), rows=1)
    monkeypatch.setattr(excel_scores, "MOST_FORMULAS", 5)
    with pytest.raises(ExportError, match="take a model of fewer trees, or export the model to SQL"):
        to_excel(model("forest"), rows=1)


def test_rows_beyond_one_sheet_are_computed_by_several(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def computed(exported: bytes, plain: object, rows: dict[str, list[float]]) -> object:
        sizes.append(len(rows["age"]))
        return np.zeros((len(rows["age"]), 2)), ["no"] * len(rows["age"]), "a program"

    monkeypatch.setattr(excel_engines, "_computed", computed)
    monkeypatch.setattr(excel_scores.ScoreSheet, "most_rows", 4)
    assert excel.scored(b"", make_plain_model(model("tree")), {"age": [1.0]}, rows=1).engine == "a program"
    sizes.clear()
    values, outcomes, engine = excel_engines.evaluate_workbook(
        b"", make_plain_model(model("tree")), {"age": [1.0] * 10}
    )
    assert (sizes, len(values), len(outcomes), engine) == ([4, 4, 2], 10, 10, "a program")
