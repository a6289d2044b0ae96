"""A small file of patients, and the command line as a function."""

import random
from pathlib import Path

from click.testing import CliRunner, Result

from holdfast.cli.main import main

HEADER = "age,ward,zip,lab,year,patient,weight,outcome"


def holdfast(*arguments: object, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(main, [str(argument) for argument in arguments])


def refusal(result: Result) -> str:
    """What the user reads when something was refused: one line, and nothing else."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    line, end = result.stderr.split("\n")
    assert end == ""
    return line


def write_patients(path: Path, n_rows: int = 120, *, seed: int = 0) -> Path:
    """Old patients with a high lab value mostly die; every third lab value of ward C is missing."""
    draw = random.Random(seed)
    lines = [HEADER]
    for number in range(n_rows):
        age, ward, lab = draw.randint(20, 90), draw.choice("ABC"), round(draw.gauss(5, 2), 2)
        risk = (age > 60) + (lab > 6) + (draw.random() < 0.15)
        cell = "" if ward == "C" and number % 3 == 0 else f"{lab}"
        year = 2019 + number * 4 // n_rows
        zip_code = f"0{draw.randint(1000, 1004)}"
        outcome = "died" if risk >= 2 else "lived"
        lines.append(f"{age},{ward},{zip_code},{cell},{year},P{number // 2},{1 + number % 2},{outcome}")
    path.write_text("\n".join(lines) + "\n")
    return path


def fit(data: Path, folder: Path, *options: object, target: str = "outcome") -> Result:
    """A run with few trees, a teacher that learns fast and no report, that a test can wait for."""
    few: tuple[object, ...] = ("--no-report", "--n-estimators", 20, "--max-depth", 3, "--n-jobs", 1)
    if "--method" not in options and "--model" not in options:
        few = (*few, "--teacher", "linear")
    return holdfast("fit", data, "--target", target, "-o", folder, *few, *options)
