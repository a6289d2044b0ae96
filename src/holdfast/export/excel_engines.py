"""The programs that an exported workbook is tried on: LibreOffice, where it is installed, or `formulas`."""

import subprocess
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.errors import EngineError, ExportError
from holdfast.export.excel_scores import ScoreSheet
from holdfast.export.plain_model import PlainModel
from holdfast.export.scored import Rows, count_rows
from holdfast.files import replace_file

SECONDS = 300  # for LibreOffice to start and to compute
Computed = tuple[FloatArray, Sequence[Any], str]


def evaluate_workbook(exported: bytes, plain: PlainModel, rows: Rows) -> Computed:
    """Evaluate the sheet "Score": numbers, classes, and the name of the program.

    Rows that are too many for one sheet are computed by several.
    """
    size = max(ScoreSheet(plain).most_rows, 1)
    parts = [
        _computed(exported, plain, {name: values[begin : begin + size] for name, values in rows.items()})
        for begin in range(0, count_rows(rows), size)
    ]
    outcomes = [outcome for _, said, _ in parts for outcome in said]
    return np.concatenate([values for values, _, _ in parts]), outcomes, parts[0][2]


def _computed(exported: bytes, plain: PlainModel, rows: Rows) -> Computed:
    program = which("soffice") or which("libreoffice")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.xlsx"
        replace_file(path, _with_rows(exported, plain, rows))
        if program is not None:
            return *_results(_by_libreoffice(program, path), plain, count_rows(rows)), "LibreOffice"
        return *_results(_by_formulas(path), plain, count_rows(rows)), "formulas"


def _with_rows(exported: bytes, plain: PlainModel, rows: Rows) -> bytes:
    """Insert the rows as inputs, with formulas for all of them."""
    from openpyxl import load_workbook

    from holdfast.export.excel import write_cell

    book = load_workbook(BytesIO(exported))
    sheet, score = book["Score"], ScoreSheet(plain)
    sheet.delete_rows(2, sheet.max_row)
    for row, record in enumerate(zip(*rows.values(), strict=True), 2):
        for column, value in enumerate(record, 1):
            if value is not None:
                write_cell(sheet, row, column, value)
        for column, formula in enumerate(score.formulas(row), len(record) + 1):
            sheet.cell(row, column, formula)
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def _by_libreoffice(program: str, path: Path) -> Any:
    from openpyxl import load_workbook

    folder = path.parent / "computed"
    home = f"-env:UserInstallation=file://{path.parent}/profile"
    arguments = [program, home, "--headless", "--convert-to", "xlsx", "--outdir", str(folder), str(path)]
    try:
        subprocess.run(arguments, check=True, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ExportError(
            f"LibreOffice did not compute the workbook within {SECONDS} seconds: verify it on fewer rows, or "
            "export fewer trees."
        ) from error
    return load_workbook(folder / path.name, data_only=True)["Score"]


def _by_formulas(path: Path) -> Any:
    try:
        import formulas
    except ImportError as error:
        raise EngineError(
            "the format 'excel' is verified by LibreOffice or by the package formulas: install one of them."
        ) from error
    from openpyxl import load_workbook

    model = formulas.ExcelModel().loads(str(path)).finish()
    model.calculate()
    model.write(dirpath=str(path.parent / "computed"))
    found = next((path.parent / "computed").rglob("*.[xX][lL][sS][xX]"))
    book = load_workbook(found, data_only=True)
    return next(sheet for sheet in book if sheet.title.lower() == "score")


def _results(sheet: Any, plain: PlainModel, n_rows: int) -> tuple[FloatArray, Sequence[Any]]:
    first = ScoreSheet(plain).first_result
    cells = sheet.iter_rows(min_row=2, max_row=n_rows + 1, min_col=first, values_only=True)
    records = list(cells)
    n_classes = len(plain.target.classes)
    values = np.array([record[: max(n_classes, 1)] for record in records], np.float64)
    return values, [record[n_classes] for record in records]
