"""What a command imports decides how fast it starts."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import fit, write_patients

import holdfast

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")
SLOW = ("sklearn", "numba", "pandas", "scipy.stats", "scipy.optimize", "matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    assert fit(write_patients(folder / "patients.csv"), folder / "run", *PLAIN).exit_code == 0
    return folder


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("show run", ()),
        ("predict run patients.csv", ()),
        ("explain run patients.csv --row 3", ()),
        ("explain run/model.json patients.csv --row 3", ()),
        ("diff run/model.json run/model.json", ("scipy.optimize",)),
        ("plot run -o frontier.svg", ("matplotlib",)),
        ("plot run --what tree -o tree.svg", ("matplotlib",)),
        ("report run -o page.html", ("matplotlib", "scipy.optimize")),
        ("report run/model.json -o page.html", ("matplotlib",)),
    ],
)
def test_a_command_that_only_reads_a_run_needs_no_estimator_and_no_compiler(
    command: str, needed: tuple[str, ...], folder: Path
) -> None:
    program = (
        "import sys\n"
        "from holdfast.cli.main import main\n"
        f"main({command.split()!r}, standalone_mode=False)\n"
        f"print([name for name in {SLOW!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(holdfast.__file__).parents[1])},
    )
    imported = ast.literal_eval(done.stderr.splitlines()[-1])
    assert set(SLOW).difference(needed).isdisjoint(imported)
