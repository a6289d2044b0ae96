"""LibreOffice computes an exported workbook."""

import subprocess
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

from holdfast.exports.excel import predict_rows

SECONDS = 300  # to start and to compute


def compute(path: Path) -> Any:
    """Compute the workbook with LibreOffice and return the sheet "Score"."""
    from openpyxl import load_workbook

    program = which("soffice") or which("libreoffice")
    if program is None:
        raise OSError("LibreOffice is not installed.")
    folder = path.parent / "computed"
    home = f"-env:UserInstallation=file://{path.parent}/profile"
    arguments = [program, home, "--headless", "--convert-to", "xlsx", "--outdir", str(folder), str(path)]
    subprocess.run(arguments, check=True, capture_output=True, timeout=SECONDS)
    return load_workbook(folder / path.name, data_only=True)["Score"]


by_libreoffice = partial(predict_rows, compute=compute, engine="LibreOffice")
